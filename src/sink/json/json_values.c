/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values that hold other values, and the remarks behind a value. */

#include "sink/json/json_impl.h"

static void put_value(const struct espy_json_values *x, uint32_t *i, uint32_t to);

/* Returns the next token of the manner, from i on; `to`: there is none. */
static inline uint32_t shown_from(const struct espy_json_values *x, uint32_t i, uint32_t to)
{
	while (i < to && !(x->tokens.at[i].shown & x->manner))
		i = (x->tokens.at[i].kind == ESPY_TOKEN_OPEN ? x->tokens.at[i].link : i) + 1;
	return i;
}

/* Tells whether the token is a date, or a fact for other sinks: objects pass over it. */
static inline bool is_decoration(const struct espy_token *v)
{
	return v->kind >= ESPY_TOKEN_FD && !v->role;
}

static inline bool is_remark(const struct espy_token *v)
{
	return !v->role && (v->kind == ESPY_TOKEN_REMARK || (v->kind == ESPY_TOKEN_WORD && v->flags & (ESPY_TOKF_ASIDE)));
}

static void put_elided(struct espy_json *j, const struct espy_token *v)
{
	static const char *const why[] = { [ESPY_ELIDED_MORE] = "more", [ESPY_ELIDED_FAULT] = "fault",
					   [ESPY_ELIDED_UNKNOWN] = "unknown" };

	ESPY_JSON_BEGIN(j, "elided");
	ESPY_JSON_KEY(j, "why");
	espy_json__str(j, why[v->group]);
	if (v->addr) {
		ESPY_JSON_KEY(j, "addr");
		espy_json__hex(j, v->addr);
	}
	espy_json_end(j);
}

/* Puts the values of a group, or of all, as elements. */
static void put_elements(const struct espy_json_values *x, uint32_t from, uint32_t to)
{
	for (uint32_t i = shown_from(x, from, to); i < to; i = shown_from(x, i, to)) {
		const struct espy_token *v = &x->tokens.at[i];
		const bool named = *v->name && (v->role == ESPY_ROLE_ELEM || v->role == ESPY_ROLE_LABEL);

		if (v->kind == ESPY_TOKEN_ELIDED) {
			put_elided(x->j, v);
			i++;
		} else if (!v->role) {
			i = (v->kind == ESPY_TOKEN_OPEN ? v->link : i) + 1;
		} else {
			if (named) {
				espy_json__open(x->j, '{');
				espy_json__key_text(x->j, v->name);
			}
			put_value(x, &i, to);
			if (named)
				espy_json__close(x->j, '}');
		}
	}
}

/* Puts them as members. A value without a name is named by its kind: bytes behind the known struct. */
static void put_members(const struct espy_json_values *x, uint32_t from, uint32_t to)
{
	unsigned n = 0;

	for (uint32_t i = shown_from(x, from, to); i < to; i = shown_from(x, i, to)) {
		const struct espy_token *v = &x->tokens.at[i];

		if (v->kind == ESPY_TOKEN_ELIDED) {
			espy_json__key(x->j, "$elided");
			put_elided(x->j, v);
			i++;
		} else if (!v->role) {
			i = (v->kind == ESPY_TOKEN_OPEN ? v->link : i) + 1;
		} else {
			if (*v->name) {
				espy_json__key_text(x->j, v->name);
			} else if (v->flags & ESPY_TOKF_TAIL) {
				espy_json__key(x->j, "$tail");
			} else {
				char key[] = "$0";

				key[1] = (char)('0' + n++ % 10);
				espy_json__key(x->j, key);
			}
			put_value(x, &i, to);
		}
	}
}

static void key_list(const struct espy_json_values *x, const char *key, uint32_t open)
{
	espy_json__key(x->j, key);
	espy_json__open(x->j, '[');
	put_elements(x, open + 1, x->tokens.at[open].link);
	espy_json__close(x->j, ']');
}

static void put_group(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i];
	struct espy_json *j = x->j;

	switch ((enum espy_group)v->group) {
	case ESPY_GROUP_STRUCT:
		espy_json__open(j, '{');
		put_members(x, i + 1, v->link);
		espy_json__close(j, '}');
		break;
	case ESPY_GROUP_ARRAY:
		espy_json__open(j, '[');
		put_elements(x, i + 1, v->link);
		espy_json__close(j, ']');
		break;
	case ESPY_GROUP_POINTEE:
		i = shown_from(x, i + 1, v->link);
		put_value(x, &i, v->link);
		break;
	case ESPY_GROUP_CALL:
		ESPY_JSON_BEGIN(j, "call");
		ESPY_JSON_KEY(j, "name");
		espy_json__text(j, v->bytes, v->len);
		espy_json_num(j, v->num);
		key_list(x, "args", i);
		espy_json_end(j);
		break;
	case ESPY_GROUP_JOIN:
		ESPY_JSON_BEGIN(j, "join");
		espy_json_num(j, v->num);
		key_list(x, "parts", i);
		espy_json_end(j);
		break;
	case ESPY_GROUP_NOTE:
		ESPY_JSON_BEGIN(j, "note");
		ESPY_JSON_KEY(j, "text");
		espy_json__text(j, v->bytes, v->len);
		key_list(x, "values", i);
		espy_json_end(j);
		break;
	}
}

static void put_word(struct espy_json *j, const struct espy_token *v)
{
	const bool named = !(v->flags & ESPY_TOKF_UNKNOWN) || v->flags & ESPY_TOKF_STYLED;

	ESPY_JSON_BEGIN(j, "word");
	espy_json_num(j, v->num);
	ESPY_JSON_KEY(j, "name");
	if (named)
		espy_json__text(j, v->bytes, v->len);
	else
		espy_json__null(j);
	espy_json_end(j);
}

static void put_vars(struct espy_json *j, const struct espy_token *v)
{
	ESPY_JSON_BEGIN(j, "vars");
	ESPY_JSON_KEY(j, "addr");
	espy_json__hex(j, v->addr);
	ESPY_JSON_KEY(j, "count");
	espy_json__u64(j, v->num);
	if (v->flags & ESPY_TOKF_CUT)
		ESPY_JSON_LITERAL(j, ",\"cut\":true");
	espy_json_end(j);
}

/* Puts the value at i, without its remarks. */
static inline void put_bare(const struct espy_json_values *x, uint32_t i)
{
	const struct espy_token *v = &x->tokens.at[i];

	switch ((enum espy_token_kind)v->kind) {
	case ESPY_TOKEN_INT:
		espy_json_integer(x, i);
		break;
	case ESPY_TOKEN_STR:
		espy_json_string(x, v);
		break;
	case ESPY_TOKEN_BITS:
		espy_json_set(x, i);
		break;
	case ESPY_TOKEN_ADDR:
		espy_json_pointer(x->j, v->num);
		break;
	case ESPY_TOKEN_VARS:
		put_vars(x->j, v);
		break;
	case ESPY_TOKEN_WORD:
		put_word(x->j, v);
		break;
	case ESPY_TOKEN_OPEN:
		put_group(x, i);
		break;
	default: /* no value by itself: a date alone is left out */
		espy_json__null(x->j);
	}
}

/* Returns the index behind the value at i and its decorations. */
static inline uint32_t behind(const struct espy_json_values *x, uint32_t i, uint32_t to)
{
	i = (x->tokens.at[i].kind == ESPY_TOKEN_OPEN ? x->tokens.at[i].link : i) + 1;
	for (i = shown_from(x, i, to); i < to && is_decoration(&x->tokens.at[i]);)
		i = shown_from(x, i + 1, to);
	return i;
}

/* Returns the index behind the remarks from i on. */
static uint32_t behind_remarks(const struct espy_json_values *x, uint32_t i, uint32_t to)
{
	while (i < to && (is_remark(&x->tokens.at[i]) || is_decoration(&x->tokens.at[i])))
		i = shown_from(x, i + 1, to);
	return i;
}

/* Puts the value at i, and the remarks from `remarks` to `next`. */
static inline void put_noted(const struct espy_json_values *x, uint32_t i, uint32_t remarks, uint32_t next)
{
	struct espy_json *j = x->j;

	if (remarks == next) {
		put_bare(x, i);
		return;
	}
	ESPY_JSON_BEGIN(j, "noted");
	ESPY_JSON_KEY(j, "value");
	put_bare(x, i);
	ESPY_JSON_KEY(j, "notes");
	espy_json__open(j, '[');
	for (; remarks < next; remarks = shown_from(x, remarks + 1, next))
		if (is_remark(&x->tokens.at[remarks]))
			espy_json__text(j, x->tokens.at[remarks].bytes, x->tokens.at[remarks].len);
	espy_json__close(j, ']');
	espy_json_end(j);
}

/* Puts the value at *at with all its remarks, and moves *at behind them. */
static void put_value(const struct espy_json_values *x, uint32_t *at, uint32_t to)
{
	const uint32_t i = *at, remarks = behind(x, i, to);
	uint32_t next = remarks;

	/* Nearly always another value comes, or none. */
	if (next < to && !x->tokens.at[next].role)
		next = behind_remarks(x, next, to);
	*at = next;
	if (next == to || x->tokens.at[next].kind != ESPY_TOKEN_CHANGED) {
		put_noted(x, i, remarks, next);
		return;
	}
	ESPY_JSON_BEGIN(x->j, "changed");
	ESPY_JSON_KEY(x->j, "before");
	put_noted(x, i, remarks, next);
	ESPY_JSON_KEY(x->j, "after");
	*at = shown_from(x, next + 1, to);
	if (*at < to)
		put_value(x, at, to);
	else
		espy_json__null(x->j);
	espy_json_end(x->j);
}

/* ---- for the sink */

void espy_json_values__args(const struct espy_json_values *x)
{
	espy_json__open(x->j, '{');
	put_members(x, 0, x->tokens.cnt);
	espy_json__close(x->j, '}');
}

void espy_json_values__one(const struct espy_json_values *x)
{
	uint32_t i = shown_from(x, 0, x->tokens.cnt);

	if (i < x->tokens.cnt)
		put_value(x, &i, x->tokens.cnt);
	else
		espy_json__null(x->j);
}

void espy_json_values__result(const struct espy_json_values *x)
{
	const uint32_t to = x->tokens.cnt;
	uint32_t i = shown_from(x, 0, to);
	bool any = false;

	if (i == to) {
		espy_json__null(x->j);
		return;
	}
	if (x->tokens.at[i].flags & ESPY_TOKF_FAILED) {
		espy_json__i64(x->j, (int64_t)x->tokens.at[i].num);
		i = behind(x, i, to);
	} else {
		put_value(x, &i, to);
	}
	while (i < to) {
		const struct espy_token *v = &x->tokens.at[i];
		const uint32_t first = v->kind == ESPY_TOKEN_OPEN ? shown_from(x, i + 1, v->link) : i;

		/* A date is for people: the number is beside it. */
		if (v->kind == ESPY_TOKEN_OPEN && first < v->link && x->tokens.at[first].kind != ESPY_TOKEN_DATE) {
			if (!any) {
				espy_json__key(x->j, "notes");
				espy_json__open(x->j, '[');
			}
			any = true;
			put_bare(x, i);
		}
		i = behind(x, i, to);
	}
	if (any)
		espy_json__close(x->j, ']');
}

