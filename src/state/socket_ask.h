/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions about sockets to the running kernel. */
#ifndef ESPY_STATE_SOCKET_ASK_H
#define ESPY_STATE_SOCKET_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include "record/record.h"

/*
 * Asks the kernel about a socket. proto: the name of its protocol, as the attribute system.sockprotoname has it; tid: a
 * task in the network namespace of the socket. Returns false if the socket is gone, not bound, or of another family.
 * *s then makes a text in which the inode stands for the socket.
 */
bool espy_socket_ask(uint32_t tid, unsigned long ino, const char *proto, struct espy_fact_socket *s);

/* Reads the inode in "socket:[INODE]"; false: another name. */
bool espy_socket_inode(const char *name, unsigned long *ino);

/* Asks for the protocol of the netlink socket named "socket:[INODE]", descriptor fd of tid. false: it is none. */
bool espy_netlink_proto(const char *name, uint32_t tid, int fd, unsigned *proto);

#endif
