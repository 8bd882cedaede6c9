/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who is held, and until when: lossless mode and pauses by hand. The programs decide to hold a task (pause.bpf.c); here
 * it is let go again: by the reader once it has caught up, by a call of resume(), and at the end.
 *
 * A thread of its own looks after those that are held for long, for the reader may be busy elsewhere meanwhile (a pipe
 * that nobody reads). It sleeps as long as nobody is held.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "pause_impl.h"
#include "record/clock.h"

/* How long the kernel is kept waiting at most by those that are held. */
#define ROUND_MS 50
#define AGAIN_NS 200000
/*
 * Making ready takes some tens of milliseconds, which a short command shall not pay: it is done when the command has run
 * for so long, or has filled so much of the ring. A small ring would be full before.
 */
#define SOON_MS 100
#define LOOK_MS 5
#define SOON_FILL(size) ((size) / 32)
#define END_MS 500

static uint32_t held(const struct bpf_source *s, enum espy_pause_reason reason)
{
	return __atomic_load_n(&s->shared->pausing.held[reason], __ATOMIC_SEQ_CST);
}

/* ---- letting go */

static bool matches(const struct espy_bpf_hold *h, enum espy_pause_reason reason, pid_t tid)
{
	return h->tid && h->reason == (uint32_t)reason && (!tid || h->tid == (uint32_t)tid);
}

/*
 * Wakes who waits: those that may run on, the others for another round. Those that are not asleep yet find it written in
 * their place; they, too, may be just about to fall asleep, for which the thread looks again.
 */
static void serve(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	uint32_t page, most = 2 * (held(s, ESPY_PAUSE_RING_FULL) + held(s, ESPY_PAUSE_ASKED)) + 16;
	uint64_t key;

	while (most-- && bpf_pages__next(&p->pages, &page, &key) > 0) {
		uint32_t nowhere = ESPY_GO_NOWHERE;

		if (page < ESPY_BPF_HOLDS)
			__atomic_compare_exchange_n(&p->holds[page].go, &nowhere, ESPY_GO_ROUND, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		bpf_pages__answer(&p->pages, key);
	}
}

static bool any_going(const struct bpf_pause *p)
{
	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++)
		if (__atomic_load_n(&p->holds[i].tid, __ATOMIC_RELAXED) &&
		    __atomic_load_n(&p->holds[i].go, __ATOMIC_RELAXED) == ESPY_GO_RUN)
			return true;
	return false;
}

static void poke(struct bpf_pause *p)
{
	uint64_t one = 1;

	if (write(p->poke, &one, sizeof(one)) < 0)
		return; /* it is full: the thread is about to look */
}

/* Room for one element more in an array that grows. */
static bool grow(void *array, size_t cnt, size_t *cap, size_t elem)
{
	void **at = array, *more;

	if (cnt < *cap)
		return true;
	more = realloc(*at, (*cap ? *cap * 2 : 16) * elem);
	if (!more)
		return false;
	*at = more;
	*cap = *cap ? *cap * 2 : 16;
	return true;
}

/* A task stopped by a signal. The record of it is made here: the task itself does nothing on its way out. */
static void free_stopped(struct bpf_source *s, struct espy_bpf_hold *h)
{
	struct bpf_pause *p = s->pause;

	p->over[p->over_cnt++] = (struct espy_rec_pause){
		.rec = { .size = sizeof(*p->over), .type = ESPY_REC_PAUSE, .nr = (uint16_t)h->reason, .tid = h->tid,
			 .tgid = h->tgid, .time_ns = h->since_ns },
		.duration_ns = espy_now_ns() - h->since_ns,
	};
	__atomic_fetch_sub(&s->shared->pausing.held[h->reason & 1], 1, __ATOMIC_SEQ_CST);
	h->since_ns = 0;
	__atomic_store_n(&h->tid, 0, __ATOMIC_SEQ_CST);
}

/* Places first, signals then: whoever runs on must be able to be stopped again at once. */
static int continue_stopped(struct bpf_source *s, enum espy_pause_reason reason, pid_t tid)
{
	struct bpf_pause *p = s->pause;
	size_t first = p->over_cnt;

	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++) {
		struct espy_bpf_hold *h = &p->holds[i];

		/* since_ns: written when the signal was sent */
		if (!matches(h, reason, tid) || !__atomic_load_n(&h->since_ns, __ATOMIC_ACQUIRE))
			continue;
		if (!grow(&p->over, p->over_cnt, &p->over_cap, sizeof(*p->over)))
			break; /* the others at the next look */
		free_stopped(s, h);
	}
	for (size_t i = first; i < p->over_cnt; i++)
		kill((pid_t)p->over[i].rec.tgid, SIGCONT);
	return (int)(p->over_cnt - first);
}

static int let_go(struct bpf_source *s, enum espy_pause_reason reason, pid_t tid)
{
	struct bpf_pause *p = s->pause;
	int cnt = 0;
	bool more;

	pthread_mutex_lock(&p->lock);
	if (p->by_signal) {
		cnt = continue_stopped(s, reason, tid);
		pthread_mutex_unlock(&p->lock);
		return cnt;
	}
	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++) {
		if (!matches(&p->holds[i], reason, tid))
			continue;
		__atomic_store_n(&p->holds[i].go, ESPY_GO_RUN, __ATOMIC_SEQ_CST);
		cnt++;
	}
	if (cnt)
		serve(s);
	more = cnt && any_going(p);
	pthread_mutex_unlock(&p->lock);
	if (more)
		poke(p);
	return cnt;
}

/* ---- the thread */

static bool wait_for_poke(struct bpf_pause *p, int ms)
{
	struct pollfd fd = { .fd = p->poke, .events = POLLIN };
	uint64_t cnt;

	if (poll(&fd, 1, ms) <= 0)
		return false;
	return read(p->poke, &cnt, sizeof(cnt)) == sizeof(cnt);
}

/* Until it is time. False: the end has come before. */
static bool wait_until_soon(struct bpf_source *s)
{
	uint64_t start = espy_now_ns();

	while (!__atomic_load_n(&s->pause->ending, __ATOMIC_ACQUIRE)) {
		if (espy_now_ns() - start > SOON_MS * 1000000ull || bpf_source_unread(s) > SOON_FILL(bpf_source_room(s)))
			return true;
		wait_for_poke(s->pause, LOOK_MS);
	}
	return false;
}

/* The kernel asks for a page twice before it takes no for an answer. */
static void serve_round(struct bpf_source *s)
{
	for (int i = 0; i < 2; i++) {
		struct timespec t = { .tv_nsec = AGAIN_NS };

		if (i)
			nanosleep(&t, NULL);
		pthread_mutex_lock(&s->pause->lock);
		serve(s);
		pthread_mutex_unlock(&s->pause->lock);
	}
	__atomic_add_fetch(&s->shared->pausing.beat, 1, __ATOMIC_RELEASE);
}

/* Who may be asleep runs on, whoever of us does the rest. */
static void mark_all(struct bpf_pause *p)
{
	for (size_t i = 0; i < ESPY_BPF_HOLDS; i++)
		if (__atomic_load_n(&p->holds[i].tid, __ATOMIC_RELAXED))
			__atomic_store_n(&p->holds[i].go, ESPY_GO_RUN, __ATOMIC_SEQ_CST);
}

/*
 * In the helper, while we are stopped: nobody is held any more. Its memory is a copy of ours, but for what the programs
 * share. Of those who are held by others too, or on their way, some come later: they find that nobody is to be held.
 */
void bpf_pause__deserted(void *ctx, int server)
{
	struct bpf_source *s = ctx;
	struct espy_bpf_pausing *pausing = &s->shared->pausing;

	__atomic_store_n(&pausing->on, 0, __ATOMIC_SEQ_CST);
	s->pause->pages.fuse = server;
	for (int i = 0; i < END_MS && (held(s, ESPY_PAUSE_RING_FULL) || held(s, ESPY_PAUSE_ASKED)); i++) {
		struct timespec t = { .tv_nsec = 1000000 };

		mark_all(s->pause);
		serve(s);
		nanosleep(&t, NULL);
	}
	__atomic_store_n(&pausing->deserted, 1, __ATOMIC_SEQ_CST);
}

/* We were stopped and are not any more. */
static void go_on(struct bpf_source *s)
{
	struct espy_bpf_pausing *pausing = &s->shared->pausing;

	if (!__atomic_load_n(&pausing->deserted, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&s->pause->was_stopped, true, __ATOMIC_RELEASE);
	__atomic_store_n(&pausing->deserted, 0, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&s->pause->ending, __ATOMIC_ACQUIRE) &&
	    !__atomic_load_n(&s->pause->helper_gone, __ATOMIC_ACQUIRE))
		__atomic_store_n(&pausing->on, 1, __ATOMIC_SEQ_CST);
}

/* What they sleep on is gone with the helper, and new ones would not fall asleep. A request that it had taken only ends so. */
static void end_service(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;

	__atomic_store_n(&s->shared->pausing.on, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&p->lock);
	mark_all(p);
	close(p->pages.fuse);
	p->pages.fuse = -1;
	pthread_mutex_unlock(&p->lock);
	__atomic_store_n(&p->helper_gone, true, __ATOMIC_RELEASE);
}

static void look_after(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	int watch = p->pages.pidfd;

	__atomic_store_n(&s->shared->pausing.keeper, (uint32_t)gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&p->ending, __ATOMIC_ACQUIRE)) {
		struct pollfd fds[3] = {
			{ .fd = p->pages.fuse, .events = POLLIN },
			{ .fd = p->poke, .events = POLLIN },
			{ .fd = watch, .events = POLLIN },
		};
		bool going;

		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return;
		if (fds[2].revents) {
			end_service(s);
			watch = -1;
			continue;
		}
		go_on(s);
		pthread_mutex_lock(&p->lock);
		going = any_going(p);
		pthread_mutex_unlock(&p->lock);
		/* Someone sleeps. Those that are on their way out are not to wait; the others do for a round. */
		if (!wait_for_poke(p, going ? 1 : ROUND_MS) && !going && held(s, ESPY_PAUSE_RING_FULL) &&
		    bpf_source_unread(s) < s->shared->pausing.low)
			let_go(s, ESPY_PAUSE_RING_FULL, 0);
		serve_round(s);
	}
	__atomic_store_n(&s->shared->pausing.keeper, 0, __ATOMIC_RELEASE);
}

static void *run_thread(void *arg)
{
	struct bpf_source *s = arg;

	if (!s->pause->ready && (!wait_until_soon(s) || bpf_pause__make_ready(s)))
		return NULL;
	if (!s->pause->by_signal)
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

/* ---- what the reader does */

/* What there is to say is said by the reader's thread: nobody else may report. */
static void tell(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	bool gone = __atomic_load_n(&p->helper_gone, __ATOMIC_ACQUIRE);

	if (__atomic_exchange_n(&p->was_stopped, false, __ATOMIC_ACQ_REL))
		bpf_source_report(s, ESPY_REPORT_WARN,
				  "while espy was stopped the tasks that it held ran on, and nobody was held");
	if (p->told || p->ending || (!gone && __atomic_load_n(&s->shared->pausing.broken, __ATOMIC_RELAXED) == 0))
		return;
	p->told = true;
	__atomic_store_n(&s->shared->pausing.on, 0, __ATOMIC_SEQ_CST);
	bpf_source_report(s, ESPY_REPORT_WARN,
			  "the helper process that tasks are held with is gone: nobody is held any more; what is lost from "
			  "now on is counted");
}

void bpf_pause__progress(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;

	if (!p || !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE))
		return;
	go_on(s);
	tell(s);
	if (held(s, ESPY_PAUSE_RING_FULL) && bpf_source_unread(s) < s->shared->pausing.low)
		let_go(s, ESPY_PAUSE_RING_FULL, 0);
}

bool bpf_pause__calm(const struct bpf_source *s)
{
	if (!s->pause)
		return true;
	return bpf_source_room(s) > SMALL_RING && !held(s, ESPY_PAUSE_RING_FULL) && !held(s, ESPY_PAUSE_ASKED) &&
	       bpf_source_unread(s) < bpf_source_room(s) / 4;
}

int bpf_pause__deliver(struct bpf_source *s, int (*fn)(void *ctx, const void *data, size_t size), void *ctx, int *stop)
{
	struct bpf_pause *p = s->pause;
	size_t i = 0;

	if (!p || !p->over_cnt)
		return 0;
	while (i < p->over_cnt && !*stop) {
		*stop = fn(ctx, &p->over[i], sizeof(p->over[i]));
		i++;
	}
	p->over_cnt -= i;
	memmove(p->over, p->over + i, p->over_cnt * sizeof(*p->over));
	return (int)i;
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
	st->lossless = st->lossless_failed				? p->why :
		       !__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE) ? "not needed so far" :
		       p->by_signal				? "by SIGSTOP" :
								  "tasks can be held";
	st->not_paused = s->shared ? __atomic_load_n(&s->shared->pausing.refused, __ATOMIC_RELAXED) : 0;
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

		/* Who is on its way out may still have to wait for another espy. */
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
	if (s->shared)
		__atomic_store_n(&s->shared->pausing.on, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->ending, true, __ATOMIC_RELEASE);
	poke(p);
	if (p->threaded)
		pthread_join(p->thread, NULL);
	p->threaded = false;
	/* Whoever is not gone by then is when the server's end is closed. */
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
		bpf_pages__close(&p->pages);
	bpf_pause__drop_programs(p);
	free(p->over);
	espy_pauses__free(&p->sums);
	close(p->poke);
	pthread_mutex_destroy(&p->lock);
	free(p);
	s->pause = NULL;
}
