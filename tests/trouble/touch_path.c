/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * touch_path DIRECTORY NAME: touches the file by each way - inherited as descriptor 9, made, by descriptor, closed by a
 * child that did no more, by a relative name - among ten thousand calls that touch others.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct stat st;
	char path[4096], byte = 'x';
	int fd;

	if (argc < 3 || chdir("/"))
		return 1;
	snprintf(path, sizeof(path), "%s/%s", argv[1], argv[2]);
	if (fcntl(9, F_GETFD) >= 0)
		lseek(9, 0, SEEK_SET);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (write(fd, &byte, 1) != 1)
		return 1;
	for (int i = 0; i < 2500; i++) {
		int other = open("/dev/zero", O_RDONLY);

		if (read(other, &byte, 1) != 1)
			return 1;
		fstat(other, &st);
		close(other);
	}
	if (!fork()) {
		close(fd);
		_exit(0);
	}
	wait(NULL);
	if (dup2(fd, 20) != 20 || chdir(argv[1]))
		return 1;
	close(fd);
	if (stat(argv[2], &st) || rename(argv[2], "elsewhere") || dup2(0, 20) != 20)
		return 1;
	return 0;
}
