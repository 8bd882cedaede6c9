/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compiles types: resolves aliases, checks rules, makes records. Children come before their parents, so every
 * reference in the image points to a lower index and no reader can run in circles. Unions and structs that look at
 * their surroundings are made anew for each place.
 */
#include "describe/compiler.h"

struct espy_type *dc_type(struct dc *dc, uint32_t i)
{
	return dc_vec_at(&dc->types, i);
}

uint32_t dc_add_type(struct dc *dc, const struct espy_type *t)
{
	return dc_intern_record(dc, DC_TYPES, t, 1);
}

const struct espy_type dc_empty_type = {
	.align = 1,
	.table = ESPY_NONE,
	.elem = ESPY_NONE,
	.len_a = ESPY_NONE,
	.len_b = ESPY_NONE,
};

/* Merges an alias with its use: lays the additions over a copy of the alias. */
static struct ast_type *merge(struct dc *dc, const struct ast_type *alias, const struct ast_type *use)
{
	struct ast_type *m = dc_alloc(dc, sizeof(*m));

	*m = *alias;
	m->pos = use->pos;
	m->base_pos = use->base_pos;
	if (use->in || use->out) {
		m->in = use->in;
		m->out = use->out;
		m->ptr64 = use->ptr64;
	}
	if (use->fmt) {
		m->fmt = use->fmt;
		m->fmt_pos = use->fmt_pos;
	}
	if (use->len.kind != LEN_NONE)
		m->len = use->len;
	m->when = use->when ? use->when : m->when;
	m->spread = use->spread ? use->spread : m->spread;
	m->max = use->max ? use->max : m->max;
	if (use->at) {
		m->at = use->at;
		m->at_pos = use->at_pos;
	}
	if (use->hook) {
		m->hook = use->hook;
		m->hook_pos = use->hook_pos;
	}
	if (use->on != ON_DEFAULT) {
		m->on = use->on;
		m->on_pos = use->on_pos;
	}
	m->class_flags |= use->class_flags;
	m->verbose |= use->verbose;
	m->hex |= use->hex;
	m->bare |= use->bare;
	if (use->from_sp) {
		m->from_sp = true;
		m->sp_off = use->sp_off;
	}
	m->field_flags |= use->field_flags;
	return m;
}

const struct ast_type *dc_resolve_alias(struct dc *dc, const struct ast_type *t)
{
	for (unsigned i = 0; i < 16; i++) {
		if (t->base != BASE_NAME || !t->name->type || t->name->type->kind != NAMED_ALIAS)
			return t;
		const struct ast_type *a = t->name->type->alias;
		bool a_ptr = a->in || a->out, a_len = a->len.kind != LEN_NONE, t_len = t->len.kind != LEN_NONE;

		/* Pointer to a pointer, array of pointers or of arrays: the alias is the element. */
		if ((a_ptr && (t->in || t->out || t_len)) || (a_len && t_len)) {
			struct ast_type *m = dc_alloc(dc, sizeof(*m)), *inner = dc_alloc(dc, sizeof(*inner));

			*m = *t;
			*inner = *a;
			inner->class_flags |= t->class_flags;
			m->base = BASE_PAREN;
			m->inner = inner;
			return m;
		}
		t = merge(dc, a, t);
	}
	return t;
}

/* The phase that must know a length in front of a value. */
struct phase {
	bool pointee, in, out;
};

/* Tells whether the integer behind a pointer parameter is there before the call. */
static bool deref_at_entry(struct dc *dc, const struct ast_expr *e, const struct dc_ctx *ctx)
{
	if ((e->op == AX_NAME || e->op == AX_MEMBER) && ctx) {
		const struct ast_type *t = dc_ctx_type(dc, ctx, e->sym);

		return !t || !(t->out && !t->in);
	}
	return (!e->a || deref_at_entry(dc, e->a, ctx)) && (!e->b || deref_at_entry(dc, e->b, ctx));
}

/* Tells whether a source can evaluate it: NAME, NAME * constant, ret, constant. */
static bool plain(struct dc *dc, uint32_t i, bool top)
{
	if (i == ESPY_NONE)
		return true;
	const struct espy_expr *x = dc_vec_at(&dc->exprs, i), *b = dc_vec_at(&dc->exprs, x->b);

	switch (x->op) {
	case ESPY_X_CONST:
	case ESPY_X_ARG:
	case ESPY_X_FIELD:
	case ESPY_X_RET:
	case ESPY_X_OUTER:
		return true;
	case ESPY_X_DEREF:
		return !x->b;
	case ESPY_X_ROUND_BITS:
		return top && plain(dc, x->a, false);
	case ESPY_X_MUL:
		return top && b->op == ESPY_X_CONST && plain(dc, x->a, false);
	default:
		return false;
	}
}

bool dc_is_plain(struct dc *dc, uint32_t x)
{
	return plain(dc, x, true);
}

/* Lowers the length of t into ty (len_a, len_b, count). Returns whether it is a constant. */
static bool lower_length(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, struct phase ph,
			 struct espy_type *ty)
{
	const struct ast_len *l = &t->len;
	uint32_t a = ESPY_NONE, b;

	if (l->kind != LEN_COUNT && l->kind != LEN_SIZED)
		return false;
	b = dc_lower_expr(dc, l->b, ctx);
	if (l->a)
		a = dc_lower_expr(dc, l->a, ctx);
	if (b == ESPY_NONE || (l->a && a == ESPY_NONE))
		return false;
	const struct espy_expr *xb = dc_vec_at(&dc->exprs, b);

	if (l->a && !ph.pointee && xb->op == ESPY_X_CONST && xb->value <= 1u << 20) {
		/* room for so many, of which A count */
		ty->count = (uint32_t)xb->value;
		ty->len_a = a;
		return true;
	}
	if (!l->a && xb->op == ESPY_X_CONST && l->kind == LEN_COUNT && !l->spread) {
		if (xb->value > 1u << 20)
			dc_error(dc, l->b->pos, "length %llu is out of range, expected at most 1048576",
				 (unsigned long long)xb->value);
		ty->count = xb->value > 1u << 20 ? 0 : (uint32_t)xb->value;
		if (l->bytes)
			ty->flags |= ESPY_TF_LEN_BYTES;
		return true;
	}
	if (ph.pointee) {
		bool ret_b = dc_expr_has(dc, b, ESPY_X_RET), late_b = !deref_at_entry(dc, l->b, ctx);

		if (ph.in && (ret_b || (l->a && dc_expr_has(dc, a, ESPY_X_RET))) && !ph.out)
			dc_error(dc, l->pos,
				 "`ret` is not known before the call, expected a length for what the call reads");
		else if (ph.in && !ph.out && late_b)
			dc_error(dc, l->b->pos,
				 "this length is written by the call, expected one that is known before it");
		else if (l->a && (ret_b || late_b))
			dc_error(dc, l->b->pos, "the second part of `A of B` must be known before the call");
		else if (l->kind == LEN_COUNT || l->kind == LEN_SIZED) {
			if (!t->max && (!dc_is_plain(dc, a) || !dc_is_plain(dc, b)))
				dc_error(dc, l->pos,
					 "a source cannot evaluate this length, expected NAME, NAME * constant, `ret` "
					 "or a constant, or `max N`");
		}
		if (!l->a && (ret_b || late_b)) { /* known at exit only */
			a = b;
			b = ESPY_NONE;
		}
	}
	ty->len_a = a;
	ty->len_b = b;
	if (l->bytes)
		ty->flags |= ESPY_TF_LEN_BYTES;
	if (l->spread) /* the vector around it names the shared number (plan.c, and the decoder) */
		ty->flags |= ESPY_TF_SPREAD;
	return false;
}

static uint32_t max_of(struct dc *dc, const struct ast_type *t)
{
	uint64_t v = 0;

	if (t->max && !dc_const_expr(dc, t->max, NULL, NULL, &v) && (!v || v > 1u << 20))
		dc_error(dc, t->max->pos, "`max %llu` is out of range, expected 1 to 1048576", (unsigned long long)v);
	return v > 1u << 20 ? 0 : (uint32_t)v;
}

static uint32_t lower_value(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, enum dc_place place,
			    struct phase ph);

static uint32_t array_of(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, uint32_t elem,
			 struct phase ph)
{
	struct espy_type ty = dc_empty_type;

	if (elem == ESPY_NONE)
		return ESPY_NONE;
	const struct espy_type *e = dc_type(dc, elem);

	ty.kind = ESPY_T_ARRAY;
	ty.elem = elem;
	ty.align = e->align;
	ty.max = max_of(dc, t);
	ty.brief_cnt = t->abbrev;
	ty.flags = t->class_flags;
	if (!e->size) {
		dc_error(dc, t->base_pos, "elements of an array must have a fixed size");
		return ESPY_NONE;
	}
	uint32_t elem_sz = e->size;

	if (t->len.kind == LEN_NULL) {
		if (e->kind != ESPY_T_PTR && !(e->kind == ESPY_T_INT && e->fmt == ESPY_FMT_ADDR))
			dc_error(dc, t->len.pos, "`[null]` ends an array of pointers, expected pointers");
		else if (!ph.pointee)
			dc_error(dc, t->len.pos, "`[null]` can stand behind a pointer only");
		ty.flags |= ESPY_TF_NULLTERM;
	} else if (lower_length(dc, t, ctx, ph, &ty)) {
		if (ty.flags & ESPY_TF_LEN_BYTES)
			ty.count /= elem_sz;
		ty.flags &= ~(uint32_t)ESPY_TF_LEN_BYTES;
		if ((uint64_t)ty.count * elem_sz > 1u << 20)
			dc_error(dc, t->len.pos, "the array is larger than a megabyte");
		else
			ty.size = ty.count * elem_sz;
	}
	if (t->spread) {
		ty.aux = dc_lower_expr(dc, t->spread, ctx);
		if (ty.aux == ESPY_NONE)
			return ESPY_NONE;
		ty.flags |= ESPY_TF_SPREAD;
	}
	return dc_add_type(dc, &ty);
}

static uint32_t tlv_of(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, const struct ast_named *s,
		       uint32_t elem, struct phase ph)
{
	struct espy_type ty = dc_empty_type, word = dc_empty_type;
	uint64_t align = 1;

	if (elem == ESPY_NONE)
		return ESPY_NONE;
	if (s->tlv_align_word) {
		dc_scalar(dc, s->tlv_align_word->word, &word);
		align = word.size;
	} else if (dc_const_expr(dc, s->tlv_align, NULL, NULL, &align)) {
		return ESPY_NONE;
	}
	if (!align || align > 64 || (align & (align - 1))) {
		dc_error(dc, s->tlv_pos, "alignment %llu is out of range, expected a power of two up to 64",
			 (unsigned long long)align);
		align = 1;
	}
	const struct espy_type *e = dc_type(dc, elem);
	if (e->kind == ESPY_T_REST) /* records in records, cut off */
		return elem;
	const struct espy_field *f = dc_vec_at(&dc->fields, e->first);
	uint32_t k = 0;

	ty.kind = ESPY_T_TLV;
	ty.elem = elem;
	ty.align = e->align;
	ty.max = max_of(dc, t);
	ty.flags = t->class_flags | ESPY_TF_LEN_BYTES;
	while (k + 1 < e->count && f[k].name != s->tlv_len->str)
		k++;
	if (e->count)
		ty.aux = dc_type(dc, f[k].type)->size | (uint32_t)align << 8 | 1u << 16 |
			 (uint32_t)s->tlv_overlap << 17 | f[k].off << 24;
	if (t->len.kind == LEN_COUNT && !t->len.bytes)
		dc_error(dc, t->len.pos,
			 "records that carry their own length are counted in bytes, expected `[n bytes]` or `[rest]`");
	if (lower_length(dc, t, ctx, ph, &ty)) {
		ty.size = ty.count;
		ty.count = 0;
	}
	return dc_add_type(dc, &ty);
}

/* Lowers integers, and the types that a length makes of them. */
static uint32_t lower_word(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, enum dc_place place,
			   struct phase ph)
{
	struct espy_type ty = dc_empty_type;
	bool len = t->len.kind != LEN_NONE;
	enum dc_word w = (enum dc_word)t->name->word;
	bool byte_fmt =
		t->fmt && (!strcmp(t->fmt->s, "mac") || !strcmp(t->fmt->s, "inet6") || !strcmp(t->fmt->s, "sunpath") ||
			   !strcmp(t->fmt->s, "uuid") || !strcmp(t->fmt->s, "ax25") || !strcmp(t->fmt->s, "inet_addr"));

	switch (w) {
	case W_STR:
	case W_PATH:
	case W_LINK:
		if (place != PLACE_POINTEE && !(place == PLACE_FIELD && w == W_STR))
			dc_error(dc, t->base_pos, "`%s` can stand behind a pointer only, expected `in %s` or `char[n]`",
				 t->name->s, t->name->s);
		ty.kind = ESPY_T_STR;
		ty.flags = w == W_PATH ? ESPY_TF_PATH : w == W_LINK ? ESPY_TF_PATH | ESPY_TF_UNTOUCHED : 0;
		if (lower_length(dc, t, ctx, ph, &ty) && !ty.max)
			ty.max = ty.count;
		ty.count = 0;
		break;
	case W_VOID:
		ty.kind = ESPY_T_VOID;
		break;
	case W_REMARK:
		ty.kind = ESPY_T_REMARK;
		if (!t->text) {
			dc_error(dc, t->base_pos, "`remark` without a text, expected `remark \"text\"`");
			return ESPY_NONE;
		}
		if (place != PLACE_PARAM && place != PLACE_FIELD)
			dc_error(dc, t->base_pos, "a remark stands behind a field or a parameter");
		ty.name = dc_str(dc, t->text);
		ty.flags = t->styled ? ESPY_TF_BARE : 0;
		ty.len_a = t->number[0] ? dc_lower_expr(dc, t->number[0], ctx) : ESPY_NONE;
		ty.len_b = t->number[1] ? dc_lower_expr(dc, t->number[1], ctx) : ESPY_NONE;
		dc_apply_hook(dc, t, &ty);
		return dc_add_type(dc, &ty);
	case W_REST:
		ty.kind = ESPY_T_REST;
		if (len)
			dc_error(dc, t->len.pos, "`rest` has no length of its own");
		break;
	case W_BYTES:
		ty.kind = ESPY_T_BYTES;
		if (!len)
			dc_error(dc, t->base_pos, "`bytes` without a length, expected `bytes[n]` or `rest`");
		if (lower_length(dc, t, ctx, ph, &ty))
			ty.size = ty.count;
		break;
	case W_U8:
	case W_CHAR:
		if (len && (w == W_CHAR || byte_fmt || (t->fmt && !strcmp(t->fmt->s, "hex")) || t->hex)) {
			ty.kind = w == W_CHAR ? ESPY_T_CHARS : ESPY_T_BYTES;
			if (lower_length(dc, t, ctx, ph, &ty))
				ty.size = ty.count;
			break;
		}
		/* fall through */
	default:
		dc_scalar(dc, w, &ty);
		if (t->number[0])
			ty.len_a = dc_lower_expr(dc, t->number[0], ctx);
		if (t->number[1]) /* another number of our own, so that this one is none of ours */
			ty.len_a = ty.len_b = dc_lower_expr(dc, t->number[1], ctx);
		ty.flags |= t->bare ? ESPY_TF_BARE : 0;
		dc_apply_format(dc, t, &ty);
		if (!len) {
			dc_apply_hook(dc, t, &ty);
			return dc_add_type(dc, &ty);
		}
		return array_of(dc, t, ctx, dc_add_type(dc, &ty), ph);
	}
	ty.flags |= t->class_flags;
	if (t->max)
		ty.max = max_of(dc, t);
	dc_apply_format(dc, t, &ty);
	dc_apply_hook(dc, t, &ty);
	return dc_add_type(dc, &ty);
}

static uint32_t lower_bits(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, struct phase ph)
{
	struct espy_type ty = dc_empty_type;
	bool fds = !strcmp(t->name->s, "fd");

	ty.kind = ESPY_T_BITS;
	if (!strcmp(t->name->s, "signal"))
		ty.fmt = ESPY_FMT_SIGNAL;
	else if (fds)
		ty.fmt = ESPY_FMT_FD;
	else if (t->name->table && t->name->table->kind == ESPY_TABLE_ENUM)
		ty.fmt = ESPY_FMT_ENUM;
	else if (strcmp(t->name->s, "cpu"))
		dc_error(dc, t->base_pos, "unknown kind of bit set `%s`, expected `signal`, `fd`, `cpu` or an enum table",
			 t->name->s);
	if (ty.fmt == ESPY_FMT_ENUM)
		ty.table = dc_lower_table(dc, t->name->table);
	const bool names = ty.fmt == ESPY_FMT_ENUM && t->fmt && !strcmp(t->fmt->s, "names");
	if (names)
		ty.fmt = ESPY_FMT_NAMES;
	ty.align = dc->long_sz > dc->ptr_sz ? dc->ptr_sz : dc->long_sz;
	ty.max = max_of(dc, t);
	ty.flags = ESPY_TF_LEN_BYTES;
	if (t->len.kind == LEN_NONE || t->len.kind == LEN_NULL)
		dc_error(dc, t->base_pos, "`bits` without a length, expected `bits %s[n]`", t->name->s);
	if (lower_length(dc, t, ctx, ph, &ty)) {
		ty.size = ty.count = fds && !t->len.bytes ? (ty.count + 63) / 64 * 8 : ty.count;
	} else if ((fds || names) && !t->len.bytes) {
		if (ty.len_a != ESPY_NONE)
			ty.len_a = dc_add_expr(dc, ESPY_X_ROUND_BITS, ty.len_a, 0, 0);
		if (ty.len_b != ESPY_NONE)
			ty.len_b = dc_add_expr(dc, ESPY_X_ROUND_BITS, ty.len_b, 0, 0);
	}
	dc_apply_hook(dc, t, &ty);
	return dc_add_type(dc, &ty);
}

static uint32_t lower_name_type(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, struct phase ph)
{
	struct ast_named *s = t->name->type;
	struct espy_type ty = dc_empty_type;
	uint32_t i;

	if (!s && t->name->table && t->name->table->kind == ESPY_TABLE_PACK) {
		if (!dc_scalar(dc, t->name->table->width->word, &ty))
			return ESPY_NONE;
		ty.table = dc_lower_table(dc, t->name->table);
		ty.fmt = ESPY_FMT_PACK;
		i = dc_add_type(dc, &ty);
		return t->len.kind == LEN_NONE ? i : array_of(dc, t, ctx, i, ph);
	}
	if (!s) {
		dc_error(dc, t->base_pos,
			 "unknown type `%s`, expected a type of the language, a struct, a union, a pack or an alias%s",
			 t->name->s, t->name->table ? " (tables stand behind an integer: `u32:NAME`)" : "");
		return ESPY_NONE;
	}
	if (s->kind == NAMED_ALIAS) { /* more than 16 deep, or itself */
		dc_error(dc, t->base_pos, "type `%s` refers to itself", t->name->s);
		return ESPY_NONE;
	}
	struct dc_ctx named_ctx = ctx ? *ctx : (struct dc_ctx){ 0 };

	i = dc_lower_named(dc, s, ctx ? &named_ctx : NULL);
	if (i == ESPY_NONE)
		return i;
	if (t->fmt)
		dc_error(dc, t->fmt_pos, "format `%s` behind a %s, expected one behind an integer or bytes", t->fmt->s,
			 s->kind == NAMED_STRUCT ? "struct" : "union");
	if (t->len.kind == LEN_SIZED) {
		ty = *dc_type(dc, i);
		ty.flags |= ESPY_TF_SIZED | t->class_flags;
		if (ty.kind == ESPY_T_STRUCT)
			ty.aux |= (uint32_t)t->len.min << 8;
		ty.max = max_of(dc, t);
		lower_length(dc, t, ctx, ph, &ty);
		dc_apply_hook(dc, t, &ty);
		return dc_add_type(dc, &ty);
	}
	if ((t->hook || t->max) && t->len.kind == LEN_NONE) {
		ty = *dc_type(dc, i);
		ty.max = max_of(dc, t);
		dc_apply_hook(dc, t, &ty);
		return dc_add_type(dc, &ty);
	}
	if (t->len.kind == LEN_NONE)
		return i;
	i = s->tlv_len ? tlv_of(dc, t, ctx, s, i, ph) : array_of(dc, t, ctx, i, ph);
	if (t->hook && i != ESPY_NONE) {
		ty = *dc_type(dc, i);
		dc_apply_hook(dc, t, &ty);
		i = dc_add_type(dc, &ty);
	}
	return i;
}

static uint32_t lower_base(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, enum dc_place place,
			    struct phase ph)
{
	if (t->len.kind == LEN_SIZED && !(t->base == BASE_NAME && t->name->type && t->name->type->kind != NAMED_ALIAS))
		dc_error(dc, t->len.pos, "`sized` belongs to a struct or union");
	if (t->len.kind == LEN_SIZED && !ph.pointee)
		dc_error(dc, t->len.pos, "`sized` can stand behind a pointer only");
	if (t->spread && (t->len.kind != LEN_COUNT || !ph.pointee))
		dc_error(dc, t->spread->pos, "`spread` belongs to an array behind a pointer");
	switch ((enum ast_base)t->base) {
	case BASE_BITS:
		return lower_bits(dc, t, ctx, ph);
	case BASE_NAME:
		return lower_name_type(dc, t, ctx, ph);
	case BASE_PAREN: {
		/* The parser bounds the nesting of text; a name that stands in its own meaning would nest for ever. */
		if (dc->depth > 128) {
			dc_error(dc, t->pos, "types are nested too deeply; does a type name contain itself?");
			return ESPY_NONE;
		}
		struct ast_type *inner = dc_alloc(dc, sizeof(*inner));

		*inner = *t->inner;
		inner->class_flags |= t->class_flags;
		dc->depth++;
		uint32_t e = dc_lower_type(dc, inner, ctx, PLACE_ELEM);
		dc->depth--;

		if (t->len.kind == LEN_NONE)
			return e;
		return array_of(dc, t, ctx, e, ph);
	}
	default:
		return lower_word(dc, t, ctx, place, ph);
	}
}

static uint32_t lower_value(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, enum dc_place place,
			    struct phase ph)
{
	const uint32_t i = lower_base(dc, t, ctx, place, ph);

	if (i != ESPY_NONE && t->placed)
		return dc_lower_placed(dc, t, ctx, i);
	if (i == ESPY_NONE || (!t->index && !t->upto && !t->naming && !t->aside))
		return i;
	struct espy_type ty = *dc_type(dc, i);

	if (t->naming) {
		ty.flags |= ESPY_TF_KIND;
	} else if (t->aside) {
		if (ty.kind != ESPY_T_INT || ty.fmt != ESPY_FMT_FD)
			dc_error(dc, t->pos, "`aside` belongs to a descriptor");
		ty.flags |= ESPY_TF_UNTOUCHED;
	} else if (t->upto) {
		if (ty.kind != ESPY_T_INT)
			dc_error(dc, t->pos, "`upto` belongs to an integer");
		ty.flags |= ESPY_TF_UPTO;
	} else if (ty.kind != ESPY_T_ARRAY || ty.fmt || !t->index->table || t->index->table->kind != ESPY_TABLE_ENUM) {
		dc_error(dc, t->index_pos, "`indexed %s`: expected an array, and an enum table", t->index->s);
	} else {
		ty.table = dc_lower_table(dc, t->index->table);
		ty.flags |= ESPY_TF_INDEXED;
	}
	return dc_add_type(dc, &ty);
}

uint32_t dc_lower_type(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, enum dc_place place)
{
	struct espy_type ty = dc_empty_type;

	if (dc->too_many)
		return ESPY_NONE;
	t = dc_resolve_alias(dc, t);
	if (!t->in && !t->out) {
		if (t->on != ON_DEFAULT)
			dc_error(dc, t->on_pos, "`on` belongs to what the call writes, expected `out` or `inout`");
		return lower_value(dc, t, ctx, place, (struct phase){ 0 });
	}
	if (place == PLACE_RESULT)
		dc_error(dc, t->pos, "a result is no pointer that is followed, expected `addr`");
	struct ast_type *v = dc_alloc(dc, sizeof(*v));

	*v = *t;
	v->in = v->out = v->ptr64 = 0;
	v->on = ON_DEFAULT;
	if (t->on != ON_DEFAULT && !t->out)
		dc_error(dc, t->on_pos, "`on` belongs to what the call writes, expected `out` or `inout`");
	/* `in (in str)`: a pointer leads to a pointer */
	ty.elem = lower_value(dc, v, ctx, PLACE_POINTEE, (struct phase){ true, t->in, t->out });
	if (ty.elem == ESPY_NONE)
		return ESPY_NONE;
	const struct espy_type *e = dc_type(dc, ty.elem);

	if (e->kind == ESPY_T_VOID || e->kind == ESPY_T_REST)
		dc_error(dc, t->base_pos, "nothing says how long this is, expected a type with a length");
	else if (!e->size && (e->kind == ESPY_T_STRUCT || e->kind == ESPY_T_UNION) && !(e->flags & ESPY_TF_SIZED) &&
		 !e->max)
		dc_error(dc, t->base_pos, "`%s` varies in size, expected `sized n`, or `max N`: so many bytes are read",
			 t->name->s);
	else if (t->len.kind == LEN_REST)
		dc_error(dc, t->len.pos, "nothing says how long this is, expected a length");
	ty.kind = ESPY_T_PTR;
	ty.size = t->ptr64 ? 8 : dc->ptr_sz;
	ty.align = ty.size == 8 ? dc->u64_align : 4;
	ty.flags = (t->in ? ESPY_TF_IN : 0) | (t->out ? ESPY_TF_OUT : 0) | (t->verbose ? ESPY_TF_VERBOSE : 0) |
		   (t->on == ON_ANY || t->on == ON_ERR ? ESPY_TF_ON_ERR : 0) |
		   (t->on == ON_ERR ? ESPY_TF_ERR_ONLY : 0) | (t->on == ON_POS ? ESPY_TF_ON_POS : 0) | t->class_flags;
	return dc_add_type(dc, &ty);
}
