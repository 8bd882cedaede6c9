/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(cond, ...)                                                                                               \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			printf("not ok %s:%d: %s: ", __FILE__, __LINE__, #cond);                                       \
			printf(__VA_ARGS__);                                                                           \
			puts("");                                                                                      \
			fflush(stdout);                                                                                \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* Number from the environment, so that the same test can be run larger. */
static inline long scale(const char *name, long value)
{
	const char *s = getenv(name);

	return s ? atol(s) : value;
}

#endif
