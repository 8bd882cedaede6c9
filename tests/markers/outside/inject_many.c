/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * inject_many COUNT LIBRARY PROGRAM [ARGS]: starts PROGRAM, loads LIBRARY into it while it runs, and looks whether it
 * lives on and works; COUNT times. Each must live. Tells the median and the longest pause.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/agent/control.h"
#include "source/agent/inject.h"

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

int main(int argc, char **argv)
{
	const int count = argc > 3 ? atoi(argv[1]) : 0;
	uint64_t *pauses = calloc((size_t)count + 1, sizeof(*pauses)),
		 *stands = calloc((size_t)count + 1, sizeof(*stands));
	unsigned tries = 0;
	int bad = 0;

	if (count <= 0 || !pauses || !stands)
		return 2;
	for (int i = 0; i < count; i++) {
		struct espy_inject_result r;
		struct espy_agent_link link;
		char why[320];
		pid_t pid = fork();
		int status, err = 0;

		if (!pid) {
			execvp(argv[3], argv + 3);
			_exit(127);
		}
		/* At other moments of its life each time. */
		usleep(20000 + (unsigned)i * 977u % 40000u);
		/* -EAGAIN: no safe point in time, which a program that is nearly always in malloc has now and then. */
		for (int attempt = 0; attempt < 3; attempt++) {
			err = espy_inject(pid, argv[2], false, &r);
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
		if (waitpid(pid, &status, WNOHANG)) {
			printf("not ok %d: it died: status %#x\n", i, status);
			bad = 1;
			continue;
		}
		if (field(pid, "TracerPid")) {
			printf("not ok %d: it is still traced\n", i);
			bad = 1;
		}
		for (int k = 0; !err && k < 100 && (err = espy_agent__attach(&link, pid, why, sizeof(why))) == -ENOENT;
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
	qsort(pauses, (size_t)count, sizeof(*pauses), compare);
	qsort(stands, (size_t)count, sizeof(*stands), compare);
	printf("%s %s: %d times, stops in all %u; pause: median %llu us, longest %llu us; one stop: median %llu us\n",
	       bad ? "not ok" : "ok", argv[4] ? argv[4] : argv[3], count, tries,
	       (unsigned long long)pauses[count / 2] / 1000, (unsigned long long)pauses[count - 1] / 1000,
	       (unsigned long long)stands[count / 2] / 1000);
	free(pauses);
	free(stands);
	return bad;
}
