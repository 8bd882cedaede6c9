/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A thread that is not to wait for a processor for a moment: others in the queue would prolong a pause. */
#ifndef ESPY_SOURCE_AGENT_HURRY_H
#define ESPY_SOURCE_AGENT_HURRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What sched_setattr(2) takes: the kernel's struct sched_attr in its first version. */
struct espy_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct espy_sched_attr) == 48, "as in the kernel");

enum espy_hurry_how {
	ESPY_HURRY_NOT,
	ESPY_HURRY_SHORT, /* short turns, which come earlier (since Linux 6.12) */
	ESPY_HURRY_NICE,  /* and the highest weight */
	ESPY_HURRY_FIRST, /* before all that are not of real time */
};

struct espy_hurry {
	enum espy_hurry_how how;
	uint64_t usual_ns; /* everybody's turns, as the kernel tells them */
	bool ready, on;
	struct espy_sched_attr was;
	struct espy_sched_attr again; /* what a thread without rights may ask for itself, to be as it was */
};

/* Looks how another thread is scheduled now; `how` and `usual_ns` are set. False: it is not to be hurried. */
bool espy_hurry__prepare(struct espy_hurry *h, pid_t tid);
/* If that was true. False: it is not permitted. Its children are as it was, but for ESPY_HURRY_SHORT. */
bool espy_hurry__begin(struct espy_hurry *h, pid_t tid);
void espy_hurry__end(struct espy_hurry *h, pid_t tid);
/* A child of one that was hurried. */
void espy_hurry__heir(const struct espy_hurry *h, pid_t tid);

/* The calling thread, as far as it may: `how`. */
void espy_hurry__begin_self(struct espy_hurry *h);
void espy_hurry__end_self(struct espy_hurry *h);

#endif
