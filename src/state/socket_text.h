/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What -yy says of a socket: "TCP:[127.0.0.1:80->127.0.0.1:4711]", "UNIX-STREAM:[12->13]", "NETLINK:[ROUTE:4711]". */
#ifndef ESPY_STATE_SOCKET_TEXT_H
#define ESPY_STATE_SOCKET_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include "record/record.h"
#include "base/buf.h"

/* The bytes may be anybody's. false, and nothing written: the name is all there is. */
bool espy_socket_text(struct espy_buf *b, const struct espy_fact_socket *s);
/* Will the next that it sends give it an address? */
bool espy_socket_is_unbound(const struct espy_fact_socket *s);

#endif
