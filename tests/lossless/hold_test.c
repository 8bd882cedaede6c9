/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The BPF source holds tasks by a trigger. What must be true of a held task whatever happens to it, to its tracer and to the
 * helper process. Needs the privilege to load BPF programs, and Linux 6.18; else it is skipped and says why.
 */
#include "hold_harness.h"
#include "base/small_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "small_image.h"
#include "tests/wait.h"

#define HOLDS 1000

static char state_of(pid_t pid)
{
	struct espy_proc_stat stat;

	return espy_read_proc_stat(pid, &stat) ? stat.state : 'X';
}

static void wait_state(pid_t pid, char want)
{
	if (!WAIT_UNTIL(state_of(pid) == want))
		fail_msg("task %d is in state %c, not in %c", (int)pid, state_of(pid), want);
}

static void wait_done(const struct rig *r)
{
	if (!WAIT_UNTIL(r->progress->done))
		fail_msg("the subject does not come to its end: %llu calls", (unsigned long long)r->progress->counted);
}

/* The subject comes back from the call after the first k. */
static void wait_beyond(const struct rig *r, uint64_t k)
{
	if (!WAIT_UNTIL(r->progress->counted > k))
		fail_msg("the subject does not come back from call %llu", (unsigned long long)k + 1);
}

/* For ms, which is several rounds of the kernel's patience, it does not come back from the call after the first k. */
static void assert_stays(const struct rig *r, uint64_t k, unsigned ms)
{
	if (!STAYS_MS(r->progress->counted == k, ms))
		fail_msg("the subject ran on: %llu calls instead of %llu", (unsigned long long)r->progress->counted,
			 (unsigned long long)k);
}

/* A signal that has been sent waits for the task. */
static bool is_pending(pid_t pid, int sig)
{
	unsigned long long all = 0, set;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SigPnd: %llx", &set) == 1 || sscanf(line, "ShdPnd: %llx", &set) == 1)
			all |= set;
	if (f)
		fclose(f);
	return all >> (sig - 1) & 1;
}

/* ---- */

/* Each hold in turn, and not one instruction of the subject's meanwhile. */
static void no_instruction_in_between(void **state)
{
	struct rig *r = new_rig(HOLDS);

	(void)state;
	for (uint64_t k = 0; k < HOLDS; k++) {
		pid_t tid = wait_held(r);

		assert_int_equal(r->progress->counted, k);
		let_go(r, tid);
		wait_beyond(r, k);
	}
	run_out(r);
	print_message("%d holds, no instruction in between\n", HOLDS);
	assert_int_equal(r->progress->done, 1);
	assert_int_equal(r->exits[SYS_getpgrp], HOLDS);
	assert_int_equal(r->asked_pauses, HOLDS);
	free_rig(r);
}

/* Over many rounds of the kernel's patience it stays where it is, asleep. */
static void stays_held(void **state)
{
	struct rig *r = new_rig(3);
	pid_t tid = wait_held(r);

	(void)state;
	assert_stays(r, 0, 600);
	wait_state(tid, 'S');
	assert_true(WAIT_UNTIL(sleeps_held(tid)));
	run_out(r);
	assert_true(r->longest_ns >= 400000000);
	assert_int_equal(r->progress->done, 1);
	free_rig(r);
}

static void killed_while_held(void **state)
{
	struct rig *r = new_rig(3);
	int status;

	(void)state;
	wait_held(r);
	assert_stays(r, 0, 120); /* also after the first round */
	kill(r->pid, SIGKILL);
	assert_true(WAIT_UNTIL(r->s->ops->command_status(r->s, &status) != -EAGAIN));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	run_out(r);
	assert_int_equal(r->progress->counted, 0);
	assert_int_equal(r->warnings, 0);
	free_rig(r);
}

static void stopped_while_held(void **state)
{
	struct rig *r = new_rig(2);
	pid_t tid = wait_held(r);

	(void)state;
	kill(r->pid, SIGSTOP);
	assert_true(WAIT_UNTIL(is_pending(r->pid, SIGSTOP)));
	assert_stays(r, 0, 150);
	assert_true(WAIT_UNTIL(is_held(r, &tid)));
	assert_int_equal(r->progress->counted, 0);
	/* Let go, it stops at once: not one instruction before that. */
	let_go(r, tid);
	wait_state(tid, 'T');
	assert_int_equal(r->progress->counted, 0);
	kill(r->pid, SIGCONT);
	wait_beyond(r, 0);
	run_out(r);
	assert_int_equal(r->progress->done, 1);
	free_rig(r);
}

static void signal_while_held(void **state)
{
	struct rig *r = new_rig(2);
	pid_t tid = wait_held(r);

	(void)state;
	kill(r->pid, SIGUSR1);
	assert_true(WAIT_UNTIL(is_pending(r->pid, SIGUSR1)));
	assert_stays(r, 0, 150);
	assert_true(WAIT_UNTIL(is_held(r, &tid)));
	assert_int_equal(r->progress->counted, 0);
	assert_int_equal(r->progress->signals, 0);
	run_out(r);
	assert_int_equal(r->progress->signals, 1);
	assert_int_equal(r->progress->counted, 2);
	free_rig(r);
}

/* A debugger that attaches gets it where it stands, without waiting for anyone to resume it. */
static void debugger_takes_over(void **state)
{
	struct rig *r = new_rig(2);
	pid_t tid = wait_held(r);
	struct user_regs_struct regs;
	long code;
	int status;

	(void)state;
	assert_int_equal(ptrace(PTRACE_ATTACH, tid, NULL, NULL), 0);
	assert_int_equal(waitpid(tid, &status, __WALL), tid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(r->progress->counted, 0);
	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, &regs), 0);
	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, tid, regs.rip - 2, NULL);
	assert_int_equal(errno, 0);
	assert_int_equal(code & 0xffff, 0x050f); /* right behind the call */
	assert_int_equal(regs.orig_rax, SYS_getpgrp);
	assert_int_equal(ptrace(PTRACE_DETACH, tid, NULL, NULL), 0);
	run_out(r);
	assert_int_equal(r->progress->done, 1);
	free_rig(r);
}

/* In a process of its own: a tracer that holds the subject, says so, and waits to be killed. */
static pid_t start_tracer(struct rig *shared, int tell)
{
	pid_t tracer = fork();

	assert_true(tracer >= 0);
	if (tracer)
		return tracer;
	/* After so many calls the source has changed over to single tracepoints, which take long to let go of. */
	char *argv[] = { "/proc/self/exe", "count", shared->file, "5", "100000", NULL };

	open_source(shared, &(struct espy_source_opts){ .triggers = &on_getpgrp, .trigger_cnt = 1 });
	start_subject(shared, "/proc/self/exe", argv);
	wait_held(shared);
	assert_stays(shared, 0, 120); /* also after the first round */
	if (write(tell, &shared->pid, sizeof(shared->pid)) != sizeof(shared->pid))
		_exit(1);
	for (;;)
		pause();
}

static void tracer_killed(void **state)
{
	struct rig *r = make_rig();
	int tell[2], fd, status;
	pid_t tracer;

	(void)state;
	strcpy(r->file, "/tmp/espy-hold-XXXXXX");
	fd = mkstemp(r->file);
	assert_true(fd >= 0 && !ftruncate(fd, 4096) && !pipe(tell));
	r->progress = mmap(NULL, sizeof(*r->progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	tracer = start_tracer(r, tell[1]);
	assert_int_equal(read(tell[0], &r->pid, sizeof(r->pid)), sizeof(r->pid));
	assert_int_equal(r->progress->counted, 0);
	kill(tracer, SIGKILL);
	wait_done(r);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_int_equal(r->progress->counted, 5);
	close(tell[0]);
	close(tell[1]);
	free_rig(r);
}

/* The process whose memory they sleep on: a child of ours. */
static pid_t find_helper(void)
{
	pid_t helper = 0;
	char path[64], name[32];
	DIR *dir = opendir("/proc");

	for (struct dirent *e; dir && (e = readdir(dir));) {
		long pid = strtol(e->d_name, NULL, 10), ppid = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
		f = pid > 0 ? fopen(path, "r") : NULL;
		if (f && fscanf(f, "%*d (%31[^)]) %*c %ld", name, &ppid) == 2 && ppid == getpid() &&
		    !strcmp(name, "espy-hold"))
			helper = (pid_t)pid;
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return helper;
}

/* Nobody stays held, and after a while another helper is there. */
static void helper_killed(void **state)
{
	struct rig *r = new_rig(5);
	pid_t helper, again;

	(void)state;
	wait_held(r);
	assert_true(WAIT_UNTIL((helper = find_helper()) != 0)); /* it takes its name when it first runs */
	kill(helper, SIGKILL);
	wait_done(r);
	run_out(r);
	assert_int_equal(r->progress->counted, 5);
	free_rig(r);
	r = new_rig(100000000);
	wait_held(r);
	assert_true(WAIT_UNTIL((helper = find_helper()) != 0));
	kill(helper, SIGKILL);
	assert_true(WAIT_UNTIL((r->end = r->s->ops->poll(r->s, take, r, 10)) < 0 || ((again = find_helper()) && again != helper)));
	assert_true(r->end >= 0);
	wait_held(r);
	/* espy speaks of holds once a second at most. */
	assert_true(WAIT_UNTIL(r->warnings > 0 || (r->end = r->s->ops->poll(r->s, take, r, 10)) < 0) && r->end >= 0);
	assert_non_null(strstr(r->warning, "espy-hold did not run"));
	kill(r->pid, SIGKILL);
	run_out(r);
	free_rig(r);
}

/* Which of the two holds the subject, NULL if none does. Delivers what is there. */
static struct rig *first_holder(struct rig *a, struct rig *b)
{
	pid_t tid;

	assert_true(a->s->ops->poll(a->s, take, a, 0) >= 0);
	assert_true(b->s->ops->poll(b->s, take, b, 0) >= 0);
	return is_held(a, &tid) ? a : is_held(b, &tid) ? b : NULL;
}

static void two_tracers(void **state)
{
	struct rig *r = new_rig(20), *other = make_rig();
	struct espy_target t = { .kind = ESPY_TARGET_PID };
	pid_t tid = wait_held(r);

	(void)state;
	open_source(other, &(struct espy_source_opts){ .triggers = &on_getpgrp, .trigger_cnt = 1 });
	other->pid = t.pid = r->pid;
	assert_int_equal(other->s->ops->add_target(other->s, &t), 0);
	let_go(r, tid); /* this call has ended before the other one was there */
	wait_beyond(r, 0);
	for (uint64_t k = 1; k < 10; k++) {
		struct rig *first = NULL, *second;

		assert_true(WAIT_UNTIL((first = first_holder(r, other)) != NULL));
		second = first == r ? other : r;
		let_go(first, r->pid);
		wait_held(second);
		assert_true(STAYS_MS(!is_held(first, &tid) && r->progress->counted == k, 60));
		let_go(second, r->pid);
		wait_beyond(r, k);
	}
	other->s->ops->close(other->s);
	other->s = NULL;
	run_out(r);
	assert_int_equal(r->progress->done, 1);
	free_rig(other);
	free_rig(r);
}

/* Everything runs on at close, without being asked. */
static void close_lets_go(void **state)
{
	struct rig *r = new_rig(4);

	(void)state;
	wait_held(r);
	r->s->ops->close(r->s);
	r->s = NULL;
	wait_done(r);
	assert_int_equal(r->progress->counted, 4);
	assert_int_equal(waitpid(r->pid, NULL, 0), r->pid);
	free_rig(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest holds[] = {
		HOLD_TEST(no_instruction_in_between), HOLD_TEST(stays_held),	      HOLD_TEST(killed_while_held),
		HOLD_TEST(stopped_while_held),	      HOLD_TEST(signal_while_held),   HOLD_TEST(debugger_takes_over),
		HOLD_TEST(tracer_killed),	      HOLD_TEST(helper_killed),	      HOLD_TEST(two_tracers),
		HOLD_TEST(close_lets_go),
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
	for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++)
		failed += run_again_if_starved(&holds[i]);
	return failed;
}
