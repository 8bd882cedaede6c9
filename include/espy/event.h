/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: one event. Part of <espy/espy.h>.
 *
 * An event is valid while the callback runs that was given the event. So are the texts that the functions below return. Only
 * the thread of that callback may call these functions. <espy/value.h> gives the arguments of a call.
 *
 * All functions return 0 or a negative errno unless their comment says otherwise. -ENOENT: the event has no such thing.
 * -EINVAL: a NULL pointer.
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

/* Types of events, as bits. An engine's mask is made of these bits. */
enum espy_event_type {
	ESPY_EVENT_CALL_BEGIN = 1u << 0, /* a task has begun a system call; a passive source tells only of calls that hang */
	ESPY_EVENT_CALL_END = 1u << 1,	 /* a system call has ended, or will never end (exit, or its task was killed) */
	ESPY_EVENT_SIGNAL = 1u << 2,	 /* the kernel delivered a signal, or a signal stopped the task */
	ESPY_EVENT_FORK = 1u << 3,	 /* the task has made another task */
	ESPY_EVENT_EXEC = 1u << 4,	 /* the process has begun a new program */
	ESPY_EVENT_EXIT = 1u << 5,	 /* the task has ended: espy_event_status */
	ESPY_EVENT_ATTACH = 1u << 6,	 /* the task is older than the session, which watches it from now on */
	ESPY_EVENT_DETACH = 1u << 7,	 /* the session no longer watches the task, which goes on */
	ESPY_EVENT_MARK = 1u << 8,	 /* the task has passed a mark */
	ESPY_EVENT_LOSS = 1u << 9,	 /* events were lost here. The event belongs to no task */
	ESPY_EVENT_PAUSE = 1u << 10,	 /* a held task has run on */
	ESPY_EVENT_PROBE = 1u << 11,	 /* the task has passed a probed place */
	ESPY_EVENT_BRANCH = 1u << 12,	 /* reserved */
	ESPY_EVENT_ALL = (1u << 13) - 1,
};

/* Returns exactly one bit of enum espy_event_type; 0: e is NULL. */
ESPY_API unsigned espy_event_type(const struct espy_event *e);
/*
 * Returns the time of the event in ns of CLOCK_MONOTONIC, of the machine that the event happened on; 0: not known. For a call
 * that has ended, it is the time of the end.
 */
ESPY_API uint64_t espy_event_time(const struct espy_event *e);
/* Returns the task (thread) that the event happened in, or the process of that task; 0: none. */
ESPY_API pid_t espy_event_task(const struct espy_event *e);
ESPY_API pid_t espy_event_process(const struct espy_event *e);
/* CALL_*: returns the name of the call ("openat"), NULL if it has none. Other events: NULL. */
ESPY_API const char *espy_event_name(const struct espy_event *e);
/* CALL_*: returns the number of the call. SIGNAL: returns the number of the signal. Other events: -1. */
ESPY_API int espy_event_number(const struct espy_event *e);
/* CALL_END: writes the result as the kernel returned it: -4095..-1 are errors. -ENODATA: the call did not return. */
ESPY_API int espy_event_result(const struct espy_event *e, int64_t *result);
/*
 * CALL_END: writes the ns between begin and end of the call. PROBE: the ns in the function that returns. PAUSE: the ns that the
 * task was held. -ENODATA: one of the times is not known.
 */
ESPY_API int espy_event_duration(const struct espy_event *e, uint64_t *ns);
/* EXIT: writes the status of the task as wait(2) gives it. */
ESPY_API int espy_event_status(const struct espy_event *e, int *status);
/* FORK: returns the new task. Other events: 0. */
ESPY_API pid_t espy_event_child(const struct espy_event *e);
/* LOSS: writes how many events were lost, and the reason as text. reason may be NULL. */
ESPY_API int espy_event_loss(const struct espy_event *e, uint64_t *count, const char **reason);

#ifdef __cplusplus
}
#endif

#endif
