/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -P: the facts by which the programs test paths (kernel/paths.bpf.h): last components, inodes of existing files. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/small_file.h"
#include "source/bpf/bpf_source.h"

/* Returns the last component of a path, without slashes behind it, and its length. */
static const char *last_component(const char *path, size_t *len)
{
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/';)
		begin--;
	*len = end - begin;
	return path + begin;
}

void bpf_paths__configure(const struct bpf_source *s, struct espy_bpf_conf *conf)
{
	if (!bpf_tests_paths(s))
		return;
	conf->paths.cnt = (uint32_t)s->opts.path_cnt;
	for (uint32_t i = 0; i < conf->paths.cnt; i++) {
		size_t len;
		const char *name = last_component(s->opts.paths[i], &len);

		/* Longer than a name can be: no file is called so. */
		if (len > ESPY_BPF_COMPONENT)
			len = ESPY_BPF_COMPONENT;
		conf->paths.len[i] = (uint32_t)len;
		memcpy(conf->paths.name[i], name, len);
	}
}

/*
 * Returns the number of a file's inode as the programs see it; 0: there is no such file. Some file systems tell
 * stat(2) another one. The kernel gives its own in /proc/self/fdinfo (since Linux 5.14).
 */
static uint64_t inode_of(const char *path)
{
	const int fd = open(path, O_PATH | O_CLOEXEC);
	char name[64], value[32];
	uint64_t ino = 0;
	struct stat st;

	if (fd < 0)
		return 0;
	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	if (espy_read_field(name, "ino", value, sizeof(value)) > 0)
		ino = strtoull(value, NULL, 10);
	if (!ino && !fstat(fd, &st))
		ino = st.st_ino;
	close(fd);
	return ino;
}

void bpf_paths__share(struct bpf_source *s)
{
	for (uint32_t i = 0; bpf_tests_paths(s) && i < s->opts.path_cnt; i++) {
		const uint64_t ino = inode_of(s->opts.paths[i]);

		if (ino)
			s->shared->wanted[s->shared->wanted_cnt++ & (ESPY_BPF_WANTED - 1)] = ino;
	}
}
