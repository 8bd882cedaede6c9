/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A tool of the build: pack-objects OUT.c HEADER DECLARATION IN... writes a C file that includes HEADER and defines
 * DECLARATION, an array of struct espy_packed, with the bytes of each file in turn.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/packed.h"

/* Packs a whole file. NULL: errno. */
static void *pack_file(const char *name, size_t *packed)
{
	FILE *f = fopen(name, "re");
	struct espy_buf b = { 0 };
	size_t n;

	if (!f)
		return NULL;
	errno = ENOMEM;
	while (espy_buf__room(&b, 1 << 16) && (n = fread(b.data + b.len, 1, 1 << 16, f)))
		b.len += n;
	void *frame = b.failed || ferror(f) ? NULL : espy_packed__make(b.data, b.len, packed);

	fclose(f);
	espy_buf__free(&b);
	return frame;
}

static int write_objects(FILE *out, const char *header, const char *declaration, char **files, int n)
{
	size_t *sizes = calloc((size_t)n, sizeof(*sizes));
	int i = 0;

	fprintf(out, "#include <stdint.h>\n#include \"%s\"\n", header);
	for (; sizes && i < n; i++) {
		void *frame = pack_file(files[i], &sizes[i]);
		char name[32];

		if (!frame) {
			fprintf(stderr, "pack-objects: %s: %s\n", files[i], strerror(errno));
			break;
		}
		snprintf(name, sizeof(name), "object_%d", i);
		espy_packed__write_words(out, name, frame, sizes[i]);
		free(frame);
	}
	fprintf(out, "%s = {\n", declaration);
	for (int at = 0; at < i; at++)
		fprintf(out, "\t{ .bytes = object_%d, .size = %zu },\n", at, sizes[at]);
	fputs("};\n", out);
	free(sizes);
	return i == n ? 0 : -1;
}

int main(int argc, char **argv)
{
	FILE *out = argc > 4 ? fopen(argv[1], "we") : NULL;

	if (!out) {
		fputs("usage: pack-objects OUT.c HEADER DECLARATION IN...\n", stderr);
		return 1;
	}
	int err = write_objects(out, argv[2], argv[3], argv + 4, argc - 4);

	err = ferror(out) ? -1 : err;
	return fclose(out) || err;
}
