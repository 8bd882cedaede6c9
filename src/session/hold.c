/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "session/control.h"
#include "session/impl.h"

#define MOST 1024 /* tasks told of at once */
#define PREFIX "hold"
#define ANSWER_MS 2000 /* an espy looks every 100 ms; a stopped one does not answer */

struct espy_hold {
	struct espy_session *s;
	struct espy_held_task told[MOST];
	size_t told_cnt;
	int terminal; /* -1: none */
	int sock;
	struct sockaddr_un addr;
};

static int add_triggers(struct espy_session *s, const char *option, const char *const *text, size_t cnt,
			enum espy_trigger_action action)
{
	for (size_t i = 0; i < cnt; i++) {
		struct espy_trigger *t = &s->triggers[s->trigger_cnt];
		char why[512];
		int err;

		if (s->trigger_cnt == ESPY_TRIGGER_MAX) {
			espy_session__say(s, "there can be at most %u triggers", ESPY_TRIGGER_MAX);
			return -E2BIG;
		}
		err = espy_trigger__parse(t, text[i], action, s->sets, why, sizeof(why));
		if (err) {
			espy_session__say(s, "%s %s", option, why);
			return err;
		}
		s->sets[t->abi].wanted[t->nr / 64] |= 1ull << (t->nr % 64);
		s->trigger_cnt++;
	}
	return 0;
}

int espy_hold__triggers(struct espy_session *s)
{
	int err = add_triggers(s, "--pause-on", s->o.pause_on, s->o.pause_on_cnt, ESPY_TRIGGER_PAUSE);

	return err ? err : add_triggers(s, "--snapshot-on", s->o.snapshot_on, s->o.snapshot_on_cnt, ESPY_TRIGGER_SNAPSHOT);
}

/* Terminals and the like: whoever started us, and so may wait for what we write, or we for it. */
static bool is_ancestor(pid_t pid)
{
	pid_t at = getppid();

	for (int i = 0; i < 1000 && at > 1; i++) {
		char path[64], line[512], *end;
		bool got;
		FILE *f;

		if (at == pid)
			return true;
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)at);
		f = fopen(path, "re");
		got = f && fgets(line, sizeof(line), f);
		if (f)
			fclose(f);
		end = got ? strrchr(line, ')') : NULL;
		if (!end || sscanf(end, ") %*c %d", &at) != 1)
			break;
	}
	return false;
}

enum espy_lossless espy_hold__lossless(const struct espy_session *s)
{
	const struct espy_session_opts *o = &s->o;

	if (o->lossless != ESPY_LOSSLESS_AUTO)
		return o->lossless;
	for (size_t i = 0; i < o->pid_cnt; i++)
		if (is_ancestor(o->pids[i]))
			return ESPY_LOSSLESS_NEVER;
	return o->all || o->cgroup ? ESPY_LOSSLESS_NEVER : ESPY_LOSSLESS_AUTO;
}

void espy_hold__tell_pauses(struct espy_session *s, const struct espy_source_stats *st)
{
	char tasks[256] = "";
	size_t len = 0;

	for (unsigned i = 0; i < ESPY_PAUSED_TASKS && st->paused[i].pauses && len < sizeof(tasks); i++)
		len += (size_t)snprintf(tasks + len, sizeof(tasks) - len, "%s%u (%" PRIu64 ", %.1f ms)", i ? ", " : "",
					st->paused[i].tid, st->paused[i].pauses, (double)st->paused[i].ns / 1e6);
	if (st->pauses)
		espy_session__say(s, "%" PRIu64 " pause%s, %.1f ms in all, %.1f ms at most; %u task%s held: %s%s", st->pauses,
				  st->pauses == 1 ? "" : "s", (double)st->paused_ns / 1e6,
				  (double)st->longest_pause_ns / 1e6, st->paused_tasks,
				  st->paused_tasks == 1 ? "" : "s", tasks,
				  st->paused_tasks > ESPY_PAUSED_TASKS ? ", ..." : "");
	if (st->lossless && (s->o.stats || (st->lossless_failed && st->lost[ESPY_LOST_RING_FULL])))
		espy_session__say(s, "lossless mode: %s%s", st->lossless_failed ? "not possible: " : "", st->lossless);
	if (st->not_paused)
		espy_session__say(s, "%" PRIu64 " times a task was to be held and could not be: too many at once",
				  st->not_paused);
}

int espy_hold__open(struct espy_hold **out, struct espy_session *s)
{
	struct espy_hold *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->s = s;
	h->terminal = isatty(STDIN_FILENO) ? open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	h->sock = espy_control__listen(PREFIX, &h->addr);
	if (h->sock < 0)
		espy_session__say(s, "`espy resume` cannot reach this espy (a socket in %s: %s)",
				  espy_control__where(), strerror(-h->sock));
	*out = h;
	return 0;
}

void espy_hold__close(struct espy_hold *h)
{
	if (!h)
		return;
	if (h->terminal >= 0)
		close(h->terminal);
	if (h->sock >= 0) {
		unlink(h->addr.sun_path);
		close(h->sock);
	}
	free(h);
}

/* ---- telling */

static const char *call_name(const struct espy_session *s, const struct espy_held_task *t)
{
	const struct espy_image *img = t->abi < ESPY_ABI_CNT ? &s->images[t->abi] : NULL;
	const char *name = img && t->nr < img->syscall_cnt ? espy_image__str(img, img->syscalls[t->nr].name) : "";

	return *name ? name : "a call";
}

static void name_of(uint32_t tid, char *name, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, name, size - 1);
		close(fd);
	}
	name[n > 0 ? n : 0] = '\0';
	for (char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = c[1] ? '?' : '\0';
}

static bool was_told(const struct espy_hold *h, const struct espy_held_task *t)
{
	for (size_t i = 0; i < h->told_cnt; i++)
		if (h->told[i].tid == t->tid && h->told[i].since_ns == t->since_ns)
			return true;
	return false;
}

static void tell(struct espy_hold *h, const struct espy_held_task *t)
{
	char name[32];

	name_of(t->tid, name, sizeof(name));
	espy_session__say(h->s,
			  "task %u (%s) is held after %s; it runs on at %s`espy resume %u` or the end of espy; "
			  "`gdb -p %u` takes it over where it stands",
			  t->tid, name, call_name(h->s, t), h->terminal >= 0 ? "Enter, " : "", t->tid, t->tgid);
}

/* ---- letting go */

static unsigned resume(struct espy_hold *h, pid_t pid)
{
	struct espy_held_task held[MOST];
	int cnt = h->s->src_ops->held(h->s->src, held, MOST);
	unsigned n = 0;

	if (!pid)
		return h->s->src_ops->resume(h->s->src, 0) ? 0 : (unsigned)cnt;
	for (int i = 0; i < cnt && i < MOST; i++)
		if (held[i].tid == (uint32_t)pid || held[i].tgid == (uint32_t)pid)
			n += !h->s->src_ops->resume(h->s->src, (pid_t)held[i].tid);
	return n;
}

static void serve(struct espy_hold *h)
{
	char text[ESPY_CONTROL_TEXT];
	int fd, pid;

	while (h->sock >= 0 && (fd = espy_control__accept(h->sock, text)) >= 0) {
		if (sscanf(text, "resume %d", &pid) == 1 && pid > 0) {
			snprintf(text, sizeof(text), "resumed %u", resume(h, pid));
			espy_control__answer(fd, text);
		}
		close(fd);
	}
}

/* Only while someone is held, and only in the foreground: what is typed else is the program's. */
static void look_at_terminal(struct espy_hold *h)
{
	struct pollfd p = { .fd = h->terminal, .events = POLLIN };
	char line[256];

	if (h->terminal < 0 || tcgetpgrp(h->terminal) != getpgrp() || poll(&p, 1, 0) <= 0)
		return;
	if (read(h->terminal, line, sizeof(line)) > 0)
		resume(h, 0);
}

void espy_hold__look(struct espy_hold *h)
{
	struct espy_held_task held[MOST];
	int cnt = h->s->src_ops->held(h->s->src, held, MOST);

	if (cnt > MOST)
		cnt = MOST;
	for (int i = 0; i < cnt; i++)
		if (!was_told(h, &held[i]))
			tell(h, &held[i]);
	h->told_cnt = cnt > 0 ? (size_t)cnt : 0;
	memcpy(h->told, held, h->told_cnt * sizeof(*held));
	serve(h);
	if (h->told_cnt)
		look_at_terminal(h);
}

/* ---- the other side */

struct asked {
	pid_t pid, by;
	struct espy_hold_answer *answers;
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
		a->answers[a->cnt] = (struct espy_hold_answer){ .espy = espy, .resumed = resumed };
	a->cnt++;
}

size_t espy_hold__ask(pid_t pid, pid_t by, struct espy_hold_answer *answers, size_t n)
{
	struct asked a = { .pid = pid, .by = by, .answers = answers, .n = n };

	espy_control__each(PREFIX, ask, &a);
	return a.cnt;
}
