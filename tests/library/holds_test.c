/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * espy_pause and espy_resume: a task that runs in user space stands still, neither stopped nor signalled; holds are counted by task and
 * session; a lease runs out; several processes hold one task, and the death of one releases its hold alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <espy/espy.h>
#include "../wait.h"

/* Longer than the test. */
#define LEASE_NS UINT64_C(600000000000)

/* The watched process counts, and makes no call. */
static atomic_ulong *counter;
static pid_t counting;

static char said[256];
static void log_line(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)ctx;
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		snprintf(said, sizeof(said), "%s", text);
}

static atomic_uint pauses;
static _Atomic uint64_t paused_ns;
static void on_event(void *ctx, const struct espy_event *e)
{
	uint64_t ns = 0;

	(void)ctx;
	if (espy_event_type(e) == ESPY_EVENT_PAUSE && !espy_event_duration(e, &ns)) {
		atomic_store(&paused_ns, ns);
		atomic_fetch_add(&pauses, 1);
	}
}

/* 0 or why there is none. */
static int open_session(struct espy_session **s)
{
	const struct espy_session_options so = { .size = sizeof(so), .pids = &counting, .pid_count = 1, .source = "bpf", .can_pause = true,
						 .log = log_line };
	const struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_PAUSE, .event = on_event };
	int err = espy_session_open(s, &so);

	err = err ? err : espy_engine_add(*s, &eo, NULL);
	err = err ? err : espy_session_start(*s);
	if (err)
		espy_session_close(*s);
	return err;
}

static void *run(void *ctx)
{
	espy_session_run(ctx);
	return NULL;
}

/* A machine that is busy may keep espy from holding anyone for some time. */
static int pause_task(struct espy_session *s, uint64_t lease_ns)
{
	int err;

	WAIT_UNTIL((err = espy_pause(s, counting, lease_ns)) != -EAGAIN);
	return err;
}

static bool runs_on(void)
{
	const unsigned long from = atomic_load(counter);

	return WAIT_UNTIL(atomic_load(counter) != from);
}

static char state_of(pid_t pid)
{
	char path[64], state = '?';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

#define HOLD_BEGINS_MS 3000

/*
 * It counts no more. It makes no call, so it never sleeps by itself: where it does, again and again, it is held, and has not merely
 * to wait for a processor. (It is awake now and then: a hold goes from one program to the next.)
 */
static bool stands_still(void)
{
	const uint64_t begun = wait_now_ms();
	unsigned asleep = 0;

	/* A hold that has ended before one could look is not waited for: callers try again. */
	WAIT_UNTIL((asleep += state_of(counting) != 'R') || wait_now_ms() - begun > HOLD_BEGINS_MS);
	if (!asleep)
		return false;
	const unsigned long from = atomic_load(counter);

	return STAYS_MS((asleep += state_of(counting) != 'R', atomic_load(counter) == from), 200) &&
	       WAIT_UNTIL((asleep += state_of(counting) != 'R') >= 20) && atomic_load(counter) == from;
}

static int count_held(void *ctx, const struct espy_held *held)
{
	unsigned *holds = ctx;

	assert_int_equal(held->task, counting);
	assert_string_equal(held->call, "");
	*holds += held->holds;
	return 0;
}

struct fixture {
	struct espy_session *s;
	pthread_t thread;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (open_session(&f->s) || pthread_create(&f->thread, NULL, run, f->s))
		return -1;
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fixture *f = *state;

	espy_session_stop(f->s);
	pthread_join(f->thread, NULL);
	espy_session_close(f->s);
	free(f);
	return runs_on() ? 0 : -1;
}

/* Two holds stand for one task, and one remains when the other is taken away. */
static bool two_holds_and_one(struct espy_session *s)
{
	unsigned holds = 0;

	assert_int_equal(pause_task(s, LEASE_NS), 0);
	if (!stands_still())
		return false;
	assert_int_not_equal(state_of(counting), 'T');
	assert_int_not_equal(state_of(counting), 't');
	assert_int_equal(pause_task(s, 1000000), 0); /* which does not shorten the lease */
	if (espy_session_held(s, count_held, &holds) != 1 || holds != 2)
		return false;
	return !espy_resume(s, counting) && stands_still() && !espy_resume(s, counting);
}

/* How many times espy may let the task go early. It does so where it did not get to run for a while itself, as it promises. */
#define EARLY_MAX 4u

static void holds_are_counted(void **state)
{
	struct espy_session *s = ((struct fixture *)*state)->s;
	const unsigned before = atomic_load(&pauses);
	unsigned early = 0;

	assert_true(runs_on());
	while (!two_holds_and_one(s)) {
		assert_true(++early < EARLY_MAX);
		while (!espy_resume(s, counting))
			;
		assert_true(runs_on());
	}
	assert_true(runs_on());
	/* Every hold is one event, also the one that ended early. */
	WAIT_UNTIL(atomic_load(&pauses) - before >= 1 && atomic_load(&paused_ns) > 300000000u);
	assert_in_range(atomic_load(&pauses) - before, 1, 1 + early);
	assert_true(atomic_load(&paused_ns) > 300000000u);
	assert_int_equal(espy_resume(s, counting), -ESRCH);
}

static void a_lease_runs_out(void **state)
{
	struct espy_session *s = ((struct fixture *)*state)->s;

	/*
	 * A lease that has run out before one could look shows nothing: then a longer one. Nor does one that ends early, because its
	 * holder did not get to run for a while and lets the task go, as it must: then another one, a few times.
	 */
	unsigned early = 0;

	for (uint64_t lease_ms = 1000;; lease_ms *= 2) {
		const uint64_t begun = wait_now_ms();

		assert_int_equal(pause_task(s, lease_ms * 1000000), 0);
		assert_int_equal(pause_task(s, lease_ms * 500000), 0);
		const bool still = stands_still(), late = wait_now_ms() - begun >= lease_ms * 9 / 10;

		assert_true(runs_on());
		if (!late && still && wait_now_ms() - begun > lease_ms * 9 / 10)
			break;
		assert_true(late || ++early < EARLY_MAX);
		assert_true(lease_ms < WAIT_LIMIT_MS);
	}
}

static void refusals(void **state)
{
	struct espy_session *s = ((struct fixture *)*state)->s, *other;
	const struct espy_session_options so = { .size = sizeof(so), .pids = &counting, .pid_count = 1 };

	assert_int_equal(espy_pause(s, counting, 0), -EINVAL);
	assert_int_equal(espy_pause(s, -1, LEASE_NS), -EINVAL);
	assert_int_equal(espy_pause(NULL, counting, LEASE_NS), -EINVAL);
	assert_int_equal(espy_pause(s, getpid(), LEASE_NS), -ESRCH); /* not watched */
	assert_int_equal(espy_pause(s, 1, LEASE_NS), -ESRCH);
	assert_int_equal(espy_session_open(&other, &so), 0);
	assert_int_equal(espy_pause(other, counting, LEASE_NS), -EOPNOTSUPP);
	espy_session_close(other);
}

/* Another process with a session of its own, which holds the task from now on for that long. */
static pid_t other_holds(uint64_t lease_ns)
{
	int ready[2];
	char c;

	assert_int_equal(pipe(ready), 0);
	const pid_t other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		char *const argv[] = { "holds", "hold", NULL };
		char pid[16], ns[24];

		snprintf(pid, sizeof(pid), "%d", counting);
		snprintf(ns, sizeof(ns), "%llu", (unsigned long long)lease_ns);
		setenv("COUNTING", pid, 1);
		setenv("LEASE_NS", ns, 1);
		dup2(ready[1], 1);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return other;
}

static void end_other(pid_t other)
{
	kill(other, SIGKILL);
	assert_int_equal(waitpid(other, NULL, 0), other);
}

/* It holds the task, too, until it is killed. */
static void two_processes(void **state)
{
	struct espy_session *s = ((struct fixture *)*state)->s;
	bool still = false;

	/* A holder that does not get to run for a while lets the task go, as it must, at any moment; then the next attempt shows it. */
	for (int attempt = 0; attempt < 5 && !still; attempt++) {
		const pid_t other = other_holds(LEASE_NS);

		assert_int_equal(pause_task(s, LEASE_NS), 0);
		still = stands_still();
		const int err = espy_resume(s, counting);

		assert_true(!err || err == -ESRCH);
		still = still && !err && stands_still(); /* the other one holds it */
		end_other(other);
		assert_true(runs_on());
	}
	assert_true(still);
}

/* The lease of each holder runs out by itself: the task goes on at the end of the last one. */
static void leases_of_two(void **state)
{
	struct espy_session *s = ((struct fixture *)*state)->s;

	/* As above: what was looked at too late shows nothing, nor a holder that did not get to run. */
	unsigned early = 0;

	for (uint64_t lease_ms = 2000;; lease_ms *= 2) {
		const uint64_t begun = wait_now_ms();
		const pid_t other = other_holds(lease_ms * 1000000);

		assert_int_equal(pause_task(s, lease_ms * 100000), 0);
		const uint64_t own_over = wait_now_ms() + lease_ms / 8;

		WAIT_UNTIL(wait_now_ms() > own_over);
		const bool still = stands_still(), late = wait_now_ms() - begun >= lease_ms * 9 / 10;

		assert_true(runs_on());
		const uint64_t took = wait_now_ms() - begun;

		end_other(other);
		if (!late && still && took > lease_ms * 9 / 10)
			break;
		assert_true(late || ++early < EARLY_MAX);
		assert_true(lease_ms < WAIT_LIMIT_MS);
	}
}

/* That process. */
static int hold(void)
{
	struct espy_session *s;
	pthread_t thread;

	counting = atoi(getenv("COUNTING"));
	if (open_session(&s) || pthread_create(&thread, NULL, run, s) || pause_task(s, strtoull(getenv("LEASE_NS"), NULL, 10)) || write(1, "h", 1) != 1)
		return 1;
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(holds_are_counted, begin, end),
		cmocka_unit_test_setup_teardown(a_lease_runs_out, begin, end),
		cmocka_unit_test_setup_teardown(refusals, begin, end),
		cmocka_unit_test_setup_teardown(two_processes, begin, end),
		cmocka_unit_test_setup_teardown(leases_of_two, begin, end),
	};
	struct espy_session *s;
	int failed;

	(void)argv;
	if (argc > 1)
		return hold();
	counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	counting = fork();
	if (!counting) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			atomic_fetch_add(counter, 1);
	}
	if (open_session(&s)) {
		printf("SKIP: tasks cannot be held here: %s\n", said);
		failed = 77;
	} else {
		espy_session_close(s);
		failed = cmocka_run_group_tests(tests, NULL, NULL);
	}
	kill(counting, SIGKILL);
	return failed;
}
