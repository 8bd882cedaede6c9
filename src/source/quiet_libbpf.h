/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libbpf writes what fails to the function that the process has set for it, or to the terminal. What fails here is tried on purpose, or
 * is reported in other words. libbpf has one such function for the whole process, which may have another user: between begin and end,
 * the messages of the calling thread are dropped, and those of all others go where they went before.
 */
#ifndef ESPY_SOURCE_QUIET_LIBBPF_H
#define ESPY_SOURCE_QUIET_LIBBPF_H

void espy_quiet_libbpf__begin(void);
void espy_quiet_libbpf__end(void);

#endif
