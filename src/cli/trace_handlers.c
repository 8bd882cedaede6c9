/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions by which each option of `espy trace` changes struct espy_trace_args. */
#include "cli/trace_handlers.h"
#include "cli/trace_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int espy_words__add(struct espy_words *w, const char *s)
{
	const char **v = realloc(w->v, (w->cnt + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	w->v = v;
	v[w->cnt++] = s;
	return 0;
}

int espy_words__take(struct espy_words *w, char *text)
{
	int err = text ? espy_words__add(w, text) : -ENOMEM;

	if (err)
		free(text);
	return err;
}

void espy_words__free(struct espy_words *w)
{
	for (size_t i = 0; i < w->cnt; i++)
		free((void *)w->v[i]);
	free(w->v);
}

static int word(struct espy_trace_args *a, const struct espy_opt_use *use, const struct espy_word *table, int *out)
{
	return espy_word__find(table, use->arg, strlen(use->arg), out) ? 0 : espy_opts__bad_arg(a->cli, use);
}

int espy_do_list(void *ctx, const struct espy_opt_use *use)
{
	return espy_words__add(espy_opts__member(ctx, use), use->arg);
}

int espy_do_number(void *ctx, const struct espy_opt_use *use)
{
	const struct espy_range *range = use->opt->with;
	struct espy_trace_args *a = ctx;
	unsigned long n;

	if (!espy_value__number(use->arg, range->max, &n) || n < range->min)
		return espy_opts__bad_arg(a->cli, use);
	*(unsigned *)espy_opts__member(ctx, use) = (unsigned)n;
	return 0;
}

int espy_do_bytes(void *ctx, const struct espy_opt_use *use)
{
	size_t *bytes = espy_opts__member(ctx, use);

	if (!espy_value__bytes(use->arg, bytes) || !*bytes)
		return espy_opts__bad_arg(((struct espy_trace_args *)ctx)->cli, use);
	return 0;
}

int espy_do_word(void *ctx, const struct espy_opt_use *use)
{
	int value;

	if (word(ctx, use, use->opt->with, &value))
		return -EINVAL;
	*(unsigned *)espy_opts__member(ctx, use) = (unsigned)value;
	return 0;
}

int espy_do_expr(void *ctx, const struct espy_opt_use *use)
{
	return espy_trace_expr(ctx, use->arg);
}

/* --trace=SET is -e trace=SET, and so on; a long name is the qualifier's name. */
int espy_do_qualifier(void *ctx, const struct espy_opt_use *use)
{
	char *expr = malloc(strlen(use->opt->name) + strlen(use->arg) + 2);
	int err;

	if (!expr)
		return -ENOMEM;
	sprintf(expr, "%s=%s", use->opt->name, use->arg);
	err = espy_trace_expr(ctx, expr);
	free(expr);
	return err;
}

int espy_do_successful(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	a->status_twice |= a->status_word != NULL;
	a->status_word = use->as;
	a->status = (unsigned)use->opt->value;
	return 0;
}

int espy_do_flag(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	switch ((enum espy_trace_flag)use->opt->value) {
	case F_OLD_FORK:
		a->letters.F = true;
		break;
	case F_FORK:
		a->letters.f += use->by_letter;
		a->longs.fork |= !use->by_letter;
		a->follow = 1;
		break;
	case F_VERBOSE:
		return espy_trace_expr(a, "abbrev=none");
	case F_COMM:
		a->text.task_names = true;
		break;
	case F_COUNT:
	case F_COUNT_TOO: {
		enum espy_summary want = use->opt->value == F_COUNT ? ESPY_SUMMARY_ONLY : ESPY_SUMMARY_TOO;

		if (a->summary != ESPY_SUMMARY_NONE && a->summary != want)
			return espy_cli__usage(a->cli, "-c/--summary-only and -C/--summary are mutually exclusive");
		a->summary = want;
		break;
	}
	case F_JSON:
		a->sink.name = "json";
		break;
	}
	return 0;
}

/* Counts the uses of a letter. */
static int do_letter(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	unsigned *const counts[] = { &a->letters.t, &a->letters.x, &a->letters.y, &a->letters.q, &a->letters.D };

	++*counts[strchr("txyqD", use->opt->letter) - "txyqD"];
	return 0;
}

int espy_do_time(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	const char *s = use->arg ? use->arg : "time";

	if (use->by_letter)
		return do_letter(ctx, use);
	if (!a->longs.time) /* a second one changes what it names */
		a->text.time = ESPY_TIME_OF_DAY;
	a->longs.time = true;
	for (size_t len; *s; s += len + (s[len] == ',')) {
		len = strcspn(s, ",");
		if (!len)
			continue;
		const char *w = s, *colon = memchr(s, ':', len);
		size_t key = colon ? (size_t)(colon - s) + 1 : 0;
		bool format = !key || !strncmp(s, "format:", key), precision = !key || !strncmp(s, "precision:", key);
		int value;

		w += key;
		if (format && espy_word__find(espy_words_time, w, len - key, &value))
			a->text.time = (enum espy_time_text)value;
		else if (precision && espy_word__find(espy_words_precision, w, len - key, &value))
			a->text.time_precision = (unsigned)value;
		else
			return espy_opts__bad_arg(a->cli, use);
	}
	return 0;
}

int espy_do_sink(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	a->sink.name = strcmp(use->arg, "text") ? use->arg : NULL;
	return 0;
}

/* -r, -T: shows a time with so many digits. */
int espy_do_shown_time(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	const bool relative = use->opt->letter == 'r';
	int digits = 6;

	if (use->arg && word(a, use, espy_words_precision, &digits))
		return -EINVAL;
	*(relative ? &a->text.relative_time : &a->text.call_time) = true;
	*(relative ? &a->text.relative_precision : &a->text.call_time_precision) = (unsigned)digits;
	return 0;
}

int espy_do_hex(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value = ESPY_STRINGS_HEX;

	if (use->by_letter)
		return do_letter(ctx, use);
	if (use->arg && word(a, use, espy_words_hex, &value))
		return -EINVAL;
	a->longs.hex = true;
	a->text.strings = (enum espy_string_text)value;
	return 0;
}

int espy_do_fds(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (use->by_letter)
		return do_letter(ctx, use);
	a->longs.fds = true;
	return espy_trace_decode_fds(a, use->arg ? use->arg : "path");
}

int espy_do_pids(void *ctx, const struct espy_opt_use *use)
{
	return espy_trace_decode_pids(ctx, use->arg);
}

int espy_do_quiet(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (use->by_letter)
		return do_letter(ctx, use);
	a->longs.quiet = true;
	return espy_trace_set(a, "quiet", espy_words_quiet, use->arg ? use->arg : "attach,personality", &a->quiet);
}

int espy_do_daemonize(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int how = 1;
	char small[16]; /* these words may be in capitals, too */
	size_t n = 0;

	if (use->by_letter)
		return do_letter(ctx, use);
	for (const char *s = use->arg; s && *s && n < sizeof(small); s++)
		small[n++] = (char)tolower((unsigned char)*s);
	if (use->arg && !espy_word__find(espy_words_daemonize, small, n, &how))
		return espy_opts__bad_arg(a->cli, use);
	a->longs.daemon = true;
	a->run.daemonize = (unsigned)how;
	return 0;
}

int espy_do_source(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value;

	if (!espy_word__find(espy_words_source, use->arg, strlen(use->arg), &value))
		return espy_cli__usage(a->cli, "invalid %s argument: '%s' (auto, bpf or ptrace)", use->as, use->arg);
	a->session.source = value == 1 ? "bpf" : value == 2 ? "ptrace" : NULL;
	return 0;
}

int espy_do_color(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int when = ESPY_COLOR_AUTO;

	if (use->arg && word(a, use, espy_words_color, &when))
		return -EINVAL;
	a->out.color = (enum espy_color_when)when;
	return 0;
}

int espy_do_max_hold(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	double us;

	/* Without a unit these are seconds. */
	if (!espy_value__microseconds(use->arg, &us))
		return espy_opts__bad_arg(a->cli, use);
	if (isdigit((unsigned char)use->arg[strlen(use->arg) - 1]))
		us *= 1e6;
	if (us < 1000 || us > 3600e6)
		return espy_cli__usage(a->cli, "--max-hold is between 1 ms and an hour");
	a->session.max_hold_ns = (uint64_t)(us * 1e3);
	return 0;
}

int espy_do_span(void *ctx, const struct espy_opt_use *use)
{
	double us;

	if (!espy_value__microseconds(use->arg, &us))
		return espy_opts__bad_arg(((struct espy_trace_args *)ctx)->cli, use);
	*(uint64_t *)espy_opts__member(ctx, use) = (uint64_t)(us * 1000.0);
	return 0;
}

int espy_do_sort(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	int value;

	a->sort_given = true;
	a->table.unsorted = !strcmp(use->arg, "none") || !strcmp(use->arg, "nothing");
	if (a->table.unsorted)
		return 0;
	if (!espy_word__find(espy_words_column, use->arg, strlen(use->arg), &value))
		return espy_cli__usage(a->cli, "invalid sortby: '%s'", use->arg);
	a->table.sort_by = value == ESPY_COL_TIME_PERCENT ? ESPY_COL_TOTAL_TIME : (enum espy_summary_column)value;
	return 0;
}

int espy_do_summary_columns(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	unsigned seen = 0;

	a->table.column_count = 0;
	for (const char *s = use->arg;;) {
		size_t len = strcspn(s, ",");
		int value;

		if (!espy_word__find(espy_words_column, s, len, &value))
			return espy_cli__usage(a->cli, "unknown column name: '%.*s'", (int)len, s);
		if (seen & 1u << value)
			return espy_cli__usage(a->cli,
					       "call summary column has been provided more than once: '%.*s'"
					       " (-U option residual: '%s')",
					       (int)len, s, s);
		seen |= 1u << value;
		a->columns[a->table.column_count++] = (enum espy_summary_column)value;
		if (!s[len])
			break;
		s += len + 1;
	}
	/* Numbers without the call they belong to say nothing. */
	if (!(seen & 1u << ESPY_COL_NAME))
		a->columns[a->table.column_count++] = ESPY_COL_NAME;
	return 0;
}

int espy_do_pid(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	char bad[64];
	int err = espy_value__pids(use->arg, &a->pids, &a->pid_cnt, bad, sizeof(bad));

	if (err == -EINVAL)
		espy_cli__say(a->cli, "Invalid process id: '%s'", bad);
	return err;
}

int espy_do_detach_on(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (strcmp(use->arg, "execve")) {
		espy_cli__say(a->cli, "Syscall '%s' for -b isn't supported", use->arg);
		return -EINVAL;
	}
	a->session.detach_on_execve = true;
	return 0;
}

int espy_do_user(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	if (use->by_letter && !a->cli->strace_mode && espy_looks_like_probe(use->arg))
		return espy_do_probe(ctx, use);
	a->run.user = use->arg;
	a->run.user_letter = use->by_letter && !a->cli->strace_mode;
	return 0;
}

int espy_do_env(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	/* `record --env none` leaves environments out. -E none removes a variable of that name. */
	if (a->role == ESPY_ROLE_RECORD && !use->by_letter && (!strcmp(use->arg, "none") || !strcmp(use->arg, "all"))) {
		a->record.no_environment = use->arg[0] == 'n';
		return 0;
	}
	return espy_words__add(&((struct espy_trace_args *)ctx)->lists.env_edits, use->arg);
}

int espy_do_stack(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	/* -kk, or a second -k: lines of source, too. */
	if (use->by_letter || !use->arg) {
		a->text.stack_source |= use->by_letter && a->text.stacks;
	} else if (!strcmp(use->arg, "source")) {
		a->text.stack_source = true;
	} else if (!strcmp(use->arg, "symbol")) {
		a->text.stack_source = false;
	} else {
		return espy_opts__bad_arg(a->cli, use);
	}
	a->text.stacks = true;
	return 0;
}

int espy_do_secontext(void *ctx, const struct espy_opt_use *use)
{
	return espy_trace_secontext(ctx, use->arg);
}
