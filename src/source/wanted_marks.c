/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/wanted_marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/align.h"
#include "record/mark_format.h"

#define DEFS_MAX 65536u
#define TEXT_MAX 4096u

/* ---- definitions */

struct def {
	UT_hash_handle hh;
	uint32_t number;
	struct espy_rec_mark_def *rec; /* owned; the key follows its fixed part */
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

	size = espy_pad8(size);
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

/* ---- rules */

int espy_mark_arg__find(const char *name, const char *format, unsigned nargs)
{
	const size_t len = strlen(name), format_len = strlen(format);
	struct espy_mark_conv c;
	size_t at = 0;

	for (unsigned i = 0; i < nargs && espy_mark_conv__next(&c, format, format_len, &at); i++)
		if (c.name_len && len == c.name_len && !memcmp(name, format + c.name_off, len))
			return (int)i;
	return espy_mark_arg_number(name, len, nargs);
}

bool espy_mark_rule__fits(const struct espy_mark_rule *rule, const char *provider, const char *name, const char *format,
			  const uint8_t *kinds, unsigned nargs)
{
	if (!espy_mark_glob(rule->agent.pattern, provider, strlen(provider), name, strlen(name)))
		return false;
	for (unsigned i = 0; i < rule->agent.npreds && i < ESPY_AGENT_PREDS; i++) {
		const struct espy_agent_pred *p = &rule->agent.preds[i];
		const int arg = espy_mark_arg__find(p->arg, format, nargs);
		const bool text = arg >= 0 && (kinds[arg] == ESPY_MARK_STRING || kinds[arg] == ESPY_MARK_BYTES);

		if (arg < 0 || text != (p->type == ESPY_CONST_STRING) ||
		    (p->cmp == ESPY_CMP_AND && (kinds[arg] == ESPY_MARK_DOUBLE || p->type == ESPY_CONST_DOUBLE)))
			return false;
	}
	return true;
}
