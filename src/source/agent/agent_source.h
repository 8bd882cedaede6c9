/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The source `agent`: marks that our library inside the watched processes records. Private to src/source/agent. */
#ifndef ESPY_SOURCE_AGENT_AGENT_SOURCE_H
#define ESPY_SOURCE_AGENT_AGENT_SOURCE_H

#include <stdio.h>
#include "source/agent_control.h"
#include "source/agent_inject.h"
#include "source/agent/mark_ring.h"
#include "source/agent/taker.h"
#include "source/wanted_marks.h"
#include "source/source_report.h"
#include "source/source.h"

/* A clock by two pairs of readings: TSC to CLOCK_MONOTONIC. */
struct espy_tsc {
	uint64_t tsc[2], ns[2]; /* older, newer */
	double ns_per_tick;	/* 0: not known yet */
};
void espy_tsc__begin(struct espy_tsc *c);
/* Takes another pair; the first two are at least some milliseconds apart. */
void espy_tsc__update(struct espy_tsc *c);
static inline uint64_t espy_tsc__to_ns(const struct espy_tsc *c, uint64_t tsc)
{
	/* A time that is garbage stays a time: at most a day from now. */
	const double limit = 86400e9;
	double d = (double)(int64_t)(tsc - c->tsc[1]) * c->ns_per_tick;

	d = d > limit ? limit : d < -limit ? -limit : d;
	int64_t ns = (int64_t)c->ns[1] + (int64_t)d;
	return ns > 0 ? (uint64_t)ns : 1;
}

/* Processes that have called (callers.c). */
#define ESPY_AGENT_CALLERS 256u
#define ESPY_AGENT_BURIED 4096u
struct espy_agent_waiting {
	int fd;
	pid_t pid;
	uid_t uid;
	bool started; /* it has said so, and waits for us */
	uint64_t until_ns;
};
struct espy_agent_calls {
	int fd; /* that is listened on; -1: nobody is to call */
	char name[40];
	uint64_t tag;
	struct espy_agent_waiting waiting[ESPY_AGENT_CALLERS];
	unsigned cnt;
	struct espy_taker taker;
	pid_t hidden_taker;
};

/* Flight recorder: pairs of readings over the whole time, since events of long ago will be asked for. */
struct espy_agent_past {
	uint64_t tsc[512], ns[512], gap_ns;
	size_t cnt;
};
/* Takes another pair if it is time to. */
void espy_agent_past__pair(struct espy_agent_past *c);

struct espy_mark_known { /* a definition of one process */
	bool asked, good;
	bool fixed;	 /* numbers only: all events are of the same length */
	uint32_t number; /* in the stream */
	uint8_t nargs, kinds[16];
};

struct espy_agent_process {
	struct espy_agent_process *next;
	pid_t pid;
	struct espy_agent_link link;
	struct espy_agent_ring ring;
	void *map;
	size_t map_sz;
	bool attached;		      /* session and ring are open */
	bool ended;		      /* no agent writes any more */
	bool tsc;		      /* times are ticks */
	bool own_numbers;	      /* task numbers of the process are ours too: no pid namespace in between */
	bool refused;		      /* said why it cannot be watched */
	bool past;		      /* flight recorder: it has ended, its ring is kept */
	uint64_t last_ns, used;	      /* past: the time of its last event, bytes of its ring */
	bool marked;		      /* an event of it came */
	uint64_t ring_dev, ring_ino;  /* of the ring's file: no two of them are one */
	pid_t hidden_tid;	      /* our thread in it */
	uint32_t forks_before;	      /* that it had begun when it came to be watched */
	struct espy_mark_known *defs; /* ESPY_AGENT_DEFS_MAX, made when needed */
	struct espy_ring_losses lost; /* last seen */
	uint64_t lost_shown;	      /* that have got a record of their own */
	uint64_t damaged;	      /* events whose bytes are not what their mark says */
	bool told_damage;
	unsigned sites_refused;
	/* Threads whose numbers were found good; with shared chunks they come in any order. An entry is of one epoch. */
	struct {
		uint32_t tid, epoch;
		pid_t task;
	} tasks[256];
	uint32_t tasks_epoch;
};

struct espy_agent_heap_entry {
	uint64_t time_ns;
	struct espy_agent_process *p;
	uint32_t cursor; /* index in p->ring.cursors */
};

struct espy_agent_source {
	struct espy_source base;
	struct espy_source_opts opts;
	struct espy_mark_defs *defs;
	struct espy_agent_process *processes;
	struct espy_tsc clock;
	uint64_t tag;
	struct espy_agent_heap_entry *heap;
	size_t heap_cnt, heap_cap;
	/* Marks that are on their way to the session, and then one whose arguments are not checked yet. */
	uint8_t *run;
	size_t run_sz;
	unsigned run_cnt;
	struct espy_source_stats stats;
	uint64_t last_look_ns;
	struct espy_agent_turn turn; /* while an agent is waited for */
	bool follow; /* children are watched as well */
	bool eager;  /* what begins now is named by the user: its ring takes its memory at once */
	struct espy_agent_calls calls;
	uint64_t alone_ns; /* since when there is nothing to watch any more; 0: there is */
	uint64_t forks, births; /* by processes that have ended; and how many children have come */
	/* Flight recorder (flight.c): */
	bool flight;
	struct espy_agent_past past;
	size_t past_cnt;
	uint64_t past_bytes;
	uint64_t forgotten, forgotten_ns; /* marks of processes of long ago, and up to when */
	/* --all, --cgroup (wide.c): */
	bool wide;
	char *cgroup; /* NULL: the whole system */
	uint64_t next_wide_ns;
	unsigned closed_to_us; /* processes with an agent that is not ours to look at */
	/* Calls that a thread made for us: from, until, whose. */
	uint64_t ours_from_ns, ours_until_ns;
	pid_t ours_tid;
	/* Our own threads in the processes, the latest ones: what they do is not the program's doing. */
	pid_t hidden[256];
	unsigned hidden_cnt;
	/*
	 * The rings of the processes that were forgotten last, by their files. A child that was found before its call came may have been
	 * forgotten by then: the call is none of another child. So many calls can wait in the queue.
	 */
	struct {
		uint64_t dev, ino;
	} buried[ESPY_AGENT_BURIED];
	unsigned buried_cnt;
	/* Threads that an injection could not let go of yet. */
	struct espy_inject_left left[64];
	unsigned left_cnt;
	bool quiet; /* what goes wrong is tried again: it is not told */
	/* Processes that may have an agent with our session soon: children, and a command that was given the library.
	 */
	struct {
		pid_t pid; /* 0: none */
		int how;   /* enum espy_agent_how; -1: an inherited session is taken over */
		uint64_t since_ns, until_ns;
		uint64_t next_ns; /* not 0: it was given up, as was told; it is tried seldom, and not waited for */
	} expected[64];
};

#define espy_agent_source__report(s, ...)                                                                              \
	do {                                                                                                           \
		if (!(s)->quiet)                                                                                       \
			espy_source_report(&(s)->opts, __VA_ARGS__);                                                   \
	} while (0)

/* One poll. */
struct espy_agent_delivery {
	struct espy_agent_source *s;
	espy_record_fn fn;
	void *ctx;
	uint64_t begun_ns, horizon_ns; /* of the look: nothing is younger; only what is older goes out */
	int stop;
	int cnt;
};
int espy_agent_source__alloc(struct espy_agent_source *s);
/* Delivers what all rings hold that is old enough. */
void espy_agent_delivery__look(struct espy_agent_delivery *d);
void espy_agent_delivery__lost(struct espy_agent_delivery *d, const struct espy_agent_process *p, unsigned reason,
			       uint64_t count, uint64_t time_ns);

/* Gets the agent into the process if need be, and everything that is wanted on. 0 or -errno, with the reason told. */
enum espy_agent_how {
	ESPY_AGENT_LOAD,      /* loaded if need be */
	ESPY_AGENT_LOAD_HELD, /* the same, into a process that is held at its entry point */
	ESPY_AGENT_FIND,      /* -ENOENT, and nothing said, if it is not there */
};
int espy_agent_process__begin(struct espy_agent_source *s, pid_t pid, enum espy_agent_how how);
/* get_agent.c: the first half of it. Attaches p->link. */
int espy_agent_process__get_agent(struct espy_agent_source *s, struct espy_agent_process *p, enum espy_agent_how how);
/* A task of ours in somebody's process: its calls are not shown. */
void espy_agent_source__hide(struct espy_agent_source *s, pid_t tid);
/* Lets go of the threads that an injection could not let go of at its time, as far as they can be woken now. */
void espy_agent_source__let_go(struct espy_agent_source *s);
/* A child that inherited the session. */
int espy_agent_process__inherit(struct espy_agent_source *s, pid_t pid);
/*
 * A child that was born with a session and has called. 0: the descriptor of its area is kept; else both stay the
 * caller's. -EEXIST: it is known already.
 */
int espy_agent_process__born(struct espy_agent_source *s, pid_t pid, const struct espy_agent_call *call, int area_fd,
			     int ring_fd);
/* Does it have its memory for itself? The child of a vfork has not before it executes a program. */
bool espy_agent_process__stands_alone(pid_t pid);
/* Marks off; what is in the ring may still be read. */
void espy_agent_process__stop(struct espy_agent_process *p);
void espy_agent_process__free(struct espy_agent_process *p);
/* Frees a process that was watched; a call of it that comes later is known. */
void espy_agent_process__bury(struct espy_agent_source *s, struct espy_agent_process *p);
/* Is its agent still there? Sets `ended`. */
bool espy_agent_process__lives(struct espy_agent_process *p);
/* The stream's number for definition i of the process; its record is delivered before. NULL: nonsense. */
struct espy_mark_known *espy_agent_process__def(struct espy_agent_source *s, struct espy_agent_process *p, uint32_t i,
						espy_record_fn fn, void *ctx, int *stop);
/* The task that a chunk says it is of, as far as that can be true. */
pid_t espy_agent_process__task(struct espy_agent_process *p, uint32_t tid);

/* Listens for calls; does nothing if it does already. */
int espy_agent_calls__open(struct espy_agent_calls *c, uint64_t tag);
void espy_agent_calls__close(struct espy_agent_calls *c);
void espy_agent_calls__answer(struct espy_agent_source *s);
/* Does a program wait for its answer? Connections of other users, over which nothing was said, do not count. */
bool espy_agent_calls__any(const struct espy_agent_calls *c);

/* Flight recorder: it has ended; its ring is kept, among the newest. */
void espy_agent_flight__keep(struct espy_agent_source *s, struct espy_agent_process *p);
void espy_agent_flight__trim(struct espy_agent_source *s);
/* Calls deliver when all rings are copies that can be read to their ends, and returns what it does; sets stats. */
int espy_agent_flight__snapshot(struct espy_agent_source *s, int (*deliver)(void *ctx), void *ctx);

/* From now on every process with an agent, of the whole system or a cgroup. */
int espy_agent_wide__begin(struct espy_agent_source *s, const struct espy_target *t);
int espy_agent_wide__look(struct espy_agent_source *s);

/* Is it one that may have an agent soon? */
bool espy_agent_source__expects(const struct espy_agent_source *s, pid_t pid);
#endif
