/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * frozen primer TRACE | frozen descriptions TRACE: to standard output, what of a trace becomes a primer (u32 size of
 * the records, a mixed block of them) or, not yet compressed, a dictionary of descriptions (the oldest image of
 * x86-64). For tools/make-primer and tools/make-dictionary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include "trace/pack.h"
#include "trace/trace.h"

static int put_primer(struct espy_trace_reader *r)
{
	struct espy_pack *p = espy_pack__new(false);
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	const struct espy_rec *rec;
	uint8_t *records = NULL;
	uint32_t size = 0;
	const void *block;
	size_t block_sz;
	int got;

	while ((got = espy_trace_reader__next(r, &rec)) > 0) {
		records = realloc(records, size + rec->size);
		if (!records)
			return 1;
		memcpy(records + size, rec, rec->size);
		size += rec->size;
	}
	if (got < 0 || !size || !p || !cctx)
		return 1;
	espy_pack__bare(p);
	if (espy_pack__records(p, cctx, 19, true, records, size, &block, &block_sz))
		return 1;
	fwrite(&size, sizeof(size), 1, stdout);
	fwrite(block, block_sz, 1, stdout);
	ZSTD_freeCCtx(cctx);
	espy_pack__free(p);
	free(records);
	return 0;
}

static int put_descriptions(struct espy_trace_reader *r)
{
	const void *data, *oldest = NULL;
	size_t size, oldest_sz = 0;

	for (unsigned n = 0; !espy_trace_reader__older_section(r, ESPY_SECTION_IMAGE, 0, n, &data, &size); n++) {
		oldest = data;
		oldest_sz = size;
	}
	return !oldest || fwrite(oldest, oldest_sz, 1, stdout) != 1;
}

int main(int argc, char **argv)
{
	const struct espy_trace_read_opts o = { .size = sizeof(o) };
	struct espy_trace_reader *r;
	char why[200] = "usage: frozen primer|descriptions TRACE";

	if (argc != 3 || espy_trace_reader__open(&r, argv[2], &o, why, sizeof(why))) {
		fprintf(stderr, "frozen: %s\n", why);
		return 1;
	}
	int bad = !strcmp(argv[1], "primer") ? put_primer(r) : put_descriptions(r);

	espy_trace_reader__close(r);
	bad |= fflush(stdout);
	if (bad)
		fprintf(stderr, "frozen: it cannot be made of this trace\n");
	return bad;
}
