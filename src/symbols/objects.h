/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files that a process has mapped with code in them, and where. */
#ifndef ESPY_SYMBOLS_OBJECTS_H
#define ESPY_SYMBOLS_OBJECTS_H

#include <sys/types.h>
#include "symbols/elf_file.h"

struct espy_object {
	char *path;		       /* as /proc/PID/maps shows it */
	uint64_t start, end;	       /* of the whole: the lowest and highest address mapped */
	uint64_t first_end;	       /* of the first mapping: START-END is its name in /proc/PID/map_files */
	uint64_t bias;		       /* address in memory = address in the file's numbering + bias */
	uint64_t code_start, code_end; /* of the executable mappings */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	struct espy_elf elf; /* open; fd -1: it could not be read, see `error` */
	int error;
};

struct espy_objects {
	struct espy_object *v;
	size_t cnt;
};

/* Of a process that runs. -ESRCH, -EACCES, ... */
int espy_objects__of_pid(struct espy_objects *out, pid_t pid);
void espy_objects__free(struct espy_objects *o);
/* The object whose executable part holds addr, or NULL. */
const struct espy_object *espy_objects__at(const struct espy_objects *o, uint64_t addr);

#endif
