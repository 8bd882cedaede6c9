/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls that most programs make. Their descriptions come first in a file, together and always the same ones, so that a
 * dictionary that every espy has makes nothing of them (espy-trace-format(5), IMAGE).
 */
#ifndef ESPY_SESSION_COMMON_CALLS_H
#define ESPY_SESSION_COMMON_CALLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * A call with one set of arguments: they choose a variant and members of large tables. Without any (`all`): all of its
 * variants.
 */
struct espy_common_call {
	const char *name;
	uint8_t all;
	uint64_t args[3];
};
extern const struct espy_common_call espy_common_calls[];
extern const size_t espy_common_call_cnt;

/* What addresses may begin with: families. */
extern const uint16_t espy_common_families[];
extern const size_t espy_common_family_cnt;

#endif
