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
	int64_t fd; /* the call's first descriptor; -1: none yet */
	int64_t ret;
	uint32_t tid;
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

/* Returns the digits of every offset: those of the last one, and five at least. */
static unsigned offset_digits(uint64_t size)
{
	unsigned digits = 5;

	while (digits < 16 && (size - 1) >> 4 * digits)
		digits++;
	return digits;
}

/*
 * Puts " | 00000  68 65 6c 6c 6f ...   hello            |": sixteen bytes a line, a wider gap after the eighth. size:
 * of the buffer, of which p has n bytes.
 */
static void put_lines(struct espy_buf *b, const uint8_t *p, size_t n, uint64_t size)
{
	const unsigned digits = offset_digits(size);

	for (size_t off = 0; off < n; off += 16) {
		espy_buf__puts(b, " | ");
		espy_buf__hexdigits(b, off, digits);
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

/* Puts how much of a buffer is missing behind its first n bytes. */
static void put_no_room(struct espy_buf *b, uint64_t n, uint64_t size)
{
	espy_buf__puts(b, " | ");
	espy_buf__hexdigits(b, n, offset_digits(size));
	espy_buf__puts(b, "  (");
	espy_buf__dec(b, size - n);
	espy_buf__puts(b, " more bytes, which espy had no room for)\n");
}

/* The same of bytes that could not be read, in strace's words: parsers of its output know them. */
static void put_unreadable(struct espy_buf *b, uint64_t n, uint32_t tid, uint64_t addr)
{
	espy_buf__puts(b, " | <Cannot fetch ");
	espy_buf__dec(b, n);
	espy_buf__puts(b, n == 1 ? " byte from pid " : " bytes from pid ");
	espy_buf__dec(b, tid);
	espy_buf__puts(b, " @");
	espy_buf__hex(b, addr);
	espy_buf__puts(b, ">\n");
}

/* A group among the arguments: where it ends, its groups, and whether it is a vector of which entries are missing. */
struct group {
	uint32_t end; /* its CLOSE; args.cnt: it has none */
	uint64_t cnt;
	bool torn;
};

/* Looks through the group that opens at i. */
static struct group look_through(struct espy_tokens args, uint32_t i)
{
	struct group g = { .end = i };
	bool fault = false, buffers = false;

	for (unsigned depth = 0; g.end < args.cnt; g.end++) {
		const struct espy_token *k = &args.at[g.end];

		if (!(k->shown & ESPY_MANNER_BYTES))
			continue;
		g.cnt += k->kind == ESPY_TOKEN_OPEN && depth == 1;
		depth += k->kind == ESPY_TOKEN_OPEN;
		fault |= depth == 1 && k->kind == ESPY_TOKEN_ELIDED && k->group == ESPY_ELIDED_FAULT;
		buffers |= depth == 2 && k->kind == ESPY_TOKEN_STR;
		if (k->kind == ESPY_TOKEN_CLOSE && !--depth)
			break;
	}
	g.torn = fault && buffers && args.at[i].group == ESPY_GROUP_ARRAY && g.end < args.cnt;
	return g;
}

/* Puts " = 2 buffers in vector 0" if the group, of cnt groups, is the vector of one of several messages. */
static void begin_vector(struct hexdump *d, const struct espy_token *open, uint64_t cnt)
{
	if (d->depth < VECTOR_DEPTH)
		d->in_vector = false;
	if (d->depth != VECTOR_DEPTH || d->in_vector || open->group != ESPY_GROUP_ARRAY)
		return;
	d->skipped = (int64_t)d->vector >= d->ret;
	if (d->skipped)
		return;
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

static void put_buffer(struct hexdump *d, const struct espy_token *k)
{
	if (k->type->kind != ESPY_T_BYTES || !k->len || d->fd < 0 ||
	    !in_set(k->flags & ESPY_TOKF_AFTER ? &d->f->read : &d->f->write, d->fd))
		return;
	/* A call that fails has read nothing. */
	if (d->skipped || (d->ret < 0 && k->flags & ESPY_TOKF_AFTER))
		return;
	/* What is unreadable is told of a call that has moved bytes, and of its only buffer. */
	const bool fault = k->flags & ESPY_TOKF_FAULT, told = !fault || (!d->depth && d->ret >= 0);
	const uint64_t size = k->want > k->len && k->want != UINT64_MAX && told ? k->want : k->len;

	if (d->depth) {
		espy_buf__puts(d->b, " * ");
		espy_buf__dec(d->b, size);
		espy_buf__puts(d->b, " bytes in buffer ");
		espy_buf__dec(d->b, d->buffer++);
		espy_buf__putc(d->b, '\n');
	}
	put_lines(d->b, k->bytes, k->len, size);
	if (size > k->len && fault)
		put_unreadable(d->b, size - k->len, d->tid, k->addr + k->len);
	else if (size > k->len)
		put_no_room(d->b, k->len, size);
}

void espy_hexdump__call(struct espy_buf *b, const struct espy_filter *f, const struct espy_call_view *v,
			struct espy_tokens args)
{
	struct hexdump d = { .b = b, .f = f, .fd = -1, .ret = v->ret, .tid = v->tid };

	if (v->call == ESPY_NONE || !v->has_exit)
		return;
	for (uint32_t i = 0; i < args.cnt; i++) {
		const struct espy_token *k = &args.at[i];

		if (!(k->shown & ESPY_MANNER_BYTES))
			continue;
		if (k->kind == ESPY_TOKEN_OPEN) {
			const struct group g = look_through(args, i);

			/* a call whose vector cannot be read as a whole has moved nothing */
			if (g.torn) {
				i = g.end;
				continue;
			}
			begin_vector(&d, k, g.cnt);
		}
		d.depth += k->kind == ESPY_TOKEN_OPEN;
		d.depth -= k->kind == ESPY_TOKEN_CLOSE;
		if (k->kind == ESPY_TOKEN_INT && k->fmt == ESPY_FMT_FD && d.fd < 0)
			d.fd = (int)k->num;
		if (k->kind == ESPY_TOKEN_STR)
			put_buffer(&d, k);
	}
}
