/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: any bytes in the rings that the kernel's programs share with espy, and any heads of them, which change
 * once more between two looks; read as they come, and as a flight recorder's snapshot reads them. Looks end, a record
 * lies within its chunk and its slack, and a snapshot gives out whole records only.
 *
 * The bytes: how the rings are made, their heads, and then marks and payload that are put to places which the bytes
 * name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "source/bpf/bpf_source.h"

enum { RINGS = 2, RECORDS_MOST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct espy_bpf_shared *shared;
static uint8_t *map;
static struct bpf_source *source;
static struct input {
	const uint8_t *at, *end;
} in;

static uint64_t number(unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes && in.at < in.end; i++)
		v = v << 8 | *in.at++;
	return v;
}

static int count(void *ctx, const void *data, size_t size)
{
	const struct bpf_rings *r = &source->rings;
	const uint8_t *at = data;
	unsigned *cnt = ctx;
	volatile uint8_t sum = 0;

	if (at >= r->map && at < r->map + r->map_size && size > (size_t)(r->map + r->map_size - at))
		abort();
	if (size < sizeof(struct espy_rec) || size > ESPY_BPF_CHUNK_SLACK)
		abort();
	for (size_t i = 0; i < size; i++)
		sum = (uint8_t)(sum + at[i]);
	return ++*cnt > RECORDS_MOST ? 1 : 0;
}

static int whole(void *ctx, const void *data, size_t size)
{
	const struct espy_rec *rec = data;

	if (rec->size != size)
		abort();
	return count(ctx, data, size);
}

/* A record that is good but for what the bytes say, behind the one before it. */
static void put_record(unsigned ring, uint64_t *pos)
{
	const struct bpf_rings *r = &source->rings;
	const uint8_t kind = (uint8_t)number(1);
	const uint64_t at = *pos * ESPY_BPF_UNIT, chunk = at >> r->chunk_shift & ((1u << r->chunks_shift) - 1);
	uint8_t *p = r->map + (((size_t)ring << r->chunks_shift) + chunk) * bpf_rings__chunk_stride(r) +
		     (at & ((1ull << r->chunk_shift) - 1));
	struct espy_rec rec = { .size = (uint32_t)number(2), .type = (uint16_t)number(1), .time_ns = number(2) };
	uint64_t size = kind & 1 ? (rec.size + 15u) / 8 * 8 : number(3), mark;

	mark = size | (kind & 2 ? ESPY_BPF_MARK_GIVEN_UP : 0) | (kind & 4 ? ESPY_BPF_MARK_BUSY : 0);
	mark |= (uint64_t)((uint32_t)*pos + r->secret + (kind & 8 ? (uint32_t)number(1) : 0)) << 32;
	memcpy(p, &mark, sizeof(mark));
	memcpy(p + sizeof(mark), &rec, sizeof(rec));
	*pos += kind & 16 ? number(2) : (size ? size : 8) / ESPY_BPF_UNIT;
}

static void put_records(void)
{
	uint64_t pos[RINGS];

	for (unsigned i = 0; i < RINGS; i++)
		pos[i] = source->rings.each[i].pos;
	for (unsigned i = 0; i < 64 && in.at < in.end; i++)
		put_record(i % RINGS, &pos[i % RINGS]);
	for (unsigned i = 0; i < RINGS; i++) {
		struct espy_bpf_head *h = &shared->heads[i];
		const uint8_t kind = (uint8_t)number(1);

		h->head = (pos[i] + (kind & 1 ? number(2) : 0)) | number(kind & 2 ? 2 : 0) << ESPY_BPF_POS_BITS;
		h->ended = h->head >> ESPY_BPF_POS_BITS; /* nobody writes: a snapshot waits for that, not for ever */
		h->others = number(kind & 4 ? 8 : 0);
		h->turns = number(kind & 8 ? 8 : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpf_rings *r;
	unsigned cnt = 0;
	int stop;

	if (!shared) {
		shared = aligned_alloc(4096, (sizeof(*shared) + 4095) / 4096 * 4096);
		source = calloc(1, sizeof(*source));
	}
	in = (struct input){ data, data + size };
	r = &source->rings;
	memset(shared->heads, 0, sizeof(shared->heads[0]) * RINGS);
	const bool flight = number(1) & 1;

	bpf_rings__plan(r, RINGS, 0, flight);
	/* Small, with more than one chunk, so that ends and gaps are met. */
	r->chunk_shift = 13;
	r->chunks_shift = 2;
	r->room_tasks = (1u << 15) / ESPY_BPF_UNIT;
	r->room_calls = r->room_tasks / 16 * 15;
	r->secret = 0x1234567;
	r->map_size = bpf_rings__bytes(r);
	map = mmap(NULL, r->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		abort();
	r->map = map;
	if (bpf_rings__open(r, shared))
		abort();
	const uint64_t start = number(1) ? number(6) & ESPY_BPF_POS_MASK >> 1 : 0;

	for (unsigned i = 0; i < RINGS; i++)
		r->each[i].pos = r->each[i].given = start;
	for (unsigned round = 0; round < 2; round++) {
		put_records();
		if (flight)
			bpf_flight__snapshot(source, whole, whole, &cnt, &stop);
		else
			bpf_rings__drain(r, number(2), count, &cnt, &stop);
		if (cnt > RECORDS_MOST)
			abort();
		bpf_rings__empty(r);
		bpf_rings__unread(r);
	}
	bpf_rings__close(r);
	return 0;
}
