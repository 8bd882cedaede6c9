// SPDX-License-Identifier: LGPL-2.1-or-later
#include "own_espy.h"
#include "tests/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int read_comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, comm, size - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -1;
	comm[n] = 0;
	comm[strcspn(comm, "\n")] = 0;
	return 0;
}

static pid_t find_helper(pid_t pid)
{
	char path[64], comm[32];
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && !read_comm(pid, tid, comm, sizeof(comm)) && !strcmp(comm, ESPY_AGENT_COMM))
			found = tid;
	}
	if (d)
		closedir(d);
	return found;
}

static int open_memfd(pid_t pid, pid_t tid, const char *name, int number)
{
	char path[320], target[64], want[64];
	struct dirent *e;
	int fd = -ENOENT;
	DIR *d;

	snprintf(want, sizeof(want), "/memfd:%s (deleted)", name);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, tid);
	d = opendir(path);
	while (d && fd < 0 && (e = readdir(d))) {
		ssize_t n;

		if (number >= 0 && atoi(e->d_name) != number)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/fd/%s", pid, tid, e->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		if (!strcmp(target, want))
			fd = open(path, O_RDWR | O_CLOEXEC);
	}
	if (d)
		closedir(d);
	return fd;
}

int control_attach_once(struct control *c, pid_t pid)
{
	memset(c, 0, sizeof(*c));
	c->pid = pid;
	c->ring_fd = -1;
	c->slot = -1;
	c->helper = find_helper(pid);
	if (!c->helper)
		return -ESRCH;
	c->area_fd = open_memfd(pid, c->helper, ESPY_AGENT_MEMFD, -1);
	if (c->area_fd < 0)
		return -ENOENT;
	c->area = mmap(NULL, ESPY_AGENT_AREA_SZ, PROT_READ | PROT_WRITE, MAP_SHARED, c->area_fd, 0);
	if (c->area == MAP_FAILED) {
		close(c->area_fd);
		return -ENOMEM;
	}
	if (!(fcntl(c->area_fd, F_GET_SEALS) & F_SEAL_SHRINK) || !__atomic_load_n(&c->area->ready, __ATOMIC_ACQUIRE) ||
	    c->area->magic != ESPY_AGENT_MAGIC || c->area->abi != ESPY_AGENT_ABI) {
		munmap(c->area, ESPY_AGENT_AREA_SZ);
		close(c->area_fd);
		return -EAGAIN;
	}
	for (int i = 0; i < (int)ESPY_AGENT_SESSIONS; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };

		if (!fcntl(c->area_fd, F_OFD_SETLK, &lock)) {
			c->slot = i;
			return 0;
		}
	}
	return -EBUSY;
}

int control_attach(struct control *c, pid_t pid)
{
	int e = -ESRCH;

	WAIT_UNTIL(!(e = control_attach_once(c, pid)) || e == -EBUSY);
	return e;
}

void control_hurry(const struct control *c)
{
	const struct sched_param first = { .sched_priority = 1 };

	sched_setscheduler(0, SCHED_FIFO, &first);
	sched_setscheduler(c->helper, SCHED_FIFO, &first);
}

void control_forget_ring(struct control *c)
{
	if (c->ring)
		munmap(c->ring, c->ring_sz);
	if (c->ring_fd >= 0)
		close(c->ring_fd);
	free(c->done);
	free(c->at_seq);
	free(c->at);
	free(c->time);
	c->ring = NULL;
	c->ring_fd = -1;
	c->done = c->at_seq = c->time = NULL;
	c->at = NULL;
}

void control_detach(struct control *c)
{
	control_forget_ring(c);
	munmap(c->area, ESPY_AGENT_AREA_SZ);
	close(c->area_fd);
}

struct espy_agent_slot *control_slot(struct control *c)
{
	return (void *)((uint8_t *)c->area + ESPY_AGENT_SLOT_OFF + (unsigned int)c->slot * ESPY_AGENT_SLOT_SZ);
}

int control_ask(struct control *c, unsigned int op)
{
	struct espy_agent_slot *s = control_slot(c);
	uint32_t done = s->done, n = done + 1;
	struct timespec second = { .tv_sec = 1 };

	s->op = op;
	__atomic_store_n(&s->asked, n, __ATOMIC_RELEASE);
	__atomic_fetch_add(&c->area->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->area->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
	for (int i = 0; i < 60; i++) {
		if (__atomic_load_n(&s->done, __ATOMIC_ACQUIRE) == n)
			return s->result;
		syscall(SYS_futex, &s->done, FUTEX_WAIT, done, &second, NULL, 0);
	}
	return -ETIMEDOUT;
}

static int map_ring(struct control *c)
{
	struct espy_agent_opened o = control_slot(c)->opened;

	c->ring_fd = open_memfd(c->pid, c->helper, ESPY_RING_MEMFD, (int)o.ring_fd);
	if (c->ring_fd < 0)
		return c->ring_fd;
	c->ring_sz = o.ring_sz;
	c->ring = mmap(NULL, c->ring_sz, PROT_READ | PROT_WRITE, MAP_SHARED, c->ring_fd, 0);
	if (c->ring == MAP_FAILED)
		return -ENOMEM;
	c->data = (uint8_t *)c->ring + c->ring->data_off;
	c->free = (uint64_t *)((uint8_t *)c->ring + ESPY_RING_FREE_OFF);
	c->done = calloc(o.nchunks, 8);
	c->at_seq = calloc(o.nchunks, 8);
	c->at = calloc(o.nchunks, 4);
	c->time = calloc(o.nchunks, 8);
	return c->done && c->at_seq && c->at && c->time ? 0 : -ENOMEM;
}

int control_open(struct control *c, const struct espy_agent_open *o)
{
	int e;

	const char *flags = getenv("CONTROL_FLAGS"); // further ones: the same test in another mode

	control_slot(c)->payload.open = *o;
	if (flags)
		control_slot(c)->payload.open.flags |= (uint32_t)atoi(flags);
	e = control_ask(c, ESPY_AGENT_OPEN);
	return e ? e : map_ring(c);
}

// Takes over the inherited session of that tag.
int control_hold(struct control *c, uint64_t tag)
{
	for (int i = 0; i < (int)ESPY_AGENT_SESSIONS; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1 };
		int e;

		c->slot = i;
		if (control_slot(c)->state != ESPY_SLOT_INHERITED || control_slot(c)->tag != tag)
			continue;
		if (fcntl(c->area_fd, F_OFD_SETLK, &lock))
			return -EBUSY;
		e = control_ask(c, ESPY_AGENT_HOLD);
		return e ? e : map_ring(c);
	}
	return -ENOENT;
}

int control_on(struct control *c, uint32_t id, const char *pattern, const struct espy_agent_pred *preds,
	       unsigned int npreds)
{
	struct espy_agent_rule *r = &control_slot(c)->payload.rule;

	memset(r, 0, sizeof(*r));
	r->id = id;
	r->npreds = npreds;
	strncpy(r->pattern, pattern, sizeof(r->pattern) - 1);
	memcpy(r->preds, preds, npreds * sizeof(*preds));
	return control_ask(c, ESPY_AGENT_ON);
}

int control_off(struct control *c, uint32_t id)
{
	control_slot(c)->payload.rule.id = id;
	return control_ask(c, ESPY_AGENT_OFF);
}

uint64_t control_lost(const struct control *c)
{
	return c->ring->lost_full + c->ring->lost_big + c->ring->lost_slot + c->ring->lost_early;
}

const char *control_name(const struct control *c, uint32_t def)
{
	const struct espy_agent_def *d = (const void *)((const uint8_t *)c->area + ESPY_AGENT_DEFS_OFF);

	if (def >= c->area->ndefs || d[def].name_off >= ESPY_AGENT_TEXT_MAX)
		return "?";
	return (const char *)c->area + ESPY_AGENT_TEXT_OFF + d[def].name_off;
}

// Up to `end`, which is told with each record.
static uint64_t read_shared(struct control *c, uint32_t i, const struct espy_chunk *k, record_fn *fn, void *ctx)
{
	uint32_t sz = c->ring->chunk_sz, closed = __atomic_load_n(&k->closed, __ATOMIC_ACQUIRE);
	uint32_t end = __atomic_load_n(&k->end, __ATOMIC_ACQUIRE);
	uint64_t n = 0, copy[4096];

	if (end > sz || end < c->at[i])
		abort();
	while (c->at[i] < end) {
		const struct espy_shared_record *r = (const void *)((const uint8_t *)k + c->at[i]);
		uint32_t size = r->mark.size_busy;
		struct espy_mark_record *as = (void *)copy;

		if (size < sizeof(*r) || (size & 7) || size > end - c->at[i] || size > sizeof(copy))
			abort();
		if (r->mark.time < c->time[i])
			abort();
		c->time[i] = r->mark.time;
		*as = r->mark;
		as->size_busy = size - 8;
		memcpy(as + 1, r + 1, size - sizeof(*r));
		c->tid = r->tid;
		c->shared++;
		fn(ctx, k, as);
		n++;
		c->at[i] += size;
	}
	if (closed) {
		c->done[i] = k->seq;
		__atomic_fetch_or(&c->free[i / 64], 1ull << i % 64, __ATOMIC_RELEASE);
	}
	return n;
}

static uint64_t read_chunk(struct control *c, uint32_t i, int dead, record_fn *fn, void *ctx)
{
	uint32_t sz = c->ring->chunk_sz, closed, pos;
	const struct espy_chunk *k = (const void *)(c->data + (size_t)i * sz);
	uint64_t seq = __atomic_load_n(&k->seq, __ATOMIC_ACQUIRE), n = 0;

	if (!seq || seq == c->done[i])
		return 0;
	if (seq != c->at_seq[i]) {
		c->at_seq[i] = seq;
		c->at[i] = ESPY_CHUNK_HEAD;
		c->time[i] = 0;
		c->lost_seen += k->lost_before;
		c->chunks++;
	}
	if (k->kind == ESPY_CHUNK_SHARED)
		return read_shared(c, i, k, fn, ctx);
	c->tid = k->tid;
	closed = __atomic_load_n(&k->closed, __ATOMIC_ACQUIRE);
	for (pos = c->at[i]; pos + 16 <= sz;) {
		const struct espy_mark_record *r = (const void *)((const uint8_t *)k + pos);
		uint32_t size = __atomic_load_n(&r->size_busy, __ATOMIC_ACQUIRE);

		if ((size & ESPY_RECORD_BUSY) && dead) {
			c->torn++;
			pos += size & ~ESPY_RECORD_BUSY;
			continue;
		}
		if (!size || (size & ESPY_RECORD_BUSY))
			break;
		if (size < 16 || (size & 7) || size > sz - pos)
			abort();
		fn(ctx, k, r);
		n++;
		pos += size;
	}
	c->at[i] = pos;
	if (closed && pos == k->end) {
		c->done[i] = seq;
		__atomic_fetch_or(&c->free[i / 64], 1ull << i % 64, __ATOMIC_RELEASE);
	}
	return n;
}

uint64_t control_read(struct control *c, int dead, record_fn *fn, void *ctx)
{
	uint32_t n = c->ring->nchunks;
	uint64_t records = 0;

	for (uint32_t w = 0; w < n / 64; w++) {
		uint64_t used = ~__atomic_load_n(&c->free[w], __ATOMIC_ACQUIRE);

		for (; used; used &= used - 1)
			records += read_chunk(c, w * 64 + (uint32_t)__builtin_ctzll(used), dead, fn, ctx);
	}
	c->records += records;
	return records;
}
