/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of holds: lossless mode and pauses by hand. The programs decide to hold a task (pause.bpf.c). This file lets
 * it go: when the reader has caught up, by a call of resume(), and at the end. The helper process wakes it
 * (hold_helper.c).
 *
 * A thread of its own answers the helper, which asks for a sign of life as long as a task is held. The reader itself
 * may be busy elsewhere meanwhile (a full pipe). When the helper has ended, the thread starts another one. It sleeps
 * while no task is held.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/clock.h"
#include "source/bpf/hold/pause_impl.h"

#define END_MS 500
/* After the end of a helper, until there is another one; twice as long each time. */
#define AGAIN_MS 1000
#define AGAIN_MOST_MS 60000
#define TELL_NS 1000000000ull
#define THREAD_NICE (-10)
/* A hold that ends so soon is not prolonged but begun anew; that is tried for so long. */
#define NEAR_END_NS 3000000ull
#define PAUSE_NS 1000000000ull

static uint32_t held(const struct bpf_source *s, enum espy_pause_reason reason)
{
	return __atomic_load_n(&s->shared->pausing.held[reason], __ATOMIC_SEQ_CST);
}

/* ---- letting go */

static bool matches(const struct espy_bpf_hold *h, enum espy_pause_reason reason, pid_t tid)
{
	return h->tid && h->reason == (uint32_t)reason && (!tid || h->tid == (uint32_t)tid);
}

static void wake_thread(struct bpf_pause *p)
{
	uint64_t one = 1;

	if (write(p->wake, &one, sizeof(one)) < 0)
		return; /* it is full: the thread is about to look */
}

/* Returns how many there were. A task that is not asleep yet finds it written in its place. */
static int let_go(struct bpf_source *s, enum espy_pause_reason reason, pid_t tid)
{
	struct bpf_pause *p = s->pause;
	int cnt = 0;

	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++) {
		if (!matches(&p->holds[i], reason, tid))
			continue;
		__atomic_store_n(&p->holds[i].go, ESPY_GO_RUN, __ATOMIC_SEQ_CST);
		cnt++;
	}
	pthread_mutex_lock(&p->lock);
	if (cnt && p->helper.pid)
		bpf_helper__poke(&p->helper);
	pthread_mutex_unlock(&p->lock);
	return cnt;
}

/* ---- the thread */

static bool wait_for_wake(struct bpf_pause *p, int ms)
{
	struct pollfd fd = { .fd = p->wake, .events = POLLIN };
	uint64_t cnt;

	if (poll(&fd, 1, ms) <= 0)
		return false;
	return read(p->wake, &cnt, sizeof(cnt)) == sizeof(cnt);
}

static bool ending(const struct bpf_pause *p)
{
	return __atomic_load_n(&p->ending, __ATOMIC_ACQUIRE);
}

static void interrupted(struct bpf_pause *p)
{
	__atomic_add_fetch(&p->interrupted, 1, __ATOMIC_RELEASE);
}

/* Goes on after espy gave no sign of life for a while. */
static void go_on(struct bpf_source *s)
{
	struct espy_bpf_pausing *pausing = &s->shared->pausing;
	uint32_t deserted = __atomic_load_n(&pausing->deserted, __ATOMIC_SEQ_CST);

	if (deserted == s->pause->deserted)
		return;
	s->pause->deserted = deserted;
	interrupted(s->pause);
	if (!ending(s->pause))
		__atomic_store_n(&pausing->on, 1, __ATOMIC_SEQ_CST);
}

static bool has_ended(const struct bpf_helper *h)
{
	struct pollfd fd = { .fd = h->pidfd, .events = POLLIN };

	return h->pid && poll(&fd, 1, 0) > 0;
}

/*
 * Starts another helper in the place of one that has ended, after a while. Returns false if no task can be held any
 * more.
 */
static bool replace_helper(struct bpf_source *s, int *after_ms)
{
	struct bpf_pause *p = s->pause;
	uint64_t until = espy_now_ns() + (uint64_t)*after_ms * 1000000;

	__atomic_store_n(&s->shared->pausing.on, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&p->lock);
	bpf_helper__end(&p->helper);
	pthread_mutex_unlock(&p->lock);
	interrupted(p);
	while (!ending(p) && espy_now_ns() < until)
		wait_for_wake(p, (int)((until - espy_now_ns()) / 1000000 + 1));
	*after_ms = *after_ms * 2 < AGAIN_MOST_MS ? *after_ms * 2 : AGAIN_MOST_MS;
	return !ending(p) && !bpf_pause__new_helper(s);
}

static void look_after(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	int after_ms = AGAIN_MS;

	while (!ending(p)) {
		struct pollfd fds[2] = {
			{ .fd = p->wake, .events = POLLIN },
			{ .fd = p->helper.pidfd, .events = POLLIN },
		};

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		__atomic_add_fetch(&s->shared->pausing.beat, 1, __ATOMIC_RELEASE);
		wait_for_wake(p, 0);
		go_on(s);
		if (has_ended(&p->helper) && !replace_helper(s, &after_ms))
			return;
	}
}

static void *run_thread(void *arg)
{
	struct bpf_source *s = arg;

	/* Where that is allowed: the helper has little patience. */
	setpriority(PRIO_PROCESS, 0, THREAD_NICE);
	look_after(s);
	return NULL;
}

int bpf_pause__start_thread(struct bpf_source *s)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&s->pause->thread, NULL, run_thread, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->pause->threaded = !err;
	return err;
}

/* ---- the reader's part */

/* Reports at most once a second, in the reader's thread, since no other may report. */
static void tell(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	uint32_t times = __atomic_load_n(&p->interrupted, __ATOMIC_ACQUIRE);
	uint32_t begun = __atomic_load_n(&s->shared->pausing.begun, __ATOMIC_RELAXED);
	uint64_t now;

	if ((times == p->told_interrupted && begun == p->told_begun) || ending(p))
		return;
	now = espy_now_ns();
	if (now - p->told_ns < TELL_NS)
		return;
	p->told_ns = now;
	if (times != p->told_interrupted)
		bpf_source_report(s, ESPY_REPORT_WARN,
				  "espy or its process espy-hold did not run for a while: the tasks that were held ran on, and "
				  "nobody was held meanwhile%s",
				  __atomic_load_n(&p->failed, __ATOMIC_ACQUIRE) ? "; nor is anyone from now on" : "");
	p->told_interrupted = times;
	if (begun != p->told_begun)
		bpf_source_report(s, ESPY_REPORT_NOTE,
				  "the traced program outruns espy: tasks were held %u time%s so far (--lossless, --max-hold)",
				  begun, begun == 1 ? "" : "s");
	p->told_begun = begun;
}

void bpf_pause__progress(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;

	if (!p || !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE))
		return;
	tell(s);
	if (__atomic_load_n(&s->shared->pausing.broken, __ATOMIC_RELAXED) != p->broken ||
	    __atomic_load_n(&s->shared->pausing.deserted, __ATOMIC_RELAXED) != p->seen_deserted) {
		p->broken = s->shared->pausing.broken;
		p->seen_deserted = s->shared->pausing.deserted;
		wake_thread(p); /* it sees whether the helper has ended, and says that we are back */
	}
	if (held(s, ESPY_PAUSE_RING_FULL) && bpf_source_unread(s) < __atomic_load_n(&s->shared->high, __ATOMIC_RELAXED) / 2)
		let_go(s, ESPY_PAUSE_RING_FULL, 0);
}

bool bpf_pause__calm(const struct bpf_source *s)
{
	if (!s->pause)
		return true;
	return !s->pause->late && bpf_source_room(s) > SMALL_RING && !held(s, ESPY_PAUSE_RING_FULL) && !held(s, ESPY_PAUSE_ASKED) &&
	       bpf_source_unread(s) < __atomic_load_n(&s->shared->high, __ATOMIC_RELAXED) / 4;
}

void bpf_pause__count(struct bpf_source *s, const struct espy_rec_pause *rec)
{
	if (s->pause)
		espy_pauses__count(&s->pause->sums, &s->stats, rec);
}

void bpf_pause__stats(struct bpf_source *s, struct espy_source_stats *st)
{
	struct bpf_pause *p = s->pause;

	if (!p)
		return;
	st->lossless_failed = __atomic_load_n(&p->failed, __ATOMIC_ACQUIRE);
	st->lossless = st->lossless_failed ? p->why : "tasks can be held";
	st->not_paused = s->shared ? __atomic_load_n(&s->shared->pausing.refused, __ATOMIC_RELAXED) : 0;
	st->cut_pauses = s->shared ? __atomic_load_n(&s->shared->pausing.expired, __ATOMIC_RELAXED) : 0;
	st->unheld = __atomic_load_n(&p->interrupted, __ATOMIC_RELAXED);
	espy_pauses__tell(&p->sums, st);
}

bool bpf_pause__holds(const struct bpf_source *s, uint32_t tid)
{
	const struct bpf_pause *p = s->pause;

	if (!p || !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE) ||
	    !(held(s, ESPY_PAUSE_RING_FULL) | held(s, ESPY_PAUSE_ASKED)))
		return false;
	for (uint32_t i = 0; i < ESPY_BPF_HOLD_PROBES; i++)
		if (p->holds[(tid + i) & (ESPY_BPF_HOLDS - 1)].tid == tid)
			return true;
	return false;
}

int bpf_pause__held(struct bpf_source *s, struct espy_held_task *list, size_t n)
{
	struct bpf_pause *p = s->pause;
	size_t cnt = 0;

	if (!p || !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE) || !held(s, ESPY_PAUSE_ASKED))
		return 0;
	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++) {
		const struct espy_bpf_hold *h = &p->holds[i];

		/* A task on its way out may still have to wait for another espy. */
		if (!matches(h, ESPY_PAUSE_ASKED, 0) || !h->since_ns ||
		    __atomic_load_n(&h->go, __ATOMIC_RELAXED) == ESPY_GO_RUN)
			continue;
		if (cnt < n)
			list[cnt] = (struct espy_held_task){ .tid = h->tid, .tgid = h->tgid, .nr = h->nr,
							     .abi = h->abi, .since_ns = h->since_ns };
		cnt++;
	}
	return (int)cnt;
}

/* Prolongs the hold of a task that is held and not about to go. */
static bool prolong(struct bpf_pause *p, pid_t tid, uint64_t until_ns)
{
	for (uint32_t i = 0; i < ESPY_BPF_HOLD_PROBES; i++) {
		struct espy_bpf_hold *h = &p->holds[((uint32_t)tid + i) & (ESPY_BPF_HOLDS - 1)];
		uint64_t until = __atomic_load_n(&h->until_ns, __ATOMIC_SEQ_CST);

		if (!matches(h, ESPY_PAUSE_ASKED, tid) || __atomic_load_n(&h->go, __ATOMIC_SEQ_CST) == ESPY_GO_RUN)
			continue;
		/* A trigger's hold has no end of its own. */
		if (until && until < until_ns)
			__atomic_store_n(&h->until_ns, until_ns, __ATOMIC_SEQ_CST);
		return !until || until > espy_now_ns() + NEAR_END_NS;
	}
	return false;
}

int bpf_pause__pause(struct bpf_source *s, pid_t tid, uint64_t until_ns)
{
	struct bpf_pause *p = s->pause;
	struct espy_bpf_order order = { .tid = (uint32_t)tid, .until_ns = until_ns };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &order, .ctx_size_in = sizeof(order));
	struct bpf_program *prog;

	if (!p || !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE))
		return -EOPNOTSUPP;
	prog = bpf_object__find_program_by_name(p->obj, "espy_hold_task");
	if (!prog)
		return -EOPNOTSUPP;
	for (const uint64_t end = espy_now_ns() + PAUSE_NS; espy_now_ns() < end;) {
		const struct timespec t = { .tv_nsec = 100000 };

		if (prolong(p, tid, until_ns))
			return 0;
		run.retval = 0;
		if (bpf_prog_test_run_opts(bpf_program__fd(prog), &run))
			return -errno;
		if ((int)run.retval != -EAGAIN)
			return (int)run.retval;
		nanosleep(&t, NULL); /* the task is on its way out of a hold, or no task can be held for a moment */
	}
	return -EAGAIN;
}

int bpf_pause__resume(struct bpf_source *s, pid_t tid)
{
	struct bpf_pause *p = s->pause;

	if (!p || !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE))
		return tid ? -ESRCH : 0;
	return let_go(s, ESPY_PAUSE_ASKED, tid) || !tid ? 0 : -ESRCH;
}

void bpf_pause__end(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	uint64_t start = espy_now_ns();

	if (!p || p->ending)
		return;
	bpf_job__wait(&p->later.job);
	if (s->shared)
		__atomic_store_n(&s->shared->pausing.on, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->ending, true, __ATOMIC_RELEASE);
	wake_thread(p);
	if (p->threaded)
		pthread_join(p->thread, NULL);
	p->threaded = false;
	/* A task that has not gone by then goes when the helper ends. */
	while (p->ready && (held(s, ESPY_PAUSE_RING_FULL) || held(s, ESPY_PAUSE_ASKED)) &&
	       espy_now_ns() - start < END_MS * 1000000ull) {
		struct timespec t = { .tv_nsec = 50000 };

		let_go(s, ESPY_PAUSE_RING_FULL, 0);
		let_go(s, ESPY_PAUSE_ASKED, 0);
		nanosleep(&t, NULL);
	}
}

void bpf_pause__free(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;

	if (!p)
		return;
	bpf_pause__end(s);
	if (p->ready)
		bpf_helper__end(&p->helper);
	bpf_pause__drop_programs(p);
	espy_pauses__free(&p->sums);
	close(p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
	s->pause = NULL;
}
