/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: descriptions from a trace are foreign. The bytes are changes to the built-in image or to a part of it,
 * and then call records: an image that is taken must be safe to ask, to join with another, to decode by and to render
 * by.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "describe/builtin.h"
#include "describe/prune.h"
#include "json_syntax.h"
#include "sink/json/json_values.h"
#include "sink/text/text.h"
#include "filter/call_filter.h"
#include "sink/prefetch.h"
#include "state/resolver.h"
#include "state/state.h"

static struct base {
	const uint8_t *bytes;
	uint8_t *copy; /* which is changed */
	size_t size;
} bases[2]; /* all, some calls */
static struct espy_image images[ESPY_ABI_CNT], whole;
static const struct espy_image *image_ptrs[ESPY_ABI_CNT];
static struct espy_call_view view;
static struct espy_state *state;
static struct espy_decoder decoder;
static struct espy_buf text;

static void render(const struct espy_image *img, uint16_t nr, const uint8_t *data, size_t size)
{
	static const uint64_t none[16];
	const struct espy_text_opts o = { .str_limit = 32, .abbrev = none, .paths = true, .details = true };
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
	espy_text__want(&o, &decoder.want);
	espy_decoder__args(&decoder, &view, ESPY_MANNERS, 0);
	espy_text__args(&text, &o, img, espy_token_list__view(&decoder.args), ESPY_MANNER_FULL, true);
	espy_decoder__result(&decoder, &view, ESPY_MANNERS);
	espy_text__result(&text, &o, img, espy_token_list__view(&decoder.result), ESPY_MANNER_FULL);
	text.len = 0;
	struct espy_json json = { .b = &text };
	const struct espy_json_values x = { .j = &json,
					    .image = img,
					    .manner = ESPY_MANNER_FULL,
					    .string_limit = 32,
					    .tokens = espy_token_list__view(&decoder.args) };
	espy_json_values__args(&x);
	if (!fuzz_json_is_value(text.data, text.len))
		abort();
	text.len = 0;
}

static void open_bases(void)
{
	static uint64_t numbers[16], calls[1024];
	struct espy_prune want = {
		.numbers = numbers, .number_cnt = 1024, .calls = calls, .signals = 1 << 16, .netlink = true
	};
	void *part;

	memset(numbers, 0x55, sizeof(numbers));
	memset(calls, 0xff, sizeof(calls));
	bases[0].bytes = espy_builtin_image(ESPY_ABI_X86_64, &bases[0].size);
	if (espy_image__open(&whole, bases[0].bytes, bases[0].size, NULL) ||
	    espy_image__prune(&whole, &want, &part, &bases[1].size))
		abort();
	bases[1].bytes = part;
	for (unsigned i = 0; i < 2; i++) {
		bases[i].copy = aligned_alloc(64, (bases[i].size + 63) & ~(size_t)63);
		if (!bases[i].copy)
			abort();
		memcpy(bases[i].copy, bases[i].bytes, bases[i].size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct espy_prefetch prefetch;
	size_t at = 1, changes;

	if (size < 64 || size > 4096)
		return 0;
	if (!bases[0].bytes)
		open_bases();
	changes = data[0] % 8;
	const struct base *base = &bases[data[0] >> 3 & 1];
	for (size_t i = 0; i < changes && size - at >= 5; i++, at += 5) {
		uint32_t where;

		memcpy(&where, data + at, 4);
		base->copy[where % base->size] = data[at + 4];
	}
	if (!espy_image__open(&images[0], base->copy, base->size, NULL)) {
		const struct espy_image first = images[0], *const parts[] = { &first, &whole };
		void *joined = NULL;

		if (data[0] & 16 && espy_image__join(parts, 1 + (data[0] >> 5 & 1), &images[0], &joined))
			joined = NULL;
		images[1] = images[2] = whole;
		for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
			image_ptrs[abi] = &images[abi];
		const struct espy_state_opts so = {
			.lookups = &espy_lookups_trace, .max_bytes = 1 << 20
		};

		if (espy_state__new(&state, &so))
			abort();
		const struct espy_resolver resolver = espy_state__resolver(state);

		decoder.resolver = &resolver;
		if (!espy_prefetch__init(&prefetch, state, images))
			espy_prefetch__free(&prefetch);
		for (; size - at >= 50; at += 50) {
			uint16_t nr;

			memcpy(&nr, data + at, 2);
			render(&images[0], nr % 512, data + at + 2, size - at - 2);
		}
		espy_state__free(state);
		free(joined);
	}
	/* as it was */
	at = 1;
	for (size_t i = 0; i < changes && size - at >= 5; i++, at += 5) {
		uint32_t where;

		memcpy(&where, data + at, 4);
		base->copy[where % base->size] = base->bytes[where % base->size];
	}
	return 0;
}
