/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which tasks there are, when each was last heard of, and which of them sit in a call for long. A call is recorded at
 * its exit; the one that a program hangs in is seen by looking, from outside and seldom, at /proc/TID/syscall. A process of its own
 * does that (look.c): the reader waits for no task.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "bpf_source.h"
#include "source/bpf/hold/pause.h"
#include "source/bpf/look.h"

#define SCAN_EVERY_MS 100 /* at most */
#define ALL_NS 2000000000ull /* for a snapshot */
#define HANG_RECORD_MAX (64u * 1024u)

/* bpf_task.shown */
enum { SHOWN_NOT, SHOWN_YES, SHOWN_ASKED };

/*
 * Makes a table of zeros, of which only those that are touched take memory. calloc() fills memory that the process has
 * used before, and a table of all task numbers has 48 MB.
 */
int bpf_tasks__init(struct bpf_tasks *t, size_t limit)
{
	memset(t, 0, sizeof(*t));
	t->by_tid = mmap(NULL, limit * sizeof(*t->by_tid), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (t->by_tid == MAP_FAILED) {
		t->by_tid = NULL;
		return -ENOMEM;
	}
	t->limit = limit;
	return 0;
}

void bpf_tasks__free(struct bpf_tasks *t)
{
	free(t->tids);
	if (t->by_tid)
		munmap(t->by_tid, t->limit * sizeof(*t->by_tid));
	free(t->record);
	bpf_look__free(t->look);
	memset(t, 0, sizeof(*t));
}

void bpf_tasks__add(struct bpf_tasks *t, uint32_t tid, uint32_t now_ms)
{
	if (tid >= t->limit)
		return;
	bpf_tasks__hear(t, tid, now_ms);
	if (t->by_tid[tid].place)
		return;
	if (!espy_array__grow(t->tids, t->cnt, t->cap))
		return; /* it is not looked at when it hangs; nothing else depends on the list */
	t->tids[t->cnt++] = tid;
	t->by_tid[tid].place = (uint32_t)t->cnt;
}

void bpf_tasks__remove(struct bpf_tasks *t, uint32_t tid)
{
	uint32_t place = tid < t->limit ? t->by_tid[tid].place : 0, last;

	if (!place)
		return;
	last = t->tids[--t->cnt];
	t->tids[place - 1] = last;
	t->by_tid[last].place = place;
	t->by_tid[tid].place = 0;
}

/* Forgets the shown calls, and the time of the last look. */
static void forget_shown(struct bpf_tasks *t)
{
	for (size_t i = 0; i < t->cnt; i++)
		t->by_tid[t->tids[i]].shown = SHOWN_NOT;
	t->last_scan_ms = 0;
}

/*
 * Tells by the place of its stack whether the task runs a 32-bit program. That needs no lock of the task, its memory
 * or its files, which may wait for ever. Returns false if the kernel does not tell the place.
 */
bool bpf_task_is_32bit(uint32_t tid)
{
	struct espy_proc_stat stat;

	return espy_read_proc_stat((pid_t)tid, &stat) && stat.start_stack > 1 && stat.start_stack < 1ull << 32;
}

/* Takes the answers to the last question: shows them, or asks again later. */
static int take_answers(struct bpf_source *s, bpf_ring_fn deliver, void *ctx, int *stop)
{
	struct bpf_tasks *t = &s->tasks;
	size_t n = t->answer_cnt;
	int cnt = 0;

	t->answer_cnt = 0;
	for (size_t i = 0; i < n && !*stop; i++) {
		const struct bpf_looked *at = &t->answers[i];
		uint32_t state = __atomic_load_n(&at->state, __ATOMIC_ACQUIRE), size = at->size;
		const void *rec = bpf_look__record(t->look, at);
		struct bpf_task *task = &t->by_tid[at->tid];

		/*
		 * No record of it had come when it was answered. So the end of this call is not on its way, and the
		 * answer is of this call.
		 */
		if (!task->place || task->shown != SHOWN_ASKED)
			continue;
		task->shown = SHOWN_NOT;
		if (state == BPF_LOOK_NO_CALL || state == BPF_LOOK_ASKED)
			continue;
		if (state == BPF_LOOK_REGS) {
			rec = t->record;
			if (bpf_look__bare_record(t->look, at, t->record, HANG_RECORD_MAX, &size))
				continue;
		}
		task->shown = SHOWN_YES; /* not to be asked for again until it is heard of */
		if (state == BPF_LOOK_UNWANTED)
			continue;
		s->stats.hangs++;
		cnt++;
		*stop = deliver(ctx, rec, size);
	}
	return cnt;
}

/* Returns when the task's last call began; 0: not known. It began before the watching, or times are not wanted. */
static uint64_t began_at(const struct bpf_source *s, uint32_t tid)
{
	struct espy_bpf_enter enter = { 0 };

	if (!s->opts.needs.enter_ns || bpf_map_lookup_elem(s->enters_fd, &tid, &enter))
		return 0;
	return enter.ns;
}

/* Chooses the next tasks that have been silent for long. Returns their number. */
static size_t choose(struct bpf_source *s, uint64_t now_ms, struct bpf_look_at *tasks)
{
	struct bpf_tasks *t = &s->tasks;
	size_t n = 0;

	for (size_t i = 0; i < t->cnt && n < BPF_LOOK_TASKS; i++) {
		uint32_t tid = t->tids[t->next_scan++ % t->cnt];
		struct bpf_task *task = &t->by_tid[tid];

		if (task->shown == SHOWN_YES || (uint32_t)now_ms - task->heard_ms < s->opts.hang_ms)
			continue;
		/* It sits in a call that has ended: we hold it there. */
		if (bpf_pause__holds(s, tid))
			task->heard_ms = (uint32_t)now_ms;
		else
			tasks[n++] = (struct bpf_look_at){ tid, began_at(s, tid) };
	}
	return n;
}

static bool make_look(struct bpf_source *s)
{
	const struct espy_call_set *sets[ESPY_ABI_CNT];
	struct bpf_tasks *t = &s->tasks;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		sets[abi] = s->set[abi] ? &s->sets[abi] : NULL;
	if (!t->look)
		t->look = bpf_look__new(sets, s->opts.needs.times, s->opts.needs.ip);
	if (!t->record)
		t->record = malloc(HANG_RECORD_MAX);
	return t->look && t->record;
}

bool bpf_tasks__asked(const struct bpf_tasks *t)
{
	return t->answer_cnt || (t->look && bpf_look__is_asked(t->look));
}

int bpf_tasks__scan(struct bpf_source *s, uint64_t now_ns, bpf_ring_fn deliver, void *ctx, int *stop)
{
	struct bpf_tasks *t = &s->tasks;
	uint64_t now_ms = now_ns / 1000000;
	struct bpf_look_at tasks[BPF_LOOK_TASKS];
	size_t n;

	if (!s->opts.hang_ms)
		return 0;
	if (t->look && bpf_look__is_asked(t->look)) {
		/* In this order: a call that ended before the look has its record before the mark. */
		t->answer_cnt = bpf_look__answers(t->look, now_ns, &t->answers);
		bpf_source_mark(s);
	}
	if (t->answer_cnt)
		return bpf_source_read_to_mark(s) ? take_answers(s, deliver, ctx, stop) : 0;
	if (bpf_tasks__asked(t) || now_ms - t->last_scan_ms < SCAN_EVERY_MS || !make_look(s))
		return 0;
	t->last_scan_ms = now_ms;
	n = choose(s, now_ms, tasks);
	if (!n || bpf_look__ask(t->look, tasks, n, now_ns))
		return 0;
	__atomic_store_n(&s->shared->own_tgid[ESPY_OWN_LOOK], bpf_look__pid(t->look), __ATOMIC_RELAXED);
	for (size_t i = 0; i < n; i++)
		t->by_tid[tasks[i].tid].shown = SHOWN_ASKED;
	return 0;
}

int bpf_tasks__scan_all(struct bpf_source *s, bpf_ring_fn deliver, void *ctx, int *stop)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t start = espy_now_ns();
	int cnt = 0;

	forget_shown(&s->tasks);
	do {
		cnt += bpf_tasks__scan(s, espy_now_ns(), deliver, ctx, stop);
		nanosleep(&nap, NULL);
	} while (!*stop && bpf_tasks__asked(&s->tasks) && espy_now_ns() - start < ALL_NS);
	return cnt;
}
