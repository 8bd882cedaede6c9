/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What more the running system tells of a descriptor than its name. */
#ifndef ESPY_STATE_FD_DETAIL_H
#define ESPY_STATE_FD_DETAIL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"

/*
 * What -yy knows beyond the name, without the outer brackets: "TCP:[127.0.0.1:80->...]", "/dev/null<char 1:3>". false,
 * and nothing written: the name is all there is. name: target of the /proc/TID/fd link; path: the link itself.
 */
bool espy_fd_detail(struct espy_buf *b, const char *name, const char *path, uint32_t tid);

#endif
