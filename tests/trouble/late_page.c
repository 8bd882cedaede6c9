/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * late_page FILE: a thread hangs in a write() from a page that is served by this very process (userfaultfd), and not before
 * SIGTERM. Meanwhile the main thread makes calls. FILE has the number of the process when the thread hangs, or is about to.
 *
 * late_page FILE MAPPED: the page is one of that file, of which process $SERVER is the server; it is stopped until SIGTERM.
 *
 * late_page FILE stack: a call with the stack pointer in such a page.
 *
 * Status 77: no userfaultfd.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../wait.h"

static char *page;
static struct uffdio_range range;
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

static int watch_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	const int u = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.start = (unsigned long)page;
	range.len = 4096;
	reg.range = range;
	if (u < 0 || ioctl(u, UFFDIO_API, &api) || ioctl(u, UFFDIO_REGISTER, &reg)) {
		fprintf(stderr, "SKIP: userfaultfd: %s\n", strerror(errno));
		exit(77);
	}
	return u;
}

static pid_t stop_server(const char *file)
{
	const pid_t server = (pid_t)atoi(getenv("SERVER") ? getenv("SERVER") : "0");

	const int fd = open(file, O_RDONLY);
	struct stat st;

	/* Before the first question the kernel takes such a file for empty. */
	page = fstat(fd, &st) ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED || server <= 0 || kill(server, SIGSTOP)) {
		perror(file);
		exit(1);
	}
	return server;
}

static int call_there(void)
{
#ifdef __x86_64__
	const char *top = page + 2048;
	long got = SYS_gettid;

	__asm__ volatile("mov %%rsp, %%r12\n\tmov %%rbp, %%r13\n\tmov %1, %%rsp\n\tmov %1, %%rbp\n\t"
			 "syscall\n\tmov %%r12, %%rsp\n\tmov %%r13, %%rbp"
			 : "+a"(got)
			 : "r"(top)
			 : "rcx", "r11", "r12", "r13", "memory");
	return got != getpid();
#else
	return 0;
#endif
}

static void tell(const char *name)
{
	FILE *f = fopen(name, "w");

	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f))
		exit(1);
}

int main(int argc, char **argv)
{
	const bool on_stack = argc == 3 && !strcmp(argv[2], "stack");
	const pid_t server = argc == 3 && !on_stack ? stop_server(argv[2]) : 0;
	const int u = server ? -1 : watch_page();
	struct pollfd faults = { .fd = u, .events = POLLIN };
	void *wrote = NULL;
	pthread_t t;

	if (on_stack)
		return call_there();
	signal(SIGTERM, on_term);
	pthread_create(&t, NULL, hang, NULL);
	if (!server && poll(&faults, 1, WAIT_LIMIT_MS) != 1) {
		fprintf(stderr, "nobody asks for the page\n");
		return 1;
	}
	tell(argv[1]);
	while (!stop) {
		syscall(SYS_getppid);
		wait_moment_us(10000); /* sleeps: a program that is watched */
	}
	if (server ? kill(server, SIGCONT) : ioctl(u, UFFDIO_ZEROPAGE, &(struct uffdio_zeropage){ .range = range }))
		return 1;
	pthread_join(t, &wrote);
	return (long)wrote != 100;
}
