/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Questions about sockets to the running kernel. */
#ifndef ESPY_STATE_SOCKET_ASK_H
#define ESPY_STATE_SOCKET_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include "record/record.h"

/*
 * Asks the kernel what socket it is. proto: the name of its protocol, as the attribute system.sockprotoname has it; tid: a
 * task in whose network namespace it is. false: it is gone, or not bound, or of another family; *s is good for a text
 * in which its inode stands for it.
 */
bool espy_socket_ask(struct espy_fact_socket *s, const char *proto, unsigned long ino, uint32_t tid);

/* "socket:[INODE]"; false: it is no such name. */
bool espy_socket_inode(const char *name, unsigned long *ino);

/* The protocol of the netlink socket named "socket:[INODE]", which is descriptor fd of tid; false if it is none. */
bool espy_netlink_proto(const char *name, uint32_t tid, int fd, unsigned *proto);

#endif
