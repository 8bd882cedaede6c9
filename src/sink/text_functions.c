/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/text_functions.h"

#include <stdlib.h>
#include <string.h>
#include "base/fnv1a.h"
#include "record/mark_def.h"
#include "state/budget.h"
#include "state/state.h"

#define KNOWN_MAX 256u /* functions in each other; deeper down only their number is known */

struct espy_text_functions {
	unsigned depth; /* how many the task is in */
	unsigned waiting; /* functions that have a text */
	struct {
		uint64_t function; /* the hash of its names */
		uint64_t time_ns;
		char *text; /* its line waits; NULL: it has one, or will have none */
	} v[KNOWN_MAX]; /* outermost first */
};

bool espy_text_functions__is(const struct espy_event *e)
{
	return e->type == ESPY_EVENT_PROBE && e->mark && (e->mark->place == ESPY_PROBE_ENTRY || e->mark->place == ESPY_PROBE_RETURN);
}

struct espy_text_functions *espy_text_functions__new(struct espy_budget *budget)
{
	struct espy_text_functions *f;

	if (!espy_budget__take(budget, sizeof(*f)))
		return NULL;
	f = malloc(sizeof(*f));
	if (!f) {
		espy_budget__give(budget, sizeof(*f));
		return NULL;
	}
	f->depth = f->waiting = 0; /* most pages of the rest are never touched: it is written before it is read */
	return f;
}

/* Leaves the functions from `from` on. */
static void leave(struct espy_text_functions *f, unsigned from)
{
	for (unsigned i = from; f->waiting && i < f->depth && i < KNOWN_MAX; i++)
		if (f->v[i].text) {
			free(f->v[i].text);
			f->waiting--;
		}
	f->depth = from;
}

void espy_text_functions__forget(struct espy_text_functions *f)
{
	leave(f, 0);
}

void espy_text_functions__free(struct espy_text_functions *f, struct espy_budget *budget)
{
	if (!f)
		return;
	leave(f, 0);
	free(f);
	espy_budget__give(budget, sizeof(*f));
}

static unsigned indent(const struct espy_lines *l, unsigned depth)
{
	return l->o->function_depth && depth > l->o->function_depth ? l->o->function_depth : depth;
}

/* Shows the line of a function that has waited, and frees text. */
static void show_text(struct espy_lines *l, const struct espy_line_task *t, uint64_t time_ns, char *text)
{
	espy_lines__function(l, t, time_ns);
	espy_buf__puts(&t->out->buf, text);
	free(text);
}

void espy_text_functions__show(struct espy_text_functions *f, struct espy_lines *l, struct espy_line_task *t)
{
	if (!f)
		return;
	for (unsigned i = 0; f->waiting && i < f->depth && i < KNOWN_MAX; i++)
		if (f->v[i].text) {
			t->depth = i;
			show_text(l, t, f->v[i].time_ns, f->v[i].text);
			f->v[i].text = NULL;
			f->waiting--;
		}
	t->depth = indent(l, f->depth);
}

static uint64_t function_of(const struct espy_mark_def *def)
{
	return espy_fnv1a(espy_fnv1a(ESPY_FNV1A, def->provider, strlen(def->provider) + 1), def->name, strlen(def->name));
}

static void enter(struct espy_text_functions *f, struct espy_lines *l, struct espy_line_task *t, const struct espy_event *e)
{
	const struct espy_rec_probe *probe = (const struct espy_rec_probe *)e->rec;
	const unsigned depth = f ? f->depth++ : 0;
	struct espy_buf b = { 0 };

	if (f && depth < KNOWN_MAX) {
		f->v[depth].function = function_of(e->mark);
		f->v[depth].time_ns = e->time_ns;
		f->v[depth].text = NULL;
	}
	if (l->o->function_depth && depth >= l->o->function_depth)
		return;
	if (l->o->function_min_ns && f && depth < KNOWN_MAX) {
		espy_lines__put_place(l, &b, e->mark, probe);
		f->v[depth].text = espy_buf__string(&b);
		f->waiting += f->v[depth].text != NULL;
		return;
	}
	espy_text_functions__show(f, l, t);
	t->depth = depth;
	espy_lines__function(l, t, e->time_ns);
	espy_lines__put_place(l, &t->out->buf, e->mark, probe);
}

/*
 * Finds the function that returns. It also returns from all functions entered since, which longjmp or an exception has
 * left. Returns its index, or f->depth: no entry is known.
 */
static unsigned find(const struct espy_text_functions *f, uint64_t function)
{
	for (unsigned i = f->depth; i-- > 0;)
		if (i >= KNOWN_MAX || f->v[i].function == function)
			return i;
	return f->depth;
}

static void end(struct espy_text_functions *f, struct espy_lines *l, struct espy_line_task *t, const struct espy_event *e)
{
	const struct espy_rec_probe *probe = (const struct espy_rec_probe *)e->rec;
	const unsigned before = f ? f->depth : 0, i = f ? find(f, function_of(e->mark)) : 0;
	bool same = i + 1 == before && t->out->open_end && espy_lines__is_open(t->out, t->task->tid);
	char *text = NULL;

	if (f && i < before) {
		leave(f, i + 1);
		text = i < KNOWN_MAX ? f->v[i].text : NULL;
		f->waiting -= text != NULL;
		f->depth = i;
	}
	const bool is_short = probe->begin_ns && e->time_ns - probe->begin_ns < l->o->function_min_ns;

	if ((l->o->function_depth && i >= l->o->function_depth) || (text && is_short)) {
		free(text);
		return;
	}
	espy_text_functions__show(f, l, t);
	t->depth = i;
	if (text) {
		show_text(l, t, f->v[i].time_ns, text);
		same = true;
	}
	espy_lines__function_end(l, t, e->mark, probe, same);
}

void espy_text_functions__event(struct espy_text_functions *f, struct espy_lines *l, struct espy_line_task *t, const struct espy_event *e)
{
	if (e->mark->place == ESPY_PROBE_ENTRY)
		enter(f, l, t, e);
	else
		end(f, l, t, e);
}
