/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The definition of a static mark or of a probe, read from its record: names, and how each argument of its format looks. */
#ifndef ESPY_RECORD_MARK_DEF_H
#define ESPY_RECORD_MARK_DEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/record.h"

/* How one argument looks. */
struct espy_mark_arg_def {
	uint8_t kind;  /* enum espy_mark_arg */
	char letter;   /* of the conversion; 0: shown by its kind alone */
	char spec[24]; /* for snprintf: flags, width filled with zeros, precision; no length, no letter */
	const char *name; /* in the format */
	size_t name_len;
	bool hex_prefix; /* "0x" stands before the conversion */
	uint8_t narrow;	 /* bits that h or hh leaves of an integer; 0: neither stands there */
	/* Of a probe, whose format tells more (espy-trace-format(5), PROBE_DEF): */
	uint8_t low, bits; /* bits not 0: the value is so many bits of the number, from bit `low` on */
	bool is_float;	   /* kind is DOUBLE, and the number holds the 4 bytes of a float */
	uint32_t array;	   /* not 0: the text lies in an array of so many characters, so it may end there */
	const char *words; /* constants that values are called by, "A=1|B=2", of flags "|A=1|B=2"; words_len 0: none */
	size_t words_len;
	const char *before; /* the structs that end and begin in front of the name: "}", "{NAME", "..." with blanks
			       between */
	size_t before_len;
};

/* A mark or a probe as the stream has defined it. */
struct espy_mark_def {
	char *provider, *name, *format; /* in `texts` */
	char *texts;
	uint8_t place;	/* of a probe: enum espy_probe_kind */
	uint8_t result; /* of a probe: the argument that is the function's result, from 1 on; 0: none */
	const char *behind; /* of a probe: the structs that end behind the last argument, as `before` */
	size_t behind_len;
	unsigned nargs;
	struct espy_mark_arg_def args[ESPY_MARK_MAX_ARGS];
};

/* Reads a definition, which is not trusted. 0, -ENOMEM, or -EBADMSG: the record is not what it should be. */
int espy_mark_def__make(struct espy_mark_def **out, const struct espy_rec_mark_def *def);
int espy_mark_def__make_probe(struct espy_mark_def **out, const struct espy_rec_probe_def *def);

struct espy_mark_value; /* record/mark_values.h */
/* Makes the value of what a record holds: the bits of a bit field, the double of a float, the whole text of an array.
 */
void espy_mark_arg__settle(const struct espy_mark_arg_def *a, struct espy_mark_value *v);
/* Finds the constant that the value is called by. Returns its length; 0: it has none. */
size_t espy_mark_arg__word(const struct espy_mark_arg_def *a, uint64_t num, const char **word);
/* Tells whether the constants are bits, of which a value may have several. */
bool espy_mark_arg__is_flags(const struct espy_mark_arg_def *a);
/*
 * Finds the next constant of flags all of whose bits are in *rest, and takes them out. *at: where to go on, NULL at the
 * beginning. Returns its length; 0: there is none.
 */
size_t espy_mark_arg__flag(const struct espy_mark_arg_def *a, uint64_t *rest, const char **at, const char **word);
/* Finds the value of a constant. Returns false if there is none of that name. */
bool espy_mark_arg__constant(const struct espy_mark_arg_def *a, const char *word, uint64_t *num);
void espy_mark_def__free(struct espy_mark_def *t);

#endif
