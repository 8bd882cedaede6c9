/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records of the ptrace source: made here, handed to the caller of poll, or queued while no poll runs. */
#include "ptrace_source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/proc_pid.h"
#include "record/call_record.h"
#include "source/more_out.h"

const struct espy_call_set *espy_ptrace__set(const struct espy_ptrace *p, enum espy_abi abi)
{
	return p->has_set[abi] ? &p->sets[abi] : NULL;
}

static int enqueue(struct espy_ptrace *p, const struct espy_rec *rec)
{
	if (p->queue_off == p->queue_sz)
		p->queue_off = p->queue_sz = 0;
	if (!espy_array__room(&p->queue, p->queue_sz, &p->queue_cap, 1, rec->size))
		return -ENOMEM;
	memcpy(p->queue + p->queue_sz, rec, rec->size);
	p->queue_sz += rec->size;
	return 0;
}

static void deliver(struct espy_ptrace *p, const struct espy_rec *rec)
{
	p->delivered++;
	p->fn_result = p->fn(p->fn_ctx, rec);
}

void espy_ptrace__emit(struct espy_ptrace *p, const struct espy_rec *rec)
{
	p->stats.records++;
	p->stats.bytes += rec->size;
	/* Queued records came first. */
	if (p->fn && !p->fn_result && p->queue_off == p->queue_sz)
		deliver(p, rec);
	else if (enqueue(p, rec))
		p->stats.lost[ESPY_LOST_NO_SLOT]++;
}

void espy_ptrace__drain_queue(struct espy_ptrace *p)
{
	while (!p->fn_result && p->queue_off < p->queue_sz) {
		const struct espy_rec *in_queue = (const void *)(p->queue + p->queue_off);

		p->queue_off += in_queue->size;
		/* The receiver may add to the queue (it lets go of a task, say), which may move it. */
		memcpy(p->scratch, in_queue, in_queue->size);
		deliver(p, (const void *)p->scratch);
	}
}

static struct espy_rec head(const struct espy_ptrace *p, const struct espy_ptask *t, enum espy_rec_type type,
			    size_t size)
{
	return (struct espy_rec){ .size = (uint32_t)size,
				  .type = (uint8_t)type,
				  .tid = (uint32_t)t->tid,
				  .tgid = t->tgid > 0 ? (uint32_t)t->tgid : 0,
				  .time_ns = p->now_ns };
}

static struct espy_rec_out scratch(struct espy_ptrace *p)
{
	return (struct espy_rec_out){ .data = p->scratch, .max = ESPY_REC_MAX };
}

static void emit_more(void *ctx, const struct espy_rec *rec)
{
	espy_ptrace__emit(ctx, rec);
}

/* Lets `out` send what finds no room in it, if the session wants so much of buffers. *more must live as long. */
static void allow_more(struct espy_ptrace *p, const struct espy_ptask *t, struct espy_rec_out *out,
		       struct espy_more_out *more)
{
	*more = (struct espy_more_out){ .emit = emit_more,
					.ctx = p,
					.most = p->opts.most_data,
					.tid = t->regs.tid,
					.tgid = t->regs.tgid,
					.time_ns = p->now_ns };
	if (!more->most)
		return;
	if (!p->piece)
		p->piece = malloc(sizeof(*p->piece) + ESPY_MORE_PIECE);
	more->piece = p->piece;
	out->more = more->piece ? more : NULL;
}

static bool keep_enter(struct espy_ptask *t, const struct espy_rec *rec)
{
	/* Buffers grow to the size that the task's calls need; a huge one is not kept for ever. */
	if (t->enter_cap < rec->size || (t->enter_cap > 16384 && rec->size < 4096)) {
		size_t cap = rec->size < 512 ? 512 : rec->size;
		unsigned char *mem = realloc(t->enter, cap);

		if (!mem)
			return false;
		t->enter = mem;
		t->enter_cap = cap;
	}
	memcpy(t->enter, rec, rec->size);
	return true;
}

/* Sends an ENTER record, at an entry stop with t->regs filled. */
void espy_ptrace__emit_enter(struct espy_ptrace *p, struct espy_ptask *t)
{
	struct espy_rec_out out = scratch(p);
	struct espy_mem mem = { .read = espy_task_mem__read, .ctx = &t->mem };
	const struct espy_rec *rec = (const void *)p->scratch;

	struct espy_more_out more;

	t->has_enter = false;
	if (!t->starting)
		allow_more(p, t, &out, &more);
	if (espy_plan_run__enter(&out, espy_ptrace__set(p, t->regs.abi), &t->regs, &mem))
		return;
	t->has_enter = keep_enter(t, rec);
	if (!t->starting)
		espy_ptrace__emit(p, rec);
}

void espy_ptrace__emit_held_enter(struct espy_ptrace *p, struct espy_ptask *t)
{
	if (t->has_enter)
		espy_ptrace__emit(p, (const void *)t->enter);
}

static void emit_fdname(struct espy_ptrace *p, const struct espy_ptask *t, int fd)
{
	struct {
		struct espy_rec_fdname f;
		char name[PATH_MAX + 8];
	} rec;
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)espy_proc_pid(t->tid), fd);
	n = readlink(path, rec.name, PATH_MAX);
	if (n < 0)
		return;
	memset(rec.name + n, 0, 8);
	rec.f = (struct espy_rec_fdname){ .fd = fd, .name_sz = (uint32_t)n + 1 };
	rec.f.rec = head(p, t, ESPY_REC_FDNAME, sizeof(rec.f) + espy_pad8((uint64_t)n + 1));
	espy_ptrace__emit(p, &rec.f.rec);
}

/*
 * Sends the names of the descriptors that a call has made: its result, and descriptors that it wrote to memory (pipe,
 * socketpair). The task stands still, so /proc tells the truth.
 */
static void emit_fdnames(struct espy_ptrace *p, const struct espy_ptask *t, const struct espy_rec *exit)
{
	const struct espy_call_set *set = espy_ptrace__set(p, t->regs.abi);
	const struct espy_image *img = set ? set->image : NULL;
	const struct espy_plan *plan;
	const struct espy_item *items, *it;
	int fds[16];
	unsigned fd_cnt = 0, i;
	uint32_t idx;
	size_t sz;

	if (!img || t->regs.nr >= img->syscall_cnt || espy_ret_is_error(t->regs.ret))
		return;
	if (espy_image__select(img, t->regs.nr, t->regs.args, &idx) == ESPY_NONE || idx >= img->plan_cnt)
		return;
	plan = &img->plans[idx];
	if (plan->flags & ESPY_PLAN_RET_FD && t->regs.ret <= INT_MAX)
		fds[fd_cnt++] = (int)t->regs.ret;
	items = espy_rec__items(exit, &sz);
	for (it = espy_item__first(items, sz); it; it = espy_item__next(it, items, sz)) {
		uint32_t off;

		if (!(it->status & ESPY_ITEM_AT_EXIT) || it->op >= plan->op_cnt ||
		    !(set->ops[plan->first_op + it->op].holds & ESPY_HOLDS_FDS))
			continue;
		for (off = 0; off + sizeof(int) <= it->len && fd_cnt < sizeof(fds) / sizeof(fds[0]); off += sizeof(int))
			memcpy(&fds[fd_cnt++], (const unsigned char *)(it + 1) + off, sizeof(int));
	}
	for (i = 0; i < fd_cnt; i++)
		emit_fdname(p, t, fds[i]);
}

uint64_t espy_ptrace__cpu_ns(const struct espy_ptask *t)
{
	struct timespec now = { 0 };
	clockid_t clock;

	return clock_getcpuclockid(t->tgid, &clock) || clock_gettime(clock, &now)
		       ? 0
		       : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Sends an EXIT record. alive: the task stands at the end of its call; else it will not return from it. */
void espy_ptrace__emit_exit(struct espy_ptrace *p, struct espy_ptask *t, bool alive)
{
	struct espy_rec_out out = scratch(p);
	struct espy_mem mem = { .read = espy_task_mem__read, .ctx = &t->mem };
	const struct espy_rec *enter = t->has_enter ? (const void *)t->enter : NULL;
	struct espy_more_out more;

	allow_more(p, t, &out, &more);
	t->regs.no_return = !alive;
	t->regs.changed = t->tamper_flags;
	t->regs.time_ns = p->now_ns;
	if (t->regs.has_cpu)
		t->regs.cpu_ns = espy_ptrace__cpu_ns(t) - t->regs.cpu_ns;
	if (espy_plan_run__exit(&out, espy_ptrace__set(p, t->regs.abi), &t->regs, enter, alive ? &mem : NULL))
		return;
	if (p->opts.needs.fds && alive)
		emit_fdnames(p, t, (const void *)p->scratch);
	espy_ptrace__emit(p, (const void *)p->scratch);
}

void espy_ptrace__emit_fork(struct espy_ptrace *p, const struct espy_ptask *parent, pid_t tid, pid_t tgid,
			    uint64_t flags)
{
	struct espy_rec_fork rec = { .rec = head(p, parent, ESPY_REC_FORK, sizeof(rec)),
				     .child_tid = (uint32_t)tid,
				     .child_tgid = (uint32_t)tgid,
				     .clone_flags = flags };

	espy_ptrace__emit(p, &rec.rec);
}

void espy_ptrace__emit_exec(struct espy_ptrace *p, const struct espy_ptask *t, pid_t old_tid)
{
	struct {
		struct espy_rec_exec e;
		char name[PATH_MAX + 8];
	} rec;
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)espy_proc_pid(t->tid));
	n = readlink(path, rec.name, PATH_MAX);
	if (n < 0)
		n = 0;
	memset(rec.name + n, 0, 8);
	rec.e = (struct espy_rec_exec){ .old_tid = old_tid != t->tid ? (uint32_t)old_tid : 0,
					.filename_sz = (uint32_t)n + 1 };
	rec.e.rec = head(p, t, ESPY_REC_EXEC, sizeof(rec.e) + espy_pad8((uint64_t)n + 1));
	espy_ptrace__emit(p, &rec.e.rec);
}

void espy_ptrace__emit_task_exit(struct espy_ptrace *p, const struct espy_ptask *t, int status)
{
	struct espy_rec_task_exit rec = { .rec = head(p, t, ESPY_REC_TASK_EXIT, sizeof(rec)),
					  .status = (uint32_t)status,
					  /* the kernel tells of a leader's end when all its threads have gone */
					  .group_dead = t->tid == t->tgid };

	espy_ptrace__emit(p, &rec.rec);
}

/* Returns where a stopped task is in its program; 0: not known. */
static uint64_t ip_of(const struct espy_ptask *t)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, (void *)sizeof(info), &info) > 0 ? info.instruction_pointer : 0;
}

void espy_ptrace__emit_signal(struct espy_ptrace *p, const struct espy_ptask *t, int sig)
{
	struct espy_rec_signal rec = { .rec = head(p, t, ESPY_REC_SIGNAL, sizeof(rec)) };
	siginfo_t info;

	rec.rec.nr = (uint16_t)sig;
	if (!ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info)) {
		memcpy(rec.info, &info, sizeof(rec.info));
		rec.info_sz = sizeof(rec.info);
	}
	if (p->opts.needs.ip)
		rec.ip = ip_of(t);
	espy_ptrace__emit(p, &rec.rec);
}

void espy_ptrace__emit_bare(struct espy_ptrace *p, const struct espy_ptask *t, enum espy_rec_type type, int nr)
{
	struct espy_rec rec = head(p, t, type, sizeof(rec));

	rec.nr = (uint16_t)nr;
	espy_ptrace__emit(p, &rec);
}
