/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions at whose return no probe can be. The kernel puts an address of its own in the place of the return address,
 * when a function is entered. A function that uses this word otherwise would take the program, and every other that
 * maps the file, to a wrong place.
 */
#ifndef ESPY_SYMBOLS_NO_RETURN_H
#define ESPY_SYMBOLS_NO_RETURN_H

#include "symbols/functions.h"

/*
 * Returns why there can be no probe at the return of the function, as the end of a sentence ("it may return twice"), or
 * NULL. f is of `functions`: names that others have given the same address count, too.
 */
const char *espy_functions__no_return(const struct espy_functions *functions, const struct espy_function *f);

/*
 * Tells whether the file has code that cleans up behind exceptions of C++ or panics of Rust. On their way through a
 * function whose return is probed they find the kernel's address, and end the program.
 */
bool espy_elf__has_exceptions(const struct espy_elf *e);

#endif
