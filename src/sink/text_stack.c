/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/text_stack.h"

#include <errno.h>
#include <string.h>
#include "base/align.h"
#include "base/num.h"
#include "base/quote.h"

/* Returns the file of that index, if its path ends in NUL within the record; else NULL. */
static const struct espy_stack_file *file_at(const struct espy_rec_stack *rec, uint32_t index)
{
	const char *end = (const char *)rec + rec->rec.size;
	const char *at = (const char *)(rec + 1) + (size_t)rec->frame_cnt * sizeof(struct espy_stack_frame);

	for (uint32_t i = 0; (size_t)(end - at) >= sizeof(struct espy_stack_file); i++) {
		const struct espy_stack_file *f = (const void *)at;
		const char *path = (const char *)(f + 1);
		const size_t size = espy_pad8(f->path_sz);

		if (!f->path_sz || size > (size_t)(end - path) || path[f->path_sz - 1] || f->build_id_sz > sizeof(f->build_id))
			return NULL;
		if (i == index)
			return f;
		at = path + size;
	}
	return NULL;
}

static bool is_whole(const struct espy_rec_stack *rec)
{
	return rec->rec.size >= sizeof(*rec) && rec->frame_cnt <= ESPY_STACK_FRAMES_MAX && rec->file_cnt <= rec->frame_cnt &&
	       rec->rec.size - sizeof(*rec) >= (size_t)rec->frame_cnt * sizeof(struct espy_stack_frame) &&
	       (!rec->file_cnt || file_at(rec, rec->file_cnt - 1));
}

static void put_frame(struct espy_buf *b, const struct espy_stack_frame *frame, const struct espy_stack_file *file,
		      struct espy_symbolizer *symbols, bool source)
{
	const char *path = (const char *)(file + 1), *name, *source_file;
	struct espy_lines_of *lines =
		symbols ? espy_symbolizer__file(symbols, path, file->build_id, file->build_id_sz) : NULL;
	uint64_t offset = 0;
	unsigned line;

	espy_buf__puts(b, " > ");
	espy_buf__escaped(b, path);
	espy_buf__putc(b, '(');
	name = espy_lines_of__symbol(lines, frame->addr, &offset);
	if (name) {
		espy_buf__escaped(b, name);
		espy_buf__puts(b, "+0x");
		espy_buf__hexdigits(b, offset, 1);
	}
	espy_buf__puts(b, ") [");
	espy_buf__hex(b, frame->addr);
	espy_buf__putc(b, ']');
	if (source && espy_lines_of__at(lines, frame->addr, &source_file, &line)) {
		espy_buf__putc(b, ' ');
		espy_buf__escaped(b, source_file);
		espy_buf__putc(b, ':');
		espy_buf__dec(b, line);
	}
	espy_buf__putc(b, '\n');
}

int espy_text_stack(struct espy_buf *b, const struct espy_rec_stack *rec, struct espy_symbolizer *symbols, bool source)
{
	const struct espy_stack_frame *frames = (const void *)(rec + 1);

	if (!is_whole(rec))
		return -EBADMSG;
	for (uint32_t i = 0; i < rec->frame_cnt; i++) {
		const struct espy_stack_file *file = frames[i].file < rec->file_cnt ? file_at(rec, frames[i].file) : NULL;

		if (file) {
			put_frame(b, &frames[i], file, symbols, source);
		} else {
			espy_buf__puts(b, " > no matching address range\n");
			break; /* the frames behind it were guessed from there */
		}
	}
	if (rec->rec.flags & ESPY_STACK_MORE)
		espy_buf__puts(b, " > too many stack frames\n");
	return 0;
}
