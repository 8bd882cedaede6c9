/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Eight bytes at a time: most of what a traced program handles is plain ASCII, which needs no escape in text and in JSON. */
#ifndef ESPY_BASE_PLAIN_BYTES_H
#define ESPY_BASE_PLAIN_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#define ESPY_EACH_BYTE(c) (0x0101010101010101ull * (uint8_t)(c))
/* The top bit of each byte that is zero. Bytes above one that is zero may be marked, too: enough to tell whether there is one. */
#define ESPY_ZERO_BYTES(x) (((x)-ESPY_EACH_BYTE(1)) & ~(x)&ESPY_EACH_BYTE(0x80))

/* Is there among eight bytes a control character, a quote, a backslash, or one above ASCII? */
static inline bool espy_any_special(uint64_t x)
{
	const uint64_t control = (x - ESPY_EACH_BYTE(0x20)) & ~x;

	return (control | x | ESPY_ZERO_BYTES(x ^ ESPY_EACH_BYTE('"')) | ESPY_ZERO_BYTES(x ^ ESPY_EACH_BYTE('\\')) |
		ESPY_ZERO_BYTES(x ^ ESPY_EACH_BYTE(0x7f))) &
	       ESPY_EACH_BYTE(0x80);
}

#endif
