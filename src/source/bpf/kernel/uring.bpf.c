// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations of io_uring: what programs submit through the rings, told as calls of an ABI of its own. An object of its
 * own on the maps of the main one, loaded only if a session wants such operations.
 *
 * io_uring_submit_req (io_uring_submit_sqe before Linux 6.4): the kernel has taken an entry of the ring. The task is
 * the one that submits, or the ring's own thread, which has the same memory. What the operation reads is copied: the
 * program may use that memory again as soon as the entry is taken.
 *
 * io_uring_complete: the result is there, and what the operation has written.
 *
 * Between the two a part of the capture waits in espy_operations, found by the address of the kernel's request. An
 * operation that completes several times has requests only for its own end, so its other results come by ring and
 * user_data.
 */
#include "general.bpf.h"
#include "fdmade.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ESPY_BPF_OPERATIONS);
	__type(key, u64);
	__type(value, struct espy_bpf_operation);
} espy_operations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ESPY_BPF_OPERATIONS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct espy_bpf_big_items);
} espy_big_operations SEC(".maps");

struct espy_bpf_ticket {
	u64 ring, user_data;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ESPY_BPF_OPERATIONS);
	__type(key, struct espy_bpf_ticket);
	__type(value, u64);
} espy_tickets SEC(".maps");

/* Where an operation is made before it goes into the table: it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct espy_bpf_operation);
} espy_new_operation SEC(".maps");

#define PF_KTHREAD 0x200000 /* a thread of the kernel's own */
#define SETUP_NO_SQARRAY (1u << 16)
#define SETUP_SQE128 (1u << 10)
#define CQE_F_MORE (1u << 1) /* further results of this operation will come */

/* One of two arguments of a tracepoint. The barrier keeps the compiler from computing its place, which the verifier
 * forbids. */
#define EITHER(second, a, b)                                                                                           \
	({                                                                                                             \
		u64 value;                                                                                             \
		if (second) {                                                                                          \
			value = ctx[b];                                                                                \
			asm volatile("" : "+r"(value));                                                                \
		} else {                                                                                               \
			value = ctx[a];                                                                                \
			asm volatile("" : "+r"(value));                                                                \
		}                                                                                                      \
		value;                                                                                                 \
	})

/* Copies the entry that the kernel has taken last. Its ring is memory that the program may change at any time. */
static __always_inline bool read_entry(struct io_ring_ctx *ring, u64 *words)
{
	const u32 mask = BPF_CORE_READ(ring, sq_entries) - 1, flags = BPF_CORE_READ(ring, flags);
	u32 at = (BPF_CORE_READ(ring, cached_sq_head) - 1) & mask;

	if (!(flags & SETUP_NO_SQARRAY)) {
		u32 *array = BPF_CORE_READ(ring, sq_array), place = 0;

		if (array && !bpf_probe_read_kernel(&place, sizeof(place), array + at))
			at = place & mask;
	}
	if (flags & SETUP_SQE128)
		at *= 2;
	return !bpf_probe_read_kernel(words, ESPY_BPF_SQE_WORDS * 8, BPF_CORE_READ(ring, sq_sqes) + (u64)at * 64);
}

/* Makes the six registers of which the descriptions speak (descriptions/io_uring_ops.espy). */
static __always_inline void take_entry(struct espy_bpf_scratch *s, const u64 *w, bool addr3)
{
	s->cap.ip = s->cap.sp = 0;
	s->cap.args[0] = w[0] >> 32;
	s->cap.args[1] = w[2];
	s->cap.args[2] = w[3] & 0xffffffff;
	s->cap.args[3] = w[1];
	s->cap.args[4] = w[3] >> 32;
	s->cap.args[5] =
		addr3 ? w[6]
		      : (w[0] >> 8 & 0xff) | (w[5] >> 32 & 0xffffff) << 8 | (w[0] >> 16 & 0xffff) << 32 | w[5] << 48;
}

/* Puts the capture of what the operation reads into the tables. */
static __always_inline void keep(struct espy_bpf_scratch *s, struct espy_bpf_operation *op, u64 req)
{
	struct espy_bpf_ticket ticket = { op->ring, op->user_data };
	u64 n = s->cap.used;

	op->again = n > ESPY_BPF_OPERATION_SMALL &&
		    (n > ESPY_BPF_OPERATION_BIG || bpf_map_update_elem(&espy_big_operations, &req, ITEMS(s), 0));
	CLAMP(n, ESPY_BPF_OPERATION_SMALL);
	bpf_probe_read_kernel(op->items, n, ITEMS(s));
	copy_capture(&op->cap, &s->cap);
	if (bpf_map_update_elem(&espy_operations, &req, op, 0))
		lose(ESPY_LOST_NO_SLOT);
	else
		bpf_map_update_elem(&espy_tickets, &ticket, &req, 0);
}

/* Brings the items that were copied at the submission to a place in the scratch. Returns false if they are not there.
 */
static __always_inline bool bring_items(struct espy_bpf_operation *op, u64 req, void *to)
{
	u64 n = op->cap.used;
	struct espy_bpf_big_items *big;

	if (op->again)
		return false;
	if (n <= ESPY_BPF_OPERATION_SMALL) {
		CLAMP(n, ESPY_BPF_OPERATION_SMALL);
		bpf_probe_read_kernel(to, n, op->items);
		return true;
	}
	big = bpf_map_lookup_elem(&espy_big_operations, &req);
	if (!big)
		return false;
	CLAMP(n, ESPY_BPF_OPERATION_BIG);
	bpf_probe_read_kernel(to, n, big->items);
	return true;
}

/* Begins an operation, whose entry of the ring is in `words`. */
static __always_inline void begin_operation(struct task_struct *task, struct io_ring_ctx *ring, u64 req,
					    const u64 *words)
{
	u32 cpu = bpf_get_smp_processor_id(), id = ESPY_ABI_IO_URING * ESPY_BPF_NRS + (words[0] & 0xff), zero = 0;
	struct espy_bpf_operation *op = bpf_map_lookup_elem(&espy_new_operation, &zero);
	struct espy_bpf_call *call = bpf_map_lookup_elem(&espy_calls, &id);
	struct espy_bpf_scratch *s;

	if (!call || !(call->flags & ESPY_CALL_WANTED) || !op)
		return;
	s = scratch_take(cpu);
	if (!s)
		return;
	s->cap.abi = ESPY_ABI_IO_URING;
	s->cap.nr = words[0] & 0xff;
	s->ret = 0;
	s->late = 0;
	take_entry(s, words, call->flags & ESPY_CALL_ADDR3);
	op->nargs = select_plan(cpu) & 7;
	if (!conf.count_only && s->op_cnt)
		run_phase(cpu, 0);
	op->began_ns = bpf_ktime_get_ns();
	op->ring = (u64)ring;
	op->user_data = words[4];
	op->tid = told_tid(task);
	op->tgid = task->tgid;
	keep(s, op, req);
	scratch_give(s);
}

static __always_inline bool submits(struct task_struct *task)
{
	return watched_current(task) || (task->flags & PF_IO_WORKER && watched_other(task, task->tgid, task->tgid));
}

SEC("espy/raw")
int espy_uring_submit(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 req = EITHER(conf.uring.request_second, 0, 1), words[ESPY_BPF_SQE_WORDS];
	struct io_ring_ctx *ring;

	if (!submits(task))
		return 0;
	ring = BPF_CORE_READ((struct io_kiocb *)req, ctx);
	/* The program may have changed the entry since the kernel has taken it. */
	if (read_entry(ring, words) && (words[0] & 0xff) == BPF_CORE_READ((struct io_kiocb *)req, opcode))
		begin_operation(task, ring, req, words);
	return 0;
}

/* io_uring_req_failed(entry, request, error): an entry that makes no operation. Its result comes like any other's. */
SEC("espy/raw")
int espy_uring_refused(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 req = EITHER(conf.uring.refused_third, 1, 2), words[ESPY_BPF_SQE_WORDS];

	if (submits(task) && !bpf_probe_read_kernel(words, sizeof(words), (void *)ctx[0]))
		begin_operation(task, BPF_CORE_READ((struct io_kiocb *)req, ctx), req, words);
	return 0;
}

/* Counts an operation for -c. */
static __always_inline void count_operation(const struct espy_bpf_operation *op, s64 ret)
{
	u32 id = ESPY_ABI_IO_URING * ESPY_BPF_NRS + (op->cap.nr & 0xff);
	struct espy_bpf_count *count = bpf_map_lookup_elem(&espy_counts, &id);

	if (!count)
		return;
	count_result(count, ret);
	/* It takes no time on the CPU of its own that anybody counts. */
	count_time(count, conf.needs.enter_ns ? bpf_ktime_get_ns() - op->began_ns : 0);
}

/* Makes the scratch that of the operation, without items. */
static __always_inline void take_operation(struct espy_bpf_scratch *s, const struct espy_bpf_operation *op, s64 ret,
					   u32 cpu)
{
	for (u32 i = 0; i < ESPY_MAX_ARGS; i++)
		s->cap.args[i] = op->cap.args[i];
	s->cap.nr = op->cap.nr;
	s->cap.abi = op->cap.abi;
	s->cap.ip = s->cap.sp = 0;
	s->ret = ret;
	s->late = 1;
	select_plan(cpu);
}

/* Sends the record of an operation that has a result. */
static __always_inline void tell_operation(struct task_struct *task, struct espy_bpf_operation *op, u64 req, s64 ret)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct espy_bpf_scratch *s = scratch_take(cpu);

	if (!s)
		return;
	if (shared.attention && !say_lost(op->tid, op->tgid)) {
		lose(ESPY_LOST_RING_FULL);
		goto out;
	}
	take_operation(s, op, ret, cpu);
	if (conf.tell_fds && conf.needs.fds && (u32)task->tgid == op->tgid && ret != -EBADF) {
		if (s->fd_args)
			send_args(cpu);
		if (ret >= 0)
			send_made(s, cpu);
		take_operation(s, op, ret, cpu);
	}
	if (op->cap.faults && bring_items(op, req, ITEMS(s) + ESPY_BPF_ITEMS_MAX)) {
		/* What was not there when the operation was submitted is there now: the kernel has brought it. */
		copy_capture(&s->saved, &op->cap);
		s->redo = 0;
		for (u32 k = 0; k < ESPY_PLAN_MAX_OPS; k++)
			mark_redo(cpu, k);
		run_phase(cpu, 0);
	} else if (!op->cap.faults && bring_items(op, req, ITEMS(s))) {
		copy_capture(&s->cap, &op->cap);
	} else {
		run_phase(cpu, 0);
	}
	/* Another process that completes it, by a message say, has other memory. */
	if ((u32)task->tgid == op->tgid && s->op_cnt)
		run_phase(cpu, 1);
	send_record(s, op->tid, op->tgid, op->nargs, 0, op->began_ns, 0);
out:
	scratch_give(s);
}

SEC("espy/raw")
int espy_uring_complete(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct espy_bpf_ticket ticket = { .ring = ctx[0] };
	struct espy_bpf_operation *op;
	u64 req = 0, *known;
	u32 flags;
	s32 ret;

	if (conf.uring.form == ESPY_URING_CQE) {
		struct io_uring_cqe *cqe = (void *)ctx[2];

		req = ctx[1];
		ticket.user_data = BPF_CORE_READ(cqe, user_data);
		ret = BPF_CORE_READ(cqe, res);
		flags = BPF_CORE_READ(cqe, flags);
	} else if (conf.uring.form == ESPY_URING_REQUEST) {
		req = ctx[1];
		ticket.user_data = ctx[2];
		ret = ctx[3];
		flags = ctx[4];
	} else {
		ticket.user_data = ctx[1];
		ret = ctx[2];
		flags = ctx[3];
	}
	if (!req) {
		known = bpf_map_lookup_elem(&espy_tickets, &ticket);
		if (!known)
			return 0;
		req = *known;
	}
	op = bpf_map_lookup_elem(&espy_operations, &req);
	if (!op || op->ring != ticket.ring || op->user_data != ticket.user_data)
		return 0;
	/* A thread of the kernel's ends the operations of processes that are gone. */
	if (!(task->flags & PF_KTHREAD)) {
		if (conf.count_only)
			count_operation(op, ret);
		else
			tell_operation(task, op, req, ret);
	}
	if (!(flags & CQE_F_MORE)) {
		if (op->cap.used > ESPY_BPF_OPERATION_SMALL)
			bpf_map_delete_elem(&espy_big_operations, &req);
		bpf_map_delete_elem(&espy_operations, &req);
		bpf_map_delete_elem(&espy_tickets, &ticket);
	}
	return 0;
}
