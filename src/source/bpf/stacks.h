/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks (-k): STACK records, of the registers and bytes that the programs have copied in front of each call. */
#ifndef ESPY_BPF_STACKS_H
#define ESPY_BPF_STACKS_H

#include <stddef.h>
#include "record/record.h"

/* Of each stack. Most are shorter, and end behind the environment of the program. */
#define BPF_STACK_BYTES 16384u

struct bpf_source;
struct espy_bpf_stack;
struct bpf_stacks; /* copies whose calls have not come yet, and the files of their processes */

/* Keeps a copy until the call comes that it stands in front of. size: of the foreign record. */
void bpf_stacks__keep(struct bpf_source *s, const struct espy_bpf_stack *rec, size_t size);
/* Returns the STACK record of a call that has ended, valid until the next one; NULL: there is no copy of this stack. */
const struct espy_rec *bpf_stacks__of(struct bpf_source *s, const struct espy_rec *call);
/* A process has another image, or a task has ended. */
void bpf_stacks__forget(struct bpf_source *s, const struct espy_rec *rec);
void bpf_stacks__free(struct bpf_source *s);

#endif
