/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "event/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/errno_names.h"
#include "describe/constant_names.h"
#include "event/hook_impl.h"

/* The longest list that is kept for the next event. */
#define KEPT_TOKENS (1u << 14)

/* Drops all that is left of the event before. */
static void begin(struct espy_decoder *d)
{
	if (d->args.cap > KEPT_TOKENS) {
		free(d->args.at);
		d->args = (struct espy_token_list){ 0 };
	}
	d->args.cnt = d->result.cnt = 0;
	d->block = d->blocks;
	d->block_used = 0;
}

void espy_decoder__free(struct espy_decoder *d)
{
	free(d->args.at);
	free(d->result.at);
	espy_walk_free_texts(d);
	*d = (struct espy_decoder){ .resolver = d->resolver, .want = d->want };
}

unsigned espy_decoder__begin(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners)
{
	begin(d);
	return espy_walk_begin(d, v, manners);
}

void espy_decoder__args(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners, unsigned shown)
{
	begin(d);
	espy_walk_args(d, v, manners, shown);
}

/* Tells whether flags are there to be named: one with a name or, beside a number in the same word, any. */
static bool has_flags(const struct espy_image *img, const struct espy_type *t, uint64_t x)
{
	bool number = false;

	for (uint32_t i = 0; t->table < img->table_cnt && i < img->tables[t->table].count; i++) {
		const struct espy_entry *e = &img->entries[img->tables[t->table].first + i];
		if (e->is_shift)
			x &= ~e->value;
		number |= e->is_shift >= ESPY_LOW_DEC && e->is_shift <= ESPY_LOW_OCT;
	}
	return number ? x : espy_table__has_name(img, t->table, x, t->size);
}

/* Puts a note in names, which the numbers' style keeps away; nothing, if no flag has one. */
static void named_note(struct espy_walk *w, const struct espy_ret *ret, uint64_t x)
{
	const struct espy_type *t = &w->img->types[ret->note_type];

	if (t->kind != ESPY_T_INT || !has_flags(w->img, t, x))
		return;
	const char *text = espy_image__str(w->img, ret->note_text);
	const uint32_t note = espy_hook_open_note(w, text, ESPY_TOKF_ASIDE | ESPY_TOKF_NAMES);
	espy_hook_part(w);
	espy_walk_integer(w, t, x, NULL, 0, "");
	espy_walk_close(w, note);
}

/* Puts a note by type, unless a table could only repeat the number. */
static void typed_note(struct espy_walk *w, const struct espy_ret *ret, uint64_t x)
{
	const struct espy_type *t = ret->note_type < w->img->type_cnt ? &w->img->types[ret->note_type] : NULL;

	if (!t || t->kind != ESPY_T_INT)
		return;
	if ((t->fmt == ESPY_FMT_FLAGS || t->fmt == ESPY_FMT_ENUM) && !espy_table__has_name(w->img, t->table, x, t->size) &&
	    (!x || t->fmt == ESPY_FMT_ENUM))
		return;
	if (t->fmt == ESPY_FMT_SIGNAL && (x < 1 || x > 64))
		return;
	/* a note is a name by itself, whatever -X says, except for flags that stand there alone */
	const struct espy_table *tab =
		t->fmt == ESPY_FMT_FLAGS && t->table < w->img->table_cnt ? &w->img->tables[t->table] : NULL;
	const char *text = espy_image__str(w->img, ret->note_text);
	const bool names =
		t->fmt != ESPY_FMT_SIGSET && (!tab || (*text && tab->count && w->img->entries[tab->first].group_cnt));
	const struct espy_hooked v = { .type = t, .name = "", .num = x, .of_result = true };

	const uint32_t note = espy_hook_open_note(w, text, t->hook ? ESPY_TOKF_ASIDE : names ? ESPY_TOKF_NAMES : 0);
	espy_hook_part(w);
	if (!t->hook || !espy_walk_hook(w, t->hook, &v))
		espy_walk_integer(w, t, x, NULL, 0, "");
	espy_walk_close(w, note);
}

/* Reads what an argument points to after the call. Returns false if it is not known. */
static bool read_at(const struct espy_walk *w, unsigned reg, const struct espy_type *t, uint64_t *x)
{
	const struct espy_item *it = espy_call_view__arg_item(w->v, reg, true);

	if (!it || it->len < t->size)
		return false;
	*x = espy_load((const uint8_t *)(it + 1), t->size, false, t->flags & ESPY_TF_SIGNED);
	return true;
}

/* Puts a struct that an argument points to after the call as a note, if it was read whole. */
static void struct_note(struct espy_walk *w, unsigned reg, uint32_t type)
{
	const struct espy_item *it = espy_call_view__arg_item(w->v, reg, true);
	const struct espy_type *t = &w->img->types[type];

	const struct espy_item *in = espy_call_view__arg_item(w->v, reg, false);
	const struct espy_op *op = it ? &w->img->ops[w->img->plans[w->v->plan].first_op + it->op] : NULL;
	/* of a struct that could not be read whole nothing is told */
	if (!it || it->len < t->size || (in && in->len < w->img->types[op->type].size) ||
	    it->len < w->img->types[op->type].size)
		return;
	const struct espy_span m = {
		.p = { NULL, espy_item__bytes(it) }, .n = { 0, t->size }, .want = t->size, .op = ESPY_NO_OP
	};
	const uint32_t note = espy_hook_open_note(w, "", 0);
	espy_hook_part(w);
	espy_walk_value(w, type, &m, "");
	espy_walk_close(w, note);
}

/* Puts the note that a description has for the result. */
static void show_note(struct espy_walk *w, const struct espy_ret *ret, uint64_t x)
{
	const bool known = ret->note_type < w->img->type_cnt;
	const unsigned at = ret->note >> 16; /* the register, from 1 on */

	if ((ret->note & 0xffff) == ESPY_NOTE_RET_HOOK)
		espy_walk_result_hook(w, ret->note >> 16);
	else if (known && (ret->note & 0xffff) == ESPY_NOTE_RET_NAMES)
		named_note(w, ret, x);
	else if ((ret->note & 0xffff) != ESPY_NOTE_RET_TYPE || !known)
		return;
	else if (at && w->img->types[ret->note_type].kind == ESPY_T_STRUCT)
		struct_note(w, at - 1, ret->note_type);
	else if (!at || read_at(w, at - 1, &w->img->types[ret->note_type], &x))
		typed_note(w, ret, x);
}

/* Tells whether a result that should be an int is none: a rule of -e inject= gave it. */
static bool is_longer(const struct espy_type *t, int64_t x)
{
	if (t->size != 4 || !(t->flags & ESPY_TF_SIGNED) || x == (int32_t)x)
		return false;
	return t->fmt == ESPY_FMT_DEC || (t->fmt >= ESPY_FMT_FD && t->fmt <= ESPY_FMT_SID);
}

/* Puts the result of a call that returns an error as an unsigned int, and what error that is. */
static void show_clipped(struct espy_walk *w, const struct espy_type *t, uint32_t x)
{
	const char *name = x > -4096u ? espy_errno_name(-x) : NULL;
	char text[256];

	espy_walk_integer_as(w, t, ESPY_FMT_DEC, x, "");
	if (!name)
		return;
	const int len = snprintf(text, sizeof(text), "%s (%s)", name, espy_errno_text(-x));
	espy_walk_close(w, espy_hook_open_note(w, espy_walk_keep(w, text, (size_t)len), ESPY_TOKF_FAILED));
}

/* Puts the result of a call, in the manners that decode. */
static void show_success(struct espy_walk *w, const struct espy_call *c)
{
	uint64_t x = (uint64_t)w->v->ret;
	const struct espy_type *t = c && c->ret.type < w->img->type_cnt ? &w->img->types[c->ret.type] : NULL;

	if (t && (c->ret.note & 0xffff) == ESPY_NOTE_RET_AT && !read_at(w, c->ret.note >> 16, t, &x))
		espy_hook_word(w, "?", x, 0);
	else if (!t || t->kind != ESPY_T_INT || is_longer(t, (int64_t)x))
		espy_hook_number(w, &espy_number_signed, x);
	else if (t->fmt == ESPY_FMT_ERRNO && !(t->flags & ESPY_TF_SIGNED))
		show_clipped(w, t, (uint32_t)x);
	else if (t->fmt == ESPY_FMT_ADDR) /* an address that is 0 is a number here */
		espy_walk_integer_as(w, t, ESPY_FMT_HEX, x, "");
	else
		espy_walk_integer(w, t, x, NULL, 0, "");
	if (c)
		show_note(w, &c->ret, x);
}

/* Puts a result that is a number and has no note, as most are: without a walk. Returns false if it is another one. */
static inline bool plain_result(struct espy_decoder *d, const struct espy_call_view *v, const struct espy_call *c,
				unsigned manners)
{
	const struct espy_image *img = v->image;
	const struct espy_type *t = c && c->ret.type < img->type_cnt ? &img->types[c->ret.type] : &espy_number_signed;

	if ((c && c->ret.note) || t->kind != ESPY_T_INT || is_longer(t, v->ret) || t->fmt == ESPY_FMT_ERRNO ||
	    t->fmt == ESPY_FMT_ADDR || d->asks >> (t->fmt & 63) & 1 || manners & ESPY_MANNER_RAW || !d->result.cap)
		return false;
	d->result.at[0] = (struct espy_token){ .kind = ESPY_TOKEN_INT,
					       .fmt = t->fmt,
					       .shown = (uint16_t)manners,
					       .link = t->table,
					       .type = t,
					       .name = "",
					       .num = (uint64_t)v->ret };
	d->result.cnt = 1;
	return true;
}

void espy_decoder__result(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners)
{
	const struct espy_call *c = v->call == ESPY_NONE ? NULL : &v->image->calls[v->call];
	struct espy_walk w;

	d->result.cnt = 0;
	if (!v->has_exit || v->no_return)
		return;
	const bool failed = espy_call_view__failed(v);

	manners = (manners | manners >> ESPY_MANNER_REST) & ESPY_MANNERS;
	if (!failed && plain_result(d, v, c, manners))
		return;
	espy_walk_begin_result(&w, d, v, manners);
	if (failed) {
		espy_walk_integer_as(&w, &espy_number_signed, ESPY_FMT_ERRNO, (uint64_t)v->ret, "");
		if (d->result.cnt)
			d->result.at[0].flags |= ESPY_TOKF_FAILED;
		if (c && (c->ret.note & 0xffff) == ESPY_NOTE_RET_HOOK)
			espy_walk_result_hook(&w, c->ret.note >> 16);
		return;
	}
	const struct espy_ways ways = espy_walk_part(&w);
	if (espy_walk_take(&w, &ways, ESPY_MANNER_RAW))
		espy_hook_number(&w, &espy_number_hex, (uint64_t)v->ret);
	if (espy_walk_take(&w, &ways, ~(unsigned)ESPY_MANNER_RAW))
		show_success(&w, c);
}

void espy_decoder__siginfo(struct espy_decoder *d, const struct espy_image *img, const uint8_t *info, size_t size,
			    unsigned manners)
{
	struct espy_walk w = { .d = d,
			       .out = &d->args,
			       .tid = d->signal_tid,
			       .img = img,
			       .ok = true,
			       .shown = (uint16_t)manners,
			       .name = "",
			       .again = "",
			       .elem_limit = d->want.elem_limit,
			       .asks = espy_walk_asks(d) };
	const uint32_t type = espy_image__find_type(img, "siginfo");

	begin(d);
	if (type != ESPY_NONE && size)
		espy_walk_bytes(&w, type, info, size);
}
