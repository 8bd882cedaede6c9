/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the reader share: reader.c (records), reader_sections.c (walking and recovery), reader_open.c (opening). */
#ifndef ESPY_TRACE_READER_IMPL_H
#define ESPY_TRACE_READER_IMPL_H

#include "trace/section_codec.h"
#include "trace/trace_format.h"
#include "trace/input.h"
#include "trace/trace.h"

/*
 * Damaged sections are searched for whole ones inside. A file made of heads that claim to overlap would have the same bytes
 * checked again and again: after so many, such a section is passed as a whole.
 */
#define ESPY_SEARCHED_MAX (1ull << 30)
/* Sections that are kept: no more than that, whatever a file brings. */
#define ESPY_KEPT_MAX (64u << 20)

struct espy_kept_section {
	enum espy_trace_section kind;
	uint32_t id;
	uint8_t *data; /* and 8 zero bytes */
	size_t size;
	uint64_t offset; /* where it stands, */
	uint32_t file;	 /* in which file of the set: at_number */
	struct espy_kept_section *older;
};

struct espy_trace_reader {
	struct espy_trace_read_opts o;
	struct espy_trace_read_stats stats;
	struct espy_section_codec *codec;

	/* the files, in order; one, or those of a set */
	char *path;	   /* as given */
	uint32_t *numbers; /* of a set; NULL: a single file */
	size_t file_cnt;
	uint32_t at_number; /* N of the current file */
	bool looked_again;  /* at its end, after there was a next one */
	char *file_name; /* of the current one */

	/* the current file */
	struct espy_input in;
	uint64_t file_id;
	uint32_t number;
	uint64_t first_section, offset; /* of the next section */
	uint32_t seq;			/* that it should have */
	bool seq_known;
	bool ended;	 /* END was passed */
	bool continues;	 /* it follows the file before without a gap */
	bool wants_state; /* reading begins here: blocks of state are delivered until the first other one */
	struct espy_kept_section *index; /* of this file, once it was met */
	uint64_t searched;		 /* bytes of damaged sections that were looked at again for others inside */

	struct espy_kept_section *kept; /* newest first */
	size_t kept_bytes;
	uint64_t kept_changes;

	/* the block that is being read */
	const uint8_t *block;
	size_t block_sz, block_at;
	uint64_t block_offset;
};

/* reader_open.c */
int espy_reader__open_file(struct espy_trace_reader *r, size_t which, char *why, size_t why_sz);
/* The next file of the set, or more of this one: 1, 0 if there is none (yet), or -errno. */
int espy_reader__next_file(struct espy_trace_reader *r);

/* reader_sections.c */
void espy_reader__damage(struct espy_trace_reader *r, uint64_t offset, uint64_t skipped, const char *what);
/*
 * The next whole section: 1, its head, and its stored bytes (valid until the next use of the input); 0: the file ends here, or
 * (follow) more of it is not there yet. Damage is told and stepped over.
 */
int espy_reader__next_section(struct espy_trace_reader *r, struct espy_section_head *head, const uint8_t **stored);
/* A section that is no block of records: kept if it is of use, else counted. */
void espy_reader__other_section(struct espy_trace_reader *r, const struct espy_section_head *head, const uint8_t *stored,
				uint64_t offset);
/* The offset of the next head that is whole, at or after `from`: 1, 0 if there is none, or -errno. any_file: of whatever file. */
int espy_reader__find_head(struct espy_trace_reader *r, uint64_t from, bool any_file, uint64_t *offset);
/* The section at that offset, if it is whole. */
bool espy_reader__section_at(struct espy_trace_reader *r, uint64_t offset, struct espy_section_head *head,
			     const uint8_t **stored);
void espy_kept_section__free(struct espy_kept_section *k);
/* Another file of the set begins, which brings its own descriptions: only those of the file before are kept. */
void espy_reader__drop_images(struct espy_trace_reader *r, uint32_t last_file);

#endif
