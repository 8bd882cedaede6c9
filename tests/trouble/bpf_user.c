/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bpf_user FILE: what another user of BPF meets with. Again and again it loads a program, attaches it to a tracepoint and lets go
 * of it, for which the kernel waits until every task has left the sleepable BPF programs that it is in. FILE tells
 * after each round: rounds, the longest so far in milliseconds. Ends by a signal. Status 77: it cannot be done here.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "../wait.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int load(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_TRACEPOINT, .insns = (uintptr_t)insns, .insn_cnt = 2,
				.license = (uintptr_t)"GPL" };

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* The file system may be mounted nowhere. */
static long event_id(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", 0), root, fd;
	char text[32] = "";

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	root = (int)syscall(SYS_fsmount, fs, 0, 0);
	fd = openat(root, "events/sched/sched_process_exec/id", O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	close(root);
	close(fs);
	return *text ? strtol(text, NULL, 10) : -1;
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = (uint64_t)event_id() };
	uint64_t longest = 0;
	int out = argc == 2 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	for (unsigned rounds = 1; out >= 0; rounds++) {
		uint64_t start = now_ns(), took;
		int prog = load(), event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC), n;
		char text[64];

		if (prog < 0 || event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, prog)) {
			perror("SKIP: a BPF program on a tracepoint");
			return 77;
		}
		close(event);
		close(prog);
		took = now_ns() - start;
		longest = took > longest ? took : longest;
		n = snprintf(text, sizeof(text), "%8u %8.1f\n", rounds, (double)longest / 1e6);
		if (pwrite(out, text, (size_t)n, 0) != n)
			return 1;
		wait_moment_us(1000); /* sleeps: a user that is not at it all the time */
	}
	return 2;
}
