/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: the values of an event. Part of <espy/espy.h>; espy_value(3).
 *
 * A path of names finds a value. The path begins with an argument, as `espy trace -N` names it, and leads on by ".field" and
 * "[index]": "flags", "msg.msg_iov[0].iov_base". A path may name a field by the part behind one of its underscores:
 * "msg.iov[0].base". "path" is the first argument that is the name of a file; in a call without such an argument it is the file
 * behind the first descriptor. "ret" is the result. For a signal the path names a field of its siginfo ("si_pid"), for a mark
 * an argument.
 *
 * The caller may call all functions on the thread of the callback that was given the event, while the callback runs. The engine
 * must not have `no_values` set. The functions return 0 or more, or a negative errno. -EINVAL: a NULL pointer, a wrong size, or
 * a malformed path. -ENOENT: the event has no such value. -EFAULT: espy could not read the program's memory.
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
	ESPY_KIND_DOUBLE,     /* number.d; only marks have it */
	ESPY_KIND_STRING,     /* bytes: text up to its NUL, which length does not count; the text may hold any other byte */
	ESPY_KIND_BYTES,      /* bytes: a buffer */
	ESPY_KIND_ADDRESS,    /* number.u: a pointer that leads nowhere, or whose target espy could not read */
	ESPY_KIND_STRUCT,     /* a value with members: espy_event_member */
	ESPY_KIND_ARRAY,      /* a value with elements, by index: espy_event_member */
	ESPY_KIND_SET,	      /* bytes: bits, the lowest first: a set of signals, descriptors or CPUs */
};

struct espy_value {
	size_t size; /* the caller sets it before the call */
	enum espy_kind kind;
	bool cut; /* STRING, BYTES: the program had more bytes than espy captured */
	union {
		int64_t i;
		uint64_t u;
		double d;
	} number;
	const void *bytes; /* valid until the callback returns; no NUL follows */
	size_t length;	   /* length of bytes */
	uint64_t full_length; /* BYTES: length of the buffer in the program; UINT64_MAX: not known */
	uint64_t address;  /* where the value lies in the program's memory; 0: not known */
};

/* Fills in *value. If the call has changed the value, it is the value after the call. */
ESPY_API int espy_event_value(const struct espy_event *e, const char *path, struct espy_value *value);
/* Writes a number, whatever its sign, to *number. -EDOM: the value is no number. */
ESPY_API int espy_event_number_at(const struct espy_event *e, const char *path, int64_t *number);
/*
 * Writes the bytes of a STRING or BYTES, and a NUL. Leaves out bytes that do not fit. Returns how many bytes the value has.
 * -EDOM: the value is neither STRING nor BYTES. size may be 0.
 */
ESPY_API int espy_event_string_at(const struct espy_event *e, const char *path, char *text, size_t size);
/*
 * Writes the path of member `index`, from 0 on, of a struct or an array: "msg.msg_iov". path "": of the event, whose members
 * are its arguments. Returns the length of the written path. -ENOENT: there are fewer members; -ENAMETOOLONG: the path does not
 * fit.
 */
ESPY_API int espy_event_member(const struct espy_event *e, const char *path, unsigned index, char *member, size_t size);
/*
 * Fills names[0..count) with the names of the flags that are set in a number, or with the name of the number. Returns how many
 * names there are. *rest is the part of the number that no name covers; rest may be NULL. The names are valid until the
 * callback returns.
 */
ESPY_API int espy_event_names(const struct espy_event *e, const char *path, const char **names, size_t count, uint64_t *rest);
/*
 * Writes the text of a value as `espy trace -v` writes it, with all of its strings and elements. Writes at most size - 1 bytes
 * and a NUL. Returns the length of the whole text. size may be 0.
 */
ESPY_API int espy_event_value_text(const struct espy_event *e, const char *path, char *text, size_t size);
/*
 * Writes the text of the whole event as `espy trace` writes it: "close(3) = 0", "--- SIGINT {...} ---". Writes at most size - 1
 * bytes and a NUL. Returns the length of the whole text. size may be 0. -ENOENT: an event of this type has no line.
 */
ESPY_API int espy_event_text(const struct espy_event *e, char *text, size_t size);
/* CALL_*: writes argument `index`, 0 to 5, as it stood in its register when the call began. -ENOENT: the call has fewer arguments. */
ESPY_API int espy_event_register(const struct espy_event *e, unsigned index, uint64_t *value);
/* CALL_END: returns the name of the call's error, "ENOENT"; NULL: the call did not fail, or the error has no name. The text is static. */
ESPY_API const char *espy_event_error(const struct espy_event *e);

/*
 * ---- the tracee at the moment of the event. The functions return NULL for what the session does not know. Texts are valid
 * until the callback returns, or until the next such call.
 */

/*
 * Returns the path of the file behind a descriptor of the event's process; AT_FDCWD: its working directory. For a descriptor in
 * the arguments it is the file before the call took effect.
 */
ESPY_API const char *espy_event_fd_path(const struct espy_event *e, int fd);
/* Returns the name of the event's task (comm). */
ESPY_API const char *espy_event_task_name(const struct espy_event *e);

#ifdef __cplusplus
}
#endif

#endif
