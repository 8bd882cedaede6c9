/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hooks on results: what a call says through memory about how it went. */
#include "describe/hooks.h"
#include "render/impl.h"

/* A parameter by its register; NULL if the call has none there. */
static const struct espy_type *param_type(const struct espy_text *t, unsigned reg)
{
	const struct espy_call *c = &t->img->calls[t->v->call];
	for (uint32_t i = 0; i < c->nparam; i++) {
		const struct espy_field *p = &t->img->fields[c->first_param + i];
		if (p->off == reg)
			return &t->img->types[p->type];
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

/* `left {...}`: what the call wrote over the time that it was given. */
static bool put_left(struct espy_text *t, unsigned reg, const char *before)
{
	const struct espy_type *p = param_type(t, reg);
	if (!p || p->kind != ESPY_T_PTR || !t->v->args[reg])
		return false;
	const struct espy_item *it = espy_call_view__arg_item(t->v, reg, true);
	const struct espy_type *to = &t->img->types[p->elem];
	if (!it || ESPY_ITEM_STATUS(it->status) != ESPY_ITEM_OK || it->len < to->size || to->kind != ESPY_T_STRUCT)
		return false;
	espy_buf__puts(t->b, before);
	espy_buf__puts(t->b, "left ");
	if (!t->decode) {
		espy_buf__addr(t->b, t->v->args[reg]);
		return true;
	}
	espy_text_walk(t, p->elem, espy_item__bytes(it), it->len);
	return true;
}

#define POLLFD_SIZE 8u /* s32 fd, s16 events, s16 revents */

static void note_poll(struct espy_text *t, bool has_time)
{
	const struct espy_item *it = espy_call_view__arg_item(t->v, 0, true);
	const struct espy_type *p = param_type(t, 0), *revents = NULL;
	unsigned shown = 0;

	if (t->v->ret == 0) {
		espy_buf__puts(t->b, " (Timeout)");
		return;
	}
	if (t->v->ret < 0 || !it || !t->decode)
		return;
	if (p && p->kind == ESPY_T_PTR && t->img->types[p->elem].kind == ESPY_T_ARRAY)
		revents = field_type(t->img, &t->img->types[t->img->types[p->elem].elem], "revents");
	espy_buf__puts(t->b, " ([");
	for (size_t off = 0; off + POLLFD_SIZE <= it->len; off += POLLFD_SIZE) {
		const uint8_t *fd = espy_item__bytes(it) + off;
		uint64_t bits = espy_load(fd + 6, 2, false, false);
		if (!bits)
			continue;
		if (shown)
			espy_buf__put(t->b, ", ", 2);
		if (!t->verbose && shown >= t->o->str_limit) {
			espy_buf__puts(t->b, "...");
			break;
		}
		shown++;
		espy_buf__puts(t->b, "{fd=");
		espy_buf__sdec(t->b, (int32_t)espy_load(fd, 4, false, true));
		espy_buf__puts(t->b, ", revents=");
		if (revents)
			espy_text_table(t, revents, bits);
		else
			espy_buf__hex(t->b, bits);
		espy_buf__putc(t->b, '}');
	}
	espy_buf__putc(t->b, ']');
	if (has_time)
		put_left(t, 2, ", ");
	espy_buf__putc(t->b, ')');
}

static void note_select(struct espy_text *t)
{
	static const char *const names[] = { "in ", "out ", "except " };
	bool any = false;

	if (t->v->ret == 0) {
		espy_buf__puts(t->b, " (Timeout)");
		return;
	}
	if (t->v->ret < 0)
		return;
	int32_t nfds = (int32_t)t->v->args[0];
	for (unsigned i = 0; i < 3; i++) {
		const struct espy_item *it = t->v->args[i + 1] ? espy_call_view__arg_item(t->v, i + 1, true) : NULL;
		bool in_set = false;
		for (size_t fd = 0; it && fd / 8 < it->len && fd < (size_t)(nfds < 0 ? 0 : nfds); fd++) {
			if (!(espy_item__bytes(it)[fd / 8] >> (fd % 8) & 1))
				continue;
			if (!in_set) {
				espy_buf__puts(t->b, any ? ", " : " (");
				espy_buf__puts(t->b, names[i]);
			}
			espy_buf__putc(t->b, in_set ? ' ' : '[');
			espy_buf__dec(t->b, fd);
			any = in_set = true;
		}
		if (in_set)
			espy_buf__putc(t->b, ']');
	}
	if (put_left(t, 4, any ? ", " : " ("))
		any = true;
	if (any)
		espy_buf__putc(t->b, ')');
}

/* The time is the last parameter that is a structure both read and written. */
static void note_left(struct espy_text *t)
{
	for (unsigned reg = ESPY_MAX_ARGS; reg-- > 0;) {
		const struct espy_type *p = param_type(t, reg);
		if (!p || p->kind != ESPY_T_PTR || !(p->flags & ESPY_TF_OUT) ||
		    t->img->types[p->elem].kind != ESPY_T_STRUCT)
			continue;
		if (put_left(t, reg, " ("))
			espy_buf__putc(t->b, ')');
		return;
	}
}

static void note_recvmmsg(struct espy_text *t)
{
	if (t->v->ret < 0)
		return;
	if (t->v->ret == 0)
		espy_buf__puts(t->b, " (Timeout)");
	else if (put_left(t, 4, " ("))
		espy_buf__putc(t->b, ')');
}

static void note_date(struct espy_text *t)
{
	size_t before = t->b->len;

	if (t->v->ret < 0 || t->xlat == ESPY_XLAT_RAW)
		return;
	espy_buf__put(t->b, " (", 2);
	if (espy_text_date(t, t->v->ret, 0, 0))
		espy_buf__putc(t->b, ')');
	else
		t->b->len = before;
}

/* A hook on values serves as a note too: the result in parentheses. */
static void note_value(struct espy_text *t, unsigned hook)
{
	static const struct espy_type reg = { .kind = ESPY_T_INT, .size = 4, .table = ESPY_NONE, .elem = ESPY_NONE,
					      .len_a = ESPY_NONE, .len_b = ESPY_NONE };
	const struct espy_value v = { .type = &reg, .name = "", .num = (uint32_t)t->v->ret };
	size_t before = t->b->len;

	if (t->v->ret < 0)
		return;
	espy_buf__put(t->b, " (", 2);
	if (espy_text_hook(t, NULL, hook, &v))
		espy_buf__putc(t->b, ')');
	else
		t->b->len = before;
}

void espy_text_ret_hook(struct espy_text *t, unsigned hook)
{
	switch (hook) {
	case ESPY_HOOK_POLL:
		note_poll(t, false);
		break;
	case ESPY_HOOK_PPOLL:
		note_poll(t, true);
		break;
	case ESPY_HOOK_SELECT:
		note_select(t);
		break;
	case ESPY_HOOK_LEFT:
		note_left(t);
		break;
	case ESPY_HOOK_RECVMMSG:
		note_recvmmsg(t);
		break;
	case ESPY_HOOK_DATE:
		note_date(t);
		break;
	default:
		note_value(t, hook);
	}
}
