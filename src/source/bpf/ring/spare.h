/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A second ring, for records that find no room in the first. The kernel's rings have the size that they are made with; a
 * thread makes the spare one as soon as the first is half full, so a burst that the reader cannot follow is not lost.
 */
#ifndef ESPY_BPF_SPARE_H
#define ESPY_BPF_SPARE_H

#include <stdint.h>

struct bpf_source;
struct bpf_ring;

/* Begins to make it, once that is worth its price. Call it often. */
void bpf_spare__tend(struct bpf_source *s);
/* The ring, or NULL as long as no record can lie in it. Look at the end of the first ring before. */
struct bpf_ring *bpf_spare__ring(const struct bpf_source *s);
/* Bytes of the spare ring; 0: there is none. */
uint64_t bpf_spare__size(const struct bpf_source *s);
/* Waits for the thread and gives everything back. */
void bpf_spare__free(struct bpf_source *s);

#endif
