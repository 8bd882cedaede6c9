/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the bytes are a stream of call records; each is put into a view over the built-in
 * image and rendered in all styles. Whatever stands in them, nothing but printable text comes out,
 * and the line is the same when it is written in two parts. As JSON it is JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "describe/builtin.h"
#include "json_syntax.h"
#include "sink/json/json_values.h"
#include "sink/text/text.h"

static struct espy_image images[ESPY_ABI_CNT];
static struct espy_call_view view;
static struct espy_buf text;
static struct espy_decoder decoder;

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

/* The arguments and the result as JSON, in the manner in which they were decoded. */
static void check_json(const struct espy_image *img, unsigned manner, uint32_t string_limit)
{
	struct espy_json json = { .b = &text };
	struct espy_json_values x = { .j = &json,
				      .image = img,
				      .manner = manner,
				      .string_limit = string_limit,
				      .tokens = espy_token_list__view(&decoder.args) };

	espy_json__open(&json, '[');
	espy_json_values__args(&x);
	espy_json__open(&json, '{');
	espy_json__key(&json, "ret");
	x.tokens = espy_token_list__view(&decoder.result);
	espy_json_values__result(&x);
	espy_json__close(&json, '}');
	espy_json__close(&json, ']');
	if (!fuzz_json_is_value(text.data, text.len))
		abort();
	text.len = 0;
}

/* Groups hold each other's place, and lie within each other. */
static void check_tokens(const struct espy_token_list *l)
{
	uint32_t open[256], depth = 0;

	for (uint32_t i = 0; i < l->cnt; i++) {
		const struct espy_token *k = &l->at[i];

		if (k->kind == ESPY_TOKEN_OPEN) {
			if (depth == 256 || k->link <= i || k->link >= l->cnt)
				abort();
			open[depth++] = i;
		} else if (k->kind == ESPY_TOKEN_CLOSE && (!depth || k->link != open[--depth] || l->at[k->link].link != i)) {
			abort();
		}
		if (!k->name || (k->kind == ESPY_TOKEN_INT && !k->type))
			abort();
	}
	if (depth)
		abort();
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
	};
	const struct espy_image *img = &images[rec->abi < ESPY_ABI_CNT ? rec->abi : ESPY_ABI_X86_64];
	const bool exit = rec->type == ESPY_REC_EXIT;
	/* one decoding for all manners, of which one is shown; another time for that one alone */
	const unsigned manner = 1u << (rec->nr + style) % 6, manners = style & 0x80 ? ESPY_MANNERS : manner;

	if (espy_call_view__init(&view, img, exit ? NULL : rec, exit ? rec : NULL))
		return;
	decoder.resolver = &resolver;
	espy_text__want(&o, &decoder.want);
	espy_decoder__args(&decoder, &view, manners, 0);
	check_tokens(&decoder.args);
	espy_text__args(&text, &o, img, espy_token_list__view(&decoder.args), manner, true);
	espy_decoder__result(&decoder, &view, manners);
	check_tokens(&decoder.result);
	espy_text__result(&text, &o, img, espy_token_list__view(&decoder.result), manner);
	check_text();
	check_json(img, manner, o.str_limit);
	const unsigned shown = espy_decoder__begin(&decoder, &view, manners);
	espy_text__args(&text, &o, img, espy_token_list__view(&decoder.args), manner, true);
	espy_decoder__args(&decoder, &view, manners << ESPY_MANNER_REST | manners, shown);
	check_tokens(&decoder.args);
	espy_text__args(&text, &o, img, espy_token_list__view(&decoder.args), manner << ESPY_MANNER_REST, !shown);
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
		espy_decoder__siginfo(&decoder, &images[0], copy, n < 128 ? n : 128, ESPY_MANNER_BRIEF);
		espy_text__siginfo(&text, &o, &images[0], espy_token_list__view(&decoder.args));
		check_text();
	}
	free(copy);
	return 0;
}
