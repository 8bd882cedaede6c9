/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Clocks, timers, scheduling, futexes. */
#include "truth.h"
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static void *ts(long sec, long nsec)
{
	struct timespec t = { sec, nsec };

	return tail_copy(&t, sizeof(t));
}

static void clocks(void)
{
	struct timespec *t = tail_alloc(sizeof(*t));
	long ret = call(SYS_clock_gettime, JUNK(CLOCK_MONOTONIC), t);

	line(ret, "clock_gettime(CLOCK_MONOTONIC, {tv_sec=%ld, tv_nsec=%ld})", t->tv_sec, t->tv_nsec);
	line(call(SYS_clock_gettime, JUNK(99), t), "clock_gettime(0x63 /* CLOCK_??? */, %s)", ptr(t));
	line(call(SYS_clock_getres, JUNK(-6), NULL), "clock_getres(0xfffffffa /* CLOCK_??? */, NULL)");
	line(call(SYS_clock_settime, JUNK(5), ts(1600000000, 5)), "clock_settime(CLOCK_REALTIME_COARSE, {tv_sec=1600000000, tv_nsec=5})");
	line(call(SYS_nanosleep, ts(0, 1), t), "nanosleep({tv_sec=0, tv_nsec=1}, %s)", ptr(t)); /* sleeps: a call that is shown */
	line(call(SYS_nanosleep, ts(-1, 1000000000), NULL), "nanosleep({tv_sec=-1, tv_nsec=1000000000}, NULL)"); /* sleeps: a call that is shown */
	line(call(SYS_clock_nanosleep, JUNK(0), JUNK(1), ts(1, 5), 1L),
	     "clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, {tv_sec=1, tv_nsec=5}, 0x1)"); /* sleeps: a call that is shown */
	line(call(SYS_clock_nanosleep, JUNK(99), JUNK(0xfe), 1L, 1L),
	     "clock_nanosleep(0x63 /* CLOCK_??? */, 0xfe /* TIMER_??? */, 0x1, 0x1)"); /* sleeps: a call that is shown */

	struct timeval *v = tail_alloc(sizeof(*v));
	ret = call(SYS_gettimeofday, v, NULL);
	line(ret, "gettimeofday({tv_sec=%ld, tv_usec=%ld}, NULL)", v->tv_sec, v->tv_usec);
	line(call(SYS_settimeofday, ts(-5, 1000000), NULL), "settimeofday({tv_sec=-5, tv_usec=1000000}, NULL)");
	line(call(SYS_times, 1L), "times(0x1)");
	line(call(SYS_time, 1L), "time(0x1)");
	line(call(SYS_clock_adjtime, JUNK(99), t), "clock_adjtime(0x63 /* CLOCK_??? */, %s)", ptr(t));
}

static void timers(void)
{
	struct itimerval off = { { 0, 0 }, { 0, 0 } }, on = { { 1, 2 }, { 3000, 4 } };

	line(call(SYS_alarm, JUNK(0)), "alarm(0)");
	line(call(SYS_setitimer, JUNK(0), tail_copy(&on, sizeof(on)), tail_alloc(32)),
	     "setitimer(ITIMER_REAL, {it_interval={tv_sec=1, tv_usec=2}, it_value={tv_sec=3000, tv_usec=4}}, {it_interval={tv_sec=0, tv_usec=0}, it_value={tv_sec=0, tv_usec=0}})");
	line(call(SYS_setitimer, JUNK(0), tail_copy(&off, sizeof(off)), NULL),
	     "setitimer(ITIMER_REAL, {it_interval={tv_sec=0, tv_usec=0}, it_value={tv_sec=0, tv_usec=0}}, NULL)");
	line(call(SYS_getitimer, JUNK(99), 1L), "getitimer(0x63 /* ITIMER_??? */, 0x1)");

	struct {
		uint64_t value;
		int signo, notify, tid, pad[11];
	} ev = { 7, SIGUSR1, 0, 0, { 0 } };
	int *id = tail_alloc(4);
	long ret = call(SYS_timer_create, JUNK(1), tail_copy(&ev, sizeof(ev)), id);
	line(ret, "timer_create(CLOCK_MONOTONIC, {sigev_value={sival_int=7, sival_ptr=0x7}, sigev_signo=SIGUSR1, sigev_notify=SIGEV_SIGNAL}, [%d])", *id);
	line(call(SYS_timer_settime, JUNK(*id), JUNK(1), 1L, 2L), "timer_settime(%d, TIMER_ABSTIME, 0x1, 0x2)", *id);
	ev.notify = 1;
	line(call(SYS_timer_create, JUNK(99), tail_copy(&ev, sizeof(ev)), id),
	     "timer_create(0x63 /* CLOCK_??? */, {sigev_value={sival_int=7, sival_ptr=0x7}, sigev_signo=10, sigev_notify=SIGEV_NONE}, %s)", ptr(id));
	ev.notify = 4;
	ev.tid = getpid();
	line(call(SYS_timer_create, 99L, tail_copy(&ev, sizeof(ev)), id),
	     "timer_create(0x63 /* CLOCK_??? */, {sigev_value={sival_int=7, sival_ptr=0x7}, sigev_signo=SIGUSR1, sigev_notify=SIGEV_THREAD_ID, sigev_notify_thread_id=%d}, %s)",
	     getpid(), ptr(id));
	line(call(SYS_timer_gettime, JUNK(*id), tail_alloc(32)),
	     "timer_gettime(%d, {it_interval={tv_sec=0, tv_nsec=0}, it_value={tv_sec=0, tv_nsec=0}})", *id);
	line(call(SYS_timer_delete, JUNK(*id)), "timer_delete(%d)", *id);
	line(call(SYS_timer_getoverrun, JUNK(99)), "timer_getoverrun(99)");
	line(call(SYS_timerfd_create, JUNK(99), JUNK(0x80800)), "timerfd_create(0x63 /* CLOCK_??? */, TFD_CLOEXEC|TFD_NONBLOCK)");
	line(call(SYS_timerfd_settime, JUNK(-1), JUNK(3), 1L, 1L), "timerfd_settime(-1, TFD_TIMER_ABSTIME|TFD_TIMER_CANCEL_ON_SET, 0x1, 0x1)");
}

static void scheduling(void)
{
	uint64_t one = 1;
	int zero = 0;

	line(call(SYS_sched_yield), "sched_yield()");
	line(call(SYS_sched_setscheduler, JUNK(-1), JUNK(0x40000000), tail_copy(&zero, 4)),
	     "sched_setscheduler(-1, SCHED_RESET_ON_FORK|SCHED_OTHER, {sched_priority=0})");
	line(call(SYS_sched_getscheduler, JUNK(-1)), "sched_getscheduler(-1)");
	line(call(SYS_sched_getparam, JUNK(0), tail_alloc(4)), "sched_getparam(0, {sched_priority=0})");
	line(call(SYS_sched_get_priority_max, JUNK(1)), "sched_get_priority_max(SCHED_FIFO)");
	line(call(SYS_sched_get_priority_min, JUNK(99)), "sched_get_priority_min(0x63 /* SCHED_??? */)");
	line(call(SYS_sched_setaffinity, JUNK(-1), JUNK(8), tail_copy(&one, 8)), "sched_setaffinity(-1, 8, [0])");
	void *set = tail_alloc(3);
	line(call(SYS_sched_getaffinity, JUNK(0), JUNK(3), set), "sched_getaffinity(0, 3, %s)", ptr(set));
	line(call(SYS_ioprio_get, JUNK(99), JUNK(5)), "ioprio_get(0x63 /* IOPRIO_WHO_??? */, 5)");
	line(call(SYS_ioprio_set, JUNK(2), JUNK(99999999), JUNK(2 << 13 | 4)),
	     "ioprio_set(IOPRIO_WHO_PGRP, 99999999, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4))");

	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t prio;
		uint64_t t[3];
	} at = { 48, 6, 1, -5, 7, { 1, 2, 3 } };
	line(call(SYS_sched_setattr, JUNK(-1), tail_copy(&at, 48), JUNK(0)),
	     "sched_setattr(-1, {size=48, sched_policy=SCHED_DEADLINE, sched_flags=SCHED_FLAG_RESET_ON_FORK, sched_nice=-5, sched_priority=7, sched_runtime=1, sched_deadline=2, sched_period=3}, 0)");
	line(call(SYS_sched_getattr, JUNK(-1), 1L, JUNK(48), JUNK(1)), "sched_getattr(-1, 0x1, 48, SCHED_GETATTR_FLAG_DL_DYNAMIC)");
}

static void futexes(void)
{
	uint32_t five = 5;
	void *f = tail_copy(&five, 4);
	const char *p = ptr(f);

	line(call(SYS_futex, f, JUNK(FUTEX_WAIT_PRIVATE), JUNK(6), NULL), "futex(%s, FUTEX_WAIT_PRIVATE, 6, NULL)", p);
	line(call(SYS_futex, f, JUNK(FUTEX_WAIT), JUNK(5), ts(0, 1000)), "futex(%s, FUTEX_WAIT, 5, {tv_sec=0, tv_nsec=1000})", p);
	line(call(SYS_futex, f, JUNK(FUTEX_WAKE_PRIVATE), JUNK(1)), "futex(%s, FUTEX_WAKE_PRIVATE, 1)", p);
	line(call(SYS_futex, f, JUNK(0x181), 1L), "futex(%s, 0x181 /* FUTEX_??? */, 1)", p);
	line(call(SYS_futex, f, JUNK(FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME), JUNK(5), ts(0, 1), 1L, JUNK(-1)),
	     "futex(%s, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 5, {tv_sec=0, tv_nsec=1}, FUTEX_BITSET_MATCH_ANY)", p);
	line(call(SYS_futex, f, (long)FUTEX_WAKE_BITSET, 5L, 1L, 1L, JUNK(2)), "futex(%s, FUTEX_WAKE_BITSET, 5, 0x2)", p);
	line(call(SYS_futex, f, (long)FUTEX_REQUEUE, JUNK(3), JUNK(5), f), "futex(%s, FUTEX_REQUEUE, 3, 5, %s)", p, p);
	line(call(SYS_futex, f, (long)FUTEX_CMP_REQUEUE_PRIVATE, JUNK(3), JUNK(5), f, JUNK(-1)),
	     "futex(%s, FUTEX_CMP_REQUEUE_PRIVATE, 3, 5, %s, 4294967295)", p, p);
	line(call(SYS_futex, f, (long)FUTEX_WAKE_OP, JUNK(1), JUNK(1), f, JUNK(1u << 28 | 2 << 24 | 3 << 12 | 4)),
	     "futex(%s, FUTEX_WAKE_OP, 1, 1, %s, FUTEX_OP_ADD<<28|0x3<<12|FUTEX_OP_CMP_LT<<24|0x4)", p, p);
	line(call(SYS_futex, f, (long)FUTEX_LOCK_PI, JUNK(1), ts(-1, 5)), "futex(%s, FUTEX_LOCK_PI, {tv_sec=-1, tv_nsec=5})", p);
	line(call(SYS_futex, f, (long)FUTEX_UNLOCK_PI), "futex(%s, FUTEX_UNLOCK_PI)", p);
	line(call(SYS_futex, f, (long)FUTEX_WAIT_REQUEUE_PI, 3L, ts(-1, 5), f), "futex(%s, FUTEX_WAIT_REQUEUE_PI, 3, {tv_sec=-1, tv_nsec=5}, %s)", p, p);
	line(call(SYS_futex, f, JUNK(0x63), JUNK(3), 5L, f, JUNK(-1)), "futex(%s, 0x63 /* FUTEX_??? */, 3, 0x5, %s, 0xffffffff)", p, p);

	struct {
		uint64_t val, addr;
		uint32_t flags, reserved;
	} w = { 6, (uint64_t)f, 0x82, 0 };
	void *v = tail_copy(&w, sizeof(w));
	line(call(449L, v, JUNK(1), JUNK(0), NULL, JUNK(0)),
	     "futex_waitv([{val=0x6, uaddr=%s, flags=FUTEX2_SIZE_U32|FUTEX2_PRIVATE}], 1, 0, NULL, CLOCK_REALTIME)", p);
	line(call(449L, 1L, JUNK(1), JUNK(1), 1L, JUNK(99)), "futex_waitv(0x1, 1, 0x1, 0x1, 0x63 /* CLOCK_??? */)");
	line(call(454L, f, 0xffffffffL, JUNK(1), JUNK(0x82)), "futex_wake(%s, FUTEX_BITSET_MATCH_ANY, 1, FUTEX2_SIZE_U32|FUTEX2_PRIVATE)", p);
	line(call(455L, f, 0L, 0xfL, JUNK(2), ts(1, 2), JUNK(99)), "futex_wait(%s, 0, 0xf, FUTEX2_SIZE_U32, {tv_sec=1, tv_nsec=2}, 0x63 /* CLOCK_??? */)", p);
	line(call(SYS_set_robust_list, 1L, 5L), "set_robust_list(0x1, 5)");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	clocks();
	timers();
	scheduling();
	futexes();
	return 0;
}
