/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/dump.h"

#include <string.h>
#include "decode/visit.h"

/*
 * Which way the bytes went is not asked of the name of the call: what its description reads before
 * the call was written by the program, what it reads after it the program has read.
 */
struct dump {
	struct espy_buf *b;
	const struct espy_filter *f;
	int64_t fd;	 /* the call's first descriptor; -1: none yet */
	unsigned flags;	 /* of the pointer that was visited last */
	unsigned buffer; /* number of the buffer within a vector */
	unsigned depth;
};

static bool in_set(const struct espy_fd_set *s, int64_t fd)
{
	bool in = false;

	if (!s->given)
		return false;
	for (size_t i = 0; i < s->fd_cnt; i++)
		in |= s->fds[i] == fd;
	return in != s->negated;
}

static void put_number(struct espy_buf *b, uint64_t n)
{
	char tmp[20];
	size_t i = sizeof(tmp);

	do
		tmp[--i] = (char)('0' + n % 10);
	while (n /= 10);
	espy_buf__put(b, tmp + i, sizeof(tmp) - i);
}

static void put_hex(struct espy_buf *b, size_t n, unsigned digits)
{
	for (unsigned i = digits; i--;)
		espy_buf__putc(b, "0123456789abcdef"[n >> (4 * i) & 15]);
}

/* " | 00000  68 65 6c 6c 6f ...   hello            |": sixteen bytes a line, a wider gap after the eighth. */
static void put_lines(struct espy_buf *b, const uint8_t *p, size_t n)
{
	for (size_t off = 0; off < n; off += 16) {
		espy_buf__puts(b, " | ");
		put_hex(b, off, off > 0xfffff ? 8 : 5);
		espy_buf__putc(b, ' ');
		for (size_t i = off; i < off + 16; i++) {
			espy_buf__puts(b, i == off + 8 ? "  " : " ");
			if (i < n)
				put_hex(b, p[i], 2);
			else
				espy_buf__puts(b, "  ");
		}
		espy_buf__puts(b, "  ");
		for (size_t i = off; i < off + 16; i++)
			espy_buf__putc(b, i >= n ? ' ' : p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.');
		espy_buf__puts(b, " |\n");
	}
}

static void remember_type(void *ctx, const struct espy_type *type)
{
	struct dump *d = ctx;

	if (type->kind == ESPY_T_PTR && (type->flags & (ESPY_TF_IN | ESPY_TF_OUT)))
		d->flags = type->flags;
}

static void arg(void *ctx, const char *name, const struct espy_type *type, bool named)
{
	remember_type(ctx, type);
}

static void field(void *ctx, const char *name, const struct espy_type *type)
{
	remember_type(ctx, type);
}

static void integer(void *ctx, const struct espy_value *v)
{
	struct dump *d = ctx;

	if (d->fd < 0 && v->type->fmt == ESPY_FMT_FD)
		d->fd = (int)v->num;
}

static void string(void *ctx, const struct espy_value *v)
{
	struct dump *d = ctx;
	const bool out = d->flags & ESPY_TF_OUT;

	if (v->type->kind != ESPY_T_BYTES || !v->bytes || !v->len || d->fd < 0 ||
	    !in_set(out ? &d->f->read : &d->f->write, d->fd))
		return;
	if (d->depth) {
		espy_buf__puts(d->b, " * ");
		put_number(d->b, v->len);
		espy_buf__puts(d->b, " bytes in buffer ");
		put_number(d->b, d->buffer++);
		espy_buf__putc(d->b, '\n');
	}
	put_lines(d->b, v->bytes, v->len);
}

static void group_open(void *ctx, enum espy_group group, const struct espy_type *type)
{
	((struct dump *)ctx)->depth++;
}
static void group_close(void *ctx, enum espy_group group)
{
	((struct dump *)ctx)->depth--;
}

void espy_dump__call(struct espy_buf *b, const struct espy_filter *f, const struct espy_call_view *v)
{
	const struct espy_walk_opts o = { .verbose = true, .decode = true };
	struct dump d = { .b = b, .f = f, .fd = -1 };
	struct espy_visitor vis = espy_visit_nothing;

	if (v->call == ESPY_NONE || !v->has_exit || v->ret <= 0)
		return;
	vis.arg = arg;
	vis.field = field;
	vis.open = group_open;
	vis.close = group_close;
	vis.integer = integer;
	vis.string = string;
	espy_walk__args(&vis, &d, &o, v, ESPY_PART_WHOLE, NULL);
}
