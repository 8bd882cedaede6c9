/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * The plan of a probe: the values that the source fetches at a hit, and the tests that a hit must pass to be recorded.
 * source/probe/ makes the plan when it resolves names. A plan holds no pointer. Many places may share one plan.
 * Compiled in BPF and user space, from one build.
 *
 * A fetch is a value to begin with, and a way through memory:
 *
 *      %di            REG di
 *      +8(%di):u32    REG di, way 8: the 4 bytes at di + 8
 *      +0(+8(%di)):string   REG di, way 8, 0: the pointer at di + 8 is followed, and the text there is copied
 *
 * Each step of the way adds its offset and loads a pointer; the last one loads the number, or says where text or bytes begin.
 */
#ifndef ESPY_PROBE_PLAN_H
#define ESPY_PROBE_PLAN_H

#ifndef ESPY_BPF
#include <linux/types.h>
#endif
#include "arch/machine_regs.h"
#include "record/record.h"

#define ESPY_PROBE_WAY_MAX 6u
#define ESPY_PROBE_TESTS 12u
#define ESPY_PROBE_TEXT_MAX 32u   /* bytes of a constant in a comparison of text */
#define ESPY_PROBE_STRING_MAX 1024u /* bytes of one text or piece of memory */
#define ESPY_PROBE_ARGS_MAX 8192u /* bytes of all arguments of a record, but for the last one */
/* The number of the first definition of a place. Definitions of marks have smaller numbers. */
#define ESPY_PROBE_FIRST_DEF 0x2000000u
#define ESPY_PROBE_SAVED 6u       /* argument registers that are kept from the entry of a function to its return */

/* Where a value begins. Never renumber. */
enum espy_probe_src {
	ESPY_PROBE_CONST = 0, /* value */
	ESPY_PROBE_REG = 1,   /* register `reg`: enum espy_reg */
	ESPY_PROBE_ENTRY_ARG = 2, /* the register of argument `reg` (0-5) as it was when the function was entered */
	ESPY_PROBE_COMM = 3,  /* the name of the task; what: STRING */
	/* Of tracepoints. The way has one step, the offset in the record: */
	ESPY_PROBE_FIELD = 4,	  /* the field there */
	ESPY_PROBE_ELSEWHERE = 5, /* the low half of the 4 bytes there is the field's offset; what: STRING, BYTES */
};
enum espy_probe_what {
	ESPY_PROBE_NUMBER = 0, /* `size` bytes, signed or not */
	ESPY_PROBE_STRING = 1, /* up to a NUL, `max` bytes at most */
	ESPY_PROBE_BYTES = 2,  /* `max` bytes at most, and no more than the value of `len_arg` */
};
#define ESPY_PROBE_NO_ARG 0xffu

struct espy_probe_fetch {
	__u8 src;    /* enum espy_probe_src */
	__u8 reg;
	__u8 way_cnt;
	__u8 what;   /* enum espy_probe_what */
	__u8 size;   /* NUMBER: 1, 2, 4, 8 */
	__u8 is_signed;
	__u8 len_arg; /* BYTES: index of the fetch with their number; ESPY_PROBE_NO_ARG: max */
	__u8 user; /* STRING, BYTES of a function of the kernel: they lie in memory of the program, or are not read */
	__s32 way[ESPY_PROBE_WAY_MAX];
	__u64 value; /* CONST */
	__u32 max;   /* STRING, BYTES: at most ESPY_PROBE_STRING_MAX */
	__u32 reserved;
};
_Static_assert(sizeof(struct espy_probe_fetch) == 48, "");

/* The value that a test compares. */
enum espy_probe_test_what {
	ESPY_PROBE_TEST_ARG = 0, /* the number of fetch `arg` */
	ESPY_PROBE_TEST_TEXT = 1, /* the text that fetch `arg` leads to */
	ESPY_PROBE_TEST_PID = 2,
	ESPY_PROBE_TEST_TID = 3,
	ESPY_PROBE_TEST_DURATION = 4, /* RETURN: ns since the entry; missing if that is not known */
};
/* Targets of a test that end the tests: the hit passes, or does not. */
#define ESPY_PROBE_HOLDS 0xfeu
#define ESPY_PROBE_FAILS 0xffu

/* As struct espy_trigger_test; compare is enum espy_trigger_compare. */
struct espy_probe_test {
	__u8 what; /* enum espy_probe_test_what */
	__u8 compare;
	__u8 arg;
	__u8 is_signed;
	__u8 negated;
	__u8 yes, no;
	__u8 text_len; /* bytes; with the NUL if the test is about the whole text */
	__s64 number;
	__u64 mask;
	__u8 text[ESPY_PROBE_TEXT_MAX]; /* zeros behind it */
};
_Static_assert(sizeof(struct espy_probe_test) == 56, "");

struct espy_probe_plan {
	__u32 arg_cnt;   /* arguments of the record; fetches behind them only serve other fetches and tests */
	__u32 fetch_cnt; /* at most ESPY_MARK_MAX_ARGS */
	__u32 test_cnt;  /* at most ESPY_PROBE_TESTS; 0: every hit is recorded */
	__u32 memory;    /* not 0: an argument of the record is text or bytes */
	struct espy_probe_fetch fetches[ESPY_MARK_MAX_ARGS];
	struct espy_probe_test tests[ESPY_PROBE_TESTS];
};

#endif
