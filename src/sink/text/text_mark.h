/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Static marks, and what probes share with them, as text: `app:req_done(id=7, path="/x", took=1.5)`. Names and looks of the arguments come from the
 * mark's format, the values from its record; neither is trusted.
 */
#ifndef ESPY_SINK_TEXT_MARK_H
#define ESPY_SINK_TEXT_MARK_H

#include "record/mark_def.h"
#include "sink/text/text.h"

/* "app:req_done", escaped. */
void espy_mark_text__put_name(struct espy_buf *b, const struct espy_mark_def *t);
/* The same, of a return with the word by which -u names it: for tables. */
void espy_mark_text__put_full_name(struct espy_buf *b, const struct espy_mark_def *t);
/* "id=7, path="/x"" of a MARK or PROBE, without a probe's result. What is not there is shown as `?`. */
void espy_mark_text__put_args(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
			      const struct espy_rec *rec);
/* The result alone, without its name. Nothing if there is none. */
void espy_mark_text__put_result(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
				const struct espy_rec *rec);
/* The number of an argument, as its format says. */
void espy_mark_text__put_number(struct espy_buf *b, const struct espy_mark_arg_def *a, uint64_t num);
/* The whole event of a mark. What its record does not hold is shown as `?`. t NULL: a mark that the stream has not defined. */
void espy_mark_text__put(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_def *t,
			 const struct espy_rec_mark *rec);

#endif
