/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * guard COMMAND [ARGS]: runs one test so that it cannot disturb the next. The test has a session, a cgroup and a folder
 * for its files ($TMPDIR) of its own. Behind its end guard looks for processes and files that are left, says which, ends
 * and removes them; the test has failed then. Without the right to make cgroups guard finds the processes that the test
 * has orphaned.
 *
 * A script that reads a line from the FIFO $ESPY_TEST_TICKS waits for 20 ms: it needs no program that sleeps.
 *
 * With ESPY_TEST_USAGE=FILE a line goes there: seconds of CPU time, user and system, and the command.
 *
 * Ends with the status of the test, or by the signal that killed it. A signal to guard ends the test and all that it started.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/wait.h"

/* What a test has just ended may still be on its way out. */
#define GRACE_MS 20000u
#define MOST 4096

static char group[4096]; /* folder of the cgroup; empty: there is none */
static char scratch[64];
static char ticks[sizeof(scratch) + sizeof("/.ticks")];
static volatile sig_atomic_t told_to_end;
static pid_t child;

/* ---- the cgroup */

/* A hierarchy in which no test moves processes itself comes first. */
static bool make_group(void)
{
	static const char *const wanted[] = { "pids", "name=systemd", "cgroup2" };
	char line[4096], where[2048], type[64], options[1024];

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		FILE *f = fopen("/proc/self/mounts", "re");

		while (f && fgets(line, sizeof(line), f)) {
			if (sscanf(line, "%*s %2047s %63s %1023s", where, type, options) != 3)
				continue;
			if (strcmp(type, "cgroup2") ? strcmp(type, "cgroup") || !strstr(options, wanted[i]) : strcmp(wanted[i], type) != 0)
				continue;
			snprintf(group, sizeof(group), "%s/espy-test-%d", where, (int)getpid());
			if (!mkdir(group, 0755)) {
				fclose(f);
				return true;
			}
		}
		if (f)
			fclose(f);
	}
	group[0] = 0;
	return false;
}

static bool join_group(void)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	const bool joined = write(fd, "0", 1) == 1;

	close(fd);
	return joined;
}

/* ---- what is left */

static size_t add_from(const char *path, pid_t *pids, size_t cnt)
{
	FILE *f = fopen(path, "re");
	int pid;

	while (f && cnt < MOST && fscanf(f, "%d", &pid) == 1) {
		size_t i = 0;

		while (i < cnt && pids[i] != pid)
			i++;
		if (i == cnt && pid > 0)
			pids[cnt++] = pid;
	}
	if (f)
		fclose(f);
	return cnt;
}

/* Processes of the group, and those whose parents have ended: they are ours then. */
static size_t left(pid_t *pids)
{
	char path[4200];
	size_t cnt = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	cnt = add_from(path, pids, cnt);
	if (group[0]) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", group);
		cnt = add_from(path, pids, cnt);
	}
	return cnt;
}

static void tell(pid_t pid)
{
	char path[64], line[512], state = '?', name[64] = "?";
	FILE *f;
	int fd;
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f))
		sscanf(line, "%*d (%63[^)]) %c", name, &state);
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	for (ssize_t i = 0; i + 1 < n; i++)
		if (!line[i])
			line[i] = ' ';
	line[n > 0 ? n : 0] = 0;
	printf("left behind: process %d (%s), state %c: %s\n", (int)pid, name, state, line);
}

/* Returns whether any process was left; then none is any more. */
static bool end_processes(void)
{
	static pid_t pids[MOST];
	size_t cnt = 0;
	bool any = false;

	if (!told_to_end && WAIT_UNTIL_MS(!left(pids) || told_to_end, GRACE_MS) && !told_to_end)
		return false;
	for (const uint64_t end = wait_now_ms() + GRACE_MS; (cnt = left(pids)) && wait_now_ms() < end;) {
		for (size_t i = 0; i < cnt; i++) {
			if (!any)
				tell(pids[i]);
			kill(pids[i], SIGKILL);
		}
		any = true;
		wait_moment_us(2000); /* sleeps: in a polling loop */
	}
	for (size_t i = 0; i < cnt; i++)
		printf("left behind: process %d cannot be ended\n", (int)pids[i]);
	return any;
}

static bool any_file;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	if (!strcmp(path, scratch))
		return rmdir(path), 0;
	if (ftw->level == 1 && strcmp(path, ticks) != 0) {
		printf("left behind: %s\n", path);
		any_file = true;
	}
	if (flag == FTW_DP)
		rmdir(path);
	else
		unlink(path);
	return 0;
}

/* ---- the clock of its scripts */

/* Gives each reader of the FIFO a line, 20 ms after the first has opened it. It rests while there is no reader. */
static void *tick(void *unused)
{
	static const char lines[] = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"; /* for as many at a time */

	(void)unused;
	for (;;) {
		const int fd = open(ticks, O_WRONLY | O_CLOEXEC);

		wait_moment_us(20000); /* sleeps: whoever reads, waits for it */
		if (fd < 0)
			continue;
		if (write(fd, lines, sizeof(lines) - 1) < 0 && errno != EPIPE)
			fprintf(stderr, "guard: %s: %s\n", ticks, strerror(errno));
		close(fd);
	}
	return NULL;
}

/* Begins the clock. Its thread takes no signals: those are for the thread that waits. */
static void begin_ticks(void)
{
	sigset_t all, before;
	pthread_t thread;

	snprintf(ticks, sizeof(ticks), "%s/.ticks", scratch);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!mkfifo(ticks, 0600) && !chmod(ticks, 0666) && !pthread_create(&thread, NULL, tick, NULL))
		setenv("ESPY_TEST_TICKS", ticks, 1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the test */

static void tell_usage(char **argv)
{
	const char *path = getenv("ESPY_TEST_USAGE");
	char line[1024];
	struct rusage u;
	size_t n;
	int fd;

	if (!path || getrusage(RUSAGE_CHILDREN, &u))
		return;
	n = (size_t)snprintf(line, sizeof(line), "%ld.%02ld %ld.%02ld", u.ru_utime.tv_sec, u.ru_utime.tv_usec / 10000, u.ru_stime.tv_sec,
			     u.ru_stime.tv_usec / 10000);
	for (; *argv && n + strlen(*argv) + 2 < sizeof(line); argv++)
		n += (size_t)sprintf(line + n, " %s", *argv);
	line[n++] = '\n';
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0 && (write(fd, line, n) < 0 || close(fd)))
		fprintf(stderr, "guard: %s: %s\n", path, strerror(errno));
}

static void on_signal(int sig)
{
	told_to_end = sig;
	if (child > 0)
		kill(-child, SIGKILL);
}

static void run_test(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	if (group[0] && !join_group()) {
		fprintf(stderr, "guard: %s: %s\n", group, strerror(errno));
		_exit(99);
	}
	execvp(argv[0], argv);
	fprintf(stderr, "guard: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* The status of the test. What it has orphaned is ours meanwhile: a test may wait until such a process is gone. */
static int wait_for_test(void)
{
	pid_t pid;
	int status;

	do
		pid = waitpid(-1, &status, 0);
	while (pid != child && (pid > 0 || errno == EINTR));
	child = 0;
	return status;
}

int main(int argc, char **argv)
{
	const struct sigaction act = { .sa_handler = on_signal };
	int status;
	bool bad;

	if (argc < 2) {
		fprintf(stderr, "usage: guard COMMAND [ARGS]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	make_group();
	snprintf(scratch, sizeof(scratch), "/tmp/espy-test.XXXXXX");
	if (!mkdtemp(scratch) || chmod(scratch, 01777)) {
		fprintf(stderr, "guard: %s: %s\n", scratch, strerror(errno));
		return 99;
	}
	setenv("TMPDIR", scratch, 1);
	begin_ticks();
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	child = fork();
	if (child < 0) {
		fprintf(stderr, "guard: fork: %s\n", strerror(errno));
		return 99;
	}
	if (!child)
		run_test(argv + 1);
	status = wait_for_test();
	bad = end_processes();
	nftw(scratch, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	bad |= any_file;
	if (group[0])
		(void)WAIT_UNTIL_MS(!rmdir(group), GRACE_MS);
	tell_usage(argv + 1);
	if (told_to_end)
		return 128 + told_to_end;
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	return WEXITSTATUS(status) == 0 && bad ? 1 : WEXITSTATUS(status);
}
