/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands under the ptrace source: what they did is known, and has to stand in the stream record by record. */
#include "ptrace_harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_command(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);

	o.needs.times = o.needs.enter_ns = o.needs.ip = true;
	harness_start(t, &o, NULL, "status", 3);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 3 << 8);
	/* From the execve on: its entry, the new image, its end. */
	assert_int_equal(t->rec[0].type, ESPY_REC_ENTER);
	assert_int_equal(t->rec[0].nr, SYS_execve);
	assert_int_equal(t->rec[1].type, ESPY_REC_EXEC);
	assert_int_equal(t->rec[2].type, ESPY_REC_EXIT);
	assert_int_equal(t->rec[2].nr, SYS_execve);
	assert_int_equal(t->rec[2].ret, 0);
	assert_true(t->rec[0].time_ns && t->rec[2].time_ns > t->rec[0].time_ns);
	assert_true(t->rec[2].flags & ESPY_RF_ENTER_NS);
	assert_true(t->rec[2].flags & ESPY_RF_IP);
	/* exit_group does not return; then the end of the task, the last record. */
	assert_int_equal(t->rec[t->cnt - 2].type, ESPY_REC_EXIT);
	assert_int_equal(t->rec[t->cnt - 2].nr, SYS_exit_group);
	assert_true(t->rec[t->cnt - 2].flags & ESPY_RF_NO_RETURN);
	assert_int_equal(t->rec[t->cnt - 1].type, ESPY_REC_TASK_EXIT);
	assert_int_equal(t->rec[t->cnt - 1].a, 3 << 8);
	assert_int_equal(t->rec[t->cnt - 1].b, 1);
}

static int refuse(void *ctx)
{
	(void)ctx;
	return -EDOM;
}

static void test_command_that_cannot_run(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	char *argv[] = { (char *)"none", NULL };
	struct espy_command cmd = { .path = "/nonexistent/program", .argv = argv, .envp = environ };

	assert_int_equal(t->ops->open(&t->s, &o), 0);
	assert_int_equal(t->ops->start_command(t->s, &cmd, &t->command), -ENOENT);
	cmd.path = "/etc/passwd";
	assert_int_equal(t->ops->start_command(t->s, &cmd, &t->command), -EACCES);
	cmd.path = "/bin/true";
	cmd.child_setup = refuse;
	assert_int_equal(t->ops->start_command(t->s, &cmd, &t->command), -EDOM);
	assert_int_equal(t->ops->poll(t->s, harness_on_record, t, 0), -ESRCH);
	assert_int_equal(t->cnt, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing left behind */
}

/* Without follow a child that the program itself puts under our hands is let go of, and does what it wants. */
static void test_child_that_nobody_wants(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	char told[64];

	o.follow = false;
	harness_start(t, &o, NULL, "gives_child", 7);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 7 << 8);
	assert_int_equal(harness_count(t, ESPY_REC_FORK, -1, 0), 0);
	assert_int_equal(harness_count(t, ESPY_REC_EXIT, SYS_getppid, 0), 0);
	snprintf(told, sizeof(told), "Detached unknown pid %d", (int)t->truth->pids[0]);
	assert_string_equal(t->report, told);
}

static void test_threads(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	size_t i, threads = 0;

	harness_start(t, &o, NULL, "threads", 60);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 0);
	for (i = 0; i < t->cnt; i++)
		threads += t->rec[i].type == ESPY_REC_FORK && t->rec[i].b == (uint32_t)t->command;
	assert_int_equal(threads, 60);
	assert_int_equal(harness_count(t, ESPY_REC_ENTER, SYS_getppid, 0), 600);
	assert_int_equal(harness_count(t, ESPY_REC_EXIT, SYS_getppid, 0), 600);
	assert_int_equal(harness_count(t, ESPY_REC_TASK_EXIT, -1, 0), 61);
}

static void fork_storm(struct trace *t, int n)
{
	struct espy_source_opts o = harness_usual(t);
	struct espy_source_stats st;
	int i;

	harness_start(t, &o, NULL, "forks", n);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 0);
	assert_int_equal(harness_count(t, ESPY_REC_FORK, -1, 0), n);
	assert_int_equal(harness_count(t, ESPY_REC_TASK_EXIT, -1, 0), n + 1);
	assert_int_equal(harness_count(t, ESPY_REC_EXIT, SYS_getppid, 0), n);
	assert_int_equal(t->truth->pid_cnt, n);
	for (i = 0; i < n; i += 97)
		assert_int_equal(harness_count(t, ESPY_REC_EXIT, SYS_getppid, (uint32_t)t->truth->pids[i]), 1);
	t->ops->stats(t->s, &st);
	assert_int_equal(st.tasks, n + 1);
	for (i = 0; i < ESPY_LOST_REASONS; i++)
		assert_int_equal(st.lost[i], 0);
}

static void test_fork_storm(void **state)
{
	fork_storm(*state, 500 * (getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 1));
}

static void test_vfork(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);

	harness_start(t, &o, NULL, "vforks", 20);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 0);
	assert_int_equal(harness_count(t, ESPY_REC_FORK, -1, 0), 20);
	assert_int_equal(harness_count(t, ESPY_REC_EXEC, -1, 0), 21);
}

static void test_exec_from_thread(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	const struct seen *exec = NULL;
	size_t i;

	harness_start(t, &o, NULL, "exec_from_thread", 0);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 7 << 8);
	for (i = 0; i < t->cnt; i++)
		if (t->rec[i].type == ESPY_REC_EXEC && t->rec[i].a)
			exec = &t->rec[i];
	assert_non_null(exec);
	assert_int_equal(exec->tid, t->command);
	assert_true(harness_count(t, ESPY_REC_ENTER, SYS_execve, exec->a) == 1);
	assert_int_equal(exec[1].type, ESPY_REC_EXIT);
	assert_int_equal(exec[1].nr, SYS_execve);
	assert_int_equal(exec[1].tid, t->command);
}

static void test_stop_and_continue(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);

	harness_start(t, &o, NULL, "stops", 5);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 0);
	assert_int_equal(t->truth->ticks[0], 5);
	assert_int_equal(harness_count(t, ESPY_REC_STOPPED, SIGSTOP, 0), 5);
	assert_int_equal(harness_count(t, ESPY_REC_SIGNAL, SIGSTOP, 0), 5);
	assert_int_equal(harness_count(t, ESPY_REC_SIGNAL, SIGCONT, 0), 5);
}

static void test_killed_in_a_call(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	const struct seen *s;

	harness_start(t, &o, NULL, "waits", 0);
	harness_poll_until(t, ESPY_REC_ENTER, SYS_pause, 1);
	kill(t->command, SIGKILL);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), SIGKILL);
	s = &t->rec[t->cnt - 2];
	assert_int_equal(s->type, ESPY_REC_EXIT);
	assert_int_equal(s->nr, SYS_pause);
	assert_true(s->flags & ESPY_RF_NO_RETURN);
}

/* Another's child is never taken from it; a time-out is kept; a signal ends the wait. */
static void on_alarm(int sig)
{
	(void)sig;
}

static void test_waiting(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	struct sigaction sa = { .sa_handler = on_alarm };
	struct timespec cpu0, cpu1;
	uint64_t begin;
	int status, r;
	pid_t other = fork();

	if (!other)
		_exit(5);
	harness_start(t, &o, NULL, "waits", 0);
	harness_poll_until(t, ESPY_REC_ENTER, SYS_pause, 1);
	begin = wait_now_ms();
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu0);
	assert_int_equal(t->ops->poll(t->s, harness_on_record, t, 300), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu1);
	assert_true(wait_now_ms() - begin >= 299 && wait_now_ms() - begin < WAIT_LIMIT_MS);
	/* It slept: who looks again and again needs much more of the processor, even of a fifth of one. */
	assert_true((cpu1.tv_sec - cpu0.tv_sec) * 1000000000l + cpu1.tv_nsec - cpu0.tv_nsec < 50000000);
	assert_int_equal(t->ops->command_status(t->s, &status), -EAGAIN);
	sigaction(SIGALRM, &sa, NULL);
	ualarm(50000, 50000); /* again and again: the first may come before the wait */
	assert_int_equal(t->ops->poll(t->s, harness_on_record, t, (int)WAIT_LIMIT_MS), -EINTR);
	ualarm(0, 0);
	kill(t->command, SIGTERM);
	for (begin = wait_now_ms(); (r = t->ops->poll(t->s, harness_on_record, t, 1000)) != -ESRCH;)
		assert_true(wait_now_ms() < begin + WAIT_LIMIT_MS);
	assert_int_equal(harness_status_of_command(t), SIGTERM);
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 5 << 8);
}

static void want(struct espy_call_set *set, unsigned nr)
{
	set->wanted[nr / 64] |= 1ull << (nr % 64);
}

static const struct espy_image no_image;

static void run_sequence(struct trace *t, bool seccomp, const struct espy_call_set *set)
{
	struct espy_source_opts o = harness_usual(t);

	o.stops.seccomp = seccomp;
	harness_start(t, &o, set, "sequence", 0);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 4 << 8);
	t->ops->close(t->s);
	t->s = NULL;
}

/* What one task did, in order, without what differs from run to run (addresses, pids). */
static size_t story(const struct trace *t, bool of_command, struct seen *out)
{
	size_t i, n = 0;

	for (i = 0; i < t->cnt; i++) {
		struct seen s = t->rec[i];

		if ((s.tid == (uint32_t)t->command) != of_command)
			continue;
		if (s.type == ESPY_REC_FORK)
			s.a = s.b = 1;
		if (s.type == ESPY_REC_EXIT && s.nr == SYS_getppid)
			s.ret = 1;
		if (s.nr != SYS_lseek)
			s.arg0 = s.arg1 = 0;
		s.tid = s.tgid = 0;
		out[n++] = s;
	}
	return n;
}

static void test_filter_equals_plain(void **state)
{
	struct trace *t = *state;
	struct espy_call_set set = { .image = &no_image };
	struct trace plain;
	struct seen *a, *b;
	size_t n, m, i;
	int whose;

	want(&set, SYS_lseek);
	want(&set, SYS_getppid);
	want(&set, SYS_writev);
	want(&set, SYS_execve);
	want(&set, SYS_exit_group);
	want(&set, SYS_write);
	run_sequence(t, false, &set);
	plain = *t;
	t->rec = NULL;
	t->cnt = t->cap = 0;
	run_sequence(t, true, &set);
	assert_int_equal(t->cnt, plain.cnt);
	a = calloc(t->cnt, sizeof(*a));
	b = calloc(t->cnt, sizeof(*b));
	for (whose = 0; whose < 2; whose++) {
		n = story(&plain, whose, a);
		m = story(t, whose, b);
		assert_int_equal(n, m);
		for (i = 0; i < n; i++)
			if (memcmp(&a[i], &b[i], sizeof(*a)))
				fail_msg("record %zu: type %u nr %u ret %ld against type %u nr %u ret %ld", i,
					 a[i].type, a[i].nr, (long)a[i].ret, b[i].type, b[i].nr, (long)b[i].ret);
	}
	assert_int_equal(harness_count(t, ESPY_REC_EXIT, SYS_lseek, 0), 22);
	free(a);
	free(b);
	free(plain.rec);
}

static void test_filter_of_the_program(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	struct espy_call_set set = { .image = &no_image };
	size_t i, found = 0;

	want(&set, SYS_lseek);
	o.stops.seccomp = true;
	harness_start(t, &o, &set, "own_filter", 0);
	harness_poll_to_end(t);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 0);
	for (i = 0; i < t->cnt; i++)
		found += t->rec[i].type == ESPY_REC_EXIT && t->rec[i].nr == SYS_lseek && t->rec[i].arg0 == 999 &&
			 t->rec[i].ret == -EXDEV;
	assert_int_equal(found, 1);
}

/* Number 20 is getpid in the i386 table and writev in that of x86-64. */
static void test_other_abi(void **state)
{
	struct trace *t = *state;
	struct espy_call_set set = { .image = &no_image };
	int seccomp;
	size_t i, found;

	want(&set, 20);
	for (seccomp = 0; seccomp < 2; seccomp++) {
		struct espy_source_opts o = harness_usual(t);

		o.stops.seccomp = seccomp;
		t->cnt = 0;
		harness_start(t, &o, &set, "int80", 0);
		harness_poll_to_end(t);
		if (harness_status_of_command(t) == SIGSEGV)
			skip(); /* a kernel without the i386 gate */
		assert_int_equal(harness_status_of_command(t), 0);
		for (i = found = 0; i < t->cnt; i++)
			found += t->rec[i].type == ESPY_REC_EXIT && t->rec[i].nr == 20 &&
				 t->rec[i].abi == ESPY_ABI_I386 && t->rec[i].ret == t->command;
		assert_int_equal(found, 1);
		t->ops->close(t->s);
		t->s = NULL;
	}
}

/*
 * Names of descriptors, by an image made by hand: openat returns one, pipe2 writes two. What the plans say of the
 * result and of the memory is all that the source knows.
 */
static const struct espy_op fd_ops[] = {
	{ .kind = ESPY_OP_CSTR, .when = ESPY_OP_ENTER, .src = 1, .elem = 1, .cap = 4096 },
	{ .kind = ESPY_OP_BYTES,
	  .when = ESPY_OP_EXIT | ESPY_OP_ON_OK,
	  .src = 0,
	  .elem = 8,
	  .cap = 8,
	  .holds = ESPY_HOLDS_FDS },
};
static const struct espy_plan fd_plans[] = {
	{ .first_op = 0, .op_cnt = 1, .nargs = 4, .flags = ESPY_PLAN_DESCRIBED | ESPY_PLAN_RET_FD },
	{ .first_op = 1, .op_cnt = 1, .nargs = 2, .flags = ESPY_PLAN_DESCRIBED },
};
static const struct espy_call fd_calls[] = { { .plan = 0 }, { .plan = 1 } };

struct names {
	struct trace *t;
	unsigned null_cnt, pipe_cnt, fault_cnt;
	int last_fd;
	char path[64];
};

static int on_name(void *ctx, const struct espy_rec *r)
{
	struct names *n = ctx;

	if (r->type == ESPY_REC_FDNAME) {
		const struct espy_rec_fdname *f = (const void *)r;
		const char *name = (const char *)(f + 1);

		assert_int_equal(r->size, sizeof(*f) + (f->name_sz + 7) / 8 * 8);
		assert_int_equal(name[f->name_sz - 1], 0);
		n->null_cnt += !strcmp(name, "/dev/null");
		n->pipe_cnt += !strncmp(name, "pipe:[", 6);
		n->last_fd = f->fd;
	} else if (r->type == ESPY_REC_EXIT && r->nr == SYS_openat) {
		const struct espy_rec_call *c = (const void *)r;
		const struct espy_item *it = (const void *)((const uint64_t *)(c + 1) + 4);

		/* The name came just before. */
		if (c->ret >= 0)
			assert_int_equal(n->last_fd, c->ret);
		n->fault_cnt += it->status == ESPY_ITEM_FAULT && it->len == 5 && !memcmp(it + 1, "/dev/", 5) &&
				c->ret == -EFAULT;
	}
	return harness_on_record(n->t, r);
}

static void test_names_of_descriptors(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	struct names n = { .t = t };
	static struct espy_syscall syscalls[400];
	static struct espy_call_plan call_plans[400];
	struct espy_image img = { .syscalls = syscalls,
				  .syscall_cnt = 400,
				  .call_plans = call_plans,
				  .calls = fd_calls,
				  .call_cnt = 2,
				  .plans = fd_plans,
				  .plan_cnt = 2,
				  .ops = fd_ops,
				  .op_cnt = 2 };
	struct espy_call_set set = { .image = &img, .ops = fd_ops };
	unsigned i;
	int r;

	for (i = 0; i < 400; i++)
		syscalls[i] = (struct espy_syscall){ .call = i == SYS_openat  ? 0
							     : i == SYS_pipe2 ? 1
									      : ESPY_NONE,
						     .nargs = 6 };
	call_plans[SYS_pipe2].plan = 1;
	want(&set, SYS_openat);
	want(&set, SYS_pipe2);
	o.needs.fds = true;
	harness_start(t, &o, &set, "descriptors", 0);
	while ((r = t->ops->poll(t->s, on_name, &n, 1000)) != -ESRCH)
		assert_true(r >= 0);
	harness_check_stream(t);
	assert_int_equal(harness_status_of_command(t), 0);
	assert_int_equal(n.null_cnt, 3);
	assert_int_equal(n.pipe_cnt, 2);
	assert_int_equal(n.fault_cnt, 1);
}

static void test_sigchld_ignored(void **state)
{
	struct trace *t = *state;
	struct espy_source_opts o = harness_usual(t);
	struct sigaction now;

	signal(SIGCHLD, SIG_IGN);
	harness_start(t, &o, NULL, "status", 9);
	harness_poll_to_end(t);
	assert_int_equal(harness_status_of_command(t), 9 << 8);
	t->ops->close(t->s);
	t->s = NULL;
	sigaction(SIGCHLD, NULL, &now);
	assert_true(now.sa_handler == SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

int main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, harness_setup, harness_teardown)
	const struct CMUnitTest tests[] = {
		T(test_command),
		T(test_command_that_cannot_run),
		T(test_child_that_nobody_wants),
		T(test_threads),
		T(test_fork_storm),
		T(test_vfork),
		T(test_exec_from_thread),
		T(test_stop_and_continue),
		T(test_killed_in_a_call),
		T(test_waiting),
		T(test_filter_equals_plain),
		T(test_filter_of_the_program),
		T(test_other_abi),
		T(test_names_of_descriptors),
		T(test_sigchld_ignored),
	};

	return harness_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
