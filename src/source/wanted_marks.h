/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which marks a session wants, in the form that the agent takes (agent/abi.h); and what the sources of marks share:
 * their numbering of definitions, and the records they make.
 */
#ifndef ESPY_SOURCE_WANTED_MARKS_H
#define ESPY_SOURCE_WANTED_MARKS_H

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

struct espy_condition; /* filter/condition.h */

/*
 * One rule. A source delivers every event that the pattern and the whole condition want, and may deliver more of the pattern:
 * what it can test near the event stands in `agent`; the whole condition is tested behind the source.
 */
struct espy_mark_rule {
	struct espy_agent_rule agent;
	const struct espy_condition *condition; /* NULL: none */
	bool rest; /* there is more to test than what stands in `agent` */
	uint32_t strings; /* bits by number of arguments: addresses of which the user says that they are those of strings */
};

struct espy_mark_rules {
	struct espy_mark_rule *v;
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

/* ---- rules */

/* Which argument a name means: one that the format gives it, or argN. -1: none. */
int espy_mark_arg__find(const char *name, const char *format, unsigned nargs);
/*
 * Can an event of this mark be what the rule wants? False: the name is another one, or a test in `agent` asks for an argument
 * that the mark does not have, or that is text where a number is asked for.
 */
bool espy_mark_rule__fits(const struct espy_mark_rule *rule, const char *provider, const char *name, const char *format,
			  const uint8_t *kinds, unsigned nargs);

#endif
