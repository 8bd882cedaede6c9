/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder: the source keeps the newest records in memory, and nothing is read or written until someone asks
 * for it; then what there is becomes a trace.
 */
#ifndef ESPY_SESSION_FLIGHT_H
#define ESPY_SESSION_FLIGHT_H

#include <sys/types.h>
#include "session/control.h"

struct espy_session;

/* Can a trace be written when it is wanted, as far as that can be told now? 0, or -errno that was said. */
int espy_flight__open(struct espy_session *s);

/* Watches until the targets are gone or the session is stopped; writes a trace each time one is wanted, and at the end. */
void espy_flight__run(struct espy_session *s);

/*
 * The other side: the flight recorder of that process number writes a trace; waits until it has. 0: text is its name;
 * -EIO: it could not, text says why; -ESRCH: there is none that would listen.
 */
int espy_flight__ask(pid_t espy, char text[ESPY_CONTROL_TEXT]);

#endif
