/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call stacks (-k): registers and bytes of the stack, from which the reader finds the frames. STACK_BYTES, which the
 * object defines before, is how many at most: of calls or of hits.
 */
#ifndef ESPY_STACK_BPF_H
#define ESPY_STACK_BPF_H

#include "out.bpf.h"
#include "returns.bpf.h"

/* The verifier takes any part of a page to be a whole one. */
struct stack_copy {
	struct espy_bpf_stack head;
	u8 bytes[STACK_BYTES + PAGE];
};

/*
 * Copies so many bytes of the stack, page by page. Returns how many. A page that is not there becomes zeros: mostly it
 * is one of a large array that the program has not touched, and frames lie behind it.
 */
__noinline int copy_stack(struct stack_copy *c, u64 sp, u32 wanted)
{
	u32 n = 0;

	if (!c)
		return 0;
	for (u32 i = 0; i < STACK_BYTES / PAGE + 1; i++) {
		u32 chunk = PAGE - ((sp + n) & (PAGE - 1));

		if (n >= wanted || n >= STACK_BYTES)
			break;
		if (chunk > wanted - n)
			chunk = wanted - n;
		CLAMP(chunk, PAGE);
		CLAMP(n, STACK_BYTES - 1);
		bpf_probe_read_user(c->bytes + n, chunk, (void *)(sp + n));
		n += chunk;
	}
	return n;
}

/* Writes the return address of one function over the trampoline that the kernel has put in its place in the task. */
__noinline int restore_return(struct stack_copy *c, u64 off, u64 trampoline, u64 ret)
{
	if (!c || off & 7 || off > STACK_BYTES - 8)
		return 0;
	CLAMP(off, STACK_BYTES - 8);
	/* A function that longjmp has left may have had another value there. */
	if (*(u64 *)(c->bytes + off) == trampoline)
		*(u64 *)(c->bytes + off) = ret;
	return 0;
}

/*
 * Of functions that went on to each other by jumps, the first one has the address in the program: it comes last. A
 * function of its own: the verifier would follow all that comes behind once for each number of turns.
 */
__noinline int restore_returns(struct stack_copy *c, u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct probe_frames *frames = bpf_task_storage_get(&espy_probe_frames, task, NULL, 0);
	u64 trampoline;

	if (!c || !frames || !frames->depth)
		return 0;
	trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	for (u32 i = 0; i < FRAMES; i++) {
		u64 at = frames->depth - 1 - i;

		if (at >= FRAMES)
			break;
		CLAMP(at, FRAMES - 1);
		restore_return(c, frames->v[at].sp - sp, trampoline, frames->v[at].ret);
	}
	return 0;
}

#define STACK_LONGEST (64u << 20) /* an end that is farther away is not this stack's */
#define STACK_UNKNOWN 16384u	  /* bytes of a stack whose end is not known: a coroutine's */

/* Returns how many bytes of the stack there are, from sp on: up to the environment, or the thread's own memory. */
static __always_inline u64 stack_size(struct task_struct *task, u64 sp)
{
	const u64 main = BPF_CORE_READ(task, mm, start_stack) - sp, thread = THREAD_POINTER(task) - sp;
	const u64 n = main < thread ? main : thread;

	if (n > STACK_LONGEST)
		return STACK_UNKNOWN;
	return n < STACK_BYTES ? n : STACK_BYTES;
}

/* Sends the stack that belongs to the record that comes next. If there is no room, that stays without one, and it is
 * said. */
static __always_inline void send_stack(struct task_struct *task, struct stack_copy *c, const struct pt_regs *regs,
				       u8 flags)
{
	const u64 sp = regs->sp, size = stack_size(task, sp);
	u64 n;

	bpf_probe_read_kernel(c->head.regs, sizeof(c->head.regs), regs);
	n = (u32)copy_stack(c, sp, size);
	CLAMP(n, STACK_BYTES);
	restore_returns(c, sp);
	head_timed(&c->head.rec, sizeof(c->head) + ROUND8(n), ESPY_BPF_REC_STACK, task->pid, task->tgid,
		   time_before_copy());
	c->head.rec.flags = flags | (n == STACK_BYTES || n == STACK_UNKNOWN ? ESPY_BPF_STACK_CUT : 0);
	c->head.size = n;
	if (!out_copy(&c->head.rec, sizeof(c->head) + ROUND8(n)))
		not_an_event();
	else
		lose(ESPY_LOST_RING_FULL);
}

#endif
