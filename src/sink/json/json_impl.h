/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of this folder share. */
#ifndef ESPY_SINK_JSON_IMPL_H
#define ESPY_SINK_JSON_IMPL_H

#include "sink/json/json_values.h"

/* What is known when the program is compiled, as it stands. */
#define ESPY_JSON_LITERAL(j, s) espy_buf__put((j)->b, s, sizeof(s) - 1)
/* {"$":"KIND" ... and whatever the caller adds, up to espy_json_end(). */
#define ESPY_JSON_BEGIN(j, kind)                                                                                       \
	do {                                                                                                           \
		espy_json__separate(j);                                                                                \
		ESPY_JSON_LITERAL(j, "{\"$\":\"" kind "\"");                                                             \
	} while (0)
/* The key of another member of such an object. */
#define ESPY_JSON_KEY(j, key)                                                                                          \
	do {                                                                                                           \
		ESPY_JSON_LITERAL(j, ",\"" key "\":");                                                                   \
		(j)->more = false;                                                                                     \
	} while (0)
/* The member "num" of such an object. */
static inline void espy_json_num(struct espy_json *j, uint64_t num)
{
	ESPY_JSON_KEY(j, "num");
	espy_json__u64(j, num);
}
static inline void espy_json_snum(struct espy_json *j, int64_t num)
{
	ESPY_JSON_KEY(j, "num");
	espy_json__i64(j, num);
}
static inline void espy_json_end(struct espy_json *j)
{
	espy_json__close(j, '}');
}

/* ---- json_leaves.c */
/* A pointer as an object, NULL as null. */
void espy_json_pointer(struct espy_json *j, uint64_t addr);
/* A number by itself. One that not every reader keeps exactly is an object. */
void espy_json_unsigned(struct espy_json *j, uint64_t num);
void espy_json_signed(struct espy_json *j, int64_t num);
/* The INT, BITS at an index of the tokens, with what is known about it. */
void espy_json_integer(const struct espy_json_values *x, uint32_t i);
void espy_json_set(const struct espy_json_values *x, uint32_t i);

/* ---- json_strings.c */
/* n bytes as an object with text or base64. more: there are more in the program, `size` in all; UINT64_MAX: not known. */
void espy_json_part(struct espy_json *j, const uint8_t *s, size_t n, bool more, uint64_t size);
/* A STR. */
void espy_json_string(const struct espy_json_values *x, const struct espy_token *v);

#endif
