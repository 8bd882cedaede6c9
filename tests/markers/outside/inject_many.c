/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject_many COUNT LIBRARY PROGRAM [ARGS]: starts PROGRAM, loads LIBRARY into it while it runs, and looks whether it
 * lives on and works; COUNT times. Each must live. Tells the median, the ninth of ten and the longest pause.
 * inject_many -x COUNT LIBRARY PROGRAM [ARGS]: COUNT times into one PROGRAM that executes itself again and again, with
 * other arguments each time. It must go on doing so, and have no tracer afterwards.
 * inject_many -k COUNT LIBRARY ...: LIBRARY (slow.c) is loaded until it is told to go on, and before that who does it is killed.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/agent_control.h"
#include "source/agent_inject.h"
#include "tests/wait.h"

/* Of -k: the library writes to the first when it is being loaded, and waits for the second. */
static int loading[2] = { -1, -1 }, go_on[2] = { -1, -1 };

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
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

static bool died(pid_t pid)
{
	siginfo_t dead = { 0 };

	return waitid(P_PID, (id_t)pid, &dead, WEXITED | WNOHANG | WNOWAIT) || dead.si_pid;
}

/* The thread sleeps in a call that is the program's own and may last: not in one that a library makes which is being loaded. */
static bool rests(pid_t pid, pid_t tid)
{
	static const long lasting[] = { SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall, SYS_pause, SYS_epoll_wait, SYS_read };
	char path[64];
	unsigned long arg = 0;
	long nr = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	FILE *f = fopen(path, "r");

	if (f && fscanf(f, "%ld 0x%lx", &nr, &arg) < 1)
		nr = -1;
	if (f)
		fclose(f);
	for (unsigned i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
		if (nr == lasting[i])
			return nr != SYS_read || go_on[0] < 0 || arg != (unsigned long)go_on[0];
	return false;
}

/* The state of a thread, and what it has computed, in hundredths of a second; 0: it is gone, or the agent's own. */
static char state_of(pid_t pid, pid_t tid, unsigned long *ticks)
{
	char path[64], line[512], *at;
	unsigned long user = 0, kernel = 0;
	char state = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	FILE *f = fopen(path, "r");

	if (f && fgets(line, sizeof(line), f) && !strstr(line, "(espy-agent)") && (at = strrchr(line, ')')) &&
	    sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user, &kernel) != 3)
		state = 0;
	if (f)
		fclose(f);
	*ticks = user + kernel;
	return state;
}

/*
 * Is each thread where it was, or does it go on: does it sleep in a call of the program's, or has it computed for 20 ms since its
 * number was noted in *w? Asked again and again.
 */
struct work {
	struct {
		pid_t tid;
		unsigned long from;
	} threads[64];
	unsigned cnt;
};

static bool works(pid_t pid, struct work *w)
{
	char path[64];
	bool all = true;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d));) {
		const pid_t tid = atoi(e->d_name);
		unsigned long ticks = 0;
		const char state = tid > 0 ? state_of(pid, tid, &ticks) : 0;
		unsigned k = 0;

		if (!state || state == 'Z' || state == 'X')
			continue;
		while (k < w->cnt && w->threads[k].tid != tid)
			k++;
		if (k == w->cnt && k < sizeof(w->threads) / sizeof(w->threads[0])) {
			w->threads[k].tid = tid;
			w->threads[k].from = ticks;
			w->cnt++;
		}
		if (k < w->cnt && ticks >= w->threads[k].from + 2)
			continue;
		all &= state == 'S' && rests(pid, tid);
	}
	if (d)
		closedir(d);
	return all;
}

/* Does it live, alone and as before, and work, within a minute? If not it is told. */
static bool lives(pid_t pid, int round)
{
	struct work w = { .cnt = 0 };
	bool working = false;
	int status;

	WAIT_UNTIL(died(pid) || (field(pid, "TracerPid") <= 0 && !favoured(pid) && (working = works(pid, &w))));
	if (died(pid)) {
		waitpid(pid, &status, WNOHANG);
		printf("not ok %d: it died: status %#x\n", round, status);
		return false;
	}
	if (field(pid, "TracerPid"))
		printf("not ok %d: it is still traced\n", round);
	else if (favoured(pid))
		printf("not ok %d: the scheduler favours it\n", round);
	else if (!working)
		printf("not ok %d: it lives, but it does not work: a thread neither computes nor is in the call it was in\n", round);
	else
		return true;
	return false;
}

static int start(char **argv)
{
	const pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Without waiting. */
static bool is_loading(void)
{
	struct pollfd p = { .fd = loading[0], .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static int kill_many(int count, char **argv)
{
	int i, bad = 0, missed = 0, status;
	char pipes[32], c;

	if (pipe(loading) || pipe(go_on)) {
		perror("not ok pipe");
		return 1;
	}
	snprintf(pipes, sizeof(pipes), "%d,%d", loading[1], go_on[0]);
	setenv("SLOW_PIPES", pipes, 1);
	for (i = 0; i < count; i++) {
		struct espy_inject_result r;
		const pid_t pid = start(argv + 1);

		wait_moment_us(20000 + (unsigned)i * 977u % 40000u); /* sleeps: a moment of chance */
		const pid_t injector = fork();

		if (!injector)
			_exit(espy_inject(pid, argv[0], &(struct espy_inject_how){ .held = false }, &r) != 0);
		/* From then on the library is being loaded, until it is told to go on. */
		if (!WAIT_UNTIL(is_loading() || died(injector) || died(pid))) {
			printf("not ok %d: the library is not loaded within a minute\n", i);
			bad = 1;
		}
		const bool favours = favoured(pid), middle = is_loading();

		if (middle && (read(loading[0], &c, 1) != 1))
			bad = 1;
		if (!middle || died(injector)) {
			/* No safe point, or this process ran too late to meet the middle: the round shows nothing. */
			missed++;
		} else if (favours) {
			printf("not ok %d: the scheduler favours it\n", i);
			bad = 1;
		}
		kill(injector, SIGKILL);
		waitpid(injector, &status, 0);
		if (middle && write(go_on[1], "g", 1) != 1)
			bad = 1;
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
		if (!WAIT_UNTIL(died(pid) || (read_arguments(pid, now, sizeof(now)), now[0] && strcmp(was, now))) || died(pid))
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
	const uint64_t end = wait_now_ms() + WAIT_LIMIT_MS;
	int i, bad = 0, loaded = 0, status;

	/* A round whose moment was bad loads nothing; where too many were bad, there are more rounds, for up to a minute. */
	for (i = 0; (i < count || (loaded < (count + 9) / 10 && wait_now_ms() < end)) && !bad; i++) {
		struct espy_inject_result r;

		wait_moment_us((unsigned)i * 977u % 7000u); /* sleeps: a moment of chance */
		const int err = espy_inject(pid, argv[0], &(struct espy_inject_how){ .patience_ms = 500 }, &r);

		loaded += !err;
		for (unsigned k = 0; k < r.left_cnt; k++)
			if (!WAIT_UNTIL(!espy_inject_let_go(&r.left[k], 1))) {
				printf("not ok %d: thread %d is not let go of within a minute\n", i, (int)r.left[k].tid);
				bad = 1;
			}
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
	if (!bad && loaded < (count + 9) / 10) {
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
	for (i = 0; i < count; i++) {
		struct espy_inject_result r;
		struct espy_agent_link link;
		char why[320];
		const pid_t pid = start(argv + 3);
		int status, err = 0;

		/* At other moments of its life each time. */
		wait_moment_us(20000 + (unsigned)i * 977u % 40000u); /* sleeps: a moment of chance */
		/* -EAGAIN: no safe point in eight seconds, which a program that is nearly always in malloc has now and then. */
		for (int attempt = 0; attempt < 8; attempt++) {
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
		if (!lives(pid, i))
			bad = 1;
		if (!err)
			WAIT_UNTIL((err = espy_agent__attach(&link, pid, why, sizeof(why))) != -ENOENT);
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
