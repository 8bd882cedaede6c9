/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* late LIBRARY [FILE]: loads a library while it runs, as soon as there is that file, and hits the library's probe until it is killed. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
#include "../../wait.h"

int main(int argc, char **argv)
{
	if (argc > 2 && !WAIT_UNTIL(!access(argv[2], F_OK)))
		return 2;
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*work)(int i, const char *text) = NULL;

	if (lib)
		*(void **)&work = dlsym(lib, "late_work");
	if (!work) {
		fprintf(stderr, "late: %s\n", lib ? "no late_work" : dlerror());
		return 1;
	}
	for (int i = 0;; i++) {
		work(i, "hello");
		usleep(2000); /* sleeps: a beat */
	}
}
