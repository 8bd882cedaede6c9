/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which marks a session wants, in the form that the agent takes (agent/abi.h); and what the sources of marks share:
 * their numbering of definitions, the records they make, and predicates where no agent evaluates them.
 */
#ifndef ESPY_SOURCE_MARKS_H
#define ESPY_SOURCE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/abi.h"
#include "record/record.h"

enum espy_marks_via {
	ESPY_VIA_AGENT = 0,  /* the agent, loaded if need be */
	ESPY_VIA_KERNEL = 1, /* USDT notes, by probes of the kernel */
	ESPY_VIA_PRELOAD = 2, /* as AGENT; the command and what it starts get the library by LD_PRELOAD */
};

struct espy_mark_rules {
	struct espy_agent_rule *v;
	size_t cnt;
	enum espy_marks_via via;
	unsigned string_max; /* bytes of a string that are copied; 0: the agent's default */
};

/* ---- definitions */

struct espy_mark_defs; /* a growing table; equal definitions share a number */

struct espy_mark_defs *espy_mark_defs__new(uint32_t first); /* numbers from `first` on */
void espy_mark_defs__free(struct espy_mark_defs *d);
/*
 * The number of a definition; *fresh: it is new, and *rec is its record, valid as long as the table. -ENOSPC, -ENOMEM.
 * Texts are cut to what a record holds.
 */
int espy_mark_defs__get(struct espy_mark_defs *d, const char *provider, size_t provider_len, const char *name,
			const char *format, const uint8_t *kinds, unsigned nargs, uint32_t *number, bool *fresh,
			const struct espy_rec_mark_def **rec);

/* The records of all definitions so far; ends with what fn returns, if not 0. */
int espy_mark_defs__each(const struct espy_mark_defs *d, int (*fn)(void *ctx, const struct espy_rec *rec), void *ctx);

/* ---- predicates, on the arguments of a MARK record */

struct espy_mark_test {
	unsigned cnt;
	struct {
		uint8_t arg; /* its index */
		struct espy_agent_pred pred;
	} v[ESPY_AGENT_PREDS];
};
/*
 * A rule's predicates for a definition. False: one of them names an argument that it does not have, or compares a
 * string with a number: the rule does not apply.
 */
bool espy_mark_test__make(struct espy_mark_test *t, const struct espy_agent_rule *rule, const char *format,
			  const uint8_t *kinds, unsigned nargs);
/* args as espy_mark_args__check has found them good. */
bool espy_mark_test__passes(const struct espy_mark_test *t, const void *args, size_t len, const uint8_t *kinds,
			    unsigned nargs);

#endif
