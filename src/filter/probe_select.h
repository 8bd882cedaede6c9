/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The language of -u: where a probe is, what it fetches, and when.
 *
 *	PROBE = FILE ':' PLACE [ '(' ARGS ')' ] [ 'if' CONDITION ]
 *	      | [ 'kernel:' ] SYMBOL [ '+' OFFSET ] [ '%return' ] [ '(' ARGS ')' ] [ 'if' CONDITION ]     of the kernel
 *	      | SYMBOL [ '+' OFFSET ] [ '%return' ] '@' FILE [ '(' ARGS ')' ] [ 'if' CONDITION ]          as perf has it
 *	      | 'p' [ ':' [ GROUP '/' ] EVENT ] FILE ':' OFFSET { ARG } [ 'if' CONDITION ]                as ftrace has
 *it; r: returns PLACE = SYMBOL [ '+' OFFSET ] [ '%return' ] | OFFSET [ '%return' ] | SOURCE ':' LINE ARGS  = ARG { ','
 *ARG } ARG   = [ [ NAME ] '=' ] FETCH [ ':' TYPE ]       an empty NAME: the result, shown behind `=` FETCH = '%'
 *REGISTER | '$retval' | '$arg' N | '$stack' [ N ] | '$comm' | '@' ADDRESS | '\' NUMBER | ( '+' | '-' ) [ 'u' ] OFFSET
 *'(' FETCH ')' | VARIABLE VARIABLE = { '*' } ( NAME | '$retval' ) { '->' NAME | '.' NAME | '[' NUMBER ']' } TYPE  = u8
 *... u64, s8 ... s64, x8 ... x64, u, d, x, p, char, string, bytes '[' ( NUMBER | FETCH ) ']'
 *
 * FILE may also be `pid N`, and PLACE an address in its memory. ftrace's FILE: is missing if the symbol is the
 *kernel's.
 */
#ifndef ESPY_FILTER_PROBE_SELECT_H
#define ESPY_FILTER_PROBE_SELECT_H

#include <string.h>
#include "filter/condition.h"
#include "source/probes.h"

/*
 * Adds one rule. Returns 0; -ENOMEM; -EINVAL with a message in why, and its place in the text in *at. The function does not
 * look up the names of the condition: in a trace another rule may have them.
 */
int espy_probe_select__add(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz);
/* The same of TRACEPOINTS = SYSTEM ':' NAME [ 'if' CONDITION ], with `*` and `?` in the names: -K. */
int espy_probe_select__add_tracepoint(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz);
void espy_probe_select__free(struct espy_probe_rules *r);

/*
 * Puts the parts of the condition that can be tested near the place into the plan of the rule. Returns 0, or -EINVAL with
 * *e filled: the probe has no argument of a name in the condition.
 */
int espy_probe_lower(struct espy_probe_rule *rule, struct espy_condition_error *e);

/* ---- probe_fetch.c: one argument */

/* The parser of a rule: of a probe, or of a mark (marks_select.c). */
struct espy_rule_parser {
	const char *at;
	char *why;
	size_t why_sz;
	const char *bad; /* the place of the message */
	struct espy_probe_rule *rule;
	struct espy_probe_fetch lengths[ESPY_MARK_MAX_ARGS]; /* that say how long bytes are */
	unsigned length_cnt;
};

static inline void espy_rule_parser__skip_blanks(struct espy_rule_parser *p)
{
	p->at += strspn(p->at, " \t\n");
}

/* Writes the message. Returns -EINVAL. */
int espy_rule_parser__expected(struct espy_rule_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int espy_rule_parser__arg(struct espy_rule_parser *p);
/* Notes a name of the condition that is none of an argument: perhaps it is a variable. ctx: the parser. 0 or -ENOMEM.
 */
int espy_rule_parser__condition_name(void *parser, const char *name, size_t at);
int espy_rule_parser__number(struct espy_rule_parser *p, uint64_t *out);

#endif
