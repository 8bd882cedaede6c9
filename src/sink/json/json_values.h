/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tokens as values of JSON, as docs/json.md says. An object that is no struct of the program has a member "$", which no field of a
 * struct is called: it says what the object is.
 */
#ifndef ESPY_SINK_JSON_VALUES_H
#define ESPY_SINK_JSON_VALUES_H

#include "base/json.h"
#include "event/tokens.h"
#include "record/mark_def.h"

/* How values are written. */
struct espy_json_values {
	struct espy_json *j;
	const struct espy_image *image;
	struct espy_tokens tokens;
	unsigned manner; /* tokens of this one are written */
	uint32_t string_limit;
	bool fd_details, task_names;
};

/* Writes arguments as an object, by name. */
void espy_json_values__args(const struct espy_json_values *x);
/*
 * Writes the value of a result that is no error, or null if the call did not return; then, if there is a note behind it, the
 * member "notes".
 */
void espy_json_values__result(const struct espy_json_values *x);
/* Writes the one value that the tokens are; null if there is none. */
void espy_json_values__one(const struct espy_json_values *x);
/* Writes the name of a signal, or its number as text if it has none. */
void espy_json_values__signal(struct espy_json *j, unsigned sig);
/* Writes the name of an error number (positive), or the number as text if it has none. */
void espy_json_values__errno(struct espy_json *j, uint64_t err);
/* Writes the arguments of a mark, which are foreign, as an object by name. def NULL: the stream has not defined it. */
void espy_json_values__mark(struct espy_json *j, const struct espy_mark_def *def, const struct espy_rec *rec,
			    uint32_t string_limit);
/* Writes bytes of the program's as a value. more: it had more of them than these. */
void espy_json_values__text(struct espy_json *j, const void *bytes, size_t len, bool more);
/* Writes a number among these arguments, of this kind (enum espy_mark_arg). */
void espy_json_values__mark_number(struct espy_json *j, uint8_t kind, uint64_t num);

#endif
