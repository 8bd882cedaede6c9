/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks (-k): a STACK record for each call, made while the task stands in the stop of its call. */
#include "ptrace_source.h"

#include <stdlib.h>
#include <string.h>
#include "source/stack_record.h"
#include "symbols/unwind.h"

/* Makes the record in the scratch buffer. Returns NULL if no stack is to be had. */
static const struct espy_rec *make_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	const size_t max = espy_stack_record__frames(p->opts.stops.stack_frames);
	struct espy_unwound_frame *frames;
	bool more;

	if (!p->unwinder)
		p->unwinder = espy_unwinder__new();
	frames = calloc(max, sizeof(*frames));
	if (!p->unwinder || !frames) {
		free(frames);
		return NULL;
	}
	const size_t cnt = espy_unwinder__frames(p->unwinder, t->tgid, t->tid, frames, max, &more);
	struct espy_rec_stack *rec = (void *)p->scratch;

	rec->rec = (struct espy_rec){ .tid = (uint32_t)t->tid, .tgid = (uint32_t)t->tgid, .time_ns = p->now_ns };
	espy_stack_record__make(rec, frames, cnt, more);
	free(frames);
	return &rec->rec;
}

void espy_ptrace__emit_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	const struct espy_rec *rec = p->opts.stops.stack_frames ? make_stack(p, t) : NULL;

	if (rec)
		espy_ptrace__emit(p, rec);
}

void espy_ptrace__keep_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	const struct espy_rec *rec = p->opts.stops.stack_frames ? make_stack(p, t) : NULL;

	free(t->last_stack);
	t->last_stack = rec ? malloc(rec->size) : NULL;
	if (t->last_stack)
		memcpy(t->last_stack, rec, rec->size);
}

void espy_ptrace__forget_stacks(struct espy_ptrace *p, pid_t tgid)
{
	if (p->unwinder)
		espy_unwinder__forget(p->unwinder, tgid);
}
