/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structs of options from callers that may be older or newer than this library; copies of the texts and arrays behind them. */
#ifndef ESPY_LIB_OPTION_STRUCTS_H
#define ESPY_LIB_OPTION_STRUCTS_H

#include <stddef.h>

/*
 * Fills own, a struct of own_size bytes that begins with its size, from the caller's. Members that the caller's does not
 * have become zero. Returns 0; -EINVAL: given is NULL, or its size is no size; -E2BIG: a member is set that this version
 * does not know.
 */
int espy_options__take(void *own, size_t own_size, const void *given);
/* Fills a struct of the caller: writes the part that the caller's has. 0 or -EINVAL. */
int espy_options__give(void *given, const void *own, size_t own_size);

/* Copies that are freed together. */
struct espy_kept {
	void **v;
	size_t cnt;
	int error; /* -ENOMEM once there was no memory */
};
const char *espy_kept__string(struct espy_kept *k, const char *s); /* NULL stays NULL */
void *espy_kept__bytes(struct espy_kept *k, const void *bytes, size_t size);
/* cnt strings, and a NULL behind them. */
char **espy_kept__strings(struct espy_kept *k, const char *const *v, size_t cnt);
void espy_kept__free(struct espy_kept *k);

#endif
