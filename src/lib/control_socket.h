/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The socket by which one espy reaches another. It lies in a directory of its user, into which no other user can put a
 * file. A connection has one request and one answer.
 */
#ifndef ESPY_LIB_CONTROL_SOCKET_H
#define ESPY_LIB_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#define ESPY_CONTROL_TEXT 4200 /* of a request, of an answer: a path fits */

struct espy_session;
struct espy_control {
	int sock; /* listens, and does not block */
	struct sockaddr_un addr;
};

/* Opens the socket PREFIX.PID of this process, for `espy COMMAND`. NULL: that failed, which the session has said. */
struct espy_control *espy_control__listen(struct espy_session *s, const char *prefix, const char *command);
/*
 * Accepts the next process that may ask. Returns its connection, and the request in text; -EAGAIN: no process asks, or
 * c is NULL.
 */
int espy_control__accept(const struct espy_control *c, char text[ESPY_CONTROL_TEXT]);
/* Answers and ends the connection. */
void espy_control__answer(int fd, const char *text);
/* NULL is let be. */
void espy_control__close(struct espy_control *c);

/*
 * Calls fn for each socket of that prefix in the directory of this user, to ask there. Not even root looks into the
 * directories of other users, because their owner decides which program answers there.
 */
void espy_control__each(const char *prefix, void (*fn)(void *ctx, const char *dir, const char *file, pid_t espy),
			void *ctx);
/* Asks a process of this user or of root. Returns 0 and the answer, or -errno. wait_ms 0: ten minutes. */
int espy_control__ask(const char *dir, const char *file, unsigned wait_ms, const char *request,
		      char answer[ESPY_CONTROL_TEXT]);

#endif
