/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/probe_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "filter/mark_filter.h"
#include "filter/probe_names.h"
#include "record/mark_def.h"
#include "record/mark_values.h"

#define DEFS_MAX 262144u
#define RULES_MAX 16u /* of a trace, that want one probe */

/* ---- names */

int espy_probe_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	static const struct {
		const char *name;
		uint16_t ref, flags;
	} own[] = {
		{ "pid", ESPY_PROBE_NAME_PID, 0 },
		{ "tid", ESPY_PROBE_NAME_TID, 0 },
		{ "duration", ESPY_PROBE_NAME_DURATION, ESPY_NAME_DURATION },
	};
	struct espy_probe_names *n = ctx;
	const int err = espy_mark_names__find(&n->args, name, text, out, why, why_sz);

	if (err != -ENOENT)
		return err;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(name, own[i].name))
			continue;
		if (text || (own[i].flags && !n->returns)) {
			snprintf(why, why_sz, text ? "%s is a number; a number is expected" :
						     "%s is known where a function returns (FILE:SYMBOL%%return)", name);
			return -EINVAL;
		}
		*out = (struct espy_name_info){ .type = ESPY_VALUE_UINT, .flags = own[i].flags, .ref = own[i].ref };
		return 0;
	}
	snprintf(why, why_sz, "the probe has no argument '%s'; beside its arguments there are pid, tid and duration", name);
	return -ENOENT;
}

/* ---- rules and definitions */

struct seen {
	UT_hash_handle hh;
	uint32_t def;
	uint8_t kind;
	unsigned nargs;
	uint8_t kinds[ESPY_MARK_MAX_ARGS];
	bool unconditional;
	struct espy_evaluator *tests[RULES_MAX]; /* any of them holds */
	size_t test_cnt;
};

struct espy_probe_filter {
	const struct espy_probe_rules *rules;
	const struct espy_probes *places;
	struct seen *by_def;
};

struct espy_probe_filter *espy_probe_filter__new(const struct espy_probe_rules *rules, const struct espy_probes *places)
{
	struct espy_probe_filter *f = calloc(1, sizeof(*f));

	if (f) {
		f->rules = rules;
		f->places = places;
	}
	return f;
}

static void clear(struct seen *x)
{
	for (size_t i = 0; i < x->test_cnt; i++)
		espy_evaluator__free(x->tests[i]);
	x->test_cnt = 0;
	x->unconditional = false;
}

void espy_probe_filter__free(struct espy_probe_filter *f)
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

static bool fits(const char *pattern, const char *name)
{
	return strpbrk(pattern, "*?") ? !fnmatch(pattern, name, 0) : !strcmp(pattern, name);
}

/* Is the probe of a trace one that the rule names? */
static bool is_named(const struct espy_probe_rule *rule, const struct espy_mark_def *def)
{
	const char *slash = rule->file ? strrchr(rule->file, '/') : NULL;
	const char *file = slash ? slash + 1 : rule->file;

	return file && rule->symbol && fits(file, def->provider) && fits(rule->symbol, def->name) &&
	       (!rule->returns || def->place == ESPY_PROBE_RETURN);
}

static bool is_wanted_by(const struct espy_probe_filter *f, const struct espy_probe_rule *rule, uint32_t def,
			 const struct espy_mark_def *text)
{
	const uint32_t i = def - ESPY_PROBE_FIRST_DEF;

	if (!f->places)
		return is_named(rule, text);
	return i < f->places->place_cnt && f->places->places[i].rule == rule;
}

static int add_rule(struct seen *x, const struct espy_probe_rule *rule, const char *format)
{
	struct espy_probe_names n = {
		.args = { .format = format, .kinds = x->kinds, .nargs = x->nargs },
		.returns = x->kind == ESPY_PROBE_RETURN,
	};
	const struct espy_names names = { .ctx = &n, .find = espy_probe_names__find, .lenient = true };
	struct espy_condition_error e = { .at = 0 };
	struct espy_predicate p;

	if (!rule->condition) {
		x->unconditional = true;
		return 0;
	}
	if (x->test_cnt == RULES_MAX || espy_condition__bind(rule->condition, &names, &p, NULL, &e))
		return 0;
	espy_predicate__fold(&p, NULL, NULL);
	if (espy_predicate__is_never(&p))
		return 0;
	int err = espy_evaluator__new(&x->tests[x->test_cnt], &p);

	x->test_cnt += !err;
	return err;
}

static struct seen *get_seen(struct espy_probe_filter *f, const struct espy_rec_probe_def *def)
{
	struct seen *x;

	HASH_FIND(hh, f->by_def, &def->def, sizeof(def->def), x);
	if (x) {
		clear(x);
	} else if (HASH_COUNT(f->by_def) < DEFS_MAX && (x = calloc(1, sizeof(*x)))) {
		x->def = def->def;
		HASH_ADD(hh, f->by_def, def, sizeof(x->def), x);
	}
	return x;
}

int espy_probe_filter__define_rec(void *filter, const struct espy_rec *rec)
{
	const struct espy_rec_probe_def *def = (const struct espy_rec_probe_def *)rec;
	struct espy_probe_filter *f = filter;
	struct espy_mark_def *text;
	struct seen *x;

	if (rec->type != ESPY_REC_PROBE_DEF || espy_mark_def__make_probe(&text, def))
		return 0;
	x = get_seen(f, def);
	if (x) {
		x->kind = def->kind;
		x->nargs = def->nargs;
		memcpy(x->kinds, def + 1, def->nargs);
		for (size_t i = 0; i < f->rules->cnt; i++)
			if (is_wanted_by(f, &f->rules->v[i], def->def, text))
				add_rule(x, &f->rules->v[i], text->format);
	}
	espy_mark_def__free(text);
	return 0;
}

/* ---- hits */

struct hit {
	const struct seen *def;
	const struct espy_rec_probe *rec;
};

static int get(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out)
{
	const struct hit *h = ctx;

	(void)name;
	out->type = ESPY_VALUE_UINT;
	switch (ref) {
	case ESPY_PROBE_NAME_PID:
		out->u = h->rec->rec.tgid;
		return 0;
	case ESPY_PROBE_NAME_TID:
		out->u = h->rec->rec.tid;
		return 0;
	case ESPY_PROBE_NAME_DURATION:
		if (!h->rec->begin_ns || h->rec->rec.time_ns < h->rec->begin_ns)
			return -ENODATA;
		out->u = h->rec->rec.time_ns - h->rec->begin_ns;
		return 0;
	default:
		if (h->rec->rec.nr >> ref & 1)
			return -EFAULT; /* it could not be read */
		return espy_mark_values__get(h->rec + 1, h->rec->len, h->def->kinds, h->def->nargs, (unsigned)ref, out);
	}
}

bool espy_probe_filter__wants(struct espy_probe_filter *f, const struct espy_rec_probe *rec)
{
	struct seen *x;

	HASH_FIND(hh, f->by_def, &rec->def, sizeof(rec->def), x);
	if (!x || x->unconditional || !x->test_cnt)
		return x && x->unconditional;
	if (rec->rec.size < sizeof(*rec) || rec->len > rec->rec.size - sizeof(*rec) ||
	    !espy_mark_values__check(rec + 1, rec->len, x->kinds, x->nargs))
		return false;
	struct hit h = { .def = x, .rec = rec };

	for (size_t i = 0; i < x->test_cnt; i++)
		if (espy_evaluator__holds(x->tests[i], get, &h))
			return true;
	return false;
}
