/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* STACK records of unwound frames, for the sources that can read stacks. */
#ifndef ESPY_SOURCE_STACK_RECORD_H
#define ESPY_SOURCE_STACK_RECORD_H

#include <sys/types.h>
#include "record/record.h"
#include "symbols/unwind.h"

struct espy_stacks; /* the mappings of the processes whose stacks were read, and one record */

/*
 * wanted: frames of each stack (stops.stack_frames); a record has ESPY_STACK_FRAMES_MAX at most. maps: as of the
 * unwinder. Returns NULL without memory.
 */
struct espy_stacks *espy_stacks__new(unsigned wanted, const struct espy_unwinder_maps *maps);
/* stacks: NULL is allowed. */
void espy_stacks__free(struct espy_stacks *stacks);
/*
 * Returns the record of a task's stack, valid until the next one. copy: of the registers and the bytes of the stack;
 * NULL: the task stands in a stop of ptrace, and they are read from it.
 */
const struct espy_rec *espy_stacks__make(struct espy_stacks *stacks, pid_t tgid, pid_t tid,
					 const struct espy_stack_copy *copy, uint64_t time_ns);
/* The process has another image, or has ended. */
void espy_stacks__forget(struct espy_stacks *stacks, pid_t tgid);

#endif
