/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ptrace source, inside. One source object belongs to one thread: the kernel lets only the thread that seized
 * a task control it, so all calls through source.h come from the thread that called start_command or add_target.
 *
 *      source.c         life of a source, poll
 *      stops.c          what each stop of a task means
 *      records.c        records made and handed over
 *      traced_tasks.c   table of tasks
 *      start_command.c  the command
 *      attach.c         -p, detaching, and why it was refused
 *      tamper.c         calls that are changed
 *      stack.c          call stacks
 *      stop_filter.c    filter with which only wanted calls stop
 *      can_run.c        can it run here
 */
#ifndef ESPY_PTRACE_SOURCE_H
#define ESPY_PTRACE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/ptrace.h>
#include "arch/traced_call.h"
#include "source/plan_run.h"
#include "source/source_report.h"
#include "source/source.h"

#define ESPY_TASK_BUCKETS 1024u

struct espy_ptask {
	struct espy_ptask *next; /* of its bucket */
	pid_t tid, tgid;
	bool stopped;	/* in a stop that we have not answered yet */
	bool listening; /* in a job-control stop, left there with PTRACE_LISTEN */
	bool detaching; /* let go of at its next stop */
	bool filtered;	/* our seccomp filter is in it */
	bool plain;	/* filtered, but all its calls are to stop: a filter of its own might hide some */
	bool in_call;	/* between entry and exit, as far as we were told */
	bool wanted;	/* the call is recorded */
	uint64_t probe_ip; /* a place in the kernel's code for probes, from where calls are left out; 0: none is known */
	bool starting;	/* our command before its execve: nothing is shown */
	/* A task whose stop came before its parent's event: it waits for that. */
	bool embryo;
	int embryo_status;
	uint64_t embryo_ns;
	bool adopted;		    /* that event did not come in time; FORK was sent all the same */
	struct espy_call_regs regs; /* of the call it is in */
	bool has_enter;
	/* Tampering. */
	const struct espy_tamper *tamper; /* the rule that holds for the call it is in; NULL: none */
	uint32_t *tamper_counts;	  /* calls so far, by rule; NULL: none */
	uint16_t tamper_flags;		  /* what was changed of it: ESPY_RF_... */
	uint64_t delayed_until_ns;	  /* not 0: it stays in its stop until then */
	int delayed_signal;		  /* and goes on with this signal */
	struct espy_rec *last_stack; /* of a call that does not return: shown when the task has ended; NULL: none */
	unsigned char *enter; /* its ENTER record */
	size_t enter_cap;
	struct espy_task_mem mem;
};

struct espy_ptrace {
	struct espy_source src; /* first */
	struct espy_source_opts opts;
	struct espy_call_set sets[ESPY_ABI_CNT];
	bool has_set[ESPY_ABI_CNT];
	struct espy_source_stats stats;

	struct espy_ptask *buckets[ESPY_TASK_BUCKETS];
	size_t task_cnt, embryo_cnt;
	size_t delayed_cnt; /* tasks with delayed_until_ns */
	bool early;	    /* a child went on before its parent had told of it: it was let go of, or adopted */
	bool leaving; /* everything is let go of, also what shows up yet */

	pid_t command; /* 0: none */
	bool command_ended;
	int command_status;

	/* While poll runs; outside of it records wait in the queue. */
	espy_record_fn fn;
	void *fn_ctx;
	int fn_result, delivered;
	unsigned char *queue;
	size_t queue_sz, queue_cap, queue_off;

	uint64_t now_ns; /* of the stop in hand */
	struct espy_unwinder *unwinder; /* made with the first stack */
	bool told;	      /* SIGCHLD reaches the thread that polls */
	uint64_t told_at_ns;  /* when that was looked at last */
	uint64_t nap_ns;      /* else: how long it sleeps next */
	bool warned_filter;
	unsigned char *scratch; /* ESPY_REC_MAX, for the record in the making */
};

/* traced_tasks.c */
struct espy_ptask *espy_ptask__find(struct espy_ptrace *p, pid_t tid);
struct espy_ptask *espy_ptask__add(struct espy_ptrace *p, pid_t tid, pid_t tgid); /* NULL: no memory */
void espy_ptask__remove(struct espy_ptrace *p, struct espy_ptask *t);
/* fn may remove the task that it is called with, and no other. */
void espy_ptask__each(struct espy_ptrace *p, void (*fn)(struct espy_ptrace *p, struct espy_ptask *t, void *ctx),
		      void *ctx);

/* records.c */
void espy_ptrace__emit(struct espy_ptrace *p, const struct espy_rec *rec);
void espy_ptrace__emit_enter(struct espy_ptrace *p, struct espy_ptask *t);
/* The ENTER that was held back while the command started. */
void espy_ptrace__emit_held_enter(struct espy_ptrace *p, struct espy_ptask *t);
void espy_ptrace__emit_exit(struct espy_ptrace *p, struct espy_ptask *t, bool alive);
void espy_ptrace__emit_fork(struct espy_ptrace *p, const struct espy_ptask *parent, pid_t tid, pid_t tgid,
			    uint64_t flags);
void espy_ptrace__emit_exec(struct espy_ptrace *p, const struct espy_ptask *t, pid_t old_tid);
void espy_ptrace__emit_task_exit(struct espy_ptrace *p, const struct espy_ptask *t, int status);
void espy_ptrace__emit_signal(struct espy_ptrace *p, const struct espy_ptask *t, int sig);
void espy_ptrace__emit_bare(struct espy_ptrace *p, const struct espy_ptask *t, enum espy_rec_type type, int nr);
void espy_ptrace__drain_queue(struct espy_ptrace *p);
const struct espy_call_set *espy_ptrace__set(const struct espy_ptrace *p, enum espy_abi abi);
#define espy_ptrace__report(p, ...) espy_source_report(&(p)->opts, __VA_ARGS__)

/* stops.c */
void espy_ptrace__handle(struct espy_ptrace *p, pid_t tid, int status);
/* Let a stopped task go on, delivering sig (0: none); or let it go for good if that was asked for. */
void espy_ptrace__resume(struct espy_ptrace *p, struct espy_ptask *t, int sig);
void espy_ptrace__adopt_orphans(struct espy_ptrace *p);
long espy_ptrace__options(const struct espy_ptrace *p, bool filtered);
/* How long the first stop of a child may wait for the event of its parent. */
#define ESPY_EMBRYO_NS 300000000ull

/* stack.c */
/* Sends the stack of the call that the task stands in; nothing if stacks are not wanted. */
void espy_ptrace__emit_stack(struct espy_ptrace *p, struct espy_ptask *t);
/* What is known of the files of a process is forgotten: it has another image, or none. */
void espy_ptrace__forget_stacks(struct espy_ptrace *p, pid_t tgid);
/* Keeps it until the task has ended. */
void espy_ptrace__keep_stack(struct espy_ptrace *p, struct espy_ptask *t);

/* tamper.c */
/* The task has begun a wanted call: does what a rule asks for then. Returns the signal that the rule sends, or 0. */
int espy_ptrace__tamper_enter(struct espy_ptrace *p, struct espy_ptask *t);
/* The call has ended: regs.ret is what the program will see, tamper_flags say what was changed. */
void espy_ptrace__tamper_exit(struct espy_ptrace *p, struct espy_ptask *t);
/* Lets tasks go on whose delay is over. Returns when the next one is to go on (CLOCK_MONOTONIC), UINT64_MAX: none. */
uint64_t espy_ptrace__wake_delayed(struct espy_ptrace *p);

/* start_command.c, attach.c */
int espy_ptrace__start_command(struct espy_source *s, const struct espy_command *cmd, pid_t *pid);
int espy_ptrace__add_target(struct espy_source *s, const struct espy_target *t);
int espy_ptrace__remove_target(struct espy_source *s, pid_t pid);
/* Why a task could not be seized, with a way forward, in one line. */
void espy_ptrace__explain(pid_t pid, int err, char *text, size_t text_sz);
int espy_ptrace__probe(char *why, size_t why_sz);

/* stop_filter.c */
struct sock_filter;
#define ESPY_FILTER_MAX 4096u /* BPF_MAXINSNS */
/* The filter's mark in the event message: a filter of the program's own may also say TRACE. */
#define ESPY_FILTER_MARK 0xe597u
/* May a filter be installed without no_new_privs? */
bool espy_ptrace__may_filter(void);
bool espy_ptrace__filter_useful(const struct espy_ptrace *p);
/* Instructions written to prog[0..max), or -E2BIG. */
int espy_ptrace__filter_build(const struct espy_ptrace *p, struct sock_filter *prog, size_t max);

#endif
