/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "base/array.h"
#include "base/json.h"
#include "sink/line_output.h"
#include "sink/text/text_mark.h"

#define TEXT_MAX 512 /* bytes of a cell; the name of a C++ function may be longer */

struct row {
	uint32_t nr;
	char *name; /* NULL: a number without a name; a copy, since the images of a trace change while it is read */
	struct espy_count c;
	/* the words from which the name of a mark or probe was made */
	char *provider, *symbol;
	bool returns;
};

struct abi_rows {
	const struct espy_image *image;
	struct row *rows;
	size_t cnt, cap;
	uint32_t index[ESPY_MAX_SYSCALLS]; /* row + 1 by number, of the others by definition, modulo; 0: none yet */
};

struct espy_summary_table {
	struct espy_sink base;
	struct espy_summary_options o;
	enum espy_summary_column columns[ESPY_COL_COUNT];
	const struct espy_stream *stream;
	struct abi_rows abis[ESPY_ABI_CNT];
	struct abi_rows probes, marks; /* in the order of their first hits */
};

static struct espy_summary_table *to_summary(struct espy_sink *s)
{
	return (struct espy_summary_table *)s;
}

/* The columns. width is the least one; it grows with the data. */
static const struct column {
	const char *head;
	unsigned width;
	bool left;
} columns[ESPY_COL_COUNT] = {
	[ESPY_COL_TIME_PERCENT] = { "% time", 6, false },    [ESPY_COL_TOTAL_TIME] = { "seconds", 11, false },
	[ESPY_COL_MIN_TIME] = { "shortest", 8, false },	     [ESPY_COL_MAX_TIME] = { "longest", 8, false },
	[ESPY_COL_AVG_TIME] = { "usecs/call", 11, false },   [ESPY_COL_CALLS] = { "calls", 9, false },
	[ESPY_COL_ERRORS] = { "errors", 9, false },	     [ESPY_COL_NAME] = { "syscall", 16, true },
	[ESPY_COL_WALL_TOTAL] = { "wall-total", 11, false }, [ESPY_COL_WALL_MIN] = { "wall-min", 8, false },
	[ESPY_COL_WALL_MAX] = { "wall-max", 8, false },	     [ESPY_COL_WALL_AVG] = { "wall-avg", 11, false },
};
static const enum espy_summary_column default_columns[] = {
	ESPY_COL_TIME_PERCENT, ESPY_COL_TOTAL_TIME, ESPY_COL_AVG_TIME, ESPY_COL_CALLS, ESPY_COL_ERRORS, ESPY_COL_NAME,
};

/* The subject of a table. A probe has no errors, a mark no times either. */
struct subject {
	const char *calls, *name; /* heads of these columns; NULL: as above */
	const char *kind, *total; /* of objects */
	bool errors, times;
};
static const struct subject of_calls = { NULL, NULL, "summary", "summary_total", .errors = true, .times = true };
static const struct subject of_probes = { "hits", "probe", "summary_probe", "summary_probe_total", .times = true };
static const struct subject of_marks = { "hits", "mark", "summary_mark", "summary_mark_total", .times = false };

static struct row *find_row(struct espy_summary_table *t, const struct espy_image *img, uint32_t nr)
{
	struct abi_rows *a = &t->abis[img->abi];

	a->image = img;
	if (nr < ESPY_MAX_SYSCALLS && a->index[nr])
		return &a->rows[a->index[nr] - 1];
	for (size_t i = 0; nr >= ESPY_MAX_SYSCALLS && i < a->cnt; i++)
		if (a->rows[i].nr == nr)
			return &a->rows[i];
	if (!espy_array__grow(a->rows, a->cnt, a->cap))
		return NULL;
	struct row *r = &a->rows[a->cnt++];
	const char *name = espy_image__call_name(img, nr);
	*r = (struct row){ .nr = nr, .name = name[0] ? strndup(name, NAME_MAX) : NULL, .c.min_ns = UINT64_MAX };
	if (nr < ESPY_MAX_SYSCALLS)
		a->index[nr] = (uint32_t)a->cnt;
	return r;
}

/* Returns the name of a mark or probe as in its lines; at a return with the word of -u. NULL: no memory. */
static char *full_name(const struct espy_mark_def *def)
{
	struct espy_buf b = { 0 };

	espy_mark_text__put_full_name(&b, def);
	char *name = b.failed ? NULL : strndup(b.data, b.len);
	espy_buf__free(&b);
	return name;
}

/* Tells whether the name of the row was made from the same words. */
static bool is_named(const struct row *r, const struct espy_mark_def *def)
{
	return r->returns == (def->place == ESPY_PROBE_RETURN) && !strcmp(r->symbol, def->name) && !strcmp(r->provider, def->provider);
}

static void free_row(struct row *r)
{
	free(r->name);
	free(r->provider);
	free(r->symbol);
}

/* Finds or makes the row of a mark or probe by name. One of several places, or of several files, has one row. */
static struct row *find_named(struct abi_rows *a, const struct espy_mark_def *def, uint32_t def_nr)
{
	uint32_t *index = &a->index[def_nr % ESPY_MAX_SYSCALLS];

	if (*index && is_named(&a->rows[*index - 1], def))
		return &a->rows[*index - 1];
	struct row r = { .nr = (uint32_t)a->cnt,
			 .name = full_name(def),
			 .c.min_ns = UINT64_MAX,
			 .provider = strdup(def->provider),
			 .symbol = strdup(def->name),
			 .returns = def->place == ESPY_PROBE_RETURN };
	size_t i = 0;

	while (r.name && i < a->cnt && strcmp(a->rows[i].name, r.name))
		i++;
	const bool fresh = r.name && i == a->cnt;
	const bool failed = !r.name || !r.provider || !r.symbol || (fresh && !espy_array__grow(a->rows, a->cnt, a->cap));

	if (failed || !fresh)
		free_row(&r);
	else
		a->rows[a->cnt++] = r;
	if (failed)
		return NULL;
	*index = (uint32_t)i + 1;
	return &a->rows[i];
}

static void merge(struct espy_count *to, const struct espy_count *c)
{
	to->calls += c->calls;
	to->errors += c->errors;
	to->time_ns += c->time_ns;
	to->timed += c->timed;
	if (c->min_ns < to->min_ns)
		to->min_ns = c->min_ns;
	if (c->max_ns > to->max_ns)
		to->max_ns = c->max_ns;
}

/* Counts a call that has returned. A call that does not return has no result, so it does not count. */
static void count_call(struct espy_summary_table *t, const struct espy_call_view *v)
{
	struct row *r = v->no_return || !v->has_exit ? NULL : find_row(t, v->image, v->nr);
	const uint64_t wall_ns = v->enter_ns && v->exit_ns > v->enter_ns ? v->exit_ns - v->enter_ns : 0;
	const uint64_t ns = v->has_cpu && !t->o.wall_clock ? v->cpu_ns : wall_ns; /* a trace has the former alone */
	const struct espy_count c = {
		.calls = 1,
		.errors = v->ret < 0 && v->ret >= -4095,
		.time_ns = ns,
		.min_ns = ns,
		.max_ns = ns,
		.timed = 1,
	};

	if (r)
		merge(&r->c, &c);
}

/* Counts a hit of a mark or probe. At the return from a function it has the time since its entry, if that is known. */
static void count_hit(struct espy_summary_table *t, const struct espy_event *e)
{
	const struct espy_rec_probe *hit = e->type == ESPY_EVENT_PROBE ? (const struct espy_rec_probe *)e->rec : NULL;
	const uint32_t def = hit ? hit->def : ((const struct espy_rec_mark *)e->rec)->def;
	struct row *r = e->mark ? find_named(hit ? &t->probes : &t->marks, e->mark, def) : NULL;

	struct espy_count c = { .calls = 1, .min_ns = UINT64_MAX };

	if (hit && hit->begin_ns && hit->rec.time_ns >= hit->begin_ns) {
		c.time_ns = c.min_ns = c.max_ns = hit->rec.time_ns - hit->begin_ns;
		c.timed = 1;
	}
	if (r)
		merge(&r->c, &c);
}

void espy_summary__add_hits(struct espy_sink *s, const struct espy_mark_def *def, uint32_t def_nr, const struct espy_count *c)
{
	struct row *r = c->calls ? find_named(&to_summary(s)->probes, def, def_nr) : NULL;

	if (r)
		merge(&r->c, c);
}

/* Tells whether the call never returns (exit): a source may count it, but it has no result and no duration. */
static bool never_returns(const struct espy_image *img, uint32_t nr)
{
	return nr < img->syscall_cnt && img->plans[img->call_plans[nr].plan].flags & ESPY_PLAN_NO_RETURN;
}

void espy_summary__add(struct espy_sink *s, const struct espy_image *img, const struct espy_count *counts, size_t n)
{
	for (uint32_t nr = 0; nr < n; nr++) {
		struct row *r = counts[nr].calls && !never_returns(img, nr) ? find_row(to_summary(s), img, nr) : NULL;

		if (!r)
			continue;
		merge(&r->c, &counts[nr]);
		r->c.timed += counts[nr].calls;
	}
}

/* Subtracts the time that the tracer itself adds to each call (-O). */
static void subtract_overhead(const struct espy_summary_options *o, struct espy_count *c)
{
	const uint64_t each = o->overhead_ns;

	if (!each)
		return;
	uint64_t all = c->calls > UINT64_MAX / each ? UINT64_MAX : each * c->calls;
	c->time_ns = c->time_ns > all ? c->time_ns - all : 0;
	c->min_ns = c->min_ns > each ? c->min_ns - each : 0;
	c->max_ns = c->max_ns > each ? c->max_ns - each : 0;
}

static uint64_t average(const struct row *r)
{
	return r->c.timed ? r->c.time_ns / r->c.timed : 0;
}

/* Returns the number of a row in a column that has numbers. */
static uint64_t figure(const struct row *r, enum espy_summary_column col)
{
	switch (col) {
	case ESPY_COL_MIN_TIME:
	case ESPY_COL_WALL_MIN:
		return r->c.min_ns;
	case ESPY_COL_MAX_TIME:
	case ESPY_COL_WALL_MAX:
		return r->c.max_ns;
	case ESPY_COL_AVG_TIME:
	case ESPY_COL_WALL_AVG:
		return average(r);
	case ESPY_COL_CALLS:
		return r->c.calls;
	case ESPY_COL_ERRORS:
		return r->c.errors;
	default:
		return r->c.time_ns;
	}
}

static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct row *a = pa, *b = pb;
	const struct espy_summary_options *o = ctx;
	const uint64_t x = figure(a, o->sort_by), y = figure(b, o->sort_by);
	int d = x < y ? 1 : x > y ? -1 : 0; /* largest first */

	/* Probes and marks at a place have no time: the most frequent comes first. */
	if (!d && !a->c.timed && !b->c.timed)
		d = a->c.calls < b->c.calls ? 1 : a->c.calls > b->c.calls ? -1 : 0;
	if (o->sort_by == ESPY_COL_NAME)
		d = strcmp(a->name ? a->name : "syscall_", b->name ? b->name : "syscall_");
	return d && !o->unsorted ? d : a->nr < b->nr ? -1 : a->nr > b->nr;
}

static void cell(char *text, size_t size, enum espy_summary_column col, const struct row *r,
		 const struct espy_count *total)
{
	const struct espy_count *c = &r->c;

	text[0] = 0;
	if (!r->c.timed && col != ESPY_COL_CALLS && col != ESPY_COL_ERRORS && col != ESPY_COL_NAME) {
		snprintf(text, size, "-");
		return;
	}
	switch (col) {
	case ESPY_COL_TIME_PERCENT: {
		/* The last line has the whole, also if no time was measured. */
		double share = c == total	? 100.0
			       : total->time_ns ? 100.0 * (double)c->time_ns / (double)total->time_ns
						: 0;

		snprintf(text, size, "%.2f", share);
		break;
	}
	case ESPY_COL_TOTAL_TIME:
	case ESPY_COL_WALL_TOTAL:
	case ESPY_COL_MIN_TIME:
	case ESPY_COL_WALL_MIN:
	case ESPY_COL_MAX_TIME:
	case ESPY_COL_WALL_MAX:
		snprintf(text, size, "%.6f", (double)figure(r, col) / 1e9);
		break;
	case ESPY_COL_AVG_TIME:
	case ESPY_COL_WALL_AVG:
		snprintf(text, size, "%" PRIu64, average(r) / 1000);
		break;
	case ESPY_COL_CALLS:
		snprintf(text, size, "%" PRIu64, c->calls);
		break;
	case ESPY_COL_ERRORS:
		if (c->errors)
			snprintf(text, size, "%" PRIu64, c->errors);
		break;
	case ESPY_COL_NAME:
		if (r->name)
			snprintf(text, size, "%s", r->name);
		else
			snprintf(text, size, "syscall_%#x", r->nr);
		break;
	case ESPY_COL_COUNT:
		break;
	}
}

struct layout {
	enum espy_summary_column cols[ESPY_COL_COUNT];
	unsigned cnt;
	unsigned width[ESPY_COL_COUNT];
};

static void put_cell(struct espy_buf *b, const struct layout *l, unsigned i, const char *text)
{
	int pad = (int)l->width[i] - (int)strlen(text);
	bool left = columns[l->cols[i]].left;

	if (i)
		espy_buf__putc(b, ' ');
	while (!left && pad-- > 0)
		espy_buf__putc(b, ' ');
	espy_buf__puts(b, text);
	while (left && i + 1 < l->cnt && pad-- > 0)
		espy_buf__putc(b, ' ');
}

static void put_row(struct espy_buf *b, const struct layout *l, const struct row *r, const struct espy_count *total)
{
	char text[TEXT_MAX];

	for (unsigned i = 0; i < l->cnt; i++) {
		cell(text, sizeof(text), l->cols[i], r, total);
		put_cell(b, l, i, text);
	}
	espy_buf__putc(b, '\n');
}

/* Takes the overhead off, adds up the rows, and sorts them. */
static void finish_rows(const struct espy_summary_options *o, struct abi_rows *a, struct row *total)
{
	*total = (struct row){ .name = "total", .c.min_ns = UINT64_MAX };
	for (size_t i = 0; i < a->cnt; i++) {
		subtract_overhead(o, &a->rows[i].c);
		merge(&total->c, &a->rows[i].c);
	}
	qsort_r(a->rows, a->cnt, sizeof(*a->rows), compare_rows, (void *)o);
}

/* Puts the object of a row. abi: of a call; NULL: it is a mark or probe, which has no number. */
static void put_object(struct espy_output *out, const struct subject *of, const char *abi, const struct row *r,
		       bool is_total)
{
	const struct {
		const char *key;
		uint64_t value;
		bool there;
	} members[] = {
		{ of->calls ? of->calls : "calls", r->c.calls, true },
		{ "errors", r->c.errors, of->errors },
		{ "total_time", r->c.time_ns, of->times },
		{ "min_time", r->c.timed ? r->c.min_ns : 0, of->times },
		{ "max_time", r->c.max_ns, of->times },
		{ "avg_time", average(r), of->times },
	};
	struct espy_json j = { .b = &out->buf };

	espy_json__open(&j, '{');
	espy_json__key_str(&j, "kind", is_total ? of->total : of->kind);
	if (abi)
		espy_json__key_str(&j, "abi", abi);
	if (!is_total) {
		espy_json__key(&j, "name");
		espy_json__str_or_null(&j, r->name ? r->name : "");
		if (abi)
			espy_json__key_u64(&j, "nr", r->nr);
	}
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].there)
			espy_json__key_u64(&j, members[i].key, members[i].value);
	espy_json__close(&j, '}');
	espy_line_output__end_line(out);
}

static void print_objects(const struct espy_summary_options *o, struct abi_rows *a, const struct subject *of,
			  const char *abi, struct espy_output *out)
{
	struct row total;

	finish_rows(o, a, &total);
	for (size_t i = 0; i < a->cnt; i++)
		put_object(out, of, abi, &a->rows[i], false);
	put_object(out, of, abi, &total, true);
}

/* Returns the columns that the user chose, or all that the subject has. */
static struct layout layout_of(const struct espy_summary_options *o, const struct subject *of)
{
	const bool chosen = o->column_count;
	const enum espy_summary_column *from = chosen ? o->columns : default_columns;
	const size_t cnt = chosen ? o->column_count : sizeof(default_columns) / sizeof(*default_columns);
	struct layout l = { .cnt = 0 };

	for (size_t i = 0; i < cnt && l.cnt < ESPY_COL_COUNT; i++)
		if (chosen || from[i] == ESPY_COL_CALLS || from[i] == ESPY_COL_NAME ||
		    (from[i] == ESPY_COL_ERRORS ? of->errors : of->times))
			l.cols[l.cnt++] = from[i];
	return l;
}

static const char *head_of(const struct subject *of, enum espy_summary_column col)
{
	const char *own = col == ESPY_COL_CALLS ? of->calls : col == ESPY_COL_NAME ? of->name : NULL;

	return own ? own : columns[col].head;
}

static void print_rows(const struct espy_summary_options *o, struct abi_rows *a, const struct subject *of,
		       struct espy_buf *b)
{
	struct layout l = layout_of(o, of);
	struct row total;
	char text[TEXT_MAX];

	finish_rows(o, a, &total);
	for (unsigned i = 0; i < l.cnt; i++) {
		l.width[i] = columns[l.cols[i]].width;
		for (size_t r = 0; r <= a->cnt; r++) {
			cell(text, sizeof(text), l.cols[i], r < a->cnt ? &a->rows[r] : &total, &total.c);
			if (strlen(text) > l.width[i])
				l.width[i] = (unsigned)strlen(text);
		}
	}
	for (unsigned i = 0; i < l.cnt; i++)
		put_cell(b, &l, i, head_of(of, l.cols[i]));
	espy_buf__putc(b, '\n');
	espy_buf__dashes(b, l.width, l.cnt);
	for (size_t i = 0; i < a->cnt; i++)
		put_row(b, &l, &a->rows[i], &total.c);
	espy_buf__dashes(b, l.width, l.cnt);
	put_row(b, &l, &total, &total.c);
}

static void drop_rows(struct abi_rows *a)
{
	while (a->cnt)
		free_row(&a->rows[--a->cnt]);
}

/* Prints a table for each ABI that made calls. */
static void print(struct espy_summary_table *t, struct espy_output *out)
{
	struct espy_buf *b = &out->buf;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		if (!t->abis[abi].cnt)
			continue;
		if (t->o.json) {
			print_objects(&t->o, &t->abis[abi], &of_calls, espy_abis[abi].name, out);
		} else {
			if (espy_abis[abi].base != abi) {
				espy_buf__puts(b, "System call usage summary for ");
				espy_buf__puts(b, espy_abis[abi].mode);
				espy_buf__puts(b, " mode:\n");
			}
			print_rows(&t->o, &t->abis[abi], &of_calls, b);
			espy_line_output__whole_lines(out);
		}
		/* Rows have lost their order by number: a table is printed once. */
		memset(t->abis[abi].index, 0, sizeof(t->abis[abi].index));
		drop_rows(&t->abis[abi]);
	}
}

/* Prints the table of marks or probes, if any was hit. The overhead of a call (-O) is no part of their times. */
static void print_named(const struct espy_summary_table *t, struct abi_rows *a, const struct subject *of,
			struct espy_output *out)
{
	struct espy_summary_options o = t->o;

	if (!a->cnt)
		return;
	o.overhead_ns = 0;
	if (o.json) {
		print_objects(&o, a, of, NULL, out);
	} else {
		print_rows(&o, a, of, &out->buf);
		espy_line_output__whole_lines(out);
	}
	memset(a->index, 0, sizeof(a->index));
	drop_rows(a);
}

static void summary_event(struct espy_sink *s, const struct espy_event *e)
{
	if (e->type != ESPY_EVENT_CALL_END) {
		count_hit(to_summary(s), e);
		return;
	}
	s->calls++;
	count_call(to_summary(s), e->call);
}

static int summary_start(struct espy_sink *s, const struct espy_stream *stream)
{
	to_summary(s)->stream = stream;
	return 0;
}

static void summary_finish(struct espy_sink *s)
{
	struct espy_output *out = s->output;

	/* It counts the whole stream, whatever the last line was about. */
	if (to_summary(s)->o.json)
		espy_line_output__begin_json(out);
	out->muted = to_summary(s)->stream && to_summary(s)->stream->outside;
	print(to_summary(s), out);
	print_named(to_summary(s), &to_summary(s)->marks, &of_marks, out);
	print_named(to_summary(s), &to_summary(s)->probes, &of_probes, out);
	espy_line_sink__flush(s);
}

static void free_rows(struct abi_rows *a)
{
	drop_rows(a);
	free(a->rows);
}

static int summary_close(struct espy_sink *s)
{
	struct espy_summary_table *t = to_summary(s);

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		free_rows(&t->abis[abi]);
	free_rows(&t->probes);
	free_rows(&t->marks);
	return espy_line_sink__close(s);
}

static const struct espy_sink_ops summary_ops = {
	.name = "summary",
	.start = summary_start,
	.event = summary_event,
	.finish = summary_finish,
	.close = summary_close,
};

int espy_summary__new(struct espy_sink **out, const struct espy_summary_options *o)
{
	struct espy_summary_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->base = (struct espy_sink){ .ops = &summary_ops,
				      .events = ESPY_EVENT_CALL_END | ESPY_EVENT_MARK | ESPY_EVENT_PROBE };
	t->o = *o;
	for (size_t i = 0; i < o->column_count && i < ESPY_COL_COUNT; i++)
		t->columns[i] = o->columns[i];
	t->o.columns = t->columns;
	return espy_line_sink__open(out, &t->base, o->output);
}

bool espy_summary__needs_wall_clock(const struct espy_summary_options *o)
{
	for (size_t i = 0; i < o->column_count; i++)
		if (o->columns[i] >= ESPY_COL_WALL_TOTAL)
			return true;
	return o->wall_clock;
}
