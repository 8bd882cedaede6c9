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

void bpf_ring__skip(struct bpf_ring *r)
{
	__atomic_store_n(r->consumer, __atomic_load_n(r->producer, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

/* Those of the second ring whose place in the first is not behind `upto`: it stands at the end of each record. */
static int drain_aside(struct bpf_ring *r, unsigned long end, unsigned long upto, bpf_ring_fn fn, void *ctx, int *stop)
{
	unsigned long pos = *r->consumer;
	int cnt = 0;

	while (pos < end && !*stop) {
		const uint8_t *at = r->data + (pos & (r->size - 1));
		uint32_t len = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		uint32_t size = len & ~(RECORD_BUSY | RECORD_DISCARDED);
		uint64_t place;

		if (len & RECORD_BUSY || size < sizeof(place))
			break;
		memcpy(&place, at + RECORD_HEAD + size - sizeof(place), sizeof(place));
		if (!(len & RECORD_DISCARDED)) {
			if (place > upto)
				break;
			cnt++;
			*stop = fn(ctx, at + RECORD_HEAD, size - sizeof(place));
		}
		pos += espy_pad8(size + RECORD_HEAD);
		__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
	}
	return cnt;
}

int bpf_ring__drain(struct bpf_ring *r, struct bpf_ring *aside, bpf_ring_fn fn, void *ctx, int *stop)
{
	unsigned long pos = *r->consumer, given = pos, end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
	unsigned long batch = r->size / 16 < 65536 ? r->size / 16 : 65536;
	/* After the other: what was put aside before a record of this ring was begun is seen here. */
	unsigned long aside_end = __atomic_load_n(aside->producer, __ATOMIC_ACQUIRE);
	int cnt = 0;

	*stop = 0;
	while (pos < end && !*stop) {
		const uint8_t *at = r->data + (pos & (r->size - 1));
		uint32_t len = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		uint32_t size = len & ~(RECORD_BUSY | RECORD_DISCARDED);

		if (len & RECORD_BUSY)
			break;
		if (*aside->consumer != aside_end) {
			cnt += drain_aside(aside, aside_end, pos, fn, ctx, stop);
			if (*stop)
				break;
		}
		pos += espy_pad8(size + RECORD_HEAD);
		if (!(len & RECORD_DISCARDED)) {
			cnt++;
			*stop = fn(ctx, at + RECORD_HEAD, size);
		}
		if (pos - given >= batch) {
			__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
			given = pos;
		}
	}
	__atomic_store_n(r->consumer, pos, __ATOMIC_RELEASE);
	if (!*stop && *aside->consumer != aside_end)
		cnt += drain_aside(aside, aside_end, pos, fn, ctx, stop);
	return cnt;
}
