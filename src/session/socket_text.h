/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What -yy says of a socket: "TCP:[127.0.0.1:80->127.0.0.1:4711]", "UNIX-STREAM:[12->13]", "NETLINK:[ROUTE:4711]". */
#ifndef ESPY_SESSION_SOCKET_TEXT_H
#define ESPY_SESSION_SOCKET_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include "record/record.h"
#include "render/buf.h"

/* The bytes may be anybody's. false, and nothing written: the name is all there is. */
bool espy_socket_text(struct espy_buf *b, const struct espy_fact_socket *s);
/* Will the next that it sends give it an address? */
bool espy_socket_is_unbound(const struct espy_fact_socket *s);

/*
 * The same, asked of the kernel. proto: the name of its protocol, as the attribute system.sockprotoname has it; tid: a
 * task in whose network namespace it is. false: it is gone, or not bound, or of another family; *s is good for a text
 * in which its inode stands for it.
 */
bool espy_socket_ask(struct espy_fact_socket *s, const char *proto, unsigned long ino, uint32_t tid);

/* "socket:[INODE]"; false: it is no such name. */
bool espy_socket_inode(const char *name, unsigned long *ino);

/* The protocol of the netlink socket named "socket:[INODE]", from /proc/TID/net/netlink; false if it is none. */
bool espy_netlink_proto(const char *name, uint32_t tid, unsigned *proto);

#endif
