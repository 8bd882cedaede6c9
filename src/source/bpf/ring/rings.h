/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rings of our own, one per CPU, seen from user space: see shared.h for how they lie in memory. */
#ifndef ESPY_BPF_RINGS_H
#define ESPY_BPF_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/merge.h"
#include "source/bpf/kernel/shared.h"

struct bpf_cpu_ring {
	const struct bpf_rings *all;
	struct espy_bpf_head *head; /* in the shared memory */
	const uint8_t *chunks;
	uint64_t pos, end; /* units: read so far; taken when last looked at */
	uint64_t given;	   /* read, and said so to the writer */
	uint64_t look_ns;  /* when that was */
	uint64_t mark;	   /* see bpf_source_mark() */
	uint64_t events;   /* flight recorder: that there were at the last snapshot */
};

struct bpf_rings {
	uint32_t cnt; /* 0: one ring of the kernel's is used instead */
	unsigned chunk_shift, chunks_shift;
	uint64_t room_calls, room_tasks;
	uint32_t secret;
	uint8_t *map;
	size_t map_size;
	struct bpf_cpu_ring *each;
	struct espy_merge merge;
};

/* The number of rings that suit this machine: 1 means one of the kernel's. */
uint32_t bpf_rings__auto(void);
uint32_t bpf_rings__cpus(void);
/* Sizes for `bytes` in all, 0: a default. The rings of a flight recorder need no room that calls may not take. */
void bpf_rings__plan(struct bpf_rings *r, uint32_t cnt, size_t bytes, bool flight);
static inline size_t bpf_rings__chunk_stride(const struct bpf_rings *r)
{
	return ((size_t)1 << r->chunk_shift) + ESPY_BPF_CHUNK_SLACK;
}
static inline uint32_t bpf_rings__chunk_cnt(const struct bpf_rings *r)
{
	return r->cnt << r->chunks_shift;
}
static inline size_t bpf_rings__bytes(const struct bpf_rings *r)
{
	return bpf_rings__chunk_stride(r) * bpf_rings__chunk_cnt(r);
}
/* Makes the array of chunks: a descriptor or -errno. */
int bpf_rings__create(const struct bpf_rings *r);
int bpf_rings__map(struct bpf_rings *r, int map_fd);
/* When the shared memory is there. */
int bpf_rings__open(struct bpf_rings *r, struct espy_bpf_shared *shared);
void bpf_rings__close(struct bpf_rings *r);

bool bpf_rings__empty(const struct bpf_rings *r);
void bpf_rings__mark(struct bpf_rings *r);
bool bpf_rings__read_to_mark(const struct bpf_rings *r);
/* Bytes not read yet, of the ring that has most of them. */
uint64_t bpf_rings__unread(const struct bpf_rings *r);
/* Delivers what has come in order of time, as bpf_ring__drain() does. now_ns: CLOCK_MONOTONIC right before the call. */
int bpf_rings__drain(struct bpf_rings *r, uint64_t now_ns, int (*fn)(void *ctx, const void *data, size_t size),
		     void *ctx, int *stop);

/*
 * The bytes of the record at a position with its mark, which goes to *at; 0: none is published there. *given_up: it is
 * to be stepped over.
 */
size_t bpf_rings__record_at(const struct bpf_cpu_ring *c, uint64_t pos, const uint8_t **at, bool *given_up);

#endif
