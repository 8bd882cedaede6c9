/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the two halves of pruning share: what is marked, and by which index it goes on. */
#ifndef ESPY_DESCRIBE_PRUNE_IMPL_H
#define ESPY_DESCRIBE_PRUNE_IMPL_H

#include "describe/image_format.h"
#include "describe/prune.h"

struct espy_prune_part {
	uint8_t *used; /* cnt + 1, the last never; what is not 0 is kept */
	uint32_t *rank;
	uint32_t cnt;
};

struct espy_pruning {
	const struct espy_image *img;
	const struct espy_prune *want;
	struct espy_prune_part parts[ESPY_SECTION_CNT];
	uint32_t *strings; /* new offsets, 0: not yet */
	uint32_t strings_sz, number_cnt;
	bool all_names; /* a number of a call is shown by name */
	void *block;	/* of all marks */
	char *out;
	size_t out_sz;
	int error;
};

static inline bool espy_prune_bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

/* Mark all that the wanted calls reach; p->number_cnt and p->all_names as well. */
void espy_prune_mark(struct espy_pruning *p);

#endif
