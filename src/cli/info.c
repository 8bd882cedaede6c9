/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy info TRACE`: tells the contents of a trace, without its text. */
#include "cli/commands.h"

#include <espy/espy.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "base/amount.h"
#include "cli/message.h"
#include "cli/options.h"

struct info_args {
	const struct espy_cli *cli;
	bool json, help;
};

static const struct espy_opt options[] = {
	{ .name = "json", .handle = espy_opts__set, .value = offsetof(struct info_args, json), .help = "one JSON object a trace, each on a line of its own" },
	ESPY_OPT_HELP(struct info_args),
};
const struct espy_opt_group espy_info_groups[] = { { "Options", options, sizeof(options) / sizeof(*options) } };

static void __attribute__((format(printf, 2, 3))) row(const char *name, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	char *line = espy_message__line(name, fmt, ap, &len); /* the text of a trace is foreign */
	va_end(ap);
	if (line)
		fwrite(line, 1, len, stdout);
	free(line);
}

/* Returns words as a shell would read them again, allocated. */
static char *quoted(const char *words, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^";
	char *text = malloc(4 * size + 3 * (size + 1) + 1), *out = text; /* each byte as '\'' at most, each word in quotes */

	for (size_t at = 0; text && at < size;) {
		const size_t len = strnlen(words + at, size - at);
		const bool bare = len && strspn(words + at, plain) == len;

		if (out != text)
			*out++ = ' ';
		if (!bare)
			*out++ = '\'';
		for (size_t i = 0; i < len; i++) {
			if (words[at + i] == '\'')
				out = stpcpy(out, "'\\'");
			*out++ = words[at + i];
		}
		if (!bare)
			*out++ = '\'';
		at += len + 1;
	}
	if (text)
		*out = '\0';
	return text;
}

static void put_words(const char *name, const char *words, size_t size)
{
	char *text = size ? quoted(words, size) : NULL;

	if (text)
		row(name, "%s", text);
	free(text);
}

static void put_start(const struct espy_trace_contents *c)
{
	const time_t sec = (time_t)(c->start_unix_ns / 1000000000u) + c->utc_offset_s;
	const int east = abs(c->utc_offset_s) / 60;
	struct tm tm;
	char text[64];

	if (!c->start_unix_ns || !gmtime_r(&sec, &tm) || !strftime(text, sizeof(text), "%F %T", &tm))
		return;
	row("start", "%s.%06u %c%02d%02d", text, (unsigned)(c->start_unix_ns % 1000000000u / 1000), c->utc_offset_s < 0 ? '-' : '+',
	    east / 60, east % 60);
}

static void put_end(const struct espy_trace_info *i, const struct espy_trace_contents *c)
{
	const int status = c->program_status;

	if (!i->finished)
		row("end", "the recording did not end in order, at offset %" PRIu64, i->offset);
	else if (c->program_ended && WIFSIGNALED(status))
		row("end", "signal %d killed the program", WTERMSIG(status));
	else if (c->program_ended)
		row("end", "the program ended with status %d", WEXITSTATUS(status));
	else
		row("end", c->detached ? "the recorder ended before what it watched" : "in order");
}

static void put_losses(const struct espy_trace_contents *c)
{
	bool any = false;

	for (unsigned i = 0; i < ESPY_LOSS_REASONS; i++)
		if (c->lost[i]) {
			row("lost", "%" PRIu64 " event%s: %s", c->lost[i], espy_amount__s(c->lost[i]),
			    espy_lost_text(i));
			any = true;
		}
	if (!any)
		row("lost", "nothing");
	if (c->overwritten)
		row("overwritten", "%" PRIu64 " older record%s: this is the newest part", c->overwritten, espy_amount__s(c->overwritten));
}

static void put_targets(const struct espy_trace_info *i)
{
	if (i->wide)
		row("watched", "a cgroup, or the whole system");
	else if (i->pids)
		row("watched", "%u process%s by number%s", i->pids, i->pids == 1 ? "" : "es",
		    i->follow ? ", and what they started" : "");
}

static void print(const char *path, const struct espy_trace_info *i, const struct espy_trace_contents *c)
{
	row("trace", "%s (espy %s)", path, c->espy_version);
	row("host", "%s, Linux %s %s, %u CPU%s", c->host, c->kernel, c->machine, c->cpus, espy_amount__s(c->cpus));
	put_words("command", c->command, c->command_size);
	put_targets(i);
	put_words("selected", i->words, i->words_size);
	row("source", "%s%s", c->source, c->passive ? "" : " (stops the program at each call)");
	put_start(c);
	row("duration", "%" PRIu64 ".%06" PRIu64 " s", c->duration_ns / 1000000000u, c->duration_ns % 1000000000u / 1000);
	put_end(i, c);
	row("calls", "%" PRIu64, c->calls);
	row("signals", "%" PRIu64, c->signals);
	row("marks", "%" PRIu64, c->marks);
	row("tasks", "%" PRIu64, c->tasks);
	row("size", "%" PRIu64 " record%s, %" PRIu64 " bytes in %u file%s", c->records, espy_amount__s(c->records), c->file_bytes,
	    c->files, espy_amount__s(c->files));
	put_losses(c);
	if (c->pauses)
		row("held", "%" PRIu64 " time%s, %.1f ms in all, %.1f ms at most", c->pauses, espy_amount__s(c->pauses), (double)c->paused_ns / 1e6,
		    (double)c->longest_pause_ns / 1e6);
	else
		row("held", "nobody");
}

static void say_problem(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)level;
	(void)topic;
	espy_cli__say(ctx, "%s", text);
}

/* Returns whether the trace could be read to its end. */
static bool info(const struct info_args *a, const char *path)
{
	struct espy_trace_contents c = { .size = sizeof(c) };
	struct espy_trace_info i = { .size = sizeof(i) };
	struct espy_trace *t;
	char *json = NULL;

	if (espy_trace_open(&t, path, false, say_problem, (void *)a->cli))
		return false;
	int err = espy_trace_contents(t, &c);
	err = err ? err : espy_trace_info(t, &i);
	if (!err && a->json)
		err = espy_trace_contents_json(t, &c, &json);
	if (err)
		espy_cli__say(a->cli, "%s: %s", path, strerror(-err));
	else if (json)
		puts(json);
	else
		print(path, &i, &c);
	free(json);
	espy_trace_close(t);
	return !err && i.finished && !i.damaged;
}

int espy_cmd_info(const struct espy_cli *cli, int argc, char **argv)
{
	struct info_args a = { .cli = cli };
	int first, status = 0;

	if (espy_opts__parse(cli, espy_info_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.help) {
		fputs("Usage: espy info [OPTIONS] TRACE...\n"
		      "Say what traces (`espy record`) hold: where, when and how each was made, how many calls it has, what was lost.\n"
		      "TRACE may be - for standard input, or the name given to --rotate.\n",
		      stdout);
		espy_opts__help(stdout, espy_info_groups, 1);
		fputs("\nExit status: 0; 1 if a trace could not be read whole.\n", stdout);
		return 0;
	}
	if (first >= argc) {
		espy_cli__usage(cli, "which trace? (`espy record` writes espy.trace if it is given no other name)");
		return 1;
	}
	for (int n = first; n < argc; n++) {
		if (n > first && !a.json)
			putchar('\n');
		status |= !info(&a, argv[n]);
	}
	return status;
}
