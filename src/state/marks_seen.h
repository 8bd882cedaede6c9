/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The marks and probes of one stream: the definitions that it brought, and how many events each had. */
#ifndef ESPY_STATE_MARKS_SEEN_H
#define ESPY_STATE_MARKS_SEEN_H

#include "record/mark_def.h"
#include "record/record.h"

struct espy_marks_seen; /* of one stream */

struct espy_marks_seen *espy_marks_seen__new(void); /* NULL: no memory */
void espy_marks_seen__free(struct espy_marks_seen *m);
/* A MARK_DEF or PROBE_DEF record. -EBADMSG, -ENOMEM, -ENOSPC; a definition that comes twice replaces the former. */
int espy_marks_seen__define(struct espy_marks_seen *m, const struct espy_rec *rec);
/* The definition that a record at time_ns is of, which is counted; NULL: not defined. */
const struct espy_mark_def *espy_marks_seen__event(struct espy_marks_seen *m, uint32_t def, uint64_t time_ns);
/* The same of `cnt` events of one definition, from `first` to `last`. */
void espy_marks_seen__events(struct espy_marks_seen *m, const struct espy_rec_mark *first,
			     const struct espy_rec_mark *last, uint64_t cnt);
/* The records of all definitions so far, for a file that must be readable alone. Ends with what fn returns, if not 0.
 */
int espy_marks_seen__each(const struct espy_marks_seen *m, int (*fn)(void *ctx, const struct espy_rec *def), void *ctx);

struct espy_marks_count {
	const struct espy_mark_def *text;
	uint64_t events;
	uint64_t first_ns, last_ns;
};
/* The marks with the most events first; returns how many were filled in, *all how many there are, *probes: of them probes. */
size_t espy_marks_seen__counts(const struct espy_marks_seen *m, struct espy_marks_count *out, size_t max, size_t *all, size_t *probes);

#endif
