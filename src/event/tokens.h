/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tokens: the contents of an event, decoded once, in the order of the text. A flat array of structs of one cache line.
 * Sinks make text, JSON and others of it; filters look values up in it (value_path.h).
 *
 *	INT, STR, BITS, ADDR, VARS, WORD                 a value
 *	OPEN ... CLOSE                                   a group of values; `link` of each is the index of the other
 *	ELIDED                                           in a group, in place of a value: there is more
 *	REMARK                                           words about the value before it
 *	CHANGED                                          between two values: before the call, after it
 *	FD, COMM, PID, NUMBERED, DATE, CONTEXT           more about the value before it, from the resolver
 *
 * The first token of a value has its role: argument, field or element. A token without a role belongs to the token
 * before it.
 *
 * One decoding serves all sinks, which show calls in different manners: -v, -e verbose=, -e raw=. `shown` of a token is
 * a set of manners (enum espy_manner). A sink passes over a token of other manners, and over such a group as a whole.
 *
 * Pointers lead into the image, the records, or the decoder's own memory. They are valid until the next event is
 * decoded.
 */
#ifndef ESPY_EVENT_TOKENS_H
#define ESPY_EVENT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "describe/image.h"

enum espy_token_kind {
	ESPY_TOKEN_INT = 1, /* num, sign-extended if its type is signed; shown by fmt, table and type */
	ESPY_TOKEN_STR,	    /* bytes[0..len) of want: STR, CHARS, BYTES, REST, and byte arrays with a format */
	ESPY_TOKEN_BITS,    /* the lowest num bits of bytes[0..len); of descriptors, an FD follows for each set bit */
	ESPY_TOKEN_ADDR,    /* a pointer: num; its target is unreadable, or not looked at */
	ESPY_TOKEN_VARS,    /* num things at address addr; group: enum espy_vars */
	ESPY_TOKEN_WORD,    /* a name as it stands: bytes[0..len); num is the number behind it */
	ESPY_TOKEN_OPEN,    /* group: enum espy_group */
	ESPY_TOKEN_CLOSE,
	ESPY_TOKEN_CHANGED,
	ESPY_TOKEN_REMARK,   /* words about the value before it: bytes[0..len) */
	ESPY_TOKEN_ELIDED,   /* group: enum espy_elided; addr: begin of the unreadable part */
	ESPY_TOKEN_FD,	     /* of descriptor num: name is its file, bytes[0..len) are details; NULL: no details */
	ESPY_TOKEN_COMM,     /* name is the name of task num */
	ESPY_TOKEN_PID,	     /* the task has number num in the observer's pid namespace */
	ESPY_TOKEN_NUMBERED, /* name is that of number num: of a network interface, or a family of generic netlink */
	ESPY_TOKEN_DATE, /* num seconds since 1970 and want nano- or microseconds (USEC), addr seconds east of Greenwich
			  */
	/* name is the security context of a file, of that behind descriptor num, or of a path; bytes[0..len) that which the policy has for it; NULL: not known */
	ESPY_TOKEN_CONTEXT,
};

/* The place of a value in the call or the group around it. */
enum espy_token_role {
	ESPY_ROLE_NONE = 0,
	ESPY_ROLE_ARG,		/* name */
	ESPY_ROLE_ARG_NAMED,	/* the same; every style shows the name */
	ESPY_ROLE_ARG_UNNAMED,	/* the same; no style shows the name */
	ESPY_ROLE_FIELD,	/* name */
	ESPY_ROLE_FIELD_UNNAMED, /* its text stands without the name */
	ESPY_ROLE_ELEM,		/* of an array; name is that of the field behind the header of a message, or "" */
	ESPY_ROLE_INDEX,	/* of an array, by its index num: name is the constant of the index, or "" */
	ESPY_ROLE_PART,		/* of a CALL, a JOIN or a NOTE */
	ESPY_ROLE_LABEL,	/* of a NOTE: name */
};

enum espy_group {
	ESPY_GROUP_STRUCT,
	ESPY_GROUP_ARRAY,
	ESPY_GROUP_POINTEE, /* a scalar behind a pointer: [16] */
	ESPY_GROUP_CALL,    /* KERNEL_VERSION(6, 1, 0): its name is bytes[0..len), its value num, shown by fmt */
	ESPY_GROUP_JOIN,    /* IPC_CREAT|0600: parts of one number, num */
	ESPY_GROUP_NOTE,    /* behind a result: (left {...}); bytes[0..len): words in front of its values */
};

enum espy_elided {
	ESPY_ELIDED_MORE,    /* the text leaves out the rest: `...` */
	ESPY_ELIDED_FAULT,   /* the rest is unreadable from this address on */
	ESPY_ELIDED_UNKNOWN, /* unreadable bytes behind the known struct: `???` */
};

enum espy_vars { ESPY_VARS_ENVIRONMENT, ESPY_VARS_ENTRIES };

/* Manners of showing a call, as bits. */
enum espy_manner {
	ESPY_MANNER_BRIEF = 1u << 0,
	ESPY_MANNER_FULL = 1u << 1,	  /* -v */
	ESPY_MANNER_PLAIN = 1u << 2,	  /* structures stay addresses (-e verbose= without the call) */
	ESPY_MANNER_PLAIN_FULL = 1u << 3, /* the same with -v */
	ESPY_MANNER_RAW = 1u << 4,	  /* arguments as they stand in registers (-e raw=) */
	ESPY_MANNER_BYTES = 1u << 5,	  /* FULL, but buffers whose meaning a hook knows are bytes */
	ESPY_MANNERS = (1u << 6) - 1,
	/* The rest of a call of which a part was shown when it began: one of the above << ESPY_MANNER_REST. */
	ESPY_MANNER_REST = 6,
};
#define ESPY_MANNER_WITH_REST(m) ((uint16_t)((m) | (m) << ESPY_MANNER_REST))
#define ESPY_MANNERS_BRIEF ESPY_MANNER_WITH_REST(ESPY_MANNER_BRIEF | ESPY_MANNER_PLAIN)
#define ESPY_MANNERS_FULL ESPY_MANNER_WITH_REST(ESPY_MANNER_FULL | ESPY_MANNER_PLAIN_FULL | ESPY_MANNER_BYTES)
#define ESPY_MANNERS_PLAIN ESPY_MANNER_WITH_REST(ESPY_MANNER_PLAIN | ESPY_MANNER_PLAIN_FULL)
#define ESPY_MANNERS_RAW ESPY_MANNER_WITH_REST(ESPY_MANNER_RAW)
#define ESPY_MANNERS_BYTES ESPY_MANNER_WITH_REST(ESPY_MANNER_BYTES)

enum espy_token_flags {
	ESPY_TOKF_CUT = 1u << 0,      /* STR: no NUL within the captured bytes */
	ESPY_TOKF_AFTER = 1u << 1,    /* STR: contents of the memory after the call, not before it */
	ESPY_TOKF_MORE = 1u << 2,     /* INT: more about it follows */
	ESPY_TOKF_REPLACED = 1u << 3, /* OPEN: the WORD behind its CLOSE says the same in one name */
	ESPY_TOKF_LIMITED = 1u << 4,  /* OPEN of an array: -s limits its elements */
	ESPY_TOKF_SUM = 1u << 4,      /* OPEN of a JOIN: its parts are added. With STYLED -X applies within, too */
	ESPY_TOKF_STYLED = 1u << 5,   /* OPEN: -X applies to the group as a whole, and not within it. WORD: -X applies.
					 REMARK: not under -X raw */
	ESPY_TOKF_FAULT = 1u << 6,    /* STR: its missing bytes are unreadable */
	/* WORD: a spelling of the number, shown unless -X asks for raw numbers. OPEN with STYLED: -X applies within,
	   too */
	ESPY_TOKF_SPELT = 1u << 7,
	ESPY_TOKF_USEC = 1u << 8,     /* DATE: the fraction counts microseconds */
	ESPY_TOKF_BARE = 1u << 9,     /* DATE: a value, not a comment */
	ESPY_TOKF_ASIDE = 1u << 10,   /* WORD: a comment, where -X asks for comments. OPEN of a NOTE: not where -X asks
					 for raw numbers.   OPEN of a CALL: a comment behind the number in every style */
	ESPY_TOKF_FAILED = 1u << 11,  /* INT, of a result: an error number, negative */
	ESPY_TOKF_UNKNOWN = 1u << 13, /* WORD: the number, and the word as a comment: it has no name */
	ESPY_TOKF_WHOLE = 1u << 14,   /* STR: -s does not limit it */
	ESPY_TOKF_NAMES =
		1u << 15, /* OPEN of a NOTE: -X does not apply, its numbers are names; of a CALL: no comment in one */
	ESPY_TOKF_TAIL = 1u << 12, /* STR: bytes behind the known struct, whose size is num */
};

struct espy_token {
	uint8_t kind;  /* enum espy_token_kind */
	uint8_t role;  /* enum espy_token_role */
	uint8_t fmt;   /* enum espy_fmt: the type's, or a better one of the decoder's */
	uint8_t group; /* enum espy_group, espy_elided, espy_vars; DATE: enum espy_note */
	uint16_t shown; /* enum espy_manner */
	uint16_t flags; /* enum espy_token_flags */
	uint32_t len;	/* of bytes */
	uint32_t link;	/* OPEN, CLOSE: index of the other; INT: index in image->tables, or ESPY_NONE */
	const struct espy_type *type; /* INT, STR, BITS: never NULL; others: may be */
	const char *name; /* never NULL */
	uint64_t num;
	const uint8_t *bytes;
	uint64_t want; /* STR: its bytes in the program; more than len: cut. UINT64_MAX: not known */
	uint64_t addr; /* of the value in the program; 0: not known */
};
_Static_assert(sizeof(struct espy_token) == 64, "one cache line");

struct espy_tokens {
	const struct espy_token *at;
	uint32_t cnt;
};

/* Returns the index behind the value that begins at i, its group, and the tokens with more about it. */
static inline uint32_t espy_tokens__next(const struct espy_tokens *t, uint32_t i)
{
	i = (t->at[i].kind == ESPY_TOKEN_OPEN ? t->at[i].link : i) + 1;
	while (i < t->cnt && !t->at[i].role && (t->at[i].kind >= ESPY_TOKEN_FD || t->at[i].flags & ESPY_TOKF_ASIDE))
		i++;
	return i;
}

#endif
