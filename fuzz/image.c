/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: descriptions from a trace are foreign. The bytes are changes to the built-in image, and then call
 * records: an image that is taken must be safe to ask, to decode by and to render by.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "describe/builtin.h"
#include "render/text.h"
#include "session/call_set.h"
#include "session/filter.h"
#include "session/gather.h"
#include "session/resolve.h"

static const uint8_t *builtin;
static size_t builtin_size;
static uint8_t *image_bytes;
static struct espy_image images[ESPY_ABI_CNT], whole;
static const struct espy_image *image_ptrs[ESPY_ABI_CNT];
static struct espy_call_view view;
static struct espy_tasks tasks;
static struct espy_resolve resolve;
static struct espy_buf text;

static void render(const struct espy_image *img, uint16_t nr, const uint8_t *data, size_t size)
{
	static const uint64_t none[16];
	const struct espy_text_opts o = { .str_limit = 32, .abbrev = none, .resolver = &resolve.resolver };
	uint64_t buf[64] = { 0 };
	struct espy_rec_call *c = (struct espy_rec_call *)buf;
	const size_t n = size < sizeof(buf) - sizeof(*c) ? size & ~(size_t)7 : sizeof(buf) - sizeof(*c);

	if (n < 48)
		return;
	memcpy(c + 1, data, n);
	c->rec = (struct espy_rec){
		.size = (uint32_t)(sizeof(*c) + n), .type = ESPY_REC_EXIT, .flags = 6, .nr = nr, .tid = 1, .tgid = 1
	};
	if (espy_call_view__init(&view, img, NULL, &c->rec)) {
		c->rec.size = sizeof(*c) + 48; /* without items */
		if (espy_call_view__init(&view, img, NULL, &c->rec))
			return;
	}
	espy_text__args(&text, &o, &view, ESPY_TEXT_WHOLE, NULL);
	espy_text__result(&text, &o, &view);
	text.len = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct espy_gather gather;
	size_t at = 1, changes;

	if (size < 64 || size > 4096)
		return 0;
	if (!builtin) {
		builtin = espy_builtin_image(ESPY_ABI_X86_64, &builtin_size);
		image_bytes = aligned_alloc(64, (builtin_size + 63) & ~(size_t)63);
		if (!image_bytes || espy_image__open(&whole, builtin, builtin_size, NULL))
			abort();
		memcpy(image_bytes, builtin, builtin_size);
	}
	changes = data[0] % 8;
	for (size_t i = 0; i < changes && size - at >= 5; i++, at += 5) {
		uint32_t where;

		memcpy(&where, data + at, 4);
		image_bytes[where % builtin_size] = data[at + 4];
	}
	if (!espy_image__open(&images[0], image_bytes, builtin_size, NULL)) {
		images[1] = images[2] = whole;
		for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
			image_ptrs[abi] = &images[abi];
		espy_resolve__init(&resolve, &tasks, images, true, true, false);
		resolve.live = false;
		if (!espy_gather__init(&gather, &resolve, images))
			espy_gather__free(&gather);
		resolve.live = false;
		for (; size - at >= 50; at += 50) {
			uint16_t nr;

			memcpy(&nr, data + at, 2);
			render(&images[0], nr % 512, data + at + 2, size - at - 2);
		}
		espy_resolve__free(&resolve);
	}
	/* as it was */
	at = 1;
	for (size_t i = 0; i < changes && size - at >= 5; i++, at += 5) {
		uint32_t where;

		memcpy(&where, data + at, 4);
		image_bytes[where % builtin_size] = builtin[where % builtin_size];
	}
	return 0;
}
