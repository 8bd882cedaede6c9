/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The language of -u: where a probe is, what it fetches, and when.
 *
 *	PROBE = FILE ':' PLACE [ '(' ARGS ')' ] [ 'if' CONDITION ]
 *	      | SYMBOL [ '+' OFFSET ] [ '%return' ] '@' FILE [ '(' ARGS ')' ] [ 'if' CONDITION ]          as perf has it
 *	      | 'p' [ ':' [ GROUP '/' ] EVENT ] FILE ':' OFFSET { ARG } [ 'if' CONDITION ]                as ftrace has it; r: returns
 *	PLACE = SYMBOL [ '+' OFFSET ] [ '%return' ] | OFFSET [ '%return' ]
 *	ARGS  = ARG { ',' ARG }
 *	ARG   = [ [ NAME ] '=' ] FETCH [ ':' TYPE ]       an empty NAME: the result, shown behind `=`
 *	FETCH = '%' REGISTER | '$retval' | '$arg' N | '$stack' [ N ] | '$comm' | '@' ADDRESS | '\' NUMBER
 *	      | ( '+' | '-' ) [ 'u' ] OFFSET '(' FETCH ')'
 *	TYPE  = u8 ... u64, s8 ... s64, x8 ... x64, u, d, x, p, char, string, bytes '[' ( NUMBER | FETCH ) ']'
 *
 * FILE may also be `pid N`, and PLACE an address in its memory.
 */
#ifndef ESPY_FILTER_PROBE_SELECT_H
#define ESPY_FILTER_PROBE_SELECT_H

#include "filter/condition.h"
#include "source/probes.h"

/*
 * Adds one rule. 0; -ENOMEM; -EINVAL with a message in why, and *at where in the text it applies. Whether the names of the
 * condition are there is not looked at: of a trace they are those of another rule.
 */
int espy_probe_select__add(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz);
void espy_probe_select__free(struct espy_probe_rules *r);

/*
 * Puts into the plan of the rule what of its condition can be tested near the place. -EINVAL with *e filled: the condition names
 * what the probe does not have.
 */
int espy_probe_lower(struct espy_probe_rule *rule, struct espy_condition_error *e);

/* ---- probe_fetch.c: one argument */

struct espy_probe_parser {
	const char *text, *at;
	char *why;
	size_t why_sz;
	const char *bad; /* where the message points to */
	struct espy_probe_rule *rule;
	struct espy_probe_fetch lengths[ESPY_MARK_MAX_ARGS]; /* that say how long bytes are */
	unsigned length_cnt;
};

/* -EINVAL, with the message. */
int espy_probe_parser__expected(struct espy_probe_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int espy_probe_parser__arg(struct espy_probe_parser *p);
int espy_probe_parser__number(struct espy_probe_parser *p, uint64_t *out);

#endif
