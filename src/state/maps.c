/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/maps.h"
#include "base/proc_pid.h"
#include "base/regular_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>
#include "base/align.h"
#include "base/mapping.h"
#include "state/fd_table.h"

/* No linker writes more; a file that claims more is looked at no further. */
#define MAX_PROGRAM_HEADERS 128u
#define MAX_NOTE_BYTES 65536u
#define HEAD_BYTES 65536u /* of a file with a server: program headers and notes stand at its beginning */

/* The build-id of a file, read once. Device, inode and time of change tell files apart. */
struct file_id {
	dev_t dev;
	ino_t ino;
	int64_t changed_ns;
};
struct known_file {
	struct file_id key;
	uint8_t build_id_sz;
	uint8_t build_id[20];
	UT_hash_handle hh;
};

struct espy_maps {
	espy_record_fn fn;
	void *ctx;
	struct known_file *files;
};

struct espy_maps *espy_maps__new(espy_record_fn fn, void *ctx)
{
	struct espy_maps *m = calloc(1, sizeof(*m));

	if (m) {
		m->fn = fn;
		m->ctx = ctx;
	}
	return m;
}

void espy_maps__free(struct espy_maps *m)
{
	struct known_file *f, *next;

	if (!m)
		return;
	HASH_ITER(hh, m->files, f, next)
	{
		HASH_DEL(m->files, f);
		free(f);
	}
	free(m);
}

/* Finds the GNU build-id among the notes of one segment. Returns its size; 0: there is none. */
static unsigned find_note(const uint8_t *notes, size_t size, uint8_t id[20])
{
	Elf64_Nhdr n;

	for (size_t at = 0; size - at >= sizeof(n);) {
		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		size_t name = ((size_t)n.n_namesz + 3) & ~(size_t)3, desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
		if (name > size - at || desc > size - at - name)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) && n.n_descsz <= 20) {
			memcpy(id, notes + at + name, n.n_descsz);
			return n.n_descsz;
		}
		at += name + desc;
	}
	return 0;
}

unsigned espy_build_id(int fd, uint8_t id[20])
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr e64;
		Elf32_Ehdr e32;
	} h;
	unsigned got = 0;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || memcmp(h.ident, ELFMAG, SELFMAG) ||
	    h.ident[EI_DATA] != ELFDATA2LSB)
		return 0;
	const bool wide = h.ident[EI_CLASS] == ELFCLASS64;
	const unsigned cnt = wide ? h.e64.e_phnum : h.e32.e_phnum, size = wide ? h.e64.e_phentsize : h.e32.e_phentsize;
	const uint64_t off = wide ? h.e64.e_phoff : h.e32.e_phoff;

	if (size != (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
		return 0;
	for (unsigned i = 0; i < cnt && i < MAX_PROGRAM_HEADERS && !got; i++) {
		union {
			Elf64_Phdr p64;
			Elf32_Phdr p32;
		} p;

		if (pread(fd, &p, size, (off_t)(off + (uint64_t)i * size)) != (ssize_t)size)
			return 0;
		if ((wide ? p.p64.p_type : p.p32.p_type) != PT_NOTE)
			continue;
		size_t len = wide ? p.p64.p_filesz : p.p32.p_filesz;
		uint64_t at = wide ? p.p64.p_offset : p.p32.p_offset;
		uint8_t *notes = len && len <= MAX_NOTE_BYTES ? malloc(len) : NULL;

		if (notes && pread(fd, notes, len, (off_t)at) == (ssize_t)len)
			got = find_note(notes, len, id);
		free(notes);
	}
	return got;
}

/* Returns the file at a path of this process. NULL: it cannot be read. */
static const struct known_file *file_at(struct espy_maps *m, const char *path)
{
	struct known_file *f;
	struct file_id key;
	struct stat st;
	const int fd = espy_open_contents(path, HEAD_BYTES, &st);

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	memset(&key, 0, sizeof(key)); /* it is compared byte by byte */
	key.dev = st.st_dev;
	key.ino = st.st_ino;
	key.changed_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	HASH_FIND(hh, m->files, &key, sizeof(key), f);
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (f) {
			f->key = key;
			f->build_id_sz = (uint8_t)espy_build_id(fd, f->build_id);
			HASH_ADD(hh, m->files, key, sizeof(f->key), f);
		}
	}
	close(fd);
	return f;
}

static void send(struct espy_maps *m, const struct espy_rec_map *head, const char *path)
{
	struct {
		struct espy_rec_map map;
		char path[4096];
	} rec = { .map = *head };
	size_t len = strlen(path);

	if (len >= sizeof(rec.path))
		return;
	memcpy(rec.path, path, len + 1);
	rec.map.path_sz = (uint16_t)(len + 1);
	rec.map.rec.type = ESPY_REC_MAP;
	rec.map.rec.size = (uint32_t)espy_pad8(sizeof(rec.map) + len + 1);
	m->fn(m->ctx, &rec.map.rec);
}

static void send_file(struct espy_maps *m, struct espy_rec_map *map, const char *name)
{
	char path[4200];

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)espy_proc_pid((pid_t)map->rec.tgid), name);
	const struct known_file *f = file_at(m, path);
	/* If the process has ended, its path may still lead to the file. */
	if (!f && errno != ETIMEDOUT)
		f = file_at(m, name);
	if (f) {
		map->build_id_sz = f->build_id_sz;
		memcpy(map->build_id, f->build_id, sizeof(map->build_id));
	}
	send(m, map, name);
}

void espy_maps__process(struct espy_maps *m, uint32_t tgid, uint64_t time_ns)
{
	char path[64], line[4400];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)espy_proc_pid((pid_t)tgid));
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		struct espy_rec_map map = { .rec = { .tid = tgid, .tgid = tgid, .time_ns = time_ns } };
		struct espy_maps_line l;

		if (!espy_maps_line__parse(&l, line) || l.path[0] != '/' || l.perms[2] != 'x')
			continue;
		map.start = l.start;
		map.end = l.end;
		map.offset = l.offset;
		map.prot = (l.perms[0] == 'r' ? PROT_READ : 0) | (l.perms[1] == 'w' ? PROT_WRITE : 0) | PROT_EXEC;
		send_file(m, &map, l.path);
	}
	if (f)
		fclose(f);
}

void espy_maps__call(struct espy_maps *m, const struct espy_call_view *v, struct espy_state *state)
{
	const struct espy_fd_name *n = v->args[2] & PROT_EXEC ? espy_state__mapped_file(state, v) : NULL;

	if (!n || !n->name || n->name[0] != '/')
		return;
	struct espy_rec_map map = {
		.rec = { .tid = v->tid, .tgid = v->tgid, .time_ns = v->exit_ns },
		.start = (uint64_t)v->ret,
		.end = (uint64_t)v->ret + v->args[1],
		.offset = v->args[5],
		.prot = (uint32_t)v->args[2],
	};
	send_file(m, &map, n->name);
}
