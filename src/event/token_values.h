/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What sinks of every kind ask of a token: its number as memory holds it, and how much of a string is shown. */
#ifndef ESPY_EVENT_TOKEN_VALUES_H
#define ESPY_EVENT_TOKEN_VALUES_H

#include "describe/constant_names.h"
#include "event/tokens.h"

/* The number of an INT without bits above its type's size. */
static inline uint64_t espy_token__unsigned(const struct espy_token *v)
{
	return v->num & espy_width_mask(v->type->size);
}

/* Writes the bytes of an INT as they lie in memory, low address first, and returns how many they are. */
unsigned espy_token__memory(const struct espy_token *v, uint8_t out[8]);
/* The number in host order of an INT that lies in network order in memory, whether its type says so or not. */
uint64_t espy_token__from_network(const struct espy_token *v);

/* The part of a STR that is shown: bytes[0..len) of the token. */
struct espy_string_part {
	size_t len;
	bool more; /* the program's string goes on, or may go on */
};
/* limit: most bytes of what is no path (-s). Not for the formats INET4, INET6, MAC, UUID, SUNPATH, AX25, which are
 * shown whole. */
struct espy_string_part espy_token__string(const struct espy_token *v, unsigned limit);
#define ESPY_AX25_CALL 9u
/*
 * Decodes the characters of an AX.25 address, shifted left by one, and the number in its seventh byte. Returns the
 * length; 0: they cannot be printed. *valid: they are a call sign.
 */
size_t espy_ax25_call(const uint8_t *bytes, size_t len, char call[ESPY_AX25_CALL], bool *valid);
/* Tells whether a STR is shown whole. */
static inline bool espy_token__is_unit(const struct espy_token *v)
{
	return v->fmt == ESPY_FMT_INET6 || v->fmt == ESPY_FMT_MAC || v->fmt == ESPY_FMT_UUID ||
	       v->fmt == ESPY_FMT_SUNPATH || v->fmt == ESPY_FMT_AX25 || v->fmt == ESPY_FMT_INET4;
}

/* "S_IFREG" for the type of file in a mode; NULL: it has none. */
const char *espy_file_type_name(uint32_t mode);

#endif
