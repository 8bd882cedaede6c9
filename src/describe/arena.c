/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of one compilation: an arena for declarations, growing arrays for the image, interned names. */
#include <stdlib.h>
#include <string.h>
#include "describe/compiler.h"

/* The arena has the tables as well: without memory dc_alloc() does not return. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(size) dc_alloc(dc, size)
#define uthash_free(p, size)

#define CHUNK_SZ (256u * 1024u)

/* Records of the image that stand at the index `first` of their array. */
struct dc_run {
	uint32_t first;
	UT_hash_handle hh;
};

void *dc_alloc(struct dc *dc, size_t size)
{
	struct dc_arena *a = &dc->arena;

	size = (size + 15) & ~(size_t)15;
	if ((size_t)(a->end - a->at) < size) {
		size_t want = size + 16 > CHUNK_SZ ? size + 16 : CHUNK_SZ;
		struct dc_chunk *c = calloc(1, want);

		if (!c)
			longjmp(dc->no_memory, 1);
		c->next = a->chunks;
		a->chunks = c;
		a->at = (char *)c + 16;
		a->end = (char *)c + want;
	}
	void *p = a->at;

	a->at += size;
	return p;
}

void *dc_keep(struct dc *dc, const void *v, uint32_t n, size_t elem_sz)
{
	void *p = dc_alloc(dc, n * elem_sz);

	if (n)
		memcpy(p, v, n * elem_sz);
	return p;
}

void dc_arena_free(struct dc_arena *a)
{
	while (a->chunks) {
		struct dc_chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	a->at = a->end = NULL;
}

char *dc_strndup(struct dc *dc, const char *s, size_t n)
{
	char *p = dc_alloc(dc, n + 1);

	memcpy(p, s, n);
	return p;
}

void *dc_vec_add(struct dc *dc, struct dc_vec *v, uint32_t n)
{
	if (v->cap - v->n < n) {
		uint32_t cap = v->cap ? v->cap * 2 : 64;

		while (cap - v->n < n)
			cap *= 2;
		void *p = realloc(v->data, (size_t)cap * v->elem_sz);

		if (!p)
			longjmp(dc->no_memory, 1);
		v->data = p;
		v->cap = cap;
	}
	void *at = (char *)v->data + (size_t)v->n * v->elem_sz;

	memset(at, 0, (size_t)n * v->elem_sz);
	v->n += n;
	return at;
}

void *dc_vec_at(const struct dc_vec *v, uint32_t i)
{
	/* An empty array has no data; nothing of it is read, but adding to NULL is undefined. */
	return v->data ? (char *)v->data + (size_t)i * v->elem_sz : NULL;
}

void dc_vec_free(struct dc_vec *v)
{
	free(v->data);
	v->data = NULL;
	v->n = v->cap = 0;
}

struct dc_sym *dc_intern(struct dc *dc, const char *s, size_t n)
{
	struct dc_sym *p;

	HASH_FIND(hh, dc->syms, s, n, p);
	if (p)
		return p;
	p = dc_alloc(dc, sizeof(*p));
	p->s = dc_strndup(dc, s, n);
	p->len = (uint32_t)n;
	HASH_ADD_KEYPTR(hh, dc->syms, p->s, n, p);
	return p;
}

uint32_t dc_sym_str(struct dc *dc, struct dc_sym *s)
{
	if (!s->str && s->len) {
		if (!dc->strings.n)
			dc_vec_add(dc, &dc->strings, 1); /* offset 0 is "" */
		s->str = dc->strings.n;
		memcpy(dc_vec_add(dc, &dc->strings, s->len + 1), s->s, s->len);
	}
	return s->str;
}

uint32_t dc_str(struct dc *dc, const char *s)
{
	return s ? dc_sym_str(dc, dc_intern(dc, s, strlen(s))) : 0;
}

static struct dc_vec *interned_vec(struct dc *dc, enum dc_interned which)
{
	switch (which) {
	case DC_TYPES:
		return &dc->types;
	case DC_EXPRS:
		return &dc->exprs;
	case DC_FIELDS:
		return &dc->fields;
	case DC_CASES:
		return &dc->cases;
	default:
		return &dc->index_list;
	}
}

uint32_t dc_intern_record(struct dc *dc, enum dc_interned which, const void *rec, uint32_t n)
{
	struct dc_vec *v = interned_vec(dc, which);
	const size_t size = n * v->elem_sz;
	struct dc_run *run;

	if (!n)
		return 0;
	HASH_FIND(hh, dc->interned[which], rec, size, run);
	if (run)
		return run->first;
	run = dc_alloc(dc, sizeof(*run));
	run->first = v->n;
	memcpy(dc_vec_add(dc, v, n), rec, size);
	/* The array moves when it grows. */
	HASH_ADD_KEYPTR(hh, dc->interned[which], dc_keep(dc, rec, n, v->elem_sz), size, run);
	return run->first;
}

void dc_init_words(struct dc *dc)
{
	static const char *const words[W_CNT] = {
#define WORD(name, text) [W_##name] = text,
		DC_WORDS(WORD)
#undef WORD
	};

	for (uint16_t w = 1; w < W_CNT; w++) {
		dc->words[w] = dc_intern(dc, words[w], strlen(words[w]));
		dc->words[w]->word = w;
	}
}
