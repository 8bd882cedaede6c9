/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The questions that the decoder asks the state: the captured bytes of a call do not hold the answers. */
#ifndef ESPY_STATE_RESOLVER_H
#define ESPY_STATE_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

/* The file behind a descriptor. Texts hold until the next question. */
struct espy_fd_answer {
	const char *name;   /* as /proc/PID/fd shows it, " (deleted)" included */
	const char *detail; /* the text of -yy in place of the name; NULL: not known, or not asked */
};

/* The security context of a file, as SELinux has it. Texts hold until the next question. */
struct espy_context_answer {
	const char *actual;
	const char *expected; /* what the policy has for the file; NULL: not known, or not asked */
};

/* A function returns false or NULL if it has no answer. A function that is NULL itself never has one. */
struct espy_resolver {
	void *ctx;
	/* fd may be AT_FDCWD; details: more than its name is wanted */
	bool (*fd)(void *ctx, uint32_t tid, int fd, bool details, struct espy_fd_answer *answer);
	const char *(*comm)(void *ctx, uint32_t tid);	  /* of a task */
	/* the observer's number of the task that `tid` calls `number`; gone: also if it has ended; 0: not known. NULL: the same */
	uint32_t (*pid)(void *ctx, uint32_t tid, uint32_t number, bool gone);
	const char *(*ifname)(void *ctx, uint32_t index); /* lo */
	const char *(*genl)(void *ctx, uint32_t family);  /* of generic netlink: ethtool */
	const char *(*namespaces)(void *ctx, uint32_t tid); /* of a task, as they are now: "cgroup:[1] ipc:[2] ..." */
	/* KVM_EXIT_* of the guest that the task's last KVM_RUN has run on this virtual CPU, in decimal digits */
	const char *(*vcpu_exit)(void *ctx, uint32_t tid, int fd);
	/* the security context of a task, and of a file: at a path that begins at fd, or (path NULL) the descriptor's own */
	const char *(*task_context)(void *ctx, uint32_t tid);
	bool (*file_context)(void *ctx, uint32_t tid, int fd, const char *path, bool expected,
			     struct espy_context_answer *answer);
	/* protocol (NETLINK_ROUTE, ...) of a netlink socket; false: fd is none */
	bool (*netlink_proto)(void *ctx, uint32_t tid, int fd, unsigned *proto);
	/* the number of the call in which a stop has interrupted the task, and with which it goes on; of its ABI */
	bool (*interrupted)(void *ctx, uint32_t tid, unsigned *nr);
	/* seconds east of Greenwich at a time since 1970; NULL: as it is here */
	int32_t (*utc_offset)(void *ctx, int64_t sec);
};

struct espy_state;
/* Returns the answers of a state, which must live as long. Its zone, if there is one, must have been set. */
struct espy_resolver espy_state__resolver(struct espy_state *s);

#endif
