/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Held tasks: they outrun the reader, or a trigger asks for it (pause_on). espy_resume lets a task run on that a trigger
 * holds. So does `espy resume`, which reaches this process through a socket in a directory of its user.
 */
#ifndef ESPY_LIB_HELD_TASKS_H
#define ESPY_LIB_HELD_TASKS_H

#include <stdint.h>
#include "source/source.h"

struct espy_session;

/*
 * Makes triggers of the user's texts. The session captures their calls, whether an engine wants them or not. 0, or
 * -errno, said.
 */
int espy_hold__triggers(struct espy_session *s);
/* Returns the mode that is meant by ESPY_OVERRUN_AUTO. It never holds a task that may be the reader of our output. */
enum espy_lossless espy_hold__lossless(const struct espy_session *s);
/* Returns the longest time for which a task is held because it outruns the reader. */
uint64_t espy_hold__longest_ns(const struct espy_session *s);
/* Says at the end how many tasks were held, and for how long. */
void espy_hold__tell_pauses(struct espy_session *s, const struct espy_source_stats *st);

/* Opens the socket when there is something to hold. If that fails, espy_resume still works. */
void espy_resume__open(struct espy_session *s);
/* Lets go of the tasks that were asked for. The session calls this often. */
void espy_resume__serve(struct espy_session *s);

#endif
