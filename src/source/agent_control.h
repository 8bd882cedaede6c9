/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Talking to the agent of a process through its shared memory (agent/abi.h). Everything in there may be garbage,
 * written on purpose and while we look: each value is read once, checked, and only the copy is used.
 */
#ifndef ESPY_SOURCE_AGENT_CONTROL_H
#define ESPY_SOURCE_AGENT_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "agent/abi.h"

struct espy_wake;

/*
 * The work of a caller while it waits for an agent's answer: a caller that traces the process by ptrace lets the
 * agent's thread go on. fn may wait for a millisecond or so itself. fn NULL: no work. wake: the session that waits is
 * asked to end by it (source.h), and then waits no longer. NULL: it is not asked.
 */
struct espy_agent_turn {
	void (*fn)(void *ctx);
	void *ctx;
	const struct espy_wake *wake;
};
/* Tells whether to give up waiting. */
bool espy_agent_turn__is_over(const struct espy_agent_turn *t);
/* Does the work of the turn, and waits until `ns` have passed. */
void espy_agent_turn__pass(const struct espy_agent_turn *t, long ns);

struct espy_agent_link {
	pid_t pid, helper; /* the process, and the agent's thread in it */
	int fd;		   /* of the area; -1: not attached */
	uint8_t *area;	   /* ESPY_AGENT_AREA_SZ bytes */
	int slot;	   /* of our session; -1: none */
	struct espy_agent_turn turn;
	struct espy_agent_opened opened;
	uint32_t rules, places; /* that the session had when it was opened, taken over or adopted */
};

/*
 * Finds the agent's library: $ESPY_AGENT, beside the running program (build or installed tree), or the place where the
 * build would install it. Returns 0 or -ENOENT.
 */
int espy_agent__library(char *path, size_t size);

/*
 * Finds the agent of a process. Returns 0. -ENOENT: there is none. -EPROTO: the area is no agent's, or of another
 * version (why says it). -EACCES, -EPERM: the user may not look at the process.
 */
int espy_agent__attach(struct espy_agent_link *l, pid_t pid, char *why, size_t why_sz);
/* The same. The link copies `turn`, and does its work at every wait. */
int espy_agent__attach_while(struct espy_agent_link *l, pid_t pid, const struct espy_agent_turn *turn, char *why,
			     size_t why_sz);
/*
 * The same with a given descriptor of the area, and the slot of a session in it. The link can read the area even after
 * the process has ended. Returns 0 and takes over fd, or -EPROTO.
 */
int espy_agent__adopt(struct espy_agent_link *l, pid_t pid, pid_t helper, int fd, unsigned slot);
/* Tells by its name whether the thread is an agent's own. */
bool espy_agent__is_helper(pid_t tid);
/* Lets go of the area and the slot: the agent ends the session, if there is one. */
void espy_agent__detach(struct espy_agent_link *l);

/* A copy of the agent's numbers. Counts are cut to the sizes of the tables. */
struct espy_agent_info {
	uint32_t clock, defs, sites, overflow, threads, refused, objects, parent_pid, scans, features, forks;
	char version[17];
};
void espy_agent__info(const struct espy_agent_link *l, struct espy_agent_info *info);
/* Copies of the entries of the tables. Texts are cut to their buffers, and always end with NUL. */
struct espy_agent_def_copy {
	char name[256], format[1024];
	uint8_t nargs, what, kinds[16];
	uint32_t sites_on, sessions;
};
/* Copies entry i of the definitions. Returns false if i is out of range, or the entry is nonsense. */
bool espy_agent__def(const struct espy_agent_link *l, uint32_t i, struct espy_agent_def_copy *out);
struct espy_agent_site_copy {
	uint64_t addr;
	uint32_t def, line, state;
	char object[1024], file[1024];
};
/* Copies entry i of the sites, in the same way. */
bool espy_agent__site(const struct espy_agent_link *l, uint32_t i, struct espy_agent_site_copy *out);

struct espy_agent_session {
	bool open;
	uint32_t rules;
	pid_t holder; /* 0: not known */
};
/* Finds the holder of each slot; looks through all of /proc for them. */
void espy_agent__sessions(const struct espy_agent_link *l, struct espy_agent_session out[ESPY_AGENT_SESSIONS]);

struct espy_agent_ring_state {
	uint32_t chunk_sz, chunks, used; /* used: chunks with unread records */
	uint64_t begun;			 /* chunks begun since the session was opened */
	uint64_t lost_full, lost_big, lost_thread, lost_early;
};
/* Looks at the ring of the session in a slot, whichever espy holds it. -ENOENT, -EPROTO, ... */
int espy_agent__ring_state(const struct espy_agent_link *l, unsigned slot, struct espy_agent_ring_state *out);

/* Takes a free slot and opens a session in it. -EBUSY: all slots are taken; -ETIMEDOUT: no answer. */
int espy_agent__open(struct espy_agent_link *l, const struct espy_agent_open *o);
/* Takes over a session that the process inherited, by its tag. -ENOENT: there is none, or no longer. */
int espy_agent__hold(struct espy_agent_link *l, uint64_t tag);
int espy_agent__rule_on(struct espy_agent_link *l, const struct espy_agent_rule *rule, struct espy_agent_ruled *reply);
/* Where a request of this link's session is written. */
static inline struct espy_agent_slot *espy_agent__slot(const struct espy_agent_link *l)
{
	return (struct espy_agent_slot *)(void *)(l->area + ESPY_AGENT_SLOT_OFF +
						  (unsigned)l->slot * ESPY_AGENT_SLOT_SZ);
}
/* Makes a request whose payload is written. Returns the agent's answer, or -errno. */
int espy_agent__ask(struct espy_agent_link *l, uint32_t op);
/* Closes the session: the agent records no more events for it. */
int espy_agent__close(struct espy_agent_link *l);
/* Opens the session's ring, and checks it as below. Returns the descriptor or -errno. */
int espy_agent__ring_fd(const struct espy_agent_link *l, size_t *size);
/* Checks that no process can make the ring's file smaller. Returns 0 and its size, or -EPROTO. */
int espy_agent__check_ring(int fd, size_t *size);

#endif
