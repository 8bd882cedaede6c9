/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/path_filter.h"

#include <fcntl.h>
#include <string.h>
#include "state/fd_name.h"

/* Room for two paths, one behind the other: the kernel takes none longer than half of it. */
#define PATH_ROOM 8192u

static bool is_wanted_path(const struct espy_filter *f, const char *path, size_t len)
{
	for (size_t i = 0; i < f->path_cnt; i++)
		if (strlen(f->paths[i]) == len && !memcmp(f->paths[i], path, len))
			return true;
	return false;
}

/* Returns the length of a file's name, without the words of /proc behind the name of a file that is gone. */
static size_t name_len(const char *name)
{
	return strlen(name) - espy_fd_gone_suffix(name);
}

static bool is_wanted_number(const struct espy_filter *f, int fd)
{
	bool in = false;

	for (size_t i = 0; i < f->fds.fd_cnt; i++)
		in |= f->fds.fds[i] == fd;
	return f->fds.given && fd >= 0 && in != f->fds.negated;
}

/* Tells whether a wanted number is in a set of descriptors, as select takes it. */
static bool has_wanted_number(const struct espy_filter *f, const struct espy_token *set)
{
	for (uint64_t i = 0; f->fds.given && i < set->num && i / 8 < set->len; i++)
		if (set->bytes[i / 8] >> (i % 8) & 1 && is_wanted_number(f, (int)i))
			return true;
	return false;
}

/* Appends a path to to[0..*len), one component after the other. It resolves "." and "..". Returns false if too long. */
static bool join(char *to, size_t *len, const char *path, size_t path_len)
{
	for (size_t at = 0; at < path_len;) {
		const char *end = memchr(path + at, '/', path_len - at);
		const size_t n = end ? (size_t)(end - (path + at)) : path_len - at;

		if (n == 2 && !memcmp(path + at, "..", 2)) {
			while (*len && to[--*len] != '/')
				;
		} else if (n && !(n == 1 && path[at] == '.')) {
			if (*len + 1 + n > PATH_ROOM)
				return false;
			to[(*len)++] = '/';
			memcpy(to + *len, path + at, n);
			*len += n;
		}
		at += n + 1;
	}
	return true;
}

/* Tells whether a path argument is wanted. A relative one counts from dir; NULL: not known. Links in it stay. */
static bool touches_wanted(const struct espy_filter *f, const char *dir, const char *path, size_t len)
{
	char whole[PATH_ROOM];
	size_t whole_len = 0;

	if (is_wanted_path(f, path, len))
		return true;
	return !f->paths_as_written && len && path[0] != '/' && dir && dir[0] == '/' &&
	       join(whole, &whole_len, dir, name_len(dir)) && join(whole, &whole_len, path, len) &&
	       is_wanted_path(f, whole, whole_len);
}

/* Tells whether any token is wanted. numbers: descriptors count by their numbers, too. */
static bool is_wanted(const struct espy_filter *f, struct espy_tokens tokens, const char *cwd, bool numbers)
{
	const char *dir = cwd;

	for (uint32_t i = 0; i < tokens.cnt; i++) {
		const struct espy_token *k = &tokens.at[i];
		const struct espy_token *more = k->flags & ESPY_TOKF_MORE ? k + 1 : NULL;

		/* a descriptor that does not count, and its file */
		const struct espy_token *fd = k->kind == ESPY_TOKEN_FD && i ? k - 1 : k;

		if (!(k->shown & ESPY_MANNER_BYTES))
			continue;
		if (fd->kind == ESPY_TOKEN_INT && fd->type && fd->type->flags & ESPY_TF_UNTOUCHED)
			continue;
		if (k->kind == ESPY_TOKEN_INT && k->fmt == ESPY_FMT_DIRFD)
			dir = (int)k->num == AT_FDCWD ? cwd : more ? more->name : NULL;
		if (numbers && k->kind == ESPY_TOKEN_INT && (k->fmt == ESPY_FMT_FD || k->fmt == ESPY_FMT_DIRFD) &&
		    is_wanted_number(f, (int)k->num))
			return true;
		if (numbers && k->kind == ESPY_TOKEN_BITS && k->fmt == ESPY_FMT_FD && has_wanted_number(f, k))
			return true;
		/* The file of a descriptor stands behind it, if it is known. */
		if (k->kind == ESPY_TOKEN_FD && k->name && is_wanted_path(f, k->name, name_len(k->name)))
			return true;
		if (k->kind == ESPY_TOKEN_STR && f->path_cnt && k->type->flags & ESPY_TF_PATH &&
		    !(k->type->flags & ESPY_TF_UNTOUCHED) &&
		    touches_wanted(f, dir, (const char *)k->bytes, strnlen((const char *)k->bytes, k->len)))
			return true;
	}
	return false;
}

bool espy_path_filter__match(const struct espy_filter *f, const struct espy_event *e)
{
	return is_wanted(f, e->args, e->cwd, true) || (!f->paths_as_written && is_wanted(f, e->result, e->cwd, false));
}
