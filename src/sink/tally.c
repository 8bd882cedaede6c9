/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "record/mark_def.h"
#include "sink/tally_impl.h"

#define TALLIES_MAX 64u
#define ROWS_MAX 262144u
#define TEXT_MAX 4096u /* bytes of a text that tell it from others */
#define TOP 20u

struct tally_sink {
	struct espy_sink base;
	unsigned top;
	bool json;
	const struct espy_stream *stream;
	uint16_t images[ESPY_ABI_CNT]; /* changes with the images by which the rows of an ABI were made */
	size_t cnt;
	struct espy_tally_one tallies[];
};

static struct tally_sink *to_tally(struct espy_sink *s)
{
	return (struct tally_sink *)s;
}

/* ---- rows */

/* The head of a key: values that are shown in different ways are different. */
struct look {
	uint8_t type, look, cut, abi;
	uint16_t images;
	uint8_t letter, kind; /* of the argument of a mark */
	uint32_t of_type, reserved;
	uint64_t number;
};
_Static_assert(sizeof(struct look) == 24, "a key has no bytes that are not set");

static size_t make_key(const struct tally_sink *s, const struct espy_tally_value *v, char *key)
{
	const bool text = v->v.type == ESPY_VALUE_TEXT;
	const size_t len = text ? v->v.len < TEXT_MAX ? v->v.len : TEXT_MAX : 0;
	const struct look look = {
		.type = v->v.type,
		.look = v->look,
		.cut = text && (v->v.cut || v->v.len > TEXT_MAX),
		.abi = v->image && !text ? v->image->abi : 0,
		.images = v->image && !text ? s->images[v->image->abi] : 0,
		.letter = v->arg && !text ? (uint8_t)v->arg->letter : 0,
		.kind = v->arg && !text ? v->arg->kind : 0,
		.of_type = v->image && !text ? v->type : 0,
		.number = text ? 0 : v->v.u,
	};

	memcpy(key, &look, sizeof(look));
	memcpy(key + sizeof(look), text ? v->v.text : "", len);
	return sizeof(look) + len;
}

static struct espy_tally_row *new_row(struct tally_sink *s, struct espy_tally_one *t, const struct espy_tally_value *v,
				      const char *key, size_t len)
{
	struct espy_tally_row *r = HASH_COUNT(t->rows) < ROWS_MAX ? calloc(1, sizeof(*r) + len) : NULL;
	struct espy_tally_value shown = *v;
	struct espy_buf b = { 0 };

	if (!r)
		return NULL;
	if (v->v.type == ESPY_VALUE_TEXT && v->v.len > TEXT_MAX) {
		shown.v.len = TEXT_MAX;
		shown.v.cut = true;
	}
	espy_tally_put_value(&b, &shown, s->json);
	if (b.failed) {
		espy_buf__free(&b);
		free(r);
		return NULL;
	}
	r->shown = b.data;
	r->shown_len = b.len;
	memcpy(r->key, key, len);
	HASH_ADD_KEYPTR(hh, t->rows, r->key, len, r);
	return r;
}

static uint64_t *row_of(struct tally_sink *s, struct espy_tally_one *t, const struct espy_tally_value *v)
{
	char key[sizeof(struct look) + TEXT_MAX];
	const size_t len = make_key(s, v, key);
	struct espy_tally_row *r;

	HASH_FIND(hh, t->rows, key, len, r);
	r = r ? r : new_row(s, t, v, key, len);
	return r ? &r->count : &t->other;
}

/* ---- powers of two */

static unsigned bits_of(uint64_t x)
{
	return x ? 64u - (unsigned)__builtin_clzll(x) : 0;
}

static uint64_t *bucket_of(struct espy_tally_one *t, const struct espy_tally_value *v)
{
	struct espy_tally_hist *h = &t->hist;

	h->times |= v->look == ESPY_TALLY_DURATION;
	if (v->failed)
		return &h->failed;
	switch (v->v.type) {
	case ESPY_VALUE_INT:
		return v->v.i < 0 ? &h->below[bits_of(0 - v->v.u)] : &h->at[bits_of(v->v.u)];
	case ESPY_VALUE_UINT:
		return &h->at[bits_of(v->v.u)];
	case ESPY_VALUE_DOUBLE: {
		const double d = v->v.d < 0 ? -v->v.d : v->v.d;

		if (!(d < 0x1p64)) /* beyond 64 bits, or no number */
			return &t->missing;
		return v->v.d <= -1 ? &h->below[bits_of((uint64_t)d)] : &h->at[bits_of((uint64_t)d)];
	}
	default:
		return &t->missing;
	}
}

/* ---- events */

/* Returns the counter that the event will raise; NULL: none. */
static uint64_t *place_of(struct tally_sink *s, struct espy_tally_one *t, const struct espy_event *e)
{
	struct espy_tally_value v;
	const int got = espy_tally_expr__get(t->expr, e, s->stream->state, &v);

	if (got <= 0)
		return got ? &t->missing : NULL;
	return t->is_hist ? bucket_of(t, &v) : row_of(s, t, &v);
}

/* Finds the counters now, while the state is that before the call. Later the filter tells whether the call counts. */
static unsigned tally_manners(struct espy_sink *sink, const struct espy_event *e)
{
	struct tally_sink *s = to_tally(sink);

	for (size_t i = 0; i < s->cnt; i++)
		s->tallies[i].place = e->withheld ? NULL : place_of(s, &s->tallies[i], e);
	return 0;
}

static void tally_event(struct espy_sink *sink, const struct espy_event *e)
{
	struct tally_sink *s = to_tally(sink);

	if (e->type == ESPY_EVENT_CALL_BEGIN)
		return;
	sink->calls += e->call != NULL;
	for (size_t i = 0; i < s->cnt; i++) {
		struct espy_tally_one *t = &s->tallies[i];

		if (!e->call)
			t->place = place_of(s, t, e);
		if (t->place)
			++*t->place;
		t->place = NULL;
	}
}

static int tally_start(struct espy_sink *s, const struct espy_stream *stream)
{
	to_tally(s)->stream = stream;
	return 0;
}

static void tally_finish(struct espy_sink *sink)
{
	struct tally_sink *s = to_tally(sink);
	struct espy_output *out = sink->output;

	/* They count the whole stream, whatever the last line was about. */
	if (s->json)
		espy_line_output__begin_json(out);
	out->muted = s->stream && s->stream->outside;
	for (size_t i = 0; i < s->cnt; i++) {
		if (i && !s->json)
			espy_line_output__end_line(out);
		espy_tally_print(&s->tallies[i], s->top, s->json, out);
	}
	espy_line_sink__flush(sink);
}

/* ---- life */

static void free_tallies(struct tally_sink *s)
{
	for (size_t i = 0; i < s->cnt; i++) {
		struct espy_tally_one *t = &s->tallies[i];
		struct espy_tally_row *r, *next;

		HASH_ITER(hh, t->rows, r, next)
		{
			HASH_DEL(t->rows, r);
			free(r->shown);
			free(r);
		}
		espy_tally_expr__free(t->expr);
	}
}

static int tally_close(struct espy_sink *s)
{
	free_tallies(to_tally(s));
	return espy_line_sink__close(s);
}

static const struct espy_sink_ops tally_ops = {
	.name = "tally",
	.start = tally_start,
	.manners = tally_manners,
	.event = tally_event,
	.finish = tally_finish,
	.close = tally_close,
};

static const char *option_of(bool is_hist)
{
	return is_hist ? "--hist" : "--count-by";
}

static int add_tally(struct tally_sink *s, const struct espy_tally *given, struct espy_tally_error *wrong)
{
	struct espy_tally_one *t = &s->tallies[s->cnt];
	int err;

	t->is_hist = given->kind == ESPY_TALLY_HIST;
	if (!given->text)
		return -EINVAL;
	err = espy_tally_expr__new(&t->expr, given->text, t->is_hist, &wrong->e);
	if (err == -EINVAL) {
		wrong->option = option_of(t->is_hist);
		wrong->text = given->text;
	}
	if (err)
		return err;
	s->cnt++;
	if (!espy_tally_expr__is_of_calls(t->expr))
		s->base.events |= ESPY_EVENT_MARK | ESPY_EVENT_PROBE;
	return 0;
}

int espy_tally__new(struct espy_sink **out, const struct espy_tally_options *o, struct espy_tally_error *wrong)
{
	const bool fits = o->tallies && o->tally_count && o->tally_count <= TALLIES_MAX;
	struct tally_sink *s = fits ? calloc(1, sizeof(*s) + o->tally_count * sizeof(s->tallies[0])) : NULL;
	int err = 0;

	if (!s)
		return fits ? -ENOMEM : -EINVAL;
	s->base = (struct espy_sink){ .ops = &tally_ops, .events = ESPY_EVENT_CALL_END };
	s->top = o->top ? o->top : TOP;
	s->json = o->json;
	for (size_t i = 0; i < o->tally_count && !err; i++)
		err = add_tally(s, &o->tallies[i], wrong);
	if (!err)
		return espy_line_sink__open(out, &s->base, o->output);
	free_tallies(s);
	free(s);
	return err;
}

int espy_tally__choose(struct espy_sink *sink, const struct espy_image *images, struct espy_syscall_set *calls,
		       bool hits, unsigned *asks, struct espy_tally_error *wrong)
{
	struct tally_sink *s = to_tally(sink);
	struct espy_syscall_set wanted = { .bits = { { 0 } } };

	*asks = 0;
	for (size_t i = 0; i < s->cnt; i++) {
		struct espy_tally_one *t = &s->tallies[i];

		if (espy_tally_expr__choose(t->expr, images, calls, hits, &wanted, &wrong->e)) {
			wrong->option = option_of(t->is_hist);
			wrong->text = espy_tally_expr__text(t->expr);
			return -EINVAL;
		}
		*asks |= espy_tally_expr__asks(t->expr);
	}
	/* The file of a descriptor may be known only before the call. */
	if (*asks & ESPY_TALLY_FD_PATHS)
		s->base.events |= ESPY_EVENT_CALL_BEGIN;
	*calls = wanted;
	return 0;
}

size_t espy_tally__cnt(const struct espy_sink *s)
{
	return ((const struct tally_sink *)s)->cnt;
}

static struct espy_tally_expr *lower_kind(struct espy_sink *s, size_t i, struct espy_source_tally *out)
{
	struct espy_tally_one *t = &to_tally(s)->tallies[i];

	out->is_hist = t->is_hist;
	t->hist.times = !strcmp(espy_tally_expr__name(t->expr), "duration");
	return t->expr;
}

bool espy_tally__lower(struct espy_sink *s, size_t i, bool chosen, struct espy_source_tally *out)
{
	return espy_tally_expr__lower(lower_kind(s, i, out), chosen, out);
}

bool espy_tally__lower_hits(struct espy_sink *s, size_t i, const struct espy_mark_def *const *defs, size_t cnt,
			    struct espy_tally_spec *specs, struct espy_source_tally *out)
{
	struct espy_tally_expr *expr = lower_kind(s, i, out);

	out->places = specs;
	for (size_t k = 0; k < cnt; k++)
		if (!espy_tally_expr__lower_hit(expr, defs[k], &specs[k]))
			return false;
	return true;
}

static uint64_t *slot_of(struct espy_tally_one *t, uint32_t slot)
{
	switch (slot) {
	case ESPY_TALLIED_MISSING:
		return &t->missing;
	case ESPY_TALLIED_FAILED:
		return &t->hist.failed;
	case ESPY_TALLIED_OTHER:
		return &t->other;
	default:
		return slot < ESPY_TALLIED_BELOW ? &t->hist.at[slot - ESPY_TALLIED_AT]
						 : &t->hist.below[slot - ESPY_TALLIED_BELOW];
	}
}

void espy_tally__add(struct espy_sink *sink, const struct espy_tallied *counted, const struct espy_mark_def *def)
{
	struct tally_sink *s = to_tally(sink);
	struct espy_tally_one *t = &s->tallies[counted->tally];
	struct espy_tally_value v;

	if (counted->is_slot)
		*slot_of(t, counted->slot) += counted->count;
	else if (def && espy_tally_expr__hit_value(t->expr, def, counted->value, &v) > 0)
		*row_of(s, t, &v) += counted->count;
	else if (!def && espy_tally_expr__value(t->expr, counted->abi, counted->nr, counted->value, &v))
		*row_of(s, t, &v) += counted->count;
}

void espy_tally__forget(struct espy_sink *sink, enum espy_abi abi)
{
	struct tally_sink *s = to_tally(sink);

	s->images[abi]++;
	for (size_t i = 0; i < s->cnt; i++)
		espy_tally_expr__forget(s->tallies[i].expr, abi);
}

bool espy_tally__names(const struct espy_sink *sink, const char *name)
{
	const struct tally_sink *s = (const struct tally_sink *)sink;
	bool any = false;

	for (size_t i = 0; i < s->cnt; i++)
		any |= !strcmp(espy_tally_expr__name(s->tallies[i].expr), name);
	return any;
}
