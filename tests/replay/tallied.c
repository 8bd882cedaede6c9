/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls whose values are known, for --count-by and --hist. tallied DIR [wait]; the file DIR/done says that all calls
 * were made. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void read_sizes(int fd)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 4, 1000, 1000 };
	static char buf[1000];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct iovec v = { buf, sizes[i] };

		if (preadv(fd, &v, 1, 0) != (ssize_t)sizes[i])
			exit(1);
	}
	for (int i = 0; i < 5; i++)
		if (preadv(-1, &(struct iovec){ buf, 1 }, 1, 0) != -1)
			exit(1);
}

static void names(void)
{
	for (int i = 0; i < 3; i++)
		mkdirat(AT_FDCWD, "/no/such/a", 0755);
	mkdirat(AT_FDCWD, "/no/such/b \"quoted\"", 0700);
	mkdirat(AT_FDCWD, (const char *)16, 0700);
}

static void advice(int fd)
{
	static const int kinds[] = { POSIX_FADV_RANDOM, POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, 77 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		syscall(SYS_fadvise64, fd, 0L, 0L, kinds[i]);
}

int main(int argc, char **argv)
{
	static char bytes[4096];
	int fd;

	if (argc < 2 || chdir(argv[1]))
		return 2;
	fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return 1;
	read_sizes(fd);
	names();
	advice(fd);
	for (int i = 0; i < 3; i++)
		fdatasync(fd);
	getppid();
	prctl(PR_SET_NAME, "other name");
	getppid();
	getppid();
	if (argc > 2) {
		close(open("done", O_WRONLY | O_CREAT, 0600));
		pause();
	}
	return 0;
}
