/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lossless mode of the BPF source: who outruns the reader is held, and nothing is lost. Needs the privilege to load BPF
 * programs and Linux 6.18; else it is skipped and says why.
 */
#include "hold_harness.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "small_image.h"
#include "tests/wait.h"

#define MB (1u << 20)

/* How much is written, by ROUNDS: enough to fill the ring several times over. */
static int rounds;
static int blocks;       /* of dd */
static char each[16];    /* calls of each of four writers */

static struct rig *dd(enum espy_lossless lossless, unsigned slow_us)
{
	char count[32], *argv[] = { "dd", "if=/dev/zero", "of=/dev/null", "bs=1", count, "status=none", NULL };
	struct espy_source_opts opts = { .rings.bytes = MB, .hold.lossless = lossless };
	struct rig *r;

	snprintf(count, sizeof(count), "count=%d", blocks);
	r = watch(&opts, "/bin/dd", argv, slow_us, 4096);
	print_message("%d blocks, 1 MB: %llu lost, %llu pauses, %.1f ms in all, %.2f ms at most\n", blocks,
		      (unsigned long long)r->lost, (unsigned long long)r->pauses, (double)r->paused_ns / 1e6,
		      (double)r->longest_ns / 1e6);
	return r;
}

static void lossless_dd(void **state)
{
	struct rig *slow = dd(ESPY_LOSSLESS_AUTO, 2000), *fast = dd(ESPY_LOSSLESS_AUTO, 0);

	(void)state;
	assert_int_equal(slow->lost, 0);
	assert_int_equal(slow->on_fd[0], (uint64_t)blocks);
	assert_int_equal(slow->on_fd[1], (uint64_t)blocks);
	assert_true(slow->pauses > 0);
	assert_int_equal(fast->lost, 0);
	assert_int_equal(fast->on_fd[0], (uint64_t)blocks);
	assert_int_equal(fast->on_fd[1], (uint64_t)blocks);
	assert_int_equal(fast->records, slow->records);
	free_rig(fast);
	/* Without it: seen and lost are what there was. */
	fast = dd(ESPY_LOSSLESS_NEVER, 2000);
	assert_true(fast->lost > 0);
	assert_int_equal(fast->records + fast->lost, slow->records);
	assert_int_equal(fast->pauses, 0);
	free_rig(slow);
	free_rig(fast);
}

/* Four at once; with a ring for each processor each of those has its own mark. */
static uint64_t writers(const struct espy_source_opts *opts, const char *name, const char *calls, unsigned slow_us)
{
	char *argv[] = { "/proc/self/exe", "writers", "4", (char *)calls, NULL };
	struct rig *r = watch(opts, "/proc/self/exe", argv, slow_us, 4096);

	print_message("4 writers of %s, %s, slow reader: %llu lost, %llu pauses, %.1f ms in all, %.2f ms at most\n",
		      calls, name, (unsigned long long)r->lost, (unsigned long long)r->pauses,
		      (double)r->paused_ns / 1e6, (double)r->longest_ns / 1e6);
	assert_int_equal(r->lost, 0);
	assert_int_equal(r->exits[SYS_getpgrp], 4 * strtoull(calls, NULL, 10));
	const uint64_t pauses = r->pauses;

	free_rig(r);
	return pauses;
}

static void lossless_writers(void **state)
{
	(void)state;
	const uint64_t pauses =
		writers(&(struct espy_source_opts){ .rings.bytes = MB, .hold.lossless = ESPY_LOSSLESS_ALWAYS }, "1 MB",
			each, 1000);

	assert_true(pauses > 0);
}

static void lossless_rings(void **state)
{
	(void)state;
	const uint64_t pauses = writers(&(struct espy_source_opts){ .rings.bytes = 2 * MB,
								    .rings.cnt = 2,
								    .hold.lossless = ESPY_LOSSLESS_AUTO },
					"rings", each, 2000);

	assert_true(pauses > 0);
}

static void without_lossless(void **state)
{
	char *argv[] = { "/proc/self/exe", "writers", "4", each, NULL };
	struct rig *all = watch(&(struct espy_source_opts){ .rings.bytes = 256 * MB }, "/proc/self/exe", argv, 0, 1);
	/* It reads nothing until they have filled the ring. */
	struct rig *some = watch(&(struct espy_source_opts){ .rings.bytes = MB }, "/proc/self/exe", argv, 2000, 4096);

	(void)state;
	assert_int_equal(all->lost, 0);
	assert_true(some->lost > 0);
	assert_int_equal(some->records + some->lost, all->records);
	assert_int_equal(some->pauses, 0);
	free_rig(all);
	free_rig(some);
}

/* A task of the subject is asleep for want of room, and stays so for a while. */
static bool stands(struct rig *r, bool limited)
{
	struct espy_source_stats st = { 0 };

	r->s->ops->stats(r->s, &st);
	if (limited)
		return st.cut_pauses > 20;
	return is_outrun(r);
}

/* A reader that reads nothing for a while: what is written meanwhile waits, whoever writes sleeps. */
static void reader_stands_still(void **state)
{
	char *argv[] = { "/proc/self/exe", "writers", "4", "20000", NULL };
	struct espy_source_opts opts = { .rings.bytes = MB, .hold.lossless = ESPY_LOSSLESS_AUTO };

	(void)state;
	/* Until there is room, then for 20 ms at a time: what comes in between finds room. */
	for (int limited = 0; limited < 2; limited++) {
		struct rig *r = make_rig();

		opts.hold.max_ns = limited ? 20000000 : 0;
		open_source(r, &opts);
		start_subject(r, "/proc/self/exe", argv);
		assert_true(WAIT_UNTIL(stands(r, limited)));
		if (!limited)
			wait_moment_us(600000); /* sleeps: a reader that reads nothing; the hold lasts at least as long */
		do
			r->end = r->s->ops->poll(r->s, take, r, 1000);
		while (r->end >= 0 || r->end == -EINTR);
		print_message("a reader that sleeps, %s: %llu pauses, %.2f ms at most\n",
			      limited ? "20 ms" : "no limit", (unsigned long long)r->pauses,
			      (double)r->longest_ns / 1e6);
		assert_int_equal(r->end, -ESRCH);
		assert_int_equal(r->lost, 0);
		assert_int_equal(r->exits[SYS_getpgrp], 80000);
		if (limited)
			assert_true(r->pauses > 20);
		else
			assert_true(r->longest_ns >= 500000000);
		free_rig(r);
	}
}

/* In the default ring it is made ready only when it is needed, and in time. */
static void made_ready_late(void **state)
{
	(void)state;
	if (!writers(&(struct espy_source_opts){ .hold.lossless = ESPY_LOSSLESS_AUTO }, "default ring", getenv("ROUNDS") ? "300000" : "100000", 8000))
		print_message(
			"the writers did not get so many CPUs that they outran the reader: nobody had to be held\n");
}

static unsigned children(void)
{
	unsigned cnt = 0;
	int pid;
	DIR *tasks = opendir("/proc/self/task");

	assert_non_null(tasks);
	for (struct dirent *d; (d = readdir(tasks));) {
		char path[300];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/children", d->d_name);
		f = d->d_name[0] == '.' ? NULL : fopen(path, "re");
		while (f && fscanf(f, "%d", &pid) == 1)
			cnt++;
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return cnt;
}

static int poll_once(struct rig *r)
{
	return r->s->ops->poll(r->s, take, r, 1);
}

/* A session that has let go of its command before that (its output is full, say) makes nothing ready any more. */
static void not_made_ready_after_the_end(void **state)
{
	char *argv[] = { "/bin/sleep", "60", NULL }; /* sleeps: a program that is watched */
	struct rig *r = make_rig();

	(void)state;
	open_source(r, &(struct espy_source_opts){ .hold.lossless = ESPY_LOSSLESS_AUTO });
	start_subject(r, "/bin/sleep", argv);
	const unsigned before = children();

	assert_int_equal(r->s->ops->remove_target(r->s, 0), 0);
	/* It would be made ready at a look that comes 10 ms after the begin; a helper process is a part of it. */
	assert_true(STAYS_MS(poll_once(r) != -EIO && children() == before, 300));
	kill(r->pid, SIGKILL);
	assert_int_equal(waitpid(r->pid, NULL, 0), r->pid);
	free_rig(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		HOLD_TEST(lossless_dd),		  HOLD_TEST(lossless_writers),	  HOLD_TEST(lossless_rings),
		HOLD_TEST(without_lossless),	  HOLD_TEST(reader_stands_still), HOLD_TEST(made_ready_late),
		HOLD_TEST(not_made_ready_after_the_end),
	};
	char why[256];
	int err = run_subject(argc, argv), failed = 0;

	if (err >= 0)
		return err;
	if (espy_source_bpf.probe(why, sizeof(why)) || espy_source_bpf.probe_lossless(why, sizeof(why))) {
		printf("SKIP: %s\n", why);
		return 77;
	}
	small_image__make(&image, 32);
	rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 6;
	blocks = 20000 * rounds;
	snprintf(each, sizeof(each), "%d", 2000 * rounds);
	if (argc == 2) /* the name of one */
		cmocka_set_test_filter(argv[1]);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		failed += run_again_if_starved(&tests[i]);
	return failed;
}
