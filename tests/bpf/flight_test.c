/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder, and rings per CPU where they differ from one ring: programs make numbered calls, and what is
 * delivered must be the newest of them without a gap; what was overwritten and lost must be all the rest.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "programs.h"
#include "small_image.h"
#include "tests/wait.h"

static struct espy_image image;

/* What one run or one snapshot has delivered. */
struct seen {
	uint64_t events, hanging, lost_records, bad, out_of_order, ignored, forks, task_exits, last_ns;
	uint64_t whole_since_ns;
	uint64_t begins, missing, last_begin_ns; /* where the records of a CPU begin, and what is missing before */
	struct {
		uint64_t cnt, gaps; /* gaps: among those that are not older than whole_since_ns */
		uint64_t last_ns;
		uint32_t last;
	} writer[WRITERS + 1];
};

static struct espy_source *open_source(const struct espy_source_opts *with)
{
	struct espy_source_opts opts = *with;
	struct espy_call_set set;
	struct espy_source *s;

	opts.follow = true;
	small_image__want_all(&set, &image);
	assert_int_equal(espy_source_bpf.open(&s, &opts), 0);
	assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X86_64, &set), 0);
	return s;
}

static pid_t start(struct espy_source *s, const char *program)
{
	char *argv[] = { "/proc/self/exe", (char *)program, NULL }, *envp[] = { program_rounds_word(), NULL };
	struct espy_command cmd = { .path = "/proc/self/exe", .argv = argv, .envp = envp };
	pid_t pid;

	assert_int_equal(s->ops->start_command(s, &cmd, &pid), 0);
	return pid;
}

static void take_numbered(struct seen *seen, const struct espy_rec *rec)
{
	uint64_t arg;
	unsigned w, i;

	memcpy(&arg, (const uint8_t *)rec + sizeof(struct espy_rec_call), sizeof(arg));
	if (arg < NUMBERED + NUMBERED_STEP)
		return;
	w = (unsigned)(arg - NUMBERED) / NUMBERED_STEP;
	i = (unsigned)(arg - NUMBERED) % NUMBERED_STEP;
	if (w > WRITERS || i >= NUMBERED_EACH) {
		seen->bad++;
		return;
	}
	if (seen->writer[w].cnt && seen->writer[w].last_ns >= seen->whole_since_ns &&
	    i != (seen->writer[w].last + 1) % NUMBERED_EACH)
		seen->writer[w].gaps++;
	seen->writer[w].last_ns = rec->time_ns;
	seen->writer[w].cnt++;
	seen->writer[w].last = i;
}

static int take(void *ctx, const struct espy_rec *rec)
{
	struct seen *seen = ctx;

	if (rec->size % 8 || rec->size < sizeof(*rec) || !rec->time_ns)
		seen->bad++;
	/* A record that an interrupt has delayed has a later time than that of the interrupt, which follows it. */
	if (!(rec->type == ESPY_REC_SIGNAL && rec->flags & ESPY_SIG_IGNORED)) {
		if (rec->time_ns < seen->last_ns)
			seen->out_of_order++;
		seen->last_ns = rec->time_ns;
	}
	if (rec->type == ESPY_REC_LOST)
		seen->lost_records++;
	else
		seen->events++;
	switch (rec->type) {
	case ESPY_REC_EXIT:
		if (rec->nr == SYS_close)
			take_numbered(seen, rec);
		break;
	case ESPY_REC_FORK:
		seen->forks++;
		break;
	case ESPY_REC_TASK_EXIT:
		seen->task_exits++;
		break;
	case ESPY_REC_SIGNAL:
		seen->ignored += rec->flags & ESPY_SIG_IGNORED;
		break;
	case ESPY_REC_ENTER:
		seen->hanging++;
		break;
	case ESPY_REC_LOST:
		if (rec->nr == ESPY_LOST_OVERWRITTEN) {
			seen->begins++;
			seen->missing += ((const struct espy_rec_lost *)rec)->count;
			seen->last_begin_ns = rec->time_ns;
		}
		break;
	case ESPY_REC_EXEC:
		break;
	default:
		seen->bad++;
	}
	return 0;
}

/* Runs a program and reads everything as it comes. */
static struct espy_source_stats run_reading(const char *program, struct seen *seen)
{
	struct espy_source *s = open_source(&(struct espy_source_opts){ .rings.cnt = 2, .rings.bytes = 256u << 20 });
	struct espy_source_stats st;
	int err, status;

	start(s, program);
	while ((err = s->ops->poll(s, take, seen, (int)WAIT_LIMIT_MS)) > 0 || err == -EINTR)
		;
	assert_int_equal(err, -ESRCH);
	assert_int_equal(s->ops->command_status(s, &status), 0);
	s->ops->stats(s, &st);
	s->ops->close(s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
	return st;
}

static void nothing_is_lost(const struct espy_source_stats *st)
{
	for (size_t i = 0; i < ESPY_LOST_REASONS; i++) {
		if (st->lost[i])
			print_error("%llu lost, reason %zu\n", (unsigned long long)st->lost[i], i);
		assert_int_equal(st->lost[i], 0);
	}
}

/* Runs a program to its end under a flight recorder, and takes a snapshot then. */
static struct espy_source_stats run_flight(const char *program, size_t bytes, struct seen *seen)
{
	struct espy_source *s = open_source(&(struct espy_source_opts){ .rings.flight_bytes = bytes });
	struct espy_source_stats st;
	struct seen before = { 0 };
	int n;

	start(s, program);
	while ((n = s->ops->poll(s, take, &before, (int)WAIT_LIMIT_MS)) == -EINTR)
		;
	assert_int_equal(n, -ESRCH);
	assert_int_equal(before.events, 0);
	/* Twice: what is whole is known after the first. */
	assert_true(s->ops->snapshot(s, take, &before) > 0);
	s->ops->stats(s, &st);
	seen->whole_since_ns = st.whole_since_ns;
	n = s->ops->snapshot(s, take, seen);
	assert_int_equal(n, seen->events + seen->lost_records);
	assert_int_equal(seen->events, before.events);
	s->ops->stats(s, &st);
	assert_int_equal(st.records, seen->events);
	s->ops->close(s);
	assert_int_equal(seen->bad, 0);
	assert_int_equal(seen->out_of_order, 0);
	/* Where the records of each CPU begin is said there; behind the last of these places nothing is missing. */
	assert_int_equal(seen->missing, st.overwritten);
	assert_int_equal(seen->last_begin_ns, st.whole_since_ns);
	assert_int_equal(seen->begins > 0, st.overwritten > 0);
	return st;
}

static void newest_are_kept(void **state)
{
	struct seen all = { 0 }, some = { 0 };
	struct espy_source_stats st;

	(void)state;
	st = run_reading("numbered", &all);
	nothing_is_lost(&st);
	assert_int_equal(all.writer[1].cnt, NUMBERED_EACH);
	assert_int_equal(all.writer[1].gaps, 0);
	st = run_flight("numbered", 1u << 20, &some);
	nothing_is_lost(&st);
	assert_true(st.overwritten > 0);
	assert_true(st.wakeups <= 1); /* for the end */
	assert_int_equal(some.events + st.overwritten, all.events);
	assert_true(some.writer[1].cnt > 1000);
	assert_int_equal(some.writer[1].gaps, 0);
	assert_int_equal(some.writer[1].last, NUMBERED_EACH - 1);
	assert_int_equal(some.task_exits, 1);
}

static void nothing_is_overwritten_before_it_must(void **state)
{
	struct seen some = { 0 };
	struct espy_source_stats st;

	(void)state;
	st = run_flight("numbered", (size_t)sysconf(_SC_NPROCESSORS_CONF) * (32u << 20), &some);
	assert_int_equal(st.overwritten, 0);
	assert_int_equal(st.whole_since_ns, 0);
	assert_int_equal(some.writer[1].cnt, NUMBERED_EACH);
	assert_int_equal(some.writer[1].gaps, 0);
}

static void four_writers(void **state)
{
	struct seen all = { 0 }, some = { 0 };
	struct espy_source_stats st;

	(void)state;
	st = run_reading("writers", &all);
	nothing_is_lost(&st);
	assert_int_equal(all.forks, WRITERS);
	assert_int_equal(all.bad, 0);
	assert_int_equal(all.out_of_order, 0);
	st = run_flight("writers", 1u << 20, &some);
	nothing_is_lost(&st);
	assert_int_equal(some.events + st.overwritten, all.events);
	for (int w = 1; w <= WRITERS; w++) {
		assert_int_equal(all.writer[w].cnt, NUMBERED_EACH);
		assert_int_equal(all.writer[w].gaps, 0);
		assert_int_equal(some.writer[w].gaps, 0);
		if (some.writer[w].cnt && some.writer[w].last_ns >= some.whole_since_ns)
			assert_int_equal(some.writer[w].last, NUMBERED_EACH - 1);
	}
}

/* Records that begin while another is being written, on the same CPU. */
static void interrupts(void **state)
{
	struct seen all = { 0 }, some = { 0 };
	struct espy_source_stats st;

	(void)state;
	st = run_reading("interrupted", &all);
	nothing_is_lost(&st);
	assert_true(all.ignored > 10);
	assert_int_equal(all.bad, 0);
	for (int w = 1; w <= WRITERS; w++) {
		assert_int_equal(all.writer[w].cnt, NUMBERED_EACH);
		assert_int_equal(all.writer[w].gaps, 0);
	}
	/* Each CPU has its share, and one may have to keep it all. */
	st = run_flight("interrupted", (size_t)sysconf(_SC_NPROCESSORS_CONF) * (32u << 20), &some);
	assert_int_equal(st.overwritten, 0);
	assert_true(some.ignored > 10);
	for (int w = 1; w <= WRITERS; w++) {
		assert_int_equal(some.writer[w].cnt, NUMBERED_EACH);
		assert_int_equal(some.writer[w].gaps, 0);
	}
	memset(&some, 0, sizeof(some));
	run_flight("interrupted", 1u << 20, &some);
	assert_int_equal(some.writer[WRITERS].gaps, 0);
	assert_int_equal(some.writer[WRITERS].last, NUMBERED_EACH - 1);
}

/*
 * How many there were. Snapshots while the program runs, one after the other: each is in order, what a writer does has no gap from one to the
 * next nor in it, and all adds up in the end. Nothing is lost for being read.
 */
static unsigned snapshots(size_t bytes)
{
	struct espy_source *s = open_source(&(struct espy_source_opts){ .rings.flight_bytes = bytes });
	struct seen all = { 0 }, last = { 0 };
	struct espy_source_stats st;
	unsigned cnt = 0;
	int err = 0;

	run_reading("writers", &all);
	start(s, "writers");
	while (err != -ESRCH) {
		struct seen one = { 0 };

		err = s->ops->poll(s, take, &one, 0);
		assert_int_equal(one.events, 0);
		s->ops->stats(s, &st);
		one.whole_since_ns = ~0ull; /* not known before */
		assert_true(s->ops->snapshot(s, take, &one) >= 0);
		cnt++;
		assert_int_equal(one.bad, 0);
		assert_int_equal(one.out_of_order, 0);
		s->ops->stats(s, &st);
		/* The same once more, now that it is known from when on nothing is missing. */
		memset(&last, 0, sizeof(last));
		last.whole_since_ns = st.whole_since_ns;
		assert_true(s->ops->snapshot(s, take, &last) >= 0);
		assert_int_equal(last.bad, 0);
		assert_int_equal(last.out_of_order, 0);
		/* Before that a CPU that the writer has left may still hold what another has overwritten. */
		s->ops->stats(s, &st);
		for (int w = 1; w <= WRITERS; w++)
			if (one.writer[w].cnt && one.writer[w].last_ns >= st.whole_since_ns)
				assert_true(last.writer[w].last_ns >= one.writer[w].last_ns);
	}
	s->ops->stats(s, &st);
	s->ops->close(s);
	print_message("%u pairs of snapshots, %llu events, %llu of them overwritten before any of them\n", cnt,
		      (unsigned long long)all.events, (unsigned long long)st.overwritten);
	for (int w = 1; w <= WRITERS; w++)
		assert_int_equal(last.writer[w].gaps, 0);
	nothing_is_lost(&st);
	assert_int_equal(st.records + st.overwritten, all.events);
	return cnt;
}

/* Now and then the program ends before this process comes to look: that shows nothing. */
static void some_snapshots(size_t bytes)
{
	unsigned cnt = 0;

	for (int attempt = 0; cnt <= 1 && attempt < 20; attempt++)
		cnt = snapshots(bytes);
	assert_true(cnt > 1);
}

static void snapshots_while_it_runs(void **state)
{
	(void)state;
	some_snapshots(8u << 20);
}

/* Writers overtake the reader. */
static void snapshots_of_a_small_ring(void **state)
{
	(void)state;
	some_snapshots(1);
}

/* One more look, which delivers nothing, and one more snapshot: does it show a call that hangs? */
static bool shows_a_hang(struct espy_source *s, struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(s->ops->poll(s, take, seen, 100), 0);
	assert_int_equal(seen->events, 0);
	assert_true(s->ops->snapshot(s, take, seen) > 0);
	return seen->hanging > 0;
}

/* A program that hangs: each snapshot shows the call, once it has hung for long enough. */
static void hanging_call(void **state)
{
	struct espy_source *s =
		open_source(&(struct espy_source_opts){ .rings.flight_bytes = 1u << 20, .hang_ms = 200 });
	struct seen one = { 0 }, two = { 0 };
	int status;
	pid_t pid;

	(void)state;
	pid = start(s, "hang");
	assert_true(WAIT_UNTIL(program_sleeps_in(pid, 1, SYS_read)));
	assert_true(WAIT_UNTIL(shows_a_hang(s, &one)));
	assert_true(s->ops->snapshot(s, take, &two) > 0);
	assert_int_equal(one.hanging, 1);
	assert_int_equal(two.hanging, 1);
	kill(pid, SIGKILL);
	assert_int_equal(s->ops->poll(s, take, &one, (int)WAIT_LIMIT_MS), -ESRCH);
	assert_int_equal(s->ops->command_status(s, &status), 0);
	assert_true(WIFSIGNALED(status));
	s->ops->close(s);
}

/* What a process has computed, in hundredths of a second. */
static unsigned long ticks_of(pid_t pid)
{
	unsigned long user = 0, kernel = 0;
	char path[64], line[512], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "r");

	if (f && fgets(line, sizeof(line), f) && (at = strrchr(line, ')')) &&
	    sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
		user = kernel = 0;
	if (f)
		fclose(f);
	return user + kernel;
}

/* The recorder is killed: the program runs on and notices nothing. */
static void killed_recorder(void **state)
{
	struct espy_target target = { .kind = ESPY_TARGET_PID };
	int go[2], ready[2], status;
	pid_t pid, recorder;
	char c;

	(void)state;
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		dup2(go[0], STDIN_FILENO);
		close(go[0]);
		close(go[1]);
		close(ready[0]);
		close(ready[1]);
		execl("/proc/self/exe", "/proc/self/exe", "until_told", NULL);
		_exit(1);
	}
	assert_true(WAIT_UNTIL(ticks_of(pid) > 0)); /* it is at its calls */
	recorder = fork();
	if (!recorder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		struct espy_source *s = open_source(&(struct espy_source_opts){ .rings.flight_bytes = 1u << 20 });

		target.pid = pid;
		if (!s->ops->add_target(s, &target) && write(ready[1], "r", 1) == 1)
			s->ops->poll(s, take, NULL, -1);
		_exit(1);
	}
	close(go[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	/* The program makes calls, with a recorder and without. */
	unsigned long from = ticks_of(pid);

	assert_true(WAIT_UNTIL(ticks_of(pid) >= from + 5));
	kill(recorder, SIGKILL);
	assert_int_equal(waitpid(recorder, &status, 0), recorder);
	assert_true(WIFSIGNALED(status));
	from = ticks_of(pid);
	assert_true(WAIT_UNTIL(ticks_of(pid) >= from + 5));
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	close(go[1]);
	close(ready[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_are_kept),
		cmocka_unit_test(nothing_is_overwritten_before_it_must),
		cmocka_unit_test(four_writers),
		cmocka_unit_test(interrupts),
		cmocka_unit_test(snapshots_while_it_runs),
		cmocka_unit_test(snapshots_of_a_small_ring),
		cmocka_unit_test(hanging_call),
		cmocka_unit_test(killed_recorder),
	};
	char why[256];

	if (argc > 1)
		_exit(run_program(argv[1], argc, argv)); /* what a sanitizer does at an exit is not to be seen */
	if (espy_source_bpf.probe(why, sizeof(why))) {
		printf("skipped: %s\n", why);
		return 77;
	}
	small_image__make(&image, 32);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
