/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of an injection: what forbids it (refuse.c), where a thread can be used (safe_point.c). Private to it. */
#ifndef ESPY_SOURCE_AGENT_INJECT_PARTS_H
#define ESPY_SOURCE_AGENT_INJECT_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/agent/inject.h"
#include "source/agent/remote.h"
#include "symbols/objects.h"

struct espy_inject_place;

struct espy_inject_target {
	pid_t pid;
	struct espy_objects objects;
	struct espy_inject_place *places; /* one per object */
	const struct espy_inject_place *libc;
	uint64_t dlopen_at;
	struct espy_remote_code code;
};

/* From /proc/PID/status. */
struct espy_inject_status {
	char state;
	pid_t tracer, tgid;
	unsigned ruid, euid, suid, fsuid, rgid, egid, sgid, fsgid;
	uint64_t ignored, caught;
	int seccomp;
	bool shadow_stack;
};

/* Puts the reason into r->why and returns err. */
int espy_inject__refuse(struct espy_inject_result *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* -ESRCH: it is gone. */
int espy_inject__read_status(pid_t pid, struct espy_inject_status *s);
/* held: by us. 0, or -errno with the reason. */
int espy_inject__check_status(pid_t pid, bool held, struct espy_inject_status *s, struct espy_inject_result *r);
int espy_inject__check_library(pid_t pid, const char *library, struct espy_inject_result *r);

/* Reads the process's libraries; t->pid is set, the rest 0. -ESTALE: in a moment it may be possible. */
int espy_inject__prepare(struct espy_inject_target *t, const struct espy_inject_status *s,
			 struct espy_inject_result *r);
void espy_inject__free(struct espy_inject_target *t);
/* The thread is stopped. */
bool espy_inject__at_safe_point(const struct espy_inject_target *t, const struct espy_remote *r);
/* Or has the process executed another program since its files were read? */
bool espy_inject__still_the_same(const struct espy_inject_target *t);

#endif
