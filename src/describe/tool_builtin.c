/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* espy-describe --builtin: images and texts as a C file. Numbers, since string literals have a length limit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "describe/tool.h"

/* Writes words of 8 bytes: aligned as the image wants it, and quick to compile. */
static void put_words(FILE *f, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i += 8) {
		unsigned long long w = 0;

		memcpy(&w, (const char *)data + i, size - i < 8 ? size - i : 8);
		fprintf(f, "%s0x%llx,", i % 64 ? "" : "\n", w);
	}
}

static void put_text(FILE *f, const char *kind, size_t i, const struct espy_text_source *s)
{
	fprintf(f, "static const uint64_t %s_%zu[] = {", kind, i);
	put_words(f, s->text, s->size);
	fputs("\n0 };\n", f);
}

static void put_sources(FILE *f, const char *decl, const char *kind, const struct espy_text_source *s, size_t n)
{
	fprintf(f, "const struct espy_text_source %s = {\n", decl);
	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(s[i].name ? s[i].name : "", '/');
		const char *name = slash ? slash + 1 : s[i].name ? s[i].name : "";

		fprintf(f, "\t{ .name = \"%s\", .text = (const char *)%s_%zu, .size = %zu },\n", name, kind, i,
			s[i].size);
	}
	fputs("};\n", f);
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
		fprintf(f, "static const uint64_t image_%u[] = {", i);
		put_words(f, im->blob[i], im->size[i]);
		fputs("\n};\n", f);
		put_text(f, "constants", i, &t->constants[i]);
		put_text(f, "syscalls", i, &t->syscalls[i]);
	}
	for (size_t i = 0; i < t->source_cnt; i++)
		put_text(f, "source", i, &t->sources[i]);
	put_sources(f, "espy_builtin_sources[]", "source", t->sources, t->source_cnt);
	fprintf(f, "const size_t espy_builtin_source_cnt = %zu;\n", t->source_cnt);
	put_sources(f, "espy_builtin_constants[ESPY_ABI_CNT]", "constants", t->constants, ESPY_ABI_CNT);
	put_sources(f, "espy_builtin_syscalls[ESPY_ABI_CNT]", "syscalls", t->syscalls, ESPY_ABI_CNT);
	fputs("const void *espy_builtin_image(enum espy_abi abi, size_t *size)\n{\n"
	      "\tstatic const void *const images[ESPY_ABI_CNT] = { image_0, image_1, image_2, image_3 };\n"
	      "\tstatic const size_t sizes[ESPY_ABI_CNT] = { sizeof(image_0), sizeof(image_1), sizeof(image_2), "
	      "sizeof(image_3) };\n\n"
	      "\t*size = sizes[abi];\n\treturn images[abi];\n}\n",
	      f);
	int err = ferror(f) ? -EIO : 0;

	if (fclose(f) && !err)
		err = -errno;
	if (err)
		fprintf(stderr, "espy-describe: cannot write %s: %s\n", path, strerror(-err));
	return err;
}
