/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bytes of a trace file by offset, from a file or from a stream that is read once from front to back. */
#ifndef ESPY_TRACE_INPUT_H
#define ESPY_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct espy_input {
	int fd;
	bool regular; /* offsets can go back, and the size is known */
	bool ended;   /* a stream: nothing more comes */
	/* bytes [base, base + len) of the file */
	uint8_t *data;
	size_t len, cap;
	uint64_t base;
};

/* "-": standard input. */
int espy_input__open(struct espy_input *in, const char *path);
void espy_input__close(struct espy_input *in);
/*
 * Bytes from `offset` on, in one piece: at least `want`, fewer only where the file ends now. Valid until the next call.
 * Allocates for what is there, not for what is wanted. A stream cannot go back: -ESPIPE.
 */
ssize_t espy_input__at(struct espy_input *in, uint64_t offset, size_t want, const uint8_t **bytes);
/* What was read is forgotten: the file may have changed since. */
void espy_input__again(struct espy_input *in);
/* Of a regular file, now; 0 if not known. */
uint64_t espy_input__size(const struct espy_input *in);

#endif
