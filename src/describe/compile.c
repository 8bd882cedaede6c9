/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stages, in order. Each may report any number of errors; the image is written if there were none. */
#include <errno.h>
#include <stdlib.h>
#include "describe/compiler.h"

#define MAX_SOURCES 128u

_Static_assert(sizeof(((struct dc *)0)->src) / sizeof(void *) >= MAX_SOURCES, "a place for each text");

static void init(struct dc *dc)
{
	dc->toks.elem_sz = sizeof(struct dc_tok);
	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		dc->sections[i].elem_sz = espy_image_elem_sz[i];
	dc->tables_tail = &dc->tables;
	dc->named_tail = &dc->named;
	dc->calls_tail = &dc->calls;
	dc->variants_tail = &dc->variants;
	dc_layout_init(dc);
	dc_init_words(dc);
	dc_vec_add(dc, &dc->strings, 1); /* offset 0 is "" */
}

static void destroy(struct dc *dc)
{
	dc_vec_free(&dc->toks);
	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		dc_vec_free(&dc->sections[i]);
	dc_arena_free(&dc->arena);
}

static uint32_t add_source(struct dc *dc, const struct espy_text_source *s)
{
	dc->src[dc->src_cnt] = s;
	return dc->src_cnt++;
}

static void stages(struct dc *dc)
{
	const struct espy_describe_input *in = dc->in;

	init(dc);
	for (size_t i = 0; i < in->constant_cnt; i++)
		dc_load_constants(dc, add_source(dc, &in->constants[i]), (uint32_t)i + 1);
	if (in->syscalls.text)
		dc_load_syscalls(dc, add_source(dc, &in->syscalls));
	for (size_t i = 0; i < in->source_cnt; i++)
		dc_parse(dc, add_source(dc, &in->sources[i]));
	if (dc->too_many)
		return;
	dc_table_constants(dc);
	for (struct ast_table *t = dc->tables; t && !dc->too_many; t = t->next)
		dc_lower_table(dc, t);
	dc_lower_all_named(dc);
	dc_bind_variants(dc);
	dc_lower_calls(dc);
}

static int run(const struct espy_describe_input *in, const struct espy_describe_listing *l, espy_diag_fn diag,
	       void *diag_ctx, void **blob, size_t *size)
{
	struct dc *dc;
	int err;

	if (in->source_cnt + in->constant_cnt + 1 > MAX_SOURCES || in->abi >= ESPY_ABI_CNT)
		return -EINVAL;
	for (size_t i = 0; i < in->source_cnt; i++)
		if (in->sources[i].size > 1u << 28)
			return -E2BIG;
	dc = calloc(1, sizeof(*dc));
	if (!dc)
		return -ENOMEM;
	dc->in = in;
	dc->listing = l;
	dc->diag = diag;
	dc->diag_ctx = diag_ctx;
	if (setjmp(dc->no_memory)) {
		err = -ENOMEM;
	} else {
		stages(dc);
		err = dc->errors ? -EINVAL : blob ? dc_write(dc, blob, size) : 0;
	}
	destroy(dc);
	free(dc);
	return err;
}

int espy_describe_compile(const struct espy_describe_input *in, espy_diag_fn diag, void *diag_ctx, void **blob,
			  size_t *size)
{
	return run(in, NULL, diag, diag_ctx, blob, size);
}

int espy_describe_list(const struct espy_describe_input *in, const struct espy_describe_listing *l, espy_diag_fn diag,
		       void *diag_ctx)
{
	return run(in, l, diag, diag_ctx, NULL, NULL);
}
