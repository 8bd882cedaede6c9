/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What -u was meant to be, if it names no user. */
#ifndef ESPY_CLI_PROBE_OF_H
#define ESPY_CLI_PROBE_OF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Looks for a function in a program (NULL: none is known) and in libc. Returns whether there is one. `probe` is then its place, as -u
 * takes it: "libc:malloc". What stands behind the function's name ("malloc%return") is kept.
 */
bool espy_probe_of(const char *function, const char *program, char *probe, size_t size);

#endif
