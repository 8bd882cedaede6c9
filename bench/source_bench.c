/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * source_bench ring|rings|flight[:MEGABYTES] COMMAND...: run it with all calls captured and time stamps, as `espy
 * record` would, into one ring or rings per CPU that are read and thrown away, or into a flight recorder that nobody
 * reads. Says on standard error how many records there were, were lost and overwritten. With LATE=1 in the environment
 * nothing is read before the command has ended, and how long the reading took is said too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "describe/builtin.h"
#include "lib/call_set.h"

extern char **environ;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int drop(void *ctx, const struct espy_rec *rec)
{
	(void)ctx;
	(void)rec;
	return 0;
}

int main(int argc, char **argv)
{
	const struct espy_needs limits = { .str_limit = 32 };
	struct espy_source_opts opts = {
		.follow = true, .needs.times = true
	};
	struct espy_call_set sets[ESPY_ABI_CNT];
	struct espy_image images[ESPY_ABI_CNT];
	struct espy_source_stats st;
	struct espy_filter filter;
	struct espy_source *s;
	int err, status = 0;
	uint64_t lost = 0;
	pid_t pid;

	if (argc < 3)
		return 2;
	const char *colon = strchr(argv[1], ':');
	const size_t bytes = (size_t)(colon ? atoi(colon + 1) : 64) << 20;

	opts.rings.cnt = strncmp(argv[1], "rings", 5) ? 1 : 2;
	if (!strncmp(argv[1], "flight", 6))
		opts.rings.flight_bytes = bytes;
	else
		opts.rings.bytes = bytes;
	err = espy_source_bpf.open(&s, &opts);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++) {
		size_t size;
		const void *blob = espy_builtin_image((enum espy_abi)abi, &size);

		err = espy_image__open(&images[abi], blob, size, NULL);
	}
	if (!err)
		espy_filter__init(&filter);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++) {
		err = espy_call_set__init(&sets[abi], &images[abi], &filter, &limits);
		err = err ? err : s->ops->set_calls(s, (enum espy_abi)abi, &sets[abi]);
	}
	const struct espy_command cmd = { .path = argv[2], .argv = argv + 2, .envp = environ };
	err = err ? err : s->ops->start_command(s, &cmd, &pid);
	if (err) {
		fprintf(stderr, "source_bench: %s\n", strerror(-err));
		return 1;
	}
	if (getenv("LATE"))
		waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	const double begun = now_ns();
	do
		err = s->ops->poll(s, drop, NULL, 1000);
	while (err >= 0 || err == -EINTR);
	if (opts.rings.flight_bytes && s->ops->snapshot(s, drop, NULL) < 0)
		return 1;
	s->ops->command_status(s, &status);
	s->ops->stats(s, &st);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++)
		lost += st.lost[i];
	fprintf(stderr, "records %llu lost %llu overwritten %llu bytes %llu wakeups %llu\n",
		(unsigned long long)st.records, (unsigned long long)lost, (unsigned long long)st.overwritten,
		(unsigned long long)st.bytes, (unsigned long long)st.wakeups);
	if (getenv("LATE"))
		fprintf(stderr, "%.1f ns a record\n", (now_ns() - begun) / (double)st.records);
	s->ops->close(s);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
