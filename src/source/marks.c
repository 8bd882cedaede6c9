/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "agent/format.h"
#include "record/mark_format.h"

#define DEFS_MAX 65536u
#define TEXT_MAX 4096u

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

int espy_mark_defs__each(const struct espy_mark_defs *d, int (*fn)(void *ctx, const struct espy_rec *rec), void *ctx)
{
	int err = 0;

	for (const struct def *x = d->by_key; x && !err; x = x->hh.next)
		err = fn(ctx, &x->rec->rec);
	return err;
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
	const size_t len = strlen(name), format_len = strlen(format);
	struct espy_mark_conv c;
	size_t at = 0;

	for (unsigned i = 0; i < nargs && espy_mark_conv__next(&c, format, format_len, &at); i++)
		if (c.name_len && len == c.name_len && !memcmp(name, format + c.name_off, len))
			return (int)i;
	return espy_mark_arg_number(name, len, nargs);
}

/* As the agent has it: an integer is compared with whole numbers only, so that none is rounded. */
static void make_whole(struct espy_agent_pred *p)
{
	const int all = espy_mark_whole(p);

	if (!all)
		return;
	p->type = ESPY_CONST_INT;
	p->cmp = all > 0 ? ESPY_CMP_GE : ESPY_CMP_LT;
	p->i = INT64_MIN; /* no value is below it */
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
		t->v[t->cnt].pred = *p;
		if (kinds[arg] != ESPY_MARK_DOUBLE && p->type == ESPY_CONST_DOUBLE) {
			if (p->cmp == ESPY_CMP_AND)
				return false;
			make_whole(&t->v[t->cnt].pred);
		}
		t->cnt++;
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
