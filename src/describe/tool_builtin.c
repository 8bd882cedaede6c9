/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* espy-describe --builtin: images and texts as a C file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/packed.h"
#include "describe/tool.h"

/* Writes the names and sizes of texts, which go to *all one behind the other. */
static void put_heads(FILE *f, struct espy_buf *all, const struct espy_text_source *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "\t{ .name = \"%s\", .size = %zu },\n", s[i].name ? basename(s[i].name) : "", s[i].size);
		espy_buf__put(all, s[i].text, s[i].size);
	}
}

/* Writes all texts as one frame, which is smaller than a frame for each would be. */
static int put_texts(FILE *f, const struct tool_input *t)
{
	struct espy_buf all = { 0 };
	size_t size;

	fputs("const struct espy_text_source espy_builtin_text_heads[] = {\n", f);
	put_heads(f, &all, t->sources, t->source_cnt);
	put_heads(f, &all, t->constants, ESPY_ABI_CNT);
	put_heads(f, &all, t->syscalls, ESPY_ABI_CNT);
	fprintf(f, "};\nconst size_t espy_builtin_source_cnt = %zu;\n", t->source_cnt);
	void *frame = all.failed ? NULL : espy_packed__make(all.data, all.len, &size);

	espy_buf__free(&all);
	if (!frame)
		return -ENOMEM;
	espy_packed__write_words(f, "texts", frame, size);
	fprintf(f, "const struct espy_packed espy_builtin_texts = { .bytes = texts, .size = %zu };\n", size);
	free(frame);
	return 0;
}

int tool_write_builtin(const struct tool_input *t, const struct tool_images *im, const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f) {
		int err = -errno;

		fprintf(stderr, "espy-describe: cannot write %s: %s\n", path, strerror(-err));
		return err;
	}
	fputs("/* Made by espy-describe from descriptions/. */\n#include <stdint.h>\n#include \"describe/builtin.h\"\n",
	      f);
	for (unsigned i = 0; i < ESPY_ABI_CNT; i++) {
		char name[16];

		snprintf(name, sizeof(name), "image_%u", i);
		espy_packed__write_words(f, name, im->blob[i], im->size[i]);
	}
	int err = put_texts(f, t);

	fputs("const void *espy_builtin_image(enum espy_abi abi, size_t *size)\n{\n"
	      "\tstatic const void *const images[ESPY_ABI_CNT] = { image_0, image_1, image_2, image_3 };\n"
	      "\tstatic const size_t sizes[ESPY_ABI_CNT] = { sizeof(image_0), sizeof(image_1), sizeof(image_2), "
	      "sizeof(image_3) };\n\n"
	      "\t*size = sizes[abi];\n\treturn images[abi];\n}\n",
	      f);
	if (ferror(f) && !err)
		err = -EIO;
	if (fclose(f) && !err)
		err = -errno;
	if (err)
		fprintf(stderr, "espy-describe: cannot write %s: %s\n", path, strerror(-err));
	return err;
}
