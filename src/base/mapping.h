/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One mapping of a process. Since 6.11 the kernel answers that question by itself, whatever the number of mappings; an
 * older one is asked for the whole list. So a task that stands still for the answer waits for microseconds, not for a
 * list of thousands.
 */
#ifndef ESPY_BASE_MAPPING_H
#define ESPY_BASE_MAPPING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct espy_mapping {
	uint64_t start, end;
	char name[PATH_MAX]; /* of its file, or as "[stack]"; empty: none, or a longer one */
};

/* The mapping that the address lies in. false: there is none, or the process is gone. */
bool espy_mapping__at(struct espy_mapping *m, pid_t pid, uint64_t addr);
/* The first code of a file whose name has this part. */
bool espy_mapping__of_file(struct espy_mapping *m, pid_t pid, const char *part);
/* The first mapping of the beginning of the file that /proc/PID/maps names so. */
bool espy_mapping__begin_of(struct espy_mapping *m, pid_t pid, const char *name);

/* A line of /proc/PID/maps. */
struct espy_maps_line {
	uint64_t start, end, offset, inode;
	unsigned major, minor;
	char perms[5];
	const char *path; /* in the line; "": it has none */
};
/* Parses a line, and takes the newline off it. false: it is none. */
bool espy_maps_line__parse(struct espy_maps_line *m, char *line);

#endif
