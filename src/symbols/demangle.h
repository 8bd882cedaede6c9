/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of C++ and Rust functions as their programmers know them. */
#ifndef ESPY_SYMBOLS_DEMANGLE_H
#define ESPY_SYMBOLS_DEMANGLE_H

#include <stdbool.h>

/*
 * The name behind a mangled symbol, or NULL: it is none, or the C++ library that knows is not installed. The caller
 * frees it. Names of Rust's older scheme lose the hash at their end. A name is foreign: it may hold any byte.
 */
char *espy_demangle(const char *symbol);
/*
 * Cuts the types of result and parameters from such a name: "shop::total" stays, as probes name a function. A namespace
 * without a name is {anonymous}. Returns false if nothing stays: the function has no such name.
 */
bool espy_demangled__cut(char *name);
/* The name cut so, or NULL. The caller frees it. */
char *espy_demangle_name(const char *symbol);

#endif
