/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ESPY_BASE_SIGNAL_NAMES_H
#define ESPY_BASE_SIGNAL_NAMES_H

#include "base/buf.h"

#define ESPY_SIGNAL_MAX 64u /* the largest number that the kernel has */

/* SIGINT, SIGRT_2, or a number. */
void espy_buf__signal(struct espy_buf *b, unsigned sig);
/* The name without SIG, as it stands in sets; false, and nothing written, for numbers that are no signal. */
bool espy_buf__signal_short(struct espy_buf *b, uint64_t sig);

#endif
