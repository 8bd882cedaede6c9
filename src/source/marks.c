/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/marks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define DEFS_MAX 65536u
#define TEXT_MAX 4096u

bool espy_mark_pattern__match(const char *p, const char *s)
{
	const char *star = NULL, *back = NULL;

	/* The last star takes one more character whenever the rest does not fit. */
	while (*s) {
		if (*p == '*') {
			star = ++p;
			back = s;
		} else if (*p == '?' || *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star;
			s = ++back;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

/* ---- formats */

/*
 * Steps over one conversion, *f behind its %. Returns how many of the record's arguments it is (0: "%%"); the ints of
 * `*` are not arguments there.
 */
static unsigned step_conversion(const char **f)
{
	const char *p = *f;

	if (*p == '%' || *p == 'm') {
		*f = p + 1;
		return 0;
	}
	while (*p && strchr("-+ #0'I", *p))
		p++;
	while (isdigit((unsigned char)*p) || *p == '*')
		p++;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p) || *p == '*';)
			p++;
	while (*p && strchr("hlqjztL", *p))
		p++;
	*f = *p ? p + 1 : p;
	return 1;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

size_t espy_mark_format__name(const char *format, unsigned arg, const char **name)
{
	const char *f = format, *text = format;

	while ((f = strchr(f, '%'))) {
		const char *end = f++, *start;

		if (!step_conversion(&f)) {
			text = f;
			continue;
		}
		if (arg--) {
			text = f;
			continue;
		}
		if (end - text >= 2 && end[-2] == '0' && (end[-1] == 'x' || end[-1] == 'X'))
			end -= 2;
		/* As the agent finds names (agent/format.c): "size=%d", "size: %d", "size %d", "path=\"%s\"". */
		while (end > text && strchr("\"'<([{", end[-1]))
			end--;
		if (end == text || !strchr("=: ", end[-1]))
			return 0;
		while (end > text && strchr("=: ", end[-1]))
			end--;
		for (start = end; start > text && is_name(start[-1]);)
			start--;
		while (start < end && !(*start == '_' || isalpha((unsigned char)*start)))
			start++;
		*name = start;
		return (size_t)(end - start);
	}
	return 0;
}

/* ---- definitions */

struct def {
	UT_hash_handle hh;
	uint32_t number;
	struct espy_rec_mark_def *rec; /* owned; what follows its fixed part is the key */
};

struct espy_mark_defs {
	struct def *by_key;
	uint32_t next, first;
};

struct espy_mark_defs *espy_mark_defs__new(uint32_t first)
{
	struct espy_mark_defs *d = calloc(1, sizeof(*d));

	if (d)
		d->next = d->first = first;
	return d;
}

void espy_mark_defs__free(struct espy_mark_defs *d)
{
	struct def *x, *next;

	if (!d)
		return;
	HASH_ITER(hh, d->by_key, x, next)
	{
		HASH_DEL(d->by_key, x);
		free(x->rec);
		free(x);
	}
	free(d);
}

static uint8_t *put_text(uint8_t *at, const char *s, size_t len)
{
	memcpy(at, s, len);
	at[len] = 0;
	return at + len + 1;
}

int espy_mark_defs__get(struct espy_mark_defs *d, const char *provider, size_t provider_len, const char *name,
			const char *format, const uint8_t *kinds, unsigned nargs, uint32_t *number, bool *fresh,
			const struct espy_rec_mark_def **out)
{
	size_t name_len = strnlen(name, TEXT_MAX), format_len = strnlen(format, TEXT_MAX);
	struct def *x;

	if (nargs > ESPY_MARK_MAX_ARGS)
		return -EINVAL;
	if (provider_len > TEXT_MAX)
		provider_len = TEXT_MAX;
	size_t size = sizeof(**out) + nargs + provider_len + name_len + format_len + 3;

	size = (size + 7) & ~(size_t)7;
	struct espy_rec_mark_def *rec = calloc(1, size);

	if (!rec)
		return -ENOMEM;
	*rec = (struct espy_rec_mark_def){
		.rec = { .size = (uint32_t)size, .type = ESPY_REC_MARK_DEF },
		.nargs = (uint8_t)nargs,
		.provider_sz = (uint16_t)(provider_len + 1),
		.name_sz = (uint16_t)(name_len + 1),
		.format_sz = (uint16_t)(format_len + 1),
	};
	uint8_t *at = (uint8_t *)(rec + 1);

	memcpy(at, kinds, nargs);
	at = put_text(at + nargs, provider, provider_len);
	at = put_text(at, name, name_len);
	put_text(at, format, format_len);
	/* Everything behind `def` tells definitions apart. */
	const size_t key_at = offsetof(struct espy_rec_mark_def, nargs);

	HASH_FIND(hh, d->by_key, (const uint8_t *)rec + key_at, size - key_at, x);
	*fresh = !x;
	if (x) {
		free(rec);
	} else {
		x = d->next - d->first < DEFS_MAX ? calloc(1, sizeof(*x)) : NULL;
		if (!x) {
			free(rec);
			return d->next - d->first < DEFS_MAX ? -ENOMEM : -ENOSPC;
		}
		x->rec = rec;
		x->number = rec->def = d->next++;
		HASH_ADD_KEYPTR(hh, d->by_key, (const uint8_t *)rec + key_at, size - key_at, x);
	}
	*number = x->number;
	*out = x->rec;
	return 0;
}

/* ---- predicates */

static bool is_string(uint8_t kind)
{
	return kind == ESPY_MARK_STRING || kind == ESPY_MARK_BYTES;
}

static bool is_signed(uint8_t kind)
{
	return kind == ESPY_MARK_I8 || kind == ESPY_MARK_I16 || kind == ESPY_MARK_I32 || kind == ESPY_MARK_I64;
}

static int find_arg(const char *name, const char *format, unsigned nargs)
{
	for (unsigned i = 0; i < nargs; i++) {
		const char *is;
		size_t len = espy_mark_format__name(format, i, &is);

		if (len && strlen(name) == len && !memcmp(name, is, len))
			return (int)i;
	}
	if (!strncmp(name, "arg", 3) && isdigit((unsigned char)name[3])) {
		char *end;
		unsigned long i = strtoul(name + 3, &end, 10);

		if (!*end && i < nargs)
			return (int)i;
	}
	return -1;
}

bool espy_mark_test__make(struct espy_mark_test *t, const struct espy_agent_rule *rule, const char *format,
			  const uint8_t *kinds, unsigned nargs)
{
	*t = (struct espy_mark_test){ 0 };
	for (unsigned i = 0; i < rule->npreds && i < ESPY_AGENT_PREDS; i++) {
		const struct espy_agent_pred *p = &rule->preds[i];
		int arg = find_arg(p->arg, format, nargs);

		if (arg < 0 || is_string(kinds[arg]) != (p->type == ESPY_CONST_STRING))
			return false;
		if (p->cmp == ESPY_CMP_AND && kinds[arg] == ESPY_MARK_DOUBLE)
			return false;
		t->v[t->cnt].arg = (uint8_t)arg;
		t->v[t->cnt++].pred = *p;
	}
	return true;
}

/* -1, 0, 1; 2: neither (not a number) */
static int compare_double(double a, double b)
{
	return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2;
}

/* By value, whatever the signs: -1 is less than 18446744073709551615. */
static int compare_number(uint64_t raw, uint8_t kind, const struct espy_agent_pred *p)
{
	const bool neg = is_signed(kind) && (int64_t)raw < 0;
	double d;

	if (kind == ESPY_MARK_DOUBLE) {
		memcpy(&d, &raw, sizeof(d));
		return compare_double(d, p->type == ESPY_CONST_DOUBLE ? p->d
					 : p->type == ESPY_CONST_INT  ? (double)p->i
								      : (double)p->u);
	}
	if (p->type == ESPY_CONST_DOUBLE)
		return compare_double(neg ? (double)(int64_t)raw : (double)raw, p->d);
	const bool c_neg = p->type == ESPY_CONST_INT && p->i < 0;

	if (neg != c_neg)
		return neg ? -1 : 1;
	return raw < p->u ? -1 : raw > p->u; /* of two negatives the order is the same */
}

static bool holds(int order, uint8_t cmp)
{
	switch (cmp) {
	case ESPY_CMP_EQ:
		return order == 0;
	case ESPY_CMP_NE:
		return order != 0;
	case ESPY_CMP_LT:
		return order == -1;
	case ESPY_CMP_LE:
		return order == -1 || order == 0;
	case ESPY_CMP_GT:
		return order == 1;
	case ESPY_CMP_GE:
		return order == 1 || order == 0;
	}
	return false;
}

static bool string_holds(const char *s, size_t len, uint32_t status, const struct espy_agent_pred *p)
{
	size_t n = p->str_len < sizeof(p->str) ? p->str_len : sizeof(p->str);
	bool same = len >= n && !memcmp(s, p->str, n);

	switch (p->cmp) {
	case ESPY_CMP_PREFIX:
		return same && status != ESPY_ITEM_FAULT;
	case ESPY_CMP_EQ:
		return same && len == n && status == ESPY_ITEM_OK;
	case ESPY_CMP_NE:
		return !(same && len == n && status == ESPY_ITEM_OK);
	}
	return false;
}

bool espy_mark_test__passes(const struct espy_mark_test *t, const void *args, size_t len, const uint8_t *kinds,
			    unsigned nargs)
{
	const uint8_t *at = args, *end = at + len;
	const uint8_t *places[ESPY_MARK_MAX_ARGS];
	uint32_t head[2];
	uint64_t raw;

	for (unsigned i = 0; i < nargs; i++) {
		places[i] = at;
		if ((size_t)(end - at) < 8)
			return false;
		if (is_string(kinds[i])) {
			memcpy(head, at, sizeof(head));
			at += ((size_t)head[0] + 7) & ~(size_t)7;
		}
		at += 8;
		if (at > end)
			return false;
	}
	for (unsigned i = 0; i < t->cnt; i++) {
		const struct espy_agent_pred *p = &t->v[i].pred;
		const uint8_t kind = kinds[t->v[i].arg], *value = places[t->v[i].arg];

		if (is_string(kind)) {
			memcpy(head, value, sizeof(head));
			size_t n = head[0];

			if (kind == ESPY_MARK_STRING && n && !value[8 + n - 1])
				n--;
			if (!string_holds((const char *)value + 8, n, head[1], p))
				return false;
			continue;
		}
		memcpy(&raw, value, sizeof(raw));
		if (p->cmp == ESPY_CMP_AND ? !(raw & p->u) : !holds(compare_number(raw, kind, p), p->cmp))
			return false;
	}
	return true;
}
