/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -e EXPR and the long options that say the same: takes sets of words, and leaves the rest to the filter. */
#include "cli/trace_command.h"
#include "cli/trace_values.h"

#include <errno.h>
#include <string.h>
#include "base/edits.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Says what is wrong; as strace no more than that: neither why nor what may be meant. */
static void say_mistake(const struct espy_trace_args *a, const char *text)
{
	const char *why = strstr(text, "': "), *meant = strstr(text, "'; ");
	const char *end = why && (!meant || why < meant) ? why : meant;

	if (a->cli->strace_mode && end)
		espy_cli__say(a->cli, "%.*s'", (int)(end - text), text);
	else
		espy_cli__say(a->cli, "%s", text);
}

int espy_trace_set(struct espy_trace_args *a, const char *name, const struct espy_word *table, const char *arg,
		   unsigned *out)
{
	char bad[128], hint[ESPY_HINT_MAX], text[256];
	struct espy_nearest near;

	if (!espy_word__set(table, arg, out, bad, sizeof(bad)))
		return 0;
	espy_nearest__begin(&near, bad, strlen(bad));
	for (const struct espy_word *w = table; w->word; w++)
		espy_nearest__offer(&near, w->word);
	snprintf(text, sizeof(text), "invalid %s '%s'%s", name, bad, espy_nearest__hint(&near, hint));
	say_mistake(a, text);
	return -EINVAL;
}

int espy_trace_secontext(struct espy_trace_args *a, const char *arg)
{
	unsigned bits = 0;

	if (arg && espy_trace_set(a, "secontext", espy_words_secontext, arg, &bits))
		return -EINVAL;
	/* A set that is said by what is not in it is no empty one: the contexts are shown, without what it leaves out. */
	const bool empty = arg && !bits && arg[0] != '!';

	a->text.contexts = (enum espy_context_text)(empty ? ESPY_CONTEXTS_NONE : ESPY_CONTEXTS | bits);
	return 0;
}

static int show_vcpu(struct espy_trace_args *a, const char *arg)
{
	if (strcmp(arg, "vcpu") && strcmp(arg, "vcpu+")) {
		espy_cli__say(a->cli, "invalid -e kvm= argument: '%s'", arg);
		return -EINVAL;
	}
	a->text.vcpus = true;
	return 0;
}

int espy_trace_decode_fds(struct espy_trace_args *a, const char *arg)
{
	unsigned bits, left = 0;

	if (espy_trace_set(a, "decode-fds", espy_words_fds, arg, &bits))
		return -EINVAL;
	for (const struct espy_word *w = espy_words_fds; w->word; w++)
		left |= (unsigned)w->value & ~bits;
	a->text.fds = left ? (enum espy_fd_text)bits : ESPY_FD_ALL;
	return 0;
}

int espy_trace_decode_pids(struct espy_trace_args *a, const char *arg)
{
	unsigned bits;

	if (espy_trace_set(a, "decode-pids", espy_words_pids, arg, &bits))
		return -EINVAL;
	a->text.task_names = bits & ESPY_PIDS_COMM;
	a->text.task_numbers = bits & ESPY_PIDS_NS;
	return 0;
}

enum what { STATUS, QUIET, DECODE_FDS, DECODE_PIDS, NAMESPACE, KVM, SECONTEXT };

static const struct {
	const char *name;
	enum what what;
} qualifiers[] = {
	{ "status", STATUS },
	{ "quiet", QUIET },
	{ "silent", QUIET },
	{ "silence", QUIET },
	{ "q", QUIET },
	{ "decode-fds", DECODE_FDS },
	{ "decode-fd", DECODE_FDS },
	{ "decode-pids", DECODE_PIDS },
	{ "decode-pid", DECODE_PIDS },
	{ "kvm", KVM },
	{ "namespace", NAMESPACE },
	{ "secontext", SECONTEXT },
};

/* Takes expressions that select no calls, signals or descriptors. 1: taken; 0: not one of these; -EINVAL: said. */
static int qualifier(struct espy_trace_args *a, const char *expr)
{
	size_t len = strcspn(expr, "="), i = 0;
	const char *arg = expr + len + 1;
	int err = 0;

	while (i < COUNT(qualifiers) && (strlen(qualifiers[i].name) != len || strncmp(qualifiers[i].name, expr, len)))
		i++;
	if (i == COUNT(qualifiers) || !expr[len])
		return 0;
	switch (qualifiers[i].what) {
	case STATUS:
		err = espy_trace_set(a, "status", espy_words_status, arg, &a->status);
		break;
	case QUIET:
		a->longs.quiet = true;
		err = espy_trace_set(a, "quiet", espy_words_quiet, arg, &a->quiet);
		break;
	case DECODE_FDS:
		a->longs.fds = true;
		err = espy_trace_decode_fds(a, arg);
		break;
	case DECODE_PIDS:
		err = espy_trace_decode_pids(a, arg);
		break;
	case NAMESPACE:
		if (strcmp(arg, "new")) {
			espy_cli__say(a->cli, "invalid -e namespace= argument: '%s'", arg);
			return -EINVAL;
		}
		a->text.namespaces = true;
		break;
	case KVM:
		err = show_vcpu(a, arg);
		break;
	case SECONTEXT:
		err = espy_trace_secontext(a, arg);
		break;
	}
	return err ? err : 1;
}

bool espy_trace_changes_calls(const char *expr)
{
	return !strncmp(expr, "inject=", 7) || !strncmp(expr, "fault=", 6);
}

int espy_trace_expr(struct espy_trace_args *a, const char *expr)
{
	char err[256], calls[256];
	int taken = qualifier(a, expr);

	/* A recorded call cannot be changed any more. */
	if (a->role == ESPY_ROLE_SHOW && espy_trace_changes_calls(expr)) {
		espy_cli__say(a->cli, "%s: the calls of a trace cannot be changed", expr);
		return -EINVAL;
	}

	if (taken)
		return taken < 0 ? taken : 0;
	if (espy_filter_select(a->filter, expr, err, sizeof(err))) {
		/* To strace, a word that is no kind of expression begins the name of a call. */
		if (a->cli->strace_mode && !strncmp(err, "invalid expression", 18)) {
			snprintf(calls, sizeof(calls), "trace=%s", expr);
			espy_filter_select(a->filter, calls, err, sizeof(err));
		}
		if (a->cli->strace_mode && !strncmp(err, "incorrect personality", 21))
			return espy_cli__usage(a->cli, "%s", err);
		say_mistake(a, err);
		return -EINVAL;
	}
	return 0;
}
