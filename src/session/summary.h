/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of -c and -C: counts, errors and times by call, and its text. */
#ifndef ESPY_SESSION_SUMMARY_H
#define ESPY_SESSION_SUMMARY_H

#include "decode/decode.h"
#include "render/buf.h"
#include "session/session.h"
#include "source/source.h"

struct espy_summary_table;

/* o: columns, order, overhead; must live as long as the table. NULL without memory. */
struct espy_summary_table *espy_summary__new(const struct espy_session_opts *o);
/* One call that has returned. A call that does not return is not counted, as it has no result. */
void espy_summary__call(struct espy_summary_table *t, const struct espy_call_view *v);
/* Counts that a source has made itself, for the ABI of img; nothing if it makes none. */
void espy_summary__source_counts(struct espy_summary_table *t, const struct espy_image *img,
				 const struct espy_source_ops *ops, struct espy_source *src);
/* The tables, one for each ABI that made calls; nothing if none did. */
void espy_summary__print(struct espy_summary_table *t, struct espy_buf *b);
void espy_summary__free(struct espy_summary_table *t);

#endif
