/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* late LIBRARY: loads a library while it runs, and hits the library's probe until it is killed. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	usleep(200000);
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
		usleep(2000);
	}
}
