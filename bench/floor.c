/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One bare 64-byte record a call, read and thrown away (floor.bpf.c):
 *
 *      floor COMMAND...     of a command
 *      floor -p PID,PID...  of processes that run already, their threads and children, until SIGINT
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int drop(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

#define FOLLOW_EVERY 50 /* looks at the ring */

static volatile sig_atomic_t over;

static void end(int sig)
{
	(void)sig;
	over = 1;
}

static void watch(uint64_t *bits, unsigned long pid)
{
	bits[pid / 64 & 0xffff] |= UINT64_C(1) << (pid % 64);
}

/* Watches what `command` prints: numbers of tasks. */
static void watch_printed(uint64_t *bits, const char *command)
{
	unsigned long pid;
	FILE *f = popen(command, "r");

	while (f && fscanf(f, "%lu", &pid) == 1)
		watch(bits, pid);
	if (f)
		pclose(f);
}

/* Makes a process that becomes the command when a byte comes from *go. */
static pid_t begin(char **argv, int *go)
{
	int ends[2];
	char c;

	if (pipe(ends) < 0)
		return -1;
	const pid_t pid = fork();
	if (pid == 0) {
		close(ends[1]); /* so that it ends if this program cannot load what it needs */
		if (read(ends[0], &c, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	*go = ends[1];
	return pid;
}

int main(int argc, char **argv)
{
	const char *pids = argc == 3 && !strcmp(argv[1], "-p") ? argv[2] : NULL;
	int go = -1, status = 0;
	char follow[256];
	pid_t pid = -1;

	if (argc < 2 || (!pids && (pid = begin(argv + 1, &go)) < 0))
		return 2;
	struct bpf_object *obj = bpf_object__open_file(ESPY_FLOOR_OBJECT, NULL);
	if (!obj || bpf_object__load(obj)) {
		fprintf(stderr, "floor: cannot load %s\n", ESPY_FLOOR_OBJECT);
		return 1;
	}
	struct bpf_map *bss = bpf_object__find_map_by_name(obj, ".bss");
	struct bpf_map *map = bpf_object__find_map_by_name(obj, "ring");
	size_t size = 4194304 / 8;
	uint64_t *bits = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(bss), 0);
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(map), drop, NULL, NULL);
	struct bpf_program *prog = bpf_object__find_program_by_name(obj, "floor_exit");
	if (bits == MAP_FAILED || !ring || !bpf_program__attach(prog))
		return 1;
	if (pids) {
		signal(SIGINT, end);
		snprintf(follow, sizeof(follow), "ps -L -o lwp= -p %s --ppid %s", pids, pids);
	} else {
		watch(bits, (unsigned long)pid);
		if (write(go, "", 1) != 1)
			return 1;
	}
	for (unsigned looks = 0; !over && (pids || waitpid(pid, &status, WNOHANG) == 0); looks++) {
		if (pids && looks % FOLLOW_EVERY == 0)
			watch_printed(bits, follow);
		ring_buffer__consume(ring);
		usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
