/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes that live for less than a look at them takes: short mark N (one mark), short forks COUNT [KEEP] (as many
 * children with one mark each, KEEP at a time), short runs COUNT (each another program: this one, with "mark"),
 * short ticks (until it is killed, or there is the file $GOES_UNTIL), short spawns (another that ticks), short bears FILE (forks a child that
 * ticks as soon as there is the file), short forking COUNT [FILE]
 * (until it is killed; so many bytes in FILE as there were rounds), short leaves MS (ends at once, its child has the mark, and gets
 * a processor after MS milliseconds), short waits COUNT MS (as many children with one mark each, each of which gets a processor after MS).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "espy/mark.h"

extern char **environ;

/* A child that waits for a processor, before anything else runs in it: handlers are called in the order they came. */
static int late_ms;

static void late(void)
{
	usleep((useconds_t)late_ms * 1000); /* sleeps: stands for a processor that others have */
}

static void first_of_all(void)
{
	pthread_atfork(NULL, NULL, late);
}
__attribute__((section(".preinit_array"), used)) static void (*const before_the_agent)(void) = first_of_all;

static void forks(int cnt, int keep)
{
	for (int i = 0; i < cnt; i++) {
		if (!fork()) {
			MARK(app_short, "i=%d", i);
			_exit(0);
		}
		if (i >= keep - 1)
			wait(NULL);
	}
	while (wait(NULL) > 0)
		;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Prints the longest time between two ticks, in milliseconds. */
static void ticks(void)
{
	const char *end = getenv("GOES_UNTIL");
	long longest = 0, last = now_ms();

	for (int i = 0; !end || access(end, F_OK); i++) {
		MARK(app_short, "i=%d", i);
		usleep(10000); /* sleeps: a beat */
		const long now = now_ms();

		longest = now - last > longest ? now - last : longest;
		last = now;
	}
	printf("longest %ld\n", longest);
}

static void bears(const char *when)
{
	while (access(when, F_OK))
		usleep(10000); /* sleeps: until it is told */
	if (!fork())
		ticks();
	wait(NULL);
}

/* Again and again as many children, which tell whose they are. */
static void forking(int cnt, const char *beats)
{
	const int fd = beats ? open(beats, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
	const pid_t own = getpid();

	for (;;) {
		for (int i = 0; i < cnt; i++)
			if (!fork()) {
				MARK(app_short, "i=%d, n=%d", i, -own);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
		if (fd >= 0 && write(fd, ".", 1) != 1)
			_exit(5);
		usleep(100000); /* sleeps: others come to run */
	}
}

/* By turns: fork and exec, posix_spawn. */
static void runs(char *self, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		char word[] = "mark", number[16];
		char *args[] = { self, word, number, NULL };
		pid_t pid;
		int status;

		snprintf(number, sizeof(number), "%d", i);
		if (i % 2) {
			if (posix_spawn(&pid, self, NULL, NULL, args, environ))
				_exit(3);
		} else {
			pid = fork();
			if (!pid) {
				execv(self, args);
				_exit(3);
			}
		}
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(4);
	}
}

/* One program that ticks. */
static void spawns(char *self)
{
	char word[] = "ticks";
	char *args[] = { self, word, NULL };
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, args, environ))
		_exit(3);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const int n = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "mark"))
		MARK(app_short, "i=%d", n);
	else if (!strcmp(argv[1], "forks"))
		forks(n, argc > 3 ? atoi(argv[3]) : 1);
	else if (!strcmp(argv[1], "runs"))
		runs(argv[0], n);
	else if (!strcmp(argv[1], "spawns"))
		spawns(argv[0]);
	else if (!strcmp(argv[1], "ticks"))
		ticks();
	else if (!strcmp(argv[1], "bears") && argc > 2)
		bears(argv[2]);
	else if (!strcmp(argv[1], "forking"))
		forking(n, argc > 3 ? argv[3] : NULL);
	else if (!strcmp(argv[1], "waits") && argc > 3) {
		late_ms = atoi(argv[3]);
		forks(n, 1);
	} else if (!strcmp(argv[1], "leaves")) {
		late_ms = n;
		if (!fork())
			MARK(app_short, "i=%d", 0);
	}
	return 0;
}
