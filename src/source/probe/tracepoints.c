/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a rule about tracepoints of the kernel to places: each tracepoint has fields of its own, and so a plan of its own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/edits.h"
#include "source/probe/probe_impl.h"
#include "source/print_fmt.h"
#include "source/tracefs.h"
#include "source/tracepoint.h"

#define ALL "*"

struct search {
	struct espy_probe_places *places;
	const struct espy_probe_rule *rule;
	int tracefs;
	bool is_pattern;
	unsigned cnt;
	unsigned unmet; /* that lack a field of the condition */
	char why[256];	/* of the first of them */
};

/* Makes a number look as in the kernel's own text: an address, or names of its values. */
static void take_look(struct espy_probe_arg *arg, const struct espy_tracepoint_field *f, const char *print_fmt)
{
	struct espy_buf words = { 0 };

	if ((!f->is_signed && (strstr(f->name, "flags") || strstr(f->name, "addr") || !strcmp(f->name, "ip"))) ||
	    (f->size == 8 && espy_print_fmt__is_address(print_fmt, f->name)))
		arg->letter = 'x';
	espy_print_fmt__words(&words, print_fmt, f->name);
	if (words.len)
		arg->words = espy_buf__string(&words);
}

/* Adds one field. lengths: the fetches behind the arguments that tell the length of others. */
static void add_field(struct espy_probe_rule *r, const struct espy_tracepoint_field *f, struct espy_probe_fetch *lengths, unsigned *length_cnt)
{
	struct espy_probe_plan *plan = &r->plan;
	struct espy_probe_arg *arg = &r->args[plan->arg_cnt];
	struct espy_probe_fetch *fetch = &plan->fetches[plan->arg_cnt++];
	const bool elsewhere = f->kind == ESPY_FIELD_TEXT_ELSEWHERE || f->kind == ESPY_FIELD_BYTES_ELSEWHERE;

	memcpy(arg->name, f->name, sizeof(arg->name));
	*fetch = (struct espy_probe_fetch){
		.src = elsewhere ? ESPY_PROBE_ELSEWHERE : ESPY_PROBE_FIELD,
		.way_cnt = 1,
		.way = { f->offset },
		.len_arg = ESPY_PROBE_NO_ARG,
		.is_signed = f->is_signed,
	};
	if (f->kind == ESPY_FIELD_NUMBER || f->kind == ESPY_FIELD_POINTER) {
		fetch->size = (uint8_t)f->size;
		arg->letter = f->kind == ESPY_FIELD_POINTER ? 'p' : f->is_signed ? 'd' : 'u';
		return;
	}
	arg->letter = 's';
	plan->memory = 1;
	fetch->what = f->kind == ESPY_FIELD_TEXT || f->kind == ESPY_FIELD_TEXT_ELSEWHERE ? ESPY_PROBE_STRING : ESPY_PROBE_BYTES;
	if (!elsewhere)
		fetch->max = f->size < ESPY_PROBE_STRING_MAX ? f->size : ESPY_PROBE_STRING_MAX - 1;
	if (f->kind != ESPY_FIELD_BYTES_ELSEWHERE)
		return;
	fetch->len_arg = (uint8_t)*length_cnt;
	lengths[(*length_cnt)++] = (struct espy_probe_fetch){
		.src = ESPY_PROBE_FIELD,
		.way_cnt = 1,
		.way = { f->offset + 2 },
		.size = 2,
		.len_arg = ESPY_PROBE_NO_ARG,
	};
}

/* Makes arguments of the fields, as many as find room. Returns how many do not. */
static unsigned arguments_of(struct espy_probe_rule *r, const struct espy_tracepoint *t)
{
	struct espy_probe_fetch lengths[ESPY_MARK_MAX_ARGS];
	unsigned length_cnt = 0, i;

	for (i = 0; i < t->field_cnt; i++) {
		const unsigned more = t->fields[i].kind == ESPY_FIELD_BYTES_ELSEWHERE ? 2 : 1;

		if (r->plan.arg_cnt + length_cnt + more > ESPY_MARK_MAX_ARGS)
			break;
		add_field(r, &t->fields[i], lengths, &length_cnt);
		if (t->fields[i].kind == ESPY_FIELD_NUMBER)
			take_look(&r->args[r->plan.arg_cnt - 1], &t->fields[i], t->print_fmt);
	}
	for (unsigned k = 0; k < r->plan.arg_cnt; k++)
		if (r->plan.fetches[k].len_arg != ESPY_PROBE_NO_ARG)
			r->plan.fetches[k].len_arg = (uint8_t)(r->plan.fetches[k].len_arg + r->plan.arg_cnt);
	memcpy(r->plan.fetches + r->plan.arg_cnt, lengths, length_cnt * sizeof(*lengths));
	r->plan.fetch_cnt = r->plan.arg_cnt + length_cnt;
	return t->field_cnt - i + t->left_out;
}

/* Adds the place of a tracepoint whose fields are the arguments of the rule. */
static int add_place(struct search *s, struct espy_probe_rule *with_fields, const struct espy_tracepoint *t,
		     const char *system, const char *name)
{
	static const struct espy_probe_file nowhere = { .path = (char *)"" };
	char why[sizeof(s->why)];
	uint32_t plan;
	int err;

	if (s->places->targets->lower(with_fields, why, sizeof(why))) {
		if (!s->unmet++)
			memcpy(s->why, why, sizeof(s->why));
		return 0;
	}
	err = espy_probe_places__add_plan(s->places, &with_fields->plan, &plan);
	struct espy_probe_place place = {
		.fd = -1,
		.offset = t->id,
		.kind = ESPY_PROBE_TRACEPOINT,
		.plan = plan,
		.rule = s->rule,
		.def = err ? NULL : espy_probe_def__new(with_fields, &nowhere, ESPY_PROBE_TRACEPOINT, system, name, 0),
	};
	err = err ? err : espy_probe_places__add(s->places, &place);
	s->cnt += !err;
	return err;
}

static int add_tracepoint(void *ctx, const char *system, const char *name)
{
	struct search *s = ctx;
	struct espy_probe_rule with_fields = { .where = ESPY_PROBE_AT_TRACEPOINT, .condition = s->rule->condition };
	struct espy_tracepoint t;
	int err = espy_tracepoint__read(&t, s->tracefs, system, name);

	if (err) {
		espy_probe_say(s->places, !s->is_pattern, "tracepoint %s:%s: %s", system, name,
			       err == -EBADMSG ? "the kernel's text about it is none that espy knows" : strerror(-err));
		return s->is_pattern ? 0 : -EINVAL;
	}
	const unsigned left_out = arguments_of(&with_fields, &t);

	if (left_out && !s->is_pattern)
		espy_probe_say(s->places, false, "tracepoint %s:%s: %u of its fields cannot be shown", system, name,
			       left_out);
	err = add_place(s, &with_fields, &t, system, name);
	for (unsigned i = 0; i < with_fields.plan.arg_cnt; i++)
		free(with_fields.args[i].words);
	espy_tracepoint__free(&t);
	return err;
}

/* ---- names that no tracepoint has */

struct nearest {
	struct espy_nearest near;
	char best[160];
};

static int offer(void *ctx, const char *system, const char *name)
{
	struct nearest *n = ctx;
	char word[160];

	snprintf(word, sizeof(word), "%s:%s", system, name);
	n->near.word = NULL;
	espy_nearest__offer(&n->near, word);
	if (n->near.word)
		memcpy(n->best, word, sizeof(n->best)); /* the words after it must be nearer */
	return 0;
}

static void say_unknown(struct search *s)
{
	struct nearest n = { .best = "" };
	char wanted[160], hint[ESPY_HINT_MAX];

	if (s->unmet) {
		espy_probe_say(s->places, true, "the condition of -K '%s:%s': %s", s->rule->file, s->rule->symbol, s->why);
		return;
	}
	snprintf(wanted, sizeof(wanted), "%s:%s", s->rule->file, s->rule->symbol);
	espy_nearest__begin(&n.near, wanted, strlen(wanted));
	if (!s->is_pattern)
		espy_tracepoint__each(s->tracefs, ALL, ALL, offer, &n);
	n.near.word = n.best[0] ? n.best : NULL;
	espy_probe_say(s->places, true, "the kernel has no tracepoint '%s'%s (espy list tracepoints)", wanted,
		       espy_nearest__hint(&n.near, hint));
}

int espy_probe_places__add_tracepoints(struct espy_probe_places *p, const struct espy_probe_rule *rule)
{
	struct search s = {
		.places = p,
		.rule = rule,
		.tracefs = espy_tracefs__open(),
		.is_pattern = strpbrk(rule->file, "*?") || strpbrk(rule->symbol, "*?"),
	};
	int err;

	if (s.tracefs < 0) {
		espy_probe_say(p, true, "the kernel's tracepoints cannot be read (tracefs): %s", strerror(-s.tracefs));
		return -EINVAL;
	}
	err = espy_tracepoint__each(s.tracefs, rule->file, rule->symbol, add_tracepoint, &s);
	if (!err && !s.cnt) {
		say_unknown(&s);
		err = -EINVAL;
	}
	close(s.tracefs);
	return err;
}
