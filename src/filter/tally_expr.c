/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/tally_expr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/edits.h"
#include "base/pattern.h"
#include "event/stream_event.h"
#include "filter/call_names.h"
#include "filter/call_values.h"
#include "filter/filter_calls.h"
#include "filter/mark_names.h"
#include "record/mark_def.h"
#include "record/mark_values.h"
#include "state/state.h"

#define OTHER_CALLS ESPY_MAX_SYSCALLS /* the place of all numbers beyond the tables */

/* The meaning of the name in a call. */
enum { UNBOUND, LACKS, HAS };
struct bound {
	uint8_t state; /* one of the above */
	uint8_t look;  /* enum espy_tally_look */
	uint32_t type; /* in image->types */
	uint64_t ref;
};

struct espy_tally_expr {
	char *text;
	char *events;		/* NULL: all selected events */
	bool of_calls, of_hits; /* `events` names calls, or hits */
	bool returns;		/* `events` names only probes of returns */
	bool numbers;
	bool any; /* calls of any number count */
	char name[ESPY_CONDITION_NAME_MAX];
	size_t name_at;
	const struct espy_image *images;
	struct espy_syscall_set named; /* of_calls: the calls */
	struct bound calls[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS + 1];
	unsigned asks;
	struct espy_decoder decoder;
};

/* ---- the text */

static int wrong(struct espy_condition_error *e, size_t at, const char *text)
{
	e->at = at;
	snprintf(e->text, sizeof(e->text), "%s", text);
	return -EINVAL;
}

/* Takes EVENTS, the len bytes before the colon. */
static int take_events(struct espy_tally_expr *x, size_t len, struct espy_condition_error *e)
{
	static const char returns[] = "%return";
	const char *start = x->text + strspn(x->text, " \t");

	while (len && strchr(" \t", x->text[len - 1]))
		len--;
	if (start >= x->text + len)
		return wrong(e, 0, "a call, a mark or a probe is expected before the colon");
	len -= (size_t)(start - x->text);
	x->events = strndup(start, len);
	if (!x->events)
		return -ENOMEM;
	x->of_hits = strchr(x->events, ':');
	x->of_calls = !x->of_hits;
	x->returns = x->of_hits && len > strlen(returns) && !strcmp(x->events + len - strlen(returns), returns);
	if (x->returns)
		x->events[len - strlen(returns)] = '\0';
	return 0;
}

static int parse(struct espy_tally_expr *x, struct espy_condition_error *e)
{
	const char *colon = strrchr(x->text, ':');
	int err = colon ? take_events(x, (size_t)(colon - x->text), e) : 0;
	size_t at = colon ? (size_t)(colon + 1 - x->text) : 0;

	if (err)
		return err;
	at += strspn(x->text + at, " \t\n");
	x->name_at = at;
	return espy_condition__parse_name(x->text, at, x->name, e);
}

int espy_tally_expr__new(struct espy_tally_expr **out, const char *text, bool numbers, struct espy_condition_error *e)
{
	struct espy_tally_expr *x = calloc(1, sizeof(*x));
	int err = -ENOMEM;

	*out = NULL;
	if (x) {
		x->numbers = numbers;
		x->text = strdup(text);
		err = x->text ? parse(x, e) : -ENOMEM;
	}
	if (err)
		espy_tally_expr__free(x);
	else
		*out = x;
	return err;
}

void espy_tally_expr__free(struct espy_tally_expr *x)
{
	if (!x)
		return;
	espy_decoder__free(&x->decoder);
	free(x->events);
	free(x->text);
	free(x);
}

const char *espy_tally_expr__text(const struct espy_tally_expr *x)
{
	return x->text;
}

const char *espy_tally_expr__name(const struct espy_tally_expr *x)
{
	return x->name;
}

bool espy_tally_expr__is_of_calls(const struct espy_tally_expr *x)
{
	return x->of_calls;
}

unsigned espy_tally_expr__asks(const struct espy_tally_expr *x)
{
	return x->asks;
}

/* ---- calls */

/*
 * Finds the value of the name in a call: a text if the name can be one, but of a descriptor the number (`path` is its
 * file).
 */
static int find_value(const struct espy_tally_expr *x, struct espy_call_names *call, struct espy_name_info *info,
		      char *why, size_t why_sz)
{
	const struct espy_names names = espy_call_names(call);
	struct espy_name_info text = { 0 };
	const int err = names.find(names.ctx, x->name, false, info, why, why_sz);
	char none[8];

	if (x->numbers && (err ? err == -EINVAL : info->flags & ESPY_NAME_TEXT)) {
		snprintf(why, why_sz, "%s is no number, and has no powers of two; --count-by counts texts, too",
			 x->name);
		return -EINVAL;
	}
	if (x->numbers || err == -ENOENT || names.find(names.ctx, x->name, true, &text, none, sizeof(none)))
		return err;
	if (err || espy_call_ref(text.ref).what != ESPY_CALL_FD_PATH)
		*info = text;
	return 0;
}

static uint8_t look_of(uint8_t what)
{
	switch (what) {
	case ESPY_CALL_RET:
		return ESPY_TALLY_ERROR;
	case ESPY_CALL_ERRNO:
		return ESPY_TALLY_ERRNO;
	case ESPY_CALL_DURATION:
		return ESPY_TALLY_DURATION;
	case ESPY_CALL_ARG:
	case ESPY_CALL_FIELD:
		return ESPY_TALLY_TYPED;
	default:
		return ESPY_TALLY_PLAIN;
	}
}

static uint32_t result_type(const struct espy_image *img, uint32_t nr)
{
	const uint32_t call = nr < img->syscall_cnt ? img->syscalls[nr].call : ESPY_NONE;

	return call == ESPY_NONE ? ESPY_NONE : img->calls[call].ret.type;
}

/* Binds the name to a call. Returns 0, -ENOENT or -EINVAL with a message in why. */
static int bind_call(struct espy_tally_expr *x, unsigned abi, uint32_t nr, char *why, size_t why_sz)
{
	struct espy_call_names call = { .image = &x->images[abi], .nr = nr };
	struct bound *b = &x->calls[abi][nr < ESPY_MAX_SYSCALLS ? nr : OTHER_CALLS];
	struct espy_name_info info = { 0 };
	const int err = find_value(x, &call, &info, why, why_sz);
	const uint8_t what = espy_call_ref(info.ref).what;

	*b = (struct bound){ .state = LACKS };
	if (err)
		return err;
	*b = (struct bound){ .state = HAS,
			     .look = look_of(what),
			     .type = what == ESPY_CALL_RET ? result_type(call.image, nr) : info.own,
			     .ref = info.ref };
	x->asks |= what == ESPY_CALL_FD_PATH ? ESPY_TALLY_FD_PATHS : 0;
	x->asks |=
		what == ESPY_CALL_TEXT || what == ESPY_CALL_FIELD || what == ESPY_CALL_FIELD_TEXT ? ESPY_TALLY_DATA : 0;
	return 0;
}

void espy_tally_expr__forget(struct espy_tally_expr *x, enum espy_abi abi)
{
	memset(x->calls[abi], 0, sizeof(x->calls[abi]));
}

static int find_calls(struct espy_tally_expr *x, struct espy_condition_error *e)
{
	const struct espy_image *images[ESPY_ABI_CNT];

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		images[abi] = &x->images[abi];
	e->at = 0;
	return espy_filter_calls__parse(&x->named, &x->any, images, x->events, e->text, sizeof(e->text));
}

/* Result of the search for the name in all watched calls. */
struct search {
	const char *call; /* a name; NULL: no call is watched */
	bool several;	  /* there are other names, too */
	bool bound;	  /* a call has the value */
	bool unlike;	  /* a call has the name, but this tally cannot count its value */
	char why[200];
	struct espy_nearest near;
};

static void try_call(struct espy_tally_expr *x, unsigned abi, uint32_t nr, struct search *s,
		     struct espy_syscall_set *wanted)
{
	const struct espy_call_names call = { .image = &x->images[abi], .nr = nr };
	const char *name = espy_image__call_name(call.image, nr);
	char why[sizeof(s->why)] = "";
	const int err = bind_call(x, abi, nr, why, sizeof(why));

	if (!err)
		wanted->bits[abi][nr / 64] |= 1ull << (nr % 64);
	if (!*name)
		return;
	s->several |= s->call && strcmp(s->call, name);
	s->call = name;
	s->bound |= !err;
	if (!err)
		return;
	espy_call_names__offer(&call, &s->near);
	if (!s->unlike)
		memcpy(s->why, why, sizeof(s->why));
	s->unlike |= err == -EINVAL;
}

/* Says why no call has the value. Returns -EINVAL. */
static int say_why(const struct espy_tally_expr *x, const struct search *s, struct espy_condition_error *e)
{
	const bool whole = !strpbrk(x->name, ".[");
	char hint[ESPY_HINT_MAX] = "";

	if (!s->call)
		return wrong(e, 0,
			     x->events ? "none of these system calls is watched"
				       : "no system call is watched, and no mark or probe");
	e->at = x->name_at;
	if (whole && !s->unlike)
		espy_nearest__hint(&s->near, hint);
	if (s->unlike || !s->several)
		snprintf(e->text, sizeof(e->text), "%s%s", s->why, hint);
	else
		snprintf(e->text, sizeof(e->text), "no system call that is watched has '%s'%s", x->name, hint);
	return -EINVAL;
}

int espy_tally_expr__choose(struct espy_tally_expr *x, const struct espy_image *images,
			    const struct espy_syscall_set *watched, bool hits, struct espy_syscall_set *wanted,
			    struct espy_condition_error *e)
{
	struct search s = { .call = NULL };

	x->images = images;
	if (x->of_hits && !hits) {
		e->at = 0;
		snprintf(e->text, sizeof(e->text), "nothing selects '%s': a mark is selected by -m, a probe by -u or -K",
			 x->events);
		return -EINVAL;
	}
	if (x->of_hits)
		return 0;
	if (x->of_calls && find_calls(x, e))
		return -EINVAL;
	espy_nearest__begin(&s.near, x->name, strlen(x->name));
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < ESPY_MAX_SYSCALLS; nr++)
			if (espy_syscall_set__has(watched, (enum espy_abi)abi, nr) &&
			    (!x->of_calls || espy_syscall_set__has(&x->named, (enum espy_abi)abi, nr)))
				try_call(x, abi, nr, &s, wanted);
	return s.bound || (hits && !x->of_calls) ? 0 : say_why(x, &s, e);
}

static int get_of_call(struct espy_tally_expr *x, const struct espy_call_view *v, struct espy_state *state,
		       struct espy_tally_value *out)
{
	const enum espy_abi abi = (enum espy_abi)v->image->abi;
	struct espy_call_values values = { .view = v, .state = state, .decoder = &x->decoder };
	const struct bound *b = &x->calls[abi][v->nr < ESPY_MAX_SYSCALLS ? v->nr : OTHER_CALLS];
	char why[8];

	if (x->of_hits ||
	    (x->of_calls && !(v->nr < ESPY_MAX_SYSCALLS ? espy_syscall_set__has(&x->named, abi, v->nr) : x->any)))
		return 0;
	if (b->state == UNBOUND)
		bind_call(x, abi, v->nr, why, sizeof(why));
	if (b->state == LACKS)
		return 0;
	out->look = b->look;
	out->image = v->image;
	out->type = b->type;
	out->failed = b->look == ESPY_TALLY_ERROR && espy_call_view__failed(v);
	const int err = espy_call_values__get(&values, b->ref, x->name, &out->v);
	return err ? err : 1;
}

/* ---- the part that a source can count */

static struct espy_tally_spec spec_of(const struct bound *b)
{
	static const uint8_t what[] = {
		[ESPY_CALL_RET] = ESPY_TALLIED_RET,	      [ESPY_CALL_ERRNO] = ESPY_TALLIED_ERRNO,
		[ESPY_CALL_DURATION] = ESPY_TALLIED_DURATION, [ESPY_CALL_PID] = ESPY_TALLIED_PID,
		[ESPY_CALL_TID] = ESPY_TALLIED_TID,	      [ESPY_CALL_ARG] = ESPY_TALLIED_ARG
	};
	const struct espy_call_ref ref = espy_call_ref(b->ref);

	return (struct espy_tally_spec){ .what = ref.what < sizeof(what) ? what[ref.what] : ESPY_TALLIED_NOT,
					 .arg = ref.arg,
					 .width = ref.width,
					 .is_signed = ref.is_signed };
}

/* Tells whether the call is an exec: behind it, registers and number are those of the new program. */
static bool is_exec(const struct espy_image *img, uint32_t nr)
{
	return nr < img->syscall_cnt && img->plans[img->call_plans[nr].plan].flags & ESPY_PLAN_NEW_IMAGE;
}

bool espy_tally_expr__lower(struct espy_tally_expr *x, bool chosen, struct espy_source_tally *out)
{
	char why[8];

	if (x->of_hits)
		return false;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < ESPY_TALLY_CALLS; nr++) {
			const bool table = nr < ESPY_MAX_SYSCALLS;
			struct bound *b = &x->calls[abi][nr];

			out->calls[abi][nr] = (struct espy_tally_spec){ .what = ESPY_TALLIED_NOT };
			if (x->of_calls && !(table ? espy_syscall_set__has(&x->named, (enum espy_abi)abi, nr) : x->any))
				continue;
			if (!table && b->state == UNBOUND)
				bind_call(x, abi, UINT32_MAX, why, sizeof(why));
			if (b->state != HAS)
				continue;
			out->calls[abi][nr] = spec_of(b);
			if (out->calls[abi][nr].what == ESPY_TALLIED_NOT)
				return false;
			if (is_exec(&x->images[abi], nr) &&
			    (chosen || x->of_calls || out->calls[abi][nr].what == ESPY_TALLIED_ARG))
				return false;
		}
	return true;
}

bool espy_tally_expr__value(struct espy_tally_expr *x, unsigned abi, uint32_t nr, uint64_t number,
			    struct espy_tally_value *out)
{
	const struct bound *b = &x->calls[abi][nr < ESPY_MAX_SYSCALLS ? nr : OTHER_CALLS];
	const struct espy_call_ref ref = espy_call_ref(b->ref);
	const bool is_signed = b->look == ESPY_TALLY_ERROR || b->look == ESPY_TALLY_ERRNO ||
			       (ref.what == ESPY_CALL_ARG && ref.is_signed);

	if (b->state != HAS)
		return false;
	*out = (struct espy_tally_value){
		.v = { .type = is_signed ? ESPY_VALUE_INT : ESPY_VALUE_UINT, .u = number },
		.look = b->look,
		.failed = b->look == ESPY_TALLY_ERROR && (int64_t)number < 0 && (int64_t)number >= -4095,
		.image = &x->images[abi],
		.type = b->type,
	};
	return true;
}

/* ---- marks and probes */

/* Names of every hit, beside its arguments. */
enum { HIT_COMM = ESPY_PROBE_NAME_DURATION + 1, HIT_NAME };

static bool names_hit(const struct espy_tally_expr *x, const struct espy_mark_def *def)
{
	const char *slash = x->events ? strrchr(x->events, '/') : NULL, *file = slash ? slash + 1 : x->events;
	const char *colon = file ? strchr(file, ':') : NULL;
	char provider[256];

	if (x->of_calls)
		return false;
	if (!x->events)
		return true;
	if (!colon || (size_t)(colon - file) >= sizeof(provider) || (x->returns && def->place != ESPY_PROBE_RETURN))
		return false;
	snprintf(provider, sizeof(provider), "%.*s", (int)(colon - file), file);
	return espy_fits(provider, def->provider) && espy_fits(colon + 1, def->name);
}

static void put_kinds(const struct espy_mark_def *def, uint8_t kinds[ESPY_MARK_MAX_ARGS])
{
	for (unsigned i = 0; i < def->nargs; i++)
		kinds[i] = def->args[i].kind;
}

/* Finds the argument or other value of the hit that the name means. -ENOENT: none, or none of the wanted kind. */
static int find_of_hit(const struct espy_tally_expr *x, const struct espy_event *event, const uint8_t *kinds)
{
	static const struct {
		const char *name;
		int ref;
		bool text;
	} own[] = { { "pid", ESPY_PROBE_NAME_PID, false },
		    { "tid", ESPY_PROBE_NAME_TID, false },
		    { "comm", HIT_COMM, true },
		    { "name", HIT_NAME, true } };
	struct espy_probe_names n = {
		.args = { .format = event->mark->format, .kinds = kinds, .nargs = event->mark->nargs },
		.returns = event->mark->place == ESPY_PROBE_RETURN
	};
	struct espy_name_info info;
	char why[8];

	for (unsigned text = 0; text < (x->numbers ? 1 : 2); text++)
		if (!(event->type == ESPY_EVENT_PROBE
			      ? espy_probe_names__find(&n, x->name, text, &info, why, sizeof(why))
			      : espy_mark_names__find(&n.args, x->name, text, &info, why, sizeof(why))))
			return (int)info.ref;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!strcmp(own[i].name, x->name) && !(x->numbers && own[i].text))
			return own[i].ref;
	return -ENOENT;
}

bool espy_tally_expr__lower_hit(struct espy_tally_expr *x, const struct espy_mark_def *def, struct espy_tally_spec *out)
{
	const struct espy_event event = { .type = ESPY_EVENT_PROBE, .mark = def };
	uint8_t kinds[ESPY_MARK_MAX_ARGS];

	*out = (struct espy_tally_spec){ .what = ESPY_TALLIED_NOT };
	if (!names_hit(x, def))
		return true;
	put_kinds(def, kinds);
	const int ref = find_of_hit(x, &event, kinds);

	switch (ref) {
	case -ENOENT:
		return true;
	case ESPY_PROBE_NAME_PID:
		out->what = ESPY_TALLIED_PID;
		return true;
	case ESPY_PROBE_NAME_TID:
		out->what = ESPY_TALLIED_TID;
		return true;
	case ESPY_PROBE_NAME_DURATION:
		out->what = ESPY_TALLIED_DURATION;
		return true;
	case HIT_COMM:
	case HIT_NAME:
		return false;
	default:
		*out = (struct espy_tally_spec){ .what = ESPY_TALLIED_ARG,
						 .arg = (uint8_t)ref,
						 .width = 8,
						 .is_signed = espy_mark_kind_is_signed(kinds[ref]) };
		/* A source sees the number around bits. */
		return !espy_mark_kind_is_text(kinds[ref]) && kinds[ref] != ESPY_MARK_DOUBLE && !def->args[ref].bits &&
		       !def->args[ref].is_float;
	}
}

static int put_text(struct espy_filter_value *v, const char *text)
{
	if (!text)
		return -ENODATA;
	*v = (struct espy_filter_value){ .type = ESPY_VALUE_TEXT, .text = text, .len = strlen(text) };
	return 1;
}

static int put_number(struct espy_filter_value *v, uint64_t u)
{
	*v = (struct espy_filter_value){ .type = ESPY_VALUE_UINT, .u = u };
	return 1;
}

static int get_of_hit(struct espy_tally_expr *x, const struct espy_event *event, struct espy_state *state,
		      struct espy_tally_value *out)
{
	const struct espy_rec_probe *hit =
		event->type == ESPY_EVENT_PROBE ? (const struct espy_rec_probe *)event->rec : NULL;
	const struct espy_mark_def *def = event->mark;
	uint8_t kinds[ESPY_MARK_MAX_ARGS];

	if (!def || !names_hit(x, def))
		return 0;
	put_kinds(def, kinds);
	const int ref = find_of_hit(x, event, kinds);

	switch (ref) {
	case -ENOENT:
		return 0;
	case ESPY_PROBE_NAME_PID:
		return put_number(&out->v, event->tgid);
	case ESPY_PROBE_NAME_TID:
		return put_number(&out->v, event->tid);
	case ESPY_PROBE_NAME_DURATION:
		out->look = ESPY_TALLY_DURATION;
		return hit->begin_ns && hit->rec.time_ns >= hit->begin_ns
			       ? put_number(&out->v, hit->rec.time_ns - hit->begin_ns)
			       : -ENODATA;
	case HIT_COMM:
		return put_text(&out->v, espy_state__comm(state, event->tid));
	case HIT_NAME:
		return put_text(&out->v, def->name);
	default:
		out->look = ESPY_TALLY_OF_MARK;
		out->arg = &def->args[ref];
		const int err = espy_mark_names__value(def, event->rec, (unsigned)ref, &out->v);
		return err ? err : 1;
	}
}

int espy_tally_expr__get(struct espy_tally_expr *x, const struct espy_event *event, struct espy_state *state,
			 struct espy_tally_value *out)
{
	*out = (struct espy_tally_value){ .type = ESPY_NONE };
	return event->call ? get_of_call(x, event->call, state, out) : get_of_hit(x, event, state, out);
}

/* A hit is made of the number, with all that it could be. Texts in front of it have no bytes. */
int espy_tally_expr__hit_value(struct espy_tally_expr *x, const struct espy_mark_def *def, uint64_t number,
			       struct espy_tally_value *out)
{
	struct {
		struct espy_rec_probe rec;
		uint64_t args[ESPY_MARK_MAX_ARGS];
	} hit = { .rec = { .len = (uint32_t)(def->nargs * sizeof(uint64_t)), .begin_ns = 1 } };
	const struct espy_event event = { .type = ESPY_EVENT_PROBE,
					  .mark = def,
					  .rec = &hit.rec.rec,
					  .tgid = (uint32_t)number,
					  .tid = (uint32_t)number };
	struct espy_tally_spec spec;

	hit.rec.rec = (struct espy_rec){ .size = (uint32_t)(sizeof(hit.rec) + hit.rec.len),
					 .type = ESPY_REC_PROBE,
					 .time_ns = number < UINT64_MAX ? number + 1 : number };
	if (espy_tally_expr__lower_hit(x, def, &spec) && spec.what == ESPY_TALLIED_ARG)
		hit.args[spec.arg] = number;
	*out = (struct espy_tally_value){ .type = ESPY_NONE };
	return get_of_hit(x, &event, NULL, out);
}
