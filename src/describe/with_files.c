/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* --describe FILE: the built-in texts and the user's files, compiled together at run time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "describe/builtin.h"

int espy_describe_with_files(enum espy_abi abi, const char *const *files, size_t n, espy_diag_fn diag, void *ctx,
			     void **blob, size_t *size)
{
	const struct espy_text_source consts[2] = { espy_builtin_constants[espy_abis[abi].base],
						    espy_builtin_constants[abi] };
	struct espy_text_source *s = calloc(espy_builtin_source_cnt + n, sizeof(*s));
	size_t read = 0;
	int err = 0;

	if (!s)
		return -ENOMEM;
	memcpy(s, espy_builtin_sources, espy_builtin_source_cnt * sizeof(*s));
	for (; read < n; read++) {
		err = espy_text_source__read(&s[espy_builtin_source_cnt + read], files[read]);
		if (err) {
			char text[512];

			snprintf(text, sizeof(text), "%.300s: cannot be read: %s", files[read],
				 err == -EMEDIUMTYPE ? "a description is a regular file" : strerror(-err));
			espy_diag__make_printable(text);
			if (diag && err != -ENOMEM)
				diag(ctx, text);
			err = err == -ENOMEM ? err : -EINVAL;
			break;
		}
	}
	if (!err) {
		const struct espy_describe_input in = {
			.abi = abi,
			.sources = s,
			.source_cnt = espy_builtin_source_cnt + n,
			.constants = consts,
			.constant_cnt = abi == espy_abis[abi].base ? 1 : 2,
			.syscalls = espy_builtin_syscalls[abi],
		};

		err = espy_describe_compile(&in, diag, ctx, blob, size);
	}
	for (size_t i = 0; i < read; i++)
		free((void *)s[espy_builtin_source_cnt + i].text);
	free(s);
	return err;
}
