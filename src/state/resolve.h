/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers that the captured bytes of a call do not hold: the file behind a descriptor, the name of a task, the name of an
 * interface. Descriptors come from the stream (FDNAME records, close, fork, exec). The functions ask the lookups for what
 * the stream has not told. Private to src/state/.
 */
#ifndef ESPY_STATE_RESOLVE_H
#define ESPY_STATE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>
#include "describe/call_view.h"
#include "record/record.h"
#include "source/source.h"
#include "state/fd_table.h"
#include "state/lookups.h"
#include "state/pid_numbers.h"
#include "state/resolver.h"
#include "state/tasks.h"
#include "state/zone.h"

struct fd_news;

/* The name of a task or of a network interface: both have at most 15 bytes. */
struct espy_numbered_name {
	uint32_t number;
	bool told;	   /* the stream has told the name, and tells every change */
	uint64_t asked_ns; /* time of the last question for it, CLOCK_MONOTONIC */
	char *name;	   /* owned by the table; empty: there was no answer */
	UT_hash_handle hh;
};

/* A link target, the longest answer, has at most PATH_MAX bytes. */
#define ESPY_ANSWER_MAX 8192u

enum { ESPY_PAIRS = 64 };

struct espy_resolve {
	const struct espy_lookups *lookups;
	struct espy_tasks *tasks;
	const struct espy_zone *zone;
	struct espy_fd_table fds;
	struct fd_news *news; /* FDNAME records of the call that comes next, and facts that belong behind them */
	size_t news_cnt, news_cap;
	bool news_taken;  /* at this record: the news are applied; questions from now on are asked with their names known */
	bool call_shown;  /* at this record: the session has shown the call */
	bool stream_only; /* do not ask the lookups: they show already what the call has changed */
	bool ask_once;	  /* do not ask again about a descriptor */
	/* Ends of connections of AF_UNIX that were accepted last: the one that waited got a peer with a number by that.
	 */
	struct {
		uint64_t ino;
		uint64_t peer;
	} pairs[ESPY_PAIRS];
	uint32_t pair_cnt; /* so far */
	/* Gets each answer that differs from the answer before, as a FACT record; NULL: no receiver. */
	espy_record_fn note;
	void *note_ctx;
	int note_stop; /* the last return value of note; not 0: note gets no more answers */
	/*
	 * Number of the current record. A question that is asked twice while the session shows one record gets one answer. It
	 * also has one answer when a later session shows the record again. The truth may change between the two questions.
	 */
	uint32_t record;
	uint64_t now_ns;		/* time of the current record, for the facts that it makes */
	struct espy_numbered_name *comms, *ifnames, *genls; /* the answers so far */
	struct espy_pid_numbers pids;
	struct espy_pid_number missed; /* the last number for which the lookups found no task; missed_ns: the time of that question */
	uint64_t missed_ns;
	struct espy_numbered_name *uids, *cgroups;  /* answers about tasks, where a condition asks for them */
	struct espy_numbered_name *namespaces;	    /* of tasks, after calls that may have changed them */
	struct espy_numbered_name *vcpu_exits;	    /* the same, after KVM_RUN */
	char context[ESPY_ANSWER_MAX];	/* the last answer about a security context */
	bool netlink;			/* one of the descriptors was a netlink socket */
	uint32_t open_fds_of;		/* the process whose open descriptors (open_fds) a fact has told, after an exec; 0: none */
	uint64_t open_fds[16];
};

/* Begins a record. time_ns: the time of the record. */
void espy_resolve__begin(struct espy_resolve *r, uint64_t time_ns);
/* Takes a fact from a trace or a source: an answer that the observer got at this place of the stream. */
void espy_resolve__fact(struct espy_resolve *r, const struct espy_rec_fact *f);
/*
 * Takes the name of a new descriptor. A source sends it just before the record of the call that made the descriptor.
 * Returns 0 or -ENOMEM.
 */
int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec);
/* Called for a call that has ended, before its arguments are decoded, and before its result is decoded. */
void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v);
void espy_resolve__before_result(struct espy_resolve *r);
/* Called when the session has shown the call: the effects of the call hold from now on. */
void espy_resolve__call_shown(struct espy_resolve *r);
/* Applies the effects of a call that has ended to the descriptors of its process (close, close_range, socket). */
void espy_resolve__call(struct espy_resolve *r, const struct espy_call_view *v);
/*
 * Gives descriptors the names that their files have after a call: the path of argument `from` has become that of `to`,
 * or is gone (ESPY_NO_ARG).
 */
void espy_resolve__moved(struct espy_resolve *r, const struct espy_call_view *v, unsigned from, unsigned to);
/* Gives a new task the name of its parent, and a new process the descriptors of its parent, too. */
void espy_resolve__fork(struct espy_resolve *r, const struct espy_rec_fork *f);
/* Asks the lookups for the open descriptors of a process; ours: as if the process were this process. */
void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid, bool ours);
/* Drops the descriptors that an exec has closed. Called after the session has shown the execve. */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid);
/* Forgets a task that has ended; process: its process has ended, too. */
void espy_resolve__forget(struct espy_resolve *r, uint32_t tid, uint32_t tgid, bool process);
/* Forgets everything. */
void espy_resolve__clear(struct espy_resolve *r);

/*
 * Returns the file behind a descriptor, from the table, else from the lookups; NULL: not known. details: the caller asks
 * for more than the name.
 */
struct espy_fd_name *espy_resolve__fd(struct espy_resolve *r, uint32_t tid, int fd, bool details);
/* The answers as functions of a resolver. The functions with a parameter `resolve`, a struct espy_resolve, are among them as they are. */
struct espy_resolver espy_resolve__resolver(struct espy_resolve *r);
/*
 * Return the names of tasks and of interfaces; NULL: no answer. The functions ask for a name once. The name of an
 * interface, or of a task that is not watched, may change unseen: they ask for it again after a second.
 */
const char *espy_resolve__comm(void *resolve, uint32_t tid);
const char *espy_resolve__ifname(void *resolve, uint32_t index);
const char *espy_resolve__genl(void *resolve, uint32_t family);
/* Returns the namespaces of a task (ESPY_FACT_NAMESPACES), asked at each question; NULL: no answer. */
const char *espy_resolve__namespaces(void *resolve, uint32_t tid);
/* The same of the reason of its last KVM_RUN (ESPY_FACT_VCPU_EXIT). */
const char *espy_resolve__vcpu_exit(void *resolve, uint32_t tid, int fd);
/* Returns the user (ESPY_FACT_UID) or the cgroup (ESPY_FACT_CGROUP) of a task; NULL: no answer. A task that has ended keeps its last one. */
const char *espy_resolve__of_task(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid);
/* Asks for the numbers in pid namespaces of a new task. For a task whose numbers the stream does not tell. */
void espy_resolve__ask_pid_numbers(struct espy_resolve *r, uint32_t tid);
/*
 * Returns the observer's number of the task that `tid` calls `number`; 0: not known. `gone`: also of a task that has
 * ended; else the function forgets its numbers, unless the present call of `tid` has made that task. In the observer's
 * own namespace the number is the same.
 */
uint32_t espy_resolve__pid(void *resolve, uint32_t tid, uint32_t number, bool gone);
/* Asks again for the name of a task that may have another name now, unless the stream tells its names. */
void espy_resolve__comm_changed(struct espy_resolve *r, uint32_t tid);
void espy_resolve__forget_comm(struct espy_resolve *r, uint32_t tid);
void espy_resolve__copy_comm(struct espy_resolve *r, uint32_t from, uint32_t to);
void espy_resolve__clear_names(struct espy_resolve *r);

void espy_resolve__set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len);
/* Sets a name that the lookups have told, and notes it for later readers. */
void espy_resolve__learn(struct espy_resolve *r, uint32_t tgid, int fd, const char *link, size_t len);
/* Gives `note` an answer as a FACT record; len ESPY_FACT_NO_ANSWER: there is no answer. */
void espy_resolve__note(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid, uint32_t tgid, int32_t arg,
			const void *bytes, uint32_t len);
/* Applies a fact to the tables. */
void espy_resolve__apply_fact(struct espy_resolve *r, const struct espy_rec_fact *f);
/* Give fn all answers, and the news that wait for their call, as records. Each ends early with fn's return value if that is not 0. */
int espy_resolve__dump(struct espy_resolve *r, espy_record_fn fn, void *ctx);
int espy_resolve__dump_news(struct espy_resolve *r, espy_record_fn fn, void *ctx);

/* Tells whether the call is a native call that maps memory. */
bool espy_resolve__maps_file(const struct espy_call_view *v);

#endif
