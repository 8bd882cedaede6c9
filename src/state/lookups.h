/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Questions of a state that its stream does not answer: the file behind a descriptor, the name of a task. The session
 * gives the state its lookups. The lookups of a live session ask the system. The lookups of a trace answer nothing, because the
 * trace brings the answers as FACT records.
 */
#ifndef ESPY_STATE_LOOKUPS_H
#define ESPY_STATE_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "record/record.h"

/*
 * Each function may be NULL: there is no answer. A function writes a text to to[0..size) without NUL, and returns the
 * number of its bytes; 0: there is no answer.
 */
struct espy_lookups {
	/* As /proc/TID/fd shows it; fd AT_FDCWD: the working directory. */
	size_t (*fd_link)(uint32_t tid, int fd, char *to, size_t size);
	/* The details (fd_detail.h) of a descriptor whose name is `name`. */
	bool (*fd_detail)(uint32_t tid, int fd, const char *name, struct espy_buf *to);
	/* A socket, by its inode and the name of its protocol; tid: a task in whose network namespace it is. */
	bool (*socket)(uint32_t tid, unsigned long ino, const char *proto, struct espy_fact_socket *to);
	/* The protocol of a netlink socket; name: its name, NULL if it is not known. */
	bool (*netlink)(uint32_t tid, int fd, const char *name, unsigned *proto);
	size_t (*comm)(uint32_t tid, char *to, size_t size);
	size_t (*uid)(uint32_t tid, char *to, size_t size);    /* the effective user, as decimal digits */
	/* Its numbers in pid namespaces below ours, from the outermost to its own; 0: it is in ours, or has ended. */
	size_t (*pid_numbers)(uint32_t tid, struct espy_pid_number *to, size_t max);
	/* The process that has this number in a pid namespace, as we call it; 0: there is none. */
	uint32_t (*find_pid)(struct espy_pid_number number);
	/* Its namespaces as the links of /proc/TID/ns name them, in alphabetical order, with a space between two. */
	size_t (*namespaces)(uint32_t tid, char *to, size_t size);
	/*
	 * Why the guest ended that its last KVM_RUN has run on the virtual CPU behind a descriptor: KVM_EXIT_* in
	 * decimal digits. It is known until the task runs the guest again.
	 */
	size_t (*vcpu_exit)(uint32_t tid, int fd, char *to, size_t size);
	size_t (*task_context)(uint32_t tid, char *to, size_t size); /* its security context, by SELinux */
	/*
	 * The security context of the file at a path that begins at a descriptor (AT_FDCWD: at the working directory), or
	 * of the descriptor's own file (path NULL). expected: behind a NUL follows the context that the policy has for the
	 * file, if it has one.
	 */
	size_t (*file_context)(uint32_t tid, int fd, const char *path, bool expected, char *to, size_t size);
	size_t (*cgroup)(uint32_t tid, char *to, size_t size); /* its path in the tree of version 2 */
	size_t (*ifname)(uint32_t index, char *to, size_t size);
	size_t (*genl)(uint32_t family, char *to, size_t size); /* a family of generic netlink */
	/* Numbers of the descriptors that a process has open, at most max; returns how many. */
	size_t (*open_fds)(uint32_t tgid, uint32_t *fds, size_t max);
	/*
	 * Calls fn for each open descriptor of a process, and for its working directory. It calls begin first, if the
	 * system answers for the process. ours: the descriptors that a process has which this process starts now.
	 */
	void (*each_fd)(uint32_t tgid, bool ours, void (*begin)(void *ctx),
			void (*fn)(void *ctx, int fd, const char *link, size_t len), void *ctx);
};

extern const struct espy_lookups espy_lookups_live;  /* asks /proc and the kernel */
extern const struct espy_lookups espy_lookups_trace; /* has no answers */

#endif
