/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/find_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/regular_file.h"

#define CACHE "/etc/ld.so.cache"
#define CACHE_MAX (64u << 20)
#define X86_64_LIBC6 0x0303 /* flags of an entry */

bool espy_file_is_called(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	const size_t len = strlen(name);

	if (strncmp(base, name, len))
		return false;
	return !base[len] || ((base[len] == '.' || base[len] == '-') && strstr(base + len, ".so"));
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static bool on_path(const char *name, char *path, size_t path_sz)
{
	const char *at = getenv("PATH");

	if (!at)
		at = "/usr/bin:/bin";
	for (size_t len;; at += len + 1) {
		len = strcspn(at, ":");
		const int n = snprintf(path, path_sz, "%.*s/%s", (int)len, len ? at : ".", name);

		if (n > 0 && (size_t)n < path_sz && is_program(path))
			return true;
		if (!at[len])
			return false;
	}
}

/* The table of the dynamic linker: a head, entries, and the texts that they point to. */
struct cache_head {
	char magic[20];
	uint32_t cnt, texts_sz;
	uint32_t reserved[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets from the head */
	uint32_t os;
	uint64_t hwcap;
};
_Static_assert(sizeof(struct cache_head) == 48 && sizeof(struct cache_entry) == 24, "as the dynamic linker writes them");

static char *read_cache(size_t *size)
{
	const int fd = espy_open_regular(CACHE);
	struct stat st;
	char *bytes = NULL;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0 && st.st_size <= (off_t)CACHE_MAX && (bytes = malloc((size_t)st.st_size + 1))) {
		const ssize_t n = read(fd, bytes, (size_t)st.st_size);

		*size = n > 0 ? (size_t)n : 0;
		bytes[*size] = 0;
	}
	close(fd);
	return bytes;
}

static bool in_cache(const char *name, char *path, size_t path_sz)
{
	struct cache_head head;
	size_t size = 0;
	char *bytes = read_cache(&size);
	bool found = false;

	if (bytes && size >= sizeof(head)) {
		memcpy(&head, bytes, sizeof(head));
		if (memcmp(head.magic, "glibc-ld.so.cache1.1", sizeof(head.magic)))
			head.cnt = 0;
		for (size_t i = 0; i < head.cnt && !found && (i + 1) * sizeof(struct cache_entry) <= size - sizeof(head); i++) {
			struct cache_entry e;

			memcpy(&e, bytes + sizeof(head) + i * sizeof(e), sizeof(e));
			if (e.flags != X86_64_LIBC6 || e.path >= size || !espy_file_is_called(bytes + e.path, name))
				continue;
			found = (size_t)snprintf(path, path_sz, "%s", bytes + e.path) < path_sz;
		}
	}
	free(bytes);
	return found;
}

int espy_find_file(const char *name, char *path, size_t path_sz)
{
	if (on_path(name, path, path_sz) || in_cache(name, path, path_sz))
		return 0;
	return -ENOENT;
}
