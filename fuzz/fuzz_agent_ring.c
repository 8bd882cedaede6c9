/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the bytes are what a hostile program has written into its ring (after the head, which is made good in
 * half of the runs; and in half of them some chunks are made shared ones, with an end) and into a definition; they are
 * changed once more between two looks. Whatever stands there, looks end, nothing is read outside, and the text of an
 * event is printable.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sink/text/text_mark.h"
#include "source/agent/mark_ring.h"

enum { CHUNK = 4096, CHUNKS = 16, DATA = 8192, SIZE = DATA + CHUNK * CHUNKS };
static uint8_t map[SIZE], args[CHUNK + sizeof(struct espy_rec_mark)];
static struct espy_buf text;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct espy_mark_def *t, uint32_t len)
{
	const struct espy_text_opts o = { .str_limit = 64 };
	struct espy_rec_mark *rec = (void *)args;

	rec->rec = (struct espy_rec){ .size = (uint32_t)sizeof(*rec) + len, .type = ESPY_REC_MARK };
	rec->len = len;
	text.len = 0;
	espy_mark_text__put(&text, &o, t, rec);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < 0x20 || (unsigned char)text.data[i] >= 0x7f)
			abort();
}

static void look(struct espy_agent_ring *r, const struct espy_mark_def *t)
{
	static const uint8_t kinds[] = { ESPY_MARK_I32, ESPY_MARK_STRING, ESPY_MARK_DOUBLE };

	espy_agent_ring__look(r);
	if (r->cursor_cnt > CHUNKS)
		abort();
	for (size_t i = 0; i < r->cursor_cnt; i++)
		while (r->cursors[i].ready && !r->cursors[i].over) {
			uint32_t len = espy_agent_ring__take(r, &r->cursors[i], args + sizeof(struct espy_rec_mark));

			if (len > CHUNK)
				abort();
			espy_mark_values__check(args + sizeof(struct espy_rec_mark), len, kinds, 3);
			show(t, len);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct espy_agent_opened opened = { .chunk_sz = CHUNK, .nchunks = CHUNKS };
	struct espy_ring *head = (void *)map;
	struct espy_mark_def *t = NULL;
	struct espy_agent_ring r;
	struct {
		struct espy_rec_mark_def def;
		uint8_t bytes[512];
	} d;

	memset(map, 0, sizeof(map));
	memset(&d, 0, sizeof(d));
	memcpy(&d, data, size < sizeof(d) ? size : sizeof(d));
	d.def.rec.size = sizeof(d);
	espy_mark_def__make(&t, &d.def);
	for (size_t at = 0; size && at < sizeof(map); at += size)
		memcpy(map + at, data, size < sizeof(map) - at ? size : sizeof(map) - at);
	if (size && data[0] & 1)
		*head = (struct espy_ring){ .magic = ESPY_RING_MAGIC,
					    .abi = ESPY_AGENT_ABI,
					    .chunk_sz = CHUNK,
					    .nchunks = CHUNKS,
					    .data_off = DATA };
	for (size_t i = 0; size && data[0] & 2 && i < CHUNKS; i += 2) {
		struct espy_chunk *c = (void *)(map + DATA + i * CHUNK);

		c->kind = ESPY_CHUNK_SHARED;
		c->end = data[i % size] & 1 ? ESPY_CHUNK_HEAD + data[(i + 1) % size] * 8u : c->end;
	}
	if (!espy_agent_ring__open(&r, map, sizeof(map), &opened)) {
		look(&r, t);
		for (size_t i = 0; i + 1 < size; i += 2)
			map[ESPY_RING_FREE_OFF + (data[i] * 257u + i) % (sizeof(map) - ESPY_RING_FREE_OFF)] =
				data[i + 1];
		look(&r, t);
		espy_agent_ring__bury(&r);
		espy_agent_ring__close(&r);
	}
	espy_mark_def__free(t);
	return 0;
}
