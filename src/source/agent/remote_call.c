/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The call is laid out like a signal: before a register is changed, a frame that rt_sigreturn takes is written below
 * the thread's red zone, and every address that our calls return to leads to rt_sigreturn. So a thread whose tracer is
 * killed in the middle finishes the call, goes back to where it was stopped and never knows; only a mapping of some
 * pages stays.
 *
 *      user's stack:   ... | red zone 128 | [sigreturn] frame of the state at the stop
 *      for the call:   [pop %rdi][bell][ret][raise][sigreturn] frame | ... text
 *
 * The call's own part stands on the user's stack as well if the kernel or libc has made that stack for the thread, and
 * it has room. The size of a coroutine's stack is unknown: there the thread maps itself another one before.
 *
 * The end of the call is told by raise() with a signal whose default is to do nothing (the bell): a traced thread
 * stops for it, an untraced one does not notice.
 */
#include "source/agent/remote.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "arch/machine_calls.h"
#include "base/mapping.h"
#include "base/restart.h"
#include "source/agent/remote_parts.h"

#define STACK_SZ (256u * 1024u)
#define ROOM_WANTED (192u * 1024u)
#define RED_ZONE 128u
#define NAME_MAX_SZ 64u
#define CALL_TIMEOUT_NS 5000000000ull
#define MAGIC1 0x46505853u
#define MAGIC2 0x46505845u
#define SW_BYTES 464u  /* in the legacy area: what the kernel keeps for software */

/* What rt_sigreturn reads, as the kernel lays it out (it is not libc's ucontext_t). */
struct frame {
	uint64_t flags, link;
	struct {
		uint64_t sp;
		uint32_t flags, pad;
		uint64_t size;
	} altstack;
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
	uint64_t sigmask;
};
_Static_assert(sizeof(struct frame) == 40 + 256 + 8, "as in the kernel's struct ucontext");

enum { FP_XSTATE = 1, SIGCONTEXT_SS = 2, STRICT_RESTORE_SS = 4 };

/* fn(address of the data, ...) */
struct function {
	uint64_t at;
	const void *data;
	size_t data_sz;
	uint64_t second, third, fourth;
	bool second_in_data; /* it is an offset in there */
};

/*
 * Another thread may execute a program at any moment, which ends this one; the process then has another memory. So what is
 * written goes to the memory that was the thread's when it stopped, whatever the process has become.
 */
static int write_memory(struct espy_remote *r, uint64_t addr, const void *buf, size_t len)
{
	struct user_regs_struct alive;

	if (r->mem_fd < 0) {
		char path[48];

		snprintf(path, sizeof(path), "/proc/%d/mem", (int)r->tid);
		r->mem_fd = open(path, O_WRONLY | O_CLOEXEC);
		if (r->mem_fd < 0)
			return -errno;
		/* It was opened while the thread stood: then it is that of the thread. */
		if (espy_remote__trace(PTRACE_GETREGS, r->tid, 0, &alive))
			return -errno;
	}
	if (r->late && !espy_late_pages__all_ready(r->late, r->tid, addr, len))
		return -EFAULT;
	return pwrite(r->mem_fd, buf, len, (off_t)addr) == (ssize_t)len ? 0 : -EFAULT;
}

/* The state of the stop as rt_sigreturn takes it, with the floating point state at fp_at. */
static void fill_frame(const struct espy_remote *r, struct frame *f, uint64_t fp_at)
{
	const struct user_regs_struct *g = &r->regs;

	*f = (struct frame){
		.flags = FP_XSTATE | SIGCONTEXT_SS | STRICT_RESTORE_SS,
		.altstack = { .flags = 0x7fffffff }, /* not valid: the kernel leaves the alternate stack as it is */
		.r8 = g->r8,
		.r9 = g->r9,
		.r10 = g->r10,
		.r11 = g->r11,
		.r12 = g->r12,
		.r13 = g->r13,
		.r14 = g->r14,
		.r15 = g->r15,
		.di = g->rdi,
		.si = g->rsi,
		.bp = g->rbp,
		.bx = g->rbx,
		.dx = g->rdx,
		.ax = g->rax,
		.cx = g->rcx,
		.sp = g->rsp,
		.ip = g->rip,
		.eflags = g->eflags,
		.cs = (uint16_t)g->cs,
		.ss = (uint16_t)g->ss,
		.fpstate = fp_at,
		.sigmask = r->sigmask,
	};
	/* rt_sigreturn does not begin a call again: that is done here, by going back to its instruction. */
	if ((int64_t)g->orig_rax >= 0 && espy_is_restart(-(int64_t)g->rax)) {
		/* A sleep begins with its whole time again: what is left of it is not known here. */
		f->ax = g->orig_rax;
		f->ip -= 2;
	}
}

/*
 * Writes [sigreturn] and the frame so that the word stands at an address of the form 16n + 8 at most at `top`; *at gets
 * it.
 */
static int write_state(struct espy_remote *r, const struct espy_remote_code *code, uint64_t top, uint64_t *at)
{
	uint8_t fp[ESPY_XSTATE_MAX + 4];
	const uint64_t fp_at = (top - r->xstate_sz - 4) & ~63ull;
	struct {
		uint64_t sigreturn;
		struct frame frame;
	} f = { .sigreturn = code->sigreturn };
	struct {
		uint32_t magic1, extended_sz;
		uint64_t features;
		uint32_t xstate_sz;
	} sw = { .magic1 = MAGIC1, .extended_sz = (uint32_t)r->xstate_sz + 4, .xstate_sz = (uint32_t)r->xstate_sz };
	const uint32_t magic2 = MAGIC2;

	if (r->xstate_sz < 576 || r->xstate_sz > ESPY_XSTATE_MAX)
		return -EOPNOTSUPP;
	memcpy(fp, r->xstate, r->xstate_sz);
	memcpy(&sw.features, r->xstate + SW_BYTES, sizeof(sw.features)); /* XCR0 */
	memcpy(fp + SW_BYTES, &sw, sizeof(sw));
	memcpy(fp + r->xstate_sz, &magic2, sizeof(magic2));
	fill_frame(r, &f.frame, fp_at);
	*at = ((fp_at - sizeof(f)) & ~15ull) - 8;
	int err = write_memory(r, fp_at, fp, r->xstate_sz + 4);

	return err ? err : write_memory(r, *at, &f, sizeof(f));
}

/* One system call of the thread; it returns into the frame at `ret`. *result: what it returned. */
static int call_kernel(struct espy_remote *r, const struct espy_remote_code *code, uint64_t ret, uint64_t nr,
		       const uint64_t args[6], uint64_t *result)
{
	const uint64_t quiet = ~0ull;
	struct user_regs_struct g = r->regs;
	int status, err = 0;

	g.rip = code->syscall_ret;
	g.rsp = ret;
	g.rax = nr;
	g.orig_rax = (uint64_t)-1; /* nothing is to be begun again */
	g.rdi = args[0];
	g.rsi = args[1];
	g.rdx = args[2];
	g.r10 = args[3];
	g.r8 = args[4];
	g.r9 = args[5];
	/* A signal waits until all is over; the frame has the mask that was. */
	if (espy_remote__trace(PTRACE_SETSIGMASK, r->tid, sizeof(quiet), &quiet) ||
	    espy_remote__trace(PTRACE_SETREGS, r->tid, 0, &g))
		return -errno;
	for (unsigned stops = 0; stops < 2 && !err;) {
		err = espy_remote__go(r, PTRACE_SYSCALL, 0);
		err = err ? err : espy_remote__wait_stop(r, &status, CALL_TIMEOUT_NS);
		if (err)
			break;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			stops++;
		else if (status >> 16 != PTRACE_EVENT_STOP)
			err = -EFAULT;
	}
	if (err)
		return err;
	if (espy_remote__trace(PTRACE_GETREGS, r->tid, 0, &g))
		return -errno;
	*result = g.rax;
	return 0;
}

/* Until the bell rings. */
static int wait_bell(struct espy_remote *r, int bell)
{
	int status, err;

	for (;;) {
		err = espy_remote__wait_stop(r, &status, CALL_TIMEOUT_NS);
		if (err)
			return err;
		if (!(status >> 16) && WSTOPSIG(status) == bell)
			return 0;
		if (status >> 16 == PTRACE_EVENT_CLONE) {
			unsigned long tid = 0;

			espy_remote__trace(PTRACE_GETEVENTMSG, r->tid, 0, &tid);
			r->born = (pid_t)tid;
		}
		if (status >> 16) {
			err = espy_remote__go(r, PTRACE_CONT, 0);
			if (err)
				return err;
			continue;
		}
		switch (WSTOPSIG(status)) {
		case SIGSEGV:
		case SIGBUS:
		case SIGILL:
		case SIGFPE:
		case SIGABRT:
			return -EFAULT; /* the library crashed while it was loaded */
		default:
			err = espy_remote__go(r, PTRACE_CONT, WSTOPSIG(status));
			if (err)
				return err;
		}
	}
}

/* All as it was at the stop. */
static int put_back(struct espy_remote *r)
{
	const struct iovec io = { r->xstate, r->xstate_sz };

	if (!r->whole)
		return 0;
	if (espy_remote__trace(PTRACE_SETREGSET, r->tid, NT_X86_XSTATE, &io) ||
	    espy_remote__trace(PTRACE_SETREGS, r->tid, 0, &r->regs) ||
	    espy_remote__trace(PTRACE_SETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask))
		return -errno;
	return 0;
}

/* On the stack that ends at `top`. */
static int call_on(struct espy_remote *r, const struct espy_remote_code *code, uint64_t top, const struct function *f)
{
	const uint64_t data_at = (top - f->data_sz) & ~15ull, quiet = ~(1ull << (code->bell - 1));
	struct user_regs_struct g = r->regs;
	uint64_t back;
	int err = write_state(r, code, data_at, &back);

	if (err)
		return err;
	/* back is 16n + 8, the word before fn's return address must be so too: an even number of words in between. */
	const uint64_t chain[4] = { code->pop_rdi_ret, (uint64_t)code->bell, code->pop_rdi_ret + 1, code->raise };
	const uint64_t sp = back - sizeof(chain);

	err = write_memory(r, sp, chain, sizeof(chain));
	err = err ? err : write_memory(r, data_at, f->data, f->data_sz);
	if (err)
		return err;
	g.rip = f->at;
	g.rsp = sp;
	g.rdi = data_at;
	g.rsi = f->second_in_data ? data_at + f->second : f->second;
	g.rdx = f->third;
	g.rcx = f->fourth;
	g.rax = 0;
	g.orig_rax = (uint64_t)-1;
	g.rbp = 0;
	g.eflags &= ~0x400ull; /* strings go upwards */
	/* No handler of the program may run in the middle of the call; the frames hold the mask that was. */
	if (espy_remote__trace(PTRACE_SETSIGMASK, r->tid, sizeof(quiet), &quiet) ||
	    espy_remote__trace(PTRACE_SETREGS, r->tid, 0, &g))
		return -errno;
	err = espy_remote__go(r, PTRACE_CONT, 0);
	err = err ? err : wait_bell(r, code->bell);
	return err;
}

/*
 * Is the thread on the stack that was made for it: the process's, which grows, or one of libc's, at whose top its
 * thread control block stands? And is there room on it?
 */
static bool own_stack(const struct espy_remote *r)
{
	const uint64_t sp = r->regs.rsp, tcb = r->regs.fs_base;
	struct espy_mapping m;

	return espy_mapping__at(&m, r->pid, sp) &&
	       (!strcmp(m.name, "[stack]") || (tcb > sp && tcb < m.end && sp - m.start > ROOM_WANTED));
}

/* On its own stack, if that is known to be large enough, or a new one; then all is as it was. */
static int run(struct espy_remote *r, const struct espy_remote_code *code, const struct function *f)
{
	const uint64_t map_args[6] = {
		0, STACK_SZ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0
	};
	uint64_t ret, stack, ignored;
	int back_err, err = espy_remote__read_rest(r);

	if (err)
		return err;
	if (own_stack(r)) {
		err = call_on(r, code, r->regs.rsp - RED_ZONE, f);
		goto back;
	}
	err = write_state(r, code, r->regs.rsp - RED_ZONE, &ret);
	if (err)
		return err;
	err = call_kernel(r, code, ret, ESPY_NR_MMAP, map_args, &stack);
	if (!err && stack > (uint64_t)-4096)
		err = (int)stack;
	if (!err) {
		const uint64_t unmap_args[6] = { stack, STACK_SZ };

		err = call_on(r, code, stack + STACK_SZ, f);
		/* A call that hangs stands on the stack: it must stay. */
		if (err != -ETIMEDOUT && err != -ESRCH &&
		    call_kernel(r, code, ret, ESPY_NR_MUNMAP, unmap_args, &ignored) && !err)
			err = -EFAULT;
	}
back:
	if (err == -ESRCH || !r->stopped)
		return err ? err : -EFAULT;
	back_err = put_back(r);
	return err ? err : back_err;
}

int espy_remote__call(struct espy_remote *r, const struct espy_remote_code *code, uint64_t fn, const char *text,
		      uint64_t arg2)
{
	const struct function f = { .at = fn, .data = text, .data_sz = strlen(text) + 1, .second = arg2 };

	return f.data_sz > 4096 ? -ENAMETOOLONG : run(r, code, &f);
}

int espy_remote__spawn(struct espy_remote *r, const struct espy_remote_code *code, uint64_t create,
		       struct espy_remote *born)
{
	/* The attributes as glibc, theirs and ours, has laid them out ever since. */
	struct {
		uint64_t id[2];
		pthread_attr_t attr;
	} data = { .id = { 0 } };
	const struct function f = { .at = create,
				    .data = &data,
				    .data_sz = sizeof(data),
				    .second = offsetof(__typeof__(data), attr),
				    .second_in_data = true,
				    .third = code->raise,
				    .fourth = (uint64_t)code->bell };
	const uintptr_t options = PTRACE_O_TRACESYSGOOD;
	int err = -pthread_attr_init(&data.attr);

	err = err ? err : -pthread_attr_setdetachstate(&data.attr, PTHREAD_CREATE_DETACHED);
	err = err ? err : -pthread_attr_setstacksize(&data.attr, STACK_SZ);
	if (err)
		return err;
	if (espy_remote__trace(PTRACE_SETOPTIONS, r->tid, 0, (void *)(options | PTRACE_O_TRACECLONE)))
		return -errno;
	r->born = 0;
	err = run(r, code, &f);
	if (r->stopped && espy_remote__trace(PTRACE_SETOPTIONS, r->tid, 0, (void *)options))
		err = err ? err : -errno;
	if (r->born)
		*born = espy_remote__traced(r->pid, r->born);
	born->late = r->late;
	return err || r->born ? err : -EAGAIN;
}

int espy_remote__await(struct espy_remote *born, const struct espy_remote_code *code)
{
	int err = wait_bell(born, code->bell);

	/* It has been born with its maker's options, and its own children are not ours to hold. */
	if (!err && espy_remote__trace(PTRACE_SETOPTIONS, born->tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD))
		err = -errno;
	return err ? err : espy_remote__read_regs(born);
}

/* A file of memory in the thread's table, with what is in ours: its descriptor there. */
static int give_file(struct espy_remote *r, const struct espy_remote_code *code, int file, const char *name, int *there)
{
	const uint64_t name_at = (r->regs.rsp - RED_ZONE - NAME_MAX_SZ) & ~15ull;
	const uint64_t args[6] = { name_at, MFD_CLOEXEC };
	uint64_t ret, fd;
	char path[64];
	off_t off = 0;
	ssize_t n = 0;
	int to, err = espy_remote__read_rest(r);

	err = err ? err : write_state(r, code, name_at, &ret);
	err = err ? err : write_memory(r, name_at, name, strlen(name) + 1);
	err = err ? err : call_kernel(r, code, ret, ESPY_NR_MEMFD_CREATE, args, &fd);
	if (err)
		return err;
	if (fd > (uint64_t)-4096)
		return (int)fd;
	*there = (int)fd;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)r->tid, *there);
	to = open(path, O_WRONLY | O_CLOEXEC);
	if (to < 0)
		return -errno;
	while ((n = sendfile(to, file, &off, 1u << 30)) > 0)
		;
	err = n < 0 ? -errno : 0;
	close(to);
	return err;
}

int espy_remote__call_file(struct espy_remote *r, const struct espy_remote_code *code, uint64_t fn, int file,
			   const char *name, uint64_t arg2)
{
	int there = -1, err = strlen(name) < NAME_MAX_SZ ? give_file(r, code, file, name, &there) : -ENAMETOOLONG;
	uint64_t ret, ignored;
	char path[64];

	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", there);
	err = err ? err : espy_remote__call(r, code, fn, path, arg2);
	if (there >= 0 && r->stopped) {
		const uint64_t args[6] = { (uint64_t)there };
		int close_err = write_state(r, code, r->regs.rsp - RED_ZONE, &ret);

		close_err = close_err ? close_err : call_kernel(r, code, ret, ESPY_NR_CLOSE, args, &ignored);
		err = err ? err : close_err;
	}
	if (r->stopped) {
		int back_err = put_back(r);

		err = err ? err : back_err;
	}
	return err;
}
