/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * A trigger: what happens once a certain call has ended in a certain way. Made by the session from text
 * (session/trigger.h), evaluated by the source right after it has captured the call; nothing in it is a pointer. Compiled in
 * BPF and user space, from one build.
 */
#ifndef ESPY_TRIGGER_H
#define ESPY_TRIGGER_H

#ifndef ESPY_BPF
#include <linux/types.h>
#endif

enum espy_trigger_action {
	ESPY_TRIGGER_PAUSE = 1,    /* the task is held until it is resumed */
	ESPY_TRIGGER_SNAPSHOT = 2, /* espy_source_stats.triggers counts it */
};
enum espy_trigger_what {
	ESPY_TRIGGER_RET = 1,
	ESPY_TRIGGER_ERRNO = 2, /* positive; 0: the call succeeded */
	ESPY_TRIGGER_PID = 3,   /* process */
	ESPY_TRIGGER_TID = 4,
	ESPY_TRIGGER_ARG = 5,   /* integer argument `arg`, of `width` bytes, signed or not */
	ESPY_TRIGGER_TEXT = 6,  /* the bytes of operation `op` against text[0..text_len) */
};
enum espy_trigger_compare {
	ESPY_COMPARE_EQ = 1, ESPY_COMPARE_NE = 2, ESPY_COMPARE_LT = 3, ESPY_COMPARE_LE = 4, ESPY_COMPARE_GT = 5,
	ESPY_COMPARE_GE = 6,
	ESPY_COMPARE_PREFIX = 7, ESPY_COMPARE_NOT_PREFIX = 8, /* TEXT; there EQ and NE mean the whole string */
};
#define ESPY_TRIGGER_MAX 8u /* triggers of one source */
#define ESPY_TRIGGER_CONDS 6u
#define ESPY_TRIGGER_TEXT_MAX 248u

/* A comparison. What was not captured (a bad pointer) equals nothing: EQ and PREFIX fail, NE and NOT_PREFIX hold. */
struct espy_condition {
	__u8 what;    /* enum espy_trigger_what */
	__u8 compare; /* enum espy_trigger_compare */
	__u8 arg, op;
	__u8 width, is_signed;
	__u16 text_len; /* bytes, with the NUL if the whole of a NUL-terminated string is meant */
	__s64 number;
	__u8 text[ESPY_TRIGGER_TEXT_MAX]; /* zeros behind it */
	__u64 reserved; /* 0 */
};
_Static_assert(sizeof(struct espy_condition) == 272, "");

struct espy_trigger {
	__u32 abi;      /* enum espy_abi */
	__u32 nr;       /* below ESPY_MAX_SYSCALLS */
	__u32 action;   /* enum espy_trigger_action */
	__u32 cond_cnt; /* all of them hold; 0: always */
	struct espy_condition conds[ESPY_TRIGGER_CONDS];
};

#endif
