/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/security_context.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/proc_pid.h"
#include "base/small_file.h"

/* Returns the length without the newlines and NULs that the kernel or a tool may have put behind a context. */
static size_t trimmed(const char *context, size_t len)
{
	while (len && (context[len - 1] == '\n' || !context[len - 1]))
		len--;
	return strnlen(context, len);
}

size_t espy_task_context_ask(uint32_t tid, char *to, size_t size)
{
	/* Another security module, as AppArmor, answers in the same file. */
	if (access("/sys/fs/selinux/enforce", F_OK))
		return 0;
	const ssize_t len = espy_read_proc((pid_t)tid, "attr/current", to, size);

	return len > 0 ? trimmed(to, (size_t)len) : 0;
}

/*
 * The database of the contexts that files should have is the affair of libselinux, which systems with SELinux have. It
 * is opened when first needed: a start of espy must not pay for it.
 */
struct database {
	void *handle;
	int (*lookup)(void *handle, char **context, const char *path, int mode);
	void (*free)(char *context);
};

static struct database open_database(void)
{
	void *lib = dlopen("libselinux.so.1", RTLD_NOW | RTLD_LOCAL);
	void *(*const open)(unsigned backend, const void *options, unsigned cnt) =
		lib ? dlsym(lib, "selabel_open") : NULL;
	struct database d = { .lookup = lib ? dlsym(lib, "selabel_lookup") : NULL,
			      .free = lib ? dlsym(lib, "freecon") : NULL };

	/* backend 0: files (SELABEL_CTX_FILE of <selinux/label.h>) */
	if (open && d.lookup && d.free)
		d.handle = open(0, NULL, 0);
	return d;
}

/* Finds the context that the policy has for a file. Returns its length; 0: there is none. */
static size_t find_expected(const char *file, char *to, size_t size)
{
	static struct database d;
	static bool opened;
	char path[64], name[PATH_MAX], *context = NULL;
	struct stat st;
	size_t len = 0;

	if (!opened)
		d = open_database();
	opened = true;
	/* The database is of names without symbolic links, and of kinds of files. */
	const int fd = d.handle ? open(file, O_PATH | O_CLOEXEC) : -1;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(path, name, sizeof(name));

	if (n > 0 && (size_t)n < sizeof(name) && !fstat(fd, &st)) {
		name[n] = '\0';
		if (name[0] == '/' && !d.lookup(d.handle, &context, name, (int)st.st_mode)) {
			len = strlen(context);
			len = len < size ? len : 0;
			memcpy(to, context, len);
			d.free(context);
		}
	}
	close(fd);
	return len;
}

/* Writes a way to the file that espy can go. Returns false if it is too long. */
static bool way_to(char *to, size_t size, uint32_t tid, int fd, const char *path)
{
	const int pid = (int)espy_proc_pid((pid_t)tid);
	int len;

	if (!path)
		len = snprintf(to, size, "/proc/%d/fd/%d", pid, fd);
	else if (path[0] == '/')
		len = snprintf(to, size, "/proc/%d/root%s", pid, path);
	else if (fd == AT_FDCWD)
		len = snprintf(to, size, "/proc/%d/cwd/%s", pid, path);
	else
		len = snprintf(to, size, "/proc/%d/fd/%d/%s", pid, fd, path);
	return len > 0 && (size_t)len < size;
}

size_t espy_file_context_ask(uint32_t tid, int fd, const char *path, bool expected, char *to, size_t size)
{
	char file[PATH_MAX];
	ssize_t n;

	if ((fd < 0 && fd != AT_FDCWD) || !way_to(file, sizeof(file), tid, fd, path))
		return 0;
	n = getxattr(file, "security.selinux", to, size);
	const size_t len = n > 0 ? trimmed(to, (size_t)n) : 0;

	if (!len || !expected || len + 1 >= size)
		return len;
	to[len] = '\0';
	const size_t more = find_expected(file, to + len + 1, size - len - 1);

	return more ? len + 1 + more : len;
}
