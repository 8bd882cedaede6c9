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
};

/* A mark or a probe as the stream has defined it. */
struct espy_mark_def {
	char *provider, *name, *format; /* in `texts` */
	char *texts;
	uint8_t place;	/* of a probe: enum espy_probe_kind */
	uint8_t result; /* of a probe: the argument that is the function's result, from 1 on; 0: none */
	unsigned nargs;
	struct espy_mark_arg_def args[ESPY_MARK_MAX_ARGS];
};

/* Reads a definition, which is not trusted. 0, -ENOMEM, or -EBADMSG: the record is not what it should be. */
int espy_mark_def__make(struct espy_mark_def **out, const struct espy_rec_mark_def *def);
int espy_mark_def__make_probe(struct espy_mark_def **out, const struct espy_rec_probe_def *def);
void espy_mark_def__free(struct espy_mark_def *t);

#endif
