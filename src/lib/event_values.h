/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is kept for the questions that callbacks ask of events. */
#ifndef ESPY_LIB_EVENT_VALUES_H
#define ESPY_LIB_EVENT_VALUES_H

#include "event/decoder.h"
#include "sink/text_lines.h"

struct espy_event_answers {
	struct espy_decoder signals; /* the siginfo of the event with this serial */
	uint64_t signal_serial;
	struct espy_output *line; /* the text of an event is made here, and never written */
	struct espy_lines lines;
	struct espy_text_options text;
};

/* Those of a session, made when they are needed first. NULL: no memory. */
struct espy_event_answers *espy_session__answers(struct espy_session *s);
/* event_text.c. NULL is let be. */
void espy_session__free_answers(struct espy_event_answers *a);

#endif
