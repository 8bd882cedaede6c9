/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/mark_filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "filter/mark_names.h"
#include "record/mark_def.h"
#include "record/mark_format.h"
#include "record/mark_values.h"

#define DEFS_MAX 262144u

struct espy_mark_test {
	struct espy_evaluator *evaluator;
	unsigned nargs;
	uint8_t kinds[ESPY_MARK_MAX_ARGS];
};

/* ---- one rule, one definition */

int espy_mark_test__new(struct espy_mark_test **out, const struct espy_condition *c, const char *format,
			const uint8_t *kinds, unsigned nargs)
{
	struct espy_mark_names n = { .format = format, .kinds = kinds, .nargs = nargs };
	const struct espy_names names = { .ctx = &n, .find = espy_mark_names__find, .lenient = true };
	struct espy_condition_error e = { .at = 0 };
	struct espy_predicate p;
	struct espy_mark_test *t;
	int err;

	*out = NULL;
	if (nargs > ESPY_MARK_MAX_ARGS)
		return -EINVAL;
	err = espy_condition__bind(c, &names, &p, NULL, &e);
	if (err)
		return err;
	espy_predicate__fold(&p, NULL, NULL);
	if (espy_predicate__is_never(&p))
		return -ENOENT;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	err = espy_evaluator__new(&t->evaluator, &p);
	if (err) {
		free(t);
		return err;
	}
	t->nargs = nargs;
	memcpy(t->kinds, kinds, nargs);
	*out = t;
	return 0;
}

void espy_mark_test__free(struct espy_mark_test *t)
{
	if (!t)
		return;
	espy_evaluator__free(t->evaluator);
	free(t);
}

struct event {
	const struct espy_mark_test *test;
	const void *args;
	size_t size;
};

int espy_mark_values__get(const void *args, size_t size, const uint8_t *kinds, unsigned nargs, unsigned index,
			  struct espy_filter_value *out)
{
	const uint8_t *at = args, *end = at + size;
	struct espy_mark_value v;

	if (index >= nargs)
		return -ENOENT;
	for (unsigned i = 0; i <= index; i++)
		if (!espy_mark_value__next(&at, end, kinds[i], &v))
			return -EINVAL;
	const uint8_t kind = kinds[index];
	if (!espy_mark_kind_is_text(kind)) {
		out->u = v.num;
		out->type = kind == ESPY_MARK_DOUBLE ? ESPY_VALUE_DOUBLE :
			    espy_mark_kind_is_signed(kind) ? ESPY_VALUE_INT : ESPY_VALUE_UINT;
		return 0;
	}
	if (v.status == ESPY_ITEM_NOT_RUN || v.status == ESPY_ITEM_ADDRESS || (v.status == ESPY_ITEM_FAULT && !v.len))
		return -EFAULT;
	out->type = ESPY_VALUE_TEXT;
	out->cut = v.status != ESPY_ITEM_OK;
	out->text = (const char *)v.bytes;
	out->len = v.len;
	return 0;
}

static int get(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out)
{
	const struct event *e = ctx;

	(void)name;
	return espy_mark_values__get(e->args, e->size, e->test->kinds, e->test->nargs, (unsigned)ref, out);
}

bool espy_mark_test__passes(const struct espy_mark_test *t, const void *args, size_t len)
{
	struct event e = { .test = t, .args = args, .size = len };

	return espy_evaluator__holds(t->evaluator, get, &e);
}

/* ---- all rules, all definitions */

struct seen {
	UT_hash_handle hh;
	uint32_t def;
	unsigned nargs;
	uint8_t kinds[ESPY_MARK_MAX_ARGS];
	bool unconditional;
	struct espy_mark_test *tests[ESPY_AGENT_RULES]; /* any of them passes */
	size_t test_cnt;
};

struct espy_mark_filter {
	const struct espy_mark_rules *rules;
	unsigned skipped[ESPY_AGENT_RULES];
	struct seen *by_def;
};

struct espy_mark_filter *espy_mark_filter__new(const struct espy_mark_rules *rules)
{
	struct espy_mark_filter *f = calloc(1, sizeof(*f));

	if (f)
		f->rules = rules;
	return f;
}

static void clear(struct seen *x)
{
	for (size_t i = 0; i < x->test_cnt; i++)
		espy_mark_test__free(x->tests[i]);
	x->test_cnt = 0;
	x->unconditional = false;
}

void espy_mark_filter__free(struct espy_mark_filter *f)
{
	struct seen *x, *next;

	if (!f)
		return;
	HASH_ITER(hh, f->by_def, x, next)
	{
		HASH_DEL(f->by_def, x);
		clear(x);
		free(x);
	}
	free(f);
}

static int select_rules(struct espy_mark_filter *f, struct seen *x, const char *provider, const char *name, const char *format)
{
	for (size_t i = 0; i < f->rules->cnt && i < ESPY_AGENT_RULES; i++) {
		const struct espy_mark_rule *rule = &f->rules->v[i];
		int err;

		if (!espy_mark_glob(rule->agent.pattern, provider, strlen(provider), name, strlen(name)))
			continue;
		if (!rule->condition) {
			x->unconditional = true;
			continue;
		}
		err = espy_mark_test__new(&x->tests[x->test_cnt], rule->condition, format, x->kinds, x->nargs);
		if (err == -ENOMEM)
			return err;
		if (err)
			f->skipped[i]++;
		else
			x->test_cnt++;
	}
	return 0;
}

int espy_mark_filter__define(struct espy_mark_filter *f, const struct espy_rec_mark_def *def)
{
	struct espy_mark_def *text;
	int err = espy_mark_def__make(&text, def);
	struct seen *x;

	if (err)
		return err;
	HASH_FIND(hh, f->by_def, &def->def, sizeof(def->def), x);
	if (x)
		clear(x);
	else if (HASH_COUNT(f->by_def) < DEFS_MAX && (x = calloc(1, sizeof(*x)))) {
		x->def = def->def;
		HASH_ADD(hh, f->by_def, def, sizeof(x->def), x);
	}
	if (x) {
		x->nargs = def->nargs;
		memcpy(x->kinds, def + 1, def->nargs);
	}
	err = x ? select_rules(f, x, text->provider, text->name, text->format) : -ENOMEM;
	espy_mark_def__free(text);
	return err;
}

int espy_mark_filter__define_rec(void *f, const struct espy_rec *rec)
{
	if (rec->type == ESPY_REC_MARK_DEF)
		espy_mark_filter__define(f, (const struct espy_rec_mark_def *)rec);
	return 0;
}

bool espy_mark_filter__wants(struct espy_mark_filter *f, const struct espy_rec_mark *rec)
{
	struct seen *x;

	HASH_FIND(hh, f->by_def, &rec->def, sizeof(rec->def), x);
	if (!x || x->unconditional || !x->test_cnt)
		return x && x->unconditional;
	if (rec->rec.size < sizeof(*rec) || rec->len > rec->rec.size - sizeof(*rec) ||
	    !espy_mark_values__check(rec + 1, rec->len, x->kinds, x->nargs))
		return false;
	for (size_t i = 0; i < x->test_cnt; i++)
		if (espy_mark_test__passes(x->tests[i], rec + 1, rec->len))
			return true;
	return false;
}

unsigned espy_mark_filter__skipped(const struct espy_mark_filter *f, size_t i)
{
	return i < ESPY_AGENT_RULES ? f->skipped[i] : 0;
}
