/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Bytes that the build compressed, so that the program is smaller by what few of its runs need. */
#ifndef ESPY_BASE_PACKED_H
#define ESPY_BASE_PACKED_H

#include <stddef.h>
#include <stdio.h>

struct espy_packed {
	const void *bytes; /* a frame of zstd, which tells its content's size */
	size_t size;	   /* bytes of the frame */
};

/*
 * Unpacks. Returns malloc'ed bytes, *size of them and a NUL behind; the caller frees them. NULL: there is no memory,
 * since the build made the frame.
 */
void *espy_packed__open(const struct espy_packed *p, size_t *size);
/* For tools of the build, packed_make.c: */
/* Packs size bytes as small as can be. Returns a malloc'ed frame, which the caller frees; NULL: there is no memory. */
void *espy_packed__make(const void *bytes, size_t size, size_t *packed_size);
/* Writes bytes as a C array of that name. Its words of 8 bytes keep it aligned for every reader, and compile quickly.
 */
void espy_packed__write_words(FILE *f, const char *name, const void *bytes, size_t size);

#endif
