/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* `espy mark --stats PID`: shows the work of a process's agent, and for which sessions. It changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/commands.h"
#include "base/quote.h"
#include "source/agent_control.h"
#include "symbols/mark_notes.h"

#define SAMPLE_NS 500000000l

struct mark_args {
	const struct espy_cli *cli;
	bool help, stats;
};

static const struct espy_opt mark_opts[] = {
	{ .name = "stats",
	  .handle = espy_opts__set,
	  .value = offsetof(struct mark_args, stats),
	  .help = "of the agent in a process: marks that are on, sessions, how full their rings are, what was lost" },
	ESPY_OPT_HELP(struct mark_args),
};
const struct espy_opt_group espy_mark_groups[] = { { "Options", mark_opts, sizeof(mark_opts) / sizeof(mark_opts[0]) } };

static void help(void)
{
	fputs("Usage: espy mark --stats PID\n"
	      "Look at the static marks of a running process that has an agent. Marks are shown by 'espy trace -m', "
	      "listed\n"
	      "by 'espy list markers'.\n",
	      stdout);
	espy_opts__help(stdout, espy_mark_groups, 1);
}

/* Puts a text of the process, escaped. */
static void put_text(const char *s)
{
	struct espy_buf b = { 0 };

	espy_buf__escaped(&b, s);
	fwrite(b.data, 1, b.len, stdout);
	espy_buf__free(&b);
}

/* Puts the name as espy shows and selects it everywhere. */
static void put_name(char *full)
{
	const char *name;
	size_t len;

	espy_mark__split(full, &len, &name);
	char after = full[len];

	full[len] = 0;
	put_text(full);
	full[len] = after;
	putchar(':');
	put_text(name);
}

static void put_session(const struct espy_agent_link *l, unsigned slot, const struct espy_agent_session *s,
			const struct espy_agent_ring_state *before, uint64_t ns)
{
	struct espy_agent_ring_state r;
	int err = espy_agent__ring_state(l, slot, &r);

	printf("session %u: ", slot);
	if (s->holder)
		printf("espy %d", (int)s->holder);
	else
		fputs("nobody holds it", stdout);
	printf(", %u rule%s", s->rules, s->rules == 1 ? "" : "s");
	if (err) {
		printf(", its ring cannot be read: %s\n", strerror(-err));
		return;
	}
	/* Pieces that were begun tell how much is written, to a piece for each thread. */
	const double rate =
		ns && r.begun >= before->begun ? (double)(r.begun - before->begun) * r.chunk_sz * 1e9 / (double)ns : 0;

	printf(", ring %" PRIu64 " kB, %u %% in use, %.1f MB/s\n", (uint64_t)r.chunk_sz * r.chunks / 1024,
	       (unsigned)((uint64_t)r.used * 100 / r.chunks), rate / 1e6);
	printf("  lost: %" PRIu64 " (no room %" PRIu64 ", too large %" PRIu64 ", too many threads %" PRIu64
	       ", early in a child %" PRIu64 ")\n",
	       r.lost_full + r.lost_big + r.lost_thread + r.lost_early, r.lost_full, r.lost_big, r.lost_thread,
	       r.lost_early);
}

static int show_stats(const struct mark_args *a, pid_t pid)
{
	struct espy_agent_session sessions[ESPY_AGENT_SESSIONS];
	struct espy_agent_ring_state before[ESPY_AGENT_SESSIONS] = { 0 };
	struct espy_agent_info info;
	struct espy_agent_link l;
	char why[320];
	int err = espy_agent__attach(&l, pid, why, sizeof(why));

	if (err) {
		espy_cli__say(a->cli, "process %d: %s", (int)pid,
			      why[0]	       ? why
			      : err == -ENOENT ? "there is no agent in it (espy trace -m loads it)"
					       : strerror(-err));
		return 1;
	}
	struct espy_agent_def_copy *d = malloc(sizeof(*d));
	const struct timespec nap = { .tv_nsec = SAMPLE_NS };
	bool any = false;

	espy_agent__info(&l, &info);
	espy_agent__sessions(&l, sessions);
	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++)
		if (sessions[i].open) {
			any = true;
			espy_agent__ring_state(&l, i, &before[i]);
		}
	if (any)
		nanosleep(&nap, NULL);
	fputs("agent ", stdout);
	put_text(info.version);
	printf(", clock %s; %u object%s with marks, %u mark%s in %u place%s, %u place%s refused, %u thread%s\n",
	       info.clock ? "CLOCK_MONOTONIC" : "TSC", info.objects, info.objects == 1 ? "" : "s", info.defs,
	       info.defs == 1 ? "" : "s", info.sites, info.sites == 1 ? "" : "s", info.refused,
	       info.refused == 1 ? "" : "s", info.threads, info.threads == 1 ? "" : "s");
	if (info.overflow)
		printf("%u marks, places or texts found no room in the agent's tables\n", info.overflow);
	for (unsigned i = 0; i < ESPY_AGENT_SESSIONS; i++)
		if (sessions[i].open)
			put_session(&l, i, &sessions[i], &before[i], (uint64_t)SAMPLE_NS);
	for (uint32_t i = 0; d && i < info.defs; i++) {
		if (!espy_agent__def(&l, i, d) || !d->sites_on)
			continue;
		fputs("on: ", stdout);
		put_name(d->name);
		printf(" in %u place%s, for", d->sites_on, d->sites_on == 1 ? "" : "s");
		for (unsigned k = 0; k < ESPY_AGENT_SESSIONS; k++)
			if (d->sessions >> k & 1)
				printf(" session %u", k);
		if (d->sessions >> 30 & 1)
			fputs(" other tools", stdout);
		puts(d->sessions >> 31 ? " callbacks" : "");
	}
	free(d);
	espy_agent__detach(&l);
	return 0;
}

int espy_cmd_mark(const struct espy_cli *cli, int argc, char **argv)
{
	struct mark_args a = { .cli = cli };
	int first;
	char *end;

	if (espy_opts__parse(cli, espy_mark_groups, 1, &a, argc, argv, &first))
		return 1;
	if (a.help) {
		help();
		return 0;
	}
	if (!a.stats || !argv[first] || argv[first + 1]) {
		espy_cli__usage(cli, a.stats ? "--stats wants one process number"
					     : "what is to be done is missing: --stats");
		return 1;
	}
	long pid = strtol(argv[first], &end, 10);
	if (*end || end == argv[first] || pid <= 0 || pid > INT_MAX) {
		espy_cli__usage(cli, "invalid process number '%s'", argv[first]);
		return 1;
	}
	return show_stats(&a, (pid_t)pid);
}
