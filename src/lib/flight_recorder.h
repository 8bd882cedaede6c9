/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder: the source keeps the newest records in memory. The session reads and writes none of them before
 * a snapshot is asked for. Then all of them go to the engines, and to a new trace.
 */
#ifndef ESPY_LIB_FLIGHT_RECORDER_H
#define ESPY_LIB_FLIGHT_RECORDER_H

struct espy_session;

/* Looks whether a trace can be written later. 0, or -errno, said. */
int espy_flight__open(struct espy_session *s);
/* Takes a snapshot if one is due. The session calls this often. */
void espy_flight__look(struct espy_session *s);
/* Takes the last snapshot, when the targets are gone or the session is stopped. */
void espy_flight__end(struct espy_session *s);
void espy_flight__close(struct espy_session *s);

#endif
