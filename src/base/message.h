/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages for people. What a message quotes (names of files, tasks, marks) is foreign, and may hold any byte. */
#ifndef ESPY_BASE_MESSAGE_H
#define ESPY_BASE_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Makes the line "PREFIX: TEXT\n". Control characters and bytes from 0x7f on become \ooo, so that no escape sequence reaches
 * a terminal. Returns a string that the caller frees, and its length in *len; NULL without memory.
 */
char *espy_message__line(const char *prefix, const char *fmt, va_list ap, size_t *len);

/* Returns what stands behind a noun for so many of them: "1 call", "2 calls". */
static inline const char *espy_message__s(uint64_t cnt)
{
	return cnt == 1 ? "" : "s";
}

#define ESPY_MESSAGE_SIZE 24
/* Writes a number of bytes with two digits at least, in the unit that suits it: "812 bytes", "1.4 kB", "37 MB". Returns text. */
const char *espy_message__size(char text[ESPY_MESSAGE_SIZE], uint64_t bytes);

#endif
