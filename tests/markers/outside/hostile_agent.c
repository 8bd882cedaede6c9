/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that writes garbage into its agent's shared memory and rings, on purpose and all the time, while it also
 * hits its marks: what espy reads may change under its eyes.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "espy/mark.h"

static unsigned long seed = 88172645463325252ul;

static unsigned long next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static unsigned char *maps[16];
static size_t sizes[16];
static unsigned map_cnt;

/* The agent's descriptors are in a table of its own, but /proc shows them to their owner. */
static void find_maps(void)
{
	char path[600], name[64];
	DIR *tasks = opendir("/proc/self/task"), *fds;

	for (struct dirent *t; tasks && (t = readdir(tasks));) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/fd", t->d_name);
		fds = t->d_name[0] == '.' ? NULL : opendir(path);
		for (struct dirent *e; fds && (e = readdir(fds)) && map_cnt < 16;) {
			struct stat st;
			ssize_t n = readlinkat(dirfd(fds), e->d_name, name, sizeof(name) - 1);

			if (n < 12 || memcmp(name, "/memfd:espy-", 12))
				continue;
			int fd = openat(dirfd(fds), e->d_name, O_RDWR);

			if (fd >= 0 && !fstat(fd, &st)) {
				maps[map_cnt] =
					mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
				sizes[map_cnt] = (size_t)st.st_size;
				map_cnt += maps[map_cnt] != MAP_FAILED;
			}
			close(fd);
		}
		if (fds)
			closedir(fds);
	}
	if (tasks)
		closedir(tasks);
}

int main(void)
{
	unsigned long rounds = 0;

	for (unsigned i = 0;; i++) {
		MARK(app_evil, "i=%u s=%s d=%g", i, "text", i * 0.5);
		if (!map_cnt) {
			usleep(2000); /* sleeps: a beat, until somebody comes */
			if (i % 50 == 0)
				find_maps();
			continue;
		}
		for (unsigned k = 0; k < 20; k++) {
			unsigned char *m = maps[next() % map_cnt];
			const size_t size = sizes[(unsigned)(m == maps[0] ? 0 : map_cnt - 1)];
			/* Mostly where heads are. */
			size_t at = next() % 3 ? next() % (size < 65536 ? size : 65536) : next() % size;
			unsigned long value = next() % 4 ? next() : next() % 64;

			at &= ~7ul;
			/* The agent itself must live: leave its first page of control alone, and the requests. */
			if (size == 32u << 20 && at < 1u << 20)
				continue;
			if (size != 32u << 20 && at < 32)
				continue;
			memcpy(m + at, &value, sizeof(value));
		}
		if (i % 1000 == 0)
			usleep(100); /* sleeps: others come to run */
		/* Its test wants to know that there is garbage. */
		if (++rounds % 100000 == 0 && write(1, "garbage\n", 8) != 8)
			return 1;
	}
}
