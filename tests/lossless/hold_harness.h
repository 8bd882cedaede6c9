/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of holding tasks share: a source with a subject under it, and what it delivers. */
#ifndef ESPY_TESTS_LOSSLESS_HOLD_HARNESS_H
#define ESPY_TESTS_LOSSLESS_HOLD_HARNESS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <sys/types.h>
#include "source/source.h"
#include "hold_subjects.h"

extern struct espy_image image; /* to be made by who has a main() */
extern const struct espy_trigger on_getpgrp;

/* A source, a subject, and what came. */
struct rig {
	struct espy_source *s;
	struct espy_call_set set;
	char file[64];
	struct progress *progress;
	pid_t pid;
	uint64_t records, exits[512], on_fd[2], lost, pauses, asked_pauses, paused_ns, longest_ns;
	unsigned slow_us, slow_every;
	bool outran; /* the slow reader has stood still until it was outrun */
	unsigned warnings;
	char warning[256];
	int end; /* what poll returned last */
};

void open_source(struct rig *r, const struct espy_source_opts *with);
void start_subject(struct rig *r, const char *path, char **argv);
int take(void *ctx, const struct espy_rec *rec);
struct rig *make_rig(void); /* with nothing in it */
/* The counting subject, held at each of its calls. */
struct rig *new_rig(long calls);
/* True if the kernel keeps the task asleep for espy; between two rounds it is elsewhere for a moment. */
bool sleeps_held(pid_t tid);
bool is_outrun(struct rig *r); /* one of the subject's tasks is held, or something is lost */
bool is_held(struct rig *r, pid_t *tid);
bool comes_to_be_held(struct rig *r, pid_t *tid); /* false: it has ended, or the wait has */
pid_t wait_held(struct rig *r);			  /* the same, or the test fails */
void let_go(struct rig *r, pid_t tid);
/* Lets it run to its end, which it reaches within the time that tests wait. */
void run_out(struct rig *r);
/*
 * From its beginning to its end, with a reader that sleeps slow_us at every slow_every-th record. With a ring of a given size the first
 * time lasts until the subject outruns it, however slow that is: until a task is held, or something is lost.
 */
struct rig *watch(const struct espy_source_opts *opts, const char *path, char **argv, unsigned slow_us,
		  unsigned slow_every);
void free_rig(struct rig *r);
/* A test that run_again_if_starved runs. */
#define HOLD_TEST(f) cmocka_unit_test_teardown(f, end_rigs)
/* A teardown: ends the rigs that a test that failed has left. */
int end_rigs(void **state);
/*
 * Runs a test, and runs it again if it fails and espy says that it did not get to run for a while: then it lets tasks go that it holds, as it
 * promises. Returns how many tests failed.
 */
int run_again_if_starved(const struct CMUnitTest *test);

#endif
