/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the tally share. */
#ifndef ESPY_SINK_TALLY_IMPL_H
#define ESPY_SINK_TALLY_IMPL_H

#include <uthash.h>
#include "filter/tally_expr.h"
#include "sink/line_output.h"

/* A value that came. */
struct espy_tally_row {
	UT_hash_handle hh;
	uint64_t count;
	char *shown; /* a text, or JSON; not ended by NUL */
	size_t shown_len;
	char key[]; /* its bytes, behind what says how they are shown */
};

/* Numbers by powers of two: 0; 1; 2 and 3; 4 to 7; ... and the same below 0. */
#define ESPY_TALLY_BUCKETS 65
struct espy_tally_hist {
	uint64_t at[ESPY_TALLY_BUCKETS],
		below[ESPY_TALLY_BUCKETS]; /* by the number of bits of the value without its sign */
	uint64_t failed;		   /* results of calls that failed */
	bool times;
};

struct espy_tally_one {
	struct espy_tally_expr *expr;
	bool is_hist;
	uint64_t missing; /* events that count, and whose value could not be read */
	struct espy_tally_row *rows;
	uint64_t other; /* of values for which there was no room */
	struct espy_tally_hist hist;
	/* Of the event at work: what it will count for. */
	uint64_t *place;
};

/* A value as its row shows it: as text, or as a value of JSON. */
void espy_tally_put_value(struct espy_buf *b, const struct espy_tally_value *v, bool json);
/* The tables. top: so many rows of a count. */
void espy_tally_print(struct espy_tally_one *t, unsigned top, bool json, struct espy_output *out);

#endif
