/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * late_page FILE: a thread hangs in a write() from a page that is served by this very process (userfaultfd), and not before
 * SIGTERM. Meanwhile the main thread makes calls. FILE is there when the thread hangs. Status 77: no userfaultfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../wait.h"

static char *page;
static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void *hang(void *arg)
{
	int null = open("/dev/zero", O_WRONLY), p[2];

	(void)arg;
	if (pipe(p) || null < 0)
		return NULL;
	return (void *)write(p[1], page, 100);
}

int main(int argc, char **argv)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = { 0 };
	int u = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct pollfd faults = { .fd = u, .events = POLLIN };
	void *wrote = NULL;
	pthread_t t;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reg.range.start = (unsigned long)page;
	reg.range.len = 4096;
	zero.range = reg.range;
	if (argc != 2 || u < 0 || ioctl(u, UFFDIO_API, &api) || ioctl(u, UFFDIO_REGISTER, &reg)) {
		fprintf(stderr, "SKIP: userfaultfd: %s\n", strerror(errno));
		return 77;
	}
	signal(SIGTERM, on_term);
	pthread_create(&t, NULL, hang, NULL);
	if (poll(&faults, 1, WAIT_LIMIT_MS) != 1) {
		fprintf(stderr, "nobody asks for the page\n");
		return 1;
	}
	close(open(argv[1], O_WRONLY | O_CREAT, 0600));
	while (!stop) {
		syscall(SYS_getppid);
		wait_moment_us(10000); /* sleeps: a program that is watched */
	}
	if (ioctl(u, UFFDIO_ZEROPAGE, &zero))
		return 1;
	pthread_join(t, &wrote);
	return (long)wrote != 100;
}
