/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of constants, and the call tables. Both come as plain text, one fact a line, because they
 * are extracted once per architecture and checked in; "not defined there" (`?`) is a value of its own.
 */
#include "describe/compiler.h"

struct line {
	const char *at, *end;
	struct dc_pos pos;
};

/* Returns the next word of a line, or an empty one. */
static const char *word(struct line *l, size_t *n, uint32_t *off, const char *text)
{
	while (l->at < l->end && (*l->at == ' ' || *l->at == '\t' || *l->at == '\r'))
		l->at++;
	const char *w = l->at;

	while (l->at < l->end && *l->at != ' ' && *l->at != '\t' && *l->at != '\r')
		l->at++;
	*n = (size_t)(l->at - w);
	*off = (uint32_t)(w - text);
	return w;
}

static bool number(const char *s, size_t n, uint64_t *v)
{
	bool neg = n && *s == '-';
	unsigned base = 10;

	s += neg;
	n -= neg;
	if (n > 2 && s[0] == '0' && s[1] == 'x') {
		base = 16;
		s += 2;
		n -= 2;
	}
	if (!n || n > 20)
		return false;
	*v = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		unsigned d = c >= '0' && c <= '9'   ? c - '0' + 0u
			     : c >= 'a' && c <= 'f' ? c - 'a' + 10u
			     : c >= 'A' && c <= 'F' ? c - 'A' + 10u
						    : 99u;

		if (d >= base)
			return false;
		*v = *v * base + d;
	}
	if (neg)
		*v = -*v;
	return true;
}

/* Calls fn for each line that is neither empty nor a comment. */
static void each_line(struct dc *dc, uint32_t src, uint32_t layer,
		      void (*fn)(struct dc *dc, struct line *l, const char *text, uint32_t layer))
{
	const char *text = dc->src[src]->text, *end = text + dc->src[src]->size, *at = text;

	while (at < end) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct line l = { at, nl ? nl : end, { src, (uint32_t)(at - text) } };

		if (l.at < l.end && *l.at != '#')
			fn(dc, &l, text, layer);
		at = l.end < end && nl ? nl + 1 : end;
	}
}

void dc_add_const(struct dc *dc, struct dc_sym *name, uint64_t value, const char *header, uint32_t layer)
{
	struct dc_const *c = dc_alloc(dc, sizeof(*c));

	*c = (struct dc_const){ .next = name->consts, .value = value, .header = header, .layer = layer };
	name->consts = c;
}

static void constant_line(struct dc *dc, struct line *l, const char *text, uint32_t layer)
{
	size_t nn, nv, nh;
	uint32_t off;
	const char *name = word(l, &nn, &off, text);

	if (!nn)
		return;
	const char *val = word(l, &nv, &off, text);
	uint64_t v = 0;
	bool undefined = nv == 1 && *val == '?';

	if (!undefined && !number(val, nv, &v)) {
		dc_error(dc, (struct dc_pos){ l->pos.src, off },
			 "malformed value of a constant, expected a number or `?`");
		return;
	}
	const char *header = word(l, &nh, &off, text);

	dc_add_const(dc, dc_intern(dc, name, nn), v, nh ? dc_intern(dc, header, nh)->s : NULL, layer);
	dc_intern(dc, name, nn)->consts->undefined = undefined;
}

void dc_load_constants(struct dc *dc, uint32_t src, uint32_t layer)
{
	each_line(dc, src, layer, constant_line);
}

static uint64_t class_bits(struct dc *dc, const char *s, size_t n, struct dc_pos pos)
{
	uint64_t bits = 0;

	if (n == 1 && *s == '-')
		return 0;
	for (size_t i = 0; i < n;) {
		size_t len = 0;
		unsigned c;

		while (i + len < n && s[i + len] != ',')
			len++;
		for (c = 0; c < ESPY_CLASS_CNT; c++)
			if (strlen(espy_class_names[c] + 1) == len && !memcmp(espy_class_names[c] + 1, s + i, len))
				break;
		if (c == ESPY_CLASS_CNT)
			dc_error(dc, pos, "unknown filter class `%.*s`", (int)(len > 60 ? 60 : len), s + i);
		else
			bits |= 1ull << c;
		i += len + 1;
	}
	return bits;
}

#define CALL_NUMBERS 4096u

static void syscall_line(struct dc *dc, struct line *l, const char *text, uint32_t layer)
{
	size_t n, nname, nargs, nclass, nform;
	uint32_t off, off2;
	const char *nr_text = word(l, &n, &off, text);
	uint64_t nr, args;

	(void)layer;
	if (!n)
		return;
	const char *name = word(l, &nname, &off2, text);
	const char *args_text = word(l, &nargs, &off2, text);

	if (!number(nr_text, n, &nr) || nr >= CALL_NUMBERS || !nname || !number(args_text, nargs, &args) || args > 6) {
		dc_error(dc, (struct dc_pos){ l->pos.src, off },
			 "malformed line of a call table, expected NUMBER (below 4096) NAME ARGUMENTS (at most 6) "
			 "CLASSES [DESCRIPTION]");
		return;
	}
	const char *classes = word(l, &nclass, &off, text);

	if (nr >= dc->syscalls.n) {
		uint32_t from = dc->syscalls.n;

		dc_vec_add(dc, &dc->syscalls, (uint32_t)nr + 1 - from);
		for (uint32_t i = from; i <= nr; i++)
			((struct espy_syscall *)dc_vec_at(&dc->syscalls, i))->call = ESPY_NONE;
	}
	struct espy_syscall *s = dc_vec_at(&dc->syscalls, (uint32_t)nr);

	struct dc_sym *shown = dc_intern(dc, name, nname);
	const char *form = word(l, &nform, &off2, text);

	dc->forms[nr] = nform ? dc_intern(dc, form, nform) : shown;
	s->name = dc_sym_str(dc, shown);
	s->nargs = (uint32_t)args;
	s->classes = class_bits(dc, classes, nclass, (struct dc_pos){ l->pos.src, off });
}

void dc_load_syscalls(struct dc *dc, uint32_t src)
{
	dc->forms = dc_alloc(dc, CALL_NUMBERS * sizeof(*dc->forms));
	each_line(dc, src, 0, syscall_line);
}

static bool header_begins(const struct dc_const *c, const char *prefix)
{
	return c->header && !strncmp(c->header, prefix, strlen(prefix));
}

/* Finds the candidates of the highest layer that satisfy `want`. Returns 0: none, 1: one value, 2: several. */
static int pick(const struct dc_sym *name, uint32_t layer, const char *header, const char *prefix,
		const struct dc_const **found)
{
	int n = 0;

	for (const struct dc_const *c = name->consts; c; c = c->next) {
		if (c->layer != layer || (header && (!c->header || strcmp(c->header, header))) ||
		    (prefix && !header_begins(c, prefix)))
			continue;
		if (!n)
			*found = c;
		else if (c->value != (*found)->value || c->undefined != (*found)->undefined)
			return 2;
		n = 1;
	}
	return n;
}

int dc_const_value(struct dc *dc, struct dc_sym *name, const char *header, struct dc_pos pos, uint64_t *value,
		   bool quiet)
{
	const struct dc_const *c = NULL;
	uint32_t layer = 0;

	*value = 0;
	for (const struct dc_const *k = name->consts; k; k = k->next)
		layer = k->layer > layer ? k->layer : layer;
	int n = pick(name, layer, NULL, NULL, &c);

	/* Of several values the named header decides, then the architecture's own headers. */
	if (n == 2 && header && pick(name, layer, header, NULL, &c) == 1)
		n = 1;
	else if (n == 2 && pick(name, layer, NULL, "asm/", &c) == 1)
		n = 1;
	if (n == 1) {
		if (!name->const_used && !c->by_table) {
			name->const_used = true;
			if (dc->listing && dc->listing->constant)
				dc->listing->constant(dc->listing->ctx, name->s, c->header);
		}
		*value = c->value;
		return c->undefined ? 1 : 0;
	}
	if (quiet)
		return -1;
	if (!n)
		dc_error(dc, pos, "unknown constant `%s`, expected a name of the .const files or `NAME = value`",
			 name->s);
	else
		dc_error(dc, pos,
			 "constant `%s` has several values (0x%llx in %s), expected `from <header>` or `NAME = value`",
			 name->s, (unsigned long long)c->value, c->header ? c->header : "?");
	return -1;
}

int dc_fold(uint32_t op, uint64_t a, uint64_t b, uint64_t *v)
{
	switch (op) {
	case ESPY_X_LAND:
		*v = a && b;
		return 0;
	case ESPY_X_LOR:
		*v = a || b;
		return 0;
	case ESPY_X_NOT:
		*v = !a;
		return 0;
	case ESPY_X_INV:
		*v = ~a;
		return 0;
	default:
		if (op < ESPY_X_OR || op > ESPY_X_GE)
			return -1;
		*v = espy_expr__binary(op, a, b);
		return 0;
	}
}

int dc_const_expr(struct dc *dc, const struct ast_expr *e, const char *header, const struct ast_table *table,
		  uint64_t *value)
{
	uint64_t a = 0, b = 0;
	int ra = 0, rb = 0;

	*value = 0;
	if (e->op == ESPY_X_CONST) {
		*value = e->value;
		return 0;
	}
	if (e->op == AX_NAME) {
		int r = dc_const_value(dc, e->sym, header, e->pos, value, table != NULL);

		if (r < 0 && table) {
			r = dc_table_item(dc, table, e->sym, value);
			if (r < 0)
				r = dc_const_value(dc, e->sym, header, e->pos, value, false);
		}
		return r;
	}
	if (e->op == AX_OUTER || e->op == AX_FILE) {
		dc_error(dc, e->pos, "`%s%s` is not constant, expected a constant expression",
			 e->op == AX_OUTER ? "outer." : "", e->sym->s);
		return -1;
	}
	if (e->a)
		ra = dc_const_expr(dc, e->a, header, table, &a);
	if (e->b)
		rb = dc_const_expr(dc, e->b, header, table, &b);
	if (ra || rb)
		return ra < 0 || rb < 0 ? -1 : 1;
	return dc_fold(e->op, a, b, value);
}
