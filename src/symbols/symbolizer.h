/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symbols and lines of addresses in any number of files, which are opened once each. */
#ifndef ESPY_SYMBOLS_SYMBOLIZER_H
#define ESPY_SYMBOLS_SYMBOLIZER_H

#include <stddef.h>
#include <stdint.h>
#include "symbols/lines.h"

struct espy_symbolizer;

/* Returns NULL without memory. */
struct espy_symbolizer *espy_symbolizer__new(void);
void espy_symbolizer__free(struct espy_symbolizer *s);
/*
 * The file of that path, if it is the one that is meant: build_id_sz 0: whatever it is. Returns NULL if there is none, or it
 * has another build-id. It belongs to the symbolizer.
 */
struct espy_lines_of *espy_symbolizer__file(struct espy_symbolizer *s, const char *path, const uint8_t *build_id,
					    size_t build_id_sz);

#endif
