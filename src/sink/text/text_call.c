/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tokens to text: punctuation and names around the leaves, and the result behind the arguments. */
#include <espy/espy.h>
#include <string.h>

#include "base/errno_names.h"
#include "base/restart.h"
#include "sink/text/text_impl.h"

static inline bool in_set(const uint64_t *set, uint32_t nr, bool without)
{
	if (!set)
		return without;
	/* the sets have bits for the tables of calls; higher numbers are treated like the rest */
	return nr < 1024 ? set[nr / 64] >> (nr % 64) & 1 : without;
}

enum espy_manner espy_text__manner(const struct espy_text_opts *o, uint32_t nr)
{
	if (in_set(o->raw, nr, false))
		return ESPY_MANNER_RAW;
	if (!in_set(o->verbose, nr, true))
		return in_set(o->abbrev, nr, true) ? ESPY_MANNER_PLAIN : ESPY_MANNER_PLAIN_FULL;
	return in_set(o->abbrev, nr, true) ? ESPY_MANNER_BRIEF : ESPY_MANNER_FULL;
}

void espy_text__want(const struct espy_text_opts *o, struct espy_want *want)
{
	want->paths |= o->paths || o->details;
	want->details |= o->details != 0;
	want->comms |= o->comms;
	want->pids |= o->pids;
	want->contexts |= o->contexts != ESPY_CONTEXTS_NONE;
	want->expected |= (o->contexts & ESPY_CONTEXTS_EXPECTED) != 0;
	want->dates = true;
	if (o->str_limit > want->elem_limit)
		want->elem_limit = o->str_limit;
}

static void put_error(struct espy_buf *b, unsigned err)
{
	const char *name = espy_errno_name(err), *text = espy_errno_text(err);

	espy_buf__puts(b, espy_is_restart(err) ? "? " : "-1 ");
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

static void put_vars(struct espy_text *t, const struct espy_token *v)
{
	const bool cut = v->flags & ESPY_TOKF_CUT;

	espy_buf__addr(t->b, v->addr);
	espy_text_comment(t);
	espy_buf__dec(t->b, v->num);
	if (v->group == ESPY_VARS_ENVIRONMENT) {
		espy_buf__puts(t->b, v->num == 1 ? " var" : " vars");
		espy_buf__puts(t->b, cut ? ", unterminated" : "");
	} else {
		espy_buf__puts(t->b, cut ? "+" : "");
		espy_buf__puts(t->b, v->num == 1 && !cut ? " entry" : " entries");
	}
	espy_text_comment_end(t);
}

static void put_elided(struct espy_text *t, const struct espy_token *v)
{
	espy_buf__put(t->b, v->group == ESPY_ELIDED_UNKNOWN ? "???" : "...", 3);
	if (v->group == ESPY_ELIDED_FAULT && v->addr) {
		espy_text_comment(t);
		espy_buf__hex(t->b, v->addr);
		espy_text_comment_end(t);
	}
}

static void put_word(struct espy_text *t, const struct espy_token *v)
{
	const bool unknown = v->flags & ESPY_TOKF_UNKNOWN;

	if (v->flags & ESPY_TOKF_ASIDE) {
		if (t->xlat != ESPY_XLAT_VERBOSE)
			return;
	} else if (v->flags & ESPY_TOKF_SPELT && t->xlat == ESPY_XLAT_RAW) {
		espy_buf__hex(t->b, v->num);
		return;
	} else if (unknown || (v->flags & ESPY_TOKF_STYLED && t->xlat != ESPY_XLAT_ABBREV)) {
		espy_buf__hex(t->b, v->num);
		if (v->flags & ESPY_TOKF_STYLED && t->xlat == ESPY_XLAT_RAW)
			return;
	} else {
		espy_buf__put(t->b, v->bytes, v->len);
		return;
	}
	espy_text_put_comment_bytes(t, v->bytes, v->len);
}

static void put_comm(struct espy_text *t, const struct espy_token *v)
{
	if (!t->o->comms)
		return;
	espy_buf__putc(t->b, '<');
	espy_buf__quote(t->b, (const uint8_t *)v->name, strlen(v->name), ESPY_HEX_NONE, "<>", false);
	espy_buf__putc(t->b, '>');
}

static void put_pid(struct espy_text *t, const struct espy_token *v)
{
	if (!t->o->pids)
		return;
	espy_text_comment(t);
	espy_buf__dec(t->b, v->num);
	espy_buf__puts(t->b, " in strace's PID NS"); /* parsers of strace's output know these words */
	espy_text_comment_end(t);
}

/* Puts a date, behind a value or as one. */
static void put_date(struct espy_text *t, const struct espy_token *v)
{
	if (v->flags & ESPY_TOKF_BARE) {
		espy_text_date(t, v);
	} else if (!(v->flags & ESPY_TOKF_STYLED) || t->xlat != ESPY_XLAT_RAW) {
		espy_text_comment(t);
		espy_text_date(t, v);
		espy_text_comment_end(t);
	}
}

/* Puts the index of an element: the constant that it is, or its number and the constant as a comment. */
static void put_index(struct espy_text *t, const struct espy_token *v, unsigned index)
{
	const bool number = !*v->name || v->flags & ESPY_TOKF_UNKNOWN || t->xlat != ESPY_XLAT_ABBREV;

	espy_buf__putc(t->b, '[');
	if (number)
		espy_buf__dec(t->b, index);
	else
		espy_buf__puts(t->b, v->name);
	if (number && *v->name && t->xlat != ESPY_XLAT_RAW) {
		espy_text_put_comment(t, v->name);
	}
	espy_buf__put(t->b, "]=", 2);
}

/* Puts the name in front of a value, unless the value writes it itself (inet_pton). */
static void put_role(struct espy_text *t, const struct espy_token *v, unsigned index)
{
	switch (v->role) {
	case ESPY_ROLE_ARG:
	case ESPY_ROLE_ARG_NAMED:
		break;
	case ESPY_ROLE_FIELD:
		if (v->kind == ESPY_TOKEN_STR && v->fmt == ESPY_FMT_INET6)
			return;
		break;
	case ESPY_ROLE_LABEL:
		espy_buf__puts(t->b, v->name);
		espy_buf__putc(t->b, ' ');
		return;
	case ESPY_ROLE_INDEX:
		put_index(t, v, index);
		return;
	default:
		return;
	}
	if (*v->name) {
		espy_buf__puts(t->b, v->name);
		espy_buf__putc(t->b, '=');
	}
}

enum separator { COMMA, BAR, PLUS };
static uint32_t put_group(struct espy_text *t, uint32_t i);

/* Puts a number, and the name of an interface or a family with it. Returns the index behind both. */
static inline uint32_t put_integer(struct espy_text *t, const struct espy_token *v, uint32_t i)
{
	espy_text_integer(t, v);
	return i + 1 + (v->flags & ESPY_TOKF_MORE && (v->fmt == ESPY_FMT_IFINDEX || v->fmt == ESPY_FMT_GENL));
}

/* Puts a token, and the tokens that its text contains. Returns the index behind them. */
static uint32_t put_token(struct espy_text *t, uint32_t i)
{
	const struct espy_token *v = &t->tokens.at[i];

	switch ((enum espy_token_kind)v->kind) {
	case ESPY_TOKEN_INT:
		return put_integer(t, v, i);
	case ESPY_TOKEN_STR:
		espy_text_string(t, v);
		break;
	case ESPY_TOKEN_OPEN:
		return put_group(t, i);
	case ESPY_TOKEN_ADDR:
		espy_buf__addr(t->b, v->num);
		break;
	case ESPY_TOKEN_BITS:
		return espy_text_bits(t, i);
	case ESPY_TOKEN_VARS:
		put_vars(t, v);
		break;
	case ESPY_TOKEN_WORD:
		put_word(t, v);
		break;
	case ESPY_TOKEN_CHANGED:
		espy_buf__put(t->b, " => ", 4);
		if (*v->name) {
			espy_buf__puts(t->b, v->name);
			espy_buf__putc(t->b, '=');
		}
		break;
	case ESPY_TOKEN_REMARK:
		if (v->flags & ESPY_TOKF_STYLED && t->xlat == ESPY_XLAT_RAW)
			break;
		espy_text_put_comment_bytes(t, v->bytes, v->len);
		break;
	case ESPY_TOKEN_ELIDED:
		put_elided(t, v);
		break;
	case ESPY_TOKEN_FD:
		espy_text_fd(t, v);
		break;
	case ESPY_TOKEN_COMM:
		put_comm(t, v);
		break;
	case ESPY_TOKEN_PID:
		put_pid(t, v);
		break;
	case ESPY_TOKEN_DATE:
		put_date(t, v);
		break;
	case ESPY_TOKEN_CONTEXT:
		espy_text_context(t, v);
		break;
	case ESPY_TOKEN_NUMBERED:
	case ESPY_TOKEN_CLOSE:
		break;
	}
	return i + 1;
}

/* Puts the values of a group, or of all, with a comma, a bar or a plus between them. limit: the most elements. */
static void put_list(struct espy_text *t, uint32_t from, uint32_t to, enum separator separator, bool first, unsigned limit)
{
	unsigned n = 0;

	for (uint32_t i = from; i < to;) {
		const struct espy_token *v = &t->tokens.at[i];

		if (!(v->shown & t->manner)) {
			i = (v->kind == ESPY_TOKEN_OPEN ? v->link : i) + 1;
			continue;
		}
		if (v->role || v->kind == ESPY_TOKEN_ELIDED) {
			if (first)
				first = false;
			else if (separator == COMMA)
				espy_buf__put(t->b, ", ", 2);
			else
				espy_buf__putc(t->b, separator == BAR ? '|' : '+');
			if (n == limit && v->role == ESPY_ROLE_ELEM) {
				espy_buf__put(t->b, "...", 3);
				return;
			}
			if (v->role != ESPY_ROLE_ARG || t->o->arg_names)
				put_role(t, v, n);
			n++;
		}
		i = v->kind == ESPY_TOKEN_INT ? put_integer(t, v, i) : put_token(t, i);
	}
}

/* Puts a number made of parts, in the styles of -X: a styled group is one number, and its parts are names. */
static void put_call(struct espy_text *t, const struct espy_token *open, uint32_t i)
{
	const enum espy_xlat saved = t->xlat;
	const bool styled = open->flags & ESPY_TOKF_STYLED;
	const bool comment = styled && (t->xlat == ESPY_XLAT_VERBOSE || open->flags & ESPY_TOKF_ASIDE);

	if (styled && (t->xlat == ESPY_XLAT_RAW || comment)) {
		if (open->fmt == ESPY_FMT_DEC)
			espy_buf__sdec(t->b, (int64_t)open->num);
		else
			espy_buf__hex(t->b, open->num);
		if (t->xlat == ESPY_XLAT_RAW)
			return;
		espy_text_comment(t);
	}
	if (styled)
		if (!(open->flags & ESPY_TOKF_SPELT))
			t->xlat = ESPY_XLAT_ABBREV;
	espy_buf__put(t->b, open->bytes, open->len);
	espy_buf__putc(t->b, '(');
	t->bare_unknown = comment && open->flags & ESPY_TOKF_NAMES;
	put_list(t, i + 1, open->link, COMMA, true, UINT32_MAX);
	t->bare_unknown = false;
	espy_buf__putc(t->b, ')');
	t->xlat = saved;
	if (comment)
		espy_text_comment_end(t);
}

/* Puts a number of parts with a bar or a plus between them; a styled one is a number under -X, and its parts are a
 * comment. */
static void put_join(struct espy_text *t, const struct espy_token *open, uint32_t i)
{
	const bool comment = open->flags & ESPY_TOKF_STYLED && t->xlat == ESPY_XLAT_VERBOSE;

	if (comment || (open->flags & ESPY_TOKF_STYLED && t->xlat == ESPY_XLAT_RAW))
		espy_buf__hex(t->b, open->num);
	if (open->flags & ESPY_TOKF_STYLED && t->xlat == ESPY_XLAT_RAW)
		return;
	if (comment)
		espy_text_comment(t);
	put_list(t, i + 1, open->link, open->flags & ESPY_TOKF_SUM ? PLUS : BAR, true, UINT32_MAX);
	if (comment)
		espy_text_comment_end(t);
}

/* Puts words behind a result. */
static void put_note(struct espy_text *t, const struct espy_token *open, uint32_t i)
{
	const enum espy_xlat saved = t->xlat;

	if (t->xlat == ESPY_XLAT_RAW && open->flags & ESPY_TOKF_ASIDE)
		return;
	if (open->flags & ESPY_TOKF_FAILED) { /* which error the number is */
		espy_buf__putc(t->b, ' ');
		espy_buf__put(t->b, open->bytes, open->len);
		return;
	}
	if (open->flags & ESPY_TOKF_NAMES)
		t->xlat = ESPY_XLAT_ABBREV;
	espy_buf__put(t->b, " (", 2);
	espy_buf__put(t->b, open->bytes, open->len);
	put_list(t, i + 1, open->link, COMMA, true, UINT32_MAX);
	espy_buf__putc(t->b, ')');
	t->xlat = saved;
}

static uint32_t put_group(struct espy_text *t, uint32_t i)
{
	const struct espy_token *open = &t->tokens.at[i];
	unsigned limit = UINT32_MAX;

	switch ((enum espy_group)open->group) {
	case ESPY_GROUP_STRUCT:
		if (open->flags & ESPY_TOKF_REPLACED && t->xlat == ESPY_XLAT_ABBREV && open->link + 1 < t->tokens.cnt) {
			const struct espy_token *word = &t->tokens.at[open->link + 1];
			espy_buf__put(t->b, word->bytes, word->len);
			return open->link + 2;
		}
		espy_buf__putc(t->b, '{');
		put_list(t, i + 1, open->link, COMMA, true, limit);
		espy_buf__putc(t->b, '}');
		break;
	case ESPY_GROUP_ARRAY:
		if (open->flags & ESPY_TOKF_LIMITED && !(t->manner & ESPY_MANNERS_FULL))
			limit = t->o->str_limit;
		/* fall through */
	case ESPY_GROUP_POINTEE:
		espy_buf__putc(t->b, '[');
		put_list(t, i + 1, open->link, COMMA, true, limit);
		espy_buf__putc(t->b, ']');
		break;
	case ESPY_GROUP_CALL:
		put_call(t, open, i);
		break;
	case ESPY_GROUP_JOIN:
		put_join(t, open, i);
		break;
	case ESPY_GROUP_NOTE:
		put_note(t, open, i);
		break;
	}
	return open->link + 1;
}

void espy_text__args(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img, struct espy_tokens args,
		     unsigned manner, bool first)
{
	struct espy_text t = { .b = b, .o = o, .img = img, .tokens = args, .xlat = o->xlat, .manner = manner };

	put_list(&t, 0, args.cnt, COMMA, first, UINT32_MAX);
}

void espy_text__value(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img, struct espy_tokens tokens,
		      unsigned manner, uint32_t i)
{
	struct espy_text t = { .b = b, .o = o, .img = img, .tokens = tokens, .xlat = o->xlat, .manner = manner };

	if (tokens.at[i].flags & ESPY_TOKF_FAILED) {
		put_error(b, (unsigned)(0 - tokens.at[i].num));
		return;
	}
	do {
		const struct espy_token *v = &tokens.at[i];

		i = v->shown & manner ? put_token(&t, i) : (v->kind == ESPY_TOKEN_OPEN ? v->link : i) + 1;
	} while (i < tokens.cnt && !tokens.at[i].role && tokens.at[i].kind != ESPY_TOKEN_CLOSE);
}

void espy_text__result(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img,
		       struct espy_tokens result, unsigned manner)
{
	struct espy_text t = { .b = b, .o = o, .img = img, .tokens = result, .xlat = o->xlat, .manner = manner };
	uint32_t from = 0;

	espy_buf__put(b, "= ", 2);
	if (result.cnt == 1 && result.at->kind == ESPY_TOKEN_INT && !(result.at->flags & ESPY_TOKF_FAILED) &&
	    result.at->shown & manner) { /* most are a number alone */
		espy_text_integer(&t, result.at);
		return;
	}
	if (!result.cnt)
		espy_buf__putc(b, '?');
	else if (result.at[0].flags & ESPY_TOKF_FAILED)
		put_error(b, (unsigned)(0 - result.at[from++].num));
	put_list(&t, from, result.cnt, COMMA, true, UINT32_MAX);
}

void espy_text__changed(struct espy_buf *b, unsigned changed)
{
	const bool result = changed & ESPY_RF_INJECTED;

	if (changed & ESPY_RF_POKED)
		espy_buf__puts(b, result ? " (INJECTED: args, retval)" : " (INJECTED: args)");
	else if (result)
		espy_buf__puts(b, " (INJECTED)");
	if (changed & ESPY_RF_DELAYED)
		espy_buf__puts(b, " (DELAYED)");
}

void espy_text__siginfo(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_image *img,
			struct espy_tokens info)
{
	if (info.cnt)
		espy_text__args(b, o, img, info, ESPY_MANNER_BRIEF, true);
	else
		espy_buf__put(b, "{}", 2);
}
