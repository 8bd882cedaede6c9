/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ESPY_BASE_ZERO_H
#define ESPY_BASE_ZERO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Tells whether all bytes are zero; true of none. */
static inline bool espy_all_zero(const uint8_t *at, size_t n)
{
	return !n || (!*at && !memcmp(at, at + 1, n - 1));
}

#endif
