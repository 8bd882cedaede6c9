/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks (-k): a STACK record for each call, made while the task stands in the stop of its call. */
#include "ptrace_source.h"

#include <stdlib.h>
#include <string.h>
#include "base/align.h"
#include "symbols/unwind.h"

/* Of one stack: each file once. */
struct files {
	const struct espy_unwound_frame *of[ESPY_STACK_FRAMES_MAX];
	uint32_t cnt;
};

static uint32_t file_index(struct files *files, const struct espy_unwound_frame *f)
{
	if (!f->path)
		return ESPY_STACK_NO_FILE;
	for (uint32_t i = 0; i < files->cnt; i++)
		if (!strcmp(files->of[i]->path, f->path))
			return i;
	files->of[files->cnt] = f;
	return files->cnt++;
}

/* Appends a file; false: there is no room for it in a record. */
static bool put_file(struct espy_rec_stack *rec, const struct espy_unwound_frame *f)
{
	const size_t path_sz = strlen(f->path) + 1, size = espy_pad8(sizeof(struct espy_stack_file) + path_sz);
	struct espy_stack_file *to = (void *)((char *)rec + rec->rec.size);

	if (path_sz > UINT16_MAX || rec->rec.size + size > ESPY_REC_MAX)
		return false;
	memset(to, 0, size);
	to->path_sz = (uint16_t)path_sz;
	to->build_id_sz = f->build_id_sz;
	memcpy(to->build_id, f->build_id, f->build_id_sz);
	memcpy(to + 1, f->path, path_sz);
	rec->rec.size += (uint32_t)size;
	return true;
}

/* Makes the record in the scratch buffer. Returns NULL if no stack is to be had. */
static const struct espy_rec *make_stack(struct espy_ptrace *p, struct espy_ptask *t)
{
	struct espy_rec_stack *rec = (void *)p->scratch;
	struct espy_stack_frame *frames = (void *)(rec + 1);
	const size_t max =
		p->opts.stops.stack_frames < ESPY_STACK_FRAMES_MAX ? p->opts.stops.stack_frames : ESPY_STACK_FRAMES_MAX;
	struct espy_unwound_frame *unwound;
	struct files files = { .cnt = 0 };
	bool more;

	if (!p->unwinder)
		p->unwinder = espy_unwinder__new();
	unwound = calloc(max, sizeof(*unwound));
	if (!p->unwinder || !unwound) {
		free(unwound);
		return NULL;
	}
	const size_t cnt = espy_unwinder__frames(p->unwinder, t->tgid, t->tid, unwound, max, &more);

	*rec = (struct espy_rec_stack){
		.rec = { .size = (uint32_t)(sizeof(*rec) + cnt * sizeof(*frames)),
			 .type = ESPY_REC_STACK,
			 .flags = more ? ESPY_STACK_MORE : 0,
			 .tid = (uint32_t)t->tid,
			 .tgid = (uint32_t)t->tgid,
			 .time_ns = p->now_ns },
		.frame_cnt = (uint32_t)cnt,
	};
	for (size_t i = 0; i < cnt; i++)
		frames[i] = (struct espy_stack_frame){ .addr = unwound[i].addr, .file = file_index(&files, &unwound[i]) };
	while (rec->file_cnt < files.cnt && put_file(rec, files.of[rec->file_cnt]))
		rec->file_cnt++;
	free(unwound);
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
