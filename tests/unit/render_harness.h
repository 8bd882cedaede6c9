/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * For tests of decoder and renderer: an image from a few lines of description, records put together
 * by hand, and the line that comes of them.
 */
#ifndef ESPY_TESTS_RENDER_HARNESS_H
#define ESPY_TESTS_RENDER_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "describe/describe.h"
#include "sink/text/text.h"

struct harness {
	void *blob;
	struct espy_image img;
	struct espy_text_opts o;
	struct espy_resolver *resolver; /* NULL: nothing is known */
	struct espy_decoder decoder;
	struct espy_call_view view;
	_Alignas(8) uint8_t rec[65536];
	_Alignas(8) uint8_t enter[65536];
	uint8_t *cur; /* the record being built */
	size_t len;
};

static inline void harness_diag(void *ctx, const char *text)
{
	print_error("%s\n", text);
}

static inline void harness_open(struct harness *k, const char *text, const char *constants, const char *syscalls)
{
	const struct espy_text_source src = { "test.espy", text, strlen(text) };
	const struct espy_text_source con = { "test.const", constants, strlen(constants) };
	const struct espy_describe_input in = { .abi = ESPY_ABI_X86_64, .sources = &src, .source_cnt = 1,
						.constants = &con, .constant_cnt = 1,
						.syscalls = { "test.syscalls", syscalls, strlen(syscalls) } };
	size_t size = 0;

	*k = (struct harness){ .o = { .str_limit = 32, .column = 40 } };
	assert_int_equal(espy_describe_compile(&in, harness_diag, NULL, &k->blob, &size), 0);
	assert_int_equal(espy_image__open(&k->img, k->blob, size, NULL), 0);
}

/* For cmocka's set-up and tear-down of a group: the harness is the tests' state. */
static inline int harness_new(void **state, const char *text, const char *constants, const char *syscalls)
{
	struct harness *k = malloc(sizeof(*k));

	if (!k)
		return -1;
	harness_open(k, text, constants, syscalls);
	*state = k;
	return 0;
}

static inline int harness_free(void **state)
{
	struct harness *k = *state;

	espy_decoder__free(&k->decoder);
	free(k->blob);
	free(k);
	return 0;
}

static inline void harness_begin(struct harness *k, uint8_t *where, uint8_t type, const char *call, int64_t ret,
				 unsigned nargs, const uint64_t *args)
{
	int nr = espy_image__find_syscall(&k->img, call);
	assert_true(nr >= 0);
	struct espy_rec_call *r = (struct espy_rec_call *)where;
	*r = (struct espy_rec_call){
		.rec = { .type = type, .flags = (uint8_t)nargs, .nr = (uint16_t)nr, .tid = 7, .tgid = 7 }, .ret = ret
	};
	memcpy(where + sizeof(*r), args, 8 * nargs);
	k->cur = where;
	k->len = sizeof(*r) + 8 * nargs;
	r->rec.size = (uint32_t)k->len;
}

#define KIT_ARGS(...) \
	sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8, (const uint64_t[]) \
	{ \
		__VA_ARGS__ \
	}
#define harness_exit(k, call, ret, ...) harness_begin(k, (k)->rec, ESPY_REC_EXIT, call, ret, KIT_ARGS(__VA_ARGS__))
#define harness_enter(k, call, ...) harness_begin(k, (k)->enter, ESPY_REC_ENTER, call, 0, KIT_ARGS(__VA_ARGS__))

static inline void harness_item(struct harness *k, unsigned op, unsigned status, unsigned index, const void *bytes,
				size_t n)
{
	struct espy_item *it = (struct espy_item *)(k->cur + k->len);
	*it = (struct espy_item){
		.op = (uint8_t)op, .status = (uint8_t)status, .index = (uint16_t)index, .len = (uint32_t)n
	};
	memset(it + 1, 0xee, (n + 7) & ~7ul);
	if (n)
		memcpy(it + 1, bytes, n);
	k->len += sizeof(*it) + ((n + 7) & ~7ul);
	((struct espy_rec *)k->cur)->size = (uint32_t)k->len;
}

#define AT_EXIT ESPY_ITEM_AT_EXIT
#define FAULT ESPY_ITEM_FAULT
#define CUT ESPY_ITEM_TRUNCATED

/* Arguments and result of the view, decoded and as text. */
static inline void harness_put_args(struct harness *k, struct espy_buf *b)
{
	const enum espy_manner m = espy_text__manner(&k->o, k->view.nr);

	k->decoder.resolver = k->resolver;
	k->decoder.want = (struct espy_want){ 0 };
	espy_text__want(&k->o, &k->decoder.want);
	espy_decoder__args(&k->decoder, &k->view, m, 0);
	espy_text__args(b, &k->o, &k->img, espy_token_list__view(&k->decoder.args), m, true);
}

static inline void harness_put_result(struct harness *k, struct espy_buf *b)
{
	const enum espy_manner m = espy_text__manner(&k->o, k->view.nr);

	espy_decoder__result(&k->decoder, &k->view, m);
	espy_text__result(b, &k->o, &k->img, espy_token_list__view(&k->decoder.result), m);
}

/* The beginning of the call in the enter record; then the rest, with the exit record. Returns what was shown. */
static inline unsigned harness_put_begin(struct harness *k, struct espy_buf *b)
{
	assert_int_equal(espy_call_view__init(&k->view, &k->img, (struct espy_rec *)k->enter, NULL), 0);
	const enum espy_manner m = espy_text__manner(&k->o, k->view.nr);
	const unsigned shown = espy_decoder__begin(&k->decoder, &k->view, m);

	espy_text__args(b, &k->o, &k->img, espy_token_list__view(&k->decoder.args), m, true);
	return shown;
}

static inline void harness_put_rest(struct harness *k, struct espy_buf *b, unsigned shown)
{
	assert_int_equal(
		espy_call_view__init(&k->view, &k->img, (struct espy_rec *)k->enter, (struct espy_rec *)k->rec), 0);
	const enum espy_manner m = espy_text__manner(&k->o, k->view.nr);

	espy_decoder__args(&k->decoder, &k->view, m << ESPY_MANNER_REST, shown);
	espy_text__args(b, &k->o, &k->img, espy_token_list__view(&k->decoder.args), m << ESPY_MANNER_REST,
			!espy_shown_any(shown, m));
}

static inline void harness_put_siginfo(struct harness *k, struct espy_buf *b, const void *info, size_t size)
{
	espy_decoder__siginfo(&k->decoder, &k->img, info, size, ESPY_MANNER_BRIEF);
	espy_text__siginfo(b, &k->o, &k->img, espy_token_list__view(&k->decoder.args));
}

/* name(args) = result, of the exit record. The text is kept until the next call. */
static inline const char *harness_line(struct harness *k)
{
	static char line[65536];
	struct espy_buf b = { 0 };

	assert_int_equal(espy_call_view__init(&k->view, &k->img, NULL, (struct espy_rec *)k->rec), 0);
	espy_buf__puts(&b, espy_image__str(&k->img, k->img.syscalls[k->view.nr].name));
	espy_buf__putc(&b, '(');
	harness_put_args(k, &b);
	espy_buf__puts(&b, ") ");
	harness_put_result(k, &b);
	assert_true(b.len < sizeof(line));
	memcpy(line, b.data, b.len);
	line[b.len] = 0;
	espy_buf__free(&b);
	return line;
}

#endif
