/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * confined [-t | -w] [-f] FILTER: a program with marks that has confined itself, and works on.
 *   -t  four threads, and the filter is put upon all of them at once; -w  upon a second thread only
 *   -f  it forks now and then; -s  it sleeps in one call for hours
 * FILTER: strict | container | no-code | deny ACTION CALL... | deny-enosys-kill CALL CALL | only CALL... (all others
 * kill)
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "espy/mark.h"

#define CALLS(X)                                                                                                       \
	X(brk)                                                                                                         \
	X(clock_gettime)                                                                                               \
	X(clock_nanosleep)                                                                                             \
	X(clone)                                                                                                       \
	X(clone3) X(close) X(close_range) X(exit) X(exit_group) X(fcntl) X(ftruncate) X(futex) X(getpid) X(getrandom)  \
		X(gettid) X(keyctl) X(madvise) X(membarrier) X(memfd_create) X(mmap) X(mprotect) X(munmap)             \
			X(newfstatat) X(openat) X(prctl) X(ptrace) X(read) X(restart_syscall) X(rseq) X(rt_sigaction)  \
				X(rt_sigprocmask) X(rt_sigreturn) X(sched_getaffinity) X(set_robust_list) X(tgkill)    \
					X(wait4) X(write) X(fstat) X(kill) X(fork) X(getppid)

static const struct {
	const char *name;
	unsigned nr;
} calls[] = {
#define ROW(name) { #name, SYS_##name },
	CALLS(ROW)
};

static struct sock_filter filter[256];
static unsigned filter_cnt;
static int strict, forks, sleeps, nothing[2];

static void add(uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (filter_cnt < sizeof(filter) / sizeof(filter[0]))
		filter[filter_cnt++] = (struct sock_filter){ code, jt, jf, k };
}

static void load(size_t off)
{
	add(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)off);
}

static void answer(uint32_t k)
{
	add(BPF_RET | BPF_K, 0, 0, k);
}

static void for_call(unsigned nr, uint32_t action)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, nr);
	answer(action);
}

static unsigned number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].name, name))
			return calls[i].nr;
	fprintf(stderr, "unknown call %s\n", name);
	exit(2);
}

static uint32_t action(const char *name)
{
	static const struct {
		const char *name;
		uint32_t ret;
	} actions[] = {
		{ "kill", SECCOMP_RET_KILL_PROCESS },	  { "errno", SECCOMP_RET_ERRNO | EPERM },
		{ "enosys", SECCOMP_RET_ERRNO | ENOSYS }, { "trap", SECCOMP_RET_TRAP },
		{ "trace", SECCOMP_RET_TRACE },		  { "log", SECCOMP_RET_LOG },
	};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(actions[i].name, name))
			return actions[i].ret;
	fprintf(stderr, "unknown action %s\n", name);
	exit(2);
}

/* What container engines forbid, in short. */
static void container(void)
{
	const uint32_t eperm = SECCOMP_RET_ERRNO | EPERM, other_spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
									 CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
									 CLONE_NEWNET;

	for_call(SYS_ptrace, eperm);
	for_call(SYS_keyctl, eperm);
	for_call(SYS_add_key, eperm);
	for_call(SYS_request_key, eperm);
	for_call(SYS_mount, eperm);
	for_call(SYS_umount2, eperm);
	for_call(SYS_init_module, eperm);
	for_call(SYS_kexec_load, eperm);
	for_call(SYS_bpf, eperm);
	for_call(SYS_perf_event_open, eperm);
	for_call(SYS_unshare, eperm);
	for_call(SYS_setns, eperm);
	for_call(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone);
	load(offsetof(struct seccomp_data, args[0]));
	add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, other_spaces);
	answer(eperm);
	answer(SECCOMP_RET_ALLOW);
}

/* What service managers do to keep a service from making code. */
static void no_code(void)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_mprotect);
	load(offsetof(struct seccomp_data, args[2]));
	add(BPF_JMP | BPF_JSET | BPF_K, 0, 1, PROT_EXEC);
	answer(SECCOMP_RET_ERRNO | EPERM);
	answer(SECCOMP_RET_ALLOW);
}

static void make_filter(char **words)
{
	load(offsetof(struct seccomp_data, arch));
	add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
	answer(SECCOMP_RET_KILL_PROCESS);
	load(offsetof(struct seccomp_data, nr));
	if (!strcmp(words[0], "container")) {
		container();
	} else if (!strcmp(words[0], "no-code")) {
		no_code();
	} else if (!strcmp(words[0], "deny") && words[1]) {
		const uint32_t ret = action(words[1]);

		for (char **w = words + 2; *w; w++)
			for_call(number(*w), ret);
		answer(SECCOMP_RET_ALLOW);
	} else if (!strcmp(words[0], "deny-enosys-kill") && words[1] && words[2]) {
		for_call(number(words[1]), action("enosys"));
		for_call(number(words[2]), action("kill"));
		answer(SECCOMP_RET_ALLOW);
	} else if (!strcmp(words[0], "only")) {
		for (char **w = words + 1; *w; w++)
			for_call(number(*w), SECCOMP_RET_ALLOW);
		answer(SECCOMP_RET_KILL_PROCESS);
	} else if (!strcmp(words[0], "strict")) {
		strict = 1;
	} else {
		fprintf(stderr, "unknown filter %s\n", words[0]);
		exit(2);
	}
}

static void confine(unsigned flags)
{
	const struct sock_fprog prog = { (unsigned short)filter_cnt, filter };

	if (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
		   : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			     syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog)) {
		perror("seccomp");
		exit(1);
	}
}

static void *work(void *name)
{
	const struct timespec nap = { .tv_nsec = 5000000 }, long_time = { .tv_sec = 100000 };

	while (strict) {
		char c;

		if (read(nothing[0], &c, 1) != 1)
			syscall(SYS_exit, 0);
	}
	for (unsigned i = 0;; i++) {
		MARK(app_tick, "of=%s i=%u", (const char *)name, i);
		clock_nanosleep(CLOCK_MONOTONIC, 0, sleeps ? &long_time : &nap, NULL); /* sleeps: a beat, or for hours */
		if (!forks || i % 20)
			continue;
		pid_t pid = fork();

		if (!pid) {
			MARK(app_child, "i=%u", i);
			_exit(0);
		}
		int status;

		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			abort();
	}
	return NULL;
}

static void *confined_work(void *name)
{
	confine(0);
	return work(name);
}

int main(int argc, char **argv)
{
	int opt, together = 0, second = 0;
	pthread_t t;

	while ((opt = getopt(argc, argv, "+twfs")) != -1)
		switch (opt) {
		case 't':
			together = 1;
			break;
		case 'w':
			second = 1;
			break;
		case 'f':
			forks = 1;
			break;
		case 's':
			sleeps = 1;
			break;
		default:
			return 2;
		}
	if (optind >= argc || pipe(nothing))
		return 2;
	make_filter(argv + optind);
	/* A test that waits until it has begun asks for that; once it is confined it may not be able to say so. */
	if (getenv("SAYS_READY") && write(1, "ready\n", 6) != 6)
		return 3;
	for (int i = 0; together && i < 3; i++)
		pthread_create(&t, NULL, work, "worker");
	if (second)
		pthread_create(&t, NULL, confined_work, "worker");
	else
		confine(together ? SECCOMP_FILTER_FLAG_TSYNC : 0);
	work("main");
	return 0;
}
