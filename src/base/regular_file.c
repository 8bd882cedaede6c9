/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int espy_open_regular(const char *path)
{
	char link[40];
	struct stat st;
	int fd, err = 0;
	/* O_PATH finds the file without opening it; what is found stays the same file, whatever is renamed meanwhile. */
	const int found = open(path, O_PATH | O_CLOEXEC);

	if (found < 0)
		return -errno;
	if (fstat(found, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EMEDIUMTYPE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	fd = err ? -1 : open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (!err && fd < 0)
		err = -errno;
	close(found);
	return err ? err : fd;
}
