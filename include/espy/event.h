/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: one event. Part of <espy/espy.h>.
 *
 * An event exists while the callback runs that was given it; so do the texts that the functions below give out. They may be
 * called on the thread of that callback only. What the arguments of a call are is asked by <espy/value.h>.
 *
 * All functions return 0 or a negative errno unless said otherwise. -ENOENT: the event has no such thing; -EINVAL: a NULL pointer.
 */
#ifndef ESPY_EVENT_PUBLIC_H
#define ESPY_EVENT_PUBLIC_H

#include <stdint.h>
#include <sys/types.h>

#ifndef ESPY_API
#define ESPY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct espy_event; /* opaque */

/* Types of events, as bits: an engine's mask is made of them. */
enum espy_event_type {
	ESPY_EVENT_CALL_BEGIN = 1u << 0, /* a system call has begun; a passive source tells only of calls that hang */
	ESPY_EVENT_CALL_END = 1u << 1,	 /* a system call has ended, or never will (exit, or its task was killed) */
	ESPY_EVENT_SIGNAL = 1u << 2,	 /* a signal was delivered, or stopped the task */
	ESPY_EVENT_FORK = 1u << 3,	 /* the task has made another */
	ESPY_EVENT_EXEC = 1u << 4,	 /* the process has a new program */
	ESPY_EVENT_EXIT = 1u << 5,	 /* the task has ended: espy_event_status */
	ESPY_EVENT_ATTACH = 1u << 6,	 /* the task was there before the session, and is watched from now on */
	ESPY_EVENT_DETACH = 1u << 7,	 /* the task goes on and is not watched any more */
	ESPY_EVENT_MARK = 1u << 8,	 /* a static marker was passed */
	ESPY_EVENT_LOSS = 1u << 9,	 /* events were lost here. Belongs to no task */
	ESPY_EVENT_PAUSE = 1u << 10,	 /* the task was held, and has run on */
	ESPY_EVENT_PROBE = 1u << 11,	 /* a probed place was passed */
	ESPY_EVENT_BRANCH = 1u << 12,	 /* reserved */
	ESPY_EVENT_ALL = (1u << 13) - 1,
};

/* Exactly one bit of enum espy_event_type; 0: NULL was given. */
ESPY_API unsigned espy_event_type(const struct espy_event *e);
/* When it happened: ns of CLOCK_MONOTONIC of the machine it happened on. Of a call that has ended: when it ended. 0: not known. */
ESPY_API uint64_t espy_event_time(const struct espy_event *e);
/* The task (thread) that it happened in, and its process; 0: none. */
ESPY_API pid_t espy_event_task(const struct espy_event *e);
ESPY_API pid_t espy_event_process(const struct espy_event *e);
/* CALL_*: the call's name ("openat"), NULL if it has none. Else NULL. */
ESPY_API const char *espy_event_name(const struct espy_event *e);
/* CALL_*: the call's number. SIGNAL: the signal's. Else -1. */
ESPY_API int espy_event_number(const struct espy_event *e);
/* CALL_END: the result as the kernel returned it: -4095..-1 are errors. -ENODATA: the call did not return. */
ESPY_API int espy_event_result(const struct espy_event *e, int64_t *result);
/* CALL_END: ns between begin and end. PROBE: in the function that returns. PAUSE: how long the task was held. -ENODATA: a time is not known. */
ESPY_API int espy_event_duration(const struct espy_event *e, uint64_t *ns);
/* EXIT: as wait(2) gives it. */
ESPY_API int espy_event_status(const struct espy_event *e, int *status);
/* FORK: the new task. 0: it is no FORK. */
ESPY_API pid_t espy_event_child(const struct espy_event *e);
/* LOSS: how many events, and why, in words. reason may be NULL. */
ESPY_API int espy_event_loss(const struct espy_event *e, uint64_t *count, const char **reason);

#ifdef __cplusplus
}
#endif

#endif
