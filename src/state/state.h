/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state: the knowledge of the tracees at one place of a stream. It holds the tasks, their names, the files behind
 * their descriptors, the definitions of marks, and the clocks. The session applies the records of the stream to the state,
 * one after the other. The state asks its lookups for what the stream does not tell. A FACT record can keep each new
 * answer. Another state that is later made from the same records, elsewhere, without a live system, is then equal to this
 * state.
 *
 * The session applies a record in two halves, and shows the event between them:
 *
 *	espy_state__apply()          the task of the record, and everything that holds when the event begins
 *	espy_state__before_args()    only for a call that has ended: before its arguments are decoded
 *	espy_state__before_result()  only for a call that has ended: after its arguments, before its result
 *	espy_state__applied()        the effects of the event: a closed descriptor, a task that is gone
 */
#ifndef ESPY_STATE_STATE_H
#define ESPY_STATE_STATE_H

#include "describe/image.h"
#include "record/record.h"
#include "source/source.h"
#include "state/budget.h"
#include "state/lookups.h"
#include "state/tasks.h"
#include "state/zone.h"

struct espy_state;
struct espy_call_view;
struct espy_marks_seen;

struct espy_state_opts {
	const struct espy_lookups *lookups; /* the functions that answer what the stream does not tell: live, trace */
	bool follow_fds; /* follow the files behind descriptors through fork, exec and close */
	bool names;	 /* ask for the name of a task, and its numbers in pid namespaces, when the state first meets it */
	bool ask_once;	 /* ask again about a descriptor only if a call may have changed it */
	size_t max_bytes; /* bound of the tables, which a trace could fill without end; 0: no bound */
	/*
	 * Each task has so many bytes for the consumer of the events, zero at first. The state calls drop_slot before it
	 * frees them. drop_slot NULL: the consumer need do nothing.
	 */
	size_t slot_sz;
	void (*drop_slot)(void *ctx, struct espy_task *task);
	void *slot_ctx;
};

/* Makes an empty state. Returns 0 or -ENOMEM. */
int espy_state__new(struct espy_state **out, const struct espy_state_opts *opts);
/* Puts the state back as it was when it was made. The receiver of its facts stays. */
void espy_state__reset(struct espy_state *s);
void espy_state__free(struct espy_state *s);

/* Says that the source tells the numbers of a new task in pid namespaces: the state then does not ask the lookups for them. */
void espy_state__numbers_are_told(struct espy_state *s);
/* Makes the state give fn each answer that differs from the answer before, as a FACT record. fn NULL: the state gives no more answers. */
void espy_state__keep_facts(struct espy_state *s, espy_record_fn fn, void *ctx);
/*
 * Gives fn the whole state, as records that make another state equal to this state. Ends early with fn's return value if
 * that is not 0. Else returns 0.
 */
int espy_state__dump(struct espy_state *s, espy_record_fn fn, void *ctx);

/*
 * Applies the first half of a record. *task is the task that the record is about; NULL: no watched task. Returns false if
 * the session has dropped the task: the record is then not part of the stream any more.
 */
bool espy_state__apply(struct espy_state *s, const struct espy_rec *rec, struct espy_task **task);
/* The session calls these for a call that has ended, before it decodes the arguments, and before it decodes the result. */
void espy_state__before_args(struct espy_state *s, const struct espy_call_view *v);
void espy_state__before_result(struct espy_state *s);
/*
 * Applies the second half of a record. v: the call of an EXIT record that the session could read, else NULL. The task may
 * be gone after this.
 */
void espy_state__applied(struct espy_state *s, const struct espy_rec *rec, const struct espy_call_view *v);
/* Applies a run of marks of one task and one definition, from `first` to `last`. Returns false as espy_state__apply does. */
bool espy_state__marks(struct espy_state *s, const struct espy_rec_mark *first, const struct espy_rec_mark *last,
		       uint64_t cnt);

/* ---- tasks */
struct espy_task *espy_state__task(struct espy_state *s, uint32_t tid); /* NULL: the state does not know the task */
/*
 * Returns the task behind `task`; for NULL, the first task. Returns NULL if there is none. The caller must remove no task
 * between two calls.
 */
struct espy_task *espy_state__next_task(struct espy_state *s, const struct espy_task *task);
/* Returns a pointer to the number of watched tasks, valid as long as the state. */
const size_t *espy_state__live_tasks(const struct espy_state *s);
/* Ends the watching of a task. The state still knows the task, so that the session can tell records that were on their way from news. */
void espy_state__detach(struct espy_state *s, struct espy_task *task);

/* ---- descriptors and names. The state asks its lookups at once for what it does not know yet. */
struct espy_fd_name;
/* Returns the name of the file behind a descriptor; NULL: not known. fd: AT_FDCWD is the working directory. */
const struct espy_fd_name *espy_state__fd(struct espy_state *s, uint32_t tid, int fd);
/* Returns the name of a task; NULL: not known. The name is valid until the next question. */
const char *espy_state__comm(struct espy_state *s, uint32_t tid);
/* Returns the effective user of a task as decimal digits (ESPY_FACT_UID), or the path of its cgroup in the tree of version 2 (ESPY_FACT_CGROUP). */
const char *espy_state__of_task(struct espy_state *s, enum espy_fact_kind kind, uint32_t tid);
/* Tells whether one of the descriptors has been a netlink socket. */
bool espy_state__had_netlink(const struct espy_state *s);
/* Returns the file that a call has mapped: its name and the arguments of the mapping. NULL: the call has mapped none. */
const struct espy_fd_name *espy_state__mapped_file(struct espy_state *s, const struct espy_call_view *v);
/* Asks the lookups for the open descriptors of a process. Drops what the state knew of them before, unless the process has ended. */
void espy_state__seed(struct espy_state *s, uint32_t tgid);
/*
 * Seeds the descriptors of a command that espy starts with the open descriptors of espy itself. A short command has ended
 * before the state could ask for them.
 */
void espy_state__inherit(struct espy_state *s, uint32_t tgid);
/* Tells whether a source must send this call even if no sink shows it. Else names of closed descriptors would live on. */
bool espy_state__needs_call(const struct espy_image *img, uint32_t nr);

/* ---- the rest */
struct espy_marks_seen *espy_state__marks_seen(struct espy_state *s); /* NULL: the stream has defined no mark */
/* Returns the number of definitions of marks that were damaged, or found no room. */
uint64_t espy_state__bad_definitions(const struct espy_state *s);
/*
 * Returns CLOCK_REALTIME - CLOCK_MONOTONIC at that moment, as the stream last told it before; else as
 * espy_state__set_realtime_offset has set it.
 */
int64_t espy_state__realtime_offset_ns(const struct espy_state *s, uint64_t time_ns);
void espy_state__set_realtime_offset(struct espy_state *s, int64_t ns);
struct espy_zone *espy_state__zone(struct espy_state *s); /* cnt 0: the time zone of this machine */
struct espy_budget *espy_state__budget(struct espy_state *s);

#endif
