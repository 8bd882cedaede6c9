/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's types that programs need, kept from one espy to the next: to find them among all takes longer than to
 * load most programs. They hold until the machine boots another kernel.
 *
 * Programs read the kernel's memory at the offsets that stand here. So only root writes and reads the file, in a
 * directory of root's: an ordinary user, whose espy has capabilities of its file, must not choose the offsets.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fnv1a.h"
#include "base/run_dir.h"
#include "base/small_file.h"
#include "source/bpf/bpf_source.h"

#define FILE_NAME "kernel-types"
#define SIZE_MAX_KEPT (1u << 20)

/* The file: this head, then a BTF file of `size` bytes. */
struct head {
	char magic[8];
	uint64_t key;
	char boot[40]; /* the kernel's name for the time since it booted */
	struct bpf_type_ids ids;
	uint32_t size;
	uint64_t sum; /* of the bytes of the BTF file */
};

static bool fill_head(struct head *h, uint64_t key)
{
	*h = (struct head){ .magic = "espy-ty2", .key = key };
	return espy_read_line("/proc/sys/kernel/random/boot_id", h->boot, sizeof(h->boot)) > 0;
}

static bool is_of_root(int fd, mode_t kind)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == kind && !st.st_uid && !(st.st_mode & 022);
}

/* Opens the directory. Returns -1 if the caller is not root, or another user can write there. */
static int open_directory(bool make)
{
	int dir;

	if (getuid() || geteuid())
		return -1;
	if (make)
		mkdir(ESPY_RUN_DIR, 0700);
	dir = open(ESPY_RUN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir >= 0 && !is_of_root(dir, S_IFDIR)) {
		close(dir);
		return -1;
	}
	return dir;
}

static void *read_kept(int fd, const struct head *expected, struct bpf_type_ids *ids, size_t *size)
{
	struct head h;
	void *data;

	if (!is_of_root(fd, S_IFREG) || read(fd, &h, sizeof(h)) != (ssize_t)sizeof(h) ||
	    memcmp(h.magic, expected->magic, sizeof(h.magic)) || h.key != expected->key ||
	    memcmp(h.boot, expected->boot, sizeof(h.boot)) || !h.size || h.size > SIZE_MAX_KEPT)
		return NULL;
	data = malloc(h.size);
	if (data && (read(fd, data, h.size) != (ssize_t)h.size || espy_fnv1a(ESPY_FNV1A, data, h.size) != h.sum)) {
		free(data);
		return NULL;
	}
	*ids = h.ids;
	*size = h.size;
	return data;
}

void *bpf_types_cache__read(uint64_t key, struct bpf_type_ids *ids, size_t *size)
{
	const int dir = open_directory(false);
	const int fd = dir < 0 ? -1 : openat(dir, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct head expected;
	void *data = NULL;

	if (fd >= 0 && fill_head(&expected, key))
		data = read_kept(fd, &expected, ids, size);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return data;
}

void bpf_types_cache__write(uint64_t key, const struct bpf_type_ids *ids, const void *data, size_t size)
{
	struct head h;
	char name[48];
	int dir, fd;

	if (size > SIZE_MAX_KEPT || !fill_head(&h, key))
		return;
	dir = open_directory(true);
	if (dir < 0)
		return;
	h.ids = *ids;
	h.size = (uint32_t)size;
	h.sum = espy_fnv1a(ESPY_FNV1A, data, size);
	/* Another espy reads the old file or the new one, never half of one. */
	snprintf(name, sizeof(name), FILE_NAME ".%d", (int)getpid());
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		const bool whole =
			write(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) && write(fd, data, size) == (ssize_t)size;

		close(fd);
		if (!whole || renameat(dir, name, dir, FILE_NAME))
			unlinkat(dir, name, 0);
	}
	close(dir);
}
