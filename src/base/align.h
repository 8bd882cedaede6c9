/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything in records and trace files begins at a multiple of 8 bytes. */
#ifndef ESPY_BASE_ALIGN_H
#define ESPY_BASE_ALIGN_H

#include <stdint.h>

/* n rounded up to a multiple of 8; n is at most UINT64_MAX - 7. */
static inline uint64_t espy_pad8(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

#endif
