/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps, configuration and the small helpers that every program uses: which tasks are watched, how a record begins. */
#ifndef ESPY_MAPS_BPF_H
#define ESPY_MAPS_BPF_H

#define ESPY_BPF 1
#include "types.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "shared.h"

#define SEC_CONF SEC(".rodata.conf")

const volatile struct espy_bpf_conf conf SEC_CONF;
struct espy_bpf_shared shared;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} espy_ring SEC(".maps");

/* For births, execs and deaths that find no room in the ring: the reader's tables hang on them. See TASK_RESERVE. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ESPY_BPF_TASK_RING);
} espy_task_ring SEC(".maps");

#ifndef ESPY_OWN_RINGS
/* The spare ring, which user space makes when the first is half full; until then shared.spare is 0. See SPARE_RESERVE. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_RINGBUF);
		__uint(max_entries, 4096);
	});
} espy_spare SEC(".maps");
#else
/* The chunks of all rings; sized by user space. espy_ring only wakes the reader then. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, 4);
	__uint(value_size, ESPY_BPF_CHUNK_MAX + ESPY_BPF_CHUNK_SLACK);
} espy_chunks SEC(".maps");
#endif

#define ESPY_ARRAY(name, value_type, flags)                  \
	struct {                                             \
		__uint(type, BPF_MAP_TYPE_ARRAY);            \
		__uint(max_entries, 1);                      \
		__uint(map_flags, flags);                    \
		__type(key, u32);                            \
		__type(value, value_type);                   \
	} name SEC(".maps")

/* Sized and filled by user space before the programs run. */
ESPY_ARRAY(espy_calls, struct espy_bpf_call, BPF_F_MMAPABLE);
ESPY_ARRAY(espy_plans, struct espy_bpf_plan, BPF_F_MMAPABLE);
ESPY_ARRAY(espy_ops, struct espy_bpf_op, BPF_F_MMAPABLE);
ESPY_ARRAY(espy_variants, struct espy_bpf_variant, BPF_F_MMAPABLE);
ESPY_ARRAY(espy_enters, struct espy_bpf_enter, 0);
ESPY_ARRAY(espy_scratch, struct espy_bpf_scratch, 0);
ESPY_ARRAY(espy_marks, struct espy_bpf_marks, BPF_F_MMAPABLE);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct espy_bpf_count);
} espy_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct espy_bpf_slot_small);
} espy_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct espy_bpf_slot_big);
} espy_big_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* tasks that are dying of a signal at the same time */
	__type(key, u32);
	__type(value, struct espy_bpf_fatal);
} espy_fatals SEC(".maps");

/*
 * The verifier of 6.1 forgets bounds that the compiler has derived in another register: this clamps the very
 * register that the next helper or access uses. The verifier looks first at the way that does not jump: there the
 * register has any value up to the limit, which covers the limit itself. The other way round it would look at all that
 * follows twice.
 */
#define CLAMP(v, limit) asm volatile("if %0 > %1 goto +1; goto +1; %0 = %1" : "+r"(v) : "i"(limit))
/*
 * The same for a value that is below a power of two anyway: without a branch, of which the verifier would follow both ways.
 */
#define BELOW(v, power) asm volatile("%0 &= %1" : "+r"(v) : "i"((power) - 1))
/* The same with a limit that only the verifier knows to be constant. */
#define CLAMP_TO(v, limit) asm volatile("if %0 > %1 goto +1; goto +1; %0 = %1" : "+r"(v) : "r"(limit))

#define PAGE 4096ull
#define ROUND8(n) (((n) + 7) & ~7ull)

#define MAX_ERRNO 4095
#define IS_ERR_RET(ret) ((u64)(ret) >= (u64)-MAX_ERRNO)

#define SIG_KILL 9

static __always_inline bool pid_bit(u32 pid)
{
	return shared.bits[(pid & (ESPY_BPF_PID_LIMIT - 1)) >> 6] >> (pid & 63) & 1;
}

static __always_inline void pid_set(u32 pid)
{
	u64 bit = 1ull << (pid & 63);

	if (__sync_fetch_and_or(&shared.bits[(pid & (ESPY_BPF_PID_LIMIT - 1)) >> 6], bit) & bit)
		return;
	__sync_fetch_and_add(&shared.live, 1);
	if (conf.hold.room)
		shared.high = espy_bpf_high(conf.hold.room, conf.hold.longest, shared.live);
}

static __always_inline void pid_clear(u32 pid)
{
	u64 bit = 1ull << (pid & 63);

	if (__sync_fetch_and_and(&shared.bits[(pid & (ESPY_BPF_PID_LIMIT - 1)) >> 6], ~bit) & bit)
		__sync_fetch_and_add(&shared.live, -1);
}

/* Any task, by its cgroup: the ancestor at the level of the target is the target. */
static __always_inline bool in_cgroup(struct task_struct *task)
{
	struct cgroup *own = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	u32 level = conf.cgroup.level;

	if (BPF_CORE_READ(own, level) < (int)level)
		return false;
	if (bpf_core_field_exists(struct cgroup___ptrs, ancestors)) {
		struct cgroup *at = NULL;
		void *base = (void *)own + bpf_core_field_offset(struct cgroup___ptrs, ancestors);

		bpf_probe_read_kernel(&at, sizeof(at), base + level * sizeof(at));
		return BPF_CORE_READ(at, kn, id) == conf.cgroup.id;
	} else {
		u64 id = 0;
		void *base = (void *)own + bpf_core_field_offset(struct cgroup___ids, ancestor_ids);

		bpf_probe_read_kernel(&id, sizeof(id), base + level * sizeof(id));
		return id == conf.cgroup.id;
	}
}

/* espy itself, the processes that work for it, and those that the user wants to be left out. */
static __always_inline bool is_ours(u32 tgid)
{
	/* The verifier knows that there is none, where there is none, and drops the loop. */
	for (u32 i = 0; conf.without_cnt && i < ESPY_BPF_WITHOUT; i++)
		if (tgid == conf.without[i])
			return true;
	return tgid == conf.self_tgid || tgid == shared.own_tgid[ESPY_OWN_HOLD] || tgid == shared.own_tgid[ESPY_OWN_LOOK];
}

static __always_inline bool watched_task(struct task_struct *task)
{
	if (conf.mode == ESPY_BPF_MODE_BITS)
		return pid_bit(task->pid);
	if (is_ours(task->tgid))
		return false;
	return conf.mode != ESPY_BPF_MODE_CGROUP || in_cgroup(task);
}

/* The same for a task of which the verifier knows nothing. */
static __always_inline bool watched_other(struct task_struct *task, u32 tid, u32 tgid)
{
	if (conf.mode == ESPY_BPF_MODE_BITS)
		return pid_bit(tid);
	if (is_ours(tgid))
		return false;
	if (conf.mode == ESPY_BPF_MODE_CGROUP)
		return in_cgroup(task);
	return true;
}

/* The same for the current task, cheaper in a cgroup. */
static __always_inline bool watched_current(struct task_struct *task)
{
	if (conf.mode == ESPY_BPF_MODE_CGROUP)
		return bpf_get_current_ancestor_cgroup_id(conf.cgroup.level) == conf.cgroup.id &&
		       !is_ours(task->tgid);
	return watched_task(task);
}

#define PF_IO_WORKER 0x10 /* a thread that the kernel has made for io_uring in a process */

/* The task that a record of this one names. Threads of io_uring are born and end unseen, so their process stands for
 * them. */
static __always_inline u32 told_tid(struct task_struct *task)
{
	return task->flags & PF_IO_WORKER ? task->tgid : task->pid;
}

/* The present call of a task as a place in espy_calls, taken for a 32-bit one; beyond them: it has none. */
static __always_inline u32 compat_call(struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	u64 nr = call_nr(regs);

	asm volatile("" : "+r"(nr)); /* a load of half a register is more than 6.1 allows */
	nr &= 0xffffffff;
	return nr < ESPY_BPF_NRS ? ESPY_ABI_COMPAT * ESPY_BPF_NRS + nr : ~0u;
}

static __always_inline u8 *mark_of(u32 pid)
{
	u32 page = pid / ESPY_BPF_MARKS;
	struct espy_bpf_marks *marks = bpf_map_lookup_elem(&espy_marks, &page);

	return marks ? &marks->mark[pid % ESPY_BPF_MARKS] : NULL;
}

static __always_inline void say_missed(u32 pid)
{
	if (shared.guarded)
		return; /* missed_calls tells it */
	shared.missed_tid = pid;
	__sync_fetch_and_add(&shared.missed, 1);
}

/*
 * Finds a task that makes 32-bit calls, and notes that some may be missing. The programs of single calls do not see
 * such calls, and the programs of all calls may be detached. Other events of a task call this function.
 */
static __always_inline void look_for_compat(struct task_struct *task)
{
	bool compat = IS_COMPAT(task);
	u8 *mark = conf.guard_compat ? mark_of(task->pid) : NULL;

	if (!mark)
		return;
	if (compat)
		__sync_fetch_and_or(&shared.compat_seen, 1);
	if (*mark != ESPY_MARK_UNWATCHED && !(compat && conf.narrow && shared.handed && !shared.all_back))
		return;
	if (shared.guarded)
		return; /* the mark is of the call that goes on */
	*mark = ESPY_MARK_NONE;
	say_missed(task->pid);
}

static __always_inline u64 now_if(bool wanted)
{
	return wanted ? bpf_ktime_get_ns() : 0;
}

static __always_inline void lose(u32 reason)
{
	__sync_fetch_and_add(&shared.lost[reason & (ESPY_LOST_REASONS - 1)], 1);
#ifdef ESPY_OWN_RINGS
	if (conf.rings.flight)
		__sync_fetch_and_add(&shared.lost_ever[reason & (ESPY_LOST_REASONS - 1)], 1);
#endif
	shared.attention = 1;
}

static __always_inline void head_timed(struct espy_rec *rec, u32 size, u32 type, u32 tid, u32 tgid, u64 time_ns)
{
	*(u32 *)rec = ESPY_REC_FIRST_WORD(size, ESPY_ABI_NATIVE, type);
	rec->flags = 0;
	rec->nr = 0;
	rec->tid = tid;
	rec->tgid = tgid;
	rec->time_ns = time_ns;
}

static __always_inline void head_of(struct espy_rec *rec, u32 size, u32 type, u32 tid, u32 tgid)
{
	head_timed(rec, size, type, tid, tgid, now_if(conf.needs.times));
}

static __always_inline void head(struct espy_rec *rec, u32 size, u32 type, struct task_struct *task)
{
	head_of(rec, size, type, task->pid, task->tgid);
}

#endif
