/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Bytes that both ends know, so that they need not be in the file. They are part of the format and never change:
 * another primer or dictionary is another feature of a file (tools/make-primer, tools/make-dictionary).  */
#ifndef ESPY_TRACE_PRIMER_H
#define ESPY_TRACE_PRIMER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The primer: a mixed block that was made without one. Returns the size of its records. They are unpacked in front of
 * each mixed block, to learn from them what programs do, and dropped.
 */
uint32_t espy_primer(const uint8_t **block, size_t *block_sz);
/* The dictionary of descriptions: an image of the calls that most programs make. free() it. -ENOMEM. */
int espy_descriptions__load(uint8_t **image, size_t *size);

#endif
