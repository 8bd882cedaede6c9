/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of numbers, by the tables of an image. */
#ifndef ESPY_DESCRIBE_CONSTANT_NAMES_H
#define ESPY_DESCRIBE_CONSTANT_NAMES_H

#include <stdbool.h>
#include "describe/image.h"

/* espy_table.flags, as the compiler sets them */
enum {
	ESPY_TABLE_FIRST_MATCH = 1,
	ESPY_TABLE_UNKNOWN_DEC = 2,
	ESPY_TABLE_UNKNOWN_HEX = 4,
	ESPY_TABLE_DECIMAL = 16, /* numbers of the table are decimal */
	ESPY_TABLE_COMMENT = 8,	 /* the number, with the name as a comment behind it in every style */
	ESPY_TABLE_OFFSETS =
		64,		/* a value between two names is the lower one and a distance; the last name ends them */
	ESPY_TABLE_WHOLE = 128, /* flags: under -X raw one number, groups and all */
	ESPY_TABLE_APART = 32,	/* a pack whose parts are numbers of their own in every style */
	/* flags: no number among them, and no group is a table of its own or stands behind a flag; not set by older
	   compilers */
	ESPY_TABLE_PLAIN = 1 << 17,
};

/* The bits of a number of `size` bytes; 0: of any. */
static inline uint64_t espy_width_mask(unsigned size)
{
	return size == 0 || size >= 8 ? UINT64_MAX : (1ull << size * 8) - 1;
}

/* The entry of a value in an enum; NULL if it has none. */
const struct espy_entry *espy_table__find(const struct espy_image *img, const struct espy_table *tab, uint64_t num, unsigned size);
/* The name of a value in an enum or of a single bit in a flags table; NULL if there is none. */
const char *espy_table__name(const struct espy_image *img, uint32_t table, uint64_t num, unsigned size);
/* Would the value be shown by a name at all? */
bool espy_table__has_name(const struct espy_image *img, uint32_t table, uint64_t num, unsigned size);
/* Of a group of a flags table, whose mask is entry `at`: the member that masked is; NULL: none. */
const struct espy_entry *espy_table__member(const struct espy_image *img, const struct espy_table *tab, uint32_t at,
					    uint64_t masked);
/*
 * fn for each flag of num by its name, lowest entry of the table first; then once with name NULL for the bits that have
 * none, if any are set. Ends with what fn returns, if that is not 0.
 */
int espy_table__each_flag(const struct espy_image *img, uint32_t table, uint64_t num,
			  int (*fn)(void *ctx, const char *name, uint64_t bits), void *ctx);

#endif
