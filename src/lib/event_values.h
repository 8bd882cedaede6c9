/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The answers that a session keeps for the questions of callbacks. */
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

/* Returns the answers of a session. The first call makes them. NULL: no memory. */
struct espy_event_answers *espy_session__answers(struct espy_session *s);
/* event_text.c. Frees them; NULL: does nothing. */
void espy_session__free_answers(struct espy_event_answers *a);
/* Copies text as snprintf does. Returns its length, cut or not. */
int espy_give_text(char *to, size_t size, const char *from, size_t len);

#endif
