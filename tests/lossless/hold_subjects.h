/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs to be held: the test runs itself with the name of one as its first argument. */
#ifndef ESPY_TEST_HOLD_SUBJECTS_H
#define ESPY_TEST_HOLD_SUBJECTS_H

#include <stdint.h>

/* What a subject has in a file that the test maps too. */
struct progress {
	volatile uint64_t counted; /* calls that it has come back from, one instruction later */
	volatile uint64_t signals; /* handlers run */
	volatile uint64_t done;
};

/* The result to exit with, or -1 if there is no such program. */
int run_subject(int argc, char **argv);

#endif
