/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/symbolizer.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* The most open files: a trace may name any number of them. */
#define FILES_MAX 1024

struct file {
	struct espy_lines_of *lines; /* NULL: it cannot be used */
	UT_hash_handle hh;
	uint8_t build_id[20];
	uint8_t build_id_sz;
	char path[]; /* the key */
};

struct espy_symbolizer {
	struct file *by_key;
};

struct espy_symbolizer *espy_symbolizer__new(void)
{
	return calloc(1, sizeof(struct espy_symbolizer));
}

static void drop(struct espy_symbolizer *s, struct file *f)
{
	HASH_DEL(s->by_key, f);
	espy_lines_of__close(f->lines);
	free(f);
}

void espy_symbolizer__free(struct espy_symbolizer *s)
{
	struct file *f, *next;

	if (!s)
		return;
	HASH_ITER(hh, s->by_key, f, next)
	drop(s, f);
	free(s);
}

struct espy_lines_of *espy_symbolizer__file(struct espy_symbolizer *s, const char *path, const uint8_t *build_id,
					    size_t build_id_sz)
{
	const size_t len = strlen(path);
	struct file *f;

	HASH_FIND(hh, s->by_key, path, len, f);
	/* The newer one of two files of one path takes the place. */
	if (f && (f->build_id_sz != build_id_sz || memcmp(f->build_id, build_id, build_id_sz))) {
		drop(s, f);
		f = NULL;
	}
	if (f)
		return f->lines;
	if (build_id_sz > sizeof(f->build_id))
		return NULL;
	if (HASH_COUNT(s->by_key) >= FILES_MAX)
		drop(s, s->by_key);
	f = calloc(1, sizeof(*f) + len + 1);
	if (!f)
		return NULL;
	memcpy(f->path, path, len);
	memcpy(f->build_id, build_id, build_id_sz);
	f->build_id_sz = (uint8_t)build_id_sz;
	f->lines = espy_lines_of__open(path);
	if (f->lines && build_id_sz && !espy_lines_of__has_build_id(f->lines, build_id, build_id_sz)) {
		espy_lines_of__close(f->lines);
		f->lines = NULL;
	}
	HASH_ADD_KEYPTR(hh, s->by_key, f->path, len, f);
	return f->lines;
}
