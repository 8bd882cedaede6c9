/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Asks the kernel which family of generic netlink has a number: the kernel gives out the numbers as families come. */
#ifndef ESPY_STATE_GENL_ASK_H
#define ESPY_STATE_GENL_ASK_H

#include <stddef.h>
#include <stdint.h>

/* Writes the family's name, without NUL, and returns the number of its bytes; 0: there is no such family. */
size_t espy_genl_ask(uint32_t family, char *to, size_t size);

#endif
