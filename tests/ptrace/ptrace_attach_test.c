/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attaching and letting go, asked for or not: whatever happens to the tracer, the traced go on unharmed. */
#include "ptrace_harness.h"
#include "source/ptrace/ptrace_source.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How often each thread of a crowd wakes up: 50 threads that do so each millisecond take the processor for themselves. */
static int beat_ms(void)
{
	return getenv("ROUNDS") ? 1 : 10;
}

static void wait_for_ticks(struct trace *t, int more)
{
	int was[SUBJECT_THREADS], i;

	for (i = 0; i < SUBJECT_THREADS; i++)
		was[i] = t->truth->ticks[i];
	for (i = 0; i < SUBJECT_THREADS; i++)
		if (!WAIT_UNTIL(t->truth->ticks[i] >= was[i] + more))
			fail_msg("thread %d stands still at %d ticks", i, t->truth->ticks[i]);
}

static void end_crowd(struct trace *t, pid_t pid)
{
	int status;

	t->truth->quit = 1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void attach(struct trace *t, pid_t pid, const struct espy_source_opts *o)
{
	struct espy_target target = { .kind = ESPY_TARGET_PID, .pid = pid };

	assert_int_equal(t->ops->open(&t->s, o), 0);
	assert_int_equal(t->ops->add_target(t->s, &target), 0);
}

/* Attach to 50 threads, let go, again and again; no signal is lost on the way, no thread left behind. */
static void test_attach_and_detach(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	pid_t pid = harness_launch(t, "crowd", beat_ms());
	const int rounds = getenv("ROUNDS") ? 6 : 2;
	int round, sent = 0;

	for (round = 0; round < rounds; round++) {
		attach(t, pid, &o);
		for (int i = 0; i < 10; i++) {
			harness_poll_for(t, 10);
			if (!sigqueue(pid, SIGRTMIN, (union sigval){ 0 }))
				sent++;
		}
		assert_true(harness_is_traced(pid));
		harness_poll_until(t, ESPY_REC_EXIT, SYS_clock_nanosleep, 1);
		sigqueue(pid, SIGRTMIN, (union sigval){ 0 });
		sent++;
		if (round % 2) {
			assert_int_equal(t->ops->remove_target(t->s, 0), 0);
			sigqueue(pid, SIGRTMIN, (union sigval){ 0 });
			sent++;
			harness_poll_to_end(t);
			assert_int_equal(harness_count(t, ESPY_REC_DETACHED, -1, 0), SUBJECT_THREADS);
		}
		t->ops->close(t->s);
		t->s = NULL;
		t->cnt = 0;
		assert_false(harness_is_traced(pid));
		wait_for_ticks(t, 3);
	}
	WAIT_UNTIL(t->truth->signals >= sent);
	assert_int_equal(t->truth->signals, sent);
	end_crowd(t, pid);
}

/* In a state, all threads of it? */
static bool all_are(pid_t pid, char state)
{
	char path[40];
	bool all = true;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));)
		if (atoi(e->d_name) > 0) {
			all &= harness_state_of(atoi(e->d_name)) == state;
			n++;
		}
	if (d)
		closedir(d);
	return all && n > 0;
}

static int all_ticks(const struct trace *t)
{
	int sum = 0;

	for (int i = 0; i < SUBJECT_THREADS; i++)
		sum += t->truth->ticks[i];
	return sum;
}

static void test_attach_stopped(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	pid_t pid = harness_launch(t, "crowd", beat_ms());
	int ticks;

	kill(pid, SIGSTOP);
	assert_true(WAIT_UNTIL(all_are(pid, 'T')));
	ticks = all_ticks(t);
	attach(t, pid, &o);
	harness_poll_until(t, ESPY_REC_STOPPED, SIGSTOP, SUBJECT_THREADS);
	assert_int_equal(harness_count(t, ESPY_REC_STOPPED, SIGSTOP, 0), SUBJECT_THREADS);
	t->ops->close(t->s);
	t->s = NULL;
	/* As it was found: who is stopped does nothing; and none has run in between. */
	assert_true(WAIT_UNTIL(all_are(pid, 'T')));
	assert_true(STAYS_MS(all_are(pid, 'T') && all_ticks(t) == ticks, 100));
	kill(pid, SIGCONT);
	wait_for_ticks(t, 3);
	end_crowd(t, pid);
}

static void test_single_task(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	pid_t pid = harness_launch(t, "crowd", beat_ms());
	struct espy_target target = { .kind = ESPY_TARGET_PID, .pid = pid, .single_task = true };
	size_t i;

	o.follow = false;
	assert_int_equal(t->ops->open(&t->s, &o), 0);
	assert_int_equal(t->ops->add_target(t->s, &target), 0);
	harness_poll_until(t, ESPY_REC_EXIT, SYS_clock_nanosleep, 3);
	for (i = 0; i < t->cnt; i++)
		assert_int_equal(t->rec[i].tid, pid);
	t->ops->close(t->s);
	t->s = NULL;
	end_crowd(t, pid);
}

/* Let go from inside of the receiver, in a call that sleeps: the call goes on and is not disturbed. */
static void test_detach_in_a_call(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	pid_t pid = harness_launch(t, "blocked_read", 0);
	int status;

	o.follow = false;
	attach(t, pid, &o);
	t->let_go_of = pid;
	t->let_go_nr = SYS_read;
	harness_poll_to_end(t);
	assert_int_equal(harness_count(t, ESPY_REC_DETACHED, -1, 0), 1);
	assert_false(harness_is_traced(pid));
	/* Again, and now it sleeps in the call when it is let go of. */
	t->let_go_of = 0;
	t->ops->close(t->s);
	t->cnt = 0;
	attach(t, pid, &o);
	harness_poll_until(t, ESPY_REC_ENTER, SYS_read, 1);
	assert_true(WAIT_UNTIL((harness_poll_for(t, 1), harness_sleeps_in(pid, SYS_read))));
	assert_int_equal(t->ops->remove_target(t->s, pid), 0);
	harness_poll_to_end(t);
	assert_false(harness_is_traced(pid));
	t->truth->quit = 1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_tracer_killed(void **state)
{
	struct trace *t = *state;
	pid_t pid = harness_launch(t, "crowd", beat_ms()), tracer;
	const int rounds = getenv("ROUNDS") ? 5 : 3;
	int round;

	for (round = 0; round < rounds; round++) {
		atomic_int *going = &t->truth->pids[round];

		tracer = fork();
		if (!tracer) {
			struct espy_source_opts o = harness_usual(t);

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			attach(t, pid, &o);
			for (;;) {
				harness_poll_for(t, 5);
				*going = 1;
			}
		}
		assert_true(WAIT_UNTIL(*going));
		wait_moment_us((uint64_t)(3000 + round * 700)); /* sleeps: a moment of chance */
		assert_true(harness_is_traced(pid));
		kill(tracer, SIGKILL);
		waitpid(tracer, NULL, 0);
		assert_false(harness_is_traced(pid));
		wait_for_ticks(t, 3);
	}
	end_crowd(t, pid);
}

/* Is there such a process, also as a zombie, and is it called as a subject is? Its number may have gone to another by now. */
static bool is_a_subject(pid_t pid)
{
	char path[40], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "r");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = 0;
	if (f)
		fclose(f);
	return !strcmp(name, "exe\n");
}

/* Children of a program: more than it can make before it is let go. */
#define STORM 150

/*
 * So many children have been born, or all tasks were let go at a fork. A traced command cannot end meanwhile, because one poll takes a small
 * part of the storm.
 */
static void poll_until_forked(struct trace *t, int cnt)
{
	const uint64_t end = wait_now_ms() + WAIT_LIMIT_MS;
	int r = 0;

	while (t->truth->pid_cnt < cnt && r != -ESRCH) {
		r = t->ops->poll(t->s, harness_on_record, t, 20);
		assert_true(r >= 0 || r == -ESRCH);
		assert_true(wait_now_ms() < end);
	}
}

/* Let go in the middle of a storm of children: none stays stopped, none stays traced, the program ends well. */
static void test_detach_in_a_storm(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	const int rounds = getenv("ROUNDS") ? 8 : 4; /* asked for or not, at a fork or not */
	int round, status, i;

	for (round = 0; round < rounds; round++) {
		t->truth->pid_cnt = 0;
		t->let_go_at_fork = round % 4 >= 2;
		harness_start(t, &o, NULL, "forks", STORM);
		poll_until_forked(t, 5 + round * 7);
		if (round % 2) {
			assert_int_equal(t->ops->remove_target(t->s, 0), 0);
			harness_poll_to_end(t);
			/* It is still our child, and its status is to be had. */
			assert_true(WAIT_UNTIL(!t->ops->command_status(t->s, &status)));
		} else {
			t->ops->close(t->s);
			t->s = NULL;
			assert_true(WAIT_UNTIL(waitpid(t->command, &status, WNOHANG) == t->command));
		}
		assert_int_equal(status, 0);
		assert_int_equal(t->truth->pid_cnt, STORM);
		for (i = 0; i < STORM; i++)
			assert_false(is_a_subject(t->truth->pids[i]));
		if (t->s)
			t->ops->close(t->s);
		t->s = NULL;
		t->cnt = 0;
	}
}

/* The next stop of a task of ours, which nobody has handled yet. */
static int next_stop(pid_t *tid)
{
	int status;

	assert_true(WAIT_UNTIL((*tid = wait4(-1, &status, __WCLONE | WNOHANG, NULL)) > 0));
	return status;
}

/*
 * Let go at the moment in which a child has shown itself and its parent has not told of it yet. The child may have
 * ended when the parent tells: nobody waits for it.
 */
static void test_detach_before_the_parent_tells(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	struct espy_ptrace *p;
	pid_t tid, child = 0;
	int told = 0, shown = 0, status;

	t->truth->pid_cnt = 0;
	harness_start(t, &o, NULL, "forks", 30);
	p = (struct espy_ptrace *)t->s;
	/* Both stops of the first fork, which come in any order, are kept back. */
	while (!told || !child) {
		status = next_stop(&tid);
		if (tid != t->command) {
			child = tid;
			shown = status;
		} else if (status >> 16 == PTRACE_EVENT_FORK) {
			told = status;
		} else {
			espy_ptrace__handle(p, tid, status);
		}
	}
	espy_ptrace__handle(p, child, shown);
	assert_int_equal(p->embryo_cnt, 1);
	assert_int_equal(t->ops->remove_target(t->s, 0), 0);
	espy_ptrace__handle(p, t->command, told);
	harness_poll_to_end(t);
	assert_true(WAIT_UNTIL(!t->ops->command_status(t->s, &status)));
	assert_int_equal(status, 0);
	assert_int_equal(t->truth->pid_cnt, 30);
}

/* Parents that are killed at any moment, also between a fork and its event: their children are not lost. */
static void test_parents_killed(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	const int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 5;

	for (int round = 0; round < rounds; round++) {
		const uint64_t end = wait_now_ms() + 20 + (uint64_t)round * 30 / (uint64_t)rounds; /* a moment of chance */

		t->truth->pid_cnt = 0;
		harness_start(t, &o, NULL, "forks", 2000);
		while (wait_now_ms() < end)
			t->ops->poll(t->s, harness_on_record, t, 1);
		kill(t->command, SIGKILL);
		harness_poll_to_end(t);
		assert_int_equal(harness_status_of_command(t), SIGKILL);
		harness_check_stream(t);
		t->ops->close(t->s);
		t->s = NULL;
		t->cnt = 0;
	}
}

static bool has_ended(pid_t pid)
{
	const char state = harness_state_of(pid);

	return !state || state == 'Z' || state == 'X';
}

/* --kill-on-exit: what was started does not outlive the tracer; without it, it does. */
static void test_tracer_of_command_killed(void **state)
{
	struct trace *t = *state;
	int kill_on_exit;

	for (kill_on_exit = 0; kill_on_exit < 2; kill_on_exit++) {
		atomic_int *pid = &t->truth->pids[0];
		pid_t tracer;

		*pid = t->truth->ready = t->truth->quit = 0;
		tracer = fork();
		if (!tracer) {
			struct espy_source_opts o = harness_usual(t);

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			o.stops.kill_on_exit = kill_on_exit;
			/* A stopping tracer that 50 threads keep busy would need seconds until all have begun. */
			harness_start(t, &o, NULL, "crowd", 50);
			for (;;) {
				harness_poll_for(t, 50);
				if (t->truth->ready)
					*pid = t->command;
			}
		}
		assert_true(WAIT_UNTIL(*pid));
		wait_moment_us(20000); /* sleeps: a moment of chance */
		kill(tracer, SIGKILL);
		waitpid(tracer, NULL, 0);
		if (kill_on_exit) {
			assert_true(WAIT_UNTIL(has_ended(*pid)));
		} else {
			wait_for_ticks(t, 3);
			t->truth->quit = 1;
			assert_true(WAIT_UNTIL(has_ended(*pid)));
		}
	}
}

static void test_attach_refused(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	struct espy_target target = { .kind = ESPY_TARGET_PID };
	pid_t pid = harness_launch(t, "waits", 0), zombie, other;
	int gate[2];
	char c;

	assert_int_equal(t->ops->open(&t->s, &o), 0);
	target.pid = 0x3ffffffe;
	assert_int_equal(t->ops->add_target(t->s, &target), -ESRCH);
	assert_non_null(strstr(t->report, "no such process"));
	target.pid = getpid();
	assert_int_equal(t->ops->add_target(t->s, &target), -EPERM);
	assert_non_null(strstr(t->report, "itself"));
	zombie = fork();
	if (!zombie)
		_exit(0);
	assert_true(WAIT_UNTIL(harness_state_of(zombie) == 'Z'));
	target.pid = zombie;
	assert_int_equal(t->ops->add_target(t->s, &target), -EPERM);
	assert_non_null(strstr(t->report, "zombie"));
	waitpid(zombie, NULL, 0);
	/* Traced by another. */
	assert_int_equal(pipe(gate), 0);
	other = fork();
	if (!other) {
		struct trace theirs = *t;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		theirs.s = NULL;
		attach(&theirs, pid, &o);
		harness_poll_for(&theirs, 20);
		(void)!write(gate[1], "x", 1);
		for (;;)
			harness_poll_for(&theirs, 1000);
	}
	assert_int_equal(read(gate[0], &c, 1), 1);
	target.pid = pid;
	assert_int_equal(t->ops->add_target(t->s, &target), -EPERM);
	assert_non_null(strstr(t->report, "traced by process"));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(gate[0]);
	close(gate[1]);
	target = (struct espy_target){ .kind = ESPY_TARGET_ALL };
	assert_int_equal(t->ops->add_target(t->s, &target), -EOPNOTSUPP);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, harness_setup, harness_teardown)
	const struct CMUnitTest tests[] = {
		T(test_attach_and_detach),
		T(test_attach_stopped),
		T(test_single_task),
		T(test_detach_in_a_call),
		T(test_tracer_killed),
		T(test_detach_in_a_storm),
		T(test_detach_before_the_parent_tells),
		T(test_parents_killed),
		T(test_tracer_of_command_killed),
		T(test_attach_refused),
	};

	return harness_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
