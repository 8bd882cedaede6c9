/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An adaptive arithmetic coder of bytes that asks several contexts at once. A context is a number that says what is
 * known about a byte; for each bit of the byte, the highest first, each context has a counter: how likely a one is.
 * What the counters say is weighed and added up, and the weights learn which of them is to be trusted.
 *
 * All in whole numbers, so that every machine decodes what another has coded; espy-trace-format(5) has it in words.
 */
#ifndef ESPY_TRACE_MIXER_H
#define ESPY_TRACE_MIXER_H

#include "trace/range.h"

#define MIXER_CONTEXTS 8u /* of one byte, at most */
#define MIXER_SETS 24u	  /* of weights: one for each kind of byte */
#define MIXER_TRUSTS 32u

/* What is known of a byte. */
struct espy_mixer_contexts {
	uint32_t of[MIXER_CONTEXTS];
	unsigned cnt, set;
	unsigned strong; /* number from 1 on of the context whose last byte is asked for first; 0: none */
	bool nibble;	 /* it is below 16: four bits are enough */
	int expected;	 /* a byte that it may well be, for a reason beside the contexts; -1: none */
	unsigned trust;	 /* below MIXER_TRUSTS: how good the reason is */
};

struct espy_mixer_state;

struct espy_mixer {
	struct espy_range range;
	struct espy_mixer_state *state; /* all that learns */
};

/* To be cleared or copied to before it is used. -ENOMEM. */
int espy_mixer__open(struct espy_mixer *m);
/* It has learnt nothing. */
void espy_mixer__clear(struct espy_mixer *m);
void espy_mixer__free(struct espy_mixer *m);
size_t espy_mixer__memory(const struct espy_mixer *m);
/* As `from` is: it has learnt the same. */
void espy_mixer__copy(struct espy_mixer *m, const struct espy_mixer *from);

void espy_mixer__put(struct espy_mixer *m, unsigned byte, const struct espy_mixer_contexts *in);
unsigned espy_mixer__get(struct espy_mixer *m, const struct espy_mixer_contexts *in);

#endif
