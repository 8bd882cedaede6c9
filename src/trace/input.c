/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes that are read at a time. */
#define READ_AHEAD (256u << 10)

int espy_input__open(struct espy_input *in, const char *path)
{
	struct stat st;

	*in = (struct espy_input){ .fd = STDIN_FILENO };
	if (!strcmp(path, "-"))
		return 0;
	in->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (in->fd < 0)
		return -errno;
	if (fstat(in->fd, &st) < 0 || S_ISDIR(st.st_mode)) {
		close(in->fd);
		in->fd = -1;
		return -EISDIR;
	}
	in->regular = S_ISREG(st.st_mode);
	return 0;
}

void espy_input__close(struct espy_input *in)
{
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	free(in->data);
	*in = (struct espy_input){ .fd = -1 };
}

void espy_input__again(struct espy_input *in)
{
	if (in->regular)
		in->len = 0;
}

uint64_t espy_input__size(const struct espy_input *in)
{
	struct stat st;

	return in->regular && !fstat(in->fd, &st) && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* Makes room for `size` bytes from base on. */
static int reserve(struct espy_input *in, size_t size)
{
	if (size <= in->cap)
		return 0;
	uint8_t *data = realloc(in->data, size);

	if (!data)
		return -ENOMEM;
	in->data = data;
	in->cap = size;
	return 0;
}

/* Reads one more piece behind the others. Returns 0 at the end. */
static ssize_t read_more(struct espy_input *in, size_t want)
{
	size_t room = want - in->len > READ_AHEAD ? want - in->len : READ_AHEAD;

	if (in->regular) {
		const uint64_t size = espy_input__size(in), from = in->base + in->len;

		if (from >= size)
			return 0;
		if (room > size - from)
			room = size - from;
	} else if (in->ended) {
		return 0;
	} else if (room > READ_AHEAD) {
		/* the length of a stream is not known: at most double what it has brought */
		room = in->len > READ_AHEAD ? in->len : READ_AHEAD;
	}
	int err = reserve(in, in->len + room);

	if (err)
		return err;
	ssize_t n;

	do
		n = in->regular ? pread(in->fd, in->data + in->len, room, (off_t)(in->base + in->len)) :
				  read(in->fd, in->data + in->len, room);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!n)
		in->ended = true;
	in->len += (size_t)n;
	return n;
}

ssize_t espy_input__at(struct espy_input *in, uint64_t offset, size_t want, const uint8_t **bytes)
{
	if (offset > INT64_MAX / 2)
		return 0;
	if (offset < in->base && !in->regular)
		return -ESPIPE;
	if (offset >= in->base && offset - in->base <= in->len) {
		const size_t before = offset - in->base;

		/* the pieces shall lie at the front at the next read */
		if (in->len - before < want && before) {
			memmove(in->data, in->data + before, in->len - before);
			in->len -= before;
			in->base = offset;
		}
	} else if (in->regular) {
		in->base = offset;
		in->len = 0;
	} else {
		/* a stream: reads and drops the bytes between */
		while (in->base + in->len < offset) {
			in->base += in->len;
			in->len = 0;
			const ssize_t n = read_more(in, 1);

			if (n <= 0)
				return n;
		}
		return espy_input__at(in, offset, want, bytes);
	}
	while (in->len < want + (offset - in->base)) {
		const ssize_t n = read_more(in, want + (offset - in->base));

		if (n < 0)
			return n;
		if (!n)
			break;
	}
	*bytes = in->data ? in->data + (offset - in->base) : NULL; /* an empty file */
	return (ssize_t)(in->len - (offset - in->base));
}
