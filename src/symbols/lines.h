/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From addresses to symbols and source lines, by the debug information of a file (or beside it, under /usr/lib/debug). */
#ifndef ESPY_SYMBOLS_LINES_H
#define ESPY_SYMBOLS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct espy_lines_of; /* of one file */

/* NULL if there is nothing to be known (also in a build without libdw). */
struct espy_lines_of *espy_lines_of__open(const char *path);
/* As above, from an open file, which is not taken over; path is what it is called. */
struct espy_lines_of *espy_lines_of__open_fd(int fd, const char *path);
/* The line of the instruction at addr (the file's own numbering); *file lives as long as l. */
bool espy_lines_of__at(struct espy_lines_of *l, uint64_t addr, const char **file, unsigned *line);
/* The symbol that addr lies in and how far behind its beginning; NULL: none. It lives as long as l. */
const char *espy_lines_of__symbol(struct espy_lines_of *l, uint64_t addr, uint64_t *offset);
/* Tells whether the file has this build-id. */
/*
 * Every symbol of the file, of its debug file if that is found (by build-id, by its link), and of the small table inside a stripped
 * file. addr as the file numbers its memory; type: STT_*. Ends with what fn returns, if not 0.
 */
int espy_lines_of__each_symbol(struct espy_lines_of *l,
			       int (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type), void *ctx);
bool espy_lines_of__has_build_id(struct espy_lines_of *l, const uint8_t *id, size_t size);
void espy_lines_of__close(struct espy_lines_of *l);
/* Can this build tell lines at all? */
bool espy_lines_of__possible(void);

#endif
