/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The agent source behind source.h. It serves marks and probes only: no system calls, no start of commands (the merged
 * source, which is always in front of it, does that).
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/small_file.h"
#include "source/agent/agent_source.h"

#define LOOK_NS 20000000ull /* for children, and for processes that have ended */
#define NAP_NS 2000000l
#define BIRTH_NS 10000000ull /* from a fork to the child's own agent */
#define EXEC_MS 300u	   /* from an execve to the agent of a program that is linked with it */
#define LOAD_MS 8000u	   /* for so long one that an agent is to be loaded into is tried */
#define SELDOM_NS 5000000000ull
#define LINGER_NS 30000000ull /* for the child of a parent that ended at once */
#define LINGER_FOR_CHILD_NS 1000000000ull /* if such a child is known to have been begun; it may also have failed */
#define EXITING 0x4 /* the kernel's PF_EXITING, in /proc/PID/stat */

static struct espy_agent_source *to_agent(struct espy_source *s)
{
	return (struct espy_agent_source *)s;
}

static int agent_probe(char *why, size_t why_sz)
{
	(void)why;
	(void)why_sz;
	return 0;
}

static int agent_open(struct espy_source **out, const struct espy_source_opts *opts)
{
	struct espy_agent_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	s->turn.wake = opts->wake;
	s->base.ops = &espy_source_agent;
	s->defs = espy_mark_defs__new(0);
	if (!s->defs || espy_agent_source__alloc(s) || !s->opts.marks.rules) {
		int err = s->opts.marks.rules ? -ENOMEM : -EINVAL;

		espy_mark_defs__free(s->defs);
		free(s->run);
		free(s);
		return err;
	}
	if (espy_agent_probes__open(s)) {
		espy_mark_defs__free(s->defs);
		free(s->run);
		free(s);
		return -ENOMEM;
	}
	espy_tsc__begin(&s->clock);
	/* So that children's sessions are known for ours. */
	if (getrandom(&s->tag, sizeof(s->tag), GRND_NONBLOCK) != (ssize_t)sizeof(s->tag))
		s->tag = (uint64_t)getpid() << 32 ^ espy_now_ns();
	s->calls.fd = -1;
	s->follow = s->opts.follow;
	s->flight = s->opts.rings.flight_bytes;
	*out = &s->base;
	return 0;
}

static int agent_add_target(struct espy_source *src, const struct espy_target *t)
{
	struct espy_agent_source *s = to_agent(src);

	if (t->kind != ESPY_TARGET_PID)
		return espy_agent_wide__begin(s, t);
	s->eager = true;
	int err = espy_agent_process__begin(s, t->pid, t->held ? ESPY_AGENT_LOAD_HELD : ESPY_AGENT_LOAD);

	s->eager = false;
	return err;
}

static int agent_remove_target(struct espy_source *src, pid_t pid)
{
	struct espy_agent_source *s = to_agent(src);

	for (struct espy_agent_process *p = s->processes; p; p = p->next)
		if (!pid || p->pid == pid)
			espy_agent_process__stop(p);
	return 0;
}

/* ---- processes that come and go */

static bool process_lives(pid_t pid)
{
	struct espy_proc_stat stat;

	return espy_read_proc_stat(pid, &stat) && stat.state != 'Z' && stat.state != 'X' && !(stat.flags & EXITING);
}

static void expect(struct espy_agent_source *s, pid_t pid, enum espy_agent_how how, unsigned ms)
{
	const size_t cnt = sizeof(s->expected) / sizeof(s->expected[0]);
	size_t at = 0;

	/* The place that is free, or that of the one which was waited for longest. */
	for (size_t i = 0; i < cnt; i++) {
		if (s->expected[i].pid == pid)
			return;
		if (s->expected[at].pid && (!s->expected[i].pid || s->expected[i].until_ns < s->expected[at].until_ns))
			at = i;
	}
	s->expected[at].pid = pid;
	s->expected[at].how = how;
	s->expected[at].next_ns = 0;
	s->expected[at].since_ns = espy_now_ns();
	s->expected[at].until_ns = s->expected[at].since_ns + ms * 1000000ull;
}

static void try_expected(struct espy_agent_source *s)
{
	const uint64_t now = espy_now_ns();

	for (size_t i = 0; i < sizeof(s->expected) / sizeof(s->expected[0]); i++) {
		const pid_t pid = s->expected[i].pid;

		if (!pid || now < s->expected[i].next_ns)
			continue;
		const enum espy_agent_how how = s->expected[i].how;
		const bool lives = process_lives(pid), last = now > s->expected[i].until_ns || !lives;

		/* In the middle of an execve much can go wrong that will go right in a moment. */
		s->quiet = !last || !lives || s->expected[i].next_ns;
		int err = espy_agent_process__begin(s, pid, how);

		/* No agent with our session comes to be in it: it was born without one, or executes another program. */
		if (how == ESPY_AGENT_INHERITED && err == -ENOENT && now - s->expected[i].since_ns > BIRTH_NS &&
		    espy_agent_process__stands_alone(pid))
			err = espy_agent_process__begin(s, pid, s->wide ? ESPY_AGENT_FIND : ESPY_AGENT_LOAD);
		/* There is no other way: it gets as long for that as others. */
		if (how == ESPY_AGENT_INHERITED && err == -EAGAIN && !last) {
			s->expected[i].how = ESPY_AGENT_LOAD;
			s->expected[i].until_ns = now + LOAD_MS * 1000000ull;
		}

		s->quiet = false;
		/* In the meantime others may have taken its place. */
		if (s->expected[i].pid != pid)
			continue;
		if (err == -EAGAIN && last && lives)
			s->expected[i].next_ns = now + SELDOM_NS; /* or else it were found as a new child at once */
		else if (!err || last)
			s->expected[i].pid = 0;
	}
}

static bool any_expected(const struct espy_agent_source *s)
{
	for (size_t i = 0; i < sizeof(s->expected) / sizeof(s->expected[0]); i++)
		if (s->expected[i].pid && !s->expected[i].next_ns)
			return true;
	return false;
}

static void agent_meanwhile(struct espy_source *src, void (*fn)(void *ctx), void *ctx)
{
	to_agent(src)->turn = (struct espy_agent_turn){ fn, ctx, to_agent(src)->opts.wake };
}

static void agent_expect(struct espy_source *src, pid_t pid)
{
	expect(to_agent(src), pid, ESPY_AGENT_FIND, ESPY_AGENT_INHERIT_MS);
}

static void agent_saw(struct espy_source *src, const struct espy_rec *rec)
{
	struct espy_agent_source *s = to_agent(src);
	const struct espy_rec_fork *f = (const struct espy_rec_fork *)rec;

	if (rec->type == ESPY_REC_FORK && s->opts.follow && f->child_tgid == f->child_tid)
		expect(s, (pid_t)f->child_tid, ESPY_AGENT_INHERITED, ESPY_AGENT_INHERIT_MS);
	if (rec->type == ESPY_REC_EXEC && s->wide)
		expect(s, (pid_t)rec->tgid, ESPY_AGENT_FIND, EXEC_MS);
}

static void take_children(struct espy_agent_source *s, pid_t pid)
{
	char path[96], word[16];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%15s", word) == 1) {
		pid_t child = (pid_t)strtol(word, NULL, 10);
		bool known = false;

		for (const struct espy_agent_process *p = s->processes; p && !known; p = p->next)
			known = p->pid == child;
		if (child > 0 && !known)
			expect(s, child, ESPY_AGENT_INHERITED, ESPY_AGENT_INHERIT_MS);
	}
	if (f)
		fclose(f);
}

/* Returns how many processes it has begun while it was watched. */
static uint32_t forks_of(const struct espy_agent_process *p)
{
	struct espy_agent_info info;

	espy_agent__info(&p->link, &info);
	return info.forks - p->forks_before;
}

/* Delivers the last words of a process that has ended and whose ring is empty, and forgets it. It may live on as another program. */
static void bury(struct espy_agent_delivery *d, struct espy_agent_process **at)
{
	struct espy_agent_source *s = d->s;
	struct espy_agent_process *p = *at;
	const pid_t pid = p->pid;

	if (s->flight) {
		s->forks += forks_of(p); /* its area is not kept */
		espy_agent_flight__keep(s, p);
		goto follow;
	}
	espy_agent_ring__look(&p->ring);
	for (size_t i = 0; i < p->ring.cursor_cnt; i++)
		if (p->ring.cursors[i].ready)
			return; /* the next look delivers it */
	espy_agent_ring__bury(&p->ring);
	if (p->ring.torn)
		espy_agent_delivery__lost(d, p, ESPY_LOST_TORN, p->ring.torn, espy_now_ns());
	s->stats.lost[ESPY_LOST_TORN] += p->ring.torn;
	s->forks += forks_of(p);
	*at = p->next;
	espy_agent_process__bury(s, p);
follow:
	if (process_lives(pid))
		/* it has executed another program */
		expect(s, pid, s->wide ? ESPY_AGENT_FIND : ESPY_AGENT_LOAD, s->wide ? ESPY_AGENT_INHERIT_MS : LOAD_MS);
}

static void look_after(struct espy_agent_delivery *d)
{
	struct espy_agent_source *s = d->s;
	uint64_t now = espy_now_ns();

	if (now - s->last_look_ns < LOOK_NS)
		return;
	s->last_look_ns = now;
	espy_agent_source__let_go(s);
	for (struct espy_agent_process *p = s->processes, *next; s->opts.follow && p; p = next) {
		next = p->next;
		if (!p->past)
			take_children(s, p->pid);
	}
	if (s->wide && now >= s->next_wide_ns)
		espy_agent_wide__look(s);
	try_expected(s);
	for (struct espy_agent_process **at = &s->processes; *at && !d->stop;) {
		struct espy_agent_process *p = *at;

		p->tasks_epoch++;
		if (!p->past && !espy_agent_process__lives(p))
			bury(d, at);
		if (*at == p)
			at = &p->next;
	}
	espy_agent_flight__trim(s);
}

static bool any_process(const struct espy_agent_source *s)
{
	for (const struct espy_agent_process *p = s->processes; p; p = p->next)
		if (!p->past)
			return true;
	return false;
}

/* How long a child may still come: one that was forked calls as soon as it has a processor. */
static uint64_t linger_ns(const struct espy_agent_source *s)
{
	uint64_t forks = s->forks;

	for (const struct espy_agent_process *p = s->processes; p; p = p->next)
		if (!p->past)
			forks += forks_of(p);
	return s->follow && forks > s->births ? LINGER_FOR_CHILD_NS : LINGER_NS;
}

/* Returns whether no event will come any more: no process is watched or on its way. */
static bool is_over(struct espy_agent_source *s)
{
	if (any_process(s) || any_expected(s) || s->wide || espy_agent_calls__any(&s->calls)) {
		s->alone_ns = 0;
		return false;
	}
	if (s->calls.fd < 0)
		return true;
	if (!s->alone_ns)
		s->alone_ns = espy_now_ns();
	return espy_now_ns() - s->alone_ns > linger_ns(s);
}

/* The last moments, in which things happen fast. */
static bool is_alone(const struct espy_agent_source *s)
{
	return s->alone_ns || espy_agent_calls__any(&s->calls);
}

/* Programs that call wait for us. */
static int nap_or_call(const struct espy_agent_source *s, const struct timespec *nap)
{
	struct pollfd p[2] = {
		{ .fd = s->calls.fd, .events = POLLIN },
		{ .fd = s->opts.wake ? s->opts.wake->fd : -1, .events = POLLIN },
	};

	return ppoll(p, 2, nap, NULL) < 0 ? -1 : 0;
}

static int agent_poll(struct espy_source *src, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct espy_agent_source *s = to_agent(src);
	struct espy_agent_delivery d = { .s = s, .fn = fn, .ctx = ctx };
	const uint64_t start = espy_now_ns();

	for (;;) {
		/* A flight recorder has nothing to read: it looks for children, as seldom as its caller does. */
		const struct timespec nap = { .tv_nsec = !s->flight || is_alone(s)	      ? NAP_NS
							 : timeout_ms < 0 || timeout_ms > 100 ? 100000000
											      : timeout_ms * 1000000l };

		espy_agent_calls__answer(s);
		if (s->flight)
			espy_agent_past__pair(&s->past);
		else
			espy_agent_delivery__look(&d);
		if (!d.stop)
			look_after(&d);
		if (d.stop)
			return d.stop;
		if (d.cnt)
			return d.cnt;
		if (is_over(s))
			return -ESRCH;
		if ((timeout_ms >= 0 && espy_now_ns() - start >= (uint64_t)timeout_ms * 1000000u) || espy_wake__is_asked(s->opts.wake))
			return 0;
		if (nap_or_call(s, &nap))
			return -errno;
	}
}

static int deliver_copies(void *ctx)
{
	struct espy_agent_delivery *d = ctx;

	espy_agent_delivery__look(d);
	return d->stop ? d->stop : d->cnt;
}

static int agent_snapshot(struct espy_source *src, espy_record_fn fn, void *ctx)
{
	struct espy_agent_source *s = to_agent(src);
	struct espy_agent_delivery d = { .s = s, .fn = fn, .ctx = ctx };

	if (!s->flight)
		return -EOPNOTSUPP;
	espy_agent_calls__answer(s);
	/* Each trace stands alone. */
	if (s->probes_told)
		memset(s->probes_told, 0, s->opts.probes->place_cnt);
	int err = espy_mark_defs__each(s->defs, fn, ctx);

	return err ? err : espy_agent_flight__snapshot(s, deliver_copies, &d);
}

static void agent_stats(struct espy_source *src, struct espy_source_stats *st)
{
	*st = to_agent(src)->stats;
}

/* Reports children of processes that have ended, if they have not called: their marks are unknown. */
static void tell_missing(struct espy_agent_source *s)
{
	uint64_t forks = s->forks;

	for (struct espy_agent_process *p = s->processes; p; p = p->next)
		if (!p->past && !espy_agent_process__lives(p))
			forks += forks_of(p);
	if (s->follow && forks > s->births)
		espy_source_report(&s->opts, ESPY_REPORT_WARN,
				   "%" PRIu64 " children ended before espy knew of them; their marks are missing",
				   forks - s->births);
}

static void agent_close(struct espy_source *src)
{
	struct espy_agent_source *s = to_agent(src);

	tell_missing(s);
	for (struct espy_agent_process *p = s->processes, *next; p; p = next) {
		next = p->next;
		espy_agent_process__stop(p);
		espy_agent_process__free(p);
	}
	/* The kernel lets go of a task that does not wake now, when this process ends. */
	espy_agent_source__let_go(s);
	espy_agent_calls__close(&s->calls);
	free(s->cgroup);
	espy_mark_defs__free(s->defs);
	free(s->probes_told);
	free(s->heap);
	free(s->run);
	free(s);
}

static bool agent_call_word(struct espy_source *src, bool traced, char *word, size_t size)
{
	struct espy_agent_source *s = to_agent(src);

	if ((!s->follow && !traced) || espy_agent_calls__open(&s->calls, s->tag))
		return false;
	snprintf(word, size, ESPY_AGENT_CALL_ENV "=%s,%" PRIx64 "%s", s->calls.name, s->tag, traced ? ",traced" : "");
	return true;
}

bool espy_agent_source__expects(const struct espy_agent_source *s, pid_t pid)
{
	for (size_t i = 0; i < sizeof(s->expected) / sizeof(s->expected[0]); i++)
		if (s->expected[i].pid == pid)
			return true;
	return false;
}

static bool agent_hides(const struct espy_source *src, const struct espy_rec *rec)
{
	const struct espy_agent_source *s = (const struct espy_agent_source *)src;

	if (s->ours_tid && rec->tid == (uint32_t)s->ours_tid && rec->time_ns > s->ours_from_ns &&
	    rec->time_ns < s->ours_until_ns &&
	    (rec->type == ESPY_REC_EXIT || rec->type == ESPY_REC_ENTER || rec->type == ESPY_REC_SIGNAL))
		return true;
	const unsigned cnt = sizeof(s->hidden) / sizeof(s->hidden[0]);
	for (unsigned i = 0; i < s->hidden_cnt && i < cnt; i++) {
		if (rec->tid == (uint32_t)s->hidden[i])
			return true;
		if (rec->type == ESPY_REC_FORK &&
		    ((const struct espy_rec_fork *)rec)->child_tid == (uint32_t)s->hidden[i])
			return true;
	}
	return false;
}

static const struct espy_inside_ops inside = {
	.hides = agent_hides,
	.saw = agent_saw,
	.library = espy_agent__library,
	.call_word = agent_call_word,
	.expect = agent_expect,
	.meanwhile = agent_meanwhile,
};

const struct espy_source_ops espy_source_agent = {
	.name = "agent",
	.caps = ESPY_SRC_PASSIVE | ESPY_SRC_FLIGHT,
	.probe = agent_probe,
	.open = agent_open,
	.add_target = agent_add_target,
	.remove_target = agent_remove_target,
	.poll = agent_poll,
	.snapshot = agent_snapshot,
	.stats = agent_stats,
	.close = agent_close,
	.inside = &inside,
};
