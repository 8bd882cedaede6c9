/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of sources, and the choice among them. */
#include "source/choose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct espy_source_ops *const espy_sources[] = { &espy_source_bpf, &espy_source_ptrace, NULL };

static const struct {
	unsigned cap;
	const char *text;
} cap_text[] = {
	{ ESPY_SRC_PASSIVE, "watch without stopping tasks" },
	{ ESPY_SRC_SYSTEM_WIDE, "watch the whole system or a cgroup" },
	{ ESPY_SRC_COUNT, "count without sending events" },
	{ ESPY_SRC_ENTER, "tell of each call when it begins" },
	{ ESPY_SRC_TAMPER, "change results" },
	{ ESPY_SRC_STACKS, "unwind call stacks" },
	{ ESPY_SRC_PROBES, "put probes into programs (-u) or see tracepoints (-K)" },
	{ ESPY_SRC_IO_URING, "see operations of io_uring (--io-uring)" },
	{ ESPY_SRC_FLIGHT, "keep the newest records in memory (a flight recorder)" },
};

const struct espy_source_ops *espy_source__find(const char *name)
{
	unsigned i;

	for (i = 0; espy_sources[i]; i++)
		if (!strcmp(espy_sources[i]->name, name))
			return espy_sources[i];
	return NULL;
}

static const char *lacks(const struct espy_source_ops *ops, unsigned need)
{
	unsigned i;

	for (i = 0; i < sizeof(cap_text) / sizeof(cap_text[0]); i++)
		if (need & ~ops->caps & cap_text[i].cap)
			return cap_text[i].text;
	return NULL;
}

static int choose_named(const struct espy_source_ops **out, const char *name, unsigned need, char *why, size_t why_sz)
{
	const struct espy_source_ops *ops = espy_source__find(name);
	const char *lack;

	if (!ops) {
		snprintf(why, why_sz, "there is no source '%s'; there are auto, bpf and ptrace", name);
		return -ENOENT;
	}
	lack = lacks(ops, need);
	if (lack) {
		snprintf(why, why_sz, "the %s source cannot %s", name, lack);
		return -EOPNOTSUPP;
	}
	*out = ops;
	return ops->probe(why, why_sz);
}

int espy_source__choose(const struct espy_source_ops **out, const char *name, unsigned need, char *why, size_t why_sz)
{
	char reason[400], reasons[900] = "";
	size_t used = 0;
	unsigned i;
	int first_err = 0;

	*out = NULL;
	if (why_sz)
		why[0] = 0;
	if (name && strcmp(name, "auto"))
		return choose_named(out, name, need, why, why_sz);
	for (i = 0; espy_sources[i]; i++) {
		const struct espy_source_ops *ops = espy_sources[i];
		const char *lack = lacks(ops, need);
		int err = -EOPNOTSUPP, n;

		reason[0] = 0;
		if (!lack)
			err = ops->probe(reason, sizeof(reason));
		if (!err) {
			*out = ops;
			if (used)
				snprintf(why, why_sz, "using the %s source%s (%s)", ops->name,
					 ops->caps & ESPY_SRC_PASSIVE ? "" : ", which stops the program at each call",
					 reasons);
			return 0;
		}
		/* The reason of a source that could do it tells more than that another source cannot do it at all. */
		if (!first_err || first_err == -EOPNOTSUPP)
			first_err = err;
		n = snprintf(reasons + used, sizeof(reasons) - used, "%s%s%s%s", used ? "; " : "", ops->name,
			     lack ? " cannot " : ": ", lack ? lack : reason);
		used += n > 0 ? (size_t)n : 0;
		if (used >= sizeof(reasons))
			used = sizeof(reasons) - 1;
	}
	snprintf(why, why_sz, "%s", reasons);
	return first_err;
}
