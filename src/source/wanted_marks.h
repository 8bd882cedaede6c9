/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The marks that a session wants, in the form that the agent takes (agent/abi.h). Also the numbering of definitions and
 * their records, which the sources of marks share.
 */
#ifndef ESPY_SOURCE_WANTED_MARKS_H
#define ESPY_SOURCE_WANTED_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/abi.h"
#include "record/record.h"

enum espy_marks_via {
	ESPY_VIA_AGENT = 0,  /* the agent, which the source loads if it is not there */
	ESPY_VIA_KERNEL = 1, /* USDT notes, by probes of the kernel */
	ESPY_VIA_PRELOAD = 2, /* as AGENT; the command and the programs that it starts get the library by LD_PRELOAD */
};

struct espy_condition; /* filter/condition.h */

/*
 * One rule. A source delivers every event that the pattern and the condition want, and may deliver more events of the
 * pattern. `agent` holds the part of the condition that it can test near the event. The session tests the whole
 * condition behind it.
 */
struct espy_mark_rule {
	struct espy_agent_rule agent;
	const struct espy_condition *condition; /* NULL: none */
	bool rest; /* the condition has tests that are not in `agent` */
	uint32_t strings; /* bits by number of arguments: addresses of strings, as the user says */
};

struct espy_mark_rules {
	struct espy_mark_rule *v;
	size_t cnt;
	enum espy_marks_via via;
	unsigned string_max; /* a copy of a string has at most so many bytes; 0: the agent's default */
};

/* ---- definitions */

struct espy_mark_defs; /* a growing table; equal definitions share a number */

struct espy_mark_defs *espy_mark_defs__new(uint32_t first); /* numbers from `first` on */
void espy_mark_defs__free(struct espy_mark_defs *d);
/*
 * Gives the number of a definition. *fresh: it is new, and *rec is its record, valid as long as the table. Cuts texts
 * to the size that a record can hold. Returns 0, -ENOSPC or -ENOMEM.
 */
int espy_mark_defs__get(struct espy_mark_defs *d, const char *provider, size_t provider_len, const char *name,
			const char *format, const uint8_t *kinds, unsigned nargs, uint32_t *number, bool *fresh,
			const struct espy_rec_mark_def **rec);

/* Calls fn for the records of all definitions so far. Ends when fn does not return 0, and returns that value. */
int espy_mark_defs__each(const struct espy_mark_defs *d, int (*fn)(void *ctx, const struct espy_rec *rec), void *ctx);

/* ---- rules */

/* Returns the number of the argument that the format gives this name, or of argN; -1: none. */
int espy_mark_arg__find(const char *name, const char *format, unsigned nargs);
/*
 * Returns whether the rule can want an event of this mark. False: the mark has another name, lacks an argument of a
 * test in `agent`, or has a string where the test needs a number, or the reverse.
 */
bool espy_mark_rule__fits(const struct espy_mark_rule *rule, const char *provider, const char *name, const char *format,
			  const uint8_t *kinds, unsigned nargs);

#endif
