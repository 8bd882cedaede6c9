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

/* Returns the directories of the sockets, for messages. */
const char *espy_control__where(void);
/* Opens the socket PREFIX.PID of this process. Returns the descriptor or -errno. */
int espy_control__listen(const char *prefix, struct sockaddr_un *addr);
/* Accepts the next process that may ask. Returns its connection, and the request in text; -EAGAIN: no process asks. */
int espy_control__accept(int sock, char text[ESPY_CONTROL_TEXT]);
void espy_control__answer(int fd, const char *text);

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
