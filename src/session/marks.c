/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The definitions and counts of a stream; the language of -m is in marks_select.c. */
#include "session/marks.h"
#include "record/mark_format.h"
#include "session/impl.h"
#include "source/agent/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define DEFS_MAX 262144u

struct seen {
	UT_hash_handle hh;
	uint32_t def;
	struct espy_rec_mark_def *rec;
	struct espy_mark_text *text;
	uint64_t events, first_ns, last_ns;
	/* Where rules select: */
	bool unconditional;
	struct espy_mark_test *tests; /* any of them passes */
	size_t test_cnt;
};

struct espy_marks_seen {
	const struct espy_mark_rules *rules;
	unsigned skipped[ESPY_AGENT_RULES];
	struct seen *by_def;
	struct seen *recent[64]; /* by their numbers: no program hits many marks at a time */
};

struct espy_marks_seen *espy_marks_seen__new(const struct espy_mark_rules *rules)
{
	struct espy_marks_seen *m = calloc(1, sizeof(*m));

	if (m)
		m->rules = rules;
	return m;
}

static void free_seen(struct seen *x)
{
	espy_mark_text__free(x->text);
	free(x->rec);
	free(x->tests);
	free(x);
}

void espy_marks_seen__free(struct espy_marks_seen *m)
{
	struct seen *x, *next;

	if (!m)
		return;
	HASH_ITER(hh, m->by_def, x, next)
	{
		HASH_DEL(m->by_def, x);
		free_seen(x);
	}
	free(m);
}

static struct seen *find(struct espy_marks_seen *m, uint32_t def)
{
	struct seen **recent = &m->recent[def % (sizeof(m->recent) / sizeof(m->recent[0]))], *x = *recent;

	if (x && x->def == def)
		return x;
	HASH_FIND(hh, m->by_def, &def, sizeof(def), x);
	if (x)
		*recent = x;
	return x;
}

static const uint8_t *kinds_of(const struct espy_rec_mark_def *def)
{
	return (const uint8_t *)(def + 1);
}

/* Which rules are about it, and what they ask. */
static int select_mark(struct espy_marks_seen *m, struct seen *x)
{
	const char *provider = espy_mark_text__provider(x->text), *name = espy_mark_text__name(x->text);
	const struct espy_mark_rules *rules = m->rules;

	free(x->tests);
	x->tests = rules && rules->cnt ? calloc(rules->cnt, sizeof(*x->tests)) : NULL;
	x->test_cnt = 0;
	x->unconditional = !rules;
	if (rules && rules->cnt && !x->tests)
		return -ENOMEM;
	for (size_t i = 0; rules && i < rules->cnt; i++) {
		const struct espy_agent_rule *rule = &rules->v[i];

		if (!espy_mark_glob(rule->pattern, provider, strlen(provider), name, strlen(name)))
			continue;
		if (!rule->npreds)
			x->unconditional = true;
		else if (espy_mark_test__make(&x->tests[x->test_cnt], rule, espy_mark_text__format(x->text),
					      kinds_of(x->rec), x->rec->nargs))
			x->test_cnt++;
		else if (i < ESPY_AGENT_RULES)
			m->skipped[i]++;
	}
	return 0;
}

int espy_marks_seen__define(struct espy_marks_seen *m, const struct espy_rec_mark_def *def)
{
	struct espy_mark_text *text;
	struct espy_rec_mark_def *copy;
	int err = espy_mark_text__make(&text, def);
	struct seen *x;

	if (err)
		return err;
	copy = malloc(def->rec.size);
	x = find(m, def->def);
	if (!x && HASH_COUNT(m->by_def) >= DEFS_MAX)
		err = -ENOSPC;
	else if (!copy || (!x && !(x = calloc(1, sizeof(*x)))))
		err = -ENOMEM;
	if (err) {
		espy_mark_text__free(text);
		free(copy);
		return err;
	}
	memcpy(copy, def, def->rec.size);
	if (x->text) {
		espy_mark_text__free(x->text);
		free(x->rec);
	} else {
		x->def = def->def;
		HASH_ADD(hh, m->by_def, def, sizeof(x->def), x);
	}
	x->text = text;
	x->rec = copy;
	return select_mark(m, x);
}

bool espy_marks_seen__wants(struct espy_marks_seen *m, const struct espy_rec_mark *rec)
{
	const struct seen *x = find(m, rec->def);

	if (!x || x->unconditional || !x->test_cnt)
		return !m->rules || (x && x->unconditional);
	if (rec->rec.size < sizeof(*rec) || rec->len > rec->rec.size - sizeof(*rec) ||
	    !espy_mark_args__check(rec + 1, rec->len, kinds_of(x->rec), x->rec->nargs))
		return false;
	for (size_t i = 0; i < x->test_cnt; i++)
		if (espy_mark_test__passes(&x->tests[i], rec + 1, rec->len, kinds_of(x->rec), x->rec->nargs))
			return true;
	return false;
}

unsigned espy_marks_seen__skipped(const struct espy_marks_seen *m, size_t i)
{
	return i < ESPY_AGENT_RULES ? m->skipped[i] : 0;
}

static void count(struct seen *x, uint64_t first_ns, uint64_t last_ns, uint64_t cnt)
{
	if (!x->events || first_ns < x->first_ns)
		x->first_ns = first_ns;
	if (last_ns > x->last_ns)
		x->last_ns = last_ns;
	x->events += cnt;
}

const struct espy_mark_text *espy_marks_seen__event(struct espy_marks_seen *m, const struct espy_rec_mark *rec)
{
	struct seen *x = find(m, rec->def);

	if (!x)
		return NULL;
	count(x, rec->rec.time_ns, rec->rec.time_ns, 1);
	return x->text;
}

void espy_marks_seen__events(struct espy_marks_seen *m, const struct espy_rec_mark *first,
			     const struct espy_rec_mark *last, uint64_t cnt)
{
	struct seen *x = find(m, first->def);

	if (x)
		count(x, first->rec.time_ns, last->rec.time_ns, cnt);
}

int espy_marks_seen__each(const struct espy_marks_seen *m, int (*fn)(void *ctx, const struct espy_rec *def), void *ctx)
{
	for (const struct seen *x = m->by_def; x; x = x->hh.next) {
		int err = fn(ctx, &x->rec->rec);

		if (err)
			return err;
	}
	return 0;
}

size_t espy_marks_seen__counts(const struct espy_marks_seen *m, struct espy_marks_count *out, size_t max, size_t *all)
{
	size_t cnt = 0;

	*all = 0;
	for (const struct seen *x = m->by_def; x; x = x->hh.next) {
		size_t at;

		if (!x->events)
			continue;
		++*all;
		/* Sorted in, and what falls off the end is left out. */
		for (at = cnt; at && out[at - 1].events < x->events; at--)
			if (at < max)
				out[at] = out[at - 1];
		if (at < max)
			out[at] = (struct espy_marks_count){ x->text, x->events, x->first_ns, x->last_ns };
		if (cnt < max)
			cnt++;
	}
	return cnt;
}

#define SHOWN_MARKS 10

void espy_session__show_marks(struct espy_session *s)
{
	struct espy_marks_count counts[SHOWN_MARKS];
	size_t all, cnt = espy_marks_seen__counts(s->marks, counts, SHOWN_MARKS, &all);

	for (size_t i = 0; i < cnt; i++) {
		const uint64_t ns = counts[i].last_ns - counts[i].first_ns;
		struct espy_buf b = { 0 };

		espy_mark_text__put_name(&b, counts[i].text);
		espy_buf__putc(&b, 0);
		/* Of a single event there is no rate. */
		if (counts[i].events > 1 && ns)
			espy_session__say(s, "%s: %" PRIu64 " events, %.0f per second", b.failed ? "?" : b.data,
					  counts[i].events, (double)(counts[i].events - 1) * 1e9 / (double)ns);
		else
			espy_session__say(s, "%s: %" PRIu64 " event%s", b.failed ? "?" : b.data, counts[i].events,
					  counts[i].events == 1 ? "" : "s");
		espy_buf__free(&b);
	}
	if (all > cnt)
		espy_session__say(s, "and %zu other marks", all - cnt);
}
