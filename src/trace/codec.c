/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "trace/crc32c.h"
#include "trace/pack.h"
#include "trace/primer.h"
#include "trace/trace.h"

/* What is written carefully: at the level that is worth its time. */
#define CAREFUL_LEVEL 15
/* Sections that are not records are few. */
#define SMALL_BYTES (256u << 10)
#define SMALL_LEVEL 19

struct buffer {
	uint8_t *data;
	size_t cap;
};

struct espy_codec {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	int level;
	bool mark_words;
	struct espy_pack *pack;
	struct buffer out, raw;
	uint8_t *dictionary; /* of descriptions; NULL: not needed yet */
	size_t dictionary_sz;
};

static int reserve(struct buffer *b, size_t size)
{
	if (size <= b->cap)
		return 0;
	free(b->data);
	b->cap = 0;
	b->data = malloc(size);
	if (!b->data)
		return -ENOMEM;
	b->cap = size;
	return 0;
}

struct espy_codec *espy_codec__new(int level, bool mark_words)
{
	struct espy_codec *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->level = level;
	c->mark_words = mark_words;
	return c;
}

void espy_codec__free(struct espy_codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->cctx);
	ZSTD_freeDCtx(c->dctx);
	espy_pack__free(c->pack);
	free(c->out.data);
	free(c->raw.data);
	free(c->dictionary);
	free(c);
}

size_t espy_codec__memory(const struct espy_codec *c)
{
	return sizeof(*c) + c->out.cap + c->raw.cap + (c->dictionary ? c->dictionary_sz : 0) +
	       (c->cctx ? ZSTD_sizeof_CCtx(c->cctx) : 0) + (c->dctx ? ZSTD_sizeof_DCtx(c->dctx) : 0) +
	       (c->pack ? espy_pack__memory(c->pack) : 0);
}

static uint32_t crc_of_head(const struct espy_section_head *head)
{
	return espy_crc32c(0, head, offsetof(struct espy_section_head, head_crc));
}

static int open_zstd(struct espy_codec *c)
{
	if (c->level > 0 && !c->cctx) {
		c->cctx = ZSTD_createCCtx();
		if (!c->cctx)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(c->cctx, ZSTD_c_contentSizeFlag, 0);
	}
	return 0;
}

static int open_dictionary(struct espy_codec *c)
{
	return c->dictionary ? 0 : espy_descriptions__load(&c->dictionary, &c->dictionary_sz);
}

/* 0 if that saves nothing */
static int compress(struct espy_codec *c, int level, bool with_dictionary, const void *raw, size_t raw_sz,
		    size_t *stored_sz)
{
	const size_t bound = ZSTD_compressBound(raw_sz);
	int err = reserve(&c->out, bound);

	if (!err && with_dictionary)
		err = open_dictionary(c);
	if (err)
		return err;
	/* for this frame alone */
	if (with_dictionary && ZSTD_isError(ZSTD_CCtx_refPrefix(c->cctx, c->dictionary, c->dictionary_sz)))
		return -ENOMEM;
	ZSTD_CCtx_setParameter(c->cctx, ZSTD_c_compressionLevel, level);
	const size_t n = ZSTD_compress2(c->cctx, c->out.data, bound, raw, raw_sz);

	if (ZSTD_isError(n))
		return -ENOMEM; /* the only thing that can fail here */
	*stored_sz = n < raw_sz ? n : 0;
	return 0;
}

int espy_codec__encode(struct espy_codec *c, struct espy_section_head *head, bool careful, const void *raw,
		       const void **stored)
{
	int level = c->level;
	size_t n = 0;
	int err = open_zstd(c);

	if (err)
		return err;
	if (level >= ESPY_TRACE_CAREFUL_LEVEL && head->kind != ESPY_SECTION_RECORDS && head->raw_sz <= SMALL_BYTES)
		level = SMALL_LEVEL;
	else if (level >= ESPY_TRACE_CAREFUL_LEVEL && level < CAREFUL_LEVEL && careful)
		level = CAREFUL_LEVEL;
	head->encoding = ESPY_ENCODING_PLAIN;
	head->compression = ESPY_COMPRESSION_NONE;
	*stored = raw;
	head->stored_sz = head->raw_sz;
	if (head->kind == ESPY_SECTION_RECORDS && c->cctx) {
		if (!c->pack && !(c->pack = espy_pack__new(c->mark_words)))
			return -ENOMEM;
		const void *packed;

		err = espy_pack__records(c->pack, c->cctx, level, careful, raw, head->raw_sz, &packed, &n);
		if (err && err != -E2BIG)
			return err;
		if (!err) {
			*stored = packed;
			head->encoding = careful ? ESPY_ENCODING_MIXED : ESPY_ENCODING_PACKED;
			head->compression = ESPY_COMPRESSION_ZSTD;
			head->stored_sz = (uint32_t)n;
		}
	}
	if (head->encoding == ESPY_ENCODING_PLAIN && c->cctx && head->kind != ESPY_SECTION_END) {
		const bool with_dictionary = head->kind == ESPY_SECTION_IMAGE && c->level >= ESPY_TRACE_CAREFUL_LEVEL;

		err = compress(c, level, with_dictionary, raw, head->raw_sz, &n);
		if (err)
			return err;
		if (n) {
			*stored = c->out.data;
			head->compression = with_dictionary ? ESPY_COMPRESSION_DICTIONARY : ESPY_COMPRESSION_ZSTD;
			head->stored_sz = (uint32_t)n;
		}
	}
	head->payload_crc = espy_crc32c(0, *stored, head->stored_sz);
	head->head_crc = crc_of_head(head);
	return 0;
}

const char *espy_codec__check_head(const struct espy_section_head *head, uint64_t file_id)
{
	const uint32_t max = head->kind == ESPY_SECTION_RECORDS ? ESPY_BLOCK_RAW_MAX : ESPY_SECTION_RAW_MAX;

	if (head->mark != ESPY_SECTION_MARK)
		return "no section begins here";
	if (head->head_crc != crc_of_head(head))
		return "the checksum of a section head differs";
	if (head->file_id != file_id)
		return "a section of another file";
	/* what a writer of ours never does; packing may be larger by a little */
	if (head->raw_sz > max || head->stored_sz > max)
		return "a section claims to be larger than sections are";
	return NULL;
}

const void *espy_codec__decode(struct espy_codec *c, const struct espy_section_head *head, const void *stored,
			       const char **why)
{
	if (espy_crc32c(0, stored, head->stored_sz) != head->payload_crc) {
		*why = "the checksum of a section differs";
		return NULL;
	}
	static const enum espy_packing packings[] = {
		[ESPY_ENCODING_PACKED] = PACK_PACKED,
		[ESPY_ENCODING_CODED] = PACK_CODED,
		[ESPY_ENCODING_MIXED] = PACK_MIXED,
	};
	const bool is_packed = head->encoding != ESPY_ENCODING_PLAIN;

	if (head->encoding > ESPY_ENCODING_MIXED || head->compression > ESPY_COMPRESSION_DICTIONARY ||
	    (head->compression == ESPY_COMPRESSION_DICTIONARY && head->kind != ESPY_SECTION_IMAGE) ||
	    (is_packed && head->kind != ESPY_SECTION_RECORDS)) {
		*why = "a section is encoded in a way that is not known";
		return NULL;
	}
	*why = "out of memory";
	/* some space beyond the end, so that a text at the end of a section has its NUL */
	if (reserve(&c->raw, (size_t)head->raw_sz + 8))
		return NULL;
	if (!c->dctx && !(c->dctx = ZSTD_createDCtx()))
		return NULL;
	*why = "a section cannot be unpacked";
	if (is_packed) {
		if (!c->pack && !(c->pack = espy_pack__new(c->mark_words))) {
			*why = "out of memory";
			return NULL;
		}
		if (espy_pack__unpack(c->pack, c->dctx, packings[head->encoding], stored, head->stored_sz,
				      c->raw.data, head->raw_sz))
			return NULL;
	} else if (head->compression) {
		if (head->compression == ESPY_COMPRESSION_DICTIONARY &&
		    (open_dictionary(c) ||
		     ZSTD_isError(ZSTD_DCtx_refPrefix(c->dctx, c->dictionary, c->dictionary_sz)))) {
			*why = "out of memory";
			return NULL;
		}
		const size_t n = ZSTD_decompressDCtx(c->dctx, c->raw.data, head->raw_sz, stored, head->stored_sz);

		if (ZSTD_isError(n) || n != head->raw_sz)
			return NULL;
	} else {
		if (head->raw_sz != head->stored_sz)
			return NULL;
		memcpy(c->raw.data, stored, head->raw_sz);
	}
	memset(c->raw.data + head->raw_sz, 0, 8);
	*why = NULL;
	return c->raw.data;
}
