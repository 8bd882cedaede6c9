/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The details of a descriptor, which the running system tells beside the name. */
#ifndef ESPY_STATE_FD_DETAIL_H
#define ESPY_STATE_FD_DETAIL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

/*
 * Writes the details that -yy shows, without the outer brackets: "TCP:[127.0.0.1:80->...]", "/dev/null<char 1:3>".
 * Returns false, and writes nothing, if the system tells no more than the name. name: target of the /proc/TID/fd link;
 * path: the link itself.
 */
bool espy_fd_detail(struct espy_buf *b, const char *name, const char *path, uint32_t tid);

#endif
