/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drops the messages of libbpf from the calling thread, between begin and end. Failures here are trials, or espy
 * reports them in its own words. libbpf hands its messages to one function for the whole process, which may have
 * another user: messages of other threads go on to the function that was set before.
 */
#ifndef ESPY_SOURCE_QUIET_LIBBPF_H
#define ESPY_SOURCE_QUIET_LIBBPF_H

void espy_quiet_libbpf__begin(void);
void espy_quiet_libbpf__end(void);

#endif
