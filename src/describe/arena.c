/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Memory of one compilation: an arena for declarations, growing arrays for the image, interned names. */
#include <stdlib.h>
#include <string.h>
#include "base/fnv1a.h"
#include "describe/compiler.h"

#define CHUNK_SZ (256u * 1024u)

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

static uint32_t hash_bytes(const void *bytes, size_t n)
{
	const uint64_t h = espy_fnv1a(ESPY_FNV1A, bytes, n);

	return (uint32_t)(h ^ h >> 32);
}

static void sym_grow(struct dc *dc)
{
	uint32_t cap = dc->sym_cap ? dc->sym_cap * 4 : 16384;
	struct dc_sym **hash = dc_alloc(dc, cap * sizeof(*hash));

	for (uint32_t i = 0; i < dc->sym_cap; i++) {
		struct dc_sym *s = dc->sym_hash[i];

		while (s) {
			struct dc_sym *next = s->next;

			s->next = hash[s->hash & (cap - 1)];
			hash[s->hash & (cap - 1)] = s;
			s = next;
		}
	}
	dc->sym_hash = hash;
	dc->sym_cap = cap;
}

struct dc_sym *dc_intern(struct dc *dc, const char *s, size_t n)
{
	uint32_t h = hash_bytes(s, n);

	if (dc->sym_cnt >= dc->sym_cap)
		sym_grow(dc);
	struct dc_sym **bucket = &dc->sym_hash[h & (dc->sym_cap - 1)];

	for (struct dc_sym *p = *bucket; p; p = p->next)
		if (p->hash == h && p->len == n && !memcmp(p->s, s, n))
			return p;
	struct dc_sym *p = dc_alloc(dc, sizeof(*p) + n + 1);

	memcpy((char *)(p + 1), s, n);
	p->s = (char *)(p + 1);
	p->hash = h;
	p->len = (uint32_t)n;
	p->next = *bucket;
	*bucket = p;
	dc->sym_cnt++;
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
	uint32_t h = hash_bytes(rec, (size_t)n * v->elem_sz), cap = dc->intern_cap[which];

	if (!n)
		return 0;
	if (dc->intern_cnt[which] * 2 >= cap) {
		struct dc_run *old = dc->intern[which], *grown = dc_alloc(dc, (cap ? cap * 4 : 1024) * sizeof(*old));

		cap = cap ? cap * 4 : 1024;
		for (uint32_t i = 0; i < dc->intern_cap[which]; i++) {
			uint32_t k = old[i].hash & (cap - 1);

			if (!old[i].index1)
				continue;
			while (grown[k].index1)
				k = (k + 1) & (cap - 1);
			grown[k] = old[i];
		}
		dc->intern[which] = grown;
		dc->intern_cap[which] = cap;
	}
	struct dc_run *t = dc->intern[which];
	uint32_t k = h & (cap - 1);

	for (; t[k].index1; k = (k + 1) & (cap - 1))
		if (t[k].hash == h && t[k].n == n &&
		    !memcmp(dc_vec_at(v, t[k].index1 - 1), rec, (size_t)n * v->elem_sz))
			return t[k].index1 - 1;
	memcpy(dc_vec_add(dc, v, n), rec, (size_t)n * v->elem_sz);
	t[k] = (struct dc_run){ v->n - n + 1, n, h };
	dc->intern_cnt[which]++;
	return v->n - n;
}

static const char *const words[W_CNT] = {
	[W_U8] = "u8",
	[W_U16] = "u16",
	[W_U32] = "u32",
	[W_U64] = "u64",
	[W_S8] = "s8",
	[W_S16] = "s16",
	[W_S32] = "s32",
	[W_S64] = "s64",
	[W_BE16] = "be16",
	[W_BE32] = "be32",
	[W_BE64] = "be64",
	[W_INT] = "int",
	[W_UINT] = "uint",
	[W_LONG] = "long",
	[W_ULONG] = "ulong",
	[W_USIZE] = "usize",
	[W_CHAR] = "char",
	[W_ADDR] = "addr",
	[W_ADDR64] = "addr64",
	[W_FD] = "fd",
	[W_FD64] = "fd64",
	[W_DIRFD] = "dirfd",
	[W_PID] = "pid",
	[W_TID] = "tid",
	[W_PGID] = "pgid",
	[W_SID] = "sid",
	[W_UID] = "uid",
	[W_GID] = "gid",
	[W_IPV4] = "ipv4",
	[W_STR] = "str",
	[W_PATH] = "path",
	[W_BYTES] = "bytes",
	[W_REST] = "rest",
	[W_VOID] = "void",
	[W_BITS] = "bits",
	[W_REMARK] = "remark",
	[W_IN] = "in",
	[W_OUT] = "out",
	[W_INOUT] = "inout",
	[W_IN64] = "in64",
	[W_OUT64] = "out64",
	[W_INOUT64] = "inout64",
	[W_WHEN] = "when",
	[W_ON] = "on",
	[W_AT] = "at",
	[W_SPREAD] = "spread",
	[W_CLASS] = "class",
	[W_MAX] = "max",
	[W_VERBOSE] = "verbose",
	[W_NONZERO] = "nonzero",
	[W_ALWAYS] = "always",
	[W_HIDDEN] = "hidden",
	[W_NONAME] = "noname",
	[W_ON_OK] = "on_ok",
	[W_BEFORE] = "before",
	[W_AFTER] = "after",
	[W_HEX] = "hex",
	[W_OVER] = "over",
	[W_SHORT] = "short",
	[W_HIGH_FIRST] = "high_first",
	[W_HOOK] = "hook",
	[W_SIZED] = "sized",
	[W_OF] = "of",
	[W_MIN] = "min",
	[W_NULL] = "null",
	[W_RET] = "ret",
	[W_OUTER] = "outer",
	[W_SIZE] = "size",
	[W_FIRST] = "first",
	[W_KIND] = "kind",
	[W_INDEX] = "index",
	[W_ELSE] = "else",
	[W_SLOT] = "_",
	[W_FLAGS] = "flags",
	[W_ENUM] = "enum",
	[W_PACK] = "pack",
	[W_STRUCT] = "struct",
	[W_UNION] = "union",
	[W_TYPE] = "type",
	[W_ATTRS] = "attrs",
	[W_FROM] = "from",
	[W_AS] = "as",
	[W_MERGED] = "merged",
	[W_INCLUDE] = "include",
	[W_SHOW] = "show",
	[W_BRIEF] = "brief",
	[W_NOTE] = "note",
	[W_TAIL] = "tail",
	[W_PACKED] = "packed",
	[W_TLV] = "tlv",
	[W_ALIGN] = "align",
	[W_BY] = "by",
	[W_BRACES] = "braces",
	[W_SWITCH] = "switch",
	[W_NEWIMAGE] = "newimage",
	[W_NORETURN] = "noreturn",
	[W_TWICE] = "twice",
	[W_BLOCKS] = "blocks",
	[W_ORDER] = "order",
	[W_TRACEPOINT] = "tracepoint",
	[W_INNER] = "inner",
	[W_OK] = "ok",
	[W_ERR] = "err",
	[W_ANY] = "any",
	[W_POS] = "pos",
	[W_HEADED] = "headed",
	[W_EXTENT] = "extent",
	[W_BOTH] = "both",
	[W_NAMED] = "named",
	[W_THEN] = "then",
	[W_OK_OR_MORE] = "ok_or_more",
	[W_BARE] = "bare",
	[W_FOLDED] = "folded",
	[W_INDEXED] = "indexed",
	[W_UPTO] = "upto",
	[W_NAMING] = "naming",
	[W_SP] = "sp",
	[W_DATA] = "data",
	[W_ENV] = "env",
	[W_SECRET] = "secret",
	[W_WALLTIME] = "walltime",
	[W_UTIME] = "utime",
};

void dc_init_words(struct dc *dc)
{
	for (uint16_t w = 1; w < W_CNT; w++) {
		dc->words[w] = dc_intern(dc, words[w], strlen(words[w]));
		dc->words[w]->word = w;
	}
}
