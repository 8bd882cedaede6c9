/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of the running kernel and its modules: their names and addresses (/proc/kallsyms), and which may be
 * probed. */
#ifndef ESPY_SOURCE_KERNEL_FUNCTIONS_H
#define ESPY_SOURCE_KERNEL_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/edits.h"

struct espy_kernel_function {
	const char *name;
	const char *module; /* "": the kernel itself */
	uint64_t addr;	    /* 0: the kernel does not tell it */
	bool is_traced;	    /* its beginning is prepared for probes; of use if the functions say which are */
};

struct espy_kernel_functions {
	struct espy_kernel_function *v; /* by name */
	size_t cnt;
	char **texts; /* the names and modules that v points to, in pieces */
	size_t text_cnt;
	int traced_err; /* 0: is_traced is known; else why not, as -errno */
};

/* Reads them. Returns 0 or -errno. The caller frees f in any case. */
int espy_kernel_functions__read(struct espy_kernel_functions *f);
void espy_kernel_functions__free(struct espy_kernel_functions *f);
/*
 * Finds the next function whose name fits the pattern (base/pattern.h). *at: where to go on, 0 at the beginning. NULL:
 * there are no more.
 */
const struct espy_kernel_function *espy_kernel_functions__match(const struct espy_kernel_functions *f,
								const char *pattern, size_t *at);
/* Returns the name that is most like this one: a copy that the compiler has made of it (NAME.isra.0), or what was
 * perhaps meant. NULL: none is. */
const char *espy_kernel_functions__near(const struct espy_kernel_functions *f, const char *name,
					struct espy_nearest *near);

/*
 * Tells why there must be no probe at a function: espy's own programs pass it while they hold a lock. NULL: there may
 * be one, as far as espy knows.
 */
const char *espy_kernel_function__never(const char *name);

#endif
