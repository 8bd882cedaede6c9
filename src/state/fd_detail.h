/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The details of a descriptor, which the running system tells beside the name. */
#ifndef ESPY_STATE_FD_DETAIL_H
#define ESPY_STATE_FD_DETAIL_H

#include <stdbool.h>
#include <stdint.h>
#include "base/buf.h"
#include "record/record.h"

/*
 * Writes the details that -yy shows, without the outer brackets: "TCP:[127.0.0.1:80->...]", "/dev/null<char 1:3>".
 * Returns false, and writes nothing, if the system tells no more than the name. name: target of the /proc/TID/fd link;
 * path: the link itself.
 */
bool espy_fd_detail(struct espy_buf *b, const char *name, const char *path, uint32_t tid);
/* The details of an eventfd and of a signalfd (signal 1 is bit 0), as a source tells them. */
void espy_eventfd_text(struct espy_buf *b, const struct espy_fact_eventfd *e);
void espy_signalfd_text(struct espy_buf *b, uint64_t signals);

#endif
