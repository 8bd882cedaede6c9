/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fresh [-g] COMMAND...: with default signals. A shell ignores SIGINT and SIGQUIT in what it runs with `&`, and so would its
 * children. -g: in a process group of its own, as a job of an interactive shell, which SIGTSTP stops.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	sigset_t none;

	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (argc > 1 && !strcmp(argv[1], "-g")) {
		if (setpgid(0, 0))
			return 127;
		argv++;
		argc--;
	}
	if (argc > 1)
		execvp(argv[1], argv + 1);
	return 127;
}
