/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One thread of another process, held by ptrace, and made to call something. Private to src/source/agent. */
#ifndef ESPY_SOURCE_AGENT_REMOTE_H
#define ESPY_SOURCE_AGENT_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>
#include "base/late_pages.h"

#define ESPY_XSTATE_MAX 16384u

struct espy_remote {
	pid_t tid, pid;
	struct espy_late_pages *late; /* NULL: a page of its memory may keep this thread waiting */
	bool attached, stopped;
	bool known;		      /* its registers were read at this stop */
	bool changed;		      /* and it is not to go on with what they were */
	bool whole;		      /* the rest of its state was read as well */
	int mem_fd;		      /* its memory, from espy_remote__stop() to the end of the stop; -1 */
	pid_t born;		      /* of espy_remote__spawn() */
	bool restart_forbidden;	      /* a sleep that the stop has ended begins anew, not by restart_syscall */
	struct user_regs_struct regs; /* as it was stopped; what it goes on with */
	uint64_t sigmask;
	uint8_t xstate[ESPY_XSTATE_MAX];
	size_t xstate_sz;
};

/* Addresses in the process that calls are made of. */
struct espy_remote_code {
	uint64_t syscall_ret; /* `syscall; ret` */
	uint64_t pop_rdi_ret; /* `pop %rdi; ret` */
	uint64_t sigreturn;   /* `mov $15, %rax; syscall`: where libc's signal handlers return to */
	uint64_t raise;
	int bell; /* a signal that does nothing in an untraced thread */
};

/* What this thread traces already, as far as is known: to let go of it. */
struct espy_remote espy_remote__traced(pid_t pid, pid_t tid);
int espy_remote__attach(struct espy_remote *r, pid_t pid, pid_t tid);
/* One that this thread traces already, and that is stopped: it stays so. */
int espy_remote__adopt(struct espy_remote *r, pid_t tid);
/* Stops it and reads its general registers. -ETIMEDOUT: it is in an uninterruptible sleep; it is then let go of. */
int espy_remote__stop(struct espy_remote *r);
/* From now on, and for the stop that it is in. */
void espy_remote__forbid_restart(struct espy_remote *r);
int espy_remote__resume(struct espy_remote *r);
/*
 * Ends the tracing of the thread, which goes on as before. Collects the end of a thread that has died meanwhile: only
 * its tracer can, and its program cannot execute another one before. Lets go of a thread that has executed a program
 * under its new number. Returns false if the thread sleeps so that nothing can wake it: it is still traced, and the
 * caller calls again.
 */
bool espy_remote__detach(struct espy_remote *r);

/* Of a thread that is stopped: reads memory; how much there was. A page that does not come is not there. */
size_t espy_remote__read(struct espy_late_pages *late, pid_t pid, uint64_t addr, void *buf, size_t len);

/*
 * Calls fn(text, arg2) on its own stack where that is known to be large enough, else on a fresh one, with every signal
 * blocked. The thread must be stopped at a safe point. It is
 * stopped again afterwards, its state as before. -EFAULT: the function crashed, and the thread has been put back.
 */
int espy_remote__call(struct espy_remote *r, const struct espy_remote_code *code, uint64_t fn, const char *text,
		      uint64_t arg2);
/*
 * Makes it create another thread by pthread_create(), which is at `create`. *born is that one; it is held before its
 * first step. The thread itself is stopped again, its state as before. -EAGAIN: the process gets no more threads. After
 * another error *born may be attached, too.
 */
int espy_remote__spawn(struct espy_remote *r, const struct espy_remote_code *code, uint64_t create,
		       struct espy_remote *born);
/* Until it stands where it holds nothing and may be made to call anything. Let go of, with or without us, it ends. */
int espy_remote__await(struct espy_remote *born, const struct espy_remote_code *code);
/*
 * Calls fn(path, arg2), where the path is that of a file that the process has never seen: it is given a copy of ours as
 * a descriptor, which is closed afterwards. The process needs /proc.
 */
int espy_remote__call_file(struct espy_remote *r, const struct espy_remote_code *code, uint64_t fn, int file,
			   const char *name, uint64_t arg2);

#endif
