/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Items of the CPU's scratch record: the bytes of one operation, copied out of the task's memory. They begin at a fixed
 * place in the scratch; the head is put right before them when its size is known.
 */
#ifndef ESPY_ITEMS_BPF_H
#define ESPY_ITEMS_BPF_H

#include "maps.bpf.h"

/* Loops are cut in two, see interp.bpf.h. */
#define CHUNKS_INNER 16u
#define CHUNKS_OUTER 24u /* of 64 bytes: 3072 pointers in one vector */
#define PAGES_INNER 6u
#define PAGES_OUTER 6u /* and more than ESPY_BPF_ITEMS_MAX */
#define ITEMS(s) ((s)->rec + ESPY_BPF_HEAD_MAX)

static __always_inline struct espy_bpf_scratch *scratch_of(u32 cpu)
{
	return bpf_map_lookup_elem(&espy_scratch, &cpu);
}

static __always_inline u64 load_u64(struct espy_bpf_scratch *s, u64 off)
{
	BELOW(off, ESPY_BPF_ITEMS_MAX);
	return *(u64 *)(ITEMS(s) + off);
}

static __always_inline u32 load_u32(struct espy_bpf_scratch *s, u64 off)
{
	BELOW(off, ESPY_BPF_ITEMS_MAX);
	return *(u32 *)(ITEMS(s) + off);
}

static __always_inline u64 load_arg(struct espy_bpf_scratch *s, u64 i)
{
	CLAMP(i, 5);
	return s->cap.args[i];
}

/*
 * Up to the end of the page at ptr, at most n bytes, into the items at off. Returns the number of bytes, 0 on
 * a fault.
 */
__noinline int read_page(u32 cpu, u64 ptr, u64 off, u64 n)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u64 chunk = PAGE - (ptr & (PAGE - 1));

	if (!s || !n)
		return 0;
	if (chunk > n)
		chunk = n;
	BELOW(off, ESPY_BPF_ITEMS_MAX);
	CLAMP(chunk, PAGE);
	return bpf_probe_read_user(ITEMS(s) + off, chunk, (void *)ptr) ? 0 : chunk;
}

__noinline int read_some_pages(u32 cpu, u64 ptr, u64 off, u64 n)
{
	u32 got = 0;

	for (u32 i = 0; i < PAGES_INNER; i++) {
		int r = read_page(cpu, ptr + got, off + got, n - got);

		if (r <= 0)
			break;
		got += r;
	}
	return got;
}

/* Reads the n bytes at ptr up to a fault. Returns the number of bytes. */
__noinline int read_prefix(u32 cpu, u64 ptr, u64 off, u64 n)
{
	u64 got = 0;

	for (u32 i = 0; i < PAGES_OUTER; i++) {
		int r = read_some_pages(cpu, ptr + got, off + got, n - got);

		if (r <= 0)
			break;
		got += r;
	}
	return got;
}

/*
 * Where the first NULL is among the pointers in 64 bytes; 64: nowhere. Without branches: the verifier would follow them
 * in all combinations.
 */
#define FIRST_NULL(type, at)                                                                                           \
	({                                                                                                             \
		u64 first = 64;                                                                                        \
		_Pragma("unroll") for (int i = 64 / sizeof(type) - 1; i >= 0; i--)                                     \
		{                                                                                                      \
			u64 set = ((const type *)(at))[i];                                                             \
			set = (set | -set) >> 63;                                                                      \
			asm volatile("" : "+r"(set));                                                                  \
			first ^= (first ^ i * sizeof(type)) & (set - 1);                                               \
		}                                                                                                      \
		first;                                                                                                 \
	})

/*
 * One more run of the vector of which s->found bytes are here, never across a page. Returns non-zero when the vector is
 * over, with s->hi set to an enum espy_item_status. Both are kept in memory: in registers they would be one more state
 * per turn to the verifier.
 */
__noinline int read_pointers(u32 cpu, u64 ptr, u64 off, u64 cap, u32 width)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	u64 chunk, place, found;

	if (!s)
		return 1;
	ptr += s->found;
	place = off + s->found;
	chunk = PAGE - (ptr & (PAGE - 1));
	if (chunk > 64)
		chunk = 64;
	else if (chunk < width)
		chunk = width;
	chunk &= width == 4 ? ~3ull : ~7ull;
	s->lo = chunk;
	chunk = s->lo; /* through memory: one state instead of several */
	BELOW(place, ESPY_BPF_ITEMS_MAX);
	CLAMP(chunk, 64);
	if (bpf_probe_read_user(ITEMS(s) + place, chunk, (void *)ptr)) {
		s->hi = ESPY_ITEM_FAULT;
		return 1;
	}
	if (width == 4)
		found = FIRST_NULL(u32, ITEMS(s) + place);
	else
		found = FIRST_NULL(u64, ITEMS(s) + place);
	if (found < s->lo) {
		s->lo = found + width;
		s->hi = ESPY_ITEM_OK;
	}
	s->found += s->lo;
	if (s->found <= cap)
		return s->hi == ESPY_ITEM_OK;
	s->found = (u32)cap & ~7u;
	s->hi = ESPY_ITEM_TRUNCATED;
	return 1;
}

__noinline int read_some_pointers(u32 cpu, u64 ptr, u64 off, u64 cap, u32 width)
{
	for (u32 i = 0; i < CHUNKS_INNER; i++)
		if (read_pointers(cpu, ptr, off, cap, width))
			return 1;
	return 0;
}

/* Up to and including NULL, at most cap bytes. Returns the length | status << 24. */
__noinline int read_vector(u32 cpu, u64 ptr, u64 off, u64 cap, u32 width)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);

	if (!s)
		return 0;
	s->found = 0;
	s->hi = ESPY_ITEM_TRUNCATED;
	for (u32 i = 0; i < CHUNKS_OUTER; i++)
		if (read_some_pointers(cpu, ptr, off, cap, width))
			break;
	return (s->found & 0xffffff) | s->hi << 24;
}

/* A string of at most room bytes. Returns how many of them there are. */
static __always_inline u64 read_string(struct espy_bpf_scratch *s, u32 cpu, u64 ptr, u64 at, u64 want, u64 room,
				       u32 *status)
{
	s64 r;
	u64 n;

	const bool ends = want < room; /* a string with a length ends there at the latest, and is whole then */
	if (ends)
		room = want;
	/* The helper always ends with a NUL of its own: one byte more tells whether it was the string's. */
	n = room + 1;
	BELOW(at, ESPY_BPF_ITEMS_MAX);
	BELOW(n, ESPY_BPF_ITEMS_MAX);
	r = bpf_probe_read_user_str(ITEMS(s) + at, n, (void *)ptr);
	if (!r) {
		/* 6.1 says 0 of an empty string. */
		r = 1;
		ITEMS(s)[at] = 0;
	}
	if (r < 0) {
		n = read_prefix(cpu, ptr, at, room);
		*status = n < room ? ESPY_ITEM_FAULT : ends ? ESPY_ITEM_OK : ESPY_ITEM_TRUNCATED;
	} else if ((u64)r > room) {
		n = room;
		*status = ends ? ESPY_ITEM_OK : ESPY_ITEM_TRUNCATED;
	} else {
		n = r;
	}
	return n;
}

/*
 * Puts a head before the n bytes that were read behind off, and counts them. A function of its own: the verifier comes
 * here once, and not once for each way through read_item().
 */
__noinline int end_item(u32 cpu, u64 off, u64 n, u32 status)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_item *item;

	if (!s)
		return 1;
	if (status == ESPY_ITEM_FAULT && s->phase == 0)
		s->cap.faults |= 1u << (s->k & 15);
	if (s->phase)
		status |= ESPY_ITEM_AT_EXIT;

	/* Bytes of an earlier record behind the last byte must not reach user space. */
	BELOW(n, ESPY_BPF_ITEMS_MAX);
	if (n & 7) {
		u64 last = off + 8 + (n & ~7ull);

		BELOW(last, ESPY_BPF_ITEMS_MAX);
		*(u64 *)(ITEMS(s) + last) &= (1ull << (n & 7) * 8) - 1;
	}
	BELOW(off, ESPY_BPF_ITEMS_MAX);
	item = (struct espy_item *)(ITEMS(s) + off);
	item->op = s->k;
	item->status = status;
	item->index = s->index;
	item->len = n;
	s->cap.used = off + 8 + ROUND8(n);
	return 0;
}

/* Leaves the bytes of the item at work behind the first `got` to MORE records. Returns false if they are not wanted. */
static __always_inline bool leave_rest(struct espy_bpf_scratch *s, const struct espy_bpf_op *op, u64 got)
{
	if (!conf.most_data || !(op->op.holds & ESPY_HOLDS_MORE))
		return false;
	s->rest = got;
	return true;
}

/* Appends the item of the operation at work: `want` bytes at ptr. Returns non-zero when the record is full. */
__noinline int read_item(u32 cpu, u64 ptr, u64 want)
{
	struct espy_bpf_scratch *s = scratch_of(cpu);
	struct espy_bpf_op *op;
	u64 off, at, n, room;
	u32 status = ESPY_ITEM_OK, id;
	bool ends;
	s64 r;

	if (!s)
		return 1;
	id = s->first_op + s->k;
	op = bpf_map_lookup_elem(&espy_ops, &id);
	if (!op)
		return 1;
	off = s->cap.used;
	/* The head stands before the items: the whole record is sent as at most so many bytes. */
	if (off + 64 > ESPY_BPF_ITEMS_MAX - ESPY_BPF_HEAD_MAX)
		return !leave_rest(s, op, 0);
	room = ESPY_BPF_ITEMS_MAX - ESPY_BPF_HEAD_MAX - 32 - off;
	if (s->phase == 0 && s->cap.flags & ESPY_CALL_ENTER) {
		if (off + 64 > ESPY_BPF_SLOT_BIG)
			return !leave_rest(s, op, 0);
		room = ESPY_BPF_SLOT_BIG - 32 - off;
	}
	if (room > op->op.cap)
		room = op->op.cap;
	if (conf.most_data && room > ESPY_MORE_FROM && op->op.holds & ESPY_HOLDS_MORE)
		room = ESPY_MORE_FROM;
	at = off + 8;
	switch (op->op.kind) {
	case ESPY_OP_BYTES:
		n = want;
		if (n > room) {
			n = room;
			status = ESPY_ITEM_TRUNCATED;
		}
		BELOW(at, ESPY_BPF_ITEMS_MAX);
		BELOW(n, ESPY_BPF_ITEMS_MAX);
		if (n && bpf_probe_read_user(ITEMS(s) + at, n, (void *)ptr)) {
			n = read_prefix(cpu, ptr, at, n);
			status = ESPY_ITEM_FAULT;
		} else if (status == ESPY_ITEM_TRUNCATED) {
			leave_rest(s, op, n);
		}
		break;
	case ESPY_OP_CSTR:
		n = read_string(s, cpu, ptr, at, want, room, &status);
		break;
	case ESPY_OP_PTRVEC:
		ends = want < room;
		if (ends)
			room = want;
		r = read_vector(cpu, ptr, at, room, op->op.elem == 4 ? 4 : 8);
		n = r & 0xffffff;
		status = (r >> 24) & 0xf;
		if (ends && status == ESPY_ITEM_TRUNCATED)
			status = ESPY_ITEM_OK;
		break;
	default:
		return 1;
	}
	return end_item(cpu, off, n, status);
}

#endif
