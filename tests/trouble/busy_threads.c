/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * busy_threads PIDFILE THREADS [MS [NAP]]: threads that write to pipes of their own and read back what they wrote, for
 * so long or until SIGTERM; every byte is checked. After each 64 rounds a thread naps for NAP microseconds. Prints "all
 * is well ROUNDS". The count of rounds also stands in PIDFILE.n (mapped), so that others see whether there is progress.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static atomic_long *rounds;
static atomic_bool bad, stop;
static struct timespec nap;

static void *body(void *arg)
{
	unsigned x = (unsigned)(size_t)arg * 2654435761u + 1, y;
	int p[2];

	if (pipe(p))
		bad = true;
	while (!bad && !stop) {
		x = x * 1664525u + 1013904223u;
		y = 0;
		if (write(p[1], &x, sizeof(x)) != sizeof(x) || read(p[0], &y, sizeof(y)) != sizeof(y) || x != y)
			bad = true;
		if (atomic_fetch_add(rounds, 1) % 64 == 63 && nap.tv_nsec)
			nanosleep(&nap, NULL); /* sleeps: a program that is watched */
	}
	close(p[0]);
	close(p[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	char name[4096];
	pthread_t t[2000];
	int n = argc > 2 ? atoi(argv[2]) : 0, ms = argc > 3 ? atoi(argv[3]) : 0;
	struct timespec begin, now, wait;
	sigset_t term;

	nap.tv_nsec = argc > 4 ? atol(argv[4]) * 1000 : 0;
	if (n < 1 || n > 2000)
		return 2;
	snprintf(name, sizeof(name), "%s.n", argv[1]);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	FILE *f = fopen(argv[1], "w");

	if (fd < 0 || !f || ftruncate(fd, 4096))
		return 2;
	rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rounds == MAP_FAILED)
		return 2;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t[i], NULL, body, (void *)(size_t)(i + 1)))
			return 2;
	fprintf(f, "%d\n", getpid());
	fclose(f);
	/* A tracer that attaches may interrupt it. */
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		const long left = ms - (now.tv_sec - begin.tv_sec) * 1000 - (now.tv_nsec - begin.tv_nsec) / 1000000;

		wait = (struct timespec){ left / 1000, left % 1000 * 1000000 };
		if (ms && left <= 0)
			break;
	} while (sigtimedwait(&term, NULL, ms ? &wait : NULL) != SIGTERM);
	stop = true;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("%s %ld\n", bad ? "bad data" : "all is well", atomic_load(rounds));
	return bad;
}
