/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hooks on results: facts about the end of a call that it tells through memory. */
#include <stdlib.h>
#include "describe/constant_names.h"
#include "event/hook_impl.h"

/* Returns the type of a parameter by its register; NULL: the call has none there. */
static const struct espy_type *param_type(const struct espy_walk *w, unsigned reg)
{
	const struct espy_call *c = &w->img->calls[w->v->call];
	for (uint32_t i = 0; i < c->nparam; i++) {
		const struct espy_field *p = &w->img->fields[c->first_param + i];
		if (p->off == reg)
			return &w->img->types[p->type];
	}
	return NULL;
}

static const struct espy_type *field_type(const struct espy_image *img, const struct espy_type *st, const char *name)
{
	for (uint32_t i = 0; st->kind == ESPY_T_STRUCT && i < st->count; i++) {
		const struct espy_field *f = &img->fields[st->first + i];
		if (!strcmp(espy_image__str(img, f->name), name))
			return &img->types[f->type];
	}
	return NULL;
}

/* Returns the time that the call wrote over the given one; NULL: it was not captured. */
static const struct espy_item *time_left(const struct espy_walk *w, unsigned reg)
{
	const struct espy_type *p = param_type(w, reg);
	if (!p || p->kind != ESPY_T_PTR || !w->v->args[reg])
		return NULL;
	const struct espy_item *it = espy_call_view__arg_item(w->v, reg, true);
	const struct espy_type *to = &w->img->types[p->elem];
	if (!it || ESPY_ITEM_STATUS(it->status) != ESPY_ITEM_OK || it->len < to->size || to->kind != ESPY_T_STRUCT)
		return NULL;
	return it;
}

/* Puts `left {...}` into a note. */
static void show_left(struct espy_walk *w, unsigned reg)
{
	const struct espy_item *it = time_left(w, reg);
	const struct espy_ways ways = espy_walk_part(w);

	if (!it)
		return;
	const uint32_t type = param_type(w, reg)->elem;
	if (espy_walk_take(w, &ways, ESPY_MANNERS_PLAIN)) {
		espy_walk_role(w, ESPY_ROLE_LABEL, "left");
		espy_walk_address(w, w->v->args[reg]);
	}
	if (espy_walk_take(w, &ways, ~ESPY_MANNERS_PLAIN)) {
		/* as bytes by themselves: no pointer in them is followed */
		const struct espy_call_view *v = w->v;
		espy_walk_role(w, ESPY_ROLE_LABEL, "left");
		w->v = NULL;
		espy_walk_bytes(w, type, espy_item__bytes(it), it->len);
		w->v = v;
	}
	espy_walk_join(w, &ways);
}

static void note_timeout(struct espy_walk *w)
{
	const uint32_t note = espy_hook_open_note(w, "", 0);

	espy_hook_part(w);
	espy_hook_word(w, "Timeout", 0, 0);
	espy_walk_close(w, note);
}

#define POLLFD_SIZE 8u /* s32 fd, s16 events, s16 revents */

static void show_ready(struct espy_walk *w, const struct espy_item *it, const struct espy_type *revents)
{
	const uint32_t list = espy_walk_open(w, ESPY_GROUP_ARRAY, NULL, ESPY_TOKF_LIMITED);
	unsigned shown = 0;

	for (size_t off = 0; off + POLLFD_SIZE <= it->len; off += POLLFD_SIZE) {
		const uint8_t *fd = espy_item__bytes(it) + off;
		const uint64_t bits = espy_load(fd + 6, 2, false, false);
		if (!bits)
			continue;
		if (!(w->shown & ESPY_MANNERS_FULL) && shown++ >= w->elem_limit) {
			espy_walk_elided(w, ESPY_ELIDED_MORE, 0);
			break;
		}
		espy_walk_role(w, ESPY_ROLE_ELEM, "");
		const uint32_t open = espy_walk_open(w, ESPY_GROUP_STRUCT, NULL, 0);
		espy_hook_field(w, "fd");
		espy_hook_number(w, &espy_number_signed, espy_load(fd, 4, false, true));
		espy_hook_field(w, "revents");
		espy_walk_integer(w, revents ? revents : &espy_number_hex, bits, NULL, 0, "revents");
		espy_walk_close(w, open);
	}
	espy_walk_close(w, list);
}

static void note_poll(struct espy_walk *w, bool has_time)
{
	const struct espy_item *it = espy_call_view__arg_item(w->v, 0, true);
	const struct espy_type *p = param_type(w, 0), *revents = NULL;
	const struct espy_ways ways = espy_walk_part(w);

	if (w->v->ret == 0) {
		note_timeout(w);
		return;
	}
	if (w->v->ret < 0 || !it || !espy_walk_take(w, &ways, ~ESPY_MANNERS_PLAIN))
		return;
	if (p && p->kind == ESPY_T_PTR && w->img->types[p->elem].kind == ESPY_T_ARRAY)
		revents = field_type(w->img, &w->img->types[w->img->types[p->elem].elem], "revents");
	const uint32_t note = espy_hook_open_note(w, "", 0);
	espy_hook_part(w);
	show_ready(w, it, revents);
	if (has_time)
		show_left(w, 2);
	espy_walk_close(w, note);
	espy_walk_join(w, &ways);
}

/* Tells whether any descriptor is in the set. */
static bool any_bit(const struct espy_item *it, uint64_t cnt)
{
	for (size_t fd = 0; it && fd / 8 < it->len && fd < cnt; fd++)
		if (espy_item__bytes(it)[fd / 8] >> (fd % 8) & 1)
			return true;
	return false;
}

static void note_select(struct espy_walk *w)
{
	static const char *const names[] = { "in", "out", "except" };
	const int32_t nfds = (int32_t)w->v->args[0];

	if (w->v->ret == 0)
		note_timeout(w);
	if (w->v->ret <= 0)
		return;
	const uint32_t note = espy_hook_open_note(w, "", 0);
	for (unsigned i = 0; i < 3; i++) {
		const struct espy_item *it = w->v->args[i + 1] ? espy_call_view__arg_item(w->v, i + 1, true) : NULL;
		if (nfds <= 0 || !any_bit(it, (uint64_t)nfds))
			continue;
		espy_walk_role(w, ESPY_ROLE_LABEL, names[i]);
		espy_walk_put(w, (struct espy_token){ .kind = ESPY_TOKEN_BITS,
						      .len = it->len,
						      .type = &espy_type_bits,
						      .num = (uint64_t)nfds,
						      .bytes = espy_item__bytes(it) });
	}
	show_left(w, 4);
	espy_walk_close(w, note); /* strace shows an empty one, too */
}

static void note_left_of(struct espy_walk *w, unsigned reg)
{
	if (!time_left(w, reg))
		return;
	const uint32_t note = espy_hook_open_note(w, "", 0);
	show_left(w, reg);
	espy_walk_close(w, note);
}

/* Notes the time left. The time is the last parameter that is a structure both read and written. */
static void note_left(struct espy_walk *w)
{
	for (unsigned reg = ESPY_MAX_ARGS; reg-- > 0;) {
		const struct espy_type *p = param_type(w, reg);
		if (!p || p->kind != ESPY_T_PTR || !(p->flags & ESPY_TF_OUT) ||
		    w->img->types[p->elem].kind != ESPY_T_STRUCT)
			continue;
		note_left_of(w, reg);
		return;
	}
}

static void note_recvmmsg(struct espy_walk *w)
{
	if (w->v->ret == 0)
		note_timeout(w);
	if (w->v->ret <= 0)
		return;
	/* where the time stays an address, nothing is said of it */
	const struct espy_ways ways = espy_walk_part(w);
	if (espy_walk_take(w, &ways, ~ESPY_MANNERS_PLAIN))
		note_left_of(w, 4);
	espy_walk_join(w, &ways);
}

static void note_date(struct espy_walk *w)
{
	const uint32_t note = espy_hook_open_note(w, "", 0), empty = w->out->cnt;

	espy_hook_part(w);
	espy_walk_date(w, w->v->ret, 0, ESPY_TOKF_BARE);
	espy_hook_close_note(w, note, w->out->cnt == empty);
	w->role = ESPY_ROLE_NONE;
}

/* Notes why the guest ended that KVM_RUN has run. Only the memory that the task shares with it tells that. */
static void note_kvm_exit(struct espy_walk *w)
{
	const struct espy_resolver *r = w->d->resolver;
	const char *reason = w->d->want.vcpus && r && r->vcpu_exit && w->v->ret >= 0
				     ? r->vcpu_exit(r->ctx, w->v->tid, (int)w->v->args[0])
				     : NULL;

	if (!reason || !*reason)
		return;
	const uint32_t number = (uint32_t)strtoul(reason, NULL, 10),
		       table = espy_image__find_table(w->img, "kvm_exit_reasons");
	const char *name = espy_table__name(w->img, table, number, sizeof(number));
	const uint32_t note = espy_hook_open_note(w, "", 0);

	espy_hook_part(w);
	espy_hook_word(w, name ? name : "KVM_EXIT_???", number, 0);
	espy_walk_close(w, note);
}

/* Runs a hook on values for a note: the result in parentheses. */
static void note_value(struct espy_walk *w, unsigned hook)
{
	static const struct espy_type reg = { .kind = ESPY_T_INT, .size = 4, .table = ESPY_NONE, .elem = ESPY_NONE,
					      .len_a = ESPY_NONE, .len_b = ESPY_NONE };
	const struct espy_hooked v = { .type = &reg, .name = "", .num = (uint32_t)w->v->ret, .of_result = true };
	const uint32_t note = espy_hook_open_note(w, "", ESPY_TOKF_ASIDE);

	espy_hook_part(w);
	espy_hook_close_note(w, note, !espy_walk_hook(w, hook, &v));
	w->role = ESPY_ROLE_NONE;
}

void espy_walk_result_hook(struct espy_walk *w, unsigned hook)
{
	switch (hook) {
	case ESPY_HOOK_POLL:
		note_poll(w, false);
		break;
	case ESPY_HOOK_PPOLL:
		note_poll(w, true);
		break;
	case ESPY_HOOK_SELECT:
		note_select(w);
		break;
	case ESPY_HOOK_LEFT:
		note_left(w);
		break;
	case ESPY_HOOK_RECVMMSG:
		note_recvmmsg(w);
		break;
	case ESPY_HOOK_KVM_EXIT:
		note_kvm_exit(w);
		break;
	case ESPY_HOOK_DATE:
		if (w->v->ret > 0) /* 0 is no time, as in a struct */
			note_date(w);
		break;
	default:
		if (w->v->ret >= 0)
			note_value(w, hook);
	}
}
