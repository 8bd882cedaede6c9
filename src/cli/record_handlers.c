/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of `espy record` and `espy show` that `espy trace` does not have. */
#include "cli/trace_handlers.h"
#include "cli/trace_values.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int espy_do_compress(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	unsigned long level = 0;

	if (strcmp(use->arg, "none") && (!espy_value__number(use->arg, 19, &level) || !level))
		return espy_opts__bad_arg(a->cli, use);
	a->record.level = (int)level;
	return 0;
}

int espy_do_data(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	size_t bytes = 0;

	if (strcmp(use->arg, "none") && (!espy_value__bytes(use->arg, &bytes) || bytes > INT_MAX))
		return espy_opts__bad_arg(a->cli, use);
	a->record.limit_data = true;
	a->record.data_limit = (unsigned)bytes;
	return 0;
}

/* Reads decimal seconds with up to nine digits of fraction, s[0..len), as nanoseconds. */
static bool seconds(const char *s, size_t len, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, unit = 1000000000u;
	size_t i = 0;

	for (; i < len && s[i] >= '0' && s[i] <= '9'; i++) {
		whole = whole * 10 + (uint64_t)(s[i] - '0');
		if (whole > UINT64_MAX / 4000000000u)
			return false;
	}
	if (!i)
		return false;
	if (i < len && s[i] == '.')
		for (i++; i < len && s[i] >= '0' && s[i] <= '9'; i++) {
			unit /= 10;
			part += (uint64_t)(s[i] - '0') * unit;
		}
	*ns = whole * 1000000000u + part;
	return i == len;
}

int espy_do_after(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	size_t len = strlen(use->arg);
	uint64_t unit = 1;

	if (len > 2 && !strcmp(use->arg + len - 2, "ms")) {
		unit = 1000;
		len -= 2;
	} else if (len > 1 && use->arg[len - 1] == 's') {
		len--;
	}
	if (!seconds(use->arg, len, &a->session.snapshot_after_ns))
		return espy_opts__bad_arg(a->cli, use);
	a->session.snapshot_after_ns /= unit;
	return 0;
}

static bool when(const char *s, struct espy_moment *w)
{
	uint64_t field[3] = { 0 };
	size_t n = 0;

	if (*s == '+' || *s == '@') {
		size_t len = strlen(s + 1);

		w->kind = *s == '+' ? ESPY_MOMENT_SINCE_START : ESPY_MOMENT_UNIX;
		if (*s == '+' && len && s[len] == 's')
			len--;
		return seconds(s + 1, len, &w->ns);
	}
	for (;; n++) {
		size_t len = strcspn(s, ":");

		if (n == 3 || !seconds(s, len, &field[n]))
			return false;
		s += len;
		if (!*s++)
			break;
	}
	w->kind = ESPY_MOMENT_OF_DAY;
	w->ns = field[0] * 3600 + field[1] * 60 + field[2];
	return n >= 1 && field[0] < UINT64_C(24000000000) && field[1] < UINT64_C(60000000000) &&
	       field[2] < UINT64_C(61000000000);
}

int espy_do_moment(void *ctx, const struct espy_opt_use *use)
{
	const struct espy_trace_args *a = ctx;

	if (!when(use->arg, espy_opts__member(ctx, use)))
		return espy_cli__usage(a->cli,
				       "invalid %s argument: '%s' (+SECONDS, HH:MM[:SS[.FRACTION]] or @SECONDS is "
				       "expected)",
				       use->as, use->arg);
	return 0;
}

int espy_do_show_pid(void *ctx, const struct espy_opt_use *use)
{
	struct espy_trace_args *a = ctx;
	pid_t *pids = NULL;
	size_t cnt = 0;
	char bad[64];
	int err = espy_value__pids(use->arg, &pids, &cnt, bad, sizeof(bad));

	if (err == -EINVAL)
		espy_cli__say(a->cli, "Invalid process id: '%s'", bad);
	for (size_t i = 0; i < cnt && !err; i++)
		err = espy_filter_task(a->filter, pids[i]);
	free(pids);
	return err;
}
