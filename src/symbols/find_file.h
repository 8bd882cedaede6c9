/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of programs and libraries by the names that people give them: `zsh`, `libc`. */
#ifndef ESPY_SYMBOLS_FIND_FILE_H
#define ESPY_SYMBOLS_FIND_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Tells whether `name` means this file: its whole last component, or a library (libc: libc.so.6 and libc-2.31.so). */
bool espy_file_is_called(const char *path, const char *name);
/* A program on PATH, or else a library that the dynamic linker knows. 0, -ENOENT, -ENAMETOOLONG. */
int espy_find_file(const char *name, char *path, size_t path_sz);

#endif
