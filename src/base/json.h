/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A writer of JSON (RFC 8259) into a text buffer. It puts commas and quotes; the caller opens and closes objects and arrays in
 * pairs, and writes a key in front of each value of an object.
 *
 *	struct espy_json j = { .b = &buf };
 *
 *	espy_json__open(&j, '{');
 *	espy_json__key(&j, "name");
 *	espy_json__str(&j, name);
 *	espy_json__close(&j, '}');
 *
 * All text that it writes is UTF-8 and safe on a terminal: control characters are escaped.
 */
#ifndef ESPY_BASE_JSON_H
#define ESPY_BASE_JSON_H

#include "base/num.h"

/* The largest integer that every reader of JSON keeps exactly: many store numbers as doubles. */
#define ESPY_JSON_INT_MAX ((1ull << 53) - 1)

struct espy_json {
	struct espy_buf *b;
	bool more; /* a value stands before the next one: it needs a comma */
};

/* Writes the comma in front of a value, if it needs one. */
static inline void espy_json__separate(struct espy_json *j)
{
	if (j->more)
		espy_buf__putc(j->b, ',');
	j->more = true;
}

/* Begins an object ('{') or an array ('['). */
static inline void espy_json__open(struct espy_json *j, char bracket)
{
	espy_json__separate(j);
	espy_buf__putc(j->b, bracket);
	j->more = false;
}

/* Ends an object ('}') or an array (']'). */
static inline void espy_json__close(struct espy_json *j, char bracket)
{
	espy_buf__putc(j->b, bracket);
	j->more = true;
}

/* Writes something that is JSON already: n bytes, a whole value. */
static inline void espy_json__raw(struct espy_json *j, const char *json, size_t n)
{
	espy_json__separate(j);
	espy_buf__put(j->b, json, n);
}

/* Writes the key of the next value. n bytes that need no escape: a name of this program's or of the descriptions. */
static inline void espy_json__key_n(struct espy_json *j, const char *key, size_t n)
{
	if (!espy_buf__room(j->b, n + 4))
		return;
	char *at = j->b->data + j->b->len;
	if (j->more)
		*at++ = ',';
	*at++ = '"';
	memcpy(at, key, n);
	at += n;
	memcpy(at, "\":", 2);
	at += 2;
	j->b->len = (size_t)(at - j->b->data);
	j->more = false;
}

/* The same of a string literal, or of a name that ends with NUL. */
static inline void espy_json__key(struct espy_json *j, const char *key)
{
	espy_json__key_n(j, key, strlen(key));
}

/* The same of a name that may come from elsewhere: what needs an escape gets one. */
void espy_json__key_text(struct espy_json *j, const char *key);

/* Writes an integer; beyond +-ESPY_JSON_INT_MAX as a string of its decimal digits. */
static inline void espy_json__u64(struct espy_json *j, uint64_t x)
{
	if (!espy_buf__room(j->b, ESPY_DEC_MAX + 3))
		return;
	char *at = j->b->data + j->b->len;
	if (j->more)
		*at++ = ',';
	if (x > ESPY_JSON_INT_MAX)
		*at++ = '"';
	at = espy_dec_at(at, x);
	if (x > ESPY_JSON_INT_MAX)
		*at++ = '"';
	j->b->len = (size_t)(at - j->b->data);
	j->more = true;
}

static inline void espy_json__i64(struct espy_json *j, int64_t x)
{
	const bool large = x < -(int64_t)ESPY_JSON_INT_MAX;

	if (x >= 0) {
		espy_json__u64(j, (uint64_t)x);
		return;
	}
	espy_json__separate(j);
	if (large)
		espy_buf__putc(j->b, '"');
	espy_buf__sdec(j->b, x);
	if (large)
		espy_buf__putc(j->b, '"');
}

/* Writes a number as a string of hexadecimal digits: "0x1f". */
static inline void espy_json__hex(struct espy_json *j, uint64_t x)
{
	espy_json__separate(j);
	espy_buf__put(j->b, "\"0x", 3);
	espy_buf__hexdigits(j->b, x, 1);
	espy_buf__putc(j->b, '"');
}

static inline void espy_json__bool(struct espy_json *j, bool x)
{
	espy_json__raw(j, x ? "true" : "false", x ? 4 : 5);
}

static inline void espy_json__null(struct espy_json *j)
{
	espy_json__raw(j, "null", 4);
}

/* Writes the shortest number that reads back as x; null if x is infinite or no number. */
void espy_json__double(struct espy_json *j, double x);
/* Writes n bytes as a string. U+FFFD takes the place of each byte that is no UTF-8. */
void espy_json__text(struct espy_json *j, const void *s, size_t n);
/* The same of what ends with NUL. */
void espy_json__str(struct espy_json *j, const char *s);
/* The same; null for "". */
static inline void espy_json__str_or_null(struct espy_json *j, const char *s)
{
	if (*s)
		espy_json__str(j, s);
	else
		espy_json__null(j);
}
/* Writes n bytes as a string and returns true; writes nothing and returns false if they are no UTF-8. */
bool espy_json__utf8(struct espy_json *j, const void *s, size_t n);
/* Writes n bytes as a string of base64 (RFC 4648, with padding). */
void espy_json__base64(struct espy_json *j, const void *s, size_t n);
/* Writes foreign bytes without loss: a string if they are UTF-8, else an object {"base64":"..."}. */
void espy_json__bytes(struct espy_json *j, const void *s, size_t n);

/* Members of an object: a key and its value. */
static inline void espy_json__key_u64(struct espy_json *j, const char *key, uint64_t x)
{
	espy_json__key(j, key);
	espy_json__u64(j, x);
}

static inline void espy_json__key_str(struct espy_json *j, const char *key, const char *text)
{
	espy_json__key(j, key);
	espy_json__str(j, text);
}

#endif
