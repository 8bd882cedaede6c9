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

/*
 * Who waits for an agent's answer may have to do something meanwhile: one that traces the process by ptrace lets the
 * agent's thread go on. fn NULL: nothing. It may wait for a millisecond or so itself.
 */
struct espy_agent_turn {
	void (*fn)(void *ctx);
	void *ctx;
};
/* So long at least. */
void espy_agent_turn__pass(const struct espy_agent_turn *t, long ns);

struct espy_agent_link {
	pid_t pid, helper; /* the process, and the agent's thread in it */
	int fd;		   /* of the area; -1: not attached */
	uint8_t *area;	   /* ESPY_AGENT_AREA_SZ bytes */
	int slot;	   /* that we hold; -1: none */
	struct espy_agent_turn turn;
	struct espy_agent_opened opened;
	uint32_t rules;	   /* that the session had when it was opened, taken over or adopted */
};

/*
 * Where the agent's library is: $ESPY_AGENT, beside the running program (build or installed tree), or where it was to
 * be installed. -ENOENT.
 */
int espy_agent__library(char *path, size_t size);

/*
 * Finds the agent. -ENOENT: there is none; -EPROTO: something that is not ours, or not of our version (said in why);
 * -EACCES, -EPERM: not ours to look at.
 */
int espy_agent__attach(struct espy_agent_link *l, pid_t pid, char *why, size_t why_sz);
/* The same; `turn` is copied, and taken whenever something is waited for on this link. */
int espy_agent__attach_while(struct espy_agent_link *l, pid_t pid, const struct espy_agent_turn *turn, char *why,
			     size_t why_sz);
/*
 * The same with a descriptor of its area that came from elsewhere, and the slot of a session in it: to read what is
 * there, whether the process lives or not. 0: fd belongs to the link; -EPROTO.
 */
int espy_agent__adopt(struct espy_agent_link *l, pid_t pid, pid_t helper, int fd, unsigned slot);
/* Is the thread an agent's own (by its name)? tasks: the directory /proc/PID/task; tid: its entry there. */
bool espy_agent__is_helper(int tasks, const char *tid);
/* Also ends the session that is held. */
void espy_agent__detach(struct espy_agent_link *l);

/* Copies of what the agent says; counts are cut to what the tables can hold. */
struct espy_agent_info {
	uint32_t clock, defs, sites, overflow, threads, refused, objects, parent_pid, scans, features, forks;
	char version[17];
};
void espy_agent__info(const struct espy_agent_link *l, struct espy_agent_info *info);
/* Entry i of the tables; false: out of range, or nonsense. Texts are cut to their buffers, and always terminated. */
struct espy_agent_def_copy {
	char name[256], format[1024];
	uint8_t nargs, what, kinds[16];
	uint32_t sites_on, sessions;
};
bool espy_agent__def(const struct espy_agent_link *l, uint32_t i, struct espy_agent_def_copy *out);
struct espy_agent_site_copy {
	uint64_t addr;
	uint32_t def, line, state;
	char object[1024], file[1024];
};
bool espy_agent__site(const struct espy_agent_link *l, uint32_t i, struct espy_agent_site_copy *out);

struct espy_agent_session {
	bool open;
	uint32_t rules;
	pid_t holder; /* 0: not known */
};
/* Finds the holder of each slot; looks through all of /proc for them. */
void espy_agent__sessions(const struct espy_agent_link *l, struct espy_agent_session out[ESPY_AGENT_SESSIONS]);

struct espy_agent_ring_state {
	uint32_t chunk_sz, chunks, used; /* used: chunks that hold something which was not read yet */
	uint64_t begun;			 /* chunks that were begun since the session was opened */
	uint64_t lost_full, lost_big, lost_thread, lost_early;
};
/* Of the session in a slot, whichever espy it belongs to. -ENOENT, -EPROTO, ... */
int espy_agent__ring_state(const struct espy_agent_link *l, unsigned slot, struct espy_agent_ring_state *out);

/* Takes a free slot and opens a session in it. -EBUSY: all slots are taken; -ETIMEDOUT: no answer. */
int espy_agent__open(struct espy_agent_link *l, const struct espy_agent_open *o);
/* Takes over a session that the process inherited, by its tag. -ENOENT: there is none (any more). */
int espy_agent__hold(struct espy_agent_link *l, uint64_t tag);
int espy_agent__rule_on(struct espy_agent_link *l, const struct espy_agent_rule *rule, struct espy_agent_ruled *reply);
/* All rules off: no event is recorded any more. */
int espy_agent__close(struct espy_agent_link *l);
/* A descriptor of the session's ring, checked as below. */
int espy_agent__ring_fd(const struct espy_agent_link *l, size_t *size);
/* Nobody can make it smaller; *size its true size. -EPROTO. */
int espy_agent__check_ring(int fd, size_t *size);

#endif
