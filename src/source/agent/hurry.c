/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/agent/hurry.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_NS 100000u /* the shortest that the kernel takes */
#define RESET_ON_FORK 1u /* SCHED_FLAG_RESET_ON_FORK: children begin as everybody */

static bool get(pid_t tid, struct espy_sched_attr *a)
{
	*a = (struct espy_sched_attr){ 0 };
	return !syscall(SYS_sched_getattr, (long)tid, a, sizeof(*a), 0L);
}

static bool set(pid_t tid, const struct espy_sched_attr *a)
{
	return !syscall(SYS_sched_setattr, (long)tid, a, 0L);
}

bool espy_hurry__prepare(struct espy_hurry *h, pid_t tid)
{
	h->ready = h->how != ESPY_HURRY_NOT && get(tid, &h->was) && h->was.policy == SCHED_OTHER;
	h->was.size = sizeof(h->was);
	/* What it says of turns that were never set is what everybody has, and 0 sets it so. */
	if (h->was.runtime == h->usual_ns)
		h->was.runtime = 0;
	/* Only privileged threads may take this back; it does nothing to a thread that is as everybody. */
	h->again = h->was;
	if (h->how > ESPY_HURRY_SHORT)
		h->again.flags |= RESET_ON_FORK;
	return h->ready;
}

static bool begin(const struct espy_hurry *h, pid_t tid, enum espy_hurry_how how)
{
	struct espy_sched_attr a = h->again;

	a.runtime = SHORT_NS;
	if (how == ESPY_HURRY_NICE)
		a.nice = -20;
	if (how == ESPY_HURRY_FIRST) {
		a.policy = SCHED_FIFO;
		a.priority = 1;
		a.runtime = 0;
	}
	return set(tid, &a);
}

bool espy_hurry__begin(struct espy_hurry *h, pid_t tid)
{
	h->on = h->ready && begin(h, tid, h->how);
	/* Its control group may have no share of real time. */
	if (h->ready && !h->on && h->how == ESPY_HURRY_FIRST)
		h->on = begin(h, tid, ESPY_HURRY_NICE);
	return h->on;
}

void espy_hurry__end(struct espy_hurry *h, pid_t tid)
{
	if (h->on && !set(tid, &h->was))
		set(tid, &h->again);
	h->on = false;
}

void espy_hurry__heir(const struct espy_hurry *h, pid_t tid)
{
	if (h->ready)
		set(tid, &h->was);
}

void espy_hurry__begin_self(struct espy_hurry *h)
{
	struct espy_sched_attr now;

	*h = (struct espy_hurry){ .how = ESPY_HURRY_FIRST };
	if (get(0, &now) && now.policy == SCHED_OTHER)
		h->usual_ns = now.runtime;
	while (espy_hurry__prepare(h, 0) && !espy_hurry__begin(h, 0))
		h->how--;
	if (!h->on)
		h->how = ESPY_HURRY_NOT;
}

void espy_hurry__end_self(struct espy_hurry *h)
{
	espy_hurry__end(h, 0);
}
