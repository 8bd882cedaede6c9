/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Search by halves. */
#ifndef ESPY_BASE_SEARCH_H
#define ESPY_BASE_SEARCH_H

#include <stddef.h>

/*
 * Sets `at` to the first index below cnt for which `later`, an expression of `at`, holds; to cnt, if it holds for none.
 * It holds for all indices behind the first one.
 */
#define ESPY_SEARCH(at, cnt, later)                                                                                    \
	do {                                                                                                           \
		size_t from_ = 0, to_ = (cnt);                                                                         \
		while (from_ < to_) {                                                                                  \
			(at) = from_ + (to_ - from_) / 2;                                                              \
			if (later)                                                                                     \
				to_ = (at);                                                                            \
			else                                                                                           \
				from_ = (at) + 1;                                                                      \
		}                                                                                                      \
		(at) = from_;                                                                                          \
	} while (0)

#endif
