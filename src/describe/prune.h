/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Images in parts. A trace holds descriptions only of its own calls. Pruning makes a smaller image, which decodes some
 * calls as the whole image does. Joining puts such parts together again.
 */
#ifndef ESPY_DESCRIBE_PRUNE_H
#define ESPY_DESCRIBE_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "describe/image.h"

/* A larger table, if only parameters use it, keeps only its wanted members. */
#define ESPY_PRUNE_LARGE_TABLE 40u

/*
 * A member of such a table; or (ESPY_PRUNE_STRUCT) the number at the head of a struct that a parameter points to, which
 * chooses the rest of the struct: the family of an address.
 */
struct espy_prune_value {
	uint64_t value;
	uint32_t of; /* tables; types and ESPY_PRUNE_STRUCT */
	uint32_t reserved;
};
#define ESPY_PRUNE_STRUCT (1u << 31)

/* The part of an image to keep. */
struct espy_prune {
	const uint64_t *numbers; /* a bit for each call number, number_cnt of them, described or not */
	uint32_t number_cnt;
	const uint64_t *calls; /* a bit for each of image->calls: variants; base forms of wanted numbers stay anyway */
	const struct espy_prune_value *values;
	uint32_t value_cnt;
	bool all_values;
	uint64_t signals; /* of records of signals: bit 0 is signal 1 */
	bool netlink;	  /* messages of netlink, which no call names */
};

/* Returns whether this parameter is a member of a large table. Then *v is the value to keep. */
bool espy_prune_value_of(const struct espy_image *img, const struct espy_field *param, const uint64_t args[6],
			 struct espy_prune_value *v);

/* Returns whether the parameter points to such a struct. Then its first *key_sz bytes are the value to keep, of *of. */
bool espy_prune_struct_of(const struct espy_image *img, const struct espy_field *param, uint32_t *of, uint32_t *key_sz);

/*
 * Makes the bytes of a smaller image, for espy_image__open(); the caller frees them. Its numbers have
 * ESPY_SYSCALL_PART. Returns 0, -ENOMEM, or -EINVAL: strings overlap.
 */
int espy_image__prune(const struct espy_image *img, const struct espy_prune *want, void **bytes, size_t *size);

/* Returns whether the image describes some calls only; false, too, for an ABI without any call. */
bool espy_image__is_part(const struct espy_image *img);

#define ESPY_JOIN_NUMBERS 4096u

/*
 * Joins images of one ABI, the most important first. A call has the description of the first image that knows its
 * number: a whole image knows all numbers, a part its marked ones. *out points into *bytes, which the caller frees; the
 * parts' bytes are not needed any more. Returns 0, -ENOMEM, or -EOVERFLOW: too many parts, or numbers above
 * ESPY_JOIN_NUMBERS.
 */
int espy_image__join(const struct espy_image *const *parts, unsigned cnt, struct espy_image *out, void **bytes);

#endif
