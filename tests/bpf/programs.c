/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "programs.h"

/* So many calls of each kind, each with data that the test knows. */
static int calls(void)
{
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
	char buf[64];
	struct stat st;
	struct iovec v[3] = { { "ab", 2 }, { "cde", 3 }, { "f", 1 } };

	memset(buf, 'w', sizeof(buf));
	for (int i = 0; i < CALLS_EACH; i++) {
		syscall(SYS_getppid);
		syscall(SYS_write, null, buf, 64);
		syscall(SYS_writev, null, v, 3);
		syscall(SYS_openat, AT_FDCWD, "/no/such/file", 0, 0);
		syscall(SYS_fstat, zero, &st);
		syscall(SYS_newfstatat, AT_FDCWD, "/", &st, 0);
	}
	return 0;
}

unsigned program_rounds(void)
{
	static unsigned rounds;

	if (!rounds)
		rounds = getenv("ROUNDS") ? (unsigned)atoi(getenv("ROUNDS")) : 1;
	return rounds;
}

char *program_rounds_word(void)
{
	static char word[32];

	snprintf(word, sizeof(word), "ROUNDS=%u", program_rounds());
	return word;
}

static int storm(void)
{
	for (int i = 0; i < STORM_CHILDREN; i++) {
		pid_t pid = fork();

		if (!pid) {
			syscall(SYS_getppid);
			_exit(7);
		}
		if (pid < 0 || (i % 50 == 49 && waitpid(pid, NULL, 0) != pid))
			return 1;
	}
	while (wait(NULL) > 0)
		;
	return 0;
}

/* Data that ends at the last readable byte, or runs into the page behind it. */
static int edge(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = page + 4096;
	int null = open("/dev/null", O_WRONLY), p[2];
	struct iovec v[2];

	if (page == MAP_FAILED || munmap(end, 4096) || pipe2(p, 0))
		return 1;
	memcpy(end - 8, "/no/way", 8);
	syscall(SYS_openat, AT_FDCWD, end - 8, 0, 0);       /* whole */
	memcpy(end - 6, "cutoff", 6);
	syscall(SYS_openat, AT_FDCWD, end - 6, 0, 0);       /* no NUL before the hole */
	syscall(SYS_write, p[1], end - 6, 6);               /* whole */
	syscall(SYS_write, null, end - 6, 20);              /* longer than what is there */
	syscall(SYS_openat, AT_FDCWD, end, 0, 0);           /* nothing */
	v[0] = (struct iovec){ end - 6, 6 };
	v[1] = (struct iovec){ end, 5 };
	syscall(SYS_writev, p[1], v, 2);                    /* the second element is not there */
	syscall(SYS_read, 0xdeadbeef00000000ul | (unsigned)p[0], end - 4, 4); /* junk above a descriptor */
	return 0;
}

static void on_usr1(int sig)
{
	(void)sig;
}

static int signals(void)
{
	sigset_t set;
	pid_t pid;

	signal(SIGUSR1, on_usr1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1); /* delivered; rt_sigreturn restores a mask of SIGUSR2 */
	signal(SIGUSR1, SIG_IGN);
	kill(getpid(), SIGUSR1); /* ignored */
	pid = fork();
	if (!pid) {
		kill(getpid(), SIGKILL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	kill(getpid(), SIGTERM);
	return 1;
}

static void *exec_in_thread(void *arg)
{
	char *argv[] = { "/proc/self/exe", "nothing", NULL };

	execv("/proc/self/exe", argv);
	return arg;
}

static int thread_exec(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, exec_in_thread, NULL))
		return 1;
	pause();
	return 1;
}

/* Calls whose memory is overwritten, lengths in memory, variants, nesting. */
static int nested(void)
{
	int p[2], sv[2], n;
	struct pollfd f;
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct iovec v[3] = { { "ab", 2 }, { "cde", 3 }, { "f", 1 } };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_iov = v, .msg_iovlen = 3 } },
				{ .msg_hdr = { .msg_iov = v + 1, .msg_iovlen = 2 } } };
	char a[2], b[3], c[20];
	struct iovec in[3] = { { a, 2 }, { b, 3 }, { c, 20 } };

	if (pipe2(p, 0) || socketpair(AF_UNIX, SOCK_DGRAM, 0, sv))
		return 1;
	syscall(SYS_write, p[1], "hello world", 11);
	f = (struct pollfd){ .fd = p[0], .events = POLLIN };
	syscall(SYS_poll, &f, 1, 1000);
	syscall(SYS_ioctl, p[0], FIONREAD, &n);
	syscall(SYS_readv, p[0], in, 3);
	syscall(SYS_getsockname, sv[0], &sa, &len);
	syscall(SYS_sendmmsg, sv[0], m, 2, 0);
	return 0;
}

static int hang(void)
{
	int p[2];
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with its test */
	return pipe2(p, 0) || syscall(SYS_read, p[0], &c, 1) != 1;
}

/* Enough calls that the source changes over to the tracepoints of single calls in the middle of them. */
static int many(void)
{
	for (int i = 0; i < MANY_CALLS; i++) {
		syscall(SYS_getppid);
		syscall(SYS_getuid);
		if (i % (MANY_CALLS / 100) == 0)
			usleep(1000); /* sleeps: the source changes over meanwhile */
	}
	return 0;
}

/* Waits to be watched, then makes calls in two threads and ends. */
static void *some_calls(void *arg)
{
	char c;

	if (read(STDIN_FILENO, &c, 1) == 1)
		for (int i = 0; i < CALLS_EACH; i++)
			syscall(SYS_getppid);
	return arg;
}

static int running(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, some_calls, NULL))
		return 1;
	some_calls(NULL);
	pthread_join(t, NULL);
	return 0;
}

static int descriptors(void)
{
	int fd = open("/dev/null", O_RDONLY);

	syscall(SYS_dup, fd);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY, 0);
	return fd < 0;
}

static void numbered(int writer)
{
	for (unsigned i = 0; i < NUMBERED_EACH; i++)
		syscall(SYS_close, NUMBERED + NUMBERED_STEP * writer + (int)i);
}

/* Some at once. */
static int writers(void)
{
	for (int w = 1; w <= WRITERS; w++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid) {
			numbered(w);
			_exit(0);
		}
	}
	for (int w = 1; w <= WRITERS; w++)
		if (wait4(-1, NULL, 0, NULL) < 0)
			return 1;
	return 0;
}

/* Calls, and signals that are ignored when they are sent, from an interrupt: in the midst of anything. */
static int interrupted(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 100000, .wakeup_events = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETFL, O_ASYNC))
		return 77;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	for (int w = 1; w <= WRITERS; w++)
		numbered(w);
	return 0;
}

/* Runs until its standard input ends. */
static int until_told(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	while (poll(&p, 1, 0) == 0)
		numbered(1);
	return 0;
}

bool program_sleeps_in(pid_t pid, unsigned threads, int nr)
{
	char path[64];
	unsigned cnt = 0;
	bool all = true;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));) {
		int in = -1;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/syscall", (int)pid, e->d_name);
		FILE *f = fopen(path, "r");

		all &= f && fscanf(f, "%d", &in) == 1 && in == nr;
		if (f)
			fclose(f);
		cnt++;
	}
	if (d)
		closedir(d);
	return all && cnt == threads;
}

int run_program(const char *name, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	if (!strcmp(name, "nothing"))
		return 0;
	if (!strcmp(name, "calls"))
		return calls();
	if (!strcmp(name, "storm"))
		return storm();
	if (!strcmp(name, "edge"))
		return edge();
	if (!strcmp(name, "signals"))
		return signals();
	if (!strcmp(name, "thread_exec"))
		return thread_exec();
	if (!strcmp(name, "nested"))
		return nested();
	if (!strcmp(name, "many"))
		return many();
	if (!strcmp(name, "running"))
		return running();
	if (!strcmp(name, "descriptors"))
		return descriptors();
	if (!strcmp(name, "hang"))
		return hang();
	if (!strcmp(name, "numbered"))
		return numbered(1), 0;
	if (!strcmp(name, "writers"))
		return writers();
	if (!strcmp(name, "interrupted"))
		return interrupted();
	if (!strcmp(name, "until_told"))
		return until_told();
	return -1;
}
