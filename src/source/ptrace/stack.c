/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks (-k): a STACK record for each call, made while the task stands in the stop of its call. */
#include "ptrace_source.h"

#include <stdlib.h>
#include <string.h>
#include "source/stack_record.h"

/* Returns NULL if no stack is wanted, or without memory. */
static const struct espy_rec *make_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	if (!p->opts.stops.stack_frames)
		return NULL;
	if (!p->stacks)
		p->stacks = espy_stacks__new(p->opts.stops.stack_frames, NULL);
	return p->stacks ? espy_stacks__make(p->stacks, t->tgid, t->tid, NULL, p->now_ns) : NULL;
}

void espy_ptrace__emit_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	const struct espy_rec *rec = make_stack(p, t);

	if (rec)
		espy_ptrace__emit(p, rec);
}

void espy_ptrace__keep_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	const struct espy_rec *rec = make_stack(p, t);

	free(t->last_stack);
	t->last_stack = rec ? malloc(rec->size) : NULL;
	if (t->last_stack)
		memcpy(t->last_stack, rec, rec->size);
}

void espy_ptrace__forget_stacks(struct espy_ptrace *p, pid_t tgid)
{
	if (p->stacks)
		espy_stacks__forget(p->stacks, tgid);
}
