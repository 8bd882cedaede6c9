/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tokens: what an event says, decoded once, in the order in which it is shown. A flat array of structs of one cache line; sinks make
 * text, JSON and others of it, and filters look values up in it (value_path.h).
 *
 *	INT, STR, BITS, ADDR, VARS, WORD                 a value
 *	OPEN ... CLOSE                                   a group of values; each holds the index of the other in `link`
 *	ELIDED                                           in a group, in place of a value: there is more
 *	REMARK                                           words about the value before it
 *	CHANGED                                          between two values: before the call, after it
 *	FD, COMM, IFNAME, DATE                           more about the value before it, found out when the event was decoded
 *
 * A value begins with its role: the argument, field or element that it is. Tokens without a role belong to what is before
 * them.
 *
 * One decoding serves all sinks, and they do not want the same: -v, -e verbose=, -e raw=. `shown` says for which
 * manners of showing (enum espy_manner) a token is meant; a sink passes over a token that is not of its manner, and over a group as a whole.
 *
 * Pointers lead into the image, the records, or the decoder's own memory; they hold until the next event is decoded.
 */
#ifndef ESPY_EVENT_TOKENS_H
#define ESPY_EVENT_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "describe/image.h"

enum espy_token_kind {
	ESPY_TOKEN_INT = 1, /* num, sign-extended if its type is signed; fmt, table and type say how it is shown */
	ESPY_TOKEN_STR,	    /* bytes[0..len) of want: STR, CHARS, BYTES, REST, and byte arrays with a format */
	ESPY_TOKEN_BITS,    /* bytes[0..len), of which num bits count; of descriptors an FD follows for each bit that is set */
	ESPY_TOKEN_ADDR,    /* a pointer that is not followed, or whose target could not be read: num */
	ESPY_TOKEN_VARS,    /* things at address addr, num of them; the group says which (enum espy_vars) */
	ESPY_TOKEN_WORD,    /* a name as it stands: bytes[0..len); num is the number behind it */
	ESPY_TOKEN_OPEN,    /* group: enum espy_group */
	ESPY_TOKEN_CLOSE,
	ESPY_TOKEN_CHANGED,
	ESPY_TOKEN_REMARK, /* words about the value before it: bytes[0..len) */
	ESPY_TOKEN_ELIDED, /* group: enum espy_elided; addr: where the unreadable begins */
	ESPY_TOKEN_FD,	   /* what descriptor num is: name is its file, bytes[0..len) what more is known; NULL: nothing */
	ESPY_TOKEN_COMM,   /* task num is called name */
	ESPY_TOKEN_PID,	   /* the task has number num in the observer's pid namespace */
	ESPY_TOKEN_IFNAME, /* interface num is called name */
	ESPY_TOKEN_DATE,   /* num seconds since 1970 and want nano- or microseconds (USEC), addr seconds east of Greenwich */
};

/* What a value is to what is around it. */
enum espy_token_role {
	ESPY_ROLE_NONE = 0,
	ESPY_ROLE_ARG,		/* name */
	ESPY_ROLE_ARG_NAMED,	/* the same; the name is part of the text in every style */
	ESPY_ROLE_ARG_UNNAMED,	/* the same; it is in no style */
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
	ESPY_GROUP_CALL,    /* KERNEL_VERSION(6, 1, 0): its name is bytes[0..len); num, shown by fmt, is the number that it makes */
	ESPY_GROUP_JOIN,    /* IPC_CREAT|0600: parts of one number, num */
	ESPY_GROUP_NOTE,    /* behind a result: (left {...}); bytes[0..len): words in front of what it holds */
};

enum espy_elided {
	ESPY_ELIDED_MORE,    /* there is more than is shown: `...` */
	ESPY_ELIDED_FAULT,   /* the rest is unreadable from this address on */
	ESPY_ELIDED_UNKNOWN, /* bytes behind the known struct that could not be read: `???` */
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
	/* Of a call that was shown when it began: what was not shown then; one of the above << ESPY_MANNER_REST. */
	ESPY_MANNER_REST = 6,
};
#define ESPY_MANNER_WITH_REST(m) ((uint16_t)((m) | (m) << ESPY_MANNER_REST))
#define ESPY_MANNERS_BRIEF ESPY_MANNER_WITH_REST(ESPY_MANNER_BRIEF | ESPY_MANNER_PLAIN)
#define ESPY_MANNERS_FULL ESPY_MANNER_WITH_REST(ESPY_MANNER_FULL | ESPY_MANNER_PLAIN_FULL | ESPY_MANNER_BYTES)
#define ESPY_MANNERS_PLAIN ESPY_MANNER_WITH_REST(ESPY_MANNER_PLAIN | ESPY_MANNER_PLAIN_FULL)
#define ESPY_MANNERS_RAW ESPY_MANNER_WITH_REST(ESPY_MANNER_RAW)
#define ESPY_MANNERS_BYTES ESPY_MANNER_WITH_REST(ESPY_MANNER_BYTES)

enum espy_token_flags {
	ESPY_TOKF_CUT = 1u << 0,	/* STR: no NUL within the captured bytes */
	ESPY_TOKF_AFTER = 1u << 1,	/* STR: what the memory held after the call, not before it */
	ESPY_TOKF_MORE = 1u << 2,	/* INT: more about it follows */
	ESPY_TOKF_REPLACED = 1u << 3,	/* OPEN: the WORD behind its CLOSE says the same in one name */
	ESPY_TOKF_LIMITED = 1u << 4,	/* OPEN of an array: -s limits its elements */
	ESPY_TOKF_STYLED = 1u << 5,	/* OPEN: -X applies to the group as a whole, and not within it. WORD: -X applies */
	ESPY_TOKF_FAULT = 1u << 6,	/* STR: what is missing of it is unreadable */
	ESPY_TOKF_SPELT = 1u << 7,	/* WORD: a spelling of the number, which stands there unless -X asks for raw numbers */
	ESPY_TOKF_USEC = 1u << 8,	/* DATE: the fraction counts microseconds */
	ESPY_TOKF_BARE = 1u << 9,	/* DATE: a value, not a comment */
	ESPY_TOKF_ASIDE = 1u << 10,	/* WORD: a comment, where -X asks for comments. OPEN of a NOTE: not where -X asks for raw numbers.
					   OPEN of a CALL: a comment behind the number in every style */
	ESPY_TOKF_FAILED = 1u << 11,	/* INT, of a result: an error number, negative */
	ESPY_TOKF_UNKNOWN = 1u << 13,	/* WORD: the number, and the word as a comment: it has no name */
	ESPY_TOKF_WHOLE = 1u << 14,	/* STR: shown as it is, whatever -s says */
	ESPY_TOKF_NAMES = 1u << 15,	/* OPEN of a NOTE: its numbers are shown by their names, whatever -X says */
	ESPY_TOKF_TAIL = 1u << 12,	/* STR: bytes behind the known struct, which has num of them */
};

struct espy_token {
	uint8_t kind;  /* enum espy_token_kind */
	uint8_t role;  /* enum espy_token_role */
	uint8_t fmt;   /* enum espy_fmt: that of the type, or what the decoder knows better */
	uint8_t group; /* enum espy_group, espy_elided, espy_vars; DATE: enum espy_note */
	uint16_t shown; /* enum espy_manner */
	uint16_t flags; /* enum espy_token_flags */
	uint32_t len;	/* of bytes */
	uint32_t link;	/* OPEN, CLOSE: index of the other; INT: index in image->tables, or ESPY_NONE */
	const struct espy_type *type; /* INT, STR, BITS: never NULL; others: may be */
	const char *name; /* never NULL */
	uint64_t num;
	const uint8_t *bytes;
	uint64_t want; /* STR: bytes that there are in the program; more than len: cut. UINT64_MAX: not known */
	uint64_t addr; /* where it lies in the program; 0: not known */
};
_Static_assert(sizeof(struct espy_token) == 64, "one cache line");

struct espy_tokens {
	const struct espy_token *at;
	uint32_t cnt;
};

/* The index behind the value that begins at i: behind its group, and behind what is said of it. */
static inline uint32_t espy_tokens__next(const struct espy_tokens *t, uint32_t i)
{
	i = (t->at[i].kind == ESPY_TOKEN_OPEN ? t->at[i].link : i) + 1;
	while (i < t->cnt && !t->at[i].role && (t->at[i].kind >= ESPY_TOKEN_FD || t->at[i].flags & ESPY_TOKF_ASIDE))
		i++;
	return i;
}

#endif
