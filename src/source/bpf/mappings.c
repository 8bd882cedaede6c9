/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/bpf/mappings.h"

#include <elf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uthash.h>
#include "base/array.h"
#include "base/clock.h"
#include "symbols/elf_file.h"

#define RING_PAGES 32u /* of each CPU: some thousand mappings */
/* What hostile programs map costs 100 MB at most; the largest of others have some hundred files. */
#define PROCESSES_MAX 1024u
#define MAPPINGS_MAX 512u /* of one process */
#define LAYOUTS_MAX 4096u
#define PAGE_MASK (~UINT64_C(4095))

struct mapping {
	uint64_t start, end, offset, ino;
	uint32_t major, minor;
	char *path;
};

struct process {
	pid_t tgid;
	uint32_t version;
	bool ended;
	struct mapping *mappings;
	size_t cnt, cap;
	UT_hash_handle hh; /* in the order of their begin */
};

/* A part of a file that is mapped for execution. A key of a table: it has no gaps. */
struct file_part {
	uint64_t ino, offset;
	uint32_t major, minor;
};

/* How far behind the begin of its file such a part lies in memory. */
struct layout {
	struct file_part of;
	uint64_t distance;
	UT_hash_handle hh;
};

/* The events of one CPU. */
struct ring {
	int fd;
	struct perf_event_mmap_page *head;
	uint64_t tail;
};

struct bpf_mappings {
	struct ring *rings;
	size_t ring_cnt;
	uint64_t looked_ns;   /* all that happened before stands in a ring or was taken from it */
	uint64_t earliest_ns; /* of what stands there */
	struct process *by_tgid;
	struct layout *layouts;
	uint32_t versions;
	uint64_t event[8192]; /* the one at work: a record has 64 KB at most */
};

/* ---- processes */

static void forget_mappings(struct process *p)
{
	for (size_t i = 0; i < p->cnt; i++)
		free(p->mappings[i].path);
	p->cnt = 0;
}

static void drop(struct bpf_mappings *m, struct process *p)
{
	HASH_DEL(m->by_tgid, p);
	forget_mappings(p);
	free(p->mappings);
	free(p);
}

static struct process *find(struct bpf_mappings *m, pid_t tgid)
{
	struct process *p = NULL;

	if (m)
		HASH_FIND_INT(m->by_tgid, &tgid, p);
	return p;
}

static void forget_layouts(struct bpf_mappings *m)
{
	struct layout *l, *next;

	HASH_ITER(hh, m->layouts, l, next)
	{
		HASH_DEL(m->layouts, l);
		free(l);
	}
}

/* Makes room: the oldest process that has ended goes, or the oldest of all. */
static void drop_one(struct bpf_mappings *m)
{
	struct process *p = m->by_tgid;

	while (p && !p->ended)
		p = p->hh.next;
	drop(m, p ? p : m->by_tgid);
}

/* Begins a process without mappings, or one anew. Returns NULL without memory. */
static struct process *begin(struct bpf_mappings *m, pid_t tgid)
{
	struct process *p = find(m, tgid);

	if (p)
		drop(m, p);
	if (HASH_COUNT(m->by_tgid) >= PROCESSES_MAX)
		drop_one(m);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	p->version = ++m->versions;
	HASH_ADD_INT(m->by_tgid, tgid, p);
	return p;
}

/* A new mapping takes the place of what was there. Returns false without room. */
static bool put(struct process *p, const struct mapping *new, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->cnt; i++) {
		if (p->mappings[i].start < new->end && new->start < p->mappings[i].end)
			free(p->mappings[i].path);
		else
			p->mappings[kept++] = p->mappings[i];
	}
	p->cnt = kept;
	if (p->cnt >= MAPPINGS_MAX || !espy_array__grow(p->mappings, p->cnt, p->cap))
		return false;
	p->mappings[p->cnt] = *new;
	p->mappings[p->cnt].path = strdup(path);
	if (!p->mappings[p->cnt].path)
		return false;
	p->cnt++;
	return true;
}

/* Gives a process without mappings those of another one. Returns false without memory. */
static bool copy_mappings(struct process *to, const struct process *from)
{
	if (!espy_array__room(&to->mappings, 0, &to->cap, sizeof(*to->mappings), from->cnt))
		return false;
	for (; to->cnt < from->cnt; to->cnt++) {
		to->mappings[to->cnt] = from->mappings[to->cnt];
		to->mappings[to->cnt].path = strdup(from->mappings[to->cnt].path);
		if (!to->mappings[to->cnt].path)
			return false;
	}
	return true;
}

/* ---- events, as perf_event_open(2) describes them */

struct event_mmap {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, offset;
	uint32_t major, minor;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char path[];
};

struct event_task {
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
};

struct event_comm {
	struct perf_event_header h;
	uint32_t pid, tid;
};

static void on_mmap(struct bpf_mappings *m, const struct event_mmap *e)
{
	const size_t others = sizeof(*e) + sizeof(uint64_t); /* the time stands behind the path */
	struct process *p = e->h.size > others ? find(m, (pid_t)e->pid) : NULL;

	if (!p || e->path[0] != '/' || strnlen(e->path, e->h.size - others) == e->h.size - others ||
	    strchr(e->path, '\n'))
		return;
	const struct mapping new = { .start = e->addr,
				     .end = e->addr + e->len,
				     .offset = e->offset,
				     .ino = e->ino,
				     .major = e->major,
				     .minor = e->minor };

	/* Without a file in between /proc has to do. */
	if (put(p, &new, e->path))
		p->version = ++m->versions;
	else
		drop(m, p);
}

/* A child begins with what its parent has mapped. */
static void on_fork(struct bpf_mappings *m, const struct event_task *e)
{
	struct process *parent = find(m, (pid_t)e->ppid), *child;

	if (e->pid == e->ppid) /* a thread */
		return;
	if (!parent) { /* the same number may have been another process */
		child = find(m, (pid_t)e->pid);
		if (child)
			drop(m, child);
		return;
	}
	child = begin(m, (pid_t)e->pid);
	parent = find(m, (pid_t)e->ppid); /* unless it had to make room */
	if (child && parent && !copy_mappings(child, parent))
		drop(m, child);
}

static void on_event(struct bpf_mappings *m, const struct perf_event_header *h)
{
	struct process *p, *next;

	switch (h->type) {
	case PERF_RECORD_MMAP2:
		on_mmap(m, (const struct event_mmap *)h);
		break;
	case PERF_RECORD_COMM:
		if (h->misc & PERF_RECORD_MISC_COMM_EXEC && h->size >= sizeof(struct event_comm))
			begin(m, (pid_t)((const struct event_comm *)h)->pid);
		break;
	case PERF_RECORD_FORK:
		if (h->size >= sizeof(struct event_task))
			on_fork(m, (const struct event_task *)h);
		break;
	case PERF_RECORD_EXIT:
		p = h->size >= sizeof(struct event_task) ? find(m, (pid_t)((const struct event_task *)h)->pid) : NULL;
		if (p && ((const struct event_task *)h)->tid == (uint32_t)p->tgid)
			p->ended = true;
		break;
	case PERF_RECORD_LOST:
		/* /proc has to do for all that run now. */
		HASH_ITER(hh, m->by_tgid, p, next)
		drop(m, p);
		break;
	}
}

/* ---- rings */

static size_t ring_size(void)
{
	return RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

/* Copies bytes that may lie around the end of the ring. */
static void copy(const struct ring *r, uint64_t at, void *to, size_t size)
{
	const char *data = (const char *)r->head + sysconf(_SC_PAGESIZE);
	const size_t from = at & (ring_size() - 1), first = ring_size() - from < size ? ring_size() - from : size;

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, size - first);
}

/* Finds the time of the next event. Returns false if there is none. */
static bool peek(struct ring *r, uint64_t *time_ns)
{
	const uint64_t head = __atomic_load_n(&r->head->data_head, __ATOMIC_ACQUIRE);
	struct perf_event_header h;

	if (head - r->tail < sizeof(h))
		return false;
	copy(r, r->tail, &h, sizeof(h));
	if (h.size < sizeof(h) + sizeof(*time_ns) || h.size > head - r->tail) {
		r->tail = head; /* not of the kernel */
		__atomic_store_n(&r->head->data_tail, r->tail, __ATOMIC_RELEASE);
		return false;
	}
	copy(r, r->tail + h.size - sizeof(*time_ns), time_ns, sizeof(*time_ns));
	return true;
}

/* Finds the ring with the earliest event. Returns NULL if all are empty. */
static struct ring *find_earliest(struct bpf_mappings *m)
{
	struct ring *first = NULL;
	uint64_t ns;

	m->looked_ns = espy_now_ns(); /* before the look: an event of that moment may come behind it */
	m->earliest_ns = UINT64_MAX;
	for (size_t i = 0; i < m->ring_cnt; i++)
		if (peek(&m->rings[i], &ns) && ns < m->earliest_ns) {
			first = &m->rings[i];
			m->earliest_ns = ns;
		}
	return first;
}

/*
 * Records come in batches that are older than the last look at the rings: one look serves them all. The kernel writes
 * the event of a mapping before any task can use it, so a look behind that use does not miss it.
 */
void bpf_mappings__until(struct bpf_mappings *m, uint64_t time_ns)
{
	struct perf_event_header h;
	struct ring *first;

	if (!m || (time_ns < m->looked_ns && time_ns < m->earliest_ns))
		return;
	while ((first = find_earliest(m)) && m->earliest_ns <= time_ns) {
		copy(first, first->tail, &h, sizeof(h));
		copy(first, first->tail, m->event, h.size);
		first->tail += h.size;
		__atomic_store_n(&first->head->data_tail, first->tail, __ATOMIC_RELEASE);
		on_event(m, (const struct perf_event_header *)m->event);
	}
}

static bool open_ring(struct ring *r, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* nobody waits for them */
		.wakeup_watermark = UINT32_MAX,
	};

	r->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return false;
	r->head = mmap(NULL, ring_size() + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (r->head == MAP_FAILED) {
		close(r->fd);
		return false;
	}
	return true;
}

struct bpf_mappings *bpf_mappings__open(void)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct bpf_mappings *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->rings = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*m->rings));
	/* A CPU that is off has none. */
	for (int cpu = 0; m->rings && cpu < cpus; cpu++)
		m->ring_cnt += open_ring(&m->rings[m->ring_cnt], cpu);
	if (m->ring_cnt)
		return m;
	bpf_mappings__free(m);
	return NULL;
}

void bpf_mappings__free(struct bpf_mappings *m)
{
	struct process *p, *next;

	if (!m)
		return;
	for (size_t i = 0; i < m->ring_cnt; i++) {
		munmap(m->rings[i].head, ring_size() + (size_t)sysconf(_SC_PAGESIZE));
		close(m->rings[i].fd);
	}
	HASH_ITER(hh, m->by_tgid, p, next)
	drop(m, p);
	forget_layouts(m);
	free(m->rings);
	free(m);
}

/* ---- as text */

uint32_t bpf_mappings__version(struct bpf_mappings *m, pid_t tgid)
{
	const struct process *p = find(m, tgid);

	return p ? p->version : 0;
}

/*
 * Finds where the file of a mapping would begin in memory. Its program headers say that; without them it is taken to
 * lie in memory as it does in the file.
 */
static uint64_t find_begin(const struct mapping *at)
{
	uint64_t first = UINT64_MAX, vaddr = 0;
	bool found = false;
	struct espy_elf e;

	if (!at->offset)
		return at->start;
	if (espy_elf__open_path(&e, at->path))
		return at->start - at->offset;
	for (size_t i = 0; i < e.segment_cnt; i++) {
		const struct espy_elf_segment *s = &e.segments[i];

		if (s->type != PT_LOAD)
			continue;
		if (first == UINT64_MAX)
			first = s->vaddr & PAGE_MASK;
		if (s->flags & PF_X && (s->offset & PAGE_MASK) == at->offset) {
			vaddr = s->vaddr & PAGE_MASK;
			found = true;
		}
	}
	espy_elf__close(&e);
	return found ? at->start - (vaddr - first) : at->start - at->offset;
}

/* Returns the same. The file is read once for all processes, because they have the same few libraries. */
static uint64_t begin_of_file(struct bpf_mappings *m, const struct mapping *at)
{
	const struct file_part part = {
		.ino = at->ino, .offset = at->offset, .major = at->major, .minor = at->minor
	};
	struct layout *l;

	HASH_FIND(hh, m->layouts, &part, sizeof(part), l);
	if (l)
		return at->start - l->distance;
	const uint64_t begin = find_begin(at);

	if (HASH_COUNT(m->layouts) >= LAYOUTS_MAX)
		forget_layouts(m);
	l = malloc(sizeof(*l));
	if (l) {
		*l = (struct layout){ .of = part, .distance = at->start - begin };
		HASH_ADD(hh, m->layouts, of, sizeof(l->of), l);
	}
	return begin;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

char *bpf_mappings__text(struct bpf_mappings *m, pid_t tgid)
{
	struct process *p = find(m, tgid);
	char *text = NULL;
	size_t size = 0;
	FILE *f = p ? open_memstream(&text, &size) : NULL;

	if (!f)
		return NULL;
	qsort(p->mappings, p->cnt, sizeof(*p->mappings), by_start);
	for (size_t i = 0; i < p->cnt; i++) {
		const struct mapping *at = &p->mappings[i];

		fprintf(f, "%llx-%llx r-xp 00000000 %02x:%02x %llu %s\n", (unsigned long long)begin_of_file(m, at),
			(unsigned long long)at->end, at->major, at->minor, (unsigned long long)at->ino, at->path);
	}
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
