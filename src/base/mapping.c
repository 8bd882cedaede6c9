/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/proc_pid.h"

/* Of <linux/fs.h>, which may be older. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
_Static_assert(sizeof(struct query) == 104, "the kernel's struct procmap_query");
#define QUERY _IOWR('f', 17, struct query)
#define EXECUTABLE 0x04u
#define OR_NEXT 0x10u
#define OF_FILE 0x20u

/* The mapping that is looked for: by address, as code of a file, or as the beginning of a file. */
struct wanted {
	uint64_t addr;
	const char *part; /* of the file whose code it is; NULL: not by this */
	const char *name; /* of the file whose beginning it is; NULL: not by this */
};

static bool has_name(const struct wanted *w, const char *name, uint64_t offset)
{
	return w->part ? strstr(name, w->part) != NULL : !offset && !strcmp(name, w->name);
}

/* Asks the kernel for the mapping. Returns 0 or -ENOENT; -ENOTTY: the kernel is older. */
static int ask(struct espy_mapping *m, int fd, const struct wanted *w)
{
	const bool by_name = w->part || w->name;
	uint64_t addr = w->addr;
	struct query q = { .size = sizeof(q),
			   .flags = (by_name ? OR_NEXT | OF_FILE : 0) | (w->part ? EXECUTABLE : 0) };

	do {
		q.addr = addr;
		q.name = (uint64_t)(uintptr_t)m->name;
		q.name_size = sizeof(m->name);
		m->name[0] = 0;
		if (ioctl(fd, QUERY, &q)) {
			if (errno != ENAMETOOLONG)
				return -errno;
			q.name = q.name_size = 0;
			if (ioctl(fd, QUERY, &q))
				return -errno;
		}
		addr = q.end;
	} while (by_name && !has_name(w, m->name, q.offset));
	m->start = q.start;
	m->end = q.end;
	return 0;
}

bool espy_maps_line__parse(struct espy_maps_line *m, char *line)
{
	int path_at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start, &m->end, m->perms,
		   &m->offset, &m->major, &m->minor, &m->inode, &path_at) < 7)
		return false;
	m->path = line + path_at;
	return path_at;
}

static bool fits(const struct espy_maps_line *l, const struct wanted *w)
{
	if (!w->part && !w->name)
		return w->addr - l->start < l->end - l->start;
	return l->path[0] != '[' && (!w->part || l->perms[2] == 'x') && has_name(w, l->path, l->offset);
}

static bool find_in_list(struct espy_mapping *m, int fd, const struct wanted *w)
{
	FILE *f = fdopen(fd, "re");
	char *line = NULL;
	size_t cap = 0;
	bool found = false;

	if (!f)
		close(fd);
	while (f && !found && getline(&line, &cap, f) > 0) {
		struct espy_maps_line l;

		if (!espy_maps_line__parse(&l, line))
			continue;
		found = fits(&l, w);
		m->start = l.start;
		m->end = l.end;
		if (found)
			snprintf(m->name, sizeof(m->name), "%s", strlen(l.path) < sizeof(m->name) ? l.path : "");
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

static bool find(struct espy_mapping *m, pid_t pid, const struct wanted *w)
{
	char path[48];
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)espy_proc_pid(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	err = ask(m, fd, w);
	if (err == -ENOTTY)
		return find_in_list(m, fd, w);
	close(fd);
	return !err;
}

bool espy_mapping__at(struct espy_mapping *m, pid_t pid, uint64_t addr)
{
	return find(m, pid, &(struct wanted){ .addr = addr });
}

bool espy_mapping__of_file(struct espy_mapping *m, pid_t pid, const char *part)
{
	return find(m, pid, &(struct wanted){ .part = part });
}

bool espy_mapping__begin_of(struct espy_mapping *m, pid_t pid, const char *name)
{
	return find(m, pid, &(struct wanted){ .name = name });
}
