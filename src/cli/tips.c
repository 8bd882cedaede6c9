/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --tips: one line of advice in a box, before the command ends. */
#include "cli/trace_handlers.h"
#include "cli/trace_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"

#define WIDTH 62

static const char *const tips[] = {
	"-e trace=%file,%network names whole classes of calls.",
	"-y shows the file behind each descriptor, -yy the socket, too.",
	"-Z shows only calls that failed.",
	"-P PATH shows only calls that touch PATH.",
	"-c counts calls and errors, and shows no lines.",
	"-k shows how the program came to each call.",
	"-o '|COMMAND' gives the lines to another command.",
	"espy record keeps all of a run; espy show makes lines of it.",
	"espy trace --where 'ret < 0' shows calls by their values.",
	"espy trace --count-by 'openat: path' counts values.",
};

static const struct espy_word formats[] = {
	{ "none", ESPY_TIPS_NONE },
	{ "compact", ESPY_TIPS_SHOWN },
	{ "full", ESPY_TIPS_SHOWN },
	{ NULL, 0 },
};

static bool take_id(struct espy_trace_args *a, const char *s, size_t len)
{
	char digits[12];
	unsigned long n = 0;

	if (len == 6 && !strncmp(s, "random", len)) {
		a->tips.id = -1;
		return true;
	}
	if (len >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)len, s);
	if (!espy_value__number(digits, 0x7fffffff, &n))
		return false;
	a->tips.id = (int)n;
	return true;
}

static bool take_format(struct espy_trace_args *a, const char *s, size_t len)
{
	return espy_word__find(formats, s, len, &a->tips.how);
}

/* --tips=[[id:]ID],[[format:]FORMAT]: words without a key are of either kind. */
int espy_do_tips(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;

	a->tips.id = -1;
	a->tips.how = ESPY_TIPS_SHOWN;
	for (const char *s = use->arg ? use->arg : ""; *s;) {
		const size_t len = strcspn(s, ",");
		bool good = !len;

		if (!strncmp(s, "id:", 3))
			good = take_id(a, s + 3, len - 3);
		else if (!strncmp(s, "format:", 7))
			good = take_format(a, s + 7, len - 7);
		else if (len)
			good = take_id(a, s, len) || take_format(a, s, len);
		if (!good)
			return espy_opts__bad_arg(a->cli, use);
		s += len + (s[len] == ',');
	}
	return 0;
}

void espy_tips__show(const struct espy_trace_args *a)
{
	const size_t cnt = sizeof(tips) / sizeof(tips[0]);
	const size_t i = (a->tips.id < 0 ? espy_now_ns() / 1000 : (unsigned)a->tips.id) % cnt;

	if (a->tips.how == ESPY_TIPS_SHOWN)
		fprintf(stderr, " | %-*s |\n", WIDTH, tips[i]);
}
