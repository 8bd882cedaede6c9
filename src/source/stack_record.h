/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* STACK records of unwound frames, for the sources that can find them. */
#ifndef ESPY_SOURCE_STACK_RECORD_H
#define ESPY_SOURCE_STACK_RECORD_H

#include "record/record.h"
#include "symbols/unwind.h"

/* As many frames as are wanted (stops.stack_frames), and a record may have. */
size_t espy_stack_record__frames(unsigned wanted);
/*
 * Makes the record, in ESPY_REC_MAX bytes of the caller. rec->rec says of which task, and when; the function fills in the rest.
 * more: the stack has more frames.
 */
void espy_stack_record__make(struct espy_rec_stack *rec, const struct espy_unwound_frame *frames, size_t cnt, bool more);

#endif
