/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * What a source counts of calls, or of hits of probes, in place of sending them (--count-by, --hist). Compiled in BPF
 * and user space, from one build.
 */
#ifndef ESPY_TALLY_SPEC_H
#define ESPY_TALLY_SPEC_H

#ifndef ESPY_BPF
#include <linux/types.h>
#endif

#define ESPY_SOURCE_TALLIES 4u /* of one source */

enum espy_tallied_what {
	ESPY_TALLIED_NOT, /* the call or hit does not count */
	ESPY_TALLIED_RET,
	ESPY_TALLIED_ERRNO,
	ESPY_TALLIED_DURATION,
	ESPY_TALLIED_PID,
	ESPY_TALLIED_TID,
	ESPY_TALLIED_ARG, /* the register `arg`: its lowest `width` bytes, signed or not; of a probe the value `arg` */
};

/* Of one call, or one place of a probe. */
struct espy_tally_spec {
	__u8 what; /* enum espy_tallied_what */
	__u8 arg, width, is_signed;
};

/* Where a tally counts: of numbers by their bits, the number of bits of the value without its sign. */
enum {
	ESPY_TALLIED_MISSING,
	ESPY_TALLIED_FAILED,			   /* results of calls that failed */
	ESPY_TALLIED_OTHER,			   /* values for which there was no room */
	ESPY_TALLIED_AT,			   /* 0 to 64 bits */
	ESPY_TALLIED_BELOW = ESPY_TALLIED_AT + 65, /* the same below 0 */
	ESPY_TALLIED_SLOTS = ESPY_TALLIED_BELOW + 65,
};

#endif
