/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the captured bytes of one call do not hold: the file behind a descriptor, the name of a
 * process, of an interface. Descriptors come from the stream (FDNAME records, close, fork, exec);
 * what the stream has not told is asked of the lookups. Private to src/state/.
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
#include "state/tasks.h"

struct fd_news;

/* The name of a task or of a network interface: both have at most 15 bytes. */
struct espy_numbered_name {
	uint32_t number;
	bool told;	   /* by the stream, which tells every change */
	uint64_t asked_ns; /* when it was asked for last, CLOCK_MONOTONIC */
	char *name;	   /* ours; empty: there was no answer */
	UT_hash_handle hh;
};

/* A link target, the longest answer, has at most PATH_MAX bytes. */
#define ESPY_ANSWER_MAX 8192u

struct espy_resolve {
	const struct espy_lookups *lookups;
	struct espy_tasks *tasks;
	struct espy_fd_table fds;
	struct fd_news *news; /* FDNAME records of the call that is coming, and facts that belong behind them */
	size_t news_cnt, news_cap;
	bool news_taken;  /* at this record: what is asked now is asked with their names known */
	bool call_shown;  /* at this record: the call is behind us */
	bool stream_only; /* the lookups are not asked: they show what the call has changed already */
	bool ask_once;	  /* what has been asked of a descriptor is not asked again */
	/* Told each answer that differs from the one before, as a FACT record; NULL: nobody keeps them. */
	espy_record_fn note;
	void *note_ctx;
	int note_stop; /* what it returned last; not 0: it is told no more */
	/*
	 * Number of the record at work. What is asked twice while one record is shown has one answer, as it has when
	 * the record is shown again: it may change in between.
	 */
	uint32_t record;
	uint64_t now_ns;		/* time of the record at work, for the facts that it makes */
	struct espy_numbered_name *comms, *ifnames; /* the answers so far */
	struct espy_pid_numbers pids;
	struct espy_pid_number missed; /* the last one that nobody had, when it was asked for: */
	uint64_t missed_ns;
	struct espy_numbered_name *uids, *cgroups;  /* of tasks, where a condition asks for them */
	bool netlink;			/* one of the descriptors was of netlink */
	uint32_t open_fds_of;		/* whose descriptors a fact has told, after an exec; 0: none */
	uint64_t open_fds[16];
};

/* A record begins to be dealt with. */
void espy_resolve__begin(struct espy_resolve *r, uint64_t time_ns);
/* A fact from a trace or a source: what the observer was told at this place of the stream. */
void espy_resolve__fact(struct espy_resolve *r, const struct espy_rec_fact *f);
/* A source tells what a new descriptor is, just before the record of the call that made it. 0 or -ENOMEM. */
int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec);
/* Around the text of a call that has ended: its arguments, its result. */
void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v);
void espy_resolve__before_result(struct espy_resolve *r);
/* The call was shown: what became true by it is true from now on. */
void espy_resolve__call_shown(struct espy_resolve *r);
/* What a call that has ended did to the descriptors of its process (close, close_range, socket). */
void espy_resolve__call(struct espy_resolve *r, const struct espy_call_view *v);
/* A new task has its parent's name; a new process its descriptors as well. */
void espy_resolve__fork(struct espy_resolve *r, const struct espy_rec_fork *f);
/* Learn what a process has open; ours: as if it were this one. */
void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid, bool ours);
/* A new image was started; after its execve is shown. */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid);
/* A task has ended, and with it, perhaps, its process. */
void espy_resolve__forget(struct espy_resolve *r, uint32_t tid, uint32_t tgid, bool process);
/* Forgets everything. */
void espy_resolve__clear(struct espy_resolve *r);

/* What a descriptor is: from the table, else from the lookups. details: more than its name is asked for. NULL: not known. */
struct espy_fd_name *espy_resolve__fd(struct espy_resolve *r, uint32_t tid, uint32_t tgid, int fd, bool details);
bool espy_resolve__netlink_proto(struct espy_resolve *r, uint32_t tid, uint32_t tgid, int fd, unsigned *proto);
/*
 * Names of tasks and of interfaces. NULL: no answer. A name is asked for once; that of an interface, or of a task that is
 * not watched, may change unseen and is asked for again after a second.
 */
const char *espy_resolve__comm(struct espy_resolve *r, uint32_t tid);
const char *espy_resolve__uid(struct espy_resolve *r, uint32_t tid);
const char *espy_resolve__cgroup(struct espy_resolve *r, uint32_t tid);
const char *espy_resolve__ifname(struct espy_resolve *r, uint32_t index);
/* A task comes whose numbers in pid namespaces the stream does not tell. */
void espy_resolve__ask_pid_numbers(struct espy_resolve *r, uint32_t tid);
/*
 * The observer's number of what a task calls `number`; `gone`: also of one that has ended; else that one is forgotten. 0: not
 * known. In the observer's own namespace it is the same.
 */
uint32_t espy_resolve__pid(struct espy_resolve *r, uint32_t tid, uint32_t number, bool gone);
/* The task may have another name, which the stream has told if it tells names. */
void espy_resolve__comm_changed(struct espy_resolve *r, uint32_t tid);
void espy_resolve__forget_comm(struct espy_resolve *r, uint32_t tid);
void espy_resolve__copy_comm(struct espy_resolve *r, uint32_t from, uint32_t to);
void espy_resolve__clear_names(struct espy_resolve *r);

void espy_resolve__set(struct espy_resolve *r, uint32_t tgid, int fd, const char *name, size_t len);
/* Tell an answer; len ESPY_FACT_NO_ANSWER: that there is none. */
void espy_resolve__note(struct espy_resolve *r, enum espy_fact_kind kind, uint32_t tid, uint32_t tgid, int32_t arg,
			const void *bytes, uint32_t len);
/* A fact takes effect. */
void espy_resolve__apply_fact(struct espy_resolve *r, const struct espy_rec_fact *f);
/* All that is known, and then what waits for its call, as records. Each ends with what fn returns, if not 0. */
int espy_resolve__dump(struct espy_resolve *r, espy_record_fn fn, void *ctx);
int espy_resolve__dump_news(struct espy_resolve *r, espy_record_fn fn, void *ctx);

/* Is it a call of x86-64 that maps memory? */
bool espy_resolve__maps_file(const struct espy_call_view *v);

#endif
