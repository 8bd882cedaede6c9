/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/output_readers.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include "base/small_file.h"
#include "base/task_list.h"

/* Unix98 pseudo-terminals: eight majors of 256 each (Documentation/admin-guide/devices.txt of the kernel). */
#define PTS_MAJOR 136u
#define PTS_MAJORS 8u
#define PLACES_MAX 64u
#define SEARCHES_MAX 10u

/* A pipe or a terminal that espy, or a reader of its output, writes to. */
struct place {
	bool pipe;
	unsigned long id; /* inode of the pipe, or number of the terminal */
};

struct search {
	pid_t *pids;
	size_t cnt, max;
	struct place places[PLACES_MAX];
	size_t place_cnt;
};

static bool has_place(const struct search *s, bool pipe, unsigned long id)
{
	for (size_t i = 0; i < s->place_cnt; i++)
		if (s->places[i].pipe == pipe && s->places[i].id == id)
			return true;
	return false;
}

static void add_place(struct search *s, bool pipe, unsigned long id)
{
	if (!has_place(s, pipe, id) && s->place_cnt < PLACES_MAX)
		s->places[s->place_cnt++] = (struct place){ pipe, id };
}

/* Adds the place that a link in /proc/PID/fd names. */
static void add_place_of(struct search *s, const char *link, bool pipes)
{
	unsigned long id;

	if (sscanf(link, "/dev/pts/%lu", &id) == 1)
		add_place(s, false, id);
	else if (pipes && sscanf(link, "pipe:[%lu]", &id) == 1)
		add_place(s, true, id);
}

/* Reads a number of /proc/PID/fdinfo/FD, in this base. Returns false if there is none. */
static bool fd_info(pid_t pid, const char *fd, const char *name, int base, unsigned long *out)
{
	char path[300], value[32];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)pid, fd);
	if (espy_read_field(path, name, value, sizeof(value)) < 0)
		return false;
	*out = strtoul(value, NULL, base);
	return true;
}

/* Tells whether the descriptor is the reading end of a place. */
static bool is_reader(struct search *s, pid_t pid, const char *fd, const char *link)
{
	unsigned long id, flags;

	if (!strcmp(link, "/dev/ptmx") || !strcmp(link, "/dev/pts/ptmx"))
		return fd_info(pid, fd, "tty-index", 10, &id) && has_place(s, false, id);
	return sscanf(link, "pipe:[%lu]", &id) == 1 && has_place(s, true, id) && fd_info(pid, fd, "flags", 8, &flags) &&
	       (flags & O_ACCMODE) == O_RDONLY;
}

/* Calls fn with each descriptor of the process and the target of its link, until fn returns true. Returns if it has. */
static bool each_fd(struct search *s, pid_t pid, bool (*fn)(struct search *, pid_t, const char *fd, const char *link))
{
	char path[64], link[256];
	bool done = false;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; !done && d && (e = readdir(d));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = '\0';
		done = fn(s, pid, e->d_name, link);
	}
	if (d)
		closedir(d);
	return done;
}

/* Adds the places that a reader writes to: any terminal, as tmux has several, and the pipe at descriptor 1. */
static bool take_places(struct search *s, pid_t pid, const char *fd, const char *link)
{
	add_place_of(s, link, !strcmp(fd, "1"));
	return false;
}

static bool is_known(const struct search *s, pid_t pid)
{
	for (size_t i = 0; i < s->cnt; i++)
		if (s->pids[i] == pid)
			return true;
	return pid == getpid();
}

/* Finds the processes that read from a known place. Returns whether there was a new one. */
static bool find_readers(struct search *s)
{
	const size_t before = s->cnt;
	DIR *proc = espy_task_list__open(0);

	for (pid_t pid; s->cnt < s->max && (pid = espy_task_list__next(proc));)
		if (!is_known(s, pid) && each_fd(s, pid, is_reader))
			s->pids[s->cnt++] = pid;
	espy_task_list__close(proc);
	for (size_t i = before; i < s->cnt; i++)
		each_fd(s, s->pids[i], take_places);
	return s->cnt > before;
}

/* Finds all readers, and readers of theirs, of the output that st describes. */
static void search_all(struct search *s, const struct stat *st)
{
	s->cnt = s->place_cnt = 0;
	if (S_ISFIFO(st->st_mode))
		add_place(s, true, (unsigned long)st->st_ino);
	else if (S_ISCHR(st->st_mode) && major(st->st_rdev) - PTS_MAJOR < PTS_MAJORS)
		add_place(s, false, (major(st->st_rdev) - PTS_MAJOR) * 256ul + minor(st->st_rdev));
	while (s->place_cnt && s->cnt < s->max && find_readers(s))
		;
}

/*
 * A shell may be about to start the reader, and hold the pipe until then. So the search is made until it finds the same
 * twice. A pipe has a reader, though perhaps none that espy may see.
 */
size_t espy_output_readers(int fd, pid_t pids[ESPY_OUTPUT_READERS])
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	pid_t before[ESPY_OUTPUT_READERS];
	struct search s = { .pids = pids, .max = ESPY_OUTPUT_READERS };
	struct stat st;
	size_t cnt;

	if (fstat(fd, &st))
		return 0;
	search_all(&s, &st);
	for (unsigned int i = 0; s.place_cnt && i < SEARCHES_MAX; i++) {
		cnt = s.cnt;
		memcpy(before, pids, cnt * sizeof(*pids));
		nanosleep(&nap, NULL);
		search_all(&s, &st);
		if (s.cnt && s.cnt == cnt && !memcmp(before, pids, cnt * sizeof(*pids)))
			break;
	}
	return s.cnt;
}
