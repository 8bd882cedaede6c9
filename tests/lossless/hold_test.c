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
#include <sched.h>
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
#include <time.h>
#include <unistd.h>
#include "small_image.h"

#define HOLDS 1000
#define MB (1u << 20)

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static char state_of(pid_t pid)
{
	struct espy_proc_stat stat;

	return espy_read_proc_stat(pid, &stat) ? stat.state : 'X';
}

static void wait_state(pid_t pid, char want)
{
	while (state_of(pid) != want)
		usleep(1000);
}

static void wait_done(const struct rig *r)
{
	while (!r->progress->done)
		usleep(1000);
}

/* ---- */

static void no_instruction_in_between(void **state)
{
	struct rig *r = new_rig(HOLDS);
	uint64_t longest = 0, all = 0;

	(void)state;
	for (uint64_t k = 0; k < HOLDS; k++) {
		pid_t tid = wait_held(r);
		uint64_t start, took;

		assert_int_equal(r->progress->counted, k);
		start = now_ns();
		let_go(r, tid);
		while (r->progress->counted == k)
			sched_yield();
		took = now_ns() - start;
		all += took;
		longest = took > longest ? took : longest;
	}
	run_out(r);
	print_message("%d holds, no instruction in between; resumed after %llu us on average, %llu us at most\n", HOLDS,
		      (unsigned long long)(all / HOLDS / 1000), (unsigned long long)(longest / 1000));
	assert_int_equal(r->progress->done, 1);
	assert_int_equal(r->exits[SYS_getpgrp], HOLDS);
	assert_int_equal(r->asked_pauses, HOLDS);
	free_rig(r);
}

/* Where it sleeps: between two rounds it is elsewhere for a moment. */
static const char *wchan_of(pid_t tid)
{
	static char name[64];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)tid);
	for (int i = 0; i < 1000; i++) {
		FILE *f = fopen(path, "r");

		if (!f || !fgets(name, sizeof(name), f))
			name[0] = '\0';
		if (f)
			fclose(f);
		if (strcmp(name, "0"))
			break;
		usleep(1000);
	}
	return name;
}

/* Over many rounds of the kernel's patience it stays where it is, asleep. */
static void stays_held(void **state)
{
	struct rig *r = new_rig(3);
	pid_t tid = wait_held(r);

	(void)state;
	for (int i = 0; i < 40; i++) {
		usleep(10000);
		assert_int_equal(r->progress->counted, 0);
	}
	wait_state(tid, 'S');
	assert_string_equal(wchan_of(tid), "request_wait_answer");
	run_out(r);
	assert_true(r->longest_ns >= 400000000);
	assert_int_equal(r->progress->done, 1);
	free_rig(r);
}

static void killed_while_held(void **state)
{
	struct rig *r = new_rig(3);
	uint64_t start;
	int status;

	(void)state;
	wait_held(r);
	usleep(120000); /* also after the first round */
	start = now_ns();
	kill(r->pid, SIGKILL);
	while (r->s->ops->command_status(r->s, &status) == -EAGAIN)
		sched_yield();
	print_message("dead and reaped %llu us after SIGKILL\n", (unsigned long long)((now_ns() - start) / 1000));
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
	usleep(150000);
	assert_true(is_held(r, &tid));
	assert_int_equal(r->progress->counted, 0);
	/* Let go, it stops at once: not one instruction before that. */
	let_go(r, tid);
	wait_state(tid, 'T');
	assert_int_equal(r->progress->counted, 0);
	kill(r->pid, SIGCONT);
	while (!r->progress->counted)
		usleep(1000);
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
	usleep(150000);
	assert_true(is_held(r, &tid));
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
	usleep(120000);
	if (write(tell, &shared->pid, sizeof(shared->pid)) != sizeof(shared->pid))
		_exit(1);
	for (;;)
		pause();
}

static void tracer_killed(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	int tell[2], fd, status;
	uint64_t start_ns;
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
	start_ns = now_ns();
	kill(tracer, SIGKILL);
	wait_done(r);
	print_message("done %llu us after its tracer was killed\n", (unsigned long long)((now_ns() - start_ns) / 1000));
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
	while (!(helper = find_helper())) /* it takes its name when it first runs */
		usleep(1000);
	kill(helper, SIGKILL);
	wait_done(r);
	run_out(r);
	assert_int_equal(r->progress->counted, 5);
	free_rig(r);
	r = new_rig(100000000);
	wait_held(r);
	helper = find_helper();
	kill(helper, SIGKILL);
	while (!(again = find_helper()) || again == helper)
		assert_true(r->s->ops->poll(r->s, take, r, 10) >= 0);
	wait_held(r);
	assert_true(r->warnings > 0);
	assert_non_null(strstr(r->warning, "espy-hold did not run"));
	kill(r->pid, SIGKILL);
	run_out(r);
	free_rig(r);
}

static void two_tracers(void **state)
{
	struct rig *r = new_rig(20), *other = calloc(1, sizeof(*other));
	struct espy_target t = { .kind = ESPY_TARGET_PID };
	pid_t tid = wait_held(r);

	(void)state;
	open_source(other, &(struct espy_source_opts){ .triggers = &on_getpgrp, .trigger_cnt = 1 });
	other->pid = t.pid = r->pid;
	assert_int_equal(other->s->ops->add_target(other->s, &t), 0);
	let_go(r, tid); /* this call has ended before the other one was there */
	while (!r->progress->counted)
		usleep(100);
	for (uint64_t k = 1; k < 10; k++) {
		struct rig *first = NULL, *second;

		while (!first) {
			first = is_held(r, &tid) ? r : is_held(other, &tid) ? other : NULL;
			assert_true(r->s->ops->poll(r->s, take, r, 0) >= 0);
			assert_true(other->s->ops->poll(other->s, take, other, 0) >= 0);
		}
		second = first == r ? other : r;
		let_go(first, r->pid);
		wait_held(second);
		usleep(60000);
		assert_false(is_held(first, &tid));
		assert_int_equal(r->progress->counted, k);
		let_go(second, r->pid);
		while (r->progress->counted == k)
			usleep(100);
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
		cmocka_unit_test(no_instruction_in_between), cmocka_unit_test(stays_held),
		cmocka_unit_test(killed_while_held),	     cmocka_unit_test(stopped_while_held),
		cmocka_unit_test(signal_while_held),	     cmocka_unit_test(debugger_takes_over),
		cmocka_unit_test(tracer_killed),	     cmocka_unit_test(helper_killed),
		cmocka_unit_test(two_tracers),		     cmocka_unit_test(close_lets_go),
	};
	char why[256];
	int err = run_subject(argc, argv);

	if (err >= 0)
		return err;
	if (espy_source_bpf.probe(why, sizeof(why)) || espy_source_bpf.probe_lossless(why, sizeof(why))) {
		printf("SKIP: %s\n", why);
		return 77;
	}
	small_image__make(&image, 32);
	return cmocka_run_group_tests_name("hold", holds, NULL, NULL);
}
