/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <espy/espy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int give(char *path, size_t size, const char *dir, size_t dir_len, const char *name)
{
	const int n = snprintf(path, size, "%.*s%s%s", (int)dir_len, dir, dir_len && dir[dir_len - 1] != '/' ? "/" : "", name);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int espy_find_program(const char *name, char *path, size_t size)
{
	const char *dirs = getenv("PATH");
	struct stat st;
	int err;

	if (!name || !path || !size)
		return -EINVAL;
	if (strchr(name, '/'))
		return stat(name, &st) ? -errno : give(path, size, "", 0, name);
	if (!*name)
		return -ENOENT;
	for (const char *dir = dirs ? dirs : "/bin:/usr/bin";; dir++) {
		const size_t len = strcspn(dir, ":");

		/* An empty entry is the current directory. */
		err = give(path, size, dir, len, name);
		if (!err && !stat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0111))
			return 0;
		dir += len;
		if (!*dir)
			return err ? err : -ENOENT;
	}
}
