/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tracepoints by their names, wherever tracefs is mounted, and also if it is mounted nowhere. */
#ifndef ESPY_SOURCE_TRACEFS_H
#define ESPY_SOURCE_TRACEFS_H

#include <stdint.h>

/* Descriptor of the root of tracefs, which the caller closes, or -errno. */
int espy_tracefs__open(void);
/* A perf event of a tracepoint (`syscalls/sys_exit_mmap`), of all tasks, disabled. Returns a descriptor or -errno. */
int espy_tracefs__open_event(int tracefs, const char *tracepoint);

/* The same of the tracepoint with that number (events/SYSTEM/NAME/id). */
int espy_tracepoint__open(uint64_t id);

#endif
