/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "base/served_file.h"

int espy_reopen(int found, int flags)
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	const int fd = open(link, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

int espy_stat_known(int dir, const char *path, int flags, struct stat *st)
{
	struct statx x;

	if (statx(dir, path, flags | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE | STATX_INO, &x))
		return -errno;
	*st = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
	};
	return 0;
}

int espy_open_found(const char *path)
{
	struct stat st;
	/* O_PATH finds the file without opening it; it stays the same file, whatever is renamed meanwhile. */
	const int found = open(path, O_PATH | O_CLOEXEC);

	if (found < 0)
		return -errno;
	int fd = espy_stat_known(found, "", AT_EMPTY_PATH, &st);

	if (!fd)
		fd = S_ISREG(st.st_mode) ? espy_reopen(found, O_RDONLY) : -EMEDIUMTYPE;
	close(found);
	return fd;
}

int espy_open_regular(const char *path)
{
	const int err = espy_ask_server(path);

	return err ? err : espy_open_found(path);
}

int espy_open_contents(const char *path, size_t most, struct stat *st)
{
	if (espy_is_served(path))
		return espy_copy_served(path, most, st);
	const int fd = espy_open_found(path), err = fd >= 0 && fstat(fd, st) ? -errno : 0;

	if (err)
		close(fd);
	return err ? err : fd;
}
