/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tap FILE PROG ARGS...: runs a program under the BPF source as a recording would and writes the records, as they come,
 * one after the other to FILE. Makes realistic input for bench/trace_bench; no test.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe/builtin.h"
#include "lib/call_set.h"
#include "filter/call_filter.h"
#include "source/source.h"

static struct espy_image images[ESPY_ABI_CNT];
static struct espy_call_set sets[ESPY_ABI_CNT];
static struct espy_filter filter;

static void report(void *ctx, enum espy_report_level level, const char *text)
{
	fprintf(stderr, "tap: %s\n", text);
}

static int take(void *ctx, const struct espy_rec *rec)
{
	return fwrite(rec, 1, rec->size, ctx) == rec->size ? 0 : -EIO;
}

static int fail(const char *what, int err)
{
	fprintf(stderr, "tap: %s: %s\n", what, strerror(-err));
	return 1;
}

int main(int argc, char **argv)
{
	const struct espy_needs limits = { .str_limit = 32 };
	const struct espy_source_opts opts = {
		.report = report,
		.follow = true,
		.needs.times = true,
		.needs.enter_ns = true,
		.needs.fds = true,
		.rings.bytes = 64u << 20,
		.hang_ms = 200,
	};
	extern char **environ;
	struct espy_source_stats st = { 0 };
	struct espy_source *src;
	char path[4096];
	pid_t pid;
	int err;

	if (argc < 3) {
		fprintf(stderr, "usage: tap FILE PROG ARGS...\n");
		return 2;
	}
	FILE *out = fopen(argv[1], "w");
	if (!out)
		return fail(argv[1], -errno);
	snprintf(path, sizeof(path), "%s", argv[2]);
	if (!strchr(path, '/')) {
		snprintf(path, sizeof(path), "/usr/bin/%s", argv[2]);
	}
	const struct espy_command cmd = { .path = path, .argv = argv + 2, .envp = environ };

	for (enum espy_abi abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size;
		const void *blob = espy_builtin_image(abi, &size);

		if ((err = espy_image__open(&images[abi], blob, size, NULL)))
			return fail("image", err);
	}
	espy_filter__init(&filter);
	if ((err = espy_source_bpf.open(&src, &opts)))
		return fail("open", err);
	for (enum espy_abi abi = 0; abi < ESPY_ABI_CNT; abi++)
		if ((err = espy_call_set__init(&sets[abi], &images[abi], &filter, &limits)) ||
		    (err = src->ops->set_calls(src, abi, &sets[abi])))
			return fail("calls", err);
	if ((err = src->ops->start_command(src, &cmd, &pid)))
		return fail(path, err);
	do
		err = src->ops->poll(src, take, out, 100);
	while (err >= 0 || err == -EINTR);
	if (err != -ESRCH)
		return fail("poll", err);
	src->ops->stats(src, &st);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++)
		if (st.lost[i])
			fprintf(stderr, "tap: lost %llu for reason %u\n", (unsigned long long)st.lost[i], i);
	src->ops->close(src);
	return fclose(out) ? fail(argv[1], -errno) : 0;
}
