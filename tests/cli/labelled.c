/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* labelled DIR label: gives files of DIR contexts of SELinux, as their attributes. labelled DIR: makes calls that lead
 * to them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static int label(const char *name, const char *context, size_t len)
{
	if (!setxattr(name, "security.selinux", context, len, 0))
		return 0;
	printf("%s: %s\n", name, strerror(errno));
	return 77;
}

static int label_all(void)
{
	static const char file[] = "system_u:object_r:user_tmp_t:s0", dir[] = "system_u:object_r:dir_t:s0:c0,c1";
	static const char odd[] = "odd]\33[31m\n";
	int err;

	close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(open("bare", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	mkdir("dir", 0700);
	close(open("dir/odd", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	err = label("file", file, sizeof(file));
	err = err ? err : label("dir", dir, sizeof(dir));
	return err ? err : label("dir/odd", odd, sizeof(odd));
}

int main(int argc, char **argv)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "file" };

	if (argc < 2 || chdir(argv[1]))
		return 1;
	if (argc > 2)
		return label_all();
	const int file = open("file", O_RDONLY | O_CLOEXEC), dir = open("dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int odd = openat(dir, "odd", O_RDONLY | O_CLOEXEC), bare = openat(AT_FDCWD, "bare", O_RDONLY | O_CLOEXEC);
	struct pollfd fds[] = { { .fd = file, .events = POLLIN }, { .fd = bare, .events = POLLIN } };
	const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char cwd[4096];

	poll(fds, 2, 0);
	/* Both names are looked at before the call: the second is not there yet. */
	renameat(AT_FDCWD, "file", dir, "moved");
	renameat(dir, "moved", AT_FDCWD, "file");
	connect(s, (struct sockaddr *)&un, sizeof(un));
	un.sun_path[0] = '\0';
	connect(s, (struct sockaddr *)&un, sizeof(un));
	return file < 0 || odd < 0 || fchdir(dir) || !getcwd(cwd, sizeof(cwd));
}
