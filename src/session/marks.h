/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Marks in a session: what `-m` says, as rules for the sources; the definitions of the stream, for the lines; how many
 * events each mark had.
 *
 *     RULE    = PATTERN { ',' PATTERN } [ 'if' COND { '&&' COND } ]
 *     PATTERN = a name with * and ?: "app:req_*"; without ':' of any subsystem
 *     COND    = ARG OP VALUE
 *     ARG     = the argument's name in the format, or argN (arg0 is the first)
 *     OP      = '==' '!=' '<' '<=' '>' '>='; '&' (has one of these bits); '^=' (a string begins with)
 *     VALUE   = a number (12, -1, 0x1f, 017, 1.5e3, 'c') or a string in double quotes (\" \\ \n \t \xHH)
 */
#ifndef ESPY_SESSION_MARKS_H
#define ESPY_SESSION_MARKS_H

#include "render/mark.h"
#include "source/marks.h"

/* Adds the rules of one -m. -EINVAL: *at is where in the text, and why says what was expected there; -E2BIG, -ENOMEM.
 */
int espy_marks_select__add(struct espy_mark_rules *r, const char *text, size_t *at, char *why, size_t why_sz);
void espy_marks_select__free(struct espy_mark_rules *r);

struct espy_marks_seen; /* of one stream */

/* rules: which of them are wanted, where no source has selected them (a trace that is shown); NULL: all. */
struct espy_marks_seen *espy_marks_seen__new(const struct espy_mark_rules *rules);
void espy_marks_seen__free(struct espy_marks_seen *m);
/* A MARK_DEF record. -EBADMSG, -ENOMEM, -ENOSPC; a definition that comes twice replaces the former. */
int espy_marks_seen__define(struct espy_marks_seen *m, const struct espy_rec_mark_def *def);
/* Does a rule want this MARK record, and do its arguments hold? As the agent would have said when it was recorded. */
bool espy_marks_seen__wants(struct espy_marks_seen *m, const struct espy_rec_mark *rec);
/* How many marks have a name that rule `i` wants, and could not be asked its condition. */
unsigned espy_marks_seen__skipped(const struct espy_marks_seen *m, size_t i);
/* The definition of a MARK record, which is counted; NULL: not defined. */
const struct espy_mark_text *espy_marks_seen__event(struct espy_marks_seen *m, const struct espy_rec_mark *rec);
/* The same of `cnt` events of one definition, from `first` to `last`. */
void espy_marks_seen__events(struct espy_marks_seen *m, const struct espy_rec_mark *first,
			     const struct espy_rec_mark *last, uint64_t cnt);
/* The records of all definitions so far, for a file that must be readable alone. Ends with what fn returns, if not 0.
 */
int espy_marks_seen__each(const struct espy_marks_seen *m, int (*fn)(void *ctx, const struct espy_rec *def), void *ctx);

struct espy_marks_count {
	const struct espy_mark_text *text;
	uint64_t events;
	uint64_t first_ns, last_ns;
};
/* The marks with the most events first; returns how many were filled in, *all how many there are. */
size_t espy_marks_seen__counts(const struct espy_marks_seen *m, struct espy_marks_count *out, size_t max, size_t *all);

#endif
