/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject_many COUNT LIBRARY PROGRAM [ARGS]: starts PROGRAM, loads LIBRARY into it while it runs, and looks whether it
 * lives on and works; COUNT times. Each must live. Tells the median, the ninth of ten and the longest pause.
 * inject_many -x COUNT LIBRARY PROGRAM [ARGS]: COUNT times into one PROGRAM that executes itself again and again, with
 * other arguments each time. It must go on doing so, and have no tracer afterwards.
 * inject_many -k COUNT LIBRARY ...: LIBRARY takes half a second to be loaded, in the middle of which who does it is killed.
 *
 * COUNT is for a machine that has the time: behind ESPY_TEST_SECONDS (15) no further round begins, once there were five.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "source/agent_control.h"
#include "source/agent_inject.h"

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Is there time for this round, of that many? */
static bool goes_round(int round, int count)
{
	static time_t end;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!end) {
		const char *seconds = getenv("ESPY_TEST_SECONDS");

		end = now.tv_sec + (seconds ? atoi(seconds) : 15);
	}
	return round < count && (round < 5 || now.tv_sec < end);
}

static int field(pid_t pid, const char *name)
{
	char path[64], line[256];
	int value = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
			value = atoi(line + strlen(name) + 1);
	if (f)
		fclose(f);
	return value;
}

/* How many threads are not scheduled as everybody. */
static int favoured(pid_t pid)
{
	char path[64];
	int cnt = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));) {
		const pid_t tid = atoi(e->d_name);
		/* One that has just ended counts as none. */
		const int policy = tid > 0 ? sched_getscheduler(tid) : -1;

		cnt += policy > 0 || (policy == 0 && getpriority(PRIO_PROCESS, (id_t)tid) < 0);
	}
	if (d)
		closedir(d);
	return cnt;
}

/* Does it live, alone and as before, within a minute? If not it is told. */
static bool lives(pid_t pid, int round)
{
	int status;

	for (int k = 0; k < 60000 && (field(pid, "TracerPid") > 0 || favoured(pid)); k++)
		usleep(1000);

	if (waitpid(pid, &status, WNOHANG)) {
		printf("not ok %d: it died: status %#x\n", round, status);
		return false;
	}
	if (field(pid, "TracerPid"))
		printf("not ok %d: it is still traced\n", round);
	else if (favoured(pid))
		printf("not ok %d: the scheduler favours it\n", round);
	else
		return true;
	return false;
}

static bool maps(pid_t pid, const char *library)
{
	char path[64], line[512];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *f = fopen(path, "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, library) != NULL;
	if (f)
		fclose(f);
	return found;
}

static int start(char **argv)
{
	const pid_t pid = fork();

	if (!pid) {
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static int kill_many(int count, char **argv)
{
	int i, bad = 0, missed = 0, status;

	for (i = 0; goes_round(i, count); i++) {
		struct espy_inject_result r;
		const pid_t pid = start(argv + 1);

		usleep(20000 + (unsigned)i * 977u % 40000u);
		const pid_t injector = fork();

		if (!injector)
			_exit(espy_inject(pid, argv[0], &(struct espy_inject_how){ .held = false }, &r) != 0);
		for (int k = 0; k < 60000 && !maps(pid, argv[0]); k++)
			usleep(1000);
		usleep(100000);
		const bool favours = favoured(pid);

		if (waitpid(injector, &status, WNOHANG)) {
			/* This process ran too late to meet the middle: the round shows nothing. */
			missed++;
		} else {
			kill(injector, SIGKILL);
			waitpid(injector, &status, 0);
			if (favours) {
				printf("not ok %d: the scheduler favours it\n", i);
				bad = 1;
			}
		}
		usleep(1000000);
		bad |= !lives(pid, i);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	if (missed == i) {
		printf("not ok the middle of it was met in none of %d rounds\n", i);
		bad = 1;
	}
	printf("%s %s: killed in the middle of it %d times\n", bad ? "not ok" : "ok", argv[2] ? argv[2] : argv[1], i - missed);
	return bad;
}

static void read_arguments(pid_t pid, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	FILE *f = fopen(path, "r");
	const size_t got = f ? fread(text, 1, size - 1, f) : 0;

	if (f)
		fclose(f);
	for (size_t i = 0; i < got; i++)
		text[i] = text[i] ? text[i] : ' ';
	text[got] = 0;
}

/* Does it go on executing itself? Four times more, each within a minute. */
static bool goes_on(pid_t pid)
{
	char was[256], now[256];

	for (unsigned times = 0; times < 4; times++) {
		read_arguments(pid, was, sizeof(was));
		strcpy(now, was);
		for (unsigned i = 0; i < 60000 && (!now[0] || !strcmp(was, now)); i++) {
			siginfo_t dead = { 0 };

			usleep(1000);
			if (waitid(P_PID, (id_t)pid, &dead, WEXITED | WNOHANG | WNOWAIT) || dead.si_pid)
				return false;
			read_arguments(pid, now, sizeof(now));
		}
		if (!now[0] || !strcmp(was, now))
			return false;
	}
	return true;
}

/* Threads of it that this process still traces. */
static int traced(pid_t pid)
{
	char path[64];
	int cnt = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));)
		cnt += atoi(e->d_name) > 0 && field(atoi(e->d_name), "TracerPid") == getpid();
	if (d)
		closedir(d);
	return cnt;
}

static int churn(int count, char **argv)
{
	const pid_t pid = start(argv + 1);
	int i, bad = 0, loaded = 0, status;

	for (i = 0; goes_round(i, count) && !bad; i++) {
		struct espy_inject_result r;

		usleep((unsigned)i * 977u % 7000u);
		const int err = espy_inject(pid, argv[0], &(struct espy_inject_how){ .patience_ms = 500 }, &r);

		loaded += !err;
		for (unsigned k = 0; k < r.left_cnt; k++)
			while (espy_inject_let_go(&r.left[k], 1))
				usleep(1000);
		if (err && err != -EAGAIN && err != -ESTALE && err != -EBUSY) {
			printf("not ok %d: %s: %s\n", i, strerror(-err), r.why);
			bad = 1;
		}
		if (traced(pid)) {
			printf("not ok %d: threads that are still traced: %d (%s)\n", i, traced(pid), strerror(-err));
			bad = 1;
		}
		if (!goes_on(pid)) {
			printf("not ok %d: the program does not go on (%s)\n", i, strerror(-err));
			bad = 1;
		}
	}
	if (waitpid(pid, &status, WNOHANG)) {
		printf("not ok it died: status %#x\n", status);
		return 1;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!bad && loaded < i / 10) {
		printf("not ok only %d of %d times the library was loaded: that proves nothing\n", loaded, i);
		bad = 1;
	}
	printf("%s %s: %d times, loaded %d times\n", bad ? "not ok" : "ok", argv[2] ? argv[2] : argv[1], i, loaded);
	return bad;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 4 && !strcmp(argv[1], "-x"))
		return churn(atoi(argv[2]), argv + 3);
	if (argc > 4 && !strcmp(argv[1], "-k"))
		return kill_many(atoi(argv[2]), argv + 3);
	int count = argc > 3 ? atoi(argv[1]) : 0, i;
	uint64_t *pauses = calloc((size_t)count + 1, sizeof(*pauses)),
		 *stands = calloc((size_t)count + 1, sizeof(*stands));
	unsigned tries = 0;
	int bad = 0;

	if (count <= 0 || !pauses || !stands)
		return 2;
	for (i = 0; goes_round(i, count); i++) {
		struct espy_inject_result r;
		struct espy_agent_link link;
		char why[320];
		const pid_t pid = start(argv + 3);
		int status, err = 0;

		/* At other moments of its life each time. */
		usleep(20000 + (unsigned)i * 977u % 40000u);
		/* -EAGAIN: no safe point in time, which a program that is nearly always in malloc has now and then. */
		for (int attempt = 0; attempt < 3; attempt++) {
			err = espy_inject(pid, argv[2], &(struct espy_inject_how){ .held = false }, &r);
			if (err != -EAGAIN)
				break;
			printf("# %d: no safe point: %s\n", i, r.why);
		}
		if (err) {
			printf("not ok %d: %s: %s\n", i, strerror(-err), r.why);
			bad = 1;
		}
		pauses[i] = r.paused_ns;
		stands[i] = r.longest_ns;
		tries += r.tries;
		usleep(30000);
		if (!lives(pid, i))
			bad = 1;
		for (int k = 0; !err && k < 6000 && (err = espy_agent__attach(&link, pid, why, sizeof(why))) == -ENOENT;
		     k++) {
			usleep(10000);
			err = 0;
		}
		if (err) {
			printf("not ok %d: no agent answers: %s\n", i, strerror(-err));
			bad = 1;
		} else {
			espy_agent__detach(&link);
		}
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	count = i;
	qsort(pauses, (size_t)count, sizeof(*pauses), compare);
	qsort(stands, (size_t)count, sizeof(*stands), compare);
	printf("%s %s: %d times, stops in all %u; pause: median %llu us, 9 of 10 %llu us, longest %llu us; one stop: median %llu us\n",
	       bad ? "not ok" : "ok", argv[4] ? argv[4] : argv[3], count, tries,
	       (unsigned long long)pauses[count / 2] / 1000, (unsigned long long)pauses[(count * 9 - 1) / 10] / 1000,
	       (unsigned long long)pauses[count - 1] / 1000,
	       (unsigned long long)stands[count / 2] / 1000);
	free(pauses);
	free(stands);
	return bad;
}
