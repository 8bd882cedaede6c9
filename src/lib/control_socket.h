/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How one espy is reached by another: a socket in a directory of its user, that nobody else can put anything into. One
 * request a connection, one answer.
 */
#ifndef ESPY_LIB_CONTROL_SOCKET_H
#define ESPY_LIB_CONTROL_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#define ESPY_CONTROL_TEXT 4200 /* of a request, of an answer: a path fits */

/* For messages: where the sockets are. */
const char *espy_control__where(void);
/* A socket PREFIX.PID of this process; -errno. */
int espy_control__listen(const char *prefix, struct sockaddr_un *addr);
/* The next one who asks and may: its connection, and the request in text; -EAGAIN: nobody. */
int espy_control__accept(int sock, char text[ESPY_CONTROL_TEXT]);
void espy_control__answer(int fd, const char *text);

/*
 * The other side: calls fn for each socket of that prefix in the directory of this user; other users' are left alone, by root
 * as well: their owner decides what answers there.
 */
void espy_control__each(const char *prefix, void (*fn)(void *ctx, const char *dir, const char *file, pid_t espy),
			void *ctx);
/* Asks a process of this user or of root. Returns 0 and the answer, or -errno. wait_ms 0: ten minutes. */
int espy_control__ask(const char *dir, const char *file, unsigned wait_ms, const char *request,
		      char answer[ESPY_CONTROL_TEXT]);

#endif
