/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes tokens of text, in one pass. The only state is the previous token (a `<` after `from` begins a header name). */
#include "describe/compiler.h"

static bool is_name_start(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static unsigned digit_value(unsigned char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Reads a number at text[i..n): decimal, 0x, or octal. Returns the offset behind it. */
static size_t lex_number(struct dc *dc, struct dc_tok *t, const char *text, size_t i, size_t n, struct dc_pos pos)
{
	unsigned base = 10;
	uint64_t v = 0;
	bool any = false, overflow = false;

	if (text[i] == '0' && i + 1 < n && (text[i + 1] == 'x' || text[i + 1] == 'X')) {
		base = 16;
		i += 2;
	} else if (text[i] == '0') {
		base = 8;
	}
	for (; i < n && digit_value((unsigned char)text[i]) < base; i++) {
		unsigned d = digit_value((unsigned char)text[i]);

		overflow |= v > (UINT64_MAX - d) / base;
		v = v * base + d;
		any = true;
	}
	t->kind = T_NUM;
	t->num = v;
	if (!any || (i < n && (is_name_start((unsigned char)text[i]) || is_digit((unsigned char)text[i])))) {
		while (i < n && (is_name_start((unsigned char)text[i]) || is_digit((unsigned char)text[i])))
			i++;
		dc_error(dc, pos, "malformed number, expected digits of base %u", base);
	} else if (overflow) {
		dc_error(dc, pos, "number does not fit into 64 bits");
	}
	return i;
}

static const struct {
	char text[3];
	uint8_t kind;
} PAIRS[] = {
	{ "..", T_DOTDOT }, { "->", T_ARROW }, { "<<", T_SHL }, { ">>", T_SHR },  { "<=", T_LE },
	{ ">=", T_GE },	    { "==", T_EQ },    { "!=", T_NE },	{ "&&", T_LAND }, { "||", T_LOR },
};

static size_t lex_quoted(struct dc *dc, struct dc_tok *t, const char *text, size_t i, size_t n, char end,
			 struct dc_pos pos)
{
	size_t from = ++i;
	unsigned char foreign = 0;

	for (; i < n && text[i] != end && text[i] != '\n' && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (!foreign && (c < 0x20 || c > 0x7e))
			foreign = c;
	}
	if (foreign)
		dc_error(dc, pos, "the %s holds byte 0x%02x, expected printable ASCII",
			 end == '"' ? "string" : "header name", foreign);
	t->str = dc_strndup(dc, text + from, i - from);
	t->kind = end == '"' ? T_STR : T_HEADER;
	if (i < n && text[i] == end)
		return i + 1;
	dc_error(dc, pos, "the %s has no end, expected `%c` on the same line", end == '"' ? "string" : "header name",
		 end);
	return i;
}

void dc_lex(struct dc *dc, uint32_t src)
{
	const char *text = dc->src[src]->text;
	size_t n = dc->src[src]->size, i = 0;
	bool bol = true, after_from = false;

	dc->toks.n = 0;
	while (i < n) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n') {
			bol = true;
			i++;
			continue;
		}
		if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
			bol = false;
			i++;
			continue;
		}
		if (c == '#') {
			while (i < n && text[i] != '\n')
				i++;
			continue;
		}
		struct dc_tok *t = dc_vec_add(dc, &dc->toks, 1);
		struct dc_pos pos = { src, (uint32_t)i };
		size_t from = i;

		t->at_bol = bol;
		t->off = (uint32_t)i;
		bol = false;
		if (is_name_start(c)) {
			while (i < n && (is_name_start((unsigned char)text[i]) || is_digit((unsigned char)text[i])))
				i++;
			t->kind = T_NAME;
			t->sym = dc_intern(dc, text + from, i - from);
			t->word = t->sym->word;
			after_from = t->word == W_FROM;
		} else if (is_digit(c)) {
			i = lex_number(dc, t, text, i, n, pos);
		} else if (c == '"' || (c == '<' && after_from)) {
			i = lex_quoted(dc, t, text, i, n, c == '"' ? '"' : '>', pos);
		} else {
			t->kind = T_PUNCT;
			t->num = c;
			for (size_t k = 0; i + 1 < n && k < sizeof(PAIRS) / sizeof(PAIRS[0]); k++)
				if (text[i] == PAIRS[k].text[0] && text[i + 1] == PAIRS[k].text[1])
					t->kind = PAIRS[k].kind;
			i += t->kind == T_PUNCT ? 1 : 2;
			if (t->kind == T_PUNCT && (c >= 0x7f || !strchr("(){}[]<>,:;.=+-*/&|!~_", c) || !c)) {
				dc_error(dc, pos, "character 0x%02x has no meaning here", c);
				dc->toks.n--;
				continue;
			}
		}
		if (t->kind != T_NAME)
			after_from = false;
		t->len = (uint32_t)(i - from);
	}
	struct dc_tok *t = dc_vec_add(dc, &dc->toks, 1);

	t->kind = T_EOF;
	t->at_bol = true;
	/* The end stands at the end of the last line, not on the empty line behind it. */
	t->off = (uint32_t)(n && text[n - 1] == '\n' ? n - 1 : n);
}
