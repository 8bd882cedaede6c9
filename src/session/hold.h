/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pauses by hand (--pause-on): tells of each task that the source holds, and lets it run on at Enter on the terminal or at
 * `espy resume`, which reaches this espy through a socket in a directory of its user.
 */
#ifndef ESPY_SESSION_HOLD_H
#define ESPY_SESSION_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "source/source.h"

struct espy_session;
struct espy_hold;

/*
 * Makes triggers of what the user gave as text; their calls are captured, whether they are shown or not. 0, or -errno with
 * all said.
 */
int espy_hold__triggers(struct espy_session *s);
/* What --lossless=auto comes to: nobody is held who may be the one that takes our output. */
enum espy_lossless espy_hold__lossless(const struct espy_session *s);
/* Holding a task is never kept secret: what there was of it, at the end. */
void espy_hold__tell_pauses(struct espy_session *s, const struct espy_source_stats *st);

/* Made when there is something to hold. The socket is best effort: without it Enter and the end of espy are left. */
int espy_hold__open(struct espy_hold **out, struct espy_session *s);
/* Often: who is newly held is told, who was asked for is let go. */
void espy_hold__look(struct espy_hold *h);
void espy_hold__close(struct espy_hold *h);

/* The other side. What an espy answered. */
struct espy_hold_answer {
	pid_t espy;
	unsigned resumed; /* tasks */
};
/*
 * Asks every espy of this user (of root: every one), or only `by` if that is not 0, to let a task or the tasks of a
 * process run on. Fills answers[0..n) of those that held some; returns how many did.
 */
size_t espy_hold__ask(pid_t pid, pid_t by, struct espy_hold_answer *answers, size_t n);

#endif
