/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Amounts in messages for people. */
#ifndef ESPY_BASE_AMOUNT_H
#define ESPY_BASE_AMOUNT_H

#include <stdint.h>

/* Returns what stands behind a noun for so many of them: "1 call", "2 calls". */
static inline const char *espy_amount__s(uint64_t cnt)
{
	return cnt == 1 ? "" : "s";
}

#define ESPY_AMOUNT_SIZE 24
/* Writes a number of bytes with two digits at least, in the unit that suits it: "812 bytes", "1.4 kB", "37 MB". Returns text. */
const char *espy_amount__bytes(char text[ESPY_AMOUNT_SIZE], uint64_t bytes);

#endif
