/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text of -yy for a socket: "TCP:[127.0.0.1:80->127.0.0.1:4711]", "UNIX-STREAM:[12->13]", "NETLINK:[ROUTE:4711]". */
#ifndef ESPY_STATE_SOCKET_TEXT_H
#define ESPY_STATE_SOCKET_TEXT_H

#include <stdbool.h>
#include "record/record.h"
#include "base/buf.h"

/* Writes the text. The bytes may be anybody's. Returns false, and writes nothing, if they tell no more than the name. */
bool espy_socket_text(struct espy_buf *b, const struct espy_fact_socket *s);
/* Tells whether the next message that the socket sends gives it an address. */
bool espy_socket_is_unbound(const struct espy_fact_socket *s);

#endif
