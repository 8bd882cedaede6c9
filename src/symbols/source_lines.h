/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From lines of source to addresses. */
#ifndef ESPY_SYMBOLS_SOURCE_LINES_H
#define ESPY_SYMBOLS_SOURCE_LINES_H

#include "symbols/lines.h"

#define ESPY_LINE_PLACES_MAX 4096u

/* Where the code of a line begins: in each function that has some of it, and in each copy of an inlined function. */
struct espy_line_places {
	uint64_t *addrs; /* as the file numbers its memory, in order; the caller frees them */
	size_t cnt;
	unsigned line;	/* of the addresses: the wanted one, or the next one that has code */
	unsigned last;	/* the last line of the source that has code */
	char near[128]; /* -ENOENT: the source whose name is nearest; "": none is near */
};

/*
 * Finds the places of a line. source: the end of the path of a source, from a slash on. Returns 0; -ENODATA: the file
 * has no table of lines; -ENOENT: none of its sources is called so; -ERANGE: no code comes at or behind the line;
 * -E2BIG: there are more places than ESPY_LINE_PLACES_MAX; -ENOMEM.
 */
int espy_lines_of__places(struct espy_lines_of *l, const char *source, unsigned line, struct espy_line_places *out);
/*
 * Finds the line whose code begins at addr: the first one, of several. It is the line of a function, if one begins
 * there. Returns false: none begins there. *source lives as long as l.
 */
bool espy_lines_of__begin(struct espy_lines_of *l, uint64_t addr, const char **source, unsigned *line);

#endif
