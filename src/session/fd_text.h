/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What stands in angle brackets behind a descriptor with -y and -yy, from the name that /proc gives it. */
#ifndef ESPY_SESSION_FD_TEXT_H
#define ESPY_SESSION_FD_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include "render/buf.h"

/*
 * What -yy knows beyond the name, without the outer brackets: "TCP:[127.0.0.1:80->...]", "/dev/null<char 1:3>". false,
 * and nothing written: the name is all there is. name: target of the /proc/TID/fd link; path: the link itself.
 */
bool espy_fd_detail(struct espy_buf *b, const char *name, const char *path, uint32_t tid);

/* "</etc/passwd>"; detail, if not NULL, in place of the name. */
void espy_fd_text(struct espy_buf *b, const char *name, const struct espy_buf *detail);

#endif
