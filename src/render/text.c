/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text visitor: punctuation and names around the leaves, and the result behind the arguments. */
#include "describe/hooks.h"
#include "render/impl.h"

static inline bool in_set(const uint64_t *set, uint32_t nr, bool without)
{
	if (!set)
		return without;
	/* the sets reach as far as the tables of calls; numbers beyond are treated like the rest */
	return nr < 1024 ? set[nr / 64] >> (nr % 64) & 1 : without;
}

/* ---- visitor ---- */

static inline void next(struct espy_text *t)
{
	if (!t->first)
		espy_buf__put(t->b, ", ", 2);
	t->first = false;
}

/* A name that the value itself writes (inet_pton), if it does. */
static bool name_in_value(const struct espy_type *type)
{
	return type->fmt == ESPY_FMT_INET6 && type->kind != ESPY_T_INT;
}

static void on_arg(void *ctx, const char *name, const struct espy_type *type, bool named)
{
	struct espy_text *t = ctx;
	next(t);
	if ((t->o->arg_names || named) && *name) {
		espy_buf__puts(t->b, name);
		espy_buf__putc(t->b, '=');
	}
}

static void on_field(void *ctx, const char *name, const struct espy_type *type)
{
	struct espy_text *t = ctx;
	next(t);
	if (*name && !name_in_value(type)) {
		espy_buf__puts(t->b, name);
		espy_buf__putc(t->b, '=');
	}
}

static void on_elem(void *ctx)
{
	next(ctx);
}

static void on_open(void *ctx, enum espy_group group, const struct espy_type *type)
{
	struct espy_text *t = ctx;
	espy_buf__putc(t->b, group == ESPY_GROUP_STRUCT ? '{' : '[');
	t->first = true;
}

static void on_close(void *ctx, enum espy_group group)
{
	struct espy_text *t = ctx;
	espy_buf__putc(t->b, group == ESPY_GROUP_STRUCT ? '}' : ']');
	t->first = false;
}

static void on_integer(void *ctx, const struct espy_value *v)
{
	espy_text_integer(ctx, v);
}

static void on_string(void *ctx, const struct espy_value *v)
{
	espy_text_string(ctx, v);
}

static void on_bits(void *ctx, const struct espy_value *v)
{
	espy_text_bits(ctx, v);
}

static void on_address(void *ctx, uint64_t addr)
{
	espy_buf__addr(((struct espy_text *)ctx)->b, addr);
}

static void on_vars(void *ctx, uint64_t addr, unsigned count, bool unterminated)
{
	struct espy_text *t = ctx;
	espy_buf__addr(t->b, addr);
	espy_text_comment(t);
	espy_buf__dec(t->b, count);
	espy_buf__puts(t->b, count == 1 ? " var" : " vars");
	if (unterminated)
		espy_buf__puts(t->b, ", unterminated");
	espy_text_comment_end(t);
}

static void on_changed(void *ctx)
{
	espy_buf__put(((struct espy_text *)ctx)->b, " => ", 4);
}

static void on_elided(void *ctx, enum espy_elided why, uint64_t addr)
{
	struct espy_text *t = ctx;
	next(t);
	espy_buf__puts(t->b, why == ESPY_ELIDED_UNKNOWN ? "???" : "...");
	if (why == ESPY_ELIDED_FAULT && addr) {
		espy_text_comment(t);
		espy_buf__hex(t->b, addr);
		espy_text_comment_end(t);
	}
}

#define UTIME_NOW_NSEC ((1l << 30) - 1l)
#define UTIME_OMIT_NSEC ((1l << 30) - 2l)

static bool on_note(void *ctx, unsigned note, int64_t sec, int64_t frac, bool before)
{
	struct espy_text *t = ctx;
	unsigned digits = note & ESPY_NOTE_USEC ? 6 : 9;
	int64_t most = note & ESPY_NOTE_USEC ? 999999 : 999999999;

	if (note == ESPY_NOTE_UTIME && (frac == UTIME_NOW_NSEC || frac == UTIME_OMIT_NSEC)) {
		const char *name = frac == UTIME_NOW_NSEC ? "UTIME_NOW" : "UTIME_OMIT";
		if (before && t->xlat == ESPY_XLAT_ABBREV)
			espy_buf__puts(t->b, name);
		if (!before && t->xlat == ESPY_XLAT_VERBOSE) {
			espy_text_comment(t);
			espy_buf__puts(t->b, name);
			espy_text_comment_end(t);
		}
		return t->xlat == ESPY_XLAT_ABBREV;
	}
	if (before || t->xlat == ESPY_XLAT_RAW || (!sec && !frac) || frac < 0 || frac > most)
		return false;
	size_t start = t->b->len;
	espy_text_comment(t);
	if (espy_text_date(t, sec, frac, frac ? digits : 0))
		espy_text_comment_end(t);
	else
		t->b->len = start;
	return false;
}

static bool on_hook(void *ctx, struct espy_walk *w, unsigned hook, const struct espy_value *v)
{
	return espy_text_hook(ctx, w, hook, v);
}

static const struct espy_visitor visitor = {
	.arg = on_arg,
	.open = on_open,
	.close = on_close,
	.field = on_field,
	.elem = on_elem,
	.integer = on_integer,
	.string = on_string,
	.bits = on_bits,
	.address = on_address,
	.vars = on_vars,
	.changed = on_changed,
	.elided = on_elided,
	.note = on_note,
	.hook = on_hook,
};

void espy_text_walk(struct espy_text *t, uint32_t type, const uint8_t *bytes, size_t len)
{
	const struct espy_walk_opts wo = { .verbose = t->verbose, .decode = true, .elem_limit = t->o->str_limit };
	espy_walk__bytes(&visitor, t, &wo, t->img, type, bytes, len);
}

/* ---- calls ---- */

/* What one call is written with; the sets of the options are looked up by its number. */
static struct espy_text text_of(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_call_view *v)
{
	return (struct espy_text){
		.b = b,
		.o = o,
		.img = v->image,
		.v = v,
		.xlat = o->xlat,
		.first = true,
		.verbose = !in_set(o->abbrev, v->nr, true),
		.decode = in_set(o->verbose, v->nr, true),
	};
}

void espy_text__args(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_call_view *v,
		     enum espy_text_part part, unsigned *shown)
{
	static const enum espy_part parts[] = { [ESPY_TEXT_WHOLE] = ESPY_PART_WHOLE,
						[ESPY_TEXT_ENTER] = ESPY_PART_ENTER,
						[ESPY_TEXT_EXIT] = ESPY_PART_EXIT };
	struct espy_text t = text_of(b, o, v);
	const struct espy_walk_opts wo = { .verbose = t.verbose, .decode = t.decode,
					   .elem_limit = o->str_limit };

	/* Anything that the first part has written makes the next argument follow a comma. */
	if (part == ESPY_TEXT_EXIT && shown && *shown)
		t.first = false;
	if (in_set(o->raw, v->nr, false)) {
		unsigned from = part == ESPY_TEXT_EXIT && shown ? *shown : 0;
		espy_walk__raw_args(&visitor, &t, v, &from);
		if (shown)
			*shown = from;
		return;
	}
	espy_walk__args(&visitor, &t, &wo, v, parts[part], shown);
}

static void put_error(struct espy_buf *b, unsigned err)
{
	const char *name = espy_errno_name(err), *text = espy_errno_text(err);
	bool restart = err == 512 || err == 513 || err == 514 || err == 516;

	espy_buf__puts(b, restart ? "? " : "-1 ");
	if (name) {
		espy_buf__puts(b, name);
		espy_buf__put(b, " (", 2);
		espy_buf__puts(b, text);
		espy_buf__putc(b, ')');
	} else {
		espy_buf__puts(b, "(errno ");
		espy_buf__dec(b, err);
		espy_buf__putc(b, ')');
	}
}

/* A note by type: left out where a table could only repeat the number. */
static void put_typed_note(struct espy_text *t, const struct espy_ret *ret, uint64_t x)
{
	const struct espy_type *type = ret->note_type < t->img->type_cnt ? &t->img->types[ret->note_type] : NULL;

	if (!type || type->kind != ESPY_T_INT)
		return;
	if ((type->fmt == ESPY_FMT_FLAGS || type->fmt == ESPY_FMT_ENUM) &&
	    !espy_text_has_name(t->img, type->table, x, type->size) && (!x || type->fmt == ESPY_FMT_ENUM))
		return;
	if (type->fmt == ESPY_FMT_SIGNAL && (x < 1 || x > 64))
		return;
	const struct espy_value v = { .type = type, .name = "", .num = x };
	/* a note is a name by itself, whatever -X says, except for plain flags */
	enum espy_xlat saved = t->xlat;
	const struct espy_table *tab =
		type->fmt == ESPY_FMT_FLAGS && type->table < t->img->table_cnt ? &t->img->tables[type->table] : NULL;
	if (!tab || (tab->count && t->img->entries[tab->first].group_cnt))
		t->xlat = ESPY_XLAT_ABBREV;
	espy_buf__put(t->b, " (", 2);
	espy_buf__puts(t->b, espy_image__str(t->img, ret->note_text));
	if (!type->hook || !espy_text_hook(t, NULL, type->hook, &v))
		espy_text_integer(t, &v);
	espy_buf__putc(t->b, ')');
	t->xlat = saved;
}

void espy_text__result(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_call_view *v)
{
	const struct espy_call *c = v->call == ESPY_NONE ? NULL : &v->image->calls[v->call];
	struct espy_text t = text_of(b, o, v);

	espy_buf__put(b, "= ", 2);
	if (!v->has_exit || v->no_return) {
		espy_buf__putc(b, '?');
		return;
	}
	bool raw = in_set(o->raw, v->nr, false);
	if (espy_call_view__failed(v)) {
		put_error(b, (unsigned)-v->ret);
		if (c && (c->ret.note & 0xffff) == ESPY_NOTE_RET_HOOK)
			espy_text_ret_hook(&t, c->ret.note >> 16);
		return;
	}
	if (raw) {
		espy_buf__hex(b, (uint64_t)v->ret);
		return;
	}
	uint64_t x = (uint64_t)v->ret;
	const struct espy_type *type = c && c->ret.type < v->image->type_cnt ? &v->image->types[c->ret.type] : NULL;
	if (!type || type->kind != ESPY_T_INT) {
		espy_buf__sdec(b, v->ret);
	} else {
		const struct espy_value val = { .type = type, .name = "", .num = x };
		/* an address that is 0 is a number here */
		if (type->fmt == ESPY_FMT_ADDR)
			espy_buf__hex(b, x);
		else
			espy_text_integer(&t, &val);
	}
	if (!c)
		return;
	switch (c->ret.note & 0xffff) {
	case ESPY_NOTE_RET_TYPE:
		put_typed_note(&t, &c->ret, x);
		break;
	case ESPY_NOTE_RET_HOOK:
		espy_text_ret_hook(&t, c->ret.note >> 16);
		break;
	}
}

void espy_text__siginfo(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img,
			const uint8_t *info, size_t info_sz)
{
	struct espy_text t = { .b = b, .o = o, .img = img, .xlat = o->xlat, .first = true, .decode = true };
	const struct espy_walk_opts wo = { .decode = true, .elem_limit = o->str_limit };
	uint32_t type = espy_image__find_type(img, "siginfo");

	if (type == ESPY_NONE || !info_sz) {
		espy_buf__put(b, "{}", 2);
		return;
	}
	espy_walk__bytes(&visitor, &t, &wo, img, type, info, info_sz);
}
