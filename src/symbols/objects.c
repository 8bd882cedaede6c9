/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/objects.h"
#include "base/mapping.h"
#include "base/proc_pid.h"
#include "base/regular_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define OBJECTS_MAX 65536u

/*
 * Opens the file behind a mapping. map_files names exactly that file, also if it was deleted or is in another mount
 * namespace, but needs a privilege. The path only counts if it leads to the same file.
 */
static int open_mapped(pid_t pid, const struct espy_maps_line *m)
{
	char path[4200];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)espy_proc_pid(pid), m->start,
		 m->end);
	fd = espy_open_contents(path, SIZE_MAX, &st);
	if (fd >= 0 || fd == -ETIMEDOUT)
		return fd;
	int n = snprintf(path, sizeof(path), "/proc/%d/root%s", (int)espy_proc_pid(pid), m->path);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = espy_open_contents(path, SIZE_MAX, &st);
	if (fd < 0)
		return fd;
	/* Some file systems show another device in maps than to stat: the inode decides there. */
	if (st.st_ino != m->inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static struct espy_object *add_object(struct espy_objects *o, const struct espy_maps_line *m)
{
	if (o->cnt >= OBJECTS_MAX)
		return NULL;
	if (!(o->cnt % 16)) {
		struct espy_object *v = realloc(o->v, (o->cnt / 16 + 1) * 16 * sizeof(*v));

		if (!v)
			return NULL;
		o->v = v;
	}
	struct espy_object *x = &o->v[o->cnt];
	*x = (struct espy_object){
		.path = strdup(m->path),
		.start = m->start,
		.first_end = m->end,
		.end = m->end,
		.dev_major = m->major,
		.dev_minor = m->minor,
		.inode = m->inode,
		.elf = { .fd = -1 },
		.error = -ENOEXEC,
	};
	if (!x->path)
		return NULL;
	o->cnt++;
	return x;
}

/* Finds the distance of addresses in memory from those in the file, by the mapping of the segment with the code. */
static bool find_bias(const struct espy_elf *e, const struct espy_maps_line *m, uint64_t *bias)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && (s->offset & ~(page - 1)) == m->offset && (s->flags & PF_X) &&
		    m->perms[2] == 'x') {
			*bias = m->start - (s->vaddr & ~(page - 1));
			return true;
		}
	}
	return false;
}

static void note_mapping(struct espy_objects *o, struct espy_object *x, pid_t pid, const struct espy_maps_line *m)
{
	if (m->end > x->end)
		x->end = m->end;
	if (m->perms[2] != 'x')
		return;
	if (!x->code_end) {
		int fd = open_mapped(pid, m);

		x->code_start = m->start;
		x->error = fd < 0 ? fd : espy_elf__open(&x->elf, fd);
		if (!x->error && !find_bias(&x->elf, m, &x->bias)) {
			espy_elf__close(&x->elf);
			x->error = -EBADMSG;
		}
	}
	x->code_end = m->end;
}

int espy_objects__of_pid(struct espy_objects *out, pid_t pid)
{
	char path[64], *line = NULL;
	struct espy_object *cur = NULL;
	size_t cap = 0;
	int err = 0;

	*out = (struct espy_objects){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)espy_proc_pid(pid));
	FILE *f = fopen(path, "re");

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && getline(&line, &cap, f) > 0) {
		struct espy_maps_line m;

		if (!espy_maps_line__parse(&m, line) || !m.inode || m.path[0] != '/')
			continue;
		/* A new object begins with the beginning of a file: the same file may be there twice (dlmopen). */
		if (!cur || cur->inode != m.inode || cur->dev_major != m.major || cur->dev_minor != m.minor ||
		    (!m.offset && cur->code_end)) {
			cur = add_object(out, &m);
			if (!cur)
				err = -ENOMEM;
		}
		if (!err)
			note_mapping(out, cur, pid, &m);
	}
	free(line);
	fclose(f);
	/* A file without code holds no mark and no probe. */
	size_t kept = 0;
	for (size_t i = 0; i < out->cnt; i++) {
		if (out->v[i].code_end)
			out->v[kept++] = out->v[i];
		else
			free(out->v[i].path);
	}
	out->cnt = kept;
	if (err)
		espy_objects__free(out);
	return err;
}

void espy_objects__free(struct espy_objects *o)
{
	for (size_t i = 0; i < o->cnt; i++) {
		espy_elf__close(&o->v[i].elf);
		free(o->v[i].path);
	}
	free(o->v);
	*o = (struct espy_objects){ 0 };
}

const struct espy_object *espy_objects__at(const struct espy_objects *o, uint64_t addr)
{
	for (size_t i = 0; i < o->cnt; i++)
		if (addr >= o->v[i].code_start && addr < o->v[i].code_end)
			return &o->v[i];
	return NULL;
}
