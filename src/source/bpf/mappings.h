/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that processes map for execution, and where, from the kernel's own events: a short program has ended before /proc/PID/maps can be
 * read. All processes of the system are followed, because it shows late which of them is watched.
 */
#ifndef ESPY_BPF_MAPPINGS_H
#define ESPY_BPF_MAPPINGS_H

#include <stdint.h>
#include <sys/types.h>

struct bpf_mappings;

/* Begins to listen. Returns NULL if the kernel gives no such events, or without memory. */
struct bpf_mappings *bpf_mappings__open(void);
/* m: NULL is allowed, here as below. */
void bpf_mappings__free(struct bpf_mappings *m);
/* Takes in all events up to that moment of CLOCK_MONOTONIC. */
void bpf_mappings__until(struct bpf_mappings *m, uint64_t time_ns);
/* Returns a number that changes with each mapping of the process. 0: it was not heard from its exec on. */
uint32_t bpf_mappings__version(struct bpf_mappings *m, pid_t tgid);
/* Returns the mappings in the form of /proc/PID/maps, each with all of its file; free() it. NULL: as above, or without memory. */
char *bpf_mappings__text(struct bpf_mappings *m, pid_t tgid);

#endif
