/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * A trigger: what happens once a certain call has ended in a certain way. Lowered by the session from a predicate
 * (filter/lower_trigger.h), evaluated by the source right after it has captured the call; nothing in it is a pointer.
 * Compiled in BPF and user space, from one build.
 */
#ifndef ESPY_TRIGGER_H
#define ESPY_TRIGGER_H

#ifndef ESPY_BPF
#include <linux/types.h>
#endif

enum espy_trigger_action {
	ESPY_TRIGGER_PAUSE = 1,    /* the task is held until it is resumed */
	ESPY_TRIGGER_SNAPSHOT = 2, /* espy_source_stats.triggers counts it */
	ESPY_TRIGGER_KEEP = 4,     /* a gate: the call is recorded; one that fails it is not */
};
enum espy_trigger_what {
	ESPY_TRIGGER_RET = 1,
	ESPY_TRIGGER_ERRNO = 2, /* positive; 0: the call succeeded */
	ESPY_TRIGGER_PID = 3,   /* process */
	ESPY_TRIGGER_TID = 4,
	ESPY_TRIGGER_ARG = 5,   /* integer argument `arg`, of `width` bytes, signed or not */
	ESPY_TRIGGER_TEXT = 6,  /* the bytes of operation `op` against text[0..text_len) */
	ESPY_TRIGGER_UID = 7,   /* the effective user */
	ESPY_TRIGGER_COMM = 8,  /* the task's name, with its NUL, as TEXT */
};
enum espy_trigger_compare {
	ESPY_COMPARE_EQ = 1, /* of text: the whole of it */
	ESPY_COMPARE_LT = 2, ESPY_COMPARE_LE = 3, ESPY_COMPARE_GT = 4, ESPY_COMPARE_GE = 5,
	ESPY_COMPARE_ANY = 6,    /* one of the bits of number is set */
	ESPY_COMPARE_BITS = 7,   /* (value & mask) == number */
	ESPY_COMPARE_PREFIX = 8, /* text: begins with */
};
#define ESPY_TRIGGER_MAX 8u /* triggers of one source */
#define ESPY_GATE_MAX 96u   /* gates of one source */
#define ESPY_TRIGGER_TESTS 12u
#define ESPY_TRIGGER_TEXT_MAX 248u
#define ESPY_TRIGGER_COMM_MAX 16u

/* Targets of a test that are no test. */
#define ESPY_TRIGGER_HOLDS 0xfeu
#define ESPY_TRIGGER_FAILS 0xffu

/* A test. One of a value that is missing (a bad pointer) fails, negated or not: filter/predicate.h. */
struct espy_trigger_test {
	__u8 what;    /* enum espy_trigger_what */
	__u8 compare; /* enum espy_trigger_compare */
	__u8 arg, op;
	__u8 width, is_signed;
	__u16 text_len; /* bytes, with the NUL if the whole of a NUL-terminated string is meant */
	__u8 negated;   /* holds if the value is there and the comparison does not hold */
	__u8 yes, no;   /* the next test: a later one, or ESPY_TRIGGER_HOLDS, ESPY_TRIGGER_FAILS */
	__u8 reserved[5];
	__s64 number;
	__u64 mask;
	__u8 text[ESPY_TRIGGER_TEXT_MAX]; /* zeros behind it */
};
_Static_assert(sizeof(struct espy_trigger_test) == 280, "");

struct espy_trigger {
	__u32 abi;      /* enum espy_abi */
	__u32 nr;       /* below ESPY_MAX_SYSCALLS */
	__u32 action;   /* enum espy_trigger_action */
	__u32 test_cnt; /* 0: always */
	struct espy_trigger_test tests[ESPY_TRIGGER_TESTS];
};

#endif
