/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/text_lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include "arch/abi_facts.h"
#include "base/num.h"
#include "base/quote.h"
#include "base/signal_names.h"
#include "record/loss_text.h"
#include "sink/namespaces.h"
#include "sink/text/text_mark.h"
#include "state/state.h"

#define INDENT_MAX 64u
#define PROBE_PRECISION 6 /* digits of a function's time, unless the user asks for others */

static void __attribute__((format(printf, 2, 3))) put_fmt(struct espy_buf *b, const char *fmt, ...)
{
	char tmp[160];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(tmp, sizeof(tmp), fmt, ap);
	va_end(ap);
	if (n > 0)
		espy_buf__put(b, tmp, (size_t)n < sizeof(tmp) ? (size_t)n : sizeof(tmp) - 1);
}

/* Puts a fraction of a second. Each line has times, and printf() costs more than the rest of it. */
static void put_fraction(struct espy_buf *b, uint64_t ns, unsigned digits)
{
	if (!digits)
		return;
	for (unsigned i = digits; i < 9; i++)
		ns /= 10;
	espy_buf__putc(b, '.');
	espy_buf__pad(b, ns, digits);
}

/* 13:05:59 */
static void put_clock(struct espy_buf *b, const struct tm *tm)
{
	espy_buf__pad(b, (unsigned)tm->tm_hour, 2);
	espy_buf__putc(b, ':');
	espy_buf__pad(b, (unsigned)tm->tm_min, 2);
	espy_buf__putc(b, ':');
	espy_buf__pad(b, (unsigned)tm->tm_sec, 2);
}

static void put_time(struct espy_lines *l, struct espy_buf *b, uint64_t time_ns)
{
	const struct espy_text_options *o = l->o;

	if (o->time != ESPY_TIME_NONE) {
		uint64_t real = time_ns + (uint64_t)espy_state__realtime_offset_ns(l->stream->state, time_ns);
		time_t sec = (time_t)(real / 1000000000u);

		if (o->time == ESPY_TIME_UNIX) {
			espy_buf__sdec(b, sec);
		} else {
			struct tm tm;
			const struct espy_zone *zone = espy_state__zone(l->stream->state);
			const time_t there = sec + espy_zone__offset(zone, sec);

			if (zone->cnt ? gmtime_r(&there, &tm) : localtime_r(&sec, &tm))
				put_clock(b, &tm);
			else
				espy_buf__puts(b, "??:??:??");
		}
		put_fraction(b, real % 1000000000u, o->time_precision);
		espy_buf__putc(b, ' ');
	}
	if (o->relative_time) {
		uint64_t d = l->last_time_ns && time_ns > l->last_time_ns ? time_ns - l->last_time_ns : 0;

		if (o->time != ESPY_TIME_NONE)
			espy_buf__puts(b, "(+");
		espy_buf__dec_right(b, d / 1000000000u, 6);
		put_fraction(b, d % 1000000000u, o->relative_precision);
		espy_buf__puts(b, o->time != ESPY_TIME_NONE ? ") " : " ");
		l->last_time_ns = time_ns;
	}
}

/* Ends the open line with words of its own. */
static void end_open(struct espy_output *o, const char *words)
{
	if (!o->open)
		return;
	espy_buf__puts(&o->buf, o->open_end ? o->open_end : words);
	espy_line_output__end_line(o);
	o->open = NULL;
	o->open_end = NULL;
}

void espy_lines__interrupt(struct espy_output *o)
{
	end_open(o, " <unfinished ...>");
}

void espy_lines__renumber(struct espy_output *o, uint32_t tid)
{
	char words[48];

	snprintf(words, sizeof(words), " <pid changed to %u ...>", tid);
	end_open(o, words);
}

bool espy_lines__is_open(const struct espy_output *o, uint32_t tid)
{
	return o->open && o->open_tid == tid;
}

static void put_comm(struct espy_lines *l, struct espy_buf *b, uint32_t tid)
{
	const char *comm = espy_state__comm(l->stream->state, tid);

	if (!comm)
		return;
	espy_buf__putc(b, '<');
	espy_buf__quote(b, (const uint8_t *)comm, strlen(comm), ESPY_HEX_NONE, "<>", false);
	espy_buf__putc(b, '>');
}

static void put_context(struct espy_lines *l, struct espy_buf *b, uint32_t tid)
{
	const char *context = l->resolver.task_context(l->resolver.ctx, tid);

	if (!context)
		return;
	espy_text__context(b, l->o->contexts, context, NULL, 0);
	espy_buf__putc(b, ' ');
}

/* Puts the prefix of a new line of a task: ends another task's open line first. */
static void begin(struct espy_lines *l, const struct espy_line_task *t, uint64_t time_ns, uint64_t ip)
{
	const struct espy_text_options *o = l->o;
	const struct espy_task *task = t->task;
	struct espy_buf *b = &t->out->buf;

	espy_lines__interrupt(t->out);
	t->out->hidden = t->hidden;
	if (l->column || (!l->to_file && (*l->live - t->gone > 1 || t->several)) || o->task_always) {
		const bool plain = l->column || (l->to_file && o->task_always);

		if (plain) {
			espy_buf__dec_left(b, task->tid, o->task_names ? 0 : 5);
		} else {
			espy_buf__puts(b, "[pid ");
			espy_buf__dec_right(b, task->tid, 5);
		}
		if (o->task_names)
			put_comm(l, b, task->tid);
		espy_buf__puts(b, plain ? " " : "] ");
	}
	if (o->contexts != ESPY_CONTEXTS_NONE)
		put_context(l, b, task->tid);
	if (o->time != ESPY_TIME_NONE || o->relative_time)
		put_time(l, b, time_ns);
	if (o->call_number) {
		if (task->last_nr == ESPY_NR_UNKNOWN)
			espy_buf__puts(b, "[????] ");
		else
			put_fmt(b, "[%4u] ", task->last_nr);
	}
	if (o->instruction_pointer) {
		if (ip)
			put_fmt(b, "[%016" PRIx64 "] ", ip);
		else
			espy_buf__puts(b, "[????????????????] ");
	}
	for (unsigned i = 0; i < t->depth && i < INDENT_MAX; i++)
		espy_buf__put(b, "  ", 2);
}

uint64_t espy_lines__call_time(const struct espy_call_view *v)
{
	return v->enter_ns ? v->enter_ns : v->exit_ns;
}

/* Puts the name of the call. Of an operation of io_uring it is the one that a filter names it by. */
static void put_call_name(struct espy_buf *b, const struct espy_call_view *v)
{
	const bool operation = v->image->abi == ESPY_ABI_IO_URING;
	const char *name = espy_image__call_name(v->image, v->nr);

	if (*name)
		espy_buf__puts(b, name);
	else
		put_fmt(b, operation ? "0x%x" : "syscall_0x%x", v->nr);
	if (operation) {
		espy_buf__putc(b, '@');
		espy_buf__puts(b, espy_abis[v->image->abi].word);
	}
}

static void begin_args(struct espy_buf *b, const struct espy_call_view *v)
{
	put_call_name(b, v);
	espy_buf__putc(b, '(');
}

unsigned espy_lines__manner(const struct espy_lines *l, const struct espy_call_view *v, bool begun)
{
	const unsigned m = espy_text__manner(&l->text[v->image->abi], v->nr);

	return begun ? m << ESPY_MANNER_REST : m;
}

void espy_lines__enter(struct espy_lines *l, const struct espy_line_task *t, const struct espy_event *e)
{
	const struct espy_call_view *v = e->call;
	struct espy_output *o = t->out;

	begin(l, t, espy_lines__call_time(v), v->ip);
	begin_args(&o->buf, v);
	espy_text__args(&o->buf, &l->text[v->image->abi], v->image, e->args, espy_lines__manner(l, v, false), true);
	*t->args_shown = e->args_shown;
	*t->begun = true;
	o->open = l;
	o->open_tid = t->task->tid;
}

char *espy_lines__keep(struct espy_lines *l, const struct espy_line_task *t, const struct espy_event *e)
{
	struct espy_output *o = t->out;
	const size_t start = o->buf.len;

	espy_lines__enter(l, t, e);
	o->open = NULL;
	*t->begun = false;
	*t->args_shown = 0;
	char *line = strndup(o->buf.data + start, o->buf.len - start);

	o->buf.len = start;
	return line;
}

static void pad_to_column(struct espy_lines *l, struct espy_output *o)
{
	const size_t col = espy_line_output__column(o), column = l->text[0].column;

	espy_buf__blanks(&o->buf, col < column ? column - col : 1);
}

/* Puts the time between two moments; a moment 0: not known. */
static void put_duration(struct espy_buf *b, uint64_t begin_ns, uint64_t end_ns, unsigned precision)
{
	const uint64_t d = end_ns > begin_ns ? end_ns - begin_ns : 0;

	if (!begin_ns || !end_ns) {
		espy_buf__puts(b, " <unavailable>");
		return;
	}
	espy_buf__puts(b, " <");
	espy_buf__dec(b, d / 1000000000u);
	put_fraction(b, d % 1000000000u, precision);
	espy_buf__putc(b, '>');
}

void espy_lines__exit(struct espy_lines *l, const struct espy_line_task *t, const struct espy_event *e)
{
	const struct espy_call_view *v = e->call;
	const struct espy_text_opts *text = &l->text[v->image->abi];
	const bool begun = t->begun && *t->begun;
	const unsigned whole = espy_lines__manner(l, v, false);
	struct espy_output *o = t->out;

	if (!begun) {
		begin(l, t, espy_lines__call_time(v), v->ip);
		begin_args(&o->buf, v);
	} else {
		if (!espy_lines__is_open(o, t->task->tid)) {
			begin(l, t, v->exit_ns ? v->exit_ns : espy_lines__call_time(v), v->ip);
			espy_buf__puts(&o->buf, "<... ");
			put_call_name(&o->buf, v);
			espy_buf__puts(&o->buf, " resumed>");
		}
		*t->begun = false;
	}
	espy_text__args(&o->buf, text, v->image, e->args, begun ? whole << ESPY_MANNER_REST : whole,
			!begun || !espy_shown_any(*t->args_shown, (enum espy_manner)whole));
	if (e->broken_off && espy_shown_part(e->args_shown, (enum espy_manner)whole))
		espy_buf__puts(&o->buf, " <unfinished ...>");
	espy_buf__putc(&o->buf, ')');
	o->open = NULL;
	pad_to_column(l, o);
	espy_text__result(&o->buf, text, v->image, e->result, whole);
	if (l->o->namespaces)
		espy_namespaces__put(&o->buf, v, &l->resolver);
	if (v->changed)
		espy_text__changed(&o->buf, v->changed);
	if (l->o->call_time && !v->no_return)
		put_duration(&o->buf, v->enter_ns, v->exit_ns, l->o->call_time_precision);
	espy_line_output__end_line(o);
}

void espy_lines__signal(struct espy_lines *l, const struct espy_line_task *t, const struct espy_rec_signal *sig)
{
	begin(l, t, sig->rec.time_ns, sig->ip);
	espy_buf__puts(&t->out->buf, "--- ");
	espy_buf__signal(&t->out->buf, sig->rec.nr);
	if (sig->info_sz) {
		size_t n = sig->info_sz < sizeof(sig->info) ? sig->info_sz : sizeof(sig->info);

		espy_buf__putc(&t->out->buf, ' ');
		l->signals.resolver = &l->resolver;
		l->signals.signal_tid = t->task->tid;
		espy_decoder__siginfo(&l->signals, &l->stream->images[ESPY_ABI_NATIVE], sig->info, n, ESPY_MANNER_BRIEF);
		espy_text__siginfo(&t->out->buf, &l->text[0], &l->stream->images[ESPY_ABI_NATIVE],
				   espy_token_list__view(&l->signals.args));
	}
	espy_buf__puts(&t->out->buf, " ---");
	espy_line_output__end_line(t->out);
}

void espy_lines__mark(struct espy_lines *l, const struct espy_line_task *t, const struct espy_mark_def *def,
		      const struct espy_rec_mark *mark)
{
	begin(l, t, mark->rec.time_ns, 0);
	espy_mark_text__put(&t->out->buf, &l->text[0], def, mark);
	espy_line_output__end_line(t->out);
}

/* The line of a function's return looks like that of a system call. */
void espy_lines__put_place(struct espy_lines *l, struct espy_buf *b, const struct espy_mark_def *def, const struct espy_rec_probe *probe)
{
	espy_mark_text__put_name(b, def);
	espy_buf__putc(b, '(');
	espy_mark_text__put_args(b, &l->text[0], def, &probe->rec);
	espy_buf__putc(b, ')');
}

/* Puts the end of a function that has returned: its result, if there is one, and its time. */
static void put_end(struct espy_lines *l, struct espy_output *o, const struct espy_mark_def *def, const struct espy_rec_probe *probe)
{
	espy_mark_text__put_result(&o->buf, &l->text[0], def, &probe->rec);
	put_duration(&o->buf, probe->begin_ns, probe->rec.time_ns, l->o->call_time ? l->o->call_time_precision : PROBE_PRECISION);
}

void espy_lines__probe(struct espy_lines *l, const struct espy_line_task *t, const struct espy_mark_def *def,
		       const struct espy_rec_probe *probe)
{
	struct espy_output *o = t->out;

	begin(l, t, probe->rec.time_ns, 0);
	if (!def) {
		put_fmt(&o->buf, "probe#%u(?)", probe->def);
		espy_line_output__end_line(o);
		return;
	}
	espy_lines__put_place(l, &o->buf, def, probe);
	if (def->place == ESPY_PROBE_RETURN) {
		pad_to_column(l, o);
		espy_buf__puts(&o->buf, def->result ? "= " : "returned");
		put_end(l, o, def, probe);
	}
	espy_line_output__end_line(o);
}

void espy_lines__function(struct espy_lines *l, const struct espy_line_task *t, uint64_t time_ns)
{
	struct espy_output *o = t->out;

	begin(l, t, time_ns, 0);
	o->open = l;
	o->open_tid = t->task->tid;
	o->open_end = " {";
}

void espy_lines__function_end(struct espy_lines *l, const struct espy_line_task *t, const struct espy_mark_def *def,
			      const struct espy_rec_probe *probe, bool same)
{
	struct espy_output *o = t->out;

	if (!same) {
		begin(l, t, probe->rec.time_ns, 0);
		espy_buf__puts(&o->buf, "} /* ");
		espy_mark_text__put_name(&o->buf, def);
		espy_buf__puts(&o->buf, " */");
	}
	if (def->result)
		espy_buf__puts(&o->buf, " = ");
	put_end(l, o, def, probe);
	espy_line_output__end_line(o);
	o->open = NULL;
	o->open_end = NULL;
}

void espy_lines__stopped(struct espy_lines *l, const struct espy_line_task *t, const struct espy_rec *rec)
{
	begin(l, t, rec->time_ns, 0);
	espy_buf__puts(&t->out->buf, "--- stopped by ");
	espy_buf__signal(&t->out->buf, rec->nr);
	espy_buf__puts(&t->out->buf, " ---");
	espy_line_output__end_line(t->out);
}

void espy_lines__task_exit(struct espy_lines *l, const struct espy_line_task *t, const struct espy_rec_task_exit *x)
{
	begin(l, t, x->rec.time_ns, 0);
	if (WIFSIGNALED((int)x->status)) {
		espy_buf__puts(&t->out->buf, "+++ killed by ");
		espy_buf__signal(&t->out->buf, WTERMSIG((int)x->status));
		espy_buf__puts(&t->out->buf, WCOREDUMP((int)x->status) ? " (core dumped) +++" : " +++");
	} else {
		put_fmt(&t->out->buf, "+++ exited with %d +++", WEXITSTATUS((int)x->status));
	}
	espy_line_output__end_line(t->out);
}

void espy_lines__superseded(struct espy_lines *l, const struct espy_line_task *t, uint32_t by, uint64_t time_ns)
{
	begin(l, t, time_ns, 0);
	put_fmt(&t->out->buf, "+++ superseded by execve in pid %u +++", by);
	espy_line_output__end_line(t->out);
}

void espy_lines__detached(struct espy_output *o, uint32_t tid)
{
	if (espy_lines__is_open(o, tid))
		end_open(o, " <detached ...>");
}

void espy_lines__kept_detached(struct espy_output *o, const char *line)
{
	espy_buf__puts(&o->buf, line);
	espy_buf__puts(&o->buf, " <detached ...>");
	espy_line_output__end_line(o);
}

void espy_lines__mode(const struct espy_line_task *t)
{
	espy_lines__interrupt(t->out);
	t->out->hidden = t->hidden;
	put_fmt(&t->out->buf, "[ Process PID=%u runs in %s mode. ]", t->task->tid, espy_abis[t->task->abi].mode);
	espy_line_output__end_line(t->out);
}

void espy_lines__lost(struct espy_output *o, const struct espy_rec_lost *lost)
{
	const bool overwritten = lost->rec.nr == ESPY_LOST_OVERWRITTEN;

	espy_lines__interrupt(o);
	o->hidden = false;
	put_fmt(&o->buf, "+++ %" PRIu64 " event%s %s: %s +++", (uint64_t)lost->count, lost->count == 1 ? "" : "s",
		overwritten ? "of one CPU lost before here" : "lost here",
		overwritten ? "overwritten" : espy_loss_text(lost->rec.nr));
	espy_line_output__end_line(o);
}
