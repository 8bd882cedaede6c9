/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the captured bytes of a call do not hold, as questions that decoding an event puts to the state of the watched world. */
#ifndef ESPY_STATE_RESOLVER_H
#define ESPY_STATE_RESOLVER_H

#include <stdbool.h>
#include <stdint.h>

/* What a descriptor is. Texts hold until the next question. */
struct espy_fd_answer {
	const char *name;   /* as /proc/PID/fd shows it, " (deleted)" included */
	const char *detail; /* what -yy shows in its place; NULL: nothing more is known, or asked */
};

/* A function returns false or NULL if it does not know; one that is NULL itself never does. */
struct espy_resolver {
	void *ctx;
	/* fd may be AT_FDCWD; details: more than its name is wanted */
	bool (*fd)(void *ctx, uint32_t tid, int fd, bool details, struct espy_fd_answer *answer);
	const char *(*comm)(void *ctx, uint32_t tid);	  /* of a task */
	/* the observer's number of what a task calls `number`; gone: also if it has ended; 0: not known. NULL: it is the same */
	uint32_t (*pid)(void *ctx, uint32_t tid, uint32_t number, bool gone);
	const char *(*ifname)(void *ctx, uint32_t index); /* lo */
	/* protocol (NETLINK_ROUTE, ...) of a netlink socket; false: fd is none */
	bool (*netlink_proto)(void *ctx, uint32_t tid, int fd, unsigned *proto);
	/* the number of the call in which a stop has interrupted the task, and with which it goes on; of its ABI */
	bool (*interrupted)(void *ctx, uint32_t tid, unsigned *nr);
	/* seconds east of Greenwich at a time since 1970; NULL: as it is here */
	int32_t (*utc_offset)(void *ctx, int64_t sec);
};

struct espy_state;
/* The answers of a state, which lives as long. Its zone, if there is one, must have been set. */
struct espy_resolver espy_state__resolver(struct espy_state *s);

#endif
