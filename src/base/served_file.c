/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/served_file.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/own_process.h"
#include "base/regular_file.h"

#define PATIENCE_MS 1000

static bool is_served(const char *type)
{
	static const char *const served[] = { "fuse", "fuse.", "fuseblk", "nfs", "nfs4", "cifs", "smb3" };

	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++) {
		const size_t len = strlen(served[i]);

		if (served[i][len - 1] == '.' ? !strncmp(type, served[i], len) : !strcmp(type, served[i]))
			return true;
	}
	return false;
}

/* Length of a mount point that path lies below, 0: it does not. at: as mountinfo has it, with \ooo for some bytes. */
static size_t mounted_above(const char *at, const char *path)
{
	const char *p = path;

	if (!strcmp(at, "/"))
		return 1;
	for (; *at; p++) {
		unsigned octal;
		char c = *at++;

		if (c == '\\' && sscanf(at, "%3o", &octal) == 1) {
			c = (char)octal;
			at += 3;
		}
		if (*p != c)
			return 0;
	}
	return *p == '/' || !*p ? (size_t)(p - path) : 0;
}

/* Does the file's place lie on a file system with a server? *any: is there such a file system at all? */
static bool is_on_served(FILE *f, const char *path, bool *any)
{
	char *line = NULL, at[PATH_MAX], type[64];
	bool served = false;
	size_t cap = 0, longest = 0;

	*any = false;
	while (getline(&line, &cap, f) > 0) {
		const char *behind = strstr(line, " - ");

		if (!behind || sscanf(line, "%*s %*s %*s %*s %4095s", at) != 1 || sscanf(behind, " - %63s", type) != 1)
			continue;
		const size_t len = mounted_above(at, path);

		*any |= is_served(type);
		/* The later one of two at the same place lies above. */
		if (len && len >= longest) {
			longest = len;
			served = is_served(type);
		}
	}
	free(line);
	return served;
}

/*
 * Most machines have no such file system, and reading all mounts costs as much as opening a file. So the mounts of espy's own namespace are
 * read again only after the kernel says that they have changed (POLLPRI, proc_pid_mountinfo(5)).
 */
static struct {
	pthread_mutex_t lock;
	FILE *mounts; /* NULL: not opened yet, or it cannot be */
	bool any;
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_on_served_here(const char *path)
{
	bool served = false;

	pthread_mutex_lock(&own.lock);
	const bool first = !own.mounts;

	if (first)
		own.mounts = fopen("/proc/self/mountinfo", "re");
	struct pollfd p = { .fd = own.mounts ? fileno(own.mounts) : -1, .events = POLLPRI };

	if (own.mounts && (first || own.any || poll(&p, 1, 0) != 0)) {
		rewind(own.mounts);
		served = is_on_served(own.mounts, path, &own.any);
	}
	pthread_mutex_unlock(&own.lock);
	return served;
}

/* Has the process the mounts of espy, below the same root? No file of the process is touched to know it. */
static bool has_own_mounts(int pid)
{
	struct stat there, here;
	char at[64], root[2];

	snprintf(at, sizeof(at), "/proc/%d/root", pid);
	if (readlink(at, root, sizeof(root)) != 1)
		return false;
	snprintf(at, sizeof(at), "/proc/%d/ns/mnt", pid);
	return !stat(at, &there) && !stat("/proc/self/ns/mnt", &here) && there.st_ino == here.st_ino;
}

static bool is_on_served_of(int pid, const char *path)
{
	char mounts[64];
	bool any;

	if (has_own_mounts(pid))
		return is_on_served_here(path);
	snprintf(mounts, sizeof(mounts), "/proc/%d/mountinfo", pid);
	FILE *f = fopen(mounts, "re");
	const bool served = f && is_on_served(f, path, &any);

	if (f)
		fclose(f);
	return served;
}

static void __attribute__((noreturn)) be_asker(const char *path, int answer)
{
	char bytes[4096];

	espy_own_process__settle("espy-ask", answer);
	const int fd = espy_open_found(path);

	if (fd >= 0 && read(fd, bytes, sizeof(bytes)) >= 0)
		close(fd);
	_exit(write(0, "!", 1) != 1);
}

static int ask(const char *path)
{
	const uint64_t until_ns = espy_now_ns() + PATIENCE_MS * 1000000ull;
	int ends[2], err = -ETIMEDOUT;
	char byte;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	const pid_t pid = espy_own_process__begin();

	if (!pid)
		be_asker(path, ends[1]);
	close(ends[1]);
	for (uint64_t now_ns; pid > 0 && err && (now_ns = espy_now_ns()) < until_ns;) {
		struct pollfd p = { .fd = ends[0], .events = POLLIN };

		if (poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1) == 1)
			err = read(ends[0], &byte, 1) == 1 ? 0 : -EIO;
		if (err == -EIO)
			break;
	}
	close(ends[0]);
	if (pid > 0) {
		if (err)
			kill(pid, SIGKILL);
		/* One that even that does not end is left to init. */
		waitpid(pid, NULL, __WALL | (err ? WNOHANG : 0));
	}
	return pid < 0 ? -EAGAIN : err;
}

int espy_ask_server(const char *path)
{
	char there[PATH_MAX] = "", cwd[PATH_MAX];
	const char *at = path;
	int pid = 0, len = 0;

	if (sscanf(path, "/proc/%d/root/%n", &pid, &len) == 1 && len)
		at = path + len - 1;
	else if ((sscanf(path, "/proc/%d/map_files/%n", &pid, &len) == 1 && len) ||
		 (sscanf(path, "/proc/%d/exe%n", &pid, &len) == 1 && len)) {
		if (readlink(path, there, sizeof(there) - 1) < 0)
			return 0; /* nor can it be opened */
		at = there;
	}
	if (!len && path[0] != '/' && getcwd(cwd, sizeof(cwd)) && snprintf(there, sizeof(there), "%s/%s", cwd, path) < (int)sizeof(there))
		at = there;
	return (len ? is_on_served_of(pid, at) : is_on_served_here(at)) ? ask(path) : 0;
}
