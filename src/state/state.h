/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known of the watched world at one place of a stream: tasks, what their descriptors are, their names, the marks
 * that were defined, the clocks. The records of the stream are applied to it one after the other; what the stream does
 * not tell, the state asks of the lookups that it was given. Each new answer can be kept as a FACT record, so that a
 * state that is made from the same records later, elsewhere, without a live system, is equal to this one.
 *
 * A record is applied in two halves, and the event is shown between them:
 *
 *	espy_state__apply()          the task of the record, and all that holds when the event begins
 *	espy_state__before_args()    calls that have ended: before and between
 *	espy_state__before_result()  their arguments and their result
 *	espy_state__applied()        what the event leaves behind: a closed descriptor, a task that is gone
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
	size_t size; /* of this struct, for later growth */
	const struct espy_lookups *lookups; /* who answers what the stream does not tell: live, trace */
	bool follow_fds; /* what descriptors are is followed through fork, exec and close */
	bool names;	 /* what tasks are called is asked when they are first met, their numbers in pid namespaces as well */
	bool ask_once;	 /* what has been asked of a descriptor is asked again only if a call may have changed it */
	size_t max_bytes; /* of the tables, which a trace could fill without end; 0: no bound */
	/*
	 * Each task has so many bytes, zero at first, for the consumer of the events. drop_slot is called before they go;
	 * NULL: nothing need be done.
	 */
	size_t slot_sz;
	void (*drop_slot)(void *ctx, struct espy_task *task);
	void *slot_ctx;
};

/* 0 or -ENOMEM. */
int espy_state__new(struct espy_state **out, const struct espy_state_opts *opts);
/* As it was when it was made; who keeps its facts stays. */
void espy_state__reset(struct espy_state *s);
void espy_state__free(struct espy_state *s);

/* The source tells the numbers of a new task in pid namespaces: nobody need be asked for them. */
void espy_state__numbers_are_told(struct espy_state *s);
/* fn is given each answer that differs from the one before, as a FACT record; NULL: no more. */
void espy_state__keep_facts(struct espy_state *s, espy_record_fn fn, void *ctx);
/* Everything that is known, as records that make another state equal to this one. Ends with what fn returns, if not 0. */
int espy_state__dump(struct espy_state *s, espy_record_fn fn, void *ctx);

/*
 * First half. *task: the task that the record is about; NULL: none that is watched. Returns false if the task was let go
 * of: the record is not part of the stream any more.
 */
bool espy_state__apply(struct espy_state *s, const struct espy_rec *rec, struct espy_task **task);
/* Around the text of a call that has ended: its arguments, its result. */
void espy_state__before_args(struct espy_state *s, const struct espy_call_view *v);
void espy_state__before_result(struct espy_state *s);
/* Second half. v: of an EXIT record that could be read, else NULL. The task may be gone after this. */
void espy_state__applied(struct espy_state *s, const struct espy_rec *rec, const struct espy_call_view *v);
/* A run of marks of one task and one definition has come, from `first` to `last`. false as with apply. */
bool espy_state__marks(struct espy_state *s, const struct espy_rec_mark *first, const struct espy_rec_mark *last,
		       uint64_t cnt);

/* ---- tasks */
struct espy_task *espy_state__task(struct espy_state *s, uint32_t tid); /* NULL: not known */
/* The one behind `task`, NULL: the first one. NULL: there is none. None may be removed meanwhile. */
struct espy_task *espy_state__next_task(struct espy_state *s, const struct espy_task *task);
/* How many are watched. Valid as long as the state. */
const size_t *espy_state__live_tasks(const struct espy_state *s);
/* It is watched no longer; it stays known, so that what was on its way can be told from news. */
void espy_state__detach(struct espy_state *s, struct espy_task *task);

/* ---- descriptors and names; what is not known yet is asked now */
struct espy_fd_name;
/* fd: AT_FDCWD is the working directory. details: more than the name, where there is more. NULL: not known. */
const struct espy_fd_name *espy_state__fd(struct espy_state *s, uint32_t tid, int fd, bool details);
/* NULL: not known. Valid until the next question. */
const char *espy_state__comm(struct espy_state *s, uint32_t tid);
/* The observer's number of what the task calls `number`; gone: also of one that has ended. 0: not known. */
uint32_t espy_state__pid(struct espy_state *s, uint32_t tid, uint32_t number, bool gone);
/* The effective user as decimal digits; the path of its cgroup in the tree of version 2. */
const char *espy_state__uid(struct espy_state *s, uint32_t tid);
const char *espy_state__cgroup(struct espy_state *s, uint32_t tid);
const char *espy_state__ifname(struct espy_state *s, uint32_t index);
/* The protocol of a netlink socket; false: it is none, or not known. */
bool espy_state__netlink_proto(struct espy_state *s, uint32_t tid, int fd, unsigned *proto);
/* Has one of the descriptors been a netlink socket? */
bool espy_state__had_netlink(const struct espy_state *s);
/* A file that a call has mapped: its name and the arguments of the mapping. NULL: it has mapped none. */
const struct espy_fd_name *espy_state__mapped_file(struct espy_state *s, const struct espy_call_view *v);
/* Learn what a process has open from the lookups; what was known before is dropped, unless it has ended. */
void espy_state__seed(struct espy_state *s, uint32_t tgid);
/* A command of ours begins with what we have open ourselves; a short one has ended before it could be asked. */
void espy_state__inherit(struct espy_state *s, uint32_t tgid);
/* Must a source send this call even if it is not shown? Else names of closed descriptors would live on. */
bool espy_state__needs_call(const struct espy_image *img, uint32_t nr);

/* ---- the rest */
struct espy_marks_seen *espy_state__marks_seen(struct espy_state *s); /* NULL: no mark was defined */
/* Definitions of marks that were damaged, or found no room. */
uint64_t espy_state__bad_definitions(const struct espy_state *s);
/* CLOCK_REALTIME - CLOCK_MONOTONIC, as the stream said last; before that, as it was set. */
int64_t espy_state__realtime_offset_ns(const struct espy_state *s);
void espy_state__set_realtime_offset(struct espy_state *s, int64_t ns);
struct espy_zone *espy_state__zone(struct espy_state *s); /* cnt 0: as it is here */
struct espy_budget *espy_state__budget(struct espy_state *s);

#endif
