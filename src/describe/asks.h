/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the text of a call depends on besides its captured bytes, from the types of its parameters. */
#ifndef ESPY_DESCRIBE_ASKS_H
#define ESPY_DESCRIBE_ASKS_H

#include <stdbool.h>
#include "describe/image.h"

/* A set of these: */
enum {
	ESPY_ASKS_FD = 1,      /* what a descriptor is */
	ESPY_ASKS_PID = 2,     /* what a task is called */
	ESPY_ASKS_NUMBERED = 4, /* what a network interface or a family of generic netlink is called */
	ESPY_ASKS_NETLINK = 8, /* whether argument 0 is a netlink socket, and of which protocol: messages are decoded by it */
};

/* What the value of an integer type asks by itself. */
unsigned espy_image__asks_of_integer(const struct espy_type *t);
/* What is asked anywhere in a type. seen: img->type_cnt bytes, which the function overwrites. */
unsigned espy_image__asks_of_type(const struct espy_image *img, uint32_t type, uint8_t *seen);
/* The arguments of a call that are descriptors, as a bit set. */
unsigned espy_image__fd_args(const struct espy_image *img, const struct espy_call *c);
/* Do the messages that a call sends or receives depend on ESPY_ASKS_NETLINK? seen: as above. */
bool espy_image__asks_netlink(const struct espy_image *img, const struct espy_call *c, uint8_t *seen);

#endif
