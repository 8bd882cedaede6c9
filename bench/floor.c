/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* floor COMMAND...: run it with one bare 64-byte record a call, read and thrown away (floor.bpf.c). */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
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

int main(int argc, char **argv)
{
	int go[2], status;
	char c = 0;

	if (argc < 2 || pipe(go) < 0)
		return 2;
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]); /* so that it ends if this program cannot load what it needs */
		if (read(go[0], &c, 1) == 1)
			execvp(argv[1], argv + 1);
		_exit(127);
	}
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
	bits[pid / 64] |= UINT64_C(1) << (pid % 64);
	if (write(go[1], &c, 1) != 1)
		return 1;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		ring_buffer__consume(ring);
		usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
