/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "trace/format.h"

static char *name_in_set(const char *path, uint32_t number)
{
	char *name;

	return asprintf(&name, "%s.%u", path, number) < 0 ? NULL : name;
}

long espy_output_number_of(const char *name, const char *base)
{
	const size_t n = strlen(base);

	if (strncmp(name, base, n) || name[n] != '.')
		return -1;
	const char *digits = name + n + 1;

	if (!*digits || strlen(digits) > 9 || strspn(digits, "0123456789") != strlen(digits) ||
	    (digits[0] == '0' && digits[1]))
		return -1;
	return strtol(digits, NULL, 10);
}

static bool is_trace(const char *path)
{
	uint8_t magic[8];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;
	bool yes = false;

	if (fd >= 0) {
		yes = !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		      !memcmp(magic, ESPY_TRACE_MAGIC, sizeof(magic));
		close(fd);
	}
	return yes;
}

/*
 * Files of an older set of that name: -EEXIST if there are any, or, if `remove`, deletes those that are traces (what else is
 * called so is somebody else's). `but` is left alone.
 */
static int old_set(const char *path, bool remove, long but)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int err = 0;

	if (!dir)
		return -ENOMEM;
	DIR *d = opendir(dir);

	free(dir);
	if (!d)
		return errno == ENOENT ? -ENOENT : errno == EACCES ? 0 : -errno;
	for (struct dirent *e; !err && (e = readdir(d));) {
		const long number = espy_output_number_of(e->d_name, base);

		if (number < 0 || number == but)
			continue;
		char *name = name_in_set(path, (uint32_t)number);

		if (!name)
			err = -ENOMEM;
		else if (!remove)
			err = -EEXIST;
		else if (is_trace(name))
			unlink(name);
		free(name);
	}
	closedir(d);
	return err;
}

/* In place of what bears the name, and not before the new file is there: a failure leaves the old one as it is. */
static int replace(const char *path, int *fd)
{
	char *tmp;

	if (asprintf(&tmp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	*fd = mkostemp(tmp, O_CLOEXEC); /* mode 0600 */
	int err = *fd < 0 ? -errno : 0;

	if (!err && rename(tmp, path) < 0) {
		err = -errno;
		close(*fd);
		unlink(tmp);
	}
	free(tmp);
	return err;
}

static int create(const char *path, bool force, int *fd, bool *regular)
{
	struct stat st;

	*regular = true;
	if (!stat(path, &st) && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))) {
		*regular = false;
		*fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return *fd < 0 ? -errno : 0;
	}
	*fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (*fd >= 0)
		return 0;
	if (errno != EEXIST || !force)
		return -errno;
	if (!lstat(path, &st) && S_ISDIR(st.st_mode))
		return -EISDIR;
	return replace(path, fd);
}

int espy_output__open(struct espy_output *o, const char *path, bool force, bool rotates)
{
	int err;

	*o = (struct espy_output){ .fd = STDOUT_FILENO };
	if (!strcmp(path, "-"))
		return 0;
	if (!*path)
		return -ENOENT;
	o->path = strdup(path);
	if (!o->path)
		return -ENOMEM;
	o->rotates = rotates;
	err = rotates && !force ? old_set(path, false, -1) : 0;
	if (!err) {
		char *name = rotates ? name_in_set(path, 0) : o->path;

		err = name ? create(name, force, &o->fd, &o->regular) : -ENOMEM;
		if (name != o->path)
			free(name);
	}
	if (err) {
		free(o->path);
		return err;
	}
	o->own_fd = true;
	if (rotates && force)
		old_set(path, true, 0);
	return 0;
}

/* What a pipe or a terminal takes when it is ready to. */
static int wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int espy_output__write(struct espy_output *o, const void *head, size_t head_sz, const void *body, size_t body_sz)
{
	struct iovec v[2] = { { (void *)head, head_sz }, { (void *)body, body_sz } };
	size_t left = head_sz + body_sz;
	int err = 0;

	while (left && !err) {
		struct iovec *first = v[0].iov_len ? v : v + 1;
		const ssize_t n = writev(o->fd, first, first == v ? 2 : 1);

		if (n < 0) {
			err = errno == EINTR ? 0 : errno == EAGAIN ? wait_writable(o->fd) : -errno;
			continue;
		}
		left -= (size_t)n;
		const size_t of_head = (size_t)n < v[0].iov_len ? (size_t)n : v[0].iov_len;

		v[0].iov_base = (uint8_t *)v[0].iov_base + of_head;
		v[0].iov_len -= of_head;
		v[1].iov_base = (uint8_t *)v[1].iov_base + ((size_t)n - of_head);
		v[1].iov_len -= (size_t)n - of_head;
	}
	if (!err) {
		o->offset += head_sz + body_sz;
	} else if (o->regular && ftruncate(o->fd, (off_t)o->offset) < 0) {
		/* Nothing more can be done: readers find the torn section by its checksum. */
		return err;
	}
	return err;
}

int espy_output__next(struct espy_output *o, unsigned keep)
{
	char *name = name_in_set(o->path, o->number + 1);
	bool regular;
	int fd, err;

	if (!name)
		return -ENOMEM;
	/* An older set was refused or deleted when this one was begun: what stands there now came meanwhile. */
	err = create(name, false, &fd, &regular);
	free(name);
	if (err)
		return err;
	err = close(o->fd) < 0 ? -errno : 0;
	o->fd = fd;
	o->regular = regular;
	o->offset = 0;
	o->number++;
	if (keep && o->number >= keep) {
		name = name_in_set(o->path, o->number - keep);
		if (name)
			unlink(name);
		free(name);
	}
	return err;
}

int espy_output__close(struct espy_output *o)
{
	int err = o->own_fd && close(o->fd) < 0 ? -errno : 0;

	free(o->path);
	*o = (struct espy_output){ .fd = -1 };
	return err;
}
