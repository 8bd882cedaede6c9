/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Goes from section to section, and past damage. */
#include "trace/reader_impl.h"

#include <stdlib.h>
#include <string.h>
#include "trace/crc32c.h"

void espy_reader__damage(struct espy_trace_reader *r, uint64_t offset, uint64_t skipped, const char *what)
{
	const struct espy_trace_damage d = { .offset = offset, .skipped = skipped, .what = what, .file = r->file_name };

	r->stats.damaged++;
	if (r->o.damage)
		r->o.damage(r->o.damage_ctx, &d);
}

int espy_reader__find_head(struct espy_trace_reader *r, uint64_t from, bool any_file, uint64_t *offset)
{
	const uint64_t pattern[2] = { ESPY_SECTION_MARK, r->file_id };
	const size_t pattern_sz = any_file ? sizeof(pattern[0]) : sizeof(pattern);
	struct espy_section_head head;

	for (;;) {
		const uint8_t *bytes, *found;
		const ssize_t n = espy_input__at(&r->in, from, 64 << 10, &bytes);

		if (n < 0)
			return (int)n;
		if (n < (ssize_t)sizeof(head))
			return 0;
		const size_t size = (size_t)n;

		for (size_t at = 0; (found = memmem(bytes + at, size - at, pattern, pattern_sz)); at++) {
			at = (size_t)(found - bytes);
			if (size - at < sizeof(head))
				break;
			memcpy(&head, found, sizeof(head));
			if (!espy_section_codec__check_head(&head, any_file ? head.file_id : r->file_id)) {
				*offset = from + at;
				return 1;
			}
		}
		/* a head may begin in these bytes and end beyond */
		from += size - sizeof(head) + 1;
	}
}

/* The contents of the file at an offset. */
enum look { LOOK_WHOLE, LOOK_END, LOOK_BAD, LOOK_CUT, LOOK_ERROR };

struct seen {
	struct espy_section_head head;
	const uint8_t *stored;
	const char *what;
	bool head_good;
	int err;
};

static enum look look_at(struct espy_trace_reader *r, uint64_t offset, struct seen *s)
{
	const uint8_t *bytes;
	ssize_t n = espy_input__at(&r->in, offset, sizeof(s->head), &bytes);

	s->head_good = false;
	s->err = n < 0 ? (int)n : 0;
	if (n <= 0)
		return n < 0 ? LOOK_ERROR : LOOK_END;
	if (n < (ssize_t)sizeof(s->head)) {
		s->what = "the file ends in the middle of a section head";
		return LOOK_CUT;
	}
	memcpy(&s->head, bytes, sizeof(s->head));
	s->what = espy_section_codec__check_head(&s->head, r->file_id);
	if (s->what)
		return LOOK_BAD;
	s->head_good = true;
	const size_t whole = sizeof(s->head) + s->head.stored_sz;

	n = espy_input__at(&r->in, offset, whole, &bytes);
	s->err = n < 0 ? (int)n : 0;
	if (n < 0)
		return LOOK_ERROR;
	if ((size_t)n < whole) {
		s->what = "the file ends in the middle of a section";
		return LOOK_CUT;
	}
	s->stored = bytes + sizeof(s->head);
	if (espy_crc32c(0, s->stored, s->head.stored_sz) != s->head.payload_crc) {
		s->what = "the checksum of a section differs";
		return LOOK_BAD;
	}
	return LOOK_WHOLE;
}

bool espy_reader__section_at(struct espy_trace_reader *r, uint64_t offset, struct espy_section_head *head,
			     const uint8_t **stored)
{
	struct seen s;

	if (look_at(r, offset, &s) != LOOK_WHOLE)
		return false;
	*head = s.head;
	*stored = s.stored;
	return true;
}

/* Returns whether nothing follows the section that begins at `offset`: its writer may be at work on it. */
static bool is_last(struct espy_trace_reader *r, uint64_t offset, const struct seen *s)
{
	const uint8_t *bytes;
	const uint64_t end = offset + sizeof(s->head) + (s->head_good ? s->head.stored_sz : 0);

	return espy_input__at(&r->in, end, 1, &bytes) <= 0;
}

int espy_reader__next_section(struct espy_trace_reader *r, struct espy_section_head *head, const uint8_t **stored)
{
	struct seen s;
	bool told = false;

	for (;;) {
		uint64_t next = 0;
		enum look look = look_at(r, r->offset, &s);

		if (look == LOOK_ERROR)
			return s.err;
		if (look == LOOK_END || (r->o.follow && (look == LOOK_CUT || (look == LOOK_BAD && is_last(r, r->offset, &s))))) {
			espy_input__again(&r->in);
			return 0;
		}
		if (look == LOOK_WHOLE)
			break;
		/*
		 * If the damage is in the payload, the head tells the place of the next one; else the reader searches
		 * for it.
		 */
		uint64_t guess = r->offset + sizeof(s.head) + (s.head_good ? s.head.stored_sz : 0);
		struct seen after;

		const char *what = s.what;
		const bool head_good = s.head_good;

		r->searched += head_good ? s.head.stored_sz : 0;
		if (head_good && look == LOOK_BAD &&
		    (r->searched > ESPY_SEARCHED_MAX ||
		     (r->in.regular && (look_at(r, guess, &after) == LOOK_END || after.head_good)))) {
			next = guess;
		} else {
			int found = espy_reader__find_head(r, r->offset + (head_good ? sizeof(s.head) : 1), false, &next);

			if (found < 0)
				return found;
			if (!found) {
				const uint64_t size = espy_input__size(&r->in);

				next = size > r->offset ? size : r->in.base + r->in.len;
			}
		}
		espy_reader__damage(r, r->offset, next - r->offset, what);
		r->offset = next;
		r->seq_known = false;
		told = true;
	}
	if (r->seq_known && s.head.seq != r->seq && !told)
		espy_reader__damage(r, r->offset, 0, "a section is missing here, or is not in its place");
	r->seq = s.head.seq + 1;
	r->seq_known = true;
	*head = s.head;
	*stored = s.stored;
	r->offset += sizeof(s.head) + s.head.stored_sz;
	return 1;
}

void espy_kept_section__free(struct espy_kept_section *k)
{
	while (k) {
		struct espy_kept_section *older = k->older;

		free(k->data);
		free(k);
		k = older;
	}
}

static struct espy_kept_section *copy_of(const struct espy_section_head *head, const void *raw, uint64_t offset,
					 uint32_t file)
{
	struct espy_kept_section *k = malloc(sizeof(*k));

	if (!k)
		return NULL;
	*k = (struct espy_kept_section){
		.kind = head->kind, .id = head->id, .size = head->raw_sz, .offset = offset, .file = file
	};
	k->data = malloc(k->size + 8);
	if (!k->data) {
		free(k);
		return NULL;
	}
	memcpy(k->data, raw, k->size);
	memset(k->data + k->size, 0, 8);
	return k;
}

void espy_reader__other_section(struct espy_trace_reader *r, const struct espy_section_head *head, const uint8_t *stored,
				uint64_t offset)
{
	const char *why;

	/* The directory may have led here before its turn. */
	for (const struct espy_kept_section *k = r->kept; k; k = k->older)
		if (k->offset == offset && k->file == r->at_number)
			return;
	if (head->kind > ESPY_SECTION_END || head->kind < ESPY_SECTION_META) {
		r->stats.unknown_sections++;
		return;
	}
	const void *raw = espy_section_codec__decode(r->codec, head, stored, &why);

	if (!raw) {
		espy_reader__damage(r, offset, sizeof(*head) + head->stored_sz, why);
		return;
	}
	if (head->kind == ESPY_SECTION_END) {
		struct espy_end_head end;

		if (head->raw_sz >= sizeof(end)) {
			memcpy(&end, raw, sizeof(end));
			espy_times__widen(&r->stats.first_ns, &r->stats.last_ns, end.first_ns, end.last_ns);
		}
		return;
	}
	struct espy_kept_section *same = r->kept;

	while (same && (same->kind != head->kind || same->id != head->id))
		same = same->older;
	/* each file of a set brings them again */
	if (same && same->size == head->raw_sz && !memcmp(same->data, raw, head->raw_sz))
		return;
	struct espy_kept_section *k =
		r->kept_bytes + head->raw_sz > ESPY_KEPT_MAX ? NULL : copy_of(head, raw, offset, r->at_number);

	if (!k) {
		espy_reader__damage(r, offset, sizeof(*head) + head->stored_sz, "there is no room for a section");
		return;
	}
	if (head->kind == ESPY_SECTION_INDEX) {
		espy_kept_section__free(r->index);
		r->index = k;
		return;
	}
	r->kept_bytes += k->size + sizeof(*k);
	k->older = r->kept;
	r->kept = k;
	r->kept_changes++;
}

void espy_reader__drop_images(struct espy_trace_reader *r, uint32_t last_file)
{
	struct espy_kept_section **at = &r->kept;

	while (*at) {
		struct espy_kept_section *k = *at;

		if (k->kind != ESPY_SECTION_IMAGE || k->file == last_file) {
			at = &k->older;
			continue;
		}
		*at = k->older;
		r->kept_bytes -= k->size + sizeof(*k);
		r->kept_changes++;
		free(k->data);
		free(k);
	}
}
