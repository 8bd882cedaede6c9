/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the command espy-describe share. */
#ifndef ESPY_DESCRIBE_TOOL_H
#define ESPY_DESCRIBE_TOOL_H

#include "describe/describe.h"

struct tool_input {
	struct espy_text_source *sources;
	size_t source_cnt;
	struct espy_text_source constants[ESPY_ABI_CNT]; /* beyond the base: what differs */
	struct espy_text_source syscalls[ESPY_ABI_CNT];
};
struct tool_images {
	void *blob[ESPY_ABI_CNT];
	size_t size[ESPY_ABI_CNT];
};

/* The compiler's input for one ABI; consts must live as long as it. */
struct espy_describe_input tool_input_for(const struct tool_input *t, enum espy_abi abi,
					  struct espy_text_source consts[2]);

/* The modes of espy-describe; each says on stderr what is wrong, and returns 0 or a negative errno. */
int tool_write_builtin(const struct tool_input *t, const struct tool_images *im, const char *path);
int tool_list(const struct tool_input *t, const char *what);
int tool_dump(const struct tool_images *im, const char *call);

#endif
