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
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/own_process.h"
#include "base/regular_file.h"

#define PATIENCE_MS 1000 /* without an answer */
#define COPY_MS 30000	 /* for a whole file, which comes byte by byte from a server that means harm */
#define COPY_MOST (1ull << 30)

static bool is_served(const char *type)
{
	static const char *const served[] = { "fuse", "fuse.", "fuseblk", "nfs",  "nfs4", "cifs",
					      "smb3", "9p",    "afs",	  "ceph", "coda", "lustre" };

	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++) {
		const size_t len = strlen(served[i]);

		if (served[i][len - 1] == '.' ? !strncmp(type, served[i], len) : !strcmp(type, served[i]))
			return true;
	}
	return false;
}

/* Returns the length of a mount point above path; 0: it is not above. at: as in mountinfo, with \ooo for some bytes. */
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

/* Where a file lies, by a list of mounts. */
struct place {
	bool served, overlay;
	char device[24]; /* MAJOR:MINOR */
};

/* Finds the place of the file. *any: there is a file system with a server. */
static struct place place_of(FILE *f, const char *path, bool *any)
{
	char *line = NULL, at[PATH_MAX], type[64];
	struct place p = { 0 };
	size_t cap = 0, longest = 0;

	*any = false;
	while (getline(&line, &cap, f) > 0) {
		char device[sizeof(p.device)];
		const char *behind = strstr(line, " - ");

		if (!behind || sscanf(line, "%*s %*s %23s %*s %4095s", device, at) != 2 ||
		    sscanf(behind, " - %63s", type) != 1)
			continue;
		const size_t len = mounted_above(at, path);

		*any |= is_served(type);
		/* The later one of two at the same place lies above. */
		if (len && len >= longest) {
			longest = len;
			p.served = is_served(type);
			p.overlay = !strcmp(type, "overlay");
			memcpy(p.device, device, sizeof(device));
		}
	}
	free(line);
	return p;
}

/*
 * Most machines have no such file system, and reading all mounts costs as much as opening a file. So the mounts of espy's own namespace are
 * read again only after the kernel says that they have changed (POLLPRI, proc_pid_mountinfo(5)).
 */
static struct {
	pthread_mutex_t lock;
	FILE *mounts; /* NULL: not opened yet, or it cannot be */
	bool any, unread;      /* unread: they have changed since `any` was found */
	unsigned long long id; /* of the mount that was looked for last; 0: none since they changed */
	bool id_is_served;
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Returns the mounts of espy's own namespace, from their beginning, with the lock; NULL: they cannot be read. */
static FILE *begin_own_mounts(void)
{
	pthread_mutex_lock(&own.lock);
	const bool first = !own.mounts;

	if (first)
		own.mounts = fopen("/proc/self/mountinfo", "re");
	struct pollfd p = { .fd = own.mounts ? fileno(own.mounts) : -1, .events = POLLPRI };

	if (first || poll(&p, 1, 0) != 0) {
		own.unread = true;
		own.id = 0;
	}
	return own.mounts;
}

static bool is_on_served_here(const char *path)
{
	FILE *f = begin_own_mounts();
	bool served = false;

	if (f && (own.unread || own.any)) {
		rewind(f);
		own.unread = false;
		served = place_of(f, path, &own.any).served;
	}
	pthread_mutex_unlock(&own.lock);
	return served;
}

/* Tells whether the process has espy's mounts below the same root, without touching a file of the process. */
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

static bool is_mounted_here(const char *device)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, one[24];
	bool found = false;
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0)
		found = sscanf(line, "%*s %*s %23s", one) == 1 && !strcmp(one, device);
	free(line);
	if (f)
		fclose(f);
	return found;
}

/*
 * Any user may put an overlay above a FUSE file system, in a user namespace, and the kernel asks that server then in
 * the name of everybody. The layers do not tell: they may be mounted nowhere any more. An overlay that espy's own
 * mounts show, too, was made by root.
 */
static bool is_on_served_of(int pid, const char *path)
{
	char mounts[64];
	bool any;

	if (has_own_mounts(pid))
		return is_on_served_here(path);
	snprintf(mounts, sizeof(mounts), "/proc/%d/mountinfo", pid);
	FILE *f = fopen(mounts, "re");
	const struct place p = f ? place_of(f, path, &any) : (struct place){ 0 };

	if (f)
		fclose(f);
	return p.served || (p.overlay && !is_mounted_here(p.device));
}

/* What the process that reads a file says first. */
struct reply {
	int err;
	struct stat st;
};

static bool put(int fd, const char *bytes, size_t size)
{
	while (size) {
		const ssize_t n = write(fd, bytes, size);

		if (n < 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* Opens the file. Gives the reply and up to `most` bytes of the file; with most == 0 it only reads a page, and closes
 * the file. */
static void __attribute__((noreturn)) be_reader(const char *path, int answer, size_t most)
{
	static char bytes[65536];
	struct reply r = { 0 };
	ssize_t n = 0;

	espy_own_process__settle("espy-ask", answer);
	const int fd = espy_open_found(path);

	r.err = fd < 0 ? fd : fstat(fd, &r.st) ? -errno : 0;
	if (!most && !r.err)
		n = read(fd, bytes, 4096);
	if (!most && fd >= 0)
		close(fd);
	bool ok = n >= 0 && put(0, (const char *)&r, sizeof(r));

	for (; most && !r.err && ok && (n = read(fd, bytes, most < sizeof(bytes) ? most : sizeof(bytes))) > 0;
	     most -= (size_t)n)
		ok = put(0, bytes, (size_t)n);
	_exit(!ok || n < 0);
}

/* Reads up to `most` bytes. Returns their number, 0 at the end, -ETIMEDOUT if none comes in time. */
static ssize_t await(int fd, void *bytes, size_t most, uint64_t until_ns)
{
	const uint64_t now_ns = espy_now_ns(), patient_ns = now_ns + PATIENCE_MS * 1000000ull;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (until_ns > patient_ns)
		until_ns = patient_ns;
	if (now_ns >= until_ns || poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1) != 1)
		return -ETIMEDOUT;
	const ssize_t n = read(fd, bytes, most);

	return n < 0 ? -errno : n;
}

/* Takes the reply and, if copy >= 0, up to `most` bytes of the file, which go there. */
static int take(int fd, struct reply *r, int copy, size_t most)
{
	const uint64_t until_ns = espy_now_ns() + (copy < 0 ? PATIENCE_MS : COPY_MS) * 1000000ull;
	char bytes[16384];
	size_t got = 0;
	ssize_t n;

	while (got < sizeof(*r)) {
		n = await(fd, (char *)r + got, sizeof(*r) - got, until_ns);
		if (n <= 0)
			return n ? (int)n : -EIO;
		got += (size_t)n;
	}
	if (r->err || copy < 0)
		return r->err;
	for (got = 0; (n = await(fd, bytes, sizeof(bytes), until_ns)) > 0; got += (size_t)n)
		if (got + (size_t)n > COPY_MOST || !put(copy, bytes, (size_t)n))
			return -EFBIG;
	return n ? (int)n : got == most || got == (size_t)r->st.st_size ? 0 : -EIO;
}

/* copy: where up to `most` bytes of the file go; -1: nowhere. */
static int have_it_read(const char *path, struct reply *r, int copy, size_t most)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	const pid_t pid = espy_own_process__begin();

	if (!pid)
		be_reader(path, ends[1], copy < 0 ? 0 : most);
	close(ends[1]);
	const int err = pid < 0 ? -EAGAIN : take(ends[0], r, copy, most);

	close(ends[0]);
	if (pid > 0) {
		if (err)
			kill(pid, SIGKILL);
		/* A process that even that does not end is left to init. */
		waitpid(pid, NULL, __WALL | (err ? WNOHANG : 0));
	}
	return err;
}

/* Finds the mount of that number in a list. */
static bool find_mount(FILE *f, unsigned long long id, struct place *p)
{
	char *line = NULL, type[64];
	unsigned long long one;
	bool found = false;
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0) {
		const char *behind = strstr(line, " - ");

		found = behind && sscanf(line, "%llu %*s %23s", &one, p->device) == 2 && one == id &&
			sscanf(behind, " - %63s", type) == 1;
	}
	free(line);
	if (found) {
		p->served = is_served(type);
		p->overlay = !strcmp(type, "overlay");
	}
	return found;
}

static bool find_own_mount(unsigned long long id, bool *served)
{
	FILE *f = begin_own_mounts();
	struct place p = { 0 };

	if (own.id != id && f) {
		rewind(f);
		if (find_mount(f, id, &p)) {
			own.id = id;
			own.id_is_served = p.served;
		}
	}
	const bool found = own.id == id;

	*served = own.id_is_served;
	pthread_mutex_unlock(&own.lock);
	return found;
}

/*
 * The same for a link of /proc that leads to a file of that process, whatever its name says: by the number of the
 * mount, for which no server is asked. A mount that neither process has in its tree (it was unmounted, and is in use)
 * may be anything. Returns -1 where the kernel does not tell the number (before Linux 5.8).
 */
static int is_on_served_mount(int pid, const char *link)
{
	struct place p = { 0 };
	char mounts[64];
	struct statx x;
	bool served;

	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &x) || !(x.stx_mask & STATX_MNT_ID))
		return -1;
	if (find_own_mount(x.stx_mnt_id, &served))
		return served;
	snprintf(mounts, sizeof(mounts), "/proc/%d/mountinfo", pid);
	FILE *f = fopen(mounts, "re");
	const bool found = f && find_mount(f, x.stx_mnt_id, &p);

	if (f)
		fclose(f);
	return !found || p.served || (p.overlay && !is_mounted_here(p.device));
}

bool espy_is_served(const char *path)
{
	char there[PATH_MAX] = "", cwd[PATH_MAX];
	const char *at = path;
	int pid = 0, len = 0;

	if (sscanf(path, "/proc/%d/root/%n", &pid, &len) == 1 && len)
		at = path + len - 1;
	else if ((sscanf(path, "/proc/%d/map_files/%n", &pid, &len) == 1 && len) ||
		 (sscanf(path, "/proc/%d/exe%n", &pid, &len) == 1 && len)) {
		if (readlink(path, there, sizeof(there) - 1) < 0)
			return false; /* nor can it be opened */
		const int known = is_on_served_mount(pid, path);

		if (known >= 0)
			return known;
		at = there;
	}
	if (!len && path[0] != '/' && getcwd(cwd, sizeof(cwd)) && snprintf(there, sizeof(there), "%s/%s", cwd, path) < (int)sizeof(there))
		at = there;
	return len ? is_on_served_of(pid, at) : is_on_served_here(at);
}

int espy_ask_server(const char *path)
{
	struct reply r;

	if (!espy_is_served(path))
		return 0;
	const int err = have_it_read(path, &r, -1, 0);

	return err == -ETIMEDOUT || err == -EAGAIN ? err : 0;
}

int espy_copy_served(const char *path, size_t most, struct stat *st)
{
	const int copy = memfd_create("espy-copy", MFD_CLOEXEC);
	struct reply r;
	int err = copy < 0 ? -errno : have_it_read(path, &r, copy, most);

	if (!err && lseek(copy, 0, SEEK_SET) < 0)
		err = -errno;
	if (err && copy >= 0)
		close(copy);
	if (!err)
		*st = r.st;
	return err ? err : copy;
}
