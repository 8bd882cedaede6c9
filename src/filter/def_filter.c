/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/def_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/pattern.h"
#include "filter/mark_names.h"
#include "record/mark_def.h"
#include "record/mark_format.h"
#include "record/mark_values.h"

#define DEFS_MAX 262144u
#define RULES_MAX ESPY_AGENT_RULES /* the most rules that want one definition */

/* ---- rules and definitions */

struct seen {
	UT_hash_handle hh;
	uint32_t def;
	bool returns;
	struct espy_mark_def *text; /* as the stream has defined it; owned */
	uint8_t kinds[ESPY_MARK_MAX_ARGS];
	bool unconditional;
	struct espy_evaluator *tests[RULES_MAX]; /* one of them must hold */
	size_t test_cnt;
};

struct espy_def_filter {
	const struct espy_mark_rules *marks;   /* NULL: the filter is of probes */
	const struct espy_probe_rules *probes; /* NULL: it is of marks */
	const struct espy_probes *places;
	unsigned skipped[RULES_MAX];
	struct seen *by_def;
};

static struct espy_def_filter *make(struct espy_def_filter of)
{
	struct espy_def_filter *f = malloc(sizeof(*f));

	if (f)
		*f = of;
	return f;
}

struct espy_def_filter *espy_def_filter__of_marks(const struct espy_mark_rules *rules)
{
	return make((struct espy_def_filter){ .marks = rules });
}

struct espy_def_filter *espy_def_filter__of_probes(const struct espy_probe_rules *rules,
						   const struct espy_probes *places)
{
	return make((struct espy_def_filter){ .probes = rules, .places = places });
}

static void clear(struct seen *x)
{
	for (size_t i = 0; i < x->test_cnt; i++)
		espy_evaluator__free(x->tests[i]);
	espy_mark_def__free(x->text);
	x->text = NULL;
	x->test_cnt = 0;
	x->unconditional = false;
}

void espy_def_filter__free(struct espy_def_filter *f)
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

/* Tells whether the rule names the probe: by its place, or in a trace by its names. */
static bool names_probe(const struct espy_def_filter *f, const struct espy_probe_rule *rule, uint32_t def,
			const struct espy_mark_def *text)
{
	const char *slash = rule->file ? strrchr(rule->file, '/') : NULL;
	const char *file = slash ? slash + 1 : rule->file;
	const uint32_t i = def - ESPY_PROBE_FIRST_DEF;

	if (f->places)
		return i < f->places->place_cnt && f->places->places[i].rule == rule;
	return file && rule->symbol && espy_fits(file, text->provider) && espy_fits(rule->symbol, text->name) &&
	       (rule->where == ESPY_PROBE_AT_TRACEPOINT) == (text->place == ESPY_PROBE_TRACEPOINT) &&
	       (!rule->returns || text->place == ESPY_PROBE_RETURN);
}

/* Adds the condition of a rule that names the definition. Returns false if no event of this definition can meet it. */
static bool add_condition(struct seen *x, const struct espy_condition *c, bool probe)
{
	struct espy_probe_names n = {
		.args = { .format = x->text->format, .kinds = x->kinds, .nargs = x->text->nargs, .def = x->text },
		.returns = x->returns
	};
	const struct espy_names names = { .ctx = &n,
					  .find = probe ? espy_probe_names__find : espy_mark_names__find,
					  .constant = espy_mark_names__constant,
					  .lenient = true };
	struct espy_condition_error e = { .at = 0 };
	struct espy_predicate p;

	if (!c) {
		x->unconditional = true;
		return true;
	}
	if (x->test_cnt == RULES_MAX || espy_condition__bind(c, &names, &p, NULL, &e))
		return false;
	espy_predicate__fold(&p, NULL, NULL);
	if (espy_predicate__is_never(&p))
		return false;
	x->test_cnt += !espy_evaluator__new(&x->tests[x->test_cnt], &p);
	return true;
}

static void select_rules(struct espy_def_filter *f, struct seen *x)
{
	const struct espy_mark_def *text = x->text;
	const size_t cnt = f->marks ? f->marks->cnt : f->probes->cnt;

	for (size_t i = 0; i < cnt; i++) {
		const bool named = f->marks ? espy_mark_glob(f->marks->v[i].agent.pattern, text->provider,
							     strlen(text->provider), text->name, strlen(text->name))
					    : names_probe(f, &f->probes->v[i], x->def, text);

		if (named &&
		    !add_condition(x, f->marks ? f->marks->v[i].condition : f->probes->v[i].condition, f->probes) &&
		    i < RULES_MAX)
			f->skipped[i]++;
	}
}

static struct seen *get_seen(struct espy_def_filter *f, uint32_t def)
{
	struct seen *x;

	HASH_FIND(hh, f->by_def, &def, sizeof(def), x);
	if (x) {
		clear(x);
	} else if (HASH_COUNT(f->by_def) < DEFS_MAX && (x = calloc(1, sizeof(*x)))) {
		x->def = def;
		HASH_ADD(hh, f->by_def, def, sizeof(x->def), x);
	}
	return x;
}

int espy_def_filter__define(void *filter, const struct espy_rec *rec)
{
	const struct espy_rec_mark_def *mark = (const struct espy_rec_mark_def *)rec;
	const struct espy_rec_probe_def *probe = (const struct espy_rec_probe_def *)rec;
	struct espy_def_filter *f = filter;
	struct espy_mark_def *text;
	struct seen *x;

	if (rec->type != (f->marks ? ESPY_REC_MARK_DEF : ESPY_REC_PROBE_DEF) ||
	    (f->marks ? espy_mark_def__make(&text, mark) : espy_mark_def__make_probe(&text, probe)))
		return 0;
	x = get_seen(f, f->marks ? mark->def : probe->def);
	if (x) {
		x->returns = f->probes && probe->kind == ESPY_PROBE_RETURN;
		x->text = text;
		for (unsigned i = 0; i < text->nargs; i++)
			x->kinds[i] = text->args[i].kind;
		select_rules(f, x);
	} else {
		espy_mark_def__free(text);
	}
	return 0;
}

unsigned espy_def_filter__skipped(const struct espy_def_filter *f, size_t i)
{
	return i < RULES_MAX ? f->skipped[i] : 0;
}

/* ---- marks and hits */

struct hit {
	const struct seen *def;
	const struct espy_rec_probe *probe; /* NULL: of a mark */
	const void *args;
	size_t size;
};

int espy_mark_values__get(const void *args, size_t size, const struct espy_mark_def *def, unsigned index,
			  struct espy_filter_value *out)
{
	const uint8_t *at = args, *end = at + size;
	struct espy_mark_value v;

	if (index >= def->nargs)
		return -ENOENT;
	for (unsigned i = 0; i <= index; i++)
		if (!espy_mark_value__next(&at, end, def->args[i].kind, &v))
			return -EINVAL;
	const uint8_t kind = def->args[index].kind;

	espy_mark_arg__settle(&def->args[index], &v);
	if (!espy_mark_kind_is_text(kind)) {
		out->u = v.num;
		out->type = kind == ESPY_MARK_DOUBLE	     ? ESPY_VALUE_DOUBLE
			    : espy_mark_kind_is_signed(kind) ? ESPY_VALUE_INT
							     : ESPY_VALUE_UINT;
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

static int get_arg(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out)
{
	const struct hit *h = ctx;

	(void)name;
	return espy_mark_values__get(h->args, h->size, h->def->text, (unsigned)ref, out);
}

static int get_of_probe(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out)
{
	const struct hit *h = ctx;

	out->type = ESPY_VALUE_UINT;
	switch (ref) {
	case ESPY_PROBE_NAME_PID:
		out->u = h->probe->rec.tgid;
		return 0;
	case ESPY_PROBE_NAME_TID:
		out->u = h->probe->rec.tid;
		return 0;
	case ESPY_PROBE_NAME_DURATION:
		if (!h->probe->begin_ns || h->probe->rec.time_ns < h->probe->begin_ns)
			return -ENODATA;
		out->u = h->probe->rec.time_ns - h->probe->begin_ns;
		return 0;
	default:
		if (h->probe->rec.nr >> ref & 1)
			return -EFAULT; /* it could not be read */
		return get_arg(ctx, ref, name, out);
	}
}

_Static_assert(offsetof(struct espy_rec_mark, def) == offsetof(struct espy_rec_probe, def) &&
		       offsetof(struct espy_rec_mark, len) == offsetof(struct espy_rec_probe, len),
	       "what is read of both");

bool espy_def_filter__wants(const struct espy_def_filter *f, const struct espy_rec *rec)
{
	const size_t head = f->marks ? sizeof(struct espy_rec_mark) : sizeof(struct espy_rec_probe);
	const struct espy_rec_mark *mark = (const struct espy_rec_mark *)rec;
	struct seen *x;

	HASH_FIND(hh, f->by_def, &mark->def, sizeof(mark->def), x);
	if (!x || x->unconditional || !x->test_cnt)
		return x && x->unconditional;
	struct hit h = { .def = x,
			 .probe = f->probes ? (const void *)rec : NULL,
			 .args = (const char *)rec + head,
			 .size = mark->len };

	if (rec->size < head || h.size > rec->size - head ||
	    !espy_mark_values__check(h.args, mark->len, x->kinds, x->text->nargs))
		return false;
	for (size_t i = 0; i < x->test_cnt; i++)
		if (espy_evaluator__holds(x->tests[i], f->marks ? get_arg : get_of_probe, &h))
			return true;
	return false;
}
