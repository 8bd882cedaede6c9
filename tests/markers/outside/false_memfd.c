/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that calls itself the agent: the name of its thread is the agent's, and a descriptor of it reads as the
 * agent's memory. It is a FIFO, and could be any device. SIGTERM ends it: status 1 if somebody has opened the FIFO
 * meanwhile. Status 77: it cannot be made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/abi.h"

#define FILE_NAME "memfd:" ESPY_AGENT_MEMFD " (deleted)"

static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

/* Of a file system that is mounted nowhere, a path begins at that file system. */
static int nowhere(void)
{
	const int fs = (int)syscall(SYS_fsopen, "tmpfs", 0);

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	return (int)syscall(SYS_fsmount, fs, 0, 0);
}

int main(void)
{
	const int root = nowhere();
	struct pollfd fifo = { .events = POLLIN };
	sigset_t term, before;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	signal(SIGTERM, on_term);
	if (root < 0 || mkfifoat(root, FILE_NAME, 0600)) {
		printf("SKIP: a file system of its own: %s\n", strerror(errno));
		return 77;
	}
	fifo.fd = openat(root, FILE_NAME, O_RDONLY | O_NONBLOCK);
	prctl(PR_SET_NAME, ESPY_AGENT_COMM);
	printf("ready\n");
	fflush(stdout);
	while (!stop)
		sigsuspend(&before);
	/* The kernel remembers a writer that has gone again. */
	return poll(&fifo, 1, 0) != 0;
}
