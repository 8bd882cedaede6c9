/* SPDX-License-Identifier: LGPL-2.1-or-later OR GPL-2.0-only */
/*
 * The plan: the memory to copy for one call. The compiler of descriptions makes
 * it. The BPF program runs it, or the runner in user space (ptrace source,
 * hanging calls). The decoder asks for "the bytes of operation k, element i".
 * Compiled in BPF and user space.
 *
 * Operations run in order; a source operation always precedes those that use it.
 *
 * The length of an item, in bytes:
 *      neither a nor b:  elem
 *      else              min(a, b) * elem      (a missing one counts as infinite)
 * then cut to cap (status TRUNCATED). If the call overwrites a value in memory,
 * a is its value at exit, b at entry. A negative value of a signed reference
 * counts as 0.
 */
#ifndef ESPY_PLAN_H
#define ESPY_PLAN_H

#ifndef ESPY_BPF
#include <linux/types.h>
#endif

#define ESPY_PLAN_MAX_OPS 16u

enum espy_op_kind {
	ESPY_OP_BYTES = 1,   /* a known number of bytes */
	ESPY_OP_CSTR = 2,    /* up to and including a NUL, at most cap */
	ESPY_OP_PTRVEC = 3,  /* pointers of the caller's width up to and including NULL, at most cap bytes */
};

/* espy_op.when */
enum {
	ESPY_OP_ENTER = 0x01, /* memory that the call reads. A source that runs only at exit copies it there */
	ESPY_OP_EXIT = 0x02,  /* memory that the call writes. With ENTER: both, as two items */
	ESPY_OP_ON_OK = 0x04, /* EXIT part: run if ret is not an error */
	ESPY_OP_ON_ERR = 0x08, /* EXIT part: run if ret is an error */
};

/* espy_op.src: the place of the pointer */
#define ESPY_OP_SRC_SP 0x3fu /* the user's stack pointer at entry + src_off (the frame that rt_sigreturn restores) */
#define ESPY_OP_SRC_OP 0x40u /* | k: inside the bytes of operation k, at src_off; else: argument number 0-5 */

/* espy_op.flags */
enum {
	ESPY_OPF_EACH = 0x01,  /* source is an array: once for each element of each of its items, stride = source's elem */
	ESPY_OPF_PTR32 = 0x02, /* the pointer inside the source is 4 bytes wide (32-bit ABI) */
	ESPY_OPF_LEAST = 0x04, /* sized struct: the decoder shows only fields inside its size; sources ignore it */
	ESPY_OPF_MSG_EACH = 0x08, /* EACH, and the source is itself an EACH operation: index counts over all of them */
};

/* espy_op.a_kind, b_kind */
enum espy_len_kind {
	ESPY_LEN_NONE = 0,
	ESPY_LEN_ARG = 1,    /* ref = argument number, width, sign */
	ESPY_LEN_RET = 2,    /* the return value; of a failed call 0 */
	ESPY_LEN_FIELD = 3,  /* ref = offset in the element of the source that holds the pointer, width, sign */
	ESPY_LEN_OPVAL = 4,  /* ref = operation whose first bytes are the number (a: its exit item, else enter; b: enter), width, sign */
	ESPY_LEN_SPREAD = 5, /* ret bytes spread over the elements in order: the rest after the earlier ones */
	ESPY_LEN_CONST = 6,  /* ref itself */
};
/* espy_op.a_ref, b_ref */
#define ESPY_REF(val, width_log2, sgn) ((__u16)((val) | (width_log2) << 12 | (sgn) << 14))
#define ESPY_REF_VAL(ref) ((ref) & 0x0fff)
#define ESPY_REF_WIDTH(ref) (1u << (((ref) >> 12) & 3)) /* bytes: 1, 2, 4, 8 */
#define ESPY_REF_SIGNED(ref) (((ref) >> 14) & 1)
#define ESPY_REF_BITS 0x8000u /* the number counts bits: bytes = round_up(n, 64) / 8, elem is 1 (fd sets) */

/*
 * The limit by which the session sets the cap (the image holds the hard maximum):
 * the user's -s for STRING and DATA, the abbreviation limit for ELEMS, ...
 */
enum espy_limit {
	ESPY_LIMIT_FIXED = 0,  /* cap as it is: a struct, an integer */
	ESPY_LIMIT_STRING = 1, /* C string under -s: cap = s + 1 */
	ESPY_LIMIT_DATA = 2,   /* bytes under -s: cap = s, and s * 8 bit-exact for nothing else */
	ESPY_LIMIT_PATH = 3,   /* 4096 whatever -s is */
	ESPY_LIMIT_ELEMS = 4,  /* array: cap = (s + 1) elements unless -v */
	ESPY_LIMIT_ENV = 5,    /* strings of the environment: 0 unless -v, then as STRING */
	ESPY_LIMIT_SECRET = 6, /* never copied */
	ESPY_LIMIT_VERBOSE = 7, /* shown under -v only: cap 0 without; bytes then as DATA */
};

/* espy_op.holds; images of older traces have 0 */
enum {
	ESPY_HOLDS_PATH = 0x01,	    /* a file name */
	ESPY_HOLDS_FDS = 0x02,	    /* descriptors of 4 bytes, one behind the other, and nothing else */
	ESPY_HOLDS_SOME_FDS = 0x04, /* it may hold descriptors at any place */
	ESPY_HOLDS_MORE = 0x8000, /* set by the session: of bytes that find no room, MORE records are to tell */
};

struct espy_op {
	__u8 kind;    /* enum espy_op_kind */
	__u8 when;
	__u8 src;
	__u8 flags;
	__u16 src_off; /* offset of the pointer in an element of the source */
	__u8 a_kind, b_kind;
	__u16 a_ref, b_ref;
	__u32 elem;   /* bytes of one element (BYTES: also the stride for EACH children); CSTR: 1 */
	__u32 cap;    /* most bytes of one item */
	__u16 limit;  /* enum espy_limit */
	__u16 holds;  /* ESPY_HOLDS_*: contents that a source may look for in the memory */
	__u32 type;   /* pointee in the image (image.h), for the decoder */
};
_Static_assert(sizeof(struct espy_op) == 28, "an operation is 28 bytes");

/* The hard maximum of an operation. */
#define ESPY_PLAN_CAP 0x10000u

/* espy_plan.flags */
enum {
	ESPY_PLAN_NEEDS_ENTER = 0x01, /* the call overwrites memory, or may have no exit */
	ESPY_PLAN_NEW_IMAGE = 0x02,   /* execve: on success all memory is gone at exit */
	ESPY_PLAN_NO_RETURN = 0x04,   /* exit, exit_group */
	ESPY_PLAN_TWICE = 0x08,       /* fork, clone: also returns in the child */
	ESPY_PLAN_MAY_BLOCK = 0x10,   /* may sleep for long; a hint only */
	ESPY_PLAN_DESCRIBED = 0x20,   /* clear: no description, raw arguments */
	ESPY_PLAN_RET_FD = 0x40,      /* the result is a new descriptor */
	ESPY_PLAN_NETLINK = 0x80,     /* the netlink socket in argument 0 has the protocol of its messages */
};

/*
 * The effect of a call that has succeeded, beyond its result: on descriptors, on its task. A and B are the arguments
 * that the description names. Traces hold these numbers, so they are append-only; a reader ignores unknown ones.
 */
enum espy_effect {
	ESPY_EFFECT_NONE = 0,
	ESPY_EFFECT_CLOSES,	    /* descriptor A is closed */
	ESPY_EFFECT_CLOSES_RANGE,   /* descriptors A to B are closed */
	ESPY_EFFECT_REPLACES,	    /* descriptor A is the file of B from now on */
	ESPY_EFFECT_MAKES_SOCKET,   /* the result is a socket of family A, protocol B */
	ESPY_EFFECT_CHANGES_SOCKET, /* socket A has another address or peer */
	ESPY_EFFECT_SENDS,	    /* socket A may have got an address by it */
	ESPY_EFFECT_CHANGES_CWD,    /* the working directory is another one */
	ESPY_EFFECT_RENAMES,	    /* the task has another name */
	ESPY_EFFECT_MAPS,	    /* memory is mapped; the arguments are those of mmap, in its order */
	ESPY_EFFECT_RECEIVES_FDS,   /* struct msghdr A may have brought descriptors */
	ESPY_EFFECT_MAKES_PIDFD,    /* with CLONE_PIDFD in A, B points to a descriptor of the new process */
	ESPY_EFFECT_MAKES_PIDFD_BY, /* the same by struct clone_args A */
	ESPY_EFFECT_RESTORES, /* the registers are those of before a signal: the kernel tells no call number at its end
			       */
	ESPY_EFFECT_MOVES,    /* the file of path A has path B now; without B: it has lost its name */
	ESPY_EFFECT_ENTERS,   /* the task has other namespaces: of the kinds in A (CLONE_NEW*) or, without any, that of
				 descriptor B */
};

/* espy_plan.effect_args: A in the low half, B in the high one; ESPY_NO_ARG: the effect has none. */
#define ESPY_NO_ARG 0xfu
#define ESPY_EFFECT_A(args) ((args) & 0xfu)
#define ESPY_EFFECT_B(args) ((unsigned)(args) >> 4)

struct espy_plan {
	__u16 first_op; /* in the table of operations */
	__u8 op_cnt;    /* <= ESPY_PLAN_MAX_OPS */
	__u8 nargs;     /* registers to store, <= 6 */
	__u8 flags;
	__u8 fd_args;   /* bit per argument that is a descriptor */
	__u8 effect;    /* enum espy_effect */
	__u8 effect_args;
};
_Static_assert(sizeof(struct espy_plan) == 8, "a plan is 8 bytes");

/*
 * One per call number. With variant_cnt == 0 the plan is `plan`. Else the key is
 *      (u64)(arg[key_arg0] & key_mask0) << 32 | (u32)(arg[key_arg1])   with two selectors, or
 *      (u32)arg[key_arg0] & key_mask0                                   with key_arg1 == 0xff
 * and is looked up in variants[first_variant .. +variant_cnt), sorted by key; not found: `plan`.
 */
struct espy_call_plan {
	__u16 plan;
	__u16 first_variant;
	__u16 variant_cnt;
	__u8 key_arg0, key_arg1;
	__u32 key_mask0;
	__u32 inner; /* ESPY_INNER_*, if ESPY_LEADS_ON(); of a call with variants ESPY_FAMILY_* */
};
_Static_assert(sizeof(struct espy_call_plan) == 16, "");

/*
 * Commands of ioctl that hold a size of the caller's: `inner` of a call with variants has a bit for each type (bits
 * 8-15 of the command) of such; types that are equal modulo 32 share it. A command of such a type that is no key is
 * looked up once more without its size (bits 16-29), so the variants of size 0 stand for all sizes.
 */
#define ESPY_FAMILY_BIT(type) (1u << ((type)&31u))
#define ESPY_FAMILY_HAS(inner, key) ((inner)&ESPY_FAMILY_BIT((key) >> 8))
#define ESPY_FAMILY_KEY(key) ((key)&0xc000ffffu)

/*
 * A call that is the gate to others (socketcall): inner call number FIRST + key, if the ABI has that number, takes its
 * place. ARGS == 0: its arguments are those behind the first one, which comes last. Else it is the number + 1 of the
 * argument that points to them, 32-bit words. A source finds the inner call and records it; a decoder never sees the
 * outer one then.
 */
#define ESPY_LEADS_ON(call_plan) ((call_plan)->inner && !(call_plan)->variant_cnt)
#define ESPY_INNER_FIRST(inner) ((inner)&0x3ffu)
#define ESPY_INNER_ARGS(inner) ((inner) >> 16 & 7u)
#define ESPY_INNER_KEYS 32u /* keys from 0 on */

struct espy_variant {
	__u64 key;
	__u16 plan;
	__u16 reserved;
	__u32 call; /* index in the image's calls, for the decoder of the same variant */
};
_Static_assert(sizeof(struct espy_variant) == 16, "");

#endif
