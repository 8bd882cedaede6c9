/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* other_fds: compares a descriptor with the one of the same number in a child, which is another file. */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBER 77

int main(void)
{
	int ready[2], over[2];
	char c;

	if (dup2(open("/dev/null", O_RDONLY), NUMBER) != NUMBER || pipe(ready) || pipe(over))
		return 1;
	const pid_t child = fork();

	if (!child) {
		close(over[1]);
		if (dup2(open("/dev/zero", O_RDONLY), NUMBER) == NUMBER && write(ready[1], "", 1) == 1)
			_exit(read(over[0], &c, 1) != 0);
		_exit(1);
	}
	if (read(ready[0], &c, 1) != 1)
		return 1;
	syscall(SYS_kcmp, getpid(), child, KCMP_FILE, NUMBER, NUMBER);
	close(over[1]);
	return waitpid(child, NULL, 0) != child;
}
