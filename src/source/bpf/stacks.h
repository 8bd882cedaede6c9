/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks (-k): STACK records, of the registers and bytes that the programs have copied in front of each call and
 * each hit. */
#ifndef ESPY_BPF_STACKS_H
#define ESPY_BPF_STACKS_H

#include <stddef.h>
#include "record/record.h"

struct bpf_source;
struct espy_bpf_stack;
struct bpf_stacks; /* copies whose calls have not come yet, and the files of their processes */

/* Begins to listen for what processes map, if stacks are wanted. Returns 0 or -errno. */
int bpf_stacks__begin(struct bpf_source *s);
/* Keeps a copy until the call or the hit comes that it stands in front of. size: of the foreign record. */
void bpf_stacks__keep(struct bpf_source *s, const struct espy_bpf_stack *rec, size_t size);
/* Returns the STACK record of a call that has ended, or of a hit, valid until the next one; NULL: there is no copy of
 * this stack. */
const struct espy_rec *bpf_stacks__of(struct bpf_source *s, const struct espy_rec *rec);
/* A process has another image, or a task has ended. */
void bpf_stacks__forget(struct bpf_source *s, const struct espy_rec *rec);
/* Takes in what was mapped long ago, so that there is room for more: the ring of records was read to its end. */
void bpf_stacks__tend(struct bpf_source *s);
void bpf_stacks__free(struct bpf_source *s);

#endif
