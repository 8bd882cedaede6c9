/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The functions that a task is in, for --functions: which of them have a line, and which wait for one until they have taken long enough, or
 * until something happens in them that is shown.
 */
#ifndef ESPY_SINK_TEXT_FUNCTIONS_H
#define ESPY_SINK_TEXT_FUNCTIONS_H

#include "sink/text_lines.h"

struct espy_budget;
struct espy_text_functions;

/* Is the event a function's beginning or return? */
bool espy_text_functions__is(const struct espy_event *e);
/* NULL without memory. */
struct espy_text_functions *espy_text_functions__new(struct espy_budget *budget);
/* NULL is let be. */
void espy_text_functions__free(struct espy_text_functions *f, struct espy_budget *budget);
/* The task executes another program: it is in none of them. */
void espy_text_functions__forget(struct espy_text_functions *f);
/* Another line of the task comes: those that wait get their lines, and t->depth what the line is to have. f may be NULL. */
void espy_text_functions__show(struct espy_text_functions *f, struct espy_lines *l, struct espy_line_task *t);
/* A beginning or a return. f may be NULL: the task was in no function. */
void espy_text_functions__event(struct espy_text_functions *f, struct espy_lines *l, struct espy_line_task *t, const struct espy_event *e);

#endif
