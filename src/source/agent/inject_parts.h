/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of an injection: what forbids it (refuse.c, thread_filters.c), where a thread can be used (safe_point.c).
 * Private to src/source/agent. */
#ifndef ESPY_SOURCE_AGENT_INJECT_PARTS_H
#define ESPY_SOURCE_AGENT_INJECT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/agent_inject.h"
#include "source/agent/remote.h"
#include "symbols/objects.h"

#define ESPY_INJECT_NAME "espy-agent.so" /* of the library, where the process cannot see the file itself */

struct espy_inject_place;

struct espy_inject_target {
	pid_t pid;
	struct espy_late_pages *late;
	struct espy_objects objects;
	struct espy_inject_place *places; /* one per object */
	const struct espy_inject_place *libc;
	uint64_t dlopen_at;
	uint64_t create_at; /* pthread_create(); 0: the call is made by a thread of the program itself */
	const char *library;
	int library_fd; /* not -1: the process sees no such file, and is given this one */
	struct espy_remote_code code;
	const struct espy_inject_how *how;
	uint64_t next_turn_ns;
	const char *libc_path;
	bool libc_fstat; /* it is glibc 2.39 or later, which makes fstat where those before make newfstatat */
	bool libc_other; /* it is none of glibc's */
	struct espy_inject_thread {
		pid_t tid;
		unsigned filters; /* seccomp filters */
		bool forbids;	  /* what loading the agent takes */
		bool restart_forbidden;
	} * threads; /* those with filters, in order of their numbers */
	size_t thread_cnt;
};

/* From /proc/PID/status. */
struct espy_inject_status {
	char state;
	pid_t tracer, tgid, parent;
	unsigned threads; /* with a first one that has ended: that, and those that have not */
	unsigned ruid, euid, suid, fsuid, rgid, egid, sgid, fsgid;
	uint64_t ignored, caught;
	int seccomp;	  /* mode */
	unsigned filters; /* 0 also where the kernel does not count them */
	pid_t own_pid;	  /* of the process, as it knows itself */
	bool shadow_stack;
};

/* Puts the reason into r->why and returns err. */
int espy_inject__refuse(struct espy_inject_result *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Of a process or a thread. -ESRCH: it is gone. */
int espy_inject__read_status(pid_t pid, struct espy_inject_status *s);
/* held: by us. 0, or -errno with the reason. */
int espy_inject__check_status(pid_t pid, bool held, struct espy_inject_status *s, struct espy_inject_result *r);
/* 0; 1: the process does not see the file, but can be given it; -errno with the reason. */
int espy_inject__check_library(pid_t pid, const char *library, struct espy_inject_result *r);

/* After an error, or where a thread was not let go of at once: all threads of the process that this thread traces. */
void espy_inject__let_all_go(pid_t pid, struct espy_inject_result *r);
/* Whether the thread is in r->left: this thread traces it still, and ptrace refuses to attach to it again. */
bool espy_inject__is_left(const struct espy_inject_result *r, pid_t tid);
/* A thread of it has stood from `since` until now. */
void espy_inject__paused(struct espy_inject_result *r, uint64_t since);
/* -EBUSY */
int espy_inject__refuse_traced(pid_t pid, pid_t tracer, struct espy_inject_result *r);
/* After -EPERM from ptrace. */
int espy_inject__refuse_trace(pid_t pid, struct espy_inject_result *r);
/*
 * Reads the seccomp filters of all threads; those that have any are stopped for a moment. 0: the agent may be loaded
 * through the threads that __may_use() says. -ESTALE: in a moment.
 */
int espy_inject__check_filters(struct espy_inject_target *t, const struct espy_inject_status *s, bool held,
			       struct espy_inject_result *r);
bool espy_inject__may_use(const struct espy_inject_target *t, pid_t tid);
/* Has it the filters still that were looked at? (It can have more, not less.) */
bool espy_inject__same_filters(const struct espy_inject_target *t, pid_t tid);
const struct espy_inject_thread *espy_inject__thread(const struct espy_inject_target *t, pid_t tid);

/* Reads the process's libraries; t->pid is set, the rest 0. -ESTALE: in a moment it may be possible. */
int espy_inject__prepare(struct espy_inject_target *t, const struct espy_inject_status *s,
			 struct espy_inject_result *r);
void espy_inject__free(struct espy_inject_target *t);
/* The thread is stopped. */
bool espy_inject__at_safe_point(const struct espy_inject_target *t, const struct espy_remote *r);
/* Or has the process executed another program since its files were read? */
bool espy_inject__still_the_same(const struct espy_inject_target *t);

#endif
