/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include "render/mark.h"

static void put_fmt(struct espy_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_fmt(struct espy_buf *b, const char *fmt, ...)
{
	char tmp[160];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(tmp, sizeof(tmp), fmt, ap);
	va_end(ap);
	if (n > 0)
		espy_buf__put(b, tmp, (size_t)n < sizeof(tmp) ? (size_t)n : sizeof(tmp) - 1);
}

static void put_fraction(struct espy_buf *b, uint64_t ns, unsigned digits)
{
	if (!digits)
		return;
	for (unsigned i = digits; i < 9; i++)
		ns /= 10;
	put_fmt(b, ".%0*" PRIu64, (int)digits, ns);
}

static void put_time(struct espy_lines *l, struct espy_buf *b, uint64_t time_ns)
{
	const struct espy_session_opts *o = l->o;

	if (o->time != ESPY_TIME_NONE) {
		uint64_t real = time_ns + (uint64_t)l->realtime_offset_ns;
		time_t sec = (time_t)(real / 1000000000u);

		if (o->time == ESPY_TIME_UNIX) {
			put_fmt(b, "%lld", (long long)sec);
		} else {
			struct tm tm;
			char hms[16] = "??:??:??";

			const time_t there = sec + (l->zone ? espy_zone__offset(l->zone, sec) : 0);

			if (l->zone ? gmtime_r(&there, &tm) : localtime_r(&sec, &tm))
				strftime(hms, sizeof(hms), "%T", &tm);
			espy_buf__puts(b, hms);
		}
		put_fraction(b, real % 1000000000u, o->time_precision);
		espy_buf__putc(b, ' ');
	}
	if (o->relative_time) {
		uint64_t d = l->last_time_ns && time_ns > l->last_time_ns ? time_ns - l->last_time_ns : 0;

		if (o->time != ESPY_TIME_NONE)
			espy_buf__puts(b, "(+");
		put_fmt(b, "%6" PRIu64, d / 1000000000u);
		put_fraction(b, d % 1000000000u, o->relative_precision);
		espy_buf__puts(b, o->time != ESPY_TIME_NONE ? ") " : " ");
		l->last_time_ns = time_ns;
	}
}

void espy_lines__interrupt(struct espy_sink *s)
{

	if (!s->open)
		return;
	espy_buf__puts(&s->buf, " <unfinished ...>");
	espy_sink__end_line(s);
	s->open = NULL;
}

void espy_lines__begin(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, uint64_t time_ns,
		       bool is_call, uint64_t ip)
{
	const struct espy_session_opts *o = l->o;
	struct espy_buf *b = &s->buf;

	if (s->open)
		espy_lines__interrupt(s);
	s->hidden = task->hidden;
	/* A file of each task's own needs no pid (-ff). */
	if (l->pid_column || (*l->live > 1 && !o->output) || o->always_pid) {
		if (l->pid_column || (o->output && o->always_pid))
			put_fmt(b, o->pid_comm ? "%u" : "%-5u", task->tid);
		else
			put_fmt(b, "[pid %5u", task->tid);
		if (o->pid_comm && l->resolver)
			l->resolver->pid(l->resolver->ctx, task->tid, b);
		espy_buf__puts(b, l->pid_column || (o->output && o->always_pid) ? " " : "] ");
	}
	if (o->time != ESPY_TIME_NONE || o->relative_time)
		put_time(l, b, time_ns);
	if (o->show_nr) {
		if (task->last_nr == ESPY_NR_UNKNOWN)
			espy_buf__puts(b, "[????] ");
		else
			put_fmt(b, "[%4u] ", task->last_nr);
	}
	if (o->show_ip) {
		if (is_call && ip)
			put_fmt(b, "[%016" PRIx64 "] ", ip);
		else
			espy_buf__puts(b, "[????????????????] ");
	}
}

uint64_t espy_lines__call_time(const struct espy_call_view *v)
{
	return v->enter_ns ? v->enter_ns : v->exit_ns;
}

static const char *call_name(const struct espy_call_view *v, char tmp[24])
{
	if (v->nr < v->image->syscall_cnt && v->image->syscalls[v->nr].name)
		return espy_image__str(v->image, v->image->syscalls[v->nr].name);
	snprintf(tmp, 24, "syscall_0x%x", v->nr);
	return tmp;
}

static void begin_args(struct espy_buf *b, const struct espy_call_view *v)
{
	char tmp[24];

	espy_buf__puts(b, call_name(v, tmp));
	espy_buf__putc(b, '(');
}

void espy_lines__enter(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
		       const struct espy_call_view *v)
{
	espy_lines__begin(l, s, task, espy_lines__call_time(v), true, v->ip);
	begin_args(&s->buf, v);
	espy_text__args(&s->buf, &l->text[v->image->abi], v, ESPY_TEXT_ENTER, &task->args_shown);
	task->enter_shown = true;
	s->open = task;
}

static void pad_to_column(struct espy_lines *l, struct espy_sink *s)
{
	static const char blanks[] = "                                                                ";
	size_t col = espy_sink__column(s);

	if (col >= l->text[0].column) {
		espy_buf__putc(&s->buf, ' ');
		return;
	}
	for (size_t n = l->text[0].column - col; n;) {
		size_t k = n < sizeof(blanks) - 1 ? n : sizeof(blanks) - 1;

		espy_buf__put(&s->buf, blanks, k);
		n -= k;
	}
}

void espy_lines__exit(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, const struct espy_call_view *v)
{
	if (task->enter_shown) {
		if (s->open != task) {
			char tmp[24];

			espy_lines__begin(l, s, task, v->exit_ns ? v->exit_ns : espy_lines__call_time(v), true, v->ip);
			espy_buf__puts(&s->buf, "<... ");
			espy_buf__puts(&s->buf, call_name(v, tmp));
			espy_buf__puts(&s->buf, " resumed>");
		}
		espy_text__args(&s->buf, &l->text[v->image->abi], v, ESPY_TEXT_EXIT, &task->args_shown);
	} else {
		unsigned shown = 0;

		espy_lines__begin(l, s, task, espy_lines__call_time(v), true, v->ip);
		begin_args(&s->buf, v);
		espy_text__args(&s->buf, &l->text[v->image->abi], v, ESPY_TEXT_WHOLE, &shown);
	}
	espy_buf__putc(&s->buf, ')');
	s->open = NULL;
	task->enter_shown = false;
	pad_to_column(l, s);
	l->before_result(l->resolve);
	espy_text__result(&s->buf, &l->text[v->image->abi], v);
	if (l->o->call_time) {
		if (v->enter_ns && v->exit_ns && !v->no_return) {
			uint64_t d = v->exit_ns > v->enter_ns ? v->exit_ns - v->enter_ns : 0;

			put_fmt(&s->buf, " <%" PRIu64, d / 1000000000u);
			put_fraction(&s->buf, d % 1000000000u, l->o->call_time_precision);
			espy_buf__putc(&s->buf, '>');
		} else if (!v->no_return) {
			espy_buf__puts(&s->buf, " <unavailable>");
		}
	}
	espy_sink__end_line(s);
}

void espy_lines__signal(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
			const struct espy_rec_signal *sig)
{
	espy_lines__begin(l, s, task, sig->rec.time_ns, false, 0);
	espy_buf__puts(&s->buf, "--- ");
	espy_text__signal(&s->buf, sig->rec.nr);
	if (sig->info_sz) {
		size_t n = sig->info_sz < sizeof(sig->info) ? sig->info_sz : sizeof(sig->info);

		espy_buf__putc(&s->buf, ' ');
		espy_text__siginfo(&s->buf, &l->text[0], l->image, sig->info, n);
	}
	espy_buf__puts(&s->buf, " ---");
	espy_sink__end_line(s);
}

void espy_lines__mark(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
		      const struct espy_mark_text *text, const struct espy_rec_mark *mark)
{
	espy_lines__begin(l, s, task, mark->rec.time_ns, false, 0);
	espy_mark_text__put(&s->buf, &l->text[0], text, mark);
	espy_sink__end_line(s);
}

void espy_lines__stopped(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, const struct espy_rec *rec)
{
	espy_lines__begin(l, s, task, rec->time_ns, false, 0);
	espy_buf__puts(&s->buf, "--- stopped by ");
	espy_text__signal(&s->buf, rec->nr);
	espy_buf__puts(&s->buf, " ---");
	espy_sink__end_line(s);
}

void espy_lines__task_exit(struct espy_lines *l, struct espy_sink *s, struct espy_task *task,
			   const struct espy_rec_task_exit *x)
{
	espy_lines__begin(l, s, task, x->rec.time_ns, false, 0);
	if (WIFSIGNALED((int)x->status)) {
		espy_buf__puts(&s->buf, "+++ killed by ");
		espy_text__signal(&s->buf, WTERMSIG((int)x->status));
		espy_buf__puts(&s->buf, WCOREDUMP((int)x->status) ? " (core dumped) +++" : " +++");
	} else {
		put_fmt(&s->buf, "+++ exited with %d +++", WEXITSTATUS((int)x->status));
	}
	espy_sink__end_line(s);
}

void espy_lines__superseded(struct espy_lines *l, struct espy_sink *s, struct espy_task *task, uint32_t by,
			    uint64_t time_ns)
{
	espy_lines__begin(l, s, task, time_ns, false, 0);
	put_fmt(&s->buf, "+++ superseded by execve in pid %u +++", by);
	espy_sink__end_line(s);
}

void espy_lines__detached(struct espy_sink *s, struct espy_task *task)
{
	if (s->open != task)
		return;
	espy_buf__puts(&s->buf, " <detached ...>");
	espy_sink__end_line(s);
	s->open = NULL;
}

void espy_lines__personality(struct espy_sink *s, const struct espy_task *task)
{
	static const char *const mode[ESPY_ABI_CNT] = {
		[ESPY_ABI_X86_64] = "64 bit",
		[ESPY_ABI_I386] = "32 bit",
		[ESPY_ABI_X32] = "x32",
	};

	espy_lines__interrupt(s);
	s->hidden = task->hidden;
	put_fmt(&s->buf, "[ Process PID=%u runs in %s mode. ]", task->tid, mode[task->abi]);
	espy_sink__end_line(s);
}

const char *espy_lost_reason_text(unsigned reason)
{
	static const char *const text[ESPY_LOST_REASONS] = {
		[ESPY_LOST_RING_FULL] = "no room in the ring buffer",
		[ESPY_LOST_TOO_BIG] = "larger than a record can be",
		[ESPY_LOST_NO_SLOT] = "no memory for what was read at entry",
		[ESPY_LOST_NESTED] = "scratch memory was in use",
		[ESPY_LOST_NO_THREAD] = "too many threads for the agent",
		[ESPY_LOST_TORN] = "the program died while it wrote",
		[ESPY_LOST_EARLY] = "in a child, before its agent was ready",
		[ESPY_LOST_DAMAGED] = "damaged in the program's memory",
	};

	return reason < ESPY_LOST_REASONS ? text[reason] : "unknown reason";
}

void espy_lines__lost(struct espy_sink *s, const struct espy_rec_lost *lost)
{
	const bool overwritten = lost->rec.nr == ESPY_LOST_OVERWRITTEN;

	espy_lines__interrupt(s);
	s->hidden = false;
	put_fmt(&s->buf, "+++ %" PRIu64 " event%s %s: %s +++", (uint64_t)lost->count, lost->count == 1 ? "" : "s",
		overwritten ? "of one CPU lost before here" : "lost here",
		overwritten ? "overwritten" : espy_lost_reason_text(lost->rec.nr));
	espy_sink__end_line(s);
}
