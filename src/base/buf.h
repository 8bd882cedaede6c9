/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A growing text buffer. Appending never fails visibly: out of memory is remembered in `failed`. */
#ifndef ESPY_BASE_BUF_H
#define ESPY_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct espy_buf {
	char *data; /* not NUL-terminated */
	size_t len, cap;
	bool failed; /* an allocation failed; what came after was dropped */
};

/* Makes the buffer larger, so that n more bytes find room; false if there is no memory. */
bool espy_buf__grow(struct espy_buf *b, size_t n);

/* Make room for n more bytes; false if there is no memory. */
static inline bool espy_buf__room(struct espy_buf *b, size_t n)
{
	return b->cap - b->len >= n || espy_buf__grow(b, n);
}

static inline void espy_buf__put(struct espy_buf *b, const void *s, size_t n)
{
	if (espy_buf__room(b, n)) {
		memcpy(b->data + b->len, s, n);
		b->len += n;
	}
}

static inline void espy_buf__puts(struct espy_buf *b, const char *s)
{
	espy_buf__put(b, s, strlen(s));
}

/* Puts n blanks. */
static inline void espy_buf__blanks(struct espy_buf *b, size_t n)
{
	if (espy_buf__room(b, n)) {
		memset(b->data + b->len, ' ', n);
		b->len += n;
	}
}

static inline void espy_buf__putc(struct espy_buf *b, char c)
{
	if (espy_buf__room(b, 1))
		b->data[b->len++] = c;
}

/* Ends the text with a NUL. Returns it, which the caller frees; NULL: there was no memory. */
static inline char *espy_buf__string(struct espy_buf *b)
{
	espy_buf__putc(b, 0);
	if (b->failed) {
		free(b->data);
		b->data = NULL;
	}
	return b->data;
}

static inline void espy_buf__free(struct espy_buf *b)
{
	free(b->data);
	*b = (struct espy_buf){ 0 };
}

#endif
