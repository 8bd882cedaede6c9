/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: descriptions and images. The bytes are compiled as a description (a NUL ends it and begins a
 * text of constants), and opened as an image. What compiles must open; what opens must survive every look-up
 * that a reader makes without checks of its own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "describe/describe.h"

static const char CALLS[] = "0 read 3 desc\n1 openat 4 file\n2 sendmsg 3 network\n3 ioctl 3 desc\n4 execve 3 process\n";

static void on_diag(void *ctx, const char *text)
{
	(void)ctx;
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t')
			abort(); /* control characters of the file would reach the terminal */
}

static uint64_t sum_expr(const struct espy_image *img, uint32_t i)
{
	const struct espy_expr *x = &img->exprs[i];

	if (x->op < ESPY_X_OR || x->op >= ESPY_X_SIZE)
		return x->value;
	if (x->op == ESPY_X_NOT || x->op == ESPY_X_INV || x->op == ESPY_X_ROUND_BITS)
		return sum_expr(img, x->a);
	return sum_expr(img, x->a) + sum_expr(img, x->b);
}

/* Touch what readers touch. */
static uint64_t walk(const struct espy_image *img)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < img->type_cnt; i++) {
		const struct espy_type *t = &img->types[i];

		sum += (uint64_t)*espy_image__str(img, t->name);
		for (uint32_t k = 0; t->kind == ESPY_T_STRUCT && k < t->count; k++)
			sum += img->types[img->fields[t->first + k].type].size;
		for (uint32_t k = 0; t->kind == ESPY_T_UNION && k < t->count; k++)
			sum += img->types[img->cases[t->first + k].type].size;
		if (t->len_a != ESPY_NONE)
			sum += sum_expr(img, t->len_a);
		if (t->table != ESPY_NONE)
			sum += img->tables[t->table].count;
	}
	for (uint32_t i = 0; i < img->table_cnt; i++)
		for (uint32_t k = 0; k < img->tables[i].count; k++)
			sum += strlen(espy_image__str(img, img->entries[img->tables[i].first + k].name));
	for (uint32_t nr = 0; nr < img->syscall_cnt; nr++) {
		uint32_t plan, call = espy_image__select(img, nr, (uint64_t[6]){ nr, 1, 2, 3, 4, 5 }, &plan);

		sum += img->plans[plan].op_cnt;
		for (unsigned k = 0; k < img->plans[plan].op_cnt; k++)
			sum += img->types[img->ops[img->plans[plan].first_op + k].type].size;
		if (call != ESPY_NONE)
			sum += img->calls[call].nparam;
	}
	return sum + espy_image__find_type(img, "msghdr") + espy_image__find_table(img, "open_flags") +
	       (uint64_t)espy_image__find_syscall(img, "openat");
}

/* So that nothing is optimised away. */
static volatile uint64_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct espy_image img;
	char *text = malloc(size + 8);

	if (!text)
		return 0;
	memcpy(text, data, size);
	if (!espy_image__open(&img, text, size, NULL))
		sink += walk(&img);

	const char *nul = memchr(text, 0, size);
	size_t n = nul ? (size_t)(nul - text) : size;
	const struct espy_text_source src = { "fuzz", text, n };
	const struct espy_text_source consts = { "consts", nul ? nul + 1 : "", nul ? size - n - 1 : 0 };
	const struct espy_describe_input in = {
		.abi = size % ESPY_ABI_CNT,
		.sources = &src,
		.source_cnt = 1,
		.constants = &consts,
		.constant_cnt = 1,
		.syscalls = { "calls", CALLS, sizeof(CALLS) - 1 },
	};
	void *blob;
	size_t blob_sz;

	if (!espy_describe_compile(&in, on_diag, NULL, &blob, &blob_sz)) {
		if (espy_image__open(&img, blob, blob_sz, NULL))
			abort();
		sink += walk(&img);
		/* an image with one bit changed */
		if (size) {
			((uint8_t *)blob)[(data[0] * 2654435761u + size * 40503u) % blob_sz] ^=
				(uint8_t)(1u << (data[size - 1] & 7));
			if (!espy_image__open(&img, blob, blob_sz, NULL))
				sink += walk(&img);
		}
		free(blob);
	}
	free(text);
	return 0;
}
