/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/section_codec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "trace/columns.h"
#include "trace/crc32c.h"
#include "trace/trace.h"

/* Sections without records are few and small: they are worth more time, unless the user wants speed. */
#define SMALL_BYTES (256u << 10)
#define SMALL_LEVEL 12
#define SMALL_FROM_LEVEL 3

struct buffer {
	uint8_t *data;
	size_t cap;
};

struct espy_section_codec {
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	int level;
	struct espy_columns_pack *pack;
	struct buffer stored, encoded, raw;
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

struct espy_section_codec *espy_section_codec__new(int level)
{
	struct espy_section_codec *c = calloc(1, sizeof(*c));

	if (c)
		c->level = level;
	return c;
}

void espy_section_codec__free(struct espy_section_codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->cctx);
	ZSTD_freeDCtx(c->dctx);
	espy_columns_pack__free(c->pack);
	free(c->stored.data);
	free(c->encoded.data);
	free(c->raw.data);
	free(c);
}

size_t espy_section_codec__memory(const struct espy_section_codec *c)
{
	return sizeof(*c) + c->stored.cap + c->encoded.cap + c->raw.cap + (c->cctx ? ZSTD_sizeof_CCtx(c->cctx) : 0) +
	       (c->dctx ? ZSTD_sizeof_DCtx(c->dctx) : 0) + (c->pack ? espy_columns_pack__memory(c->pack) : 0);
}

static uint32_t crc_of_head(const struct espy_section_head *head)
{
	return espy_crc32c(0, head, offsetof(struct espy_section_head, head_crc));
}

static int open_zstd(struct espy_section_codec *c)
{
	if (c->level > 0 && !c->cctx) {
		c->cctx = ZSTD_createCCtx();
		if (!c->cctx)
			return -ENOMEM;
		ZSTD_CCtx_setParameter(c->cctx, ZSTD_c_contentSizeFlag, 0);
	}
	return 0;
}

/* Adds a frame at c->stored + at, where there is room. */
static int add_frame(struct espy_section_codec *c, size_t *at, const void *bytes, size_t size)
{
	const size_t n = ZSTD_compress2(c->cctx, c->stored.data + *at, c->stored.cap - *at, bytes, size);

	if (ZSTD_isError(n))
		return -ENOMEM; /* nothing else can fail here */
	*at += n;
	return 0;
}

static int compress_plain(struct espy_section_codec *c, struct espy_section_head *head, const void *raw)
{
	const bool small = head->kind != ESPY_SECTION_RECORDS && head->raw_sz <= SMALL_BYTES &&
			   c->level >= SMALL_FROM_LEVEL && c->level < SMALL_LEVEL;
	size_t n = 0;
	int err = reserve(&c->stored, ZSTD_compressBound(head->raw_sz));

	ZSTD_CCtx_setParameter(c->cctx, ZSTD_c_compressionLevel, small ? SMALL_LEVEL : c->level);
	if (!err)
		err = add_frame(c, &n, raw, head->raw_sz);
	if (err || n >= head->raw_sz)
		return err;
	head->compression = ESPY_COMPRESSION_ZSTD;
	head->stored_sz = (uint32_t)n;
	return 0;
}

/*
 * Compresses records as columns, each as a frame of its own, since a column resembles itself only. If that saves
 * nothing, the head stays.
 */
static int compress_columns(struct espy_section_codec *c, struct espy_section_head *head, const void *raw)
{
	size_t encoded_sz = 0, room = 0, n, at = 0;

	if (!c->pack && !(c->pack = espy_columns_pack__new()))
		return -ENOMEM;
	int err = espy_columns_pack__records(c->pack, raw, head->raw_sz);

	if (err)
		return err == -E2BIG ? 0 : err;
	for (unsigned i = 0; i < COLUMNS; i++) {
		espy_columns_pack__column(c->pack, i, &n);
		encoded_sz += n;
		room += ZSTD_compressBound(n);
	}
	if (encoded_sz > ESPY_BLOCK_RAW_MAX)
		return 0;
	err = reserve(&c->stored, room);
	ZSTD_CCtx_setParameter(c->cctx, ZSTD_c_compressionLevel, c->level);
	for (unsigned i = 0; i < COLUMNS && !err; i++) {
		const void *column = espy_columns_pack__column(c->pack, i, &n);

		if (n)
			err = add_frame(c, &at, column, n);
	}
	if (err || at >= head->raw_sz)
		return err;
	head->encoding = ESPY_ENCODING_COLUMNS;
	head->compression = ESPY_COMPRESSION_ZSTD;
	head->encoded_sz = (uint32_t)encoded_sz;
	head->stored_sz = (uint32_t)at;
	return 0;
}

int espy_section_codec__encode(struct espy_section_codec *c, struct espy_section_head *head, const void *raw,
			       const void **stored)
{
	int err = open_zstd(c);

	head->encoding = ESPY_ENCODING_PLAIN;
	head->compression = ESPY_COMPRESSION_NONE;
	head->encoded_sz = head->stored_sz = head->raw_sz;
	if (!err && c->cctx && head->kind == ESPY_SECTION_RECORDS)
		err = compress_columns(c, head, raw);
	if (!err && c->cctx && head->encoding == ESPY_ENCODING_PLAIN && head->kind != ESPY_SECTION_END)
		err = compress_plain(c, head, raw);
	if (err)
		return err;
	*stored = head->compression ? c->stored.data : raw;
	head->payload_crc = espy_crc32c(0, *stored, head->stored_sz);
	head->head_crc = crc_of_head(head);
	return 0;
}

const char *espy_section_codec__check_head(const struct espy_section_head *head, uint64_t file_id)
{
	const uint32_t max = head->kind == ESPY_SECTION_RECORDS ? ESPY_BLOCK_RAW_MAX : ESPY_SECTION_RAW_MAX;

	if (head->mark != ESPY_SECTION_MARK)
		return "no section begins here";
	if (head->head_crc != crc_of_head(head))
		return "the checksum of a section head differs";
	if (head->file_id != file_id)
		return "a section of another file";
	/* a writer of ours never does so */
	if (head->raw_sz > max || head->encoded_sz > max || head->stored_sz > max)
		return "a section claims to be larger than sections are";
	return NULL;
}

/* Decompresses. NULL: it is not as the head tells, or (*err) there is no memory. Eight bytes behind it can be read. */
static const void *decompress(struct espy_section_codec *c, const struct espy_section_head *head, struct buffer *to,
			      const void *stored, int *err)
{
	*err = reserve(to, (size_t)head->encoded_sz + 8);
	if (!*err && head->compression && !c->dctx && !(c->dctx = ZSTD_createDCtx()))
		*err = -ENOMEM;
	if (*err)
		return NULL;
	if (head->compression) {
		const size_t n = ZSTD_decompressDCtx(c->dctx, to->data, head->encoded_sz, stored, head->stored_sz);

		if (ZSTD_isError(n) || n != head->encoded_sz)
			return NULL;
	} else {
		if (head->encoded_sz != head->stored_sz)
			return NULL;
		memcpy(to->data, stored, head->encoded_sz);
	}
	/* a text at the end of a section has its NUL */
	memset(to->data + head->encoded_sz, 0, 8);
	return to->data;
}

const void *espy_section_codec__decode(struct espy_section_codec *c, const struct espy_section_head *head,
				       const void *stored, const char **why)
{
	const bool columns = head->encoding == ESPY_ENCODING_COLUMNS;

	if (espy_crc32c(0, stored, head->stored_sz) != head->payload_crc) {
		*why = "the checksum of a section differs";
		return NULL;
	}
	if (head->encoding > ESPY_ENCODING_COLUMNS || head->compression > ESPY_COMPRESSION_ZSTD ||
	    (columns && head->kind != ESPY_SECTION_RECORDS)) {
		*why = "a section is encoded in a way that is not known";
		return NULL;
	}
	int err = 0;
	const void *bytes = columns || head->encoded_sz == head->raw_sz
				    ? decompress(c, head, columns ? &c->encoded : &c->raw, stored, &err)
				    : NULL;

	if (bytes && columns) {
		err = reserve(&c->raw, (size_t)head->raw_sz + 8);
		if (!err)
			err = espy_columns_unpack(bytes, head->encoded_sz, c->raw.data, head->raw_sz);
		bytes = err ? NULL : c->raw.data;
		if (bytes)
			memset(c->raw.data + head->raw_sz, 0, 8);
	}
	if (!bytes)
		*why = err == -ENOMEM ? "out of memory" : "a section cannot be unpacked";
	return bytes;
}
