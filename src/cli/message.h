/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Messages for people. What a message quotes (names of files, tasks, marks) is foreign, and may hold any byte. */
#ifndef ESPY_CLI_MESSAGE_H
#define ESPY_CLI_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Makes the line "PREFIX: TEXT\n". Control characters and bytes from 0x7f on become \ooo, so that no escape sequence reaches
 * a terminal. Returns a string that the caller frees, and its length in *len; NULL without memory.
 */
char *espy_message__line(const char *prefix, const char *fmt, va_list ap, size_t *len);

#endif
