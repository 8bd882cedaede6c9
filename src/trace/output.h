/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files a writer writes to: made, replaced, cut back, deleted. Knows names and bytes, no sections. */
#ifndef ESPY_TRACE_OUTPUT_H
#define ESPY_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct espy_output {
	int fd;
	bool own_fd;  /* to be closed */
	bool regular; /* can be cut back */
	char *path;   /* of a set without .N; NULL: standard output */
	char *made;   /* until __keep: the file that was created, perhaps under another name */
	char *name;   /* until __keep: what it shall be called, if that is another name */
	bool rotates;
	uint32_t number; /* of the current file in the set */
	uint64_t offset; /* in the current file: all before it is whole */
};

/*
 * path: "-" or a file. An existing regular file is left alone unless force, which lets the new file take its place when it is
 * kept. Something that is not a regular file (a FIFO, a terminal, /dev/null) is written to.
 */
int espy_output__open(struct espy_output *o, const char *path, bool force, bool rotates);
/* The beginning is written: the file gets its name, and replaces what is to be replaced. Without this, close deletes it. */
int espy_output__keep(struct espy_output *o);
/* All of it, or -errno and nothing: what was torn is cut off where that can be done. */
int espy_output__write(struct espy_output *o, const void *head, size_t head_sz, const void *body, size_t body_sz);
/* The next file of the set; the one that is `keep` files older is deleted (0: none). On failure the current one stays. */
int espy_output__next(struct espy_output *o, unsigned keep);
int espy_output__close(struct espy_output *o);

/* Calls `each` with all numbers N of files PATH.N, until it returns a value that is not 0. */
int espy_output_each(const char *path, int (*each)(void *ctx, const char *path, uint32_t number), void *ctx);

#endif
