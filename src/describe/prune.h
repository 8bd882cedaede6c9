/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Images in parts. A trace holds descriptions of the calls that it holds: pruning makes of an image a smaller one, in
 * which some calls are decoded as the whole one would; joining puts such parts together again.
 */
#ifndef ESPY_DESCRIBE_PRUNE_H
#define ESPY_DESCRIBE_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "describe/image.h"

/* Tables that are larger, and of which only parameters are members, keep those members only that are wanted. */
#define ESPY_PRUNE_LARGE_TABLE 40u

/*
 * A member of such a table; or (ESPY_PRUNE_STRUCT) what was at the head of a struct that a parameter points to, and
 * chooses what follows: the family of an address.
 */
struct espy_prune_value {
	uint64_t value;
	uint32_t of; /* tables; types and ESPY_PRUNE_STRUCT */
	uint32_t reserved;
};
#define ESPY_PRUNE_STRUCT (1u << 31)

/* What shall be left. */
struct espy_prune {
	const uint64_t
		*numbers; /* a bit for each number of a call, number_cnt of them: also those that are not described */
	uint32_t number_cnt;
	const uint64_t
		*calls; /* a bit for each of image->calls: variants; the base form of a number that is wanted is kept */
	const struct espy_prune_value *values;
	uint32_t value_cnt;
	bool all_values;
	uint64_t signals; /* of records of signals: bit 0 is signal 1 */
	bool netlink;	  /* messages of netlink, which no call names */
};

/* Is this parameter a member of a large table? Then *v is to be given as its value. */
bool espy_prune_value_of(const struct espy_image *img, const struct espy_field *param, const uint64_t args[6],
			 struct espy_prune_value *v);

/* Does the parameter point to such a struct? Then its first *key_sz bytes are to be given as a value of *of. */
bool espy_prune_struct_of(const struct espy_image *img, const struct espy_field *param, uint32_t *of, uint32_t *key_sz);

/* Smaller bytes that espy_image__open takes, malloc'ed. The numbers in them are marked ESPY_SYSCALL_PART. 0, -ENOMEM,
 * or -EINVAL: strings overlap. */
int espy_image__prune(const struct espy_image *img, const struct espy_prune *want, void **bytes, size_t *size);

/* Does the image describe some calls only? Of an ABI without any call it is not known, and no. */
bool espy_image__is_part(const struct espy_image *img);

#define ESPY_JOIN_NUMBERS 4096u

/*
 * One image of several of the same ABI, the most important first: what a call is said to be by the first one counts
 * that knows its number (a whole image knows all of them, a part those that are marked). *out points into *bytes, which
 * are malloc'ed; those of the parts are not needed any more. 0, -ENOMEM, or -EOVERFLOW: there are too many, or numbers
 * above ESPY_JOIN_NUMBERS.
 */
int espy_image__join(const struct espy_image *const *parts, unsigned cnt, struct espy_image *out, void **bytes);

#endif
