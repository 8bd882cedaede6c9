/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The helper process: held tasks sleep on pages of its memory, and it wakes them (hold_fuse.c). While a task sleeps
 * there, no process on the machine can load or unload BPF programs. So each sleep ends after 50 ms at most, even if
 * espy or the helper does not run:
 *
 *  - The helper wakes every sleeper after one step; the program then lets the task sleep again or run on (pause.bpf.c).
 *  - A timer of the kernel's kills the helper unless the helper sets it anew. A process that is frozen by its cgroup,
 *    stopped, traced or starved does not. SIGKILL reaches it in all these states. The kernel then closes its end of the
 *    file, and every sleeper runs on.
 *  - It asks its owner for a sign of life at each step. If the owner gives none for a while, every task runs on, and no
 *    task is held until the owner is back.
 *
 * A frozen process of a version 1 freezer is the one that SIGKILL does not reach: there the helper refuses to begin.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "pause.h"
#include "base/clock.h"
#include "base/own_process.h"
#include "base/small_file.h"

#define MS 1000000ull
#define STEP_MS 50     /* so long a task sleeps at a time */
#define FEW 32	       /* so many sleepers are woken at once; of more only some */
#define TICK_MS 2      /* between two such rounds of some */
#define IDLE_MS 100    /* between two looks while no task sleeps */
#define LIFE_MS 300    /* of the helper, unless it prolongs it */
#define PATIENCE_MS 250 /* with an owner that gives no sign of life */
#define END_MS 500     /* until every task has run on */
#define START_MS 5000
#define AGAIN_NS 200000
#define HIGH_FD 8000 /* more than a session ever has open */

/* All that the helper has open, beside the file's two ends. */
enum { ALIVE, POKE, WAKE, FD_CNT };

struct helper {
	struct bpf_pages pages;
	struct bpf_helper_duty duty;
	timer_t life;
	bool waiting;
	uint32_t beat;	  /* of the owner, as last seen */
	uint64_t beat_ns; /* since when it has not changed */
	uint64_t some_ns; /* when some of many were last woken */
};

/* The helper's first word to its owner. */
struct started {
	int err;
	pid_t mapper;
	uint64_t base;
	char why[240];
};

static bool start_life(struct helper *h)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };

	return !syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &h->life);
}

static void prolong_life(const struct helper *h)
{
	const struct itimerspec t = { .it_value = { .tv_nsec = LIFE_MS * MS } };

	if (syscall(SYS_timer_settime, h->life, 0, &t, NULL))
		_exit(1);
}

static uint32_t held(const struct helper *h)
{
	return __atomic_load_n(&h->duty.pausing->held[0], __ATOMIC_SEQ_CST) +
	       __atomic_load_n(&h->duty.pausing->held[1], __ATOMIC_SEQ_CST);
}

/* Tells whether some task was told to run on and has not done so yet. */
static bool any_going(const struct helper *h)
{
	const struct espy_bpf_hold *holds = h->duty.holds;

	for (size_t i = 0; held(h) && i < ESPY_BPF_HOLDS; i++)
		if (__atomic_load_n(&holds[i].tid, __ATOMIC_RELAXED) &&
		    __atomic_load_n(&holds[i].go, __ATOMIC_RELAXED) == ESPY_GO_RUN)
			return true;
	return false;
}

/* Returns the time until the first sleeping task has been held for its longest; at most a step. */
static int step_ms(const struct helper *h)
{
	uint64_t now = espy_now_ns(), left = STEP_MS * MS;

	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++) {
		const struct espy_bpf_hold *at = &h->duty.holds[i];
		uint64_t since, longest, until;

		if (!__atomic_load_n(&at->tid, __ATOMIC_RELAXED))
			continue;
		if (__atomic_load_n(&at->go, __ATOMIC_RELAXED) == ESPY_GO_RUN)
			return 0;
		until = __atomic_load_n(&at->until_ns, __ATOMIC_RELAXED);
		if (until)
			left = until <= now ? 0 : until - now < left ? until - now : left;
		since = __atomic_load_n(&at->since_ns, __ATOMIC_RELAXED);
		longest = h->duty.pausing->longest_ns[at->reason & 1];
		if (!since || !longest)
			continue;
		longest = since + longest > now ? since + longest - now : 0;
		left = longest < left ? longest : left;
	}
	return (int)(left / MS);
}

/*
 * Wakes sleeping tasks, at most so many, beginning with the one that has slept longest; a task that is not to run on falls asleep
 * again. A task that is not asleep yet finds in its place that it is to run on.
 */
static void serve(struct helper *h, uint32_t most)
{
	uint32_t page;
	uint64_t key;

	while (most--) {
		uint32_t nowhere = ESPY_GO_NOWHERE;
		int r = bpf_pages__next(&h->pages, &page, &key);

		if (r < 0)
			_exit(1); /* the connection is gone */
		if (!r)
			return;
		if (page < ESPY_BPF_HOLDS)
			__atomic_compare_exchange_n(&h->duty.holds[page].go, &nowhere, ESPY_GO_ROUND, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST);
		bpf_pages__answer(&h->pages, key);
	}
}

/* Lets every task go. The kernel asks for a page twice before it takes no for an answer. */
static void serve_all(struct helper *h)
{
	const struct timespec t = { .tv_nsec = AGAIN_NS };

	serve(h, 2 * held(h) + 16);
	nanosleep(&t, NULL);
	serve(h, 2 * held(h) + 16);
}

/*
 * Wakes some of many sleepers, so that each sleeps for a step. All at once would take the CPU from all other tasks.
 * Each asks twice.
 */
static void serve_some(struct helper *h)
{
	uint64_t longest = h->duty.pausing->longest_ns[ESPY_PAUSE_RING_FULL];
	uint64_t step = longest && longest < STEP_MS * MS ? longest : STEP_MS * MS, now = espy_now_ns();
	uint64_t gone = now - h->some_ns < step ? now - h->some_ns : step;

	h->some_ns = now;
	serve(h, (uint32_t)(2 * held(h) * gone / step) + 1);
}

static void mark_all(const struct helper *h)
{
	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++)
		if (__atomic_load_n(&h->duty.holds[i].tid, __ATOMIC_RELAXED))
			__atomic_store_n(&h->duty.holds[i].go, ESPY_GO_RUN, __ATOMIC_SEQ_CST);
}

/*
 * Ends holding, because the owner gives no sign of life. A task that other espys hold too, or that is on its way, comes
 * later and finds holding off.
 */
static void desert(struct helper *h)
{
	struct espy_bpf_pausing *pausing = h->duty.pausing;

	__atomic_store_n(&pausing->on, 0, __ATOMIC_SEQ_CST);
	for (uint64_t end = espy_now_ns() + END_MS * MS; held(h) && espy_now_ns() < end;) {
		prolong_life(h);
		mark_all(h);
		serve_all(h);
	}
	__atomic_add_fetch(&pausing->deserted, 1, __ATOMIC_SEQ_CST);
}

static void ask_owner(struct helper *h)
{
	uint32_t beat = __atomic_load_n(&h->duty.pausing->beat, __ATOMIC_ACQUIRE);
	uint64_t now = espy_now_ns(), one = 1;

	if (!h->waiting || beat != h->beat) {
		h->beat = beat;
		h->beat_ns = now;
	} else if (now - h->beat_ns > PATIENCE_MS * MS) {
		desert(h);
		h->beat_ns = now;
	}
	h->waiting = true;
	if (write(WAKE, &one, sizeof(one)) < 0)
		return; /* it is full: the owner is about to look */
}

static bool drain_poke(void)
{
	uint64_t cnt;

	return read(POKE, &cnt, sizeof(cnt)) == sizeof(cnt);
}

/* Serves until the owner has gone, or the process that has the pages. */
static void look_after(struct helper *h)
{
	struct pollfd p[4] = { { .fd = ALIVE, .events = POLLIN }, { .fd = POKE, .events = POLLIN },
			       { .fd = h->pages.fuse, .events = POLLIN }, { .fd = h->pages.mapper_end, .events = POLLIN } };

	for (;;) {
		bool poked;

		prolong_life(h);
		if (poll(p, 4, any_going(h) ? 1 : IDLE_MS) < 0 || p[ALIVE].revents || p[2].revents & ~POLLIN || p[3].revents)
			return;
		if (!p[2].revents) {
			drain_poke();
			h->waiting = false;
			continue;
		}
		ask_owner(h);
		poked = drain_poke();
		if (!poked && held(h) > FEW) {
			poked = poll(p, 2, TICK_MS) > 0;
			if (!poked)
				serve_some(h);
		} else if (!poked) {
			poked = poll(p, 2, step_ms(h)) >= 0;
		}
		if (poked) {
			drain_poke();
			serve_all(h);
		}
	}
}

/* Tells whether this process is in a version 1 freezer, other than the one that is never frozen. */
static bool can_be_frozen_for_good(void)
{
	char text[4096];
	const char *at;

	espy_read_proc(0, "cgroup", text, sizeof(text));
	at = strstr(text, ":freezer:/");
	return at && at[10] != '\n';
}

/*
 * Protects the helper: the sooner it runs, the sooner tasks go on. It does little: some microseconds at each step.
 * Failures do no more harm: a helper that is starved is killed by its timer.
 */
static void protect(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, "-1000", 5) < 0)
			errno = 0;
		close(fd);
	}
	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first))
		setpriority(PRIO_PROCESS, 0, -20);
}

static void __attribute__((noreturn)) be_helper(const int fds[FD_CNT], const struct bpf_helper_duty *d, int tell)
{
	struct started st = { 0 };
	struct helper h = { 0 };
	sigset_t all;
	int own[FD_CNT];

	/* Not in the terminal's process group, nor ended by anything but SIGKILL. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "espy-hold");
	for (int i = 0; i < FD_CNT; i++) /* out of the way of the final numbers */
		own[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD, FD_CNT + 1);
	tell = fcntl(tell, F_DUPFD, FD_CNT + 1);
	for (int i = 0; i < FD_CNT; i++)
		if (own[i] < 0 || dup2(own[i], i) < 0)
			close(i);
	dup2(tell, FD_CNT);
	syscall(SYS_close_range, (unsigned)FD_CNT + 1, ~0u, 0);
	if (chdir("/") < 0)
		_exit(1);
	protect();
	if (can_be_frozen_for_good()) {
		st.err = -EPERM;
		snprintf(st.why, sizeof(st.why),
			 "espy runs in a version 1 freezer cgroup, whose frozen processes nobody can end");
	} else {
		st.err = bpf_pages__open(&h.pages, d ? ESPY_BPF_HOLDS : 1, st.why, sizeof(st.why));
	}
	if (!st.err && !start_life(&h)) {
		st.err = -errno;
		snprintf(st.why, sizeof(st.why), "a timer: %s", strerror(-st.err));
	}
	st.base = h.pages.base;
	st.mapper = h.pages.mapper;
	if (write(FD_CNT, &st, sizeof(st)) != sizeof(st) || st.err)
		_exit(1);
	close(FD_CNT);
	if (d) {
		h.duty = *d;
		look_after(&h);
		if (h.duty.pausing)
			__atomic_store_n(&h.duty.pausing->on, 0, __ATOMIC_SEQ_CST);
	}
	_exit(0);
}

/* Hears the helper's first word; the helper may have died of its beginning. */
static int hear(int tell, struct started *st)
{
	struct pollfd p = { .fd = tell, .events = POLLIN };
	int n;

	do
		n = poll(&p, 1, START_MS);
	while (n < 0 && errno == EINTR);
	if (n > 0 && read(tell, st, sizeof(*st)) == sizeof(*st))
		return st->err;
	snprintf(st->why, sizeof(st->why), "a helper process: %s", n ? "it ended at once" : "it does not begin");
	return n ? -ECHILD : -ETIMEDOUT;
}

/*
 * Moves the owner's end of a pipe to a high number, so that it is the first to be closed when the owner ends. Letting
 * go of a program on a perf event waits for all sleepable programs, so for the held tasks. The kernel closes the files
 * of an ending process from the highest number on.
 */
static int high_fd(int fd)
{
	struct rlimit lim;
	int high = -1;

	if (!getrlimit(RLIMIT_NOFILE, &lim))
		high = fcntl(fd, F_DUPFD_CLOEXEC, lim.rlim_cur > HIGH_FD ? HIGH_FD : (int)lim.rlim_cur - 2);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static int fork_helper(struct bpf_helper *h, const struct bpf_helper_duty *duty, int *tell)
{
	int alive[2], said[2], fds[FD_CNT] = { -1, h->poke, duty ? duty->wake : -1 }, err;

	if (pipe2(alive, O_CLOEXEC))
		return -errno;
	if (pipe2(said, O_CLOEXEC)) {
		err = -errno;
		close(alive[0]);
		close(alive[1]);
		return err;
	}
	fds[ALIVE] = alive[0];
	h->pid = espy_own_process__begin();
	if (!h->pid)
		be_helper(fds, duty, said[1]);
	err = h->pid < 0 ? h->pid : 0;
	if (err)
		h->pid = 0;
	close(alive[0]);
	close(said[1]);
	h->alive = high_fd(alive[1]);
	*tell = said[0];
	return err;
}

int bpf_helper__start(struct bpf_helper *h, const struct bpf_helper_duty *duty, char *why, size_t why_sz)
{
	struct started st = { .why = "a helper process cannot be started" };
	int tell = -1, err = 0;

	*h = (struct bpf_helper){ .alive = -1, .pidfd = -1 };
	h->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (h->poke < 0)
		err = -errno;
	err = err ? err : fork_helper(h, duty, &tell);
	err = err ? err : hear(tell, &st);
	if (tell >= 0)
		close(tell);
	if (!err) {
		h->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0);
		err = h->pidfd < 0 ? -errno : 0;
	}
	h->base = st.base;
	h->mapper = st.mapper;
	if (err) {
		st.why[sizeof(st.why) - 1] = '\0';
		snprintf(why, why_sz, "%s", st.why);
		bpf_helper__end(h);
	}
	return err;
}

void bpf_helper__poke(const struct bpf_helper *h)
{
	uint64_t one = 1;

	if (write(h->poke, &one, sizeof(one)) < 0)
		return; /* it is full: the helper is about to look */
}

void bpf_helper__end(struct bpf_helper *h)
{
	struct pollfd ended = { .fd = h->pidfd, .events = POLLIN };

	if (h->alive >= 0)
		close(h->alive);
	/* A helper that does not run ends as well: every task that sleeps there runs on. */
	if (h->pid > 0)
		kill(h->pid, SIGKILL);
	/* Its end may be held up, too; the wait has a limit. */
	if (h->pid > 0 && (h->pidfd < 0 || poll(&ended, 1, END_MS) > 0))
		while (waitpid(h->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	if (h->pidfd >= 0)
		close(h->pidfd);
	if (h->poke >= 0)
		close(h->poke);
	*h = (struct bpf_helper){ .alive = -1, .pidfd = -1, .poke = -1 };
}
