/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run_counts PID PROGRAM REFERENCE RUNS SECONDS: waits until the BPF program PROGRAM of the process does not run any more while its program
 * REFERENCE runs RUNS times; then prints both counts. Exit status 1: that did not come in time, 77: no counts are to be had.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "tests/wait.h"

struct counts {
	uint64_t program, reference;
};

static void add(uint32_t id, const char *program, const char *reference, struct counts *c)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	const int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
		if (!strcmp(info.name, program))
			c->program += info.run_cnt;
		if (!strcmp(info.name, reference))
			c->reference += info.run_cnt;
	}
	close(fd);
}

static struct counts look(const char *pid, const char *program, const char *reference)
{
	uint32_t ids[256], id;
	struct counts c = { 0 };
	char path[400], line[256];
	size_t cnt = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, d->d_name);
		FILE *f = d->d_name[0] == '.' ? NULL : fopen(path, "re");

		while (f && fgets(line, sizeof(line), f)) {
			size_t i = 0;

			if (sscanf(line, "prog_id: %" SCNu32, &id) != 1)
				continue;
			while (i < cnt && ids[i] != id)
				i++;
			if (i < cnt || cnt == sizeof(ids) / sizeof(*ids))
				continue;
			ids[cnt++] = id;
			add(id, program, reference, &c);
		}
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return c;
}

/* Is PROGRAM where it was `since`? If not, from now on. */
static bool rests(const char *pid, const char *program, const char *reference, uint64_t runs, struct counts *since, struct counts *now)
{
	*now = look(pid, program, reference);
	if (now->program != since->program)
		*since = *now;
	return now->reference >= since->reference + runs;
}

int main(int argc, char **argv)
{
	struct counts since = { UINT64_MAX, 0 }, now = { 0 };
	const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (argc != 6)
		return 2;
	if (stats < 0) {
		printf("the kernel counts no runs\n");
		return 77;
	}
	const bool ok = WAIT_UNTIL_MS(rests(argv[1], argv[2], argv[3], strtoull(argv[4], NULL, 10), &since, &now),
				      strtoull(argv[5], NULL, 10) * 1000);

	printf("%s %" PRIu64 ", %s %" PRIu64 "\n", argv[2], now.program, argv[3], now.reference);
	close(stats);
	return !ok;
}
