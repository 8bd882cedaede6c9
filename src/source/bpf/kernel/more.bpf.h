/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MORE records: the rest of buffers that are longer than a call record may be. They go to the ring while the record is in
 * the making, and so come before it. A piece without room ends its buffer, and so does an unreadable page.
 */
#ifndef ESPY_MORE_BPF_H
#define ESPY_MORE_BPF_H

#include "items.bpf.h"
#include "out.bpf.h"

/* Loops are cut in two, see interp.bpf.h. */
#define MORE_INNER 16u
#define MORE_OUTER 16u
_Static_assert(MORE_INNER * MORE_OUTER * ESPY_MORE_PIECE >= ESPY_MORE_MOST, "");
/* The eight bytes that hold the last one are masked, and those behind it if it is the last of eight. */
#define MORE_ROOM (sizeof(struct espy_rec_more) + ESPY_MORE_PIECE + 8)

/* A buffer: its first `want` bytes of `all` go to MORE records. */
struct more {
	u64 ptr, want, all;
	u64 item; /* the head of struct espy_item, without status and length */
};

/*
 * Sends one more piece from `from` on: where not all of it can be read, what lies in one page, and where that cannot be
 * read, a fault. Returns its bytes; 0: it is the last one.
 */
__noinline int more_piece(const struct more *m, u64 from)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_rec_more *rec;
	u64 n, page, last, status;

	/* The call itself must find room behind. */
	if (!m || from >= m->want || out_unread() > conf.more_room)
		return 0;
	n = m->want - from;
	if (n > ESPY_MORE_PIECE)
		n = ESPY_MORE_PIECE;
	status = from + n < m->all ? ESPY_ITEM_TRUNCATED : ESPY_ITEM_OK;
	rec = OUT_RESERVE(MORE_ROOM, sizeof(*rec) + ROUND8(n) + 8);
	if (!rec)
		return ring_full();
	CLAMP(n, ESPY_MORE_PIECE);
	if (bpf_probe_read_user(rec + 1, n, (void *)(m->ptr + from))) {
		page = PAGE - ((m->ptr + from) & (PAGE - 1));
		if (n > page) {
			n = page;
			status = ESPY_ITEM_TRUNCATED;
		}
		CLAMP(n, PAGE);
		if (bpf_probe_read_user(rec + 1, n, (void *)(m->ptr + from))) {
			n = 0;
			status = ESPY_ITEM_FAULT;
		}
	}
	/* Bytes of an earlier record behind the last byte must not reach user space. */
	last = n & ~7ull;
	CLAMP(last, ESPY_MORE_PIECE);
	*(u64 *)((u8 *)(rec + 1) + last) &= (1ull << (n & 7) * 8) - 1;
	head_timed(&rec->rec, sizeof(*rec) + ROUND8(n), ESPY_REC_MORE, task->pid, task->tgid, now_if(conf.needs.times));
	rec->from = from;
	*(u64 *)&rec->item = m->item | status << 8 | n << 32;
	out_submit_short(rec, sizeof(*rec) + ROUND8(n));
	return status == ESPY_ITEM_TRUNCATED ? n : 0;
}

__noinline u64 some_more(const struct more *m, u64 from)
{
	for (u32 i = 0; i < MORE_INNER; i++) {
		int n = more_piece(m, from);

		if (n <= 0)
			return 0;
		from += n;
	}
	return from;
}

/* Sends what the item at work has left: of `want` bytes at ptr those from s->rest on. */
__noinline int send_rest(u32 cpu, u64 ptr, u64 want)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct more m = { .ptr = ptr, .all = want, .want = want < conf.most_data ? want : conf.most_data };
	u64 from;

	if (!s)
		return 0;
	m.item = s->k | (s->phase ? ESPY_ITEM_AT_EXIT << 8 : 0) | (u64)s->index << 16;
	from = s->rest;
	for (u32 i = 0; i < MORE_OUTER; i++) {
		from = some_more(&m, from);
		if (!from)
			break;
	}
	return 0;
}

#endif
