/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/options.h"
#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/edits.h"

struct table {
	const struct espy_opt_group *groups;
	size_t group_cnt;
};

/* Returns the i-th option over all groups, or NULL. */
static const struct espy_opt *nth(const struct table *t, size_t i)
{
	for (size_t g = 0; g < t->group_cnt; g++) {
		if (i < t->groups[g].opt_cnt)
			return &t->groups[g].opts[i];
		i -= t->groups[g].opt_cnt;
	}
	return NULL;
}

/* Writes one message to stderr. */
static void say(const char *prefix, const char *fmt, va_list ap)
{
	size_t len;
	char *line = espy_message__line(prefix, fmt, ap, &len);

	fflush(stdout);
	if (line)
		fwrite(line, 1, len, stderr);
	else
		fputs("out of memory\n", stderr);
	free(line);
}

void espy_cli__say(const struct espy_cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(cli->name, fmt, ap);
	va_end(ap);
}

int espy_cli__usage(const struct espy_cli *cli, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(cli->opt_name, fmt, ap);
	va_end(ap);
	fprintf(stderr, "Try '%s' for more information.\n", cli->try_help);
	return -EINVAL;
}

int espy_opts__bad_arg(const struct espy_cli *cli, const struct espy_opt_use *use)
{
	return espy_cli__usage(cli, "invalid %s argument: '%s'", use->as, use->arg);
}

const char *espy_cli__nearest(const char *typed, const char *(*next)(void *ctx, size_t i), void *ctx)
{
	/* A third of the word may be wrong: more is guessing. */
	unsigned best = (unsigned)strlen(typed) / 3 + 1;
	const char *word, *found = NULL;

	for (size_t i = 0; (word = next(ctx, i)); i++) {
		unsigned d = espy_edits(typed, word, best);

		if (d < best) {
			best = d;
			found = word;
		}
	}
	return found;
}

static const char *next_name(void *ctx, size_t i)
{
	const struct espy_opt *o = nth(ctx, i);

	return !o ? NULL : o->name ? o->name : "";
}

static int unknown_long(const struct espy_cli *cli, struct table *t, const char *word, size_t len)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	const char *near = cli->strace_mode ? NULL : espy_cli__nearest(name, next_name, t);
	if (!near || !near[0])
		return espy_cli__usage(cli, "unrecognized option '--%s'", word);
	return espy_cli__usage(cli, "unrecognized option '--%s' (did you mean '--%s'?)", word, near);
}

/* Finds an option by its name, or by a beginning that no other option has. Returns NULL after a message. */
static const struct espy_opt *find_long(const struct espy_cli *cli, struct table *t, const char *word, size_t len)
{
	const struct espy_opt *o, *found = NULL;
	bool several = false;

	for (size_t i = 0; (o = nth(t, i)); i++) {
		if (!o->name || strncmp(o->name, word, len))
			continue;
		if (!o->name[len])
			return o;
		/* Two names of one thing are no ambiguity. */
		if (found && (found->handle != o->handle || found->value != o->value || found->arg != o->arg))
			several = true;
		else if (!found)
			found = o;
	}
	if (several) {
		char list[1024] = "";
		size_t used = 0;

		for (size_t i = 0; (o = nth(t, i)); i++)
			if (o->name && !strncmp(o->name, word, len) && used + strlen(o->name) + 6 < sizeof(list))
				used += (size_t)sprintf(list + used, " '--%s'", o->name);
		espy_cli__usage(cli, "option '--%s' is ambiguous; possibilities:%s", word, list);
		return NULL;
	}
	if (!found)
		unknown_long(cli, t, word, len);
	return found;
}

static int told(const struct espy_cli *cli, void *ctx, const struct espy_opt_use *use)
{
	int err = cli->seen ? cli->seen(ctx, use) : 0;

	return err ? err : use->opt->handle(ctx, use);
}

/* Takes a long option. Returns how many words of argv it used, or -EINVAL. */
static int parse_long(const struct espy_cli *cli, struct table *t, void *ctx, char *const *argv)
{
	const char *word = argv[0] + 2;
	size_t len = strcspn(word, "=");
	const struct espy_opt *o = find_long(cli, t, word, len);
	char as[80];
	int used = 1;

	if (!o)
		return -EINVAL;
	snprintf(as, sizeof(as), "--%s", o->name);
	struct espy_opt_use use = { .opt = o, .as = as, .arg = word[len] ? word + len + 1 : NULL };
	if (use.arg && o->arg == ESPY_OPT_NONE)
		return espy_cli__usage(cli, "option '%s' doesn't allow an argument", as);
	if (!use.arg && o->arg == ESPY_OPT_REQUIRED) {
		if (!argv[1])
			return espy_cli__usage(cli, "option '%s' requires an argument", as);
		use.arg = argv[1];
		used = 2;
	}
	int err = told(cli, ctx, &use);
	return err ? err : used;
}

static int parse_letters(const struct espy_cli *cli, struct table *t, void *ctx, char *const *argv)
{
	for (const char *p = argv[0] + 1; *p; p++) {
		const struct espy_opt *o;
		char as[3] = { '-', *p, 0 };
		size_t i = 0;

		while ((o = nth(t, i)) && o->letter != *p)
			i++;
		if (!o)
			return espy_cli__usage(cli, "invalid option -- '%c'", *p);
		struct espy_opt_use use = { .opt = o, .as = as, .by_letter = true };
		if (o->arg != ESPY_OPT_REQUIRED) {
			int err = told(cli, ctx, &use);

			if (err)
				return err;
			continue;
		}
		use.arg = p[1] ? p + 1 : argv[1];
		if (!use.arg)
			return espy_cli__usage(cli, "option requires an argument -- '%c'", *p);
		int err = told(cli, ctx, &use);
		return err ? err : p[1] ? 1 : 2;
	}
	return 1;
}

int espy_opts__parse(const struct espy_cli *cli, const struct espy_opt_group *groups, size_t group_cnt, void *ctx,
		     int argc, char *const *argv, int *first)
{
	struct table t = { groups, group_cnt };
	int i = 1;

	while (i < argc) {
		if (argv[i][0] != '-' || !argv[i][1])
			break;
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		int n = argv[i][1] == '-' ? parse_long(cli, &t, ctx, argv + i) : parse_letters(cli, &t, ctx, argv + i);
		if (n < 0)
			return n;
		i += n;
	}
	*first = i;
	return 0;
}

/* Writes text from column `indent` on, broken at blanks before column 80. */
static void put_wrapped(FILE *f, const char *text, int indent)
{
	int col = indent;

	while (*text) {
		int len = (int)strcspn(text, " \n");

		if (col > indent && col + 1 + len > 79) {
			fprintf(f, "\n%*s", indent, "");
			col = indent;
		} else if (col > indent) {
			fputc(' ', f);
			col++;
		}
		fwrite(text, 1, (size_t)len, f);
		col += len;
		text += len;
		while (*text == ' ')
			text++;
		if (*text == '\n') {
			text++;
			fprintf(f, "\n%*s", indent, "");
			col = indent;
		}
	}
	fputc('\n', f);
}

int espy_opts__set(void *ctx, const struct espy_opt_use *use)
{
	*(bool *)espy_opts__member(ctx, use) = true;
	return 0;
}

int espy_opts__text(void *ctx, const struct espy_opt_use *use)
{
	*(const char **)espy_opts__member(ctx, use) = use->arg;
	return 0;
}

void espy_opts__help(FILE *f, const struct espy_opt_group *groups, size_t group_cnt)
{
	enum { INDENT = 17 };

	for (size_t g = 0; g < group_cnt; g++) {
		bool any = false;

		for (size_t i = 0; i < groups[g].opt_cnt; i++)
			any |= groups[g].opts[i].help != NULL;
		if (!any)
			continue;
		fprintf(f, "\n%s:\n", groups[g].title);
		for (size_t i = 0; i < groups[g].opt_cnt; i++) {
			const struct espy_opt *o = &groups[g].opts[i];
			int col = 2;

			if (!o->help)
				continue;
			fputs("  ", f);
			if (o->letter)
				col += fprintf(f, "-%c%s%s", o->letter, o->arg == ESPY_OPT_REQUIRED ? " " : "",
					       o->arg == ESPY_OPT_REQUIRED ? o->arg_name : "");
			if (o->name)
				col += fprintf(f, "%s--%s", o->letter ? ", " : "", o->name);
			if (o->name && o->arg == ESPY_OPT_REQUIRED)
				col += fprintf(f, "=%s", o->arg_name);
			if (o->name && o->arg == ESPY_OPT_OPTIONAL)
				col += fprintf(f, "[=%s]", o->arg_name);
			if (col >= INDENT - 1)
				fprintf(f, "\n%*s", INDENT, "");
			else
				fprintf(f, "%*s", INDENT - col, "");
			put_wrapped(f, o->help, INDENT);
		}
	}
}

void espy_opts__list(FILE *f, const struct espy_opt_group *groups, size_t group_cnt)
{
	static const char *const kinds[] = {
		[ESPY_OPT_NONE] = "none",
		[ESPY_OPT_REQUIRED] = "required",
		[ESPY_OPT_OPTIONAL] = "optional",
	};

	for (size_t g = 0; g < group_cnt; g++)
		for (size_t i = 0; i < groups[g].opt_cnt; i++) {
			const struct espy_opt *o = &groups[g].opts[i];

			if (!o->help)
				continue;
			if (o->letter)
				fprintf(f, "-%c\t", o->letter);
			else
				fputs("-\t", f);
			if (o->name)
				fprintf(f, "--%s\t", o->name);
			else
				fputs("-\t", f);
			fprintf(f, "%s\t%s\t", kinds[o->arg], o->complete ? o->complete : "-");
			fprintf(f, "%.*s\n", (int)strcspn(o->help, "\n"), o->help);
		}
}
