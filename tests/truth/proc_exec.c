/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A new program whose file name, arguments and environment lie on pages that nobody has touched when the call begins: the
 * kernel brings them in while it copies the strings, and the old memory is gone when the call ends.
 */
#include "truth.h"
#include <fcntl.h>

#define AT 0x100000000000ul /* where the strings are to be mapped: they hold pointers to each other */
#define PAGE 4096ul

struct cold {
	char path[PAGE];
	uint64_t argv[PAGE / 8];
	char arg[PAGE];
	uint64_t envp[PAGE / 8];
	char env[PAGE];
};

static void put(uint64_t *vec, char *page, const char *base, const char *const *strings)
{
	size_t used = 0;

	for (; *strings; strings++) {
		*vec++ = AT + (uint64_t)(page - base) + used;
		strcpy(page + used, *strings);
		used += strlen(*strings) + 1;
	}
}

static struct cold *make(const char *const *argv, const char *const *envp)
{
	struct cold *c = calloc(1, sizeof(*c));
	int fd = memfd_create("cold", MFD_CLOEXEC);

	strcpy(c->path, "/proc/self/exe");
	put(c->argv, c->arg, (char *)c, argv);
	put(c->envp, c->env, (char *)c, envp);
	if (fd < 0 || write(fd, c, sizeof(*c)) != sizeof(*c) ||
	    mmap((void *)AT, sizeof(*c), PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != (void *)AT) {
		perror("cold pages");
		exit(2);
	}
	close(fd);
	return (struct cold *)AT;
}

int main(int argc, char **argv)
{
	static const char *const second[] = { "second", "a \"b\"", "", NULL };
	static const char *const third[] = { "third", "end", NULL };
	static const char *const env[] = { "A=1", "B=two words", NULL };

	truth_begin(argc, argv, "-v");
	if (!strcmp(argv[0], "third"))
		return 0;
	if (strcmp(argv[0], "second")) {
		struct cold *c = make(second, env);

		puts("execve(\"/proc/self/exe\", [\"second\", \"a \\\"b\\\"\", \"\"], [\"A=1\", \"B=two words\"]) = 0");
		fflush(stdout);
		syscall(SYS_execve, c->path, c->argv, c->envp);
	} else {
		struct cold *c = make(third, env);

		puts("execveat(AT_FDCWD, \"/proc/self/exe\", [\"third\", \"end\"], [\"A=1\", \"B=two words\"], 0) = 0");
		fflush(stdout);
		syscall(SYS_execveat, AT_FDCWD, c->path, c->argv, c->envp, 0);
	}
	perror("exec");
	return 1;
}
