/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ptrace source: its life and its loop.
 *
 * Waiting: wait4 with __WCLONE and without __WALL sees every traced task of any kind, but of our own children only
 * those with an end that raises no SIGCHLD. So this source never reaps children of another part of this process (a
 * pager, say). It sleeps in sigtimedwait for SIGCHLD, which the kernel raises at each stop. The signal is blocked while
 * poll runs, so it cannot be missed between the look and the sleep. The process keeps its own handling of SIGCHLD. If
 * the kernel does not raise the signal, or another thread may take it, the source naps instead.
 *
 * Attaching to a task and letting go of it interrupts the call that it sleeps in, which this source cannot help. The
 * kernel starts nearly all calls again unseen; a few (epoll_wait, for one) return EINTR to the program, as after
 * SIGSTOP.
 */
#include "base/small_file.h"
#include "base/task_list.h"
#include "ptrace_source.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "source/stack_record.h"

/* Records after which poll returns, and stops handled without a record after which it looks at the clock. */
#define POLL_RECORDS 256
#define POLL_STOPS 256
/* The process may begin a thread, which has SIGCHLD open: never sleep longer than this on it, and look so often. */
#define SLEEP_MAX_NS 20000000ull
#define LOOK_NS 50000000ull
/* Naps: while stops come, and when none does. */
#define NAP_LEAST_NS 20000u
#define NAP_MOST_NS 500000u
/* close waits so long for tasks that do not stop (they sleep in the kernel and cannot be interrupted). */
#define CLOSE_NS 3000000000ull

/* Handles one stop or death if there is one: 1, else 0. */
static int step(struct espy_ptrace *p)
{
	int status;
	pid_t tid = wait4(-1, &status, __WCLONE | WNOHANG, NULL);

	if (tid <= 0)
		return 0;
	p->nap_ns = NAP_LEAST_NS;
	espy_ptrace__handle(p, tid, status);
	return 1;
}

/* Tells whether a thread of this process other than the caller has SIGCHLD open. */
static bool another_takes_it(void)
{
	DIR *d = espy_task_list__open(getpid());
	const pid_t self = gettid();
	bool taken = !d;
	char blocked[32];

	for (pid_t tid; !taken && (tid = espy_task_list__next(d));)
		taken = tid != self && espy_read_status(tid, "SigBlk", blocked, sizeof(blocked)) > 0 &&
			!(strtoull(blocked, NULL, 16) >> (SIGCHLD - 1) & 1);
	espy_task_list__close(d);
	return taken;
}

/* Tells whether each stop raises SIGCHLD, and no other thread takes it. */
static bool is_told(struct espy_ptrace *p)
{
	const uint64_t now = espy_now_ns();
	struct sigaction sa;

	if (p->told_at_ns && now - p->told_at_ns < LOOK_NS)
		return p->told;
	p->told_at_ns = now;
	p->told = !sigaction(SIGCHLD, NULL, &sa) && (sa.sa_flags & SA_SIGINFO || sa.sa_handler != SIG_IGN) &&
		  !(sa.sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT)) && !another_takes_it();
	return p->told;
}

static int nap(struct espy_ptrace *p, uint64_t ns)
{
	const struct timespec ts = { .tv_nsec = (long)(ns < p->nap_ns ? ns : p->nap_ns) };

	p->nap_ns = p->nap_ns < NAP_MOST_NS / 2 ? p->nap_ns * 2 : NAP_MOST_NS;
	return nanosleep(&ts, NULL) ? -EINTR : 0;
}

/* Sleeps until SIGCHLD, ns at most. Returns 0, or -EINTR after another signal. */
static int sleep_for_child(struct espy_ptrace *p, uint64_t ns)
{
	if (!is_told(p))
		return nap(p, ns);

	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000ull), .tv_nsec = (long)(ns % 1000000000ull) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigtimedwait(&set, NULL, &ts) < 0 && errno == EINTR)
		return -EINTR;
	return 0;
}

static void block_sigchld(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

/* Returns the result of poll if it should return now; 1: go on. */
static int poll_result(const struct espy_ptrace *p)
{
	if (p->fn_result)
		return p->fn_result;
	if (p->delivered)
		return p->delivered;
	return p->task_cnt ? 1 : -ESRCH;
}

static int poll_loop(struct espy_ptrace *p, int timeout_ms)
{
	uint64_t deadline = timeout_ms < 0 ? UINT64_MAX : espy_now_ns() + (uint64_t)timeout_ms * 1000000ull;
	unsigned quiet_stops = 0;
	int n;

	for (;;) {
		uint64_t now, sleep_ns;

		while (!p->fn_result && p->delivered < POLL_RECORDS && quiet_stops < POLL_STOPS && step(p))
			quiet_stops++;
		espy_ptrace__adopt_orphans(p);
		const uint64_t wake_ns = espy_ptrace__wake_delayed(p);

		n = poll_result(p);
		if (n != 1 || p->delivered)
			return n;
		now = espy_now_ns();
		if (now >= deadline || quiet_stops >= POLL_STOPS || espy_wake__is_asked(p->opts.wake))
			return 0; /* early too: the caller may have a signal to see to */
		sleep_ns = deadline - now;
		if (sleep_ns > SLEEP_MAX_NS)
			sleep_ns = SLEEP_MAX_NS;
		if (wake_ns < now + sleep_ns)
			sleep_ns = wake_ns > now ? wake_ns - now : 0;
		if (p->embryo_cnt && sleep_ns > ESPY_EMBRYO_NS)
			sleep_ns = ESPY_EMBRYO_NS;
		n = sleep_for_child(p, sleep_ns);
		if (n)
			return n;
	}
}

static int ptrace_poll(struct espy_source *s, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;
	sigset_t old;
	int n;

	p->fn = fn;
	p->fn_ctx = ctx;
	p->fn_result = p->delivered = 0;
	p->stats.wakeups++;
	block_sigchld(&old);
	espy_ptrace__drain_queue(p);
	n = p->fn_result ? p->fn_result : poll_loop(p, p->delivered ? 0 : timeout_ms);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	p->fn = NULL;
	return n;
}

static int ptrace_open(struct espy_source **out, const struct espy_source_opts *opts)
{
	struct espy_ptrace *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->src.ops = &espy_source_ptrace;
	p->opts = *opts;
	p->nap_ns = NAP_LEAST_NS;
	p->scratch = aligned_alloc(8, ESPY_REC_MAX);
	if (!p->scratch) {
		free(p);
		return -ENOMEM;
	}
	*out = &p->src;
	return 0;
}

static int ptrace_set_calls(struct espy_source *s, enum espy_abi abi, const struct espy_call_set *set)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;

	if ((unsigned)abi >= ESPY_ABI_CNT)
		return -EINVAL;
	p->sets[abi] = *set;
	p->has_set[abi] = true;
	return 0;
}

static int ptrace_want_calls(struct espy_source *s, enum espy_abi abi, const uint64_t wanted[ESPY_MAX_SYSCALLS / 64])
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;

	if ((unsigned)abi >= ESPY_ABI_CNT || !p->has_set[abi])
		return -EINVAL;
	memcpy(p->sets[abi].wanted, wanted, sizeof(p->sets[abi].wanted));
	return 0;
}

static void ptrace_stats(struct espy_source *s, struct espy_source_stats *st)
{
	*st = ((struct espy_ptrace *)s)->stats;
}

static int ptrace_command_status(struct espy_source *s, int *status)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;

	/* A task that was let go is still our child. */
	if (!p->command_ended && p->command && !espy_ptask__find(p, p->command) &&
	    waitpid(p->command, &p->command_status, WNOHANG) == p->command)
		p->command_ended = true;
	if (!p->command_ended)
		return -EAGAIN;
	*status = p->command_status;
	return 0;
}

static void forget(struct espy_ptrace *p, struct espy_ptask *t, void *ctx)
{
	(void)ctx;
	espy_ptask__remove(p, t);
}

static void ptrace_close(struct espy_source *s)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;
	uint64_t deadline = espy_now_ns() + CLOSE_NS;
	sigset_t old;

	p->fn = NULL;
	block_sigchld(&old);
	espy_ptrace__remove_target(s, 0);
	while (p->task_cnt && espy_now_ns() < deadline) {
		p->queue_sz = p->queue_off = 0;
		if (!step(p))
			sleep_for_child(p, 20000000);
		espy_ptrace__adopt_orphans(p);
	}
	/* The remaining tasks sleep in the kernel. They go when this process ends, and never stop. */
	if (p->task_cnt)
		espy_ptrace__report(p, ESPY_REPORT_WARN,
				    "%zu task(s) could not be let go of yet: they sleep uninterruptibly in the kernel",
				    p->task_cnt);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	espy_ptask__each(p, forget, NULL);
	espy_stacks__free(p->stacks);
	espy_late_pages__end(&p->late);
	free(p->queue);
	free(p->scratch);
	free(p->piece);
	free(p);
}

const struct espy_source_ops espy_source_ptrace = {
	.name = "ptrace",
	.caps = ESPY_SRC_ENTER | ESPY_SRC_TAMPER | ESPY_SRC_STACKS | ESPY_SRC_ONE_THREAD,
	.probe = espy_ptrace__probe,
	.open = ptrace_open,
	.set_calls = ptrace_set_calls,
	.want_calls = ptrace_want_calls,
	.start_command = espy_ptrace__start_command,
	.add_target = espy_ptrace__add_target,
	.remove_target = espy_ptrace__remove_target,
	.poll = ptrace_poll,
	.stats = ptrace_stats,
	.command_status = ptrace_command_status,
	.close = ptrace_close,
};
