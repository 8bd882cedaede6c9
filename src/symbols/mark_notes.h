/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The static marks of a file, found through its note (include/espy/mark.h, layout in agent/abi.h). */
#ifndef ESPY_SYMBOLS_MARK_NOTES_H
#define ESPY_SYMBOLS_MARK_NOTES_H

#include "agent/abi.h"
#include "symbols/elf_file.h"

struct espy_mark_entry {
	char *name;   /* as in the source: "app_req_done" */
	char *format; /* "" if it has none */
	char *file;
	unsigned line;
	uint64_t types; /* C types, 4 bits each (abi.h) */
	uint8_t nargs, what;
	uint64_t at; /* address of the record */
};

struct espy_mark_place {     /* a site */
	uint64_t addr, cold; /* in the file's numbering */
	size_t mark;	     /* index of its entry */
	bool intact;	     /* the five bytes in the file are the NOP */
};

struct espy_marks {
	struct espy_mark_entry *marks;
	size_t mark_cnt;
	struct espy_mark_place *places;
	size_t place_cnt;
	uint64_t hook; /* address of the pointer that the cold blocks call through */
	bool damaged;  /* some records could not be read */
};

/* 0 also if the file has none; -ENOTSUP: marks of a layout that this espy does not know. */
int espy_marks__read(const struct espy_elf *e, struct espy_marks *out);
void espy_marks__free(struct espy_marks *m);

/* "app_req_done" -> provider "app", name "req_done"; without an underscore both are all of it. */
void espy_mark__split(const char *full, size_t *provider_len, const char **name);
/* Tells whether a mark has the provider and the name of a probe. */
bool espy_mark__is(const char *full, const char *provider, const char *name);

#endif
