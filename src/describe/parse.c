/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Parses declarations. The parser knows no meaning of names. After a syntax error it goes on at the next name that
 * begins a line: a declaration does so by habit, and its contents are indented.
 */
#include <stdio.h>
#include "describe/compiler.h"

#define MAX_DEPTH 64u

struct dc_tok *dc_peek(struct dc *dc, uint32_t ahead)
{
	uint32_t i = dc->tok + ahead;

	return dc_vec_at(&dc->toks, i < dc->toks.n ? i : dc->toks.n - 1);
}

struct dc_tok *dc_next(struct dc *dc)
{
	struct dc_tok *t = dc_peek(dc, 0);

	if (t->kind != T_EOF)
		dc->tok++;
	return t;
}

struct dc_pos dc_tok_pos(struct dc *dc, const struct dc_tok *t)
{
	return (struct dc_pos){ dc->cur_src, t->off };
}

bool dc_is_punct(struct dc *dc, uint32_t ahead, char c)
{
	struct dc_tok *t = dc_peek(dc, ahead);

	return t->kind == T_PUNCT && t->num == (unsigned char)c;
}

bool dc_is_word(struct dc *dc, uint32_t ahead, enum dc_word w)
{
	struct dc_tok *t = dc_peek(dc, ahead);

	return t->kind == T_NAME && t->word == w;
}

bool dc_accept(struct dc *dc, char c)
{
	if (!dc_is_punct(dc, 0, c))
		return false;
	dc->tok++;
	return true;
}

bool dc_accept_text(struct dc *dc, const char *text)
{
	const bool found = dc_peek(dc, 0)->kind == T_NAME && !strcmp(dc_peek(dc, 0)->sym->s, text);

	dc->tok += found;
	return found;
}

bool dc_accept_word(struct dc *dc, enum dc_word w)
{
	if (!dc_is_word(dc, 0, w))
		return false;
	dc->tok++;
	return true;
}

_Noreturn void dc_syntax(struct dc *dc, const char *expected)
{
	struct dc_tok *t = dc_peek(dc, 0);
	const char *text = dc->src[dc->cur_src]->text + t->off;

	if (t->kind == T_EOF)
		dc_error(dc, dc_tok_pos(dc, t), "found the end of the file, expected %s", expected);
	else
		dc_error(dc, dc_tok_pos(dc, t), "found `%.*s`, expected %s", t->len > 60 ? 60 : (int)t->len, text,
			 expected);
	longjmp(dc->sync, 1);
}

void dc_expect(struct dc *dc, char c, const char *after)
{
	char what[160];

	if (dc_accept(dc, c))
		return;
	snprintf(what, sizeof(what), "`%c` %s", c, after);
	dc_syntax(dc, what);
}

struct dc_sym *dc_expect_name(struct dc *dc, const char *what, struct dc_pos *pos)
{
	struct dc_tok *t = dc_peek(dc, 0);

	if (t->kind != T_NAME)
		dc_syntax(dc, what);
	if (pos)
		*pos = dc_tok_pos(dc, t);
	dc->tok++;
	return t->sym;
}

void dc_enter(struct dc *dc)
{
	if (++dc->depth > MAX_DEPTH)
		dc_syntax(dc, "less nesting");
}

void dc_leave(struct dc *dc)
{
	dc->depth--;
}

#define MAX_LIST 1024u

void dc_parse_names(struct dc *dc, struct ast_names *names, char open, char close)
{
	struct dc_sym *v[MAX_LIST];
	struct dc_pos pos[MAX_LIST];
	uint32_t n = 0;

	dc_expect(dc, open, "before the names");
	while (!dc_accept(dc, close)) {
		if (n == MAX_LIST)
			dc_syntax(dc, "at most 1024 names");
		v[n] = dc_expect_name(dc, "a name or the end of the list", &pos[n]);
		n++;
		dc_accept(dc, ',');
	}
	names->v = dc_keep(dc, v, n, sizeof(*v));
	names->pos = dc_keep(dc, pos, n, sizeof(*pos));
	names->n = n;
}

static void parse_as(struct dc *dc, struct ast_named *s)
{
	struct dc_tok *t = dc_peek(dc, 0);

	if (t->kind != T_STR)
		dc_syntax(dc, "the C name of the struct in quotes after `as`");
	s->as_name = t->str;
	dc->tok++;
	if (!dc_accept_word(dc, W_FROM) || dc_peek(dc, 0)->kind != T_HEADER)
		dc_syntax(dc, "`from <header>`");
	s->as_header = dc_next(dc)->str;
}

static void parse_tlv(struct dc *dc, struct ast_named *s)
{
	s->tlv_len = dc_expect_name(dc, "the name of the length field after `tlv`", &s->tlv_pos);
	if (!dc_accept_word(dc, W_ALIGN))
		dc_syntax(dc, "`align` and a number");
	struct dc_tok *t = dc_peek(dc, 0);

	if (t->kind == T_NAME && dc_is_int_word(t->word)) {
		s->tlv_align_word = t->sym;
		dc->tok++;
	} else {
		s->tlv_align = dc_parse_primary(dc);
	}
	s->tlv_overlap = dc_accept_text(dc, "overlap");
}

/* Accepts the manner of a struct with less or more bytes than its fields. Its words are ordinary names elsewhere. */
static bool accept_manner(struct dc *dc, struct ast_named *s)
{
	const struct {
		const char *word;
		bool *set;
	} words[] = {
		{ "more", &s->more }, { "lead", &s->lead }, { "whole", &s->whole }, { "partial", &s->partial },
		{ "torn", &s->torn }, { "bare", &s->bare }, { "extra", &s->extra }, { "filled", &s->filled },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (dc_accept_text(dc, words[i].word)) {
			*words[i].set = true;
			return true;
		}
	}
	return false;
}

/* Parses the name of a field. A name outside the language stands in quotes: "fmt.pix". */
static struct dc_sym *parse_field_name(struct dc *dc, struct dc_pos *pos)
{
	const struct dc_tok *t = dc_peek(dc, 0);

	if (t->kind != T_STR)
		return dc_expect_name(dc, "the name of a field or `}`", pos);
	*pos = dc_tok_pos(dc, t);
	dc->tok++;
	return dc_intern(dc, t->str, strlen(t->str));
}

static void parse_struct(struct dc *dc, struct ast_named *s)
{
	struct ast_field v[MAX_LIST];
	uint32_t n = 0;

	for (;;) {
		if (dc_accept_word(dc, W_AS)) {
			parse_as(dc, s);
		} else if (dc_accept_word(dc, W_TLV)) {
			parse_tlv(dc, s);
		} else if (dc_accept_word(dc, W_PACKED)) {
			s->packed = true;
		} else if (dc_accept_word(dc, W_TAIL)) {
			s->tail = true;
		} else if (accept_manner(dc, s)) {
			continue;
		} else if (dc_accept_word(dc, W_HEADED)) {
			if (dc_peek(dc, 0)->kind != T_NUM || dc_peek(dc, 0)->num > 100)
				dc_syntax(dc, "the number of fields in the header after `headed`");
			s->headed = (uint8_t)dc_next(dc)->num;
			s->headed = s->headed ? s->headed : ESPY_NO_HEADS;
		} else if (dc_accept_word(dc, W_EXTENT)) {
			s->extent = dc_expect_name(dc, "the name of a field after `extent`", &s->extent_pos);
			s->extent_min = dc_parse_min(dc);
		} else if (dc_accept_word(dc, W_SHOW)) {
			dc_parse_names(dc, &s->show, '{', '}');
		} else if (dc_accept_word(dc, W_BRIEF)) {
			dc_parse_names(dc, &s->brief, '{', '}');
		} else if (dc_accept_word(dc, W_NOTE)) {
			if (dc_accept_word(dc, W_WALLTIME))
				s->note = dc_accept_text(dc, "styled") ? ESPY_NOTE_WALLTIME_STYLED : ESPY_NOTE_WALLTIME;
			else if (dc_accept_word(dc, W_UTIME))
				s->note = ESPY_NOTE_UTIME;
			else
				dc_syntax(dc, "`walltime` or `utime`");
		} else {
			break;
		}
	}
	dc_expect(dc, '{',
		  "or one of `as`, `tlv`, `packed`, `tail`, `headed`, `extent`, `show`, `brief`, `note` before the "
		  "fields");
	while (!dc_accept(dc, '}')) {
		if (n == MAX_LIST)
			dc_syntax(dc, "at most 1024 fields");
		v[n] = (struct ast_field){ 0 };
		v[n].name = parse_field_name(dc, &v[n].pos);
		v[n].type = dc_parse_type(dc);
		n++;
		dc_accept(dc, ',');
	}
	s->fields = dc_keep(dc, v, n, sizeof(*v));
	s->nfields = n;
}

struct ast_key *dc_parse_keys(struct dc *dc, uint32_t *n, char end)
{
	struct ast_key v[MAX_LIST];

	*n = 0;
	do {
		if (*n == MAX_LIST)
			dc_syntax(dc, "at most 1024 keys");
		struct ast_key *k = &v[*n];

		*k = (struct ast_key){ .pos = dc_tok_pos(dc, dc_peek(dc, 0)) };
		k->k[0] = dc_parse_primary(dc);
		if (dc_accept(dc, '.'))
			k->k[1] = dc_parse_primary(dc);
		++*n;
	} while (dc_accept(dc, ','));
	if (!dc_is_punct(dc, 0, end))
		dc_syntax(dc, end == ':' ? "`,`, `.` or `:` after the key" : "`,`, `.` or `(` after the key");
	return dc_keep(dc, v, *n, sizeof(*v));
}

static void parse_union(struct dc *dc, struct ast_named *s)
{
	struct ast_case v[MAX_LIST];
	uint32_t n = 0;

	s->braces = dc_accept_word(dc, W_BRACES);
	if (!dc_accept_word(dc, W_BY))
		dc_syntax(dc, "`by` and the field that chooses");
	s->by[0] = dc_parse_expr(dc);
	if (dc_accept(dc, ','))
		s->by[1] = dc_parse_expr(dc);
	s->braces |= dc_accept_word(dc, W_BRACES);
	dc_expect(dc, '{', "before the cases");
	while (!dc_accept(dc, '}')) {
		if (n == MAX_LIST)
			dc_syntax(dc, "at most 1024 cases");
		v[n] = (struct ast_case){ .pos = dc_tok_pos(dc, dc_peek(dc, 0)) };
		if (dc_is_word(dc, 0, W_ELSE) && dc_is_punct(dc, 1, ':'))
			dc->tok++;
		else
			v[n].keys = dc_parse_keys(dc, &v[n].nkeys, ':');
		dc_expect(dc, ':', "after the key");
		v[n].type = dc_parse_type(dc);
		n++;
	}
	s->cases = dc_keep(dc, v, n, sizeof(*v));
	s->ncases = n;
}

static void parse_named(struct dc *dc, enum ast_named_kind kind)
{
	struct ast_named *s = dc_alloc(dc, sizeof(*s));

	dc->tok++;
	s->kind = kind;
	s->name = dc_expect_name(dc, "a name", &s->pos);
	if (kind == NAMED_STRUCT) {
		parse_struct(dc, s);
	} else if (kind == NAMED_UNION) {
		parse_union(dc, s);
	} else {
		dc_expect(dc, '=', "after the name of the type");
		s->alias = dc_parse_type(dc);
	}
	if (dc_is_int_word(s->name->word) || (s->name->word >= W_BASE_FIRST && s->name->word <= W_BASE_LAST))
		dc_error(dc, s->pos, "`%s` is a type of the language, expected another name", s->name->s);
	else if (s->name->type || (s->name->table && s->name->table->kind == ESPY_TABLE_PACK))
		dc_error(dc, s->pos, "type `%s` is defined twice", s->name->s);
	else
		s->name->type = s;
	*dc->named_tail = s;
	dc->named_tail = &s->next;
}

void dc_parse(struct dc *dc, uint32_t src)
{
	dc->cur_src = src;
	dc_lex(dc, src);
	dc->tok = 0;
	if (setjmp(dc->sync)) {
		/* After an error: on to the next name that begins a line, but at least one token. */
		dc->tok++;
		while (dc_peek(dc, 0)->kind != T_EOF && !(dc_peek(dc, 0)->kind == T_NAME && dc_peek(dc, 0)->at_bol))
			dc->tok++;
	}
	while (dc_peek(dc, 0)->kind != T_EOF && !dc->too_many) {
		struct dc_tok *t = dc_peek(dc, 0);

		dc->depth = 0;
		dc->in_when = false;
		if (t->kind != T_NAME)
			dc_syntax(dc, "a declaration: flags, enum, pack, struct, union, type, attrs, or a call");
		if (dc_is_punct(dc, 1, '(') || dc_is_punct(dc, 1, '/'))
			dc_parse_call(dc);
		else if (t->word == W_FLAGS)
			dc_parse_table(dc, ESPY_TABLE_FLAGS);
		else if (t->word == W_ENUM)
			dc_parse_table(dc, ESPY_TABLE_ENUM);
		else if (t->word == W_PACK)
			dc_parse_table(dc, ESPY_TABLE_PACK);
		else if (t->word == W_STRUCT)
			parse_named(dc, NAMED_STRUCT);
		else if (t->word == W_UNION)
			parse_named(dc, NAMED_UNION);
		else if (t->word == W_TYPE)
			parse_named(dc, NAMED_ALIAS);
		else if (t->word == W_ATTRS)
			dc_parse_attrs(dc);
		else
			dc_syntax(dc, "a declaration: flags, enum, pack, struct, union, type, attrs, or a call `name(...)`");
	}
}
