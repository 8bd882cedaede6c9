/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reader of the BPF ring buffer. libbpf has one too; this one gives space back in batches instead of after each
 * record, which keeps the cache line of the reader's position out of the writers' way, and it can stop at any record.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/align.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/ring/spare.h"

#define RECORD_BUSY 0x80000000u
#define RECORD_DISCARDED 0x40000000u
#define RECORD_HEAD 8u

int bpf_ring__open(struct bpf_ring *r, int map_fd, size_t size)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int err;

	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->size = size;
	/*
	 * The kernel would show the data twice, so that a record at its end goes on behind it. As much as the longest one is
	 * enough: each page takes its time to map, and again to let go.
	 */
	r->body_size = r->page + size + (size < ESPY_REC_MAX ? size : ESPY_REC_MAX);
	r->epoll = -1;
	r->body = MAP_FAILED;
	r->head = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (r->head == MAP_FAILED)
		goto fail;
	r->body = mmap(NULL, r->body_size, PROT_READ, MAP_SHARED, map_fd, (off_t)r->page);
	if (r->body == MAP_FAILED)
		goto fail;
	/* A child that is about to execve need not copy so many page table entries. */
	madvise(r->body, r->body_size, MADV_DONTFORK);
	r->consumer = r->head;
	r->producer = r->body;
	r->data = (const uint8_t *)r->body + r->page;
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, map_fd, &ev) < 0)
		goto fail;
	return 0;
fail:
	err = -errno;
	bpf_ring__close(r);
	return err;
}

void bpf_ring__close(struct bpf_ring *r)
{
	if (r->head && r->head != MAP_FAILED)
		munmap(r->head, r->page);
	if (r->body && r->body != MAP_FAILED)
		munmap(r->body, r->body_size);
	if (r->epoll > 0)
		close(r->epoll);
	memset(r, 0, sizeof(*r));
}

bool bpf_ring__empty(const struct bpf_ring *r)
{
	return *r->consumer == __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

void bpf_ring__mark(struct bpf_ring *r)
{
	r->mark = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

bool bpf_ring__read_to_mark(const struct bpf_ring *r)
{
	return *r->consumer >= r->mark;
}

void bpf_ring__skip(struct bpf_ring *r)
{
	__atomic_store_n(r->consumer, __atomic_load_n(r->producer, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

/* A drain of all rings: how far each was written when it began. */
struct drain {
	struct bpf_ring *spare, *tasks; /* spare: NULL if there is none */
	unsigned long spare_end, tasks_end;
	bpf_ring_fn fn;
	void *ctx;
	int *stop;
	int cnt;
};

/* Returns the bytes of the record at the reader's place; 0: it is unfinished. *len: as the kernel has it. */
static uint32_t record_at(const struct bpf_ring *r, unsigned long pos, const uint8_t **at, uint32_t *len)
{
	*at = r->data + (pos & (r->size - 1)) + RECORD_HEAD;
	*len = __atomic_load_n((const uint32_t *)(*at - RECORD_HEAD), __ATOMIC_ACQUIRE);
	return *len & RECORD_BUSY ? 0 : *len & ~RECORD_DISCARDED;
}

/* Gives a record that lies aside, without the place behind it, unless it was given up. */
static void give(struct drain *d, const uint8_t *at, uint32_t len, uint32_t size, size_t tail)
{
	if (len & RECORD_DISCARDED)
		return;
	d->cnt++;
	*d->stop = d->fn(d->ctx, at, size - tail);
}

static void step(struct bpf_ring *r, unsigned long pos, uint32_t size)
{
	__atomic_store_n(r->consumer, pos + espy_pad8(size + RECORD_HEAD), __ATOMIC_RELEASE);
}

/* Gives births, execs and deaths whose place in the first ring, or in the spare one, is not behind `upto`. */
static void drain_tasks(struct drain *d, unsigned long upto, bool in_spare)
{
	unsigned long pos;

	while ((pos = *d->tasks->consumer) < d->tasks_end && !*d->stop) {
		struct espy_bpf_place place;
		const uint8_t *at;
		uint32_t len, size = record_at(d->tasks, pos, &at, &len);

		if (size < sizeof(place))
			return;
		memcpy(&place, at + size - sizeof(place), sizeof(place));
		if (!(len & RECORD_DISCARDED) && (in_spare ? place.spare : place.ring) > upto)
			return;
		give(d, at, len, size, sizeof(place));
		step(d->tasks, pos, size);
	}
}

/* Gives records of the spare ring whose place in the first is not behind `upto`, and then those of tasks. */
static void drain_aside(struct drain *d, unsigned long upto)
{
	unsigned long pos;

	while (d->spare && (pos = *d->spare->consumer) < d->spare_end && !*d->stop) {
		uint64_t place;
		const uint8_t *at;
		uint32_t len, size = record_at(d->spare, pos, &at, &len);

		if (size < sizeof(place))
			return; /* later records, and those of tasks, come behind it */
		memcpy(&place, at + size - sizeof(place), sizeof(place));
		if (!(len & RECORD_DISCARDED) && place > upto)
			break;
		drain_tasks(d, pos, true);
		if (*d->stop)
			return;
		give(d, at, len, size, sizeof(place));
		step(d->spare, pos, size);
	}
	drain_tasks(d, upto, false);
}

static bool has_aside(const struct drain *d)
{
	return *d->tasks->consumer != d->tasks_end || (d->spare && *d->spare->consumer != d->spare_end);
}

int bpf_ring__drain(struct bpf_source *s, bpf_ring_fn fn, void *ctx, int *stop)
{
	struct bpf_ring *r = &s->ring;
	unsigned long pos = *r->consumer, given = pos, end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
	unsigned long batch = r->size / 16 < 65536 ? r->size / 16 : 65536;
	struct drain d = { .tasks = &s->task_ring, .fn = fn, .ctx = ctx, .stop = stop };

	/* In this order it sees each record that was put aside before a record of a ring began. */
	d.spare = bpf_spare__ring(s);
	d.spare_end = d.spare ? __atomic_load_n(d.spare->producer, __ATOMIC_ACQUIRE) : 0;
	d.tasks_end = __atomic_load_n(d.tasks->producer, __ATOMIC_ACQUIRE);
	*stop = 0;
	while (pos < end && !*stop) {
		const uint8_t *at;
		uint32_t len, size = record_at(r, pos, &at, &len);

		if (len & RECORD_BUSY)
			break;
		if (has_aside(&d)) {
			drain_aside(&d, pos);
			if (*stop)
				break;
		}
		pos += espy_pad8(size + RECORD_HEAD);
		if (!(len & RECORD_DISCARDED)) {
			d.cnt++;
			*stop = fn(ctx, at, size);
		}
		if (pos - given >= batch) {
			__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
			given = pos;
		}
	}
	__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
	if (!*stop && has_aside(&d))
		drain_aside(&d, pos);
	return d.cnt;
}
