/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which tasks there are, when each was last heard of, and which of them sit in a call for long. A call is recorded at
 * its exit; the one that a program hangs in is seen by looking, from outside and seldom, at /proc/TID/syscall.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "source/plan_run.h"
#include "bpf_source.h"
#include "pause.h"

#define SCAN_EVERY_MS 100 /* at most */
#define SCAN_TASKS 64     /* files read in one scan */
#define HANG_RECORD_MAX (64u * 1024u)

int bpf_tasks__init(struct bpf_tasks *t, size_t limit)
{
	memset(t, 0, sizeof(*t));
	t->place = calloc(limit, sizeof(*t->place));
	t->heard_ms = calloc(limit, sizeof(*t->heard_ms));
	t->shown = calloc(limit, sizeof(*t->shown));
	if (!t->place || !t->heard_ms || !t->shown) {
		bpf_tasks__free(t);
		return -ENOMEM;
	}
	t->limit = limit;
	return 0;
}

void bpf_tasks__free(struct bpf_tasks *t)
{
	free(t->tids);
	free(t->place);
	free(t->heard_ms);
	free(t->shown);
	free(t->record);
	memset(t, 0, sizeof(*t));
}

void bpf_tasks__add(struct bpf_tasks *t, uint32_t tid, uint32_t now_ms)
{
	if (tid >= t->limit)
		return;
	t->heard_ms[tid] = now_ms;
	t->shown[tid] = 0;
	if (t->place[tid])
		return;
	if (t->cnt == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 256;
		uint32_t *tids = realloc(t->tids, cap * sizeof(*tids));

		if (!tids)
			return; /* it is not looked at when it hangs; nothing else depends on the list */
		t->tids = tids;
		t->cap = cap;
	}
	t->tids[t->cnt++] = tid;
	t->place[tid] = (uint32_t)t->cnt;
}

void bpf_tasks__remove(struct bpf_tasks *t, uint32_t tid)
{
	uint32_t place = tid < t->limit ? t->place[tid] : 0, last;

	if (!place)
		return;
	last = t->tids[--t->cnt];
	t->tids[place - 1] = last;
	t->place[last] = place;
	t->place[tid] = 0;
}

void bpf_tasks__forget_shown(struct bpf_tasks *t)
{
	for (size_t i = 0; i < t->cnt; i++)
		t->shown[t->tids[i]] = 0;
	t->last_scan_ms = 0;
}

static ssize_t read_proc(uint32_t tid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/%s", tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	buf[n] = '\0';
	return n;
}

bool bpf_task_is_32bit(uint32_t tid)
{
	char elf[8];

	return read_proc(tid, "exe", elf, 6) == 5 && elf[4] == 1 /* ELFCLASS32 */;
}

/* The call that a task sleeps in. Returns false if it sleeps in none. */
static bool current_call(uint32_t tid, struct espy_call_regs *regs)
{
	char text[256];
	long long nr;
	unsigned long long a[6], sp, ip;

	/* "running", or number, arguments, stack pointer and instruction pointer */
	if (read_proc(tid, "syscall", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%lld %llx %llx %llx %llx %llx %llx %llx %llx", &nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5],
		   &sp, &ip) != 9 || nr < 0)
		return false;
	*regs = (struct espy_call_regs){ .abi = ESPY_ABI_X86_64, .nr = (uint32_t)nr, .sp = sp, .ip = ip, .tid = tid };
	if (nr & 0x40000000) {
		regs->abi = ESPY_ABI_X32;
		regs->nr &= ~0x40000000u;
	} else if (bpf_task_is_32bit(tid)) {
		regs->abi = ESPY_ABI_I386;
	}
	for (int i = 0; i < 6; i++)
		regs->args[i] = a[i];
	return true;
}

int bpf_tasks__scan(struct bpf_source *s, uint64_t now_ns, bpf_ring_fn deliver, void *ctx, int *stop)
{
	struct bpf_tasks *t = &s->tasks;
	uint64_t now_ms = now_ns / 1000000;
	unsigned reads = 0;
	int cnt = 0;

	if (!s->opts.hang_ms || now_ms - t->last_scan_ms < SCAN_EVERY_MS)
		return 0;
	t->last_scan_ms = now_ms;
	if (!t->record)
		t->record = malloc(HANG_RECORD_MAX);
	if (!t->record)
		return 0;
	for (size_t i = 0; i < t->cnt && reads < SCAN_TASKS && !*stop; i++) {
		uint32_t tid = t->tids[t->next_scan++ % t->cnt];
		struct espy_rec_out out = { .data = t->record, .max = HANG_RECORD_MAX };
		struct espy_task_mem task_mem;
		struct espy_mem mem = { .read = espy_task_mem__read, .ctx = &task_mem };
		const struct espy_call_set *set;
		struct espy_call_regs regs;
		int err;

		if (t->shown[tid] || (uint32_t)now_ms - t->heard_ms[tid] < s->opts.hang_ms)
			continue;
		/* It sits in a call that has ended: we hold it there. */
		if (bpf_pause__holds(s, tid)) {
			t->heard_ms[tid] = (uint32_t)now_ms;
			continue;
		}
		reads++;
		if (!current_call(tid, &regs))
			continue;
		set = s->set[regs.abi] ? &s->sets[regs.abi] : NULL;
		if (!espy_call_set__wants(set, regs.nr)) {
			t->shown[tid] = 1; /* not to be asked again until it is heard of */
			continue;
		}
		regs.time_ns = s->opts.need_time ? now_ns : 0;
		if (!s->opts.need_ip)
			regs.ip = 0;
		espy_task_mem__init(&task_mem, (pid_t)tid);
		err = espy_plan_run__enter(&out, set, &regs, &mem);
		espy_task_mem__close(&task_mem);
		/* Nothing has come since: so this call's end is not on its way, and what was read is of this call. */
		if (err || !bpf_source_all_read(s))
			return cnt;
		t->shown[tid] = 1;
		s->stats.hangs++;
		cnt++;
		*stop = deliver(ctx, out.data, out.size);
	}
	return cnt;
}
