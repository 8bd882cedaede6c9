/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/* Structs that the USDT program of the kernel and its user-space half share. Compiled in both. */
#ifndef ESPY_SOURCE_USDT_USDT_SHARED_H
#define ESPY_SOURCE_USDT_USDT_SHARED_H

#define USDT_ARGS 16u
#define USDT_SPECS 4096u
#define USDT_STRING_MAX 1024u
/* A record is at most this long: beyond it, arguments are left out (their status says so). */
#define USDT_RECORD_MAX 16384u

enum { USDT_NONE = 0, USDT_CONST = 1, USDT_REG = 2, USDT_MEM = 3 }; /* as enum espy_usdt_arg_kind */
enum { USDT_OUT_NUMBER = 0, USDT_OUT_STRING = 1, USDT_OUT_BYTES = 2, USDT_OUT_NOTHING = 3 };
#define USDT_NO_WORD 0xffu

/* Where a value is. */
struct usdt_arg {
	__u8 kind, size, is_signed;
	__u8 reg, index; /* in words of pt_regs; 0xff: none */
	__u8 scale, shift, reserved;
	__s64 value;
};

/* An argument of the mark, made of values. */
struct usdt_out {
	__u8 word;     /* which value */
	__u8 len_word; /* USDT_OUT_BYTES, or a string's precision: which value is the length; USDT_NO_WORD: none */
	__u8 what;
	__u8 reserved;
	__u32 max; /* bytes of a string */
};

struct usdt_spec {
	__u32 nargs, nouts;
	struct usdt_arg args[USDT_ARGS];
	struct usdt_out outs[USDT_ARGS];
};

/* usdt_event.spec: no probe was hit, but the process tgid has mapped a file with code: struct usdt_mapped. */
#define USDT_MAPPED 0xffffffffu

/* In the ring: this, and the arguments as in struct espy_rec_mark. */
struct usdt_event {
	__u32 spec, len;
	__u32 tid, tgid;
	__u64 time_ns;
};

/* Which file: as /proc/PID/maps has it. */
struct usdt_mapped {
	struct usdt_event event;
	__u64 inode;
	__u32 dev_major, dev_minor;
};

struct usdt_counts {
	__u64 events, lost;
};

#endif
