/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: what an event says. Part of <espy/espy.h>; espy_value(3).
 *
 * A value is found by the path of its name. The path begins with an argument, as `espy trace -N` names it, and leads on by ".field"
 * and "[index]": "flags", "msg.msg_iov[0].iov_base". A field may be named by what stands behind one of its underscores:
 * "msg.iov[0].base". "path" is the first argument that is the name of a file; in a call without one it is the file behind the
 * first descriptor. "ret" is the result. Of a signal the path names a field of its siginfo ("si_pid"), of a mark an argument.
 *
 * All functions may be called on the thread of the callback that was given the event, while it runs. The engine must not have
 * `no_values` set. They return 0 or more; or -EINVAL: a NULL pointer, a wrong size, or a path that is none; -ENOENT: the event has
 * no such value; -EFAULT: the program's memory could not be read.
 */
#ifndef ESPY_VALUE_PUBLIC_H
#define ESPY_VALUE_PUBLIC_H

#include <espy/event.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum espy_kind {
	ESPY_KIND_SIGNED = 1, /* number.i */
	ESPY_KIND_UNSIGNED,   /* number.u */
	ESPY_KIND_DOUBLE,     /* number.d; of marks */
	ESPY_KIND_STRING,     /* bytes: text up to its NUL, which is not counted; it may hold any other byte */
	ESPY_KIND_BYTES,      /* bytes: a buffer */
	ESPY_KIND_ADDRESS,    /* number.u: a pointer that leads nowhere, or whose target could not be read */
	ESPY_KIND_STRUCT,     /* it has members: espy_event_member */
	ESPY_KIND_ARRAY,      /* the same, by index */
	ESPY_KIND_SET,	      /* bytes: bits, the lowest first: signals, descriptors, CPUs */
};

struct espy_value {
	size_t size; /* set it before the call */
	enum espy_kind kind;
	bool cut; /* STRING, BYTES: the program had more than was captured */
	union {
		int64_t i;
		uint64_t u;
		double d;
	} number;
	const void *bytes; /* valid until the callback returns; no NUL follows */
	size_t length;	   /* of bytes */
	uint64_t full_length; /* BYTES: how many there were in the program; UINT64_MAX: not known */
	uint64_t address;  /* where the value lies in the program's memory; 0: not known */
};

/* Fills in *value. Of a value that the call has changed it is the one after the call. */
ESPY_API int espy_event_value(const struct espy_event *e, const char *path, struct espy_value *value);
/* The same of a number, whatever its sign. -EDOM: the value is none. */
ESPY_API int espy_event_number_at(const struct espy_event *e, const char *path, int64_t *number);
/*
 * Writes the bytes of a STRING or BYTES, and a NUL. Returns how many there are; those that do not fit are left out. -EDOM: the value
 * is neither. size may be 0.
 */
ESPY_API int espy_event_string_at(const struct espy_event *e, const char *path, char *text, size_t size);
/*
 * Writes the path of member `index`, from 0 on, of a struct or an array: "msg.msg_iov". path "": of the event, whose members are
 * its arguments. Returns the length of the path. -ENOENT: there are fewer; -ENAMETOOLONG: it does not fit.
 */
ESPY_API int espy_event_member(const struct espy_event *e, const char *path, unsigned index, char *member, size_t size);
/*
 * The names of the flags that are set in a number, or the name of the number. Fills names[0..count) and returns how many there are.
 * *rest is what no name covers; rest may be NULL. The names are valid until the callback returns.
 */
ESPY_API int espy_event_names(const struct espy_event *e, const char *path, const char **names, size_t count, uint64_t *rest);
/*
 * The text of a value as `espy trace -v` writes it, with all of its strings and elements. Writes at most size - 1 bytes and a NUL, and
 * returns how long the whole text is. size may be 0.
 */
ESPY_API int espy_event_value_text(const struct espy_event *e, const char *path, char *text, size_t size);
/*
 * The same of the whole event, as `espy trace` writes it: "close(3) = 0", "--- SIGINT {...} ---". -ENOENT: an event of this type has
 * no line.
 */
ESPY_API int espy_event_text(const struct espy_event *e, char *text, size_t size);
/* CALL_*: argument `index`, 0 to 5, as it stood in its register when the call began. -ENOENT: the call has fewer. */
ESPY_API int espy_event_register(const struct espy_event *e, unsigned index, uint64_t *value);
/* CALL_END: the name of its error, "ENOENT"; NULL: it did not fail, or the error has no name. The text is static. */
ESPY_API const char *espy_event_error(const struct espy_event *e);

/* ---- the world at that moment, as far as it is known; NULL: it is not. Valid until the callback returns, or the next such call. */

/* The file behind a descriptor of the event's process, AT_FDCWD: its working directory. Arguments: before the call took effect. */
ESPY_API const char *espy_event_fd_path(const struct espy_event *e, int fd);
/* What the event's task is called (comm). */
ESPY_API const char *espy_event_task_name(const struct espy_event *e);

#ifdef __cplusplus
}
#endif

#endif
