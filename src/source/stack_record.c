/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/stack_record.h"

#include <stdlib.h>
#include <string.h>
#include "base/align.h"

struct espy_stacks {
	struct espy_unwinder *unwinder;
	struct espy_unwound_frame *frames;
	size_t max;
	uint64_t record[ESPY_REC_MAX / sizeof(uint64_t)];
};

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
		if (files->of[i]->path == f->path || !strcmp(files->of[i]->path, f->path))
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

/* Fills in the record whose head says of which task it is, and when. more: the stack has more frames. */
static void fill(struct espy_rec_stack *rec, const struct espy_unwound_frame *frames, size_t cnt, bool more)
{
	struct espy_stack_frame *to = (void *)(rec + 1);
	struct files files = { .cnt = 0 };

	rec->rec.size = (uint32_t)(sizeof(*rec) + cnt * sizeof(*to));
	rec->rec.type = ESPY_REC_STACK;
	rec->rec.flags = more ? ESPY_STACK_MORE : 0;
	rec->frame_cnt = (uint32_t)cnt;
	rec->file_cnt = 0;
	for (size_t i = 0; i < cnt; i++)
		to[i] = (struct espy_stack_frame){ .addr = frames[i].addr, .file = file_index(&files, &frames[i]) };
	while (rec->file_cnt < files.cnt && put_file(rec, files.of[rec->file_cnt]))
		rec->file_cnt++;
}

struct espy_stacks *espy_stacks__new(unsigned wanted, const struct espy_unwinder_maps *maps)
{
	struct espy_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->max = wanted < ESPY_STACK_FRAMES_MAX ? wanted : ESPY_STACK_FRAMES_MAX;
	s->unwinder = espy_unwinder__new(maps);
	s->frames = calloc(s->max, sizeof(*s->frames));
	if (s->unwinder && s->frames)
		return s;
	espy_stacks__free(s);
	return NULL;
}

void espy_stacks__free(struct espy_stacks *s)
{
	if (!s)
		return;
	espy_unwinder__free(s->unwinder);
	free(s->frames);
	free(s);
}

const struct espy_rec *espy_stacks__make(struct espy_stacks *s, pid_t tgid, pid_t tid,
					 const struct espy_stack_copy *copy, uint64_t time_ns)
{
	struct espy_rec_stack *rec = (void *)s->record;
	bool more;
	const size_t cnt = copy ? espy_unwinder__frames_of_copy(s->unwinder, tgid, tid, copy, s->frames, s->max, &more)
				: espy_unwinder__frames(s->unwinder, tgid, tid, s->frames, s->max, &more);

	rec->rec = (struct espy_rec){ .tid = (uint32_t)tid, .tgid = (uint32_t)tgid, .time_ns = time_ns };
	fill(rec, s->frames, cnt, more);
	return &rec->rec;
}

void espy_stacks__forget(struct espy_stacks *s, pid_t tgid)
{
	espy_unwinder__forget(s->unwinder, tgid);
}
