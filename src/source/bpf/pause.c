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
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "record/clock.h"
#include "bpf_source.h"
#include "object.h"
#include "pause.h"

#define NEXT_PAUSE 2 /* in the rows of programs, see espy.bpf.c */
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
#define SMALL_RING (8u << 20)
/* Room above the mark for what tasks have on their way when they are told to wait. */
#define HEAD_ROOM (8u << 20)
#define END_MS 500
#define NO_FUNCTIONS "the kernel cannot hold a task on its way out of a call (Linux 6.18 can)"

struct bpf_pause {
	struct bpf_pages pages;
	struct bpf_object *obj;
	struct espy_bpf_hold *holds;
	bool ready, by_signal;
	bool failed;   /* it could not be made ready, see why */
	bool told;     /* what there is to say of that has been said */
	char why[256];
	pthread_mutex_t lock; /* over the server's end and the holds */
	pthread_t thread;
	bool threaded;
	int poke; /* eventfd: the thread is to look at once */
	bool ending;
	bool helper_gone;
	struct espy_rec_pause *over; /* pauses by signal that are over, not yet delivered */
	size_t over_cnt, over_cap;
	struct espy_paused_task *tasks;
	size_t task_cnt, task_cap;
};

static uint32_t held(const struct bpf_source *s, enum espy_pause_reason reason)
{
	return __atomic_load_n(&s->shared->pausing.held[reason], __ATOMIC_SEQ_CST);
}

static bool wants_lossless(const struct bpf_source *s)
{
	return s->opts.lossless != ESPY_LOSSLESS_NEVER && !s->opts.count_only && !s->opts.flight_bytes;
}

static bool wants_hand(const struct bpf_source *s)
{
	for (size_t i = 0; i < s->opts.trigger_cnt; i++)
		if (s->opts.triggers[i].action == ESPY_TRIGGER_PAUSE)
			return true;
	return false;
}

uint64_t bpf_pause__high(const struct bpf_source *s, uint64_t size)
{
	if (!wants_lossless(s))
		return 0;
	return size > 2 * HEAD_ROOM ? size - HEAD_ROOM : size / 2;
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

static int make_ready(struct bpf_source *s);

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
}

static void look_after(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;

	int watch = p->pages.pidfd;

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
			/* What they sleep on is gone with the helper; new ones would not fall asleep. */
			__atomic_store_n(&s->shared->pausing.on, 0, __ATOMIC_SEQ_CST);
			let_go(s, ESPY_PAUSE_RING_FULL, 0);
			let_go(s, ESPY_PAUSE_ASKED, 0);
			__atomic_store_n(&p->helper_gone, true, __ATOMIC_RELEASE);
			watch = -1;
			continue;
		}
		pthread_mutex_lock(&p->lock);
		going = any_going(p);
		pthread_mutex_unlock(&p->lock);
		/* Someone sleeps. Those that are on their way out are not to wait; the others do for a round. */
		if (!wait_for_poke(p, going ? 1 : ROUND_MS) && !going && held(s, ESPY_PAUSE_RING_FULL) &&
		    bpf_source_unread(s) < s->shared->pausing.low)
			let_go(s, ESPY_PAUSE_RING_FULL, 0);
		serve_round(s);
	}
}

static void *run_thread(void *arg)
{
	struct bpf_source *s = arg;

	if (!s->pause->ready && (!wait_until_soon(s) || make_ready(s)))
		return NULL;
	if (!s->pause->by_signal)
		look_after(s);
	return NULL;
}

static int start_thread(struct bpf_source *s)
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

/* ---- making ready */

static int load_programs(struct bpf_source *s, bool by_signal)
{
	struct bpf_pause *p = s->pause;
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "espy", /* by it, too, shared memory is found */
		    .btf_custom_path = *s->types.path ? s->types.path : NULL);
	const unsigned char *from = s->rings.cnt ? espy_bpf_pause_rings_object : espy_bpf_pause_object;
	const unsigned char *end = s->rings.cnt ? espy_bpf_pause_rings_object_end : espy_bpf_pause_object_end;
	struct bpf_program *prog;
	struct bpf_map *map;
	int err;

	p->obj = bpf_object__open_mem(from, (size_t)(end - from), &opts);
	if (!p->obj)
		return -errno;
	bpf_object__for_each_map(map, p->obj) {
		struct bpf_map *own = bpf_object__find_map_by_name(s->obj, bpf_map__name(map));

		err = own ? bpf_map__reuse_fd(map, bpf_map__fd(own)) : 0;
		if (err)
			return err;
	}
	bpf_object__for_each_program(prog, p->obj) {
		const char *name = bpf_program__name(prog);

		bpf_program__set_autoload(prog, by_signal == !!strstr(name, "_stop"));
	}
	err = bpf_object__load(p->obj);
	if (err)
		return err;
	p->holds = mmap(NULL, ESPY_BPF_HOLDS * sizeof(*p->holds), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(bpf_object__find_map_by_name(p->obj, "espy_holds")), 0);
	if (p->holds == MAP_FAILED) {
		p->holds = NULL;
		return -errno;
	}
	return 0;
}

static int link_row(struct bpf_source *s, const char *row, const char *program)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(s->pause->obj, program);
	struct bpf_map *array = bpf_object__find_map_by_name(s->obj, row);
	uint32_t key = NEXT_PAUSE, fd;

	if (!prog || !array)
		return -ENOENT;
	fd = (uint32_t)bpf_program__fd(prog);
	return bpf_map_update_elem(bpf_map__fd(array), &key, &fd, BPF_ANY) ? -errno : 0;
}

static void drop_programs(struct bpf_pause *p)
{
	if (p->holds)
		munmap(p->holds, ESPY_BPF_HOLDS * sizeof(*p->holds));
	if (p->obj)
		bpf_object__close(p->obj);
	p->holds = NULL;
	p->obj = NULL;
}

/* The helper, when espy is gone: whoever is stopped by a signal would stay so. The programs may last a little longer. */
static void continue_all(void *ctx)
{
	const struct bpf_pause *p = ctx;

	for (int i = 0; i < 50; i++) {
		struct timespec t = { .tv_nsec = 10000000 };

		for (size_t k = 0; k < ESPY_BPF_HOLDS; k++)
			if (p->holds[k].tid)
				kill((pid_t)p->holds[k].tgid, SIGCONT);
		nanosleep(&t, NULL);
	}
}

static int make_ready_as(struct bpf_source *s, bool by_signal)
{
	struct bpf_pause *p = s->pause;
	struct espy_bpf_pausing *pausing = &s->shared->pausing;
	const char *kind = by_signal ? "stop" : "hold";
	char name[32];
	int err;

	err = load_programs(s, by_signal);
	if (err)
		snprintf(p->why, sizeof(p->why), "%s",
			 by_signal ? "the kernel refuses the programs" :
				     NO_FUNCTIONS);
	if (!err)
		err = by_signal ? bpf_pages__open_helper(&p->pages, continue_all, p) :
				  bpf_pages__open(&p->pages, ESPY_BPF_HOLDS, NULL, NULL, p->why, sizeof(p->why));
	if (err) {
		drop_programs(p);
		return err;
	}
	p->by_signal = by_signal;
	pausing->helper = (uint32_t)p->pages.helper;
	pausing->base = (uint64_t)(uintptr_t)p->pages.base;
	pausing->low = bpf_pause__high(s, bpf_source_room(s)) / 2;
	snprintf(name, sizeof(name), "espy_raw_%s", kind);
	err = link_row(s, "espy_raw_next", name);
	snprintf(name, sizeof(name), "espy_one_%s", kind);
	err = err ? err : link_row(s, "espy_one_next", name);
	if (err) {
		snprintf(p->why, sizeof(p->why), "the programs do not fit together: %s", strerror(-err));
		return err;
	}
	__atomic_store_n(&pausing->on, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->ready, true, __ATOMIC_RELEASE);
	return 0;
}

static int make_ready(struct bpf_source *s)
{
	int err = make_ready_as(s, false);

	/* A stop is not what "without anyone noticing" means: only for who insists. */
	if (err && (s->opts.lossless == ESPY_LOSSLESS_ALWAYS || wants_hand(s)))
		err = make_ready_as(s, true);
	if (err)
		__atomic_store_n(&s->pause->failed, true, __ATOMIC_RELEASE);
	return err;
}

int bpf_pause__probe(char *why, size_t why_sz)
{
	static const char *const functions[] = { "bpf_task_work_schedule_resume_impl", "bpf_task_from_pid" };
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_pages pages;
	int err = 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && !err; i++)
		if (!btf || btf__find_by_name_kind(btf, functions[i], BTF_KIND_FUNC) < 0)
			err = -EOPNOTSUPP;
	btf__free(btf);
	if (err) {
		snprintf(why, why_sz, NO_FUNCTIONS);
		return err;
	}
	err = bpf_pages__open(&pages, 1, NULL, NULL, why, why_sz);
	if (!err)
		bpf_pages__close(&pages);
	return err;
}

int bpf_pause__begin(struct bpf_source *s)
{
	bool must = s->opts.lossless == ESPY_LOSSLESS_ALWAYS || wants_hand(s);
	struct bpf_pause *p;
	int err = 0;

	if (!wants_lossless(s) && !wants_hand(s))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->poke < 0) {
		err = -errno;
		free(p);
		return err;
	}
	pthread_mutex_init(&p->lock, NULL);
	s->pause = p;
	if (must || bpf_source_room(s) <= SMALL_RING)
		err = make_ready(s);
	if (err && must) {
		bpf_source_report(s, ESPY_REPORT_ERROR, "tasks cannot be held here: %s", p->why);
		return err;
	}
	if (p->by_signal)
		bpf_source_report(s, ESPY_REPORT_WARN,
				  "tasks are held by SIGSTOP, which their parents can see, because %s", p->why);
	else if (!err && start_thread(s) && must)
		return -EAGAIN;
	return 0;
}

/* ---- what the reader does */

/* What there is to say is said by the reader's thread: nobody else may report. */
static void tell(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	bool gone = __atomic_load_n(&p->helper_gone, __ATOMIC_ACQUIRE);

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
	struct bpf_pause *p = s->pause;
	struct espy_paused_task *t = NULL;
	uint64_t ns = rec->duration_ns;

	s->stats.pauses++;
	s->stats.paused_ns += ns;
	if (ns > s->stats.longest_pause_ns)
		s->stats.longest_pause_ns = ns;
	for (size_t i = 0; p && i < p->task_cnt && !t; i++)
		if (p->tasks[i].tid == rec->rec.tid)
			t = &p->tasks[i];
	if (!t) {
		if (!p || !grow(&p->tasks, p->task_cnt, &p->task_cap, sizeof(*p->tasks)))
			return;
		t = &p->tasks[p->task_cnt++];
		*t = (struct espy_paused_task){ .tid = rec->rec.tid, .tgid = rec->rec.tgid };
		s->stats.paused_tasks++;
	}
	t->pauses++;
	t->ns += ns;
	if (ns > t->longest_ns)
		t->longest_ns = ns;
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct espy_paused_task *)a)->ns, y = ((const struct espy_paused_task *)b)->ns;

	return x < y ? 1 : x > y ? -1 : 0;
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
	if (!p->task_cnt)
		return;
	qsort(p->tasks, p->task_cnt, sizeof(*p->tasks), by_time);
	for (size_t i = 0; i < p->task_cnt && i < ESPY_PAUSED_TASKS; i++)
		st->paused[i] = p->tasks[i];
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
	drop_programs(p);
	free(p->over);
	free(p->tasks);
	close(p->poke);
	pthread_mutex_destroy(&p->lock);
	free(p);
	s->pause = NULL;
}
