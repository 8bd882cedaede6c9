/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/hexdump.h"

#include "base/num.h"

/*
 * The description tells which way bytes went, and no name of a call: the program wrote the bytes that the call reads
 * before it, and read the bytes that espy captures after it.
 */
struct hexdump {
	struct espy_buf *b;
	const struct espy_filter *f;
	int64_t fd;	 /* the call's first descriptor; -1: none yet */
	int64_t ret;
	unsigned buffer; /* number of the buffer within a vector */
	unsigned vector; /* vectors of messages so far */
	bool in_vector;	 /* its message has had it */
	bool skipped;	 /* that message was not sent or received */
	unsigned depth;
};

/* Groups around a vector of a call that takes several messages: the list, a message, its head. */
#define VECTOR_DEPTH 3u

static bool in_set(const struct espy_fd_set *s, int64_t fd)
{
	bool in = false;

	if (!s->given)
		return false;
	for (size_t i = 0; i < s->fd_cnt; i++)
		in |= s->fds[i] == fd;
	return in != s->negated;
}

/* Puts " | 00000  68 65 6c 6c 6f ...   hello            |": sixteen bytes a line, a wider gap after the eighth. */
static void put_lines(struct espy_buf *b, const uint8_t *p, size_t n)
{
	for (size_t off = 0; off < n; off += 16) {
		espy_buf__puts(b, " | ");
		espy_buf__hexdigits(b, off, off > 0xfffff ? 8 : 5);
		espy_buf__putc(b, ' ');
		for (size_t i = off; i < off + 16; i++) {
			espy_buf__puts(b, i == off + 8 ? "  " : " ");
			if (i < n)
				espy_buf__hexdigits(b, p[i], 2);
			else
				espy_buf__puts(b, "  ");
		}
		espy_buf__puts(b, "  ");
		for (size_t i = off; i < off + 16; i++)
			espy_buf__putc(b, i >= n ? ' ' : p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.');
		espy_buf__puts(b, " |\n");
	}
}

/* Puts " = 2 buffers in vector 0" if the group that opens at i is the vector of one of several messages. */
static void begin_vector(struct hexdump *d, struct espy_tokens args, uint32_t i)
{
	uint64_t cnt = 0;

	if (d->depth < VECTOR_DEPTH)
		d->in_vector = false;
	if (d->depth != VECTOR_DEPTH || d->in_vector || args.at[i].group != ESPY_GROUP_ARRAY)
		return;
	d->skipped = (int64_t)d->vector >= d->ret;
	if (d->skipped)
		return;
	for (unsigned depth = 0; i < args.cnt; i++) {
		if (!(args.at[i].shown & ESPY_MANNER_BYTES))
			continue;
		cnt += args.at[i].kind == ESPY_TOKEN_OPEN && depth == 1;
		depth += args.at[i].kind == ESPY_TOKEN_OPEN;
		if (args.at[i].kind == ESPY_TOKEN_CLOSE && !--depth)
			break;
	}
	d->in_vector = true;
	d->buffer = 0;
	if (!in_set(&d->f->read, d->fd) && !in_set(&d->f->write, d->fd))
		return;
	espy_buf__puts(d->b, " = ");
	espy_buf__dec(d->b, cnt);
	espy_buf__puts(d->b, " buffers in vector ");
	espy_buf__dec(d->b, d->vector++);
	espy_buf__putc(d->b, '\n');
}

/*
 * Returns the end of the vector that opens at i if not all of its entries could be read: nothing of it is
 * dumped, for a call with such a vector has moved nothing. Returns i for every other group.
 */
static uint32_t past_torn(struct espy_tokens args, uint32_t i)
{
	bool torn = false, buffers = false;
	uint32_t at = i;

	if (args.at[i].group != ESPY_GROUP_ARRAY)
		return i;
	for (unsigned depth = 0; at < args.cnt; at++) {
		const struct espy_token *k = &args.at[at];

		if (!(k->shown & ESPY_MANNER_BYTES))
			continue;
		depth += k->kind == ESPY_TOKEN_OPEN;
		torn |= depth == 1 && k->kind == ESPY_TOKEN_ELIDED && k->group == ESPY_ELIDED_FAULT;
		buffers |= depth == 2 && k->kind == ESPY_TOKEN_STR;
		if (k->kind == ESPY_TOKEN_CLOSE && !--depth)
			break;
	}
	return torn && buffers && at < args.cnt ? at : i;
}

static void put_buffer(struct hexdump *d, const struct espy_token *k)
{
	if (k->type->kind != ESPY_T_BYTES || !k->len || d->fd < 0 ||
	    !in_set(k->flags & ESPY_TOKF_AFTER ? &d->f->read : &d->f->write, d->fd))
		return;
	/* A call that fails has read nothing. */
	if (d->skipped || (d->ret < 0 && k->flags & ESPY_TOKF_AFTER))
		return;
	if (d->depth) {
		espy_buf__puts(d->b, " * ");
		espy_buf__dec(d->b, k->len);
		espy_buf__puts(d->b, " bytes in buffer ");
		espy_buf__dec(d->b, d->buffer++);
		espy_buf__putc(d->b, '\n');
	}
	put_lines(d->b, k->bytes, k->len);
}

void espy_hexdump__call(struct espy_buf *b, const struct espy_filter *f, const struct espy_call_view *v, struct espy_tokens args)
{
	struct hexdump d = { .b = b, .f = f, .fd = -1, .ret = v->ret };

	if (v->call == ESPY_NONE || !v->has_exit)
		return;
	for (uint32_t i = 0; i < args.cnt; i++) {
		const struct espy_token *k = &args.at[i];

		if (!(k->shown & ESPY_MANNER_BYTES))
			continue;
		if (k->kind == ESPY_TOKEN_OPEN) {
			const uint32_t end = past_torn(args, i);

			if (end > i) {
				i = end;
				continue;
			}
			begin_vector(&d, args, i);
		}
		d.depth += k->kind == ESPY_TOKEN_OPEN;
		d.depth -= k->kind == ESPY_TOKEN_CLOSE;
		if (k->kind == ESPY_TOKEN_INT && k->fmt == ESPY_FMT_FD && d.fd < 0)
			d.fd = (int)k->num;
		if (k->kind == ESPY_TOKEN_STR)
			put_buffer(&d, k);
	}
}
