/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ptrace source: its life and its loop.
 *
 * Waiting: wait4 with __WCLONE and without __WALL sees every task that is traced, whatever it is, but of our own
 * children only those whose end would not raise SIGCHLD. So the children that belong to somebody else in this process
 * (a pager, say) are never reaped here. Sleeping is done in sigtimedwait for SIGCHLD, which the kernel
 * raises at each stop; it is blocked while poll runs and so cannot be missed between the look and the sleep.
 *
 * What this source cannot help: attaching to a task and letting go of it interrupts the call that it sleeps in. The
 * kernel starts nearly all calls again unseen; a few (epoll_wait, for one) return EINTR to the program, as after
 * SIGSTOP.
 */
#include "ptrace_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "symbols/unwind.h"

/* Records after which poll returns, and stops handled without a record after which it looks at the clock. */
#define POLL_RECORDS 256
#define POLL_STOPS 256
/* Another thread that has SIGCHLD open may be given ours: never sleep longer than this on it. */
#define SLEEP_MAX_NS 1000000000ull
/* close waits so long for tasks that do not stop (they sleep in the kernel and cannot be interrupted). */
#define CLOSE_NS 3000000000ull

int espy_ptrace__step(struct espy_ptrace *p)
{
	int status;
	pid_t tid = wait4(-1, &status, __WCLONE | WNOHANG, NULL);

	if (tid <= 0)
		return 0;
	espy_ptrace__handle(p, tid, status);
	return 1;
}

/* Sleep until SIGCHLD, ns at most. 0, or -EINTR after another signal. */
static int sleep_for_child(uint64_t ns)
{
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

/* What poll returns if it should return now; 1: go on. */
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

		while (!p->fn_result && p->delivered < POLL_RECORDS && quiet_stops < POLL_STOPS && espy_ptrace__step(p))
			quiet_stops++;
		espy_ptrace__adopt_orphans(p);
		const uint64_t wake_ns = espy_ptrace__wake_delayed(p);

		n = poll_result(p);
		if (n != 1 || p->delivered)
			return n;
		now = espy_now_ns();
		if (now >= deadline || quiet_stops >= POLL_STOPS)
			return 0; /* early too: the caller may have a signal to see to */
		sleep_ns = deadline - now;
		if (sleep_ns > SLEEP_MAX_NS)
			sleep_ns = SLEEP_MAX_NS;
		if (wake_ns < now + sleep_ns)
			sleep_ns = wake_ns > now ? wake_ns - now : 0;
		if (p->embryo_cnt && sleep_ns > ESPY_EMBRYO_NS)
			sleep_ns = ESPY_EMBRYO_NS;
		n = sleep_for_child(sleep_ns);
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
	struct sigaction old;

	if (!p)
		return -ENOMEM;
	p->src.ops = &espy_source_ptrace;
	memcpy(&p->opts, opts, opts->size && opts->size < sizeof(p->opts) ? opts->size : sizeof(p->opts));
	p->scratch = aligned_alloc(8, ESPY_REC_MAX);
	if (!p->scratch) {
		free(p);
		return -ENOMEM;
	}
	/* If SIGCHLD is ignored (inherited from who started us) the kernel tells us nothing and reaps by itself. */
	if (!sigaction(SIGCHLD, NULL, &old) && ((!(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_IGN) ||
						(old.sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT)))) {
		struct sigaction dfl = { .sa_handler = SIG_DFL };

		sigemptyset(&dfl.sa_mask);
		p->old_sigchld = old;
		p->sigchld_changed = !sigaction(SIGCHLD, &dfl, NULL);
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

static void ptrace_stats(struct espy_source *s, struct espy_source_stats *st)
{
	*st = ((struct espy_ptrace *)s)->stats;
}

static int ptrace_command_status(struct espy_source *s, int *status)
{
	struct espy_ptrace *p = (struct espy_ptrace *)s;

	/* One that was let go is still our child. */
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
		if (!espy_ptrace__step(p))
			sleep_for_child(20000000);
		espy_ptrace__adopt_orphans(p);
	}
	/* What is left sleeps in the kernel; it is let go when this process ends, without ever having been stopped. */
	if (p->task_cnt)
		espy_ptrace__report(p, ESPY_REPORT_WARN,
				    "%zu task(s) could not be let go of yet: they sleep uninterruptibly in the kernel",
				    p->task_cnt);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	espy_ptask__each(p, forget, NULL);
	if (p->sigchld_changed)
		sigaction(SIGCHLD, &p->old_sigchld, NULL);
	espy_unwinder__free(p->unwinder);
	free(p->queue);
	free(p->scratch);
	free(p);
}

const struct espy_source_ops espy_source_ptrace = {
	.name = "ptrace",
	.caps = ESPY_SRC_ENTER | ESPY_SRC_TAMPER | ESPY_SRC_STACKS,
	.probe = espy_ptrace__probe,
	.open = ptrace_open,
	.set_calls = ptrace_set_calls,
	.start_command = espy_ptrace__start_command,
	.add_target = espy_ptrace__add_target,
	.remove_target = espy_ptrace__remove_target,
	.poll = ptrace_poll,
	.stats = ptrace_stats,
	.command_status = ptrace_command_status,
	.close = ptrace_close,
};
