/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parameters and results of the kernel's functions, by the types that the kernel tells of itself (BTF,
 * /sys/kernel/btf). */
#ifndef ESPY_SOURCE_KERNEL_TYPES_H
#define ESPY_SOURCE_KERNEL_TYPES_H

#include <stdint.h>
#include "symbols/variables.h"

struct espy_kernel_types;

/* Opens the types of the running kernel. Returns 0 or -errno. */
int espy_kernel_types__open(struct espy_kernel_types **out);
void espy_kernel_types__close(struct espy_kernel_types *t);
/*
 * Opens what can be named where a function begins, or with `returns` where it returns. Returns 0; -ENODATA: the types
 * do not tell of it; -ENOMEM. t must live longer.
 */
int espy_kernel_types__function(struct espy_kernel_types *t, const char *name, const char *module, bool returns,
				struct espy_variables **out);
/* Returns the number that the kernel's own types give this function of its own (not of a module); 0: none. */
uint32_t espy_kernel_types__id(struct espy_kernel_types *t, const char *name);

#endif
