/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The source `agent`: marks that espy's library in the watched processes records. Private to src/source/agent. */
#ifndef ESPY_SOURCE_AGENT_AGENT_SOURCE_H
#define ESPY_SOURCE_AGENT_AGENT_SOURCE_H

#include <stdio.h>
#include "source/agent_control.h"
#include "source/agent_inject.h"
#include "source/agent/mark_ring.h"
#include "source/agent/taker.h"
#include "source/probes.h"
#include "source/wanted_marks.h"
#include "source/source_report.h"
#include "source/source.h"

/* A clock by two pairs of readings: TSC to CLOCK_MONOTONIC. */
struct espy_tsc {
	uint64_t tsc[2], ns[2]; /* older, newer */
	double ns_per_tick;	/* 0: not known yet */
};
void espy_tsc__begin(struct espy_tsc *c);
/* Takes another pair of readings. The first two are at least some milliseconds apart. */
void espy_tsc__update(struct espy_tsc *c);
static inline uint64_t espy_tsc__to_ns(const struct espy_tsc *c, uint64_t tsc)
{
	/* A garbage time becomes a time at most a day from now. */
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
	bool started; /* it has sent STARTED, and waits for the answer */
	uint64_t until_ns;
};
struct espy_agent_calls {
	int fd; /* the listening socket; -1: no process is to call */
	char name[40];
	uint64_t tag;
	struct espy_agent_waiting waiting[ESPY_AGENT_CALLERS];
	unsigned cnt;
	struct espy_taker taker;
	pid_t hidden_taker;
};

/* Flight recorder: pairs of readings over the whole time; a snapshot converts times of long ago. */
struct espy_agent_past {
	uint64_t tsc[512], ns[512], gap_ns;
	size_t cnt;
};
/* Takes another pair of readings when gap_ns has passed. */
void espy_agent_past__pair(struct espy_agent_past *c);

struct espy_mark_known { /* a definition of one process */
	bool asked, good;
	bool fixed;	 /* numbers only: all events have the same length */
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
	bool own_numbers;	      /* the process and espy are in one pid namespace, so task numbers are equal */
	bool refused;		      /* espy has reported why it cannot watch the process */
	bool past;		      /* flight recorder: it has ended, and espy keeps its ring */
	uint64_t last_ns, used;	      /* past: the time of its last event, bytes of its ring */
	bool marked;		      /* an event of it came */
	uint64_t ring_dev, ring_ino;  /* of the ring's file: they identify the ring */
	pid_t hidden_tid;	      /* the agent's thread in it */
	uint32_t forks_before;	      /* forks that it had begun before espy watched it */
	struct espy_mark_known *defs; /* ESPY_AGENT_DEFS_MAX, made when needed */
	struct espy_ring_losses lost; /* at the last look */
	uint64_t lost_shown;	      /* losses that have a LOST record */
	uint64_t damaged;	      /* events whose bytes contradict their definition */
	bool told_damage;
	unsigned sites_refused;
	/* Threads with good numbers; with shared chunks they come in any order. An entry belongs to one epoch. */
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

enum espy_agent_how {
	ESPY_AGENT_LOAD,      /* load the agent if it is not there */
	ESPY_AGENT_LOAD_HELD, /* the same, into a process that is held at its entry point */
	ESPY_AGENT_FIND,      /* return -ENOENT, without a report, if it is not there */
	ESPY_AGENT_INHERITED, /* take over the session that a child has inherited; without a report if there is none */
};

struct espy_agent_source {
	struct espy_source base;
	struct espy_source_opts opts;
	struct espy_mark_defs *defs;
	uint8_t *probes_told; /* by place of opts.probes: its definition has been delivered; NULL: no place is the
				 agent's */
	uint32_t probe_cnt;   /* places that are the agent's */
	struct espy_agent_process *processes;
	struct espy_tsc clock;
	uint64_t tag;
	struct espy_agent_heap_entry *heap;
	size_t heap_cnt, heap_cap;
	/* Marks on their way to the session; behind them one whose arguments are not checked yet. */
	uint8_t *run;
	size_t run_sz;
	unsigned run_cnt;
	struct espy_source_stats stats;
	uint64_t last_look_ns;
	struct espy_agent_turn turn; /* while the source waits for an agent */
	bool follow; /* watch children as well */
	bool eager;  /* the user has named the process that begins now: its ring takes its memory at once */
	struct espy_agent_calls calls;
	uint64_t alone_ns; /* time from which on the source has nothing to watch; 0: it has something */
	uint64_t forks, births; /* forks by processes that have ended; children that have come */
	/* Flight recorder (flight.c): */
	bool flight;
	struct espy_agent_past past;
	size_t past_cnt;
	uint64_t past_bytes;
	uint64_t forgotten, forgotten_ns; /* number of marks in freed rings, and the time of the last one */
	/* --all, --cgroup (wide.c): */
	bool wide;
	char *cgroup; /* NULL: the whole system */
	uint64_t next_wide_ns;
	unsigned closed_to_us; /* processes with an agent that espy may not look at */
	/* Calls that espy made in a foreign thread: begin, end, thread. */
	uint64_t ours_from_ns, ours_until_ns;
	pid_t ours_tid;
	/* The latest agents' threads, whose calls are not the program's. */
	pid_t hidden[256];
	unsigned hidden_cnt;
	/*
	 * The files of the last freed rings. A child may be found, and end, before its call comes. Its ring then tells
	 * that the call is not of another child. The queue of calls is as long.
	 */
	struct {
		uint64_t dev, ino;
	} buried[ESPY_AGENT_BURIED];
	unsigned buried_cnt;
	/* Threads that an injection could not let go of yet. */
	struct espy_inject_left left[64];
	unsigned left_cnt;
	bool quiet; /* the source will try again, and reports no error */
	/* Processes that may have an agent with our session soon: children, and a command started with the library. */
	struct {
		pid_t pid; /* 0: none */
		enum espy_agent_how how;
		uint64_t since_ns, until_ns;
		uint64_t next_ns; /* not 0: given up and reported; the source tries it seldom, without a wait */
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
	uint64_t begun_ns, horizon_ns; /* begin of the look; the look delivers only records older than the horizon */
	int stop;
	int cnt;
};
int espy_agent_source__alloc(struct espy_agent_source *s);
/* Delivers all records in the rings that are older than the horizon. */
void espy_agent_delivery__look(struct espy_agent_delivery *d);
void espy_agent_delivery__lost(struct espy_agent_delivery *d, const struct espy_agent_process *p, unsigned reason,
			       uint64_t count, uint64_t time_ns);

/*
 * Gets the agent into the process, opens a session and switches the wanted marks on. Returns 0, or -errno after a
 * report.
 */
int espy_agent_process__begin(struct espy_agent_source *s, pid_t pid, enum espy_agent_how how);
/* jumps.c: */
int espy_agent_probes__open(struct espy_agent_source *s);
/* Has the agent of the process put its jumps. Those that it cannot are told. Returns 0, or -errno after a report. */
int espy_agent_process__probes_on(struct espy_agent_source *s, struct espy_agent_process *p);
/*
 * Makes a record of the stream of a hit whose `len` bytes of arguments lie at rec + 1 of struct espy_rec_mark, but for
 * its begin_ns: *begin is the time at which a function was entered that returns, by the clock of the process; 0: none.
 * Returns the definition of its place; NULL: it is none of ours.
 */
const struct espy_rec_probe_def *espy_agent_probe__take(const struct espy_agent_source *s, uint32_t def,
							struct espy_rec_mark *rec, uint32_t len, uint64_t *begin);
/* get_agent.c: gets the agent into the process, and attaches p->link to it. */
int espy_agent_process__get_agent(struct espy_agent_source *s, struct espy_agent_process *p, enum espy_agent_how how);
/* Hides the calls of this task, the agent's thread in a process. */
void espy_agent_source__hide(struct espy_agent_source *s, pid_t tid);
/* Lets go of threads that an injection could not let go of at its time, if they can be woken now. */
void espy_agent_source__let_go(struct espy_agent_source *s);
/*
 * Watches a child that was born with a session and has called. Returns 0 and keeps area_fd, or a negative errno; then
 * both descriptors stay the caller's. -EEXIST: the source knows the child already.
 */
int espy_agent_process__born(struct espy_agent_source *s, pid_t pid, const struct espy_agent_call *call, int area_fd,
			     int ring_fd);
/*
 * Returns whether the process shares its memory with no other. A vfork child shares its parent's until it executes a
 * program.
 */
bool espy_agent_process__stands_alone(pid_t pid);
/* Switches the marks off; the ring stays readable. */
void espy_agent_process__stop(struct espy_agent_process *p);
void espy_agent_process__free(struct espy_agent_process *p);
/* Frees a watched process, and remembers its ring for a call that comes later. */
void espy_agent_process__bury(struct espy_agent_source *s, struct espy_agent_process *p);
/* Returns whether its agent is still there; sets `ended` if not. */
bool espy_agent_process__lives(struct espy_agent_process *p);
/*
 * Returns definition i of the process, with its number in the stream, and delivers its record once. NULL: it is not
 * valid.
 */
struct espy_mark_known *espy_agent_process__def(struct espy_agent_source *s, struct espy_agent_process *p, uint32_t i,
						espy_record_fn fn, void *ctx, int *stop);
/* Returns the task that a chunk names, if it can be a task of the process; else the process. */
pid_t espy_agent_process__task(struct espy_agent_process *p, uint32_t tid);

/* Listens for calls, unless it does already. */
int espy_agent_calls__open(struct espy_agent_calls *c, uint64_t tag);
void espy_agent_calls__close(struct espy_agent_calls *c);
void espy_agent_calls__answer(struct espy_agent_source *s);
/* Returns whether a program waits for its answer. Silent connections of other users do not count. */
bool espy_agent_calls__any(const struct espy_agent_calls *c);

/* Flight recorder: keeps the ring of a process that has ended, among the newest. */
void espy_agent_flight__keep(struct espy_agent_source *s, struct espy_agent_process *p);
void espy_agent_flight__trim(struct espy_agent_source *s);
/* Copies all rings, calls deliver, which reads the copies to their ends, and returns its value. Sets stats. */
int espy_agent_flight__snapshot(struct espy_agent_source *s, int (*deliver)(void *ctx), void *ctx);

/* Watches from now on every process with an agent, of the whole system or a cgroup. */
int espy_agent_wide__begin(struct espy_agent_source *s, const struct espy_target *t);
int espy_agent_wide__look(struct espy_agent_source *s);

/* Returns whether the process may have an agent soon. */
bool espy_agent_source__expects(const struct espy_agent_source *s, pid_t pid);
#endif
