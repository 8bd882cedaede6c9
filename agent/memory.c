// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory of the agent's thread: pages from the kernel, blocks in powers of two. malloc belongs to the program, which
// may have replaced it, and whose locks a fork would copy in any state. Also: when is what the event path used free
// again?
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define SLAB (256u * 1024u)
#define SMALLEST 5u // 32 bytes
#define LARGEST 16u // above 64 KiB: pages of its own

static struct {
	void *free[LARGEST + 1];
	uint8_t *at, *end;
} heap;

void *mem_map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *mem_share(const char *name, size_t size, int flags, int *fd)
{
	void *p = MAP_FAILED;
	int e;

	*fd = (int)sys(SYS_memfd_create, (long)name, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
	if (*fd < 0)
		return NULL;
	e = (int)sys(SYS_ftruncate, *fd, (long)size, 0, 0, 0, 0);
	if (!e)
		e = (int)sys(SYS_fcntl, *fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, 0, 0, 0);
	if (!e)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, *fd, 0);
	if (p == MAP_FAILED) {
		sys(SYS_close, *fd, 0, 0, 0, 0, 0);
		*fd = e ? e : -ENOMEM;
		return NULL;
	}
	madvise(p, size, MADV_DONTFORK);
	return p;
}

static unsigned int class_of(size_t size)
{
	unsigned int c = SMALLEST;

	while (((size_t)1 << c) < size)
		c++;
	return c;
}

// Zeroed; NULL: no memory.
void *mem_alloc(size_t size)
{
	unsigned int c = class_of(size);
	size_t block = (size_t)1 << c;
	void *p;

	if (c > LARGEST)
		return mem_map(size);
	p = heap.free[c];
	if (p) {
		heap.free[c] = *(void **)p;
		__builtin_memset(p, 0, block);
		return p;
	}
	if ((size_t)(heap.end - heap.at) < block) {
		heap.at = mem_map(SLAB);
		heap.end = heap.at ? heap.at + SLAB : NULL;
		if (!heap.at)
			return NULL;
	}
	p = heap.at;
	heap.at += block;
	return p;
}

void mem_free(void *p, size_t size)
{
	unsigned int c = class_of(size);

	if (!p)
		return;
	if (c > LARGEST) {
		munmap(p, size);
		return;
	}
	*(void **)p = heap.free[c];
	heap.free[c] = p;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// ---- grace periods ----

struct seen {
	uint32_t seq[THREADS], calls_seq[THREADS];
};
static struct seen seen;

static void fence(void)
{
	if (sys(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0) < 0)
		sys(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0, 0, 0, 0);
}

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

// How many places of the table were ever taken: until it wraps, threads take them in order.
static uint32_t used(void)
{
	uint32_t n = load(&live->next_thread);

	return n < THREADS ? n : THREADS;
}

static void look(struct seen *to)
{
	for (uint32_t i = 0, n = used(); i < n; i++) {
		to->seq[i] = load(&live->threads[i].seq);
		to->calls_seq[i] = load(&live->threads[i].calls_seq);
	}
}

// Has every thread left (or was out for a moment) since look()? Depth first: it enters calls before it leaves depth.
static int all_left(const struct seen *from, int calls)
{
	for (uint32_t i = 0, end = used(); i < end; i++) {
		const struct thread *t = &live->threads[i];

		if (!load(&t->tid) || t == self)
			continue;
		if (load(&t->depth) && load(&t->seq) == from->seq[i])
			return 0;
		if (calls && load(&t->calls) && load(&t->calls_seq) == from->calls_seq[i])
			return 0;
	}
	return 1;
}

// A grace period of its own, which mem_reclaim's need not wait for and does not disturb.
static int grace(struct seen *from, int calls, int timeout_ms)
{
	uint64_t end = now_ns() + (uint64_t)timeout_ms * 1000000u;
	struct timespec pause = { .tv_nsec = 50000 };

	fence();
	look(from);
	while (!all_left(from, calls)) {
		if (timeout_ms >= 0 && now_ns() >= end)
			return -EBUSY;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return 0;
}

int mem_grace(int calls, int timeout_ms)
{
	static struct seen from;

	return grace(&from, calls, timeout_ms);
}

// The same without waiting: begin, and later ask. NULL: no memory.
struct seen *mem_grace_begin(void)
{
	struct seen *from = mem_map(sizeof(*from));

	if (!from)
		return NULL;
	fence();
	look(from);
	return from;
}

int mem_grace_over(const struct seen *from)
{
	return all_left(from, 0);
}

void mem_grace_end(struct seen *from)
{
	if (from)
		munmap(from, sizeof(*from));
}

int mem_grace_unlocked(void)
{
	struct seen *from = mem_map(sizeof(*from));

	if (!from)
		return -ENOMEM;
	grace(from, 1, -1);
	munmap(from, sizeof(*from));
	return 0;
}

// What waits for the end of a grace period: `waiting` for the one that look() began, `next` for the one after.
struct retired {
	struct retired *next;
	void *p;
	size_t size;
	int unmap;
};
static struct {
	struct retired *waiting, *next;
} limbo;

void mem_retire(void *p, size_t size, int unmap)
{
	struct retired *r;

	if (!p)
		return;
	r = mem_alloc(sizeof(*r));
	if (!r)
		return; // rather leaked than used after it was freed
	*r = (struct retired){ limbo.next, p, size, unmap };
	limbo.next = r;
}

void mem_reclaim(void)
{
	struct retired *r;

	if (limbo.waiting) {
		if (!all_left(&seen, 1))
			return;
		while ((r = limbo.waiting)) {
			limbo.waiting = r->next;
			if (r->unmap)
				munmap(r->p, r->size);
			else
				mem_free(r->p, r->size);
			mem_free(r, sizeof(*r));
		}
	}
	if (!limbo.next)
		return;
	limbo.waiting = limbo.next;
	limbo.next = NULL;
	fence();
	look(&seen);
}

int mem_is_retired(void)
{
	return limbo.waiting || limbo.next;
}

// Threads that have ended give up their place, and their chunks go to the reader.
void mem_sweep_threads(void)
{
	long pid = sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	uint32_t n = 0;

	for (uint32_t i = 0, end = used(); i < end; i++) {
		struct thread *t = &live->threads[i];
		uint32_t tid = load(&t->tid);

		if (!tid)
			continue;
		if (sys(SYS_tgkill, pid, tid, 0, 0, 0, 0) != -ESRCH) {
			n++;
			continue;
		}
		for (uint32_t s = 0; s < ESPY_AGENT_SESSIONS; s++) {
			if (agent.sessions[s].ring)
				chunk_disown(t, agent.sessions[s].ring);
			t->cur[s] = 0;
			t->lost[s] = 0;
		}
		t->depth = t->calls = 0; // it may have been ended in there
		share_unclaim(tid);
		probe_sweep_frames(tid);
		__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
	}
	if (agent.area)
		agent.area->threads = n;
}
