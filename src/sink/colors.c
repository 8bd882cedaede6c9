/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/colors.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum kind { SYSCALL, ARGNAME, ARGVAL, COMMENT, CONST, ERROR, PUNCT, RETVAL, KINDS };
#define SGR_MAX 24u

/* Names of kinds, and the numbers that strace has for them. */
static const struct {
	const char *key, *sgr;
} kinds[KINDS] = {
	[SYSCALL] = { "syscall", "33" }, [ARGNAME] = { "argname", "39" }, [ARGVAL] = { "argval", "35" },
	[COMMENT] = { "comment", "36" }, [CONST] = { "const", "34" },	  [ERROR] = { "error", "31" },
	[PUNCT] = { "punct", "0" },	 [RETVAL] = { "retval", "32" },
};

/* Where in a line the next byte stands. */
enum place {
	HEAD,	/* before the name of a call: process, time, +++, --- */
	ARGS,	/* between the parentheses, or the values of a signal */
	STRING, /* in a string there */
	NOTE,	/* in a comment there */
	EQUALS, /* behind the parentheses */
	RESULT, /* the number behind = */
	REST,	/* of the result: the name of the error, notes */
	PLAIN,	/* the rest of a line that has no colours */
};

struct espy_colors {
	char sgr[KINDS][SGR_MAX];
	enum place place;
	unsigned depth;	      /* of parentheses in the arguments */
	bool escaped;	      /* in a string: the byte before was a backslash */
	bool in_arg;	      /* an argument has begun */
	bool slash, star;     /* the byte before was one that may begin, or end, a comment */
	bool failed;	      /* the result is -1 */
	struct espy_buf word; /* bytes that wait until it is known what they are */
};

static enum kind find_kind(const char *key, size_t len)
{
	unsigned k = 0;

	while (k < KINDS && (strlen(kinds[k].key) != len || memcmp(kinds[k].key, key, len)))
		k++;
	return (enum kind)k;
}

/* Takes one `key=SGR`, with spaces around either. */
static void take_part(struct espy_colors *c, const char *part, size_t len)
{
	const char *equals = memchr(part, '=', len), *end = part + len;

	if (!equals)
		return;
	const char *value = equals + 1, *key_end = equals;
	bool digit = false;

	for (; part < key_end && isspace((unsigned char)*part); part++)
		;
	for (; key_end > part && isspace((unsigned char)key_end[-1]); key_end--)
		;
	for (; value < end && isspace((unsigned char)*value); value++)
		;
	for (; end > value && isspace((unsigned char)end[-1]); end--)
		;
	const enum kind k = find_kind(part, (size_t)(key_end - part));

	for (const char *at = value; at < end; at++) {
		digit |= isdigit((unsigned char)*at) != 0;
		if (!isdigit((unsigned char)*at) && *at != ';')
			return;
	}
	if (k == KINDS || !digit || (size_t)(end - value) >= SGR_MAX)
		return;
	memcpy(c->sgr[k], value, (size_t)(end - value));
	c->sgr[k][end - value] = '\0';
}

struct espy_colors *espy_colors__new(const char *spec)
{
	struct espy_colors *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	for (unsigned k = 0; k < KINDS; k++)
		strcpy(c->sgr[k], kinds[k].sgr);
	for (; spec && *spec; spec += *spec == ':') {
		const size_t len = strcspn(spec, ":");

		take_part(c, spec, len);
		spec += len;
	}
	return c;
}

struct espy_colors *espy_colors__copy(const struct espy_colors *from)
{
	struct espy_colors *c = from ? calloc(1, sizeof(*c)) : NULL;

	if (c)
		memcpy(c->sgr, from->sgr, sizeof(c->sgr));
	return c;
}

void espy_colors__free(struct espy_colors *c)
{
	if (!c)
		return;
	espy_buf__free(&c->word);
	free(c);
}

static void begin(const struct espy_colors *c, struct espy_buf *to, enum kind k)
{
	espy_buf__puts(to, "\033[");
	espy_buf__puts(to, c->sgr[k]);
	espy_buf__putc(to, 'm');
}

static void reset(struct espy_buf *to)
{
	espy_buf__puts(to, "\033[0m");
}

static void put(const struct espy_colors *c, struct espy_buf *to, enum kind k, const char *text, size_t n)
{
	begin(c, to, k);
	espy_buf__put(to, text, n);
	reset(to);
}

/* A value inside of an argument, whose colour goes on behind it. */
static void put_inside(struct espy_colors *c, struct espy_buf *to, enum kind k, const char *text, size_t n)
{
	if (!c->in_arg) {
		begin(c, to, ARGVAL);
		c->in_arg = true;
	}
	if (k == ARGVAL) {
		espy_buf__put(to, text, n);
		return;
	}
	begin(c, to, k);
	espy_buf__put(to, text, n);
	begin(c, to, ARGVAL);
}

static void end_arg(struct espy_colors *c, struct espy_buf *to)
{
	if (c->in_arg)
		reset(to);
	c->in_arg = false;
}

static bool is_word_byte(char b)
{
	return isalnum((unsigned char)b) || b == '_' || b == '.' || b == '@' || b == '#' || b == '$' || b == '?';
}

/* Tells whether the word is a constant: O_RDONLY, SIGCHLD. */
static bool is_constant(const char *s, size_t n)
{
	bool letter = false;

	for (size_t i = 0; i < n; i++) {
		if (islower((unsigned char)s[i]))
			return false;
		letter |= isupper((unsigned char)s[i]) != 0;
	}
	return letter && !isdigit((unsigned char)s[0]);
}

/* Ends the word of an argument in front of the byte `next`. */
static void end_word(struct espy_colors *c, struct espy_buf *to, char next)
{
	const struct espy_buf *w = &c->word;

	if (!w->len)
		return;
	if (next == '=' && (islower((unsigned char)w->data[0]) || w->data[0] == '_'))
		put_inside(c, to, ARGNAME, w->data, w->len);
	else
		put_inside(c, to, is_constant(w->data, w->len) ? CONST : ARGVAL, w->data, w->len);
	c->word.len = 0;
}

/* The words in front of a call, up to its name, whose end a parenthesis is. */
static void paint_head(struct espy_colors *c, struct espy_buf *to, char b)
{
	if (b == '(') {
		size_t name = c->word.len;

		while (name && is_word_byte(c->word.data[name - 1]))
			name--;
		espy_buf__put(to, c->word.data, name);
		put(c, to, SYSCALL, c->word.data + name, c->word.len - name);
		espy_buf__putc(to, '(');
		c->place = ARGS;
	} else if (b == '{' && memmem(c->word.data ? c->word.data : "", c->word.len, "--- SIG", 7)) {
		espy_buf__put(to, c->word.data, c->word.len);
		c->word.len = 0;
		c->place = ARGS;
		put_inside(c, to, PUNCT, "{", 1);
		return;
	} else if (b == '>' && c->word.len > 12 && memmem(c->word.data, c->word.len, "<... ", 5)) {
		const char *name = (const char *)memmem(c->word.data, c->word.len, "<... ", 5) + 5;
		const size_t len = strcspn(name, " ");

		espy_buf__put(to, c->word.data, (size_t)(name - c->word.data));
		put(c, to, SYSCALL, name, len);
		espy_buf__put(to, name + len, c->word.len - (size_t)(name - c->word.data) - len);
		espy_buf__putc(to, '>');
		c->place = ARGS;
	} else if (c->word.len >= 4 && !memcmp(c->word.data + c->word.len - 4, "+++ ", 4)) {
		espy_buf__put(to, c->word.data, c->word.len);
		espy_buf__putc(to, b);
		c->place = PLAIN;
	} else {
		espy_buf__putc(&c->word, b);
		return;
	}
	c->word.len = 0;
}

static void paint_arg(struct espy_colors *c, struct espy_buf *to, char b)
{
	if (c->slash) {
		c->slash = false;
		if (b == '*') {
			begin(c, to, COMMENT);
			espy_buf__puts(to, "/*");
			c->in_arg = true;
			c->star = false;
			c->place = NOTE;
			return;
		}
		put_inside(c, to, ARGVAL, "/", 1);
	}
	if (is_word_byte(b)) {
		espy_buf__putc(&c->word, b);
		return;
	}
	end_word(c, to, b);
	if (b == '/') {
		c->slash = true;
	} else if (b == '"') {
		put_inside(c, to, ARGVAL, "\"", 1);
		c->place = STRING;
		c->escaped = false;
	} else if (b == ')' && !c->depth) {
		end_arg(c, to);
		put(c, to, PUNCT, ")", 1);
		c->place = EQUALS;
	} else if (b == ',' && !c->depth) {
		end_arg(c, to);
		espy_buf__putc(to, b);
	} else if (b == ' ') {
		espy_buf__putc(to, b);
	} else if (b == '}' && !c->depth) { /* of a signal */
		put_inside(c, to, PUNCT, "}", 1);
		end_arg(c, to);
		c->place = PLAIN;
	} else if (strchr("(){}[],=|<>:", b)) {
		c->depth += strchr("({[", b) != NULL;
		c->depth -= c->depth && strchr(")}]", b);
		put_inside(c, to, PUNCT, &b, 1);
	} else {
		put_inside(c, to, ARGVAL, &b, 1);
	}
}

static void paint_string(struct espy_colors *c, struct espy_buf *to, char b)
{
	espy_buf__putc(to, b);
	if (b == '"' && !c->escaped)
		c->place = ARGS;
	c->escaped = b == '\\' && !c->escaped;
}

static void paint_note(struct espy_colors *c, struct espy_buf *to, char b)
{
	espy_buf__putc(to, b);
	if (c->star && b == '/') {
		begin(c, to, ARGVAL);
		c->place = ARGS;
	}
	c->star = b == '*';
}

/* The result and what stands behind it. Words of it wait for their end. */
static void paint_result(struct espy_colors *c, struct espy_buf *to, char b)
{
	const bool in_text = c->word.len && c->word.data[0] == '(';

	if (c->place == EQUALS) {
		if (b == '=') {
			put(c, to, PUNCT, "=", 1);
			reset(to); /* of strace's own, byte for byte */
			c->place = RESULT;
		} else {
			espy_buf__putc(to, b);
		}
		return;
	}
	if (b != ' ' || in_text)
		espy_buf__putc(&c->word, b);
	if (!(b == ' ' && !in_text) && !(b == ')' && in_text))
		return;
	if (c->word.len && c->place == RESULT) {
		c->failed = c->word.len == 2 && !memcmp(c->word.data, "-1", 2);
		put(c, to, RETVAL, c->word.data, c->word.len);
		c->place = REST;
	} else if (c->word.len) {
		if (c->failed)
			put(c, to, ERROR, c->word.data, c->word.len);
		else
			espy_buf__put(to, c->word.data, c->word.len);
		c->failed &= c->word.data[0] != '('; /* notes of ours come behind the text of the error */
	}
	c->word.len = 0;
	if (b == ' ')
		espy_buf__putc(to, b);
}

/* Lets nothing wait any longer. */
static void end_words(struct espy_colors *c, struct espy_buf *to)
{
	if (c->slash)
		put_inside(c, to, ARGVAL, "/", 1);
	c->slash = false;
	if (c->place == ARGS)
		end_word(c, to, 0);
	else if (c->word.len && c->place == RESULT)
		put(c, to, RETVAL, c->word.data, c->word.len);
	else if (c->word.len && c->place == REST && c->failed)
		put(c, to, ERROR, c->word.data, c->word.len);
	else
		espy_buf__put(to, c->word.data ? c->word.data : "", c->word.len);
	c->word.len = 0;
}

static void end_line(struct espy_colors *c, struct espy_buf *to)
{
	end_words(c, to);
	end_arg(c, to);
	if (c->place != HEAD)
		reset(to);
	espy_buf__putc(to, '\n');
	c->place = HEAD;
	c->depth = 0;
	c->failed = c->star = false;
}

void espy_colors__paint(struct espy_colors *c, struct espy_buf *to, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char b = text[i];

		if (b == '\n')
			end_line(c, to);
		else if (c->place == HEAD)
			paint_head(c, to, b);
		else if (c->place == ARGS)
			paint_arg(c, to, b);
		else if (c->place == STRING)
			paint_string(c, to, b);
		else if (c->place == NOTE)
			paint_note(c, to, b);
		else if (c->place == PLAIN)
			espy_buf__putc(to, b);
		else
			paint_result(c, to, b);
	}
	/* What has been written must be seen, also of a line that has no end yet. */
	end_words(c, to);
}
