/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The flight recorder: the source keeps the newest records in memory, and nothing is read or written until someone asks
 * for it; then what there is goes to the engines, and to a new trace.
 */
#ifndef ESPY_LIB_FLIGHT_RECORDER_H
#define ESPY_LIB_FLIGHT_RECORDER_H

struct espy_session;

/* 0, or -errno that was said: a trace could not be written when it is wanted, as far as that can be told now. */
int espy_flight__open(struct espy_session *s);
/* Often: takes a snapshot if one is due. */
void espy_flight__look(struct espy_session *s);
/* The last snapshot, when the targets are gone or the session is stopped. */
void espy_flight__end(struct espy_session *s);
void espy_flight__close(struct espy_session *s);

#endif
