/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/held_tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "lib/control_socket.h"
#include "lib/session_impl.h"

#define MOST 1024 /* tasks told of at once */
#define PREFIX "hold"
#define LONGEST_AUTO_NS 10000000ull
#define LONGEST_ALWAYS_NS 10000000000ull
#define ANSWER_MS 2000 /* an espy looks every 100 ms; a stopped one does not answer */

static int add_triggers(struct espy_session *s, const char *option, const char *const *text, size_t cnt,
			enum espy_trigger_action action)
{
	for (size_t i = 0; i < cnt; i++) {
		struct espy_trigger *t = &s->triggers[s->trigger_cnt];
		char why[512];
		int err;

		if (s->trigger_cnt == ESPY_TRIGGER_MAX) {
			espy_session__error(s, "there can be at most %u triggers", ESPY_TRIGGER_MAX);
			return -E2BIG;
		}
		err = espy_trigger__parse(t, text[i], action, s->sets, why, sizeof(why));
		if (err) {
			espy_session__error(s, "%s %s", option, why);
			return err;
		}
		s->sets[t->abi].wanted[t->nr / 64] |= 1ull << (t->nr % 64);
		s->trigger_cnt++;
	}
	return 0;
}

int espy_hold__triggers(struct espy_session *s)
{
	int err = add_triggers(s, "--pause-on", s->o.pause_on, s->o.pause_on_count, ESPY_TRIGGER_PAUSE);

	return err ? err : add_triggers(s, "--snapshot-on", s->o.snapshot_on, s->o.snapshot_on_count, ESPY_TRIGGER_SNAPSHOT);
}

enum espy_lossless espy_hold__lossless(const struct espy_session *s)
{
	const struct espy_session_options *o = &s->o;

	if (o->overrun != ESPY_OVERRUN_AUTO)
		return o->overrun == ESPY_OVERRUN_HOLD ? ESPY_LOSSLESS_ALWAYS : ESPY_LOSSLESS_NEVER;
	/* espy holds a program that ran before it only on request. */
	return o->all || o->cgroup || o->pid_count ? ESPY_LOSSLESS_NEVER : ESPY_LOSSLESS_AUTO;
}

uint64_t espy_hold__longest_ns(const struct espy_session *s)
{
	if (s->o.max_hold_ns)
		return s->o.max_hold_ns;
	return s->o.overrun == ESPY_OVERRUN_HOLD ? LONGEST_ALWAYS_NS : LONGEST_AUTO_NS;
}

void espy_hold__tell_pauses(struct espy_session *s, const struct espy_source_stats *st)
{
	char tasks[256] = "";
	size_t len = 0;

	for (unsigned i = 0; i < ESPY_PAUSED_TASKS && st->paused[i].pauses && len < sizeof(tasks); i++)
		len += (size_t)snprintf(tasks + len, sizeof(tasks) - len, "%s%u (%" PRIu64 ", %.1f ms)", i ? ", " : "",
					st->paused[i].tid, st->paused[i].pauses, (double)st->paused[i].ns / 1e6);
	if (st->pauses)
		espy_session__say(s, ESPY_TOPIC_LOSS, "%" PRIu64 " pause%s, %.1f ms in all, %.1f ms at most; %u task%s held: %s%s", st->pauses,
				  st->pauses == 1 ? "" : "s", (double)st->paused_ns / 1e6,
				  (double)st->longest_pause_ns / 1e6, st->paused_tasks,
				  st->paused_tasks == 1 ? "" : "s", tasks,
				  st->paused_tasks > ESPY_PAUSED_TASKS ? ", ..." : "");
	const bool matters = st->lossless_failed && st->lost[ESPY_LOST_RING_FULL];

	if (st->lossless)
		espy_session__say(s, matters ? ESPY_TOPIC_LOSS : ESPY_TOPIC_STATS, "lossless mode: %s%s", st->lossless_failed ? "not possible: " : "", st->lossless);
	if (st->cut_pauses)
		espy_session__say(s, ESPY_TOPIC_LOSS, "%" PRIu64 " of them ended before there was room, after %g ms (--max-hold)", st->cut_pauses,
				  (double)espy_hold__longest_ns(s) / 1e6);
	if (st->unheld)
		espy_session__say(s, ESPY_TOPIC_LOSS, "%" PRIu32 " time%s nobody could be held for a while, because espy did not run", st->unheld,
				  st->unheld == 1 ? "" : "s");
	if (st->not_paused)
		espy_session__say(s, ESPY_TOPIC_LOSS, "%" PRIu64 " times a task was to be held and could not be: too many at once, or of a "
				  "real-time policy", st->not_paused);
}

void espy_resume__open(struct espy_session *s)
{
	s->resume_socket = espy_control__listen(s, PREFIX, "resume");
}

/* Drops holds with no lease left, and finds the hold on a task. NULL: there is none. The caller has h->lock. */
static struct session_hold *find_hold(struct session_holds *h, pid_t task)
{
	const uint64_t now = espy_now_ns();
	struct session_hold *found = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < h->cnt; i++) {
		if (h->v[i].until_ns <= now)
			continue;
		h->v[kept] = h->v[i];
		if (h->v[kept].task == task)
			found = &h->v[kept];
		kept++;
	}
	h->cnt = kept;
	return found;
}

/* Takes back a hold. Returns whether another one still holds the task. */
static bool take_back(struct session_holds *h, pid_t task)
{
	struct session_hold *hold;
	bool stays;

	pthread_mutex_lock(&h->lock);
	hold = task ? find_hold(h, task) : NULL;
	stays = hold && --hold->holds;
	if (!task)
		h->cnt = 0;
	else if (hold && !stays)
		*hold = h->v[--h->cnt];
	pthread_mutex_unlock(&h->lock);
	return stays;
}

/* Takes back all holds of this session on a task. Returns whether the task goes on. */
static bool resume_whole(struct espy_session *s, pid_t task)
{
	while (take_back(&s->holds, task))
		;
	return !s->src_ops->resume(s->src, task);
}

/* Lets a task go on, or all tasks of a process. Returns their number. */
static unsigned resume(struct espy_session *s, pid_t pid)
{
	struct espy_held_task held[MOST];
	int cnt = s->src_ops->held(s->src, held, MOST);
	unsigned n = 0;

	for (int i = 0; i < cnt && i < MOST; i++)
		if (held[i].tid == (uint32_t)pid || held[i].tgid == (uint32_t)pid)
			n += resume_whole(s, (pid_t)held[i].tid);
	return n;
}

void espy_resume__serve(struct espy_session *s)
{
	char text[ESPY_CONTROL_TEXT];
	int fd, pid;

	while ((fd = espy_control__accept(s->resume_socket, text)) >= 0) {
		if (sscanf(text, "resume %d", &pid) == 1 && pid > 0) {
			snprintf(text, sizeof(text), "resumed %u", resume(s, pid));
			espy_control__answer(fd, text);
		} else {
			close(fd);
		}
	}
}

/* ---- for the library's user */

static struct session_hold *add_hold(struct session_holds *h, pid_t task)
{
	if (!espy_array__grow(h->v, h->cnt, h->room))
		return NULL;
	h->v[h->cnt] = (struct session_hold){ .task = task };
	return &h->v[h->cnt];
}

int espy_pause(struct espy_session *s, pid_t task, uint64_t lease_ns)
{
	const uint64_t until = espy_now_ns() + lease_ns;
	struct session_hold *hold;
	int err;

	if (!s || task <= 0 || !lease_ns || until < lease_ns)
		return -EINVAL;
	if (!s->o.can_pause)
		return -EOPNOTSUPP;
	if (s->run.phase != PHASE_RUNS)
		return -ESRCH;
	pthread_mutex_lock(&s->holds.lock);
	hold = find_hold(&s->holds, task);
	const bool fresh = !hold;
	hold = hold ? hold : add_hold(&s->holds, task);
	err = hold ? s->src_ops->pause(s->src, task, until > hold->until_ns ? until : hold->until_ns) : -ENOMEM;
	if (!err) {
		hold->holds++;
		hold->until_ns = until > hold->until_ns ? until : hold->until_ns;
		s->holds.cnt += fresh;
	}
	pthread_mutex_unlock(&s->holds.lock);
	return err;
}

static unsigned holds_of(struct espy_session *s, pid_t task)
{
	const struct session_hold *hold;
	unsigned holds;

	pthread_mutex_lock(&s->holds.lock);
	hold = find_hold(&s->holds, task);
	holds = hold ? hold->holds : 1; /* by a trigger */
	pthread_mutex_unlock(&s->holds.lock);
	return holds;
}

int espy_session_held(struct espy_session *s, espy_held_fn fn, void *ctx)
{
	struct espy_held_task held[MOST];
	int cnt;

	if (!s || !fn)
		return -EINVAL;
	if (s->run.phase != PHASE_RUNS || !s->src_ops->held)
		return 0;
	cnt = s->src_ops->held(s->src, held, MOST);
	for (int i = 0; i < cnt && i < MOST; i++) {
		const struct espy_held h = {
			.task = (pid_t)held[i].tid,
			.process = (pid_t)held[i].tgid,
			.call = held[i].abi < ESPY_ABI_CNT
					? espy_image__call_name(&s->pipe.images[held[i].abi], held[i].nr)
					: "",
			.since_ns = held[i].since_ns,
			.holds = holds_of(s, (pid_t)held[i].tid),
		};
		int n = fn(ctx, &h);

		if (n)
			return n;
	}
	return cnt;
}

int espy_resume(struct espy_session *s, pid_t task)
{
	if (!s || task < 0)
		return -EINVAL;
	if (s->run.phase != PHASE_RUNS || !s->src_ops->resume)
		return -ESRCH;
	return take_back(&s->holds, task) ? 0 : s->src_ops->resume(s->src, task);
}

/* ---- the other side */

struct asked {
	pid_t pid, by;
	struct espy_resumed *answers;
	size_t n, cnt;
};

static void ask(void *ctx, const char *dir, const char *file, pid_t espy)
{
	struct asked *a = ctx;
	char request[32], answer[ESPY_CONTROL_TEXT];
	unsigned resumed = 0;

	if (a->by && espy != a->by)
		return;
	snprintf(request, sizeof(request), "resume %d", (int)a->pid);
	if (espy_control__ask(dir, file, ANSWER_MS, request, answer) || sscanf(answer, "resumed %u", &resumed) != 1 || !resumed)
		return;
	if (a->cnt < a->n)
		a->answers[a->cnt] = (struct espy_resumed){ .espy = espy, .tasks = resumed };
	a->cnt++;
}

size_t espy_ask_resume(pid_t pid, pid_t by, struct espy_resumed *resumed, size_t count)
{
	struct asked a = { .pid = pid, .by = by, .answers = resumed, .n = count };

	espy_control__each(PREFIX, ask, &a);
	return a.cnt;
}
