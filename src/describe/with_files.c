/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --describe FILE: the built-in texts and the user's files, compiled together at run time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "describe/builtin.h"

/* The built-in texts, unpacked: descriptions with room for n more behind them, and the tables of an ABI. */
struct texts {
	char *bytes;
	struct espy_text_source *sources, constants[2], syscalls;
	size_t constant_cnt;
};

static int open_texts(struct texts *t, enum espy_abi abi, size_t n)
{
	struct espy_text_source tables[2 * ESPY_ABI_CNT];
	size_t size, at = 0;

	t->bytes = espy_packed__open(&espy_builtin_texts, &size);
	t->sources = calloc(espy_builtin_source_cnt + n, sizeof(*t->sources));
	if (!t->bytes || !t->sources)
		return -ENOMEM;
	for (size_t i = 0; i < espy_builtin_source_cnt + 2 * ESPY_ABI_CNT; i++) {
		struct espy_text_source *s =
			i < espy_builtin_source_cnt ? &t->sources[i] : &tables[i - espy_builtin_source_cnt];

		*s = espy_builtin_text_heads[i];
		s->text = t->bytes + at;
		at += s->size;
	}
	t->constants[0] = tables[espy_abis[abi].base];
	t->constants[1] = tables[abi];
	t->constant_cnt = abi == espy_abis[abi].base ? 1 : 2;
	t->syscalls = tables[ESPY_ABI_CNT + abi];
	return 0;
}

/* Reads a file of the user's, or says why not. */
static int read_source(struct espy_text_source *s, const char *file, espy_diag_fn diag, void *ctx)
{
	const int err = espy_text_source__read(s, file);
	char text[512];

	if (!err || err == -ENOMEM)
		return err;
	snprintf(text, sizeof(text), "%.300s: cannot be read: %s", file,
		 err == -EMEDIUMTYPE ? "a description is a regular file" : strerror(-err));
	espy_diag__make_printable(text);
	if (diag)
		diag(ctx, text);
	return -EINVAL;
}

int espy_describe_with_files(enum espy_abi abi, const char *const *files, size_t n, espy_diag_fn diag, void *ctx,
			     void **blob, size_t *size)
{
	struct texts t = { 0 };
	size_t read = 0;
	int err = open_texts(&t, abi, n);

	for (; read < n && !err; read += !err)
		err = read_source(&t.sources[espy_builtin_source_cnt + read], files[read], diag, ctx);
	if (!err) {
		const struct espy_describe_input in = {
			.abi = abi,
			.sources = t.sources,
			.source_cnt = espy_builtin_source_cnt + n,
			.constants = t.constants,
			.constant_cnt = t.constant_cnt,
			.syscalls = t.syscalls,
		};

		err = espy_describe_compile(&in, diag, ctx, blob, size);
	}
	for (size_t i = 0; i < read; i++)
		free((void *)t.sources[espy_builtin_source_cnt + i].text);
	free(t.sources);
	free(t.bytes);
	return err;
}
