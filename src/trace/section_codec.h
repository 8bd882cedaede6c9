/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Between the bytes of a section and those that are stored: columns (columns.h), compression, checksum. */
#ifndef ESPY_TRACE_SECTION_CODEC_H
#define ESPY_TRACE_SECTION_CODEC_H

#include <stddef.h>
#include <stdint.h>
#include "trace/trace_format.h"

struct espy_section_codec;

/* level: of zstd, 0: not compressed; a reader gives any. NULL: out of memory. */
struct espy_section_codec *espy_section_codec__new(int level);
void espy_section_codec__free(struct espy_section_codec *c);
size_t espy_section_codec__memory(const struct espy_section_codec *c);

/*
 * Makes the stored bytes of a section. head->kind, raw_sz and all that is not filled here is given; fills encoding, compression,
 * encoded_sz, stored_sz and both checksums. *stored is valid until the next call (it may be raw itself). 0 or -ENOMEM.
 */
int espy_section_codec__encode(struct espy_section_codec *c, struct espy_section_head *head, const void *raw,
			       const void **stored);

/* Is the head of a section whole, and may its sizes be true? NULL, or what is wrong. */
const char *espy_section_codec__check_head(const struct espy_section_head *head, uint64_t file_id);
/*
 * The raw bytes of a section whose head was checked: head->raw_sz of them, valid until the next call. NULL: what is wrong is
 * in *why. -ENOMEM as "out of memory".
 */
const void *espy_section_codec__decode(struct espy_section_codec *c, const struct espy_section_head *head, const void *stored,
				       const char **why);

#endif
