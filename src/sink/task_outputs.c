/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/task_outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sink/colors.h"
#include "sink/line_output.h"
#include "state/state.h"

static struct espy_task_output *find(const struct espy_task_outputs *t, uint32_t tid)
{
	struct espy_task_output *f = NULL;

	HASH_FIND_INT(t->files, &tid, f);
	return f;
}

struct espy_output *espy_task_outputs__find(const struct espy_task_outputs *t, uint32_t tid)
{
	const struct espy_task_output *f = find(t, tid);

	return f ? f->out : NULL;
}

static void drop(struct espy_task_outputs *t, struct espy_task_output *f)
{
	if (f->out)
		espy_sink__fail(t->sink, espy_line_output__close(f->out));
	HASH_DEL(t->files, f);
	espy_budget__give(espy_state__budget(t->stream->state), sizeof(*f));
	free(f);
}

static struct espy_task_output *add(struct espy_task_outputs *t, uint32_t tid)
{
	struct espy_task_output *f = espy_budget__alloc(espy_state__budget(t->stream->state), sizeof(*f));

	if (!f)
		return NULL;
	f->tid = tid;
	HASH_ADD_INT(t->files, tid, f);
	return f;
}

struct espy_output *espy_task_outputs__get(struct espy_task_outputs *t, uint32_t tid)
{
	struct espy_task_output *f = find(t, tid);
	char *name;

	if (f)
		return f->out;
	f = add(t, tid);
	if (!f || asprintf(&name, "%s.%u", t->base->per_task, tid) < 0)
		return NULL;
	const int err = espy_line_output__open(&f->out, name, t->base->append);

	if (err) {
		/* The lines of this task have no output: as with a full disk, the session ends. */
		if (!t->sink->error)
			espy_log__say(t->stream->log, ESPY_LOG_ERROR, ESPY_TOPIC_GENERAL, "Can't fopen '%s': %s", name,
				      strerror(-err));
		espy_sink__fail(t->sink, err);
		f->out = NULL;
	} else {
		f->out->whole_lines = t->base->whole_lines;
		f->out->colors = espy_colors__copy(t->base->colors);
	}
	free(name);
	return f->out;
}

void espy_task_outputs__close(struct espy_task_outputs *t, uint32_t tid)
{
	struct espy_task_output *f = find(t, tid);

	if (f)
		drop(t, f);
}

void espy_task_outputs__flush(struct espy_task_outputs *t)
{
	for (struct espy_task_output *f = t->files; f; f = f->hh.next)
		if (f->out)
			espy_sink__fail(t->sink, espy_line_output__flush(f->out));
}

void espy_task_outputs__free(struct espy_task_outputs *t)
{
	struct espy_task_output *f, *next;

	HASH_ITER(hh, t->files, f, next)
	drop(t, f);
}
