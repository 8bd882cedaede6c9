/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names that a condition may use for one system call. Every call has ret, errno, duration and name, and its task pid,
 * tid, comm, uid and cgroup. The arguments have the names of the descriptions, also deeper: `msg.msg_iov[0].iov_base`. The
 * user may leave out the part of a field's name up to its underscore: msg.iov[0].base. arg.NAME is an argument whose name
 * is one of the names above. `path` is the first argument that is the name of a file. In a call without such an argument
 * it is the file behind the first descriptor.
 */
#ifndef ESPY_FILTER_CALL_NAMES_H
#define ESPY_FILTER_CALL_NAMES_H

#include "filter/condition.h"
#include "source/source.h"

enum espy_call_value {
	ESPY_CALL_RET = 1,
	ESPY_CALL_ERRNO,    /* positive; 0: the call succeeded */
	ESPY_CALL_PID,      /* the process */
	ESPY_CALL_TID,
	ESPY_CALL_COMM,     /* text */
	ESPY_CALL_UID,      /* the effective one */
	ESPY_CALL_CGROUP,   /* text: its path in the tree of version 2 */
	ESPY_CALL_DURATION, /* ns */
	ESPY_CALL_NAME,     /* text */
	ESPY_CALL_ARG,      /* the register */
	ESPY_CALL_TEXT,     /* the bytes that operation `op` has copied */
	ESPY_CALL_FD_PATH,  /* text: the file behind the descriptor in the register */
	ESPY_CALL_FIELD,    /* a number: deeper in an argument, found by the name */
	ESPY_CALL_FIELD_TEXT,
};

/* The meaning of the reference of a name. */
struct espy_call_ref {
	uint8_t what; /* enum espy_call_value */
	uint8_t arg;  /* ARG, FD_PATH: the register; FIELD: the parameter */
	uint8_t op;   /* TEXT */
	uint8_t width, is_signed; /* ARG */
	uint8_t counted; /* TEXT: of counted bytes, not up to a NUL */
	uint16_t reserved;
};
_Static_assert(sizeof(struct espy_call_ref) == sizeof(uint64_t), "");

static inline struct espy_call_ref espy_call_ref(uint64_t ref)
{
	struct espy_call_ref r;

	__builtin_memcpy(&r, &ref, sizeof(r));
	return r;
}

/* One system call of one ABI. */
struct espy_call_names {
	const struct espy_image *image;
	const struct espy_op *ops; /* with the caps of this session; NULL: the ops of the image */
	uint32_t nr;
};

/* Returns the table of names of a call; valid as long as *c. */
struct espy_names espy_call_names(struct espy_call_names *c);

/* Writes the names that the call has, for messages: "ret, errno, pid, ..., fd, buf, count". Returns why. */
const char *espy_call_names__list(const struct espy_call_names *c, char *why, size_t why_sz);
struct espy_nearest;
/* Offers all of them, as what may have been meant. */
void espy_call_names__offer(const struct espy_call_names *c, struct espy_nearest *near);
/* Takes out the tests of which the result is known for this call: tests of its name. */
void espy_call_names__fold(const struct espy_call_names *c, struct espy_predicate *p);

/* Returns the parameter of this name; for "path" else the first path, else the first descriptor. -1: none. */
int espy_call_names__param(const struct espy_call_names *c, const char *name, size_t len);

/* Returns the number of the call with this name, or -ENOENT with the nearest name in why. */
int espy_call_names__find_call(const struct espy_image *image, const char *name, char *why, size_t why_sz);
#endif
