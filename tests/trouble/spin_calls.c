/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spin_calls PIDFILE: makes calls until SIGTERM, for ten minutes at the most, and says that all is well. Their number stands in
 * PIDFILE.n (mapped).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "w") : NULL;
	time_t end = time(NULL) + 600;

	char name[4096];
	volatile unsigned long *calls;

	if (!f)
		return 2;
	snprintf(name, sizeof(name), "%s.n", argv[1]);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || ftruncate(fd, 4096))
		return 2;
	calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (calls == MAP_FAILED)
		return 2;
	signal(SIGTERM, on_term);
	fprintf(f, "%d\n", getpid());
	fclose(f);
	while (!stop && time(NULL) < end) {
		if (syscall(SYS_getpid) != getpid())
			return 1;
		++*calls;
	}
	puts("all is well");
	return 0;
}
