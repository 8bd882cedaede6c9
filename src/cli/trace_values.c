/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The values of options that are words or sets of words: tables of the words, and one reader for all. */
#include "cli/trace_values.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/status_words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct espy_word espy_words_status[] = {
	ESPY_STATUS_WORDS,
	{ NULL, 0 },
};
const struct espy_word espy_words_quiet[] = {
	{ "attach", ESPY_QUIET_ATTACH }, { "exit", ESPY_QUIET_EXIT }, { "exits", ESPY_QUIET_EXIT },
	{ "path-resolution", ESPY_QUIET_PATH }, { "path-resolve", ESPY_QUIET_PATH },
	{ "personality", ESPY_QUIET_PERSONALITY }, { "thread-execve", ESPY_QUIET_SUPERSEDED },
	{ "superseded", ESPY_QUIET_SUPERSEDED }, { NULL, 0 },
};
const struct espy_word espy_words_fds[] = {
	{ "path", ESPY_FD_PATH }, { "dev", ESPY_FD_DEV }, { "socket", ESPY_FD_SOCKET }, { "pidfd", ESPY_FD_PIDFD },
	{ "signalfd", ESPY_FD_SIGNALFD }, { "eventfd", ESPY_FD_EVENTFD }, { NULL, 0 },
};
const struct espy_word espy_words_pids[] = {
	{ "comm", ESPY_PIDS_COMM }, { "pidns", ESPY_PIDS_NS }, { NULL, 0 },
};
const struct espy_word espy_words_secontext[] = {
	{ "full", ESPY_CONTEXTS_FULL }, { "mismatch", ESPY_CONTEXTS_EXPECTED }, { NULL, 0 },
};
const struct espy_word espy_words_hex[] = {
	{ "none", ESPY_STRINGS_PLAIN }, { "non-ascii-chars", ESPY_STRINGS_HEX_NON_ASCII_CHARS },
	{ "non-ascii", ESPY_STRINGS_HEX_NON_ASCII }, { "all", ESPY_STRINGS_HEX }, { NULL, 0 },
};
const struct espy_word espy_words_xlat[] = {
	{ "abbrev", ESPY_NAMES }, { "raw", ESPY_NAMES_RAW }, { "verbose", ESPY_NAMES_VERBOSE }, { NULL, 0 },
};
const struct espy_word espy_words_precision[] = {
	{ "s", 0 }, { "ms", 3 }, { "us", 6 }, { "ns", 9 }, { NULL, 0 },
};
const struct espy_word espy_words_time[] = {
	{ "none", ESPY_TIME_NONE }, { "time", ESPY_TIME_OF_DAY }, { "unix", ESPY_TIME_UNIX }, { NULL, 0 },
};
const struct espy_word espy_words_source[] = {
	{ "auto", 0 }, { "bpf", 1 }, { "ptrace", 2 }, { NULL, 0 },
};
const struct espy_word espy_words_lossless[] = {
	{ "auto", ESPY_OVERRUN_AUTO }, { "always", ESPY_OVERRUN_HOLD }, { "never", ESPY_OVERRUN_LOSE }, { NULL, 0 },
};
/* The values of espy_session_options.rings: any number above 1 means a ring for each processor. */
const struct espy_word espy_words_rings[] = {
	{ "auto", 0 }, { "one", 1 }, { "cpu", 2 }, { NULL, 0 },
};
const struct espy_word espy_words_interruptible[] = {
	{ "1", 1 },	 { "2", 2 },	   { "3", 3 },	   { "4", 4 },		{ "anywhere", 1 },
	{ "always", 1 }, { "waiting", 2 }, { "never", 3 }, { "never_tstp", 4 }, { NULL, 0 },
};
const struct espy_word espy_words_daemonize[] = {
	{ "grandchild", 1 }, { "pgroup", 2 }, { "pgrp", 2 }, { "session", 3 }, { NULL, 0 },
};
const struct espy_word espy_words_color[] = {
	{ "auto", ESPY_COLOR_AUTO }, { "never", ESPY_COLOR_NEVER }, { "always", ESPY_COLOR_ALWAYS }, { NULL, 0 }
};
/* The reader takes - and _ alike. */
const struct espy_word espy_words_column[] = {
	{ "time-percent", ESPY_COL_TIME_PERCENT }, { "time", ESPY_COL_TIME_PERCENT },
	{ "total-time", ESPY_COL_TOTAL_TIME }, { "time-total", ESPY_COL_TOTAL_TIME },
	{ "min-time", ESPY_COL_MIN_TIME }, { "time-min", ESPY_COL_MIN_TIME }, { "shortest", ESPY_COL_MIN_TIME },
	{ "max-time", ESPY_COL_MAX_TIME }, { "time-max", ESPY_COL_MAX_TIME }, { "longest", ESPY_COL_MAX_TIME },
	{ "avg-time", ESPY_COL_AVG_TIME }, { "time-avg", ESPY_COL_AVG_TIME },
	{ "calls", ESPY_COL_CALLS }, { "count", ESPY_COL_CALLS },
	{ "errors", ESPY_COL_ERRORS }, { "error", ESPY_COL_ERRORS },
	{ "name", ESPY_COL_NAME }, { "syscall", ESPY_COL_NAME }, { "syscall-name", ESPY_COL_NAME },
	{ "wall-total", ESPY_COL_WALL_TOTAL }, { "total-wall", ESPY_COL_WALL_TOTAL },
	{ "wall-min", ESPY_COL_WALL_MIN }, { "min-wall", ESPY_COL_WALL_MIN },
	{ "wall-max", ESPY_COL_WALL_MAX }, { "max-wall", ESPY_COL_WALL_MAX },
	{ "wall-avg", ESPY_COL_WALL_AVG }, { "avg-wall", ESPY_COL_WALL_AVG }, { NULL, 0 },
};

static bool same_word(const char *word, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((s[i] == '_' ? '-' : s[i]) != (word[i] == '_' ? '-' : word[i]))
			return false;
	return !word[len];
}

bool espy_word__find(const struct espy_word *table, const char *s, size_t len, int *value)
{
	for (; table->word; table++)
		if (same_word(table->word, s, len)) {
			*value = table->value;
			return true;
		}
	return false;
}

int espy_word__set(const struct espy_word *table, const char *s, unsigned *set, char *bad, size_t bad_sz)
{
	const char *whole = s;
	unsigned all = 0, got = 0;
	bool negate = false, any = false;
	int value;

	for (const struct espy_word *w = table; w->word; w++)
		all |= (unsigned)w->value;
	while (*s == '!') {
		negate = !negate;
		s++;
	}
	/* These two stand alone. */
	if (!strcmp(s, "none") || !strcmp(s, "all")) {
		*set = (*s == 'a') != negate ? all : 0;
		return 0;
	}
	for (size_t len; *s; s += len + !!s[len]) {
		len = strcspn(s, ",");
		if (len && !espy_word__find(table, s, len, &value)) {
			snprintf(bad, bad_sz, "%.*s", (int)len, s);
			return -EINVAL;
		}
		got |= len ? (unsigned)value : 0;
		any |= len > 0;
	}
	if (!any) {
		snprintf(bad, bad_sz, "%s", whole);
		return -EINVAL;
	}
	*set = negate ? all & ~got : got;
	return 0;
}

bool espy_value__number(const char *s, unsigned long max, unsigned long *out)
{
	char *end;

	if (!isdigit((unsigned char)s[0]))
		return false;
	errno = 0;
	*out = strtoul(s, &end, 10);
	return !errno && !*end && *out <= max;
}

bool espy_value__bytes(const char *s, size_t *out)
{
	static const char units[] = "kmg";
	char *end;

	if (!isdigit((unsigned char)s[0]))
		return false;
	errno = 0;
	unsigned long long n = strtoull(s, &end, 10);
	const char *u = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (errno || (*end && (!u || end[1])))
		return false;
	unsigned shift = u ? 10 * (unsigned)(u - units + 1) : 0;
	if (n > (1ull << 40) >> shift)
		return false;
	*out = (size_t)n << shift;
	return true;
}

bool espy_value__microseconds(const char *s, double *us)
{
	static const struct { const char *unit; double us; } units[] = {
		{ "", 1 }, { "s", 1e6 }, { "ms", 1e3 }, { "us", 1 }, { "ns", 1e-3 },
	};
	char *end;

	if (!isdigit((unsigned char)s[0]) && s[0] != '.')
		return false;
	double n = strtod(s, &end);
	for (size_t i = 0; i < COUNT(units); i++)
		if (!strcmp(end, units[i].unit)) {
			*us = n * units[i].us;
			return end != s && *us < 1e12;
		}
	return false;
}

int espy_value__pids(const char *s, pid_t **pids, size_t *cnt, char *bad, size_t bad_sz)
{
	static const char blanks[] = ", \t\n";

	for (s += strspn(s, blanks); *s; s += strspn(s, blanks)) {
		size_t len = strcspn(s, blanks);
		unsigned long n;

		snprintf(bad, bad_sz, "%.*s", (int)len, s);
		if (len >= bad_sz || !espy_value__number(bad, 0x7fffffff, &n) || !n)
			return -EINVAL;
		pid_t *more = realloc(*pids, (*cnt + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		*pids = more;
		more[(*cnt)++] = (pid_t)n;
		s += len;
	}
	return 0;
}
