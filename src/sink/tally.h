/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sink of --count-by and --hist: how often which values came. Its tables are written when nothing more comes. */
#ifndef ESPY_SINK_TALLY_H
#define ESPY_SINK_TALLY_H

#include "filter/condition.h"
#include "filter/tally_expr.h"
#include "sink/sink.h"

struct espy_mark_def;

/* A text that is wrong; text NULL: none is. */
struct espy_tally_error {
	const char *option, *text; /* "--hist"; the text as it was given */
	struct espy_condition_error e;
};

/*
 * Makes the sink. o: whole, and copied; the sink uses its output, too. Returns 0; -ENOMEM; -EINVAL: the options are
 * wrong, or a text as *wrong says.
 */
int espy_tally__new(struct espy_sink **out, const struct espy_tally_options *o, struct espy_tally_error *wrong);
/*
 * Takes the calls out of *calls that no tally counts. hits: marks or probes are selected, too. *asks gets the bits of
 * espy_tally_expr__asks. Returns 0 or -EINVAL: a text is wrong as *wrong says.
 */
int espy_tally__choose(struct espy_sink *s, const struct espy_image *images, struct espy_syscall_set *calls, bool hits,
		       unsigned *asks, struct espy_tally_error *wrong);
/* How a source is to count for tally i, in the order of the options; espy_tally_expr__lower. */
size_t espy_tally__cnt(const struct espy_sink *s);
bool espy_tally__lower(struct espy_sink *s, size_t i, bool chosen, struct espy_source_tally *out);
/* The same for hits of the probes `defs`: specs[0..cnt) are filled in; espy_tally_expr__lower_hit. */
bool espy_tally__lower_hits(struct espy_sink *s, size_t i, const struct espy_mark_def *const *defs, size_t cnt,
			    struct espy_tally_spec *specs, struct espy_source_tally *out);
/* Adds a count that a source has made. def: of the probe that it is a value of; NULL: it is none of a probe. */
void espy_tally__add(struct espy_sink *s, const struct espy_tallied *t, const struct espy_mark_def *def);
/* Forgets the image of an ABI, which is another one now. */
void espy_tally__forget(struct espy_sink *s, enum espy_abi abi);
/* Tells whether a tally asks for this name, whatever has it: "duration", "comm". */
bool espy_tally__names(const struct espy_sink *s, const char *name);

#endif
