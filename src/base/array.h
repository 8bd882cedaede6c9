/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An array that grows: a pointer, a number of elements, and room for some. */
#ifndef ESPY_BASE_ARRAY_H
#define ESPY_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ESPY_ARRAY_FIRST 16u /* elements of the first allocation */

/*
 * Makes room for `more` elements of elem_sz bytes behind the first cnt. array: the address of the pointer to the array.
 * Returns false, and changes nothing, if there is no memory.
 */
static inline bool espy_array__room(void *array, size_t cnt, size_t *cap, size_t elem_sz, size_t more)
{
	size_t want = *cap ? *cap : ESPY_ARRAY_FIRST;
	void *at;

	if (more <= *cap - cnt)
		return true;
	if (more > SIZE_MAX / 4 / elem_sz - cnt)
		return false;
	while (want - cnt < more)
		want *= 2;
	memcpy(&at, array, sizeof(at));
	at = reallocarray(at, want, elem_sz);
	if (!at)
		return false;
	memcpy(array, &at, sizeof(at));
	*cap = want;
	return true;
}

/* The same for one element. */
#define espy_array__grow(v, cnt, cap) espy_array__room(&(v), cnt, &(cap), sizeof(*(v)), 1)

#endif
