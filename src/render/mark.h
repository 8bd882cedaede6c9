/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Static marks as text: `app:req_done(id=7, path="/x", took=1.5)`. Names and looks of the arguments come from the
 * mark's format, the values from its record; neither is trusted.
 */
#ifndef ESPY_RENDER_MARK_H
#define ESPY_RENDER_MARK_H

#include "record/record.h"
#include "render/text.h"

struct espy_mark_text; /* a definition, ready to be shown */

/* -EBADMSG: the record is not what it should be. */
int espy_mark_text__make(struct espy_mark_text **out, const struct espy_rec_mark_def *def);
void espy_mark_text__free(struct espy_mark_text *t);
const char *espy_mark_text__provider(const struct espy_mark_text *t);
const char *espy_mark_text__name(const struct espy_mark_text *t);
const char *espy_mark_text__format(const struct espy_mark_text *t);
/* "app:req_done", escaped. */
void espy_mark_text__put_name(struct espy_buf *b, const struct espy_mark_text *t);
/* The whole event. What its record does not hold is shown as `?`. t NULL: a mark that the stream has not defined. */
void espy_mark_text__put(struct espy_buf *b, const struct espy_text_opts *o, const struct espy_mark_text *t,
			 const struct espy_rec_mark *rec);

#endif
