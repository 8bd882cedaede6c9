/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The traced side of the tests: each function makes a known number of known calls. */
#include "ptrace_subjects.h"
#include "tests/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct truth *truth;
static char **self_argv;

static void *some_calls(void *arg)
{
	int i;

	for (i = 0; i < *(int *)arg; i++)
		syscall(SYS_getppid);
	return NULL;
}

/* n threads, three at a time, ten getppid each. */
static int threads(int n)
{
	int calls = 10, made = 0;

	while (made < n) {
		pthread_t th[3];
		int i, k = n - made < 3 ? n - made : 3;

		for (i = 0; i < k; i++)
			if (pthread_create(&th[i], NULL, some_calls, &calls))
				return 1;
		for (i = 0; i < k; i++)
			pthread_join(th[i], NULL);
		made += k;
	}
	return 0;
}

/* n children, up to 20 at a time; each says its pid and makes one getppid. */
static int forks(int n)
{
	int alive = 0, i, status;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid) {
			syscall(SYS_getppid);
			_exit(i & 63);
		}
		truth->pids[truth->pid_cnt++] = pid;
		if (++alive == 20) {
			wait(&status);
			alive--;
		}
	}
	while (alive--)
		wait(&status);
	return 0;
}

/* Puts a child under the hands of the tracer, whether it wants it or not. */
static int gives_child(int n)
{
	const long pid = syscall(SYS_clone, CLONE_PTRACE | SIGCHLD, 0, 0, 0, 0);
	int status = 0;

	if (!pid) {
		syscall(SYS_getppid);
		_exit(n);
	}
	truth->pids[truth->pid_cnt++] = (pid_t)pid;
	return waitpid((pid_t)pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int vforks(int n)
{
	volatile int bad = 0, left = n; /* vfork returns twice on this stack */
	int status;

	while (left--) {
		pid_t pid = vfork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		bad |= status;
	}
	return bad;
}

static atomic_bool other_thread;

static void *pause_beside(void *arg)
{
	other_thread = true;
	for (;;)
		pause();
	return arg;
}

static void *exec_self(void *arg)
{
	char *argv[] = { self_argv[0], self_argv[1], (char *)"status", self_argv[3], (char *)"7", NULL };

	(void)arg;
	if (!WAIT_UNTIL(other_thread))
		return NULL;
	execv("/proc/self/exe", argv);
	return NULL;
}

static int exec_from_thread(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, exec_self, NULL);
	pthread_create(&b, NULL, pause_beside, NULL);
	pthread_join(a, NULL);
	return 1;
}

/*
 * Stops itself n times; a child sets it going again each time, when the source has told of the stop: a SIGCONT before would take
 * back the SIGSTOP.
 */
static int stops(int n)
{
	pid_t me = getpid(), pid = fork();

	if (!pid) {
		for (int i = 0; i < n; i++) {
			if (!WAIT_UNTIL(truth->stops_told > i))
				_exit(kill(me, SIGKILL));
			kill(me, SIGCONT);
		}
		_exit(0);
	}
	while (n--) {
		raise(SIGSTOP);
		truth->ticks[0]++;
	}
	waitpid(pid, NULL, 0);
	return 0;
}

static void count_signal(int sig)
{
	(void)sig;
	truth->signals++;
}

static int beat_ms;

static void *tick(void *arg)
{
	int i = (int)(long)arg;
	const struct timespec ts = { .tv_nsec = beat_ms * 1000000 };

	while (!truth->quit) {
		truth->ticks[i]++;
		nanosleep(&ts, NULL); /* sleeps: a beat */
	}
	return NULL;
}

/* 50 threads that run until they are told to end, each awake once in so many ms (0: 1). Signals are caught and counted by the first. */
static int crowd(int ms)
{
	pthread_t th[SUBJECT_THREADS];
	struct sigaction sa = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	sigset_t set;
	long i;

	beat_ms = ms ? ms : 1;
	sigaction(SIGRTMIN, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < SUBJECT_THREADS - 1; i++)
		if (pthread_create(&th[i], NULL, tick, (void *)(i + 1)))
			return 1;
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	truth->ready = 1;
	tick((void *)0);
	for (i = 0; i < SUBJECT_THREADS - 1; i++)
		pthread_join(th[i], NULL);
	return 0;
}

static int waits_for_signal(void)
{
	truth->ready = 1;
	while (!truth->quit)
		pause();
	return 0;
}

/* Sleeps in a read that is never served until the end. */
static int blocked_read(void)
{
	int fd[2];
	char c;
	pid_t pid;

	if (pipe(fd))
		return 1;
	pid = fork();
	if (!pid) {
		while (!truth->quit)
			usleep(1000); /* sleeps: until it is told to end */
		_exit(write(fd[1], "x", 1) != 1);
	}
	truth->ready = 1;
	if (read(fd[0], &c, 1) != 1)
		truth->eintr++;
	waitpid(pid, NULL, 0);
	return truth->eintr ? 1 : 0;
}

/* A fixed sequence with fixed arguments and results, for comparing runs. */
static int sequence(void)
{
	struct iovec v[2] = { { (void *)"ab", 2 }, { (void *)"cd", 2 } };
	int fd, i, status;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		fd = open("/dev/null", O_RDWR);
		syscall(SYS_getppid);
		if (write(fd, "12345", 5) != 5 || writev(fd, v, 2) != 4)
			return 1;
		syscall(SYS_lseek, 999, i, 0);
		close(fd);
		kill(getpid(), SIGURG);
	}
	pid = fork();
	if (!pid) {
		syscall(SYS_lseek, 999, 77, 0);
		_exit(4);
	}
	waitpid(pid, &status, 0);
	syscall(SYS_lseek, 999, 78, 0);
	return WEXITSTATUS(status);
}

/* A filter of its own that answers lseek: the tracer's TRACE would lose against it. */
static int own_filter(void)
{
	struct sock_filter f[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_lseek },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EXDEV },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog prog = { .len = 4, .filter = f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 77;
	return syscall(SYS_lseek, 999, 5, 0) == -1 && errno == EXDEV ? 0 : 1;
}

/* getpid by the i386 gate, from 64-bit code: each table has its own numbers. */
static int int80(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	return r == getpid() ? 0 : 1;
}

/* Opens /dev/null three times, a pipe once, and a name that runs into an unmapped page. */
static int descriptors(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd[2], i;

	for (i = 0; i < 3; i++)
		if (syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0) < 0)
			return 1;
	if (syscall(SYS_pipe2, fd, O_CLOEXEC))
		return 1;
	munmap(map + page, (size_t)page);
	memcpy(map + page - 5, "/dev/", 5);
	return syscall(SYS_openat, AT_FDCWD, map + page - 5, O_RDONLY, 0) != -1 || errno != EFAULT;
}

int subject_run(const char *name, struct truth *t, int n, char **argv)
{
	truth = t;
	self_argv = argv;
	if (!strcmp(name, "threads"))
		return threads(n);
	if (!strcmp(name, "gives_child"))
		return gives_child(n);
	if (!strcmp(name, "forks"))
		return forks(n);
	if (!strcmp(name, "vforks"))
		return vforks(n);
	if (!strcmp(name, "exec_from_thread"))
		return exec_from_thread();
	if (!strcmp(name, "stops"))
		return stops(n);
	if (!strcmp(name, "crowd"))
		return crowd(n);
	if (!strcmp(name, "waits"))
		return waits_for_signal();
	if (!strcmp(name, "blocked_read"))
		return blocked_read();
	if (!strcmp(name, "sequence"))
		return sequence();
	if (!strcmp(name, "own_filter"))
		return own_filter();
	if (!strcmp(name, "int80"))
		return int80();
	if (!strcmp(name, "descriptors"))
		return descriptors();
	if (!strcmp(name, "status"))
		return n;
	return 99;
}
