/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks that are held: because they outrun the reader, or as a trigger asks (pause_on). A task that is held by a trigger runs on
 * by espy_resume, or by `espy resume`, which reaches this process through a socket in a directory of its user.
 */
#ifndef ESPY_LIB_HELD_TASKS_H
#define ESPY_LIB_HELD_TASKS_H

#include <stdint.h>
#include "source/source.h"

struct espy_session;
struct espy_resume_socket;

/*
 * Makes triggers of what the user gave as text; their calls are captured, whether an engine wants them or not. 0, or -errno with
 * all said.
 */
int espy_hold__triggers(struct espy_session *s);
/* What ESPY_OVERRUN_AUTO comes to: nobody is held who may be the one that takes our output. */
enum espy_lossless espy_hold__lossless(const struct espy_session *s);
/* How long a task is held at most because it outruns the reader. */
uint64_t espy_hold__longest_ns(const struct espy_session *s);
/* Holding a task is never kept secret: what there was of it, at the end. */
void espy_hold__tell_pauses(struct espy_session *s, const struct espy_source_stats *st);

/* Made when there is something to hold. It is best effort: without a socket espy_resume is left. */
int espy_resume_socket__open(struct espy_resume_socket **out, struct espy_session *s);
/* Often: tasks that were asked for are let go. */
void espy_resume_socket__serve(struct espy_resume_socket *h);
void espy_resume_socket__close(struct espy_resume_socket *h);

#endif
