/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the bytes are a stream of call records; each is put into a view over the built-in
 * image and rendered in all styles. Whatever stands in them, nothing but printable text comes out,
 * and the line is the same when it is written in two parts.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "describe/builtin.h"
#include "render/text.h"

static struct espy_image images[ESPY_ABI_CNT];
static struct espy_call_view view;
static struct espy_buf text;

static void open_images(void)
{
	for (enum espy_abi abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size;
		const void *blob = espy_builtin_image(abi, &size);
		if (!blob || espy_image__open(&images[abi], blob, size, NULL))
			abort();
	}
}

static void check_text(void)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] < 0x20 || (unsigned char)text.data[i] >= 0x7f)
			abort();
	text.len = 0;
}

static bool no_name(void *ctx, uint32_t tid, int fd, unsigned *proto)
{
	*proto = (unsigned)fd & 0x1f;
	return true;
}

static void render(const struct espy_rec *rec, uint8_t style)
{
	static const uint64_t none[16], all[16] = { [0 ... 15] = UINT64_MAX };
	static const struct espy_resolver resolver = { .netlink_proto = no_name };
	const struct espy_text_opts o = {
		.str_limit = style & 0x40 ? 3 : 32,
		.xlat = (enum espy_xlat)((style & 3) % 3),
		.hex = (enum espy_hex)(style >> 2 & 3),
		.arg_names = style & 0x10,
		.abbrev = style & 0x20 ? none : all,
		.resolver = &resolver,
	};
	const struct espy_image *img = &images[rec->flags & ESPY_RF_ABI_I386 ? ESPY_ABI_I386 :
					       rec->flags & ESPY_RF_ABI_X32  ? ESPY_ABI_X32 :
									       ESPY_ABI_X86_64];
	bool exit = rec->type == ESPY_REC_EXIT;
	unsigned shown = 0;

	if (espy_call_view__init(&view, img, exit ? NULL : rec, exit ? rec : NULL))
		return;
	espy_text__args(&text, &o, &view, ESPY_TEXT_WHOLE, NULL);
	espy_text__result(&text, &o, &view);
	check_text();
	espy_text__args(&text, &o, &view, ESPY_TEXT_ENTER, &shown);
	espy_text__args(&text, &o, &view, ESPY_TEXT_EXIT, &shown);
	check_text();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!images[0].types)
		open_images();
	if (size < 1 + sizeof(struct espy_rec_call) || size > 65536)
		return 0;
	uint8_t style = data[0];
	/* a copy of exactly this size, aligned as records are: reads beyond it are found */
	size_t n = (size - 1) & ~(size_t)7;
	uint8_t *copy = malloc(n);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, n);
	for (size_t off = 0; n - off >= sizeof(struct espy_rec_call);) {
		struct espy_rec *rec = (struct espy_rec *)(copy + off);
		rec->type = rec->type & 1 ? ESPY_REC_ENTER : ESPY_REC_EXIT;
		/* what a reader of streams does first */
		if (rec->size > n - off || rec->size < sizeof(*rec))
			rec->size = (uint32_t)(n - off);
		uint32_t step = rec->size & ~7u;
		rec->size = step;
		render(rec, style);
		off += step ? step : 8;
	}
	if (size > 64) {
		const struct espy_text_opts o = { .str_limit = 32, .hex = (enum espy_hex)(style >> 2 & 3) };
		espy_text__siginfo(&text, &o, &images[0], copy, n < 128 ? n : 128);
		check_text();
	}
	free(copy);
	return 0;
}
