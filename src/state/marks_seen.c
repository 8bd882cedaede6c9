/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "state/marks_seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#define DEFS_MAX 262144u

struct seen {
	UT_hash_handle hh;
	uint32_t def;
	struct espy_rec *rec;
	struct espy_mark_def *text;
	uint64_t events, first_ns, last_ns;
};

struct espy_marks_seen {
	struct seen *by_def;
	struct seen *recent[64]; /* by their numbers: no program hits many marks at a time */
};

struct espy_marks_seen *espy_marks_seen__new(void)
{
	return calloc(1, sizeof(struct espy_marks_seen));
}

static void free_seen(struct seen *x)
{
	espy_mark_def__free(x->text);
	free(x->rec);
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

int espy_marks_seen__define(struct espy_marks_seen *m, const struct espy_rec *rec)
{
	const bool probe = rec->type == ESPY_REC_PROBE_DEF;
	const struct espy_rec_probe_def *p = (const struct espy_rec_probe_def *)rec;
	const struct espy_rec_mark_def *k = (const struct espy_rec_mark_def *)rec;
	struct espy_mark_def *text;
	struct espy_rec *copy;
	int err = probe ? espy_mark_def__make_probe(&text, p) : espy_mark_def__make(&text, k);
	struct seen *x;

	if (err)
		return err;
	copy = malloc(rec->size);
	x = find(m, probe ? p->def : k->def);
	if (!x && HASH_COUNT(m->by_def) >= DEFS_MAX)
		err = -ENOSPC;
	else if (!copy || (!x && !(x = calloc(1, sizeof(*x)))))
		err = -ENOMEM;
	if (err) {
		espy_mark_def__free(text);
		free(copy);
		return err;
	}
	memcpy(copy, rec, rec->size);
	if (x->text) {
		espy_mark_def__free(x->text);
		free(x->rec);
	} else {
		x->def = probe ? p->def : k->def;
		HASH_ADD(hh, m->by_def, def, sizeof(x->def), x);
	}
	x->text = text;
	x->rec = copy;
	return 0;
}

static void count(struct seen *x, uint64_t first_ns, uint64_t last_ns, uint64_t cnt)
{
	if (!x->events || first_ns < x->first_ns)
		x->first_ns = first_ns;
	if (last_ns > x->last_ns)
		x->last_ns = last_ns;
	x->events += cnt;
}

const struct espy_mark_def *espy_marks_seen__event(struct espy_marks_seen *m, uint32_t def, uint64_t time_ns)
{
	struct seen *x = find(m, def);

	if (!x)
		return NULL;
	count(x, time_ns, time_ns, 1);
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
		int err = fn(ctx, x->rec);

		if (err)
			return err;
	}
	return 0;
}

size_t espy_marks_seen__counts(const struct espy_marks_seen *m, struct espy_marks_count *out, size_t max, size_t *all, size_t *probes)
{
	size_t cnt = 0;

	*all = *probes = 0;
	for (const struct seen *x = m->by_def; x; x = x->hh.next) {
		size_t at;

		if (!x->events)
			continue;
		++*all;
		*probes += x->rec->type == ESPY_REC_PROBE_DEF;
		/* The list is sorted, and loses the entry that falls off its end. */
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
