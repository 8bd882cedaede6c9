/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* seccomp filter|strict: a program that has confined itself. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog prog = { 1, allow };
	int p[2];
	char c;

	if (argc < 2 || pipe(p))
		return 2;
	if (!strcmp(argv[1], "strict")) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			return 1;
	} else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		return 1;
	}
	while (read(p[0], &c, 1) == 1)
		;
	return 0;
}
