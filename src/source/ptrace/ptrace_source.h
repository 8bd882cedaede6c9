/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ptrace source, inside. One source object belongs to one thread: the kernel lets only the thread that seized
 * a task control it, so all calls through source.h come from the thread that called start_command or add_target.
 *
 *      source.c         life of a source, poll
 *      stops.c          the meaning of each stop of a task
 *      records.c        makes records and delivers them
 *      traced_tasks.c   table of tasks
 *      start_command.c  the command
 *      attach.c         -p, detaching, and reasons of a refusal
 *      tamper.c         changes calls
 *      stack.c          call stacks
 *      stop_filter.c    filter with which only wanted calls stop
 *      can_run.c        whether the source can run here
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
	bool detaching; /* the source lets go of it at its next stop */
	bool filtered;	/* it has our seccomp filter */
	bool plain;	/* filtered, but all its calls stop: a filter of its own might hide some */
	bool in_call;	/* between entry and exit, as far as its stops tell */
	bool wanted;	/* the source records the call */
	uint64_t probe_ip; /* a place in the kernel's code for probes: calls from there are left out; 0: not known */
	bool starting;	/* our command before its execve: no record is sent */
	/* A task whose stop came before its parent's event: it waits for that. */
	bool embryo;
	int embryo_status;
	uint64_t embryo_ns;
	bool adopted;		    /* that event did not come in time; the source has sent FORK all the same */
	struct espy_call_regs regs; /* of its present call */
	bool has_enter;
	/* Tampering. */
	const struct espy_tamper *tamper; /* the rule of its present call; NULL: none */
	uint32_t *tamper_counts;	  /* calls so far, by rule; NULL: none */
	uint16_t tamper_flags;		  /* changes of the call: ESPY_RF_... */
	uint64_t delayed_until_ns;	  /* not 0: it stays in its stop until then */
	int delayed_signal;		  /* and goes on with this signal */
	struct espy_rec *last_stack; /* of a call that does not return: sent when the task has ended; NULL: none */
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
	bool early;	    /* a child went on before its parent's event: detached, or adopted */
	bool leaving; /* the source lets go of every task, also of new ones */

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
	struct espy_late_pages late;
	struct espy_stacks *stacks; /* made with the first stack */
	bool told;	      /* SIGCHLD reaches the thread that polls */
	uint64_t told_at_ns;  /* time of the last look whether it does */
	uint64_t nap_ns;      /* not told: length of the next sleep */
	bool warned_filter;
	unsigned char *scratch; /* ESPY_REC_MAX, for the record in the making */
	struct espy_rec_more *piece; /* with room for ESPY_MORE_PIECE bytes; NULL: none was needed yet */
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
/* Sends the ENTER record that was held back while the command started. */
void espy_ptrace__emit_held_enter(struct espy_ptrace *p, struct espy_ptask *t);
/* Returns the time that the task's process has spent on the CPU; 0: not known. Of one thread the kernel does not tell
 * it. */
uint64_t espy_ptrace__cpu_ns(const struct espy_ptask *t);
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
/* Lets a stopped task go on with signal sig (0: none); detaches it if `detaching`. */
void espy_ptrace__resume(struct espy_ptrace *p, struct espy_ptask *t, int sig);
void espy_ptrace__adopt_orphans(struct espy_ptrace *p);
long espy_ptrace__options(const struct espy_ptrace *p, bool filtered);
/* How long the first stop of a child may wait for the event of its parent. */
#define ESPY_EMBRYO_NS 300000000ull

/* stack.c */
/* Sends the stack of the call that the task stands in; nothing if stacks are not wanted. */
void espy_ptrace__emit_stack(struct espy_ptrace *p, struct espy_ptask *t);
/* Forgets the mapped files of a process, which has another image, or none. */
void espy_ptrace__forget_stacks(struct espy_ptrace *p, pid_t tgid);
/* Keeps the stack until the task has ended. */
void espy_ptrace__keep_stack(struct espy_ptrace *p, struct espy_ptask *t);

/* tamper.c */
/* Applies the rules to a wanted call that the task has begun. Returns the signal that a rule sends, or 0. */
int espy_ptrace__tamper_enter(struct espy_ptrace *p, struct espy_ptask *t);
/* Applies the rule to a call that has ended: regs.ret becomes the program's result, tamper_flags the changes. */
void espy_ptrace__tamper_exit(struct espy_ptrace *p, struct espy_ptask *t);
/* Lets tasks go on whose delay is over. Returns the time of the next one (CLOCK_MONOTONIC); UINT64_MAX: none. */
uint64_t espy_ptrace__wake_delayed(struct espy_ptrace *p);

/* start_command.c, attach.c */
int espy_ptrace__start_command(struct espy_source *s, const struct espy_command *cmd, pid_t *pid);
int espy_ptrace__add_target(struct espy_source *s, const struct espy_target *t);
int espy_ptrace__remove_target(struct espy_source *s, pid_t pid);
/* Writes why a task could not be seized, and a way forward, in one line. */
void espy_ptrace__explain(pid_t pid, int err, char *text, size_t text_sz);
int espy_ptrace__probe(char *why, size_t why_sz);

/* stop_filter.c */
struct sock_filter;
#define ESPY_FILTER_MAX 4096u /* BPF_MAXINSNS */
/* The filter's mark in the event message: a filter of the program's own may return TRACE, too. */
#define ESPY_FILTER_MARK 0xe597u
/* Returns whether a filter may be installed without no_new_privs. */
bool espy_ptrace__may_filter(void);
bool espy_ptrace__filter_useful(const struct espy_ptrace *p);
/* Instructions written to prog[0..max), or -E2BIG. */
int espy_ptrace__filter_build(const struct espy_ptrace *p, struct sock_filter *prog, size_t max);

#endif
