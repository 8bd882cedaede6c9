/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads description files. The compiler itself sees texts only. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "describe/builtin.h"

#define MAX_FILE (64u << 20)

/* Tells whether reading may wait for ever: files of the kernel look regular (/proc/kmsg, trace_pipe). */
static bool is_endless(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && (fs.f_type == PROC_SUPER_MAGIC || fs.f_type == TRACEFS_MAGIC ||
				     fs.f_type == DEBUGFS_MAGIC || fs.f_type == SYSFS_MAGIC);
}

int espy_text_source__read(struct espy_text_source *s, const char *name)
{
	size_t cap = 65536, n = 0;
	char *p = NULL;
	FILE *f = NULL;
	struct stat st;
	int err;

	*s = (struct espy_text_source){ .name = name };
	/* Without O_NONBLOCK the open of a FIFO waits for its writer; a terminal must not become ours. */
	const int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	/* A FIFO, a terminal, /proc/kmsg and the like never end, and reading them changes them for others. */
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!S_ISREG(st.st_mode) || is_endless(fd))
		err = -EMEDIUMTYPE;
	else if (!(f = fdopen(fd, "r")))
		err = -errno;
	else
		err = -ENOMEM;
	if (!f) {
		close(fd);
		return err;
	}
	p = malloc(cap);
	if (!p)
		goto out;
	for (size_t got; (got = fread(p + n, 1, cap - n, f)) > 0;) {
		n += got;
		if (n < cap)
			continue;
		char *q = cap < MAX_FILE ? realloc(p, cap * 2) : NULL;

		if (!q)
			goto out;
		p = q;
		cap *= 2;
	}
	err = ferror(f) ? -EIO : 0;
out:
	fclose(f);
	if (err) {
		free(p);
		return err;
	}
	s->text = p;
	s->size = n;
	return 0;
}
