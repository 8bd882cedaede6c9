/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A host program with a SIGCHLD handler of its own (that is told of no stops), threads, libbpf, limits and a seccomp filter is not
 * disturbed by a session: it reaps its own children, its handlers, limits, masks and libbpf's print function stay as they were, and
 * nothing is written to its terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <espy/espy.h>
#include "../wait.h"

#define CHILDREN 4096
static atomic_int children[CHILDREN], started, reaped;
static atomic_bool ending;

/* All children of its own that have ended. Not any child (-1): it would take the stops of a traced program, too (espy(3)). */
static void on_child(int sig)
{
	const int saved = errno;

	(void)sig;
	for (int i = 0; i < atomic_load(&started); i++) {
		int pid = atomic_load(&children[i]);

		if (pid && waitpid(pid, NULL, WNOHANG) == pid && atomic_compare_exchange_strong(&children[i], &pid, 0))
			atomic_fetch_add(&reaped, 1);
	}
	errno = saved;
}

/* A thread that has all signals open. */
static void *work(void *ctx)
{
	const struct timespec t = { .tv_nsec = 1000000 };

	while (!atomic_load(&ending))
		nanosleep(&t, NULL); /* sleeps: a beat */
	return ctx;
}

static int own_print(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level;
	(void)format;
	(void)ap;
	return 0;
}

/* A filter that lets all through but reboot; a program that the host starts has it, too. */
static void set_filter(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_reboot, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void start_child(void)
{
	const pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0 && atomic_load(&started) < CHILDREN);
	atomic_store(&children[atomic_load(&started)], pid);
	atomic_fetch_add(&started, 1);
	raise(SIGCHLD); /* it may have ended before it was known */
}

struct seen {
	unsigned calls, exits;
};

static void on_event(void *ctx, const struct espy_event *e)
{
	struct seen *seen = ctx;

	if (espy_event_type(e) == ESPY_EVENT_EXIT)
		seen->exits++;
	else if (++seen->calls % 8 == 0)
		start_child();
}

static void the_host_is_not_disturbed(void **state)
{
	char *const argv[] = { "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; exit 4", NULL };
	const struct espy_program program = { .size = sizeof(program), .path = "/bin/sh", .argv = argv };
	const struct espy_session_options so = { .size = sizeof(so), .program = &program, .follow = true, .source = getenv("ESPY_SOURCE") };
	struct sigaction sa = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP | SA_RESTART }, now;
	struct seen seen = { 0 };
	const struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_CALL_END | ESPY_EVENT_EXIT, .event = on_event,
						.ctx = &seen };
	struct rlimit before, after;
	sigset_t mask_before, mask_after;
	struct espy_session *s;
	pthread_t threads[3];
	char said[256];
	int out[2], kept[2];
	unsigned fds;

	(void)state;
	set_filter();
	libbpf_set_print(own_print);
	assert_int_equal(sigaction(SIGCHLD, &sa, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
	getrlimit(RLIMIT_NOFILE, &before);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	fds = open_fds();
	/* Whatever is written to the terminal comes out of this pipe. */
	assert_int_equal(pipe2(out, O_NONBLOCK), 0);
	kept[0] = dup(1);
	kept[1] = dup(2);
	fflush(stdout);
	dup2(out[1], 1);
	dup2(out[1], 2);
	const int opened = espy_session_open(&s, &so);
	const int added = opened ? opened : espy_engine_add(s, &eo, NULL);
	const int ran = added ? added : espy_session_run(s);
	if (!opened)
		espy_session_close(s);
	dup2(kept[0], 1);
	dup2(kept[1], 2);
	const ssize_t n = read(out[0], said, sizeof(said) - 1);
	for (unsigned i = 0; i < 2; i++) {
		close(out[i]);
		close(kept[i]);
	}
	said[n > 0 ? n : 0] = 0;
	assert_string_equal(said, "");
	assert_int_equal(ran, 0);
	assert_true(seen.calls > 100);
	assert_true(seen.exits >= 1);
	atomic_store(&ending, true);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);

	assert_int_equal(sigaction(SIGCHLD, NULL, &now), 0);
	assert_true(now.sa_handler == on_child);
	assert_int_equal(now.sa_flags & (SA_NOCLDSTOP | SA_RESTART), SA_NOCLDSTOP | SA_RESTART);
	assert_true(libbpf_set_print(own_print) == own_print);
	getrlimit(RLIMIT_NOFILE, &after);
	assert_memory_equal(&before, &after, sizeof(before));
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	for (int sig = 1; sig < NSIG; sig++)
		assert_int_equal(sigismember(&mask_before, sig), sigismember(&mask_after, sig));
	assert_int_equal(open_fds(), fds);
	/* All children of its own were reaped by its own handler, whatever the session has waited for. */
	WAIT_UNTIL(atomic_load(&reaped) >= atomic_load(&started));
	assert_int_equal(reaped, started);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(started, seen.calls / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_host_is_not_disturbed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
