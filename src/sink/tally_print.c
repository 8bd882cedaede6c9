/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables of --count-by and --hist, and the values in them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/errno_names.h"
#include "base/json.h"
#include "sink/json/json_values.h"
#include "sink/tally_impl.h"
#include "sink/text/text.h"
#include "sink/text/text_mark.h"

#define BAR 40u	      /* characters of the longest bar */
#define CELL_MAX 32   /* bytes of a number */
#define COUNT_WIDTH 9 /* least width of a count */

/* ---- values */

static void put_duration(struct espy_buf *b, uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double x = (double)ns;
	char text[CELL_MAX];
	unsigned unit = 0;

	while (unit < 3 && x >= 999.95) {
		x /= 1000;
		unit++;
	}
	snprintf(text, sizeof(text), unit ? "%#.4g%s" : "%.0f%s", x, units[unit]);
	espy_buf__puts(b, text);
}

static struct espy_token token_of(const struct espy_tally_value *v)
{
	const struct espy_type *type = &v->image->types[v->type];
	const bool pointer = type->kind == ESPY_T_PTR;

	return (struct espy_token){
		.kind = pointer ? ESPY_TOKEN_ADDR : ESPY_TOKEN_INT,
		.role = ESPY_ROLE_ARG,
		/* an address that a call returns is a number if it is 0 */
		.fmt = v->look == ESPY_TALLY_ERROR && type->fmt == ESPY_FMT_ADDR ? ESPY_FMT_HEX : type->fmt,
		.shown = ESPY_MANNERS_FULL,
		.link = pointer ? ESPY_NONE : type->table,
		.type = type,
		.name = "",
		.num = v->v.u,
	};
}

/* Returns the name of a number that is an error; NULL: it is none. */
static const char *error_of(const struct espy_tally_value *v)
{
	if (v->failed)
		return espy_errno_name((unsigned)(0 - v->v.u));
	return v->look == ESPY_TALLY_ERRNO && v->v.u ? espy_errno_name((unsigned)v->v.u) : NULL;
}

static bool is_typed(const struct espy_tally_value *v)
{
	return (v->look == ESPY_TALLY_TYPED || v->look == ESPY_TALLY_ERROR) && !v->failed && v->image &&
	       v->type < v->image->type_cnt &&
	       (v->image->types[v->type].kind == ESPY_T_INT || v->image->types[v->type].kind == ESPY_T_PTR);
}

static void put_text(struct espy_buf *b, const struct espy_tally_value *v)
{
	const struct espy_text_opts o = { .str_limit = UINT32_MAX };
	const char *error = error_of(v);

	if (v->v.type == ESPY_VALUE_TEXT) {
		espy_buf__quote(b, (const uint8_t *)v->v.text, v->v.len, ESPY_HEX_NONE, NULL, true);
		espy_buf__puts(b, v->v.cut ? "..." : "");
	} else if (v->arg) {
		espy_mark_text__put_number(b, v->arg, v->v.u);
	} else if (error) {
		espy_buf__puts(b, v->failed ? "-" : "");
		espy_buf__puts(b, error);
	} else if (is_typed(v)) {
		const struct espy_token k = token_of(v);

		espy_text__value(b, &o, v->image, (struct espy_tokens){ &k, 1 }, ESPY_MANNER_FULL, 0);
	} else if (v->look == ESPY_TALLY_DURATION) {
		put_duration(b, v->v.u);
	} else if (v->v.type == ESPY_VALUE_INT) {
		espy_buf__sdec(b, v->v.i);
	} else {
		espy_buf__dec(b, v->v.u);
	}
}

static void put_json(struct espy_buf *b, const struct espy_tally_value *v)
{
	struct espy_json j = { .b = b };
	const char *error = error_of(v);

	if (v->v.type == ESPY_VALUE_TEXT) {
		espy_json_values__text(&j, v->v.text, v->v.len, v->v.cut);
	} else if (v->arg) {
		espy_json_values__mark_number(&j, v->arg->kind, v->v.u);
	} else if (error) {
		espy_json__open(&j, '{');
		espy_json__key_str(&j, "$", "enum");
		espy_json__key(&j, "num");
		espy_json__i64(&j, v->v.i);
		espy_json__key_str(&j, "name", error);
		espy_json__close(&j, '}');
	} else if (is_typed(v)) {
		const struct espy_token k = token_of(v);

		espy_json_values__one(&(struct espy_json_values){ .j = &j,
								  .image = v->image,
								  .tokens = { &k, 1 },
								  .manner = ESPY_MANNER_FULL,
								  .string_limit = UINT32_MAX });
	} else if (v->v.type == ESPY_VALUE_INT) {
		espy_json_values__mark_number(&j, ESPY_MARK_I64, v->v.u);
	} else {
		espy_json_values__mark_number(&j, ESPY_MARK_U64, v->v.u);
	}
}

void espy_tally_put_value(struct espy_buf *b, const struct espy_tally_value *v, bool json)
{
	if (json)
		put_json(b, v);
	else
		put_text(b, v);
}

/* ---- lines */

static void put_right(struct espy_buf *b, const char *text, unsigned width)
{
	for (size_t len = strlen(text); len < width; len++)
		espy_buf__putc(b, ' ');
	espy_buf__puts(b, text);
}

static unsigned width_of(uint64_t count)
{
	const unsigned digits = espy_dec_digits(count);

	return digits > COUNT_WIDTH ? digits : COUNT_WIDTH;
}

static void put_head(struct espy_buf *b, const struct espy_tally_one *t)
{
	espy_buf__escaped(b, espy_tally_expr__text(t->expr));
	espy_buf__putc(b, '\n');
}

static void put_missing(struct espy_buf *b, const struct espy_tally_one *t)
{
	if (!t->missing)
		return;
	espy_buf__dec(b, t->missing);
	espy_buf__puts(b, t->missing == 1 ? " event without a value\n" : " events without a value\n");
}

/* Begins an object of the tally; the caller ends it by end_object. */
static struct espy_json begin_object(struct espy_output *out, const struct espy_tally_one *t, const char *kind)
{
	struct espy_json j = { .b = &out->buf };

	espy_json__open(&j, '{');
	espy_json__key_str(&j, "kind", kind);
	espy_json__key_str(&j, "of", espy_tally_expr__text(t->expr));
	return j;
}

static void end_object(struct espy_output *out, struct espy_json *j)
{
	espy_json__close(j, '}');
	espy_line_output__end_line(out);
}

/* ---- counts by value */

static int by_text(const void *pa, const void *pb)
{
	const struct espy_tally_row *a = *(struct espy_tally_row *const *)pa, *b = *(struct espy_tally_row *const *)pb;
	const size_t len = a->shown_len < b->shown_len ? a->shown_len : b->shown_len;
	const int d = len ? memcmp(a->shown, b->shown, len) : 0;

	return d ? d : a->shown_len < b->shown_len ? -1 : a->shown_len > b->shown_len;
}

static int by_count(const void *pa, const void *pb)
{
	const struct espy_tally_row *a = *(struct espy_tally_row *const *)pa, *b = *(struct espy_tally_row *const *)pb;

	return a->count > b->count ? -1 : a->count < b->count ? 1 : by_text(pa, pb);
}

struct rows {
	struct espy_tally_row **v;
	size_t cnt, shown;    /* only the first `shown` rows are shown */
	uint64_t total, rest; /* of all rows; of rows that are not shown */
};

/* Sorts the rows that counted, the most frequent first, and joins rows that look alike (of several calls or images). */
static bool sort_rows(const struct espy_tally_one *t, unsigned top, struct rows *rows)
{
	size_t kept = 0;

	*rows = (struct rows){ .v = calloc(HASH_COUNT(t->rows) + 1, sizeof(struct espy_tally_row *)),
			       .total = t->other };
	if (!rows->v)
		return false;
	for (struct espy_tally_row *r = t->rows; r; r = r->hh.next)
		if (r->count)
			rows->v[rows->cnt++] = r;
	qsort(rows->v, rows->cnt, sizeof(*rows->v), by_text);
	for (size_t i = 0; i < rows->cnt; i++) {
		rows->total += rows->v[i]->count;
		if (kept && !by_text(&rows->v[kept - 1], &rows->v[i]))
			rows->v[kept - 1]->count += rows->v[i]->count;
		else
			rows->v[kept++] = rows->v[i];
	}
	rows->cnt = kept;
	rows->shown = kept < top ? kept : top;
	rows->rest = t->other;
	qsort(rows->v, rows->cnt, sizeof(*rows->v), by_count);
	for (size_t i = rows->shown; i < rows->cnt; i++)
		rows->rest += rows->v[i]->count;
	return true;
}

static void put_row(struct espy_buf *b, uint64_t count, uint64_t total, unsigned width, const char *text, size_t len)
{
	char share[CELL_MAX];

	snprintf(share, sizeof(share), "%.2f", total ? 100.0 * (double)count / (double)total : 100.0);
	put_right(b, share, 7);
	espy_buf__putc(b, ' ');
	espy_buf__dec_right(b, count, width);
	espy_buf__putc(b, ' ');
	espy_buf__put(b, text, len);
	espy_buf__putc(b, '\n');
}

static void print_rows(const struct espy_tally_one *t, const struct rows *rows, struct espy_output *out)
{
	const unsigned widths[] = { 7, width_of(rows->total), 16 };
	struct espy_buf *b = &out->buf;
	char text[2 * CELL_MAX];

	put_head(b, t);
	espy_buf__puts(b, "% total ");
	put_right(b, "count", widths[1]);
	espy_buf__puts(b, " value\n");
	espy_buf__dashes(b, widths, 3);
	for (size_t i = 0; i < rows->shown; i++)
		put_row(b, rows->v[i]->count, rows->total, widths[1], rows->v[i]->shown, rows->v[i]->shown_len);
	if (rows->rest) {
		const size_t cnt = rows->cnt - rows->shown;
		const int n = snprintf(text, sizeof(text),
				       t->other	  ? "(more than %zu other values)"
				       : cnt == 1 ? "(%zu other value)"
						  : "(%zu other values)",
				       cnt);

		put_row(b, rows->rest, rows->total, widths[1], text, (size_t)n);
	}
	espy_buf__dashes(b, widths, 3);
	put_row(b, rows->total, rows->total, widths[1], "total", 5);
	put_missing(b, t);
	espy_line_output__whole_lines(out);
}

static void print_row_objects(const struct espy_tally_one *t, const struct rows *rows, struct espy_output *out)
{
	struct espy_json j;

	for (size_t i = 0; i < rows->shown; i++) {
		j = begin_object(out, t, "count");
		espy_json__key(&j, "value");
		espy_json__raw(&j, rows->v[i]->shown, rows->v[i]->shown_len);
		espy_json__key_u64(&j, "count", rows->v[i]->count);
		end_object(out, &j);
	}
	j = begin_object(out, t, "count_total");
	espy_json__key_u64(&j, "count", rows->total);
	espy_json__key_u64(&j, "others", rows->rest);
	espy_json__key_u64(&j, "missing", t->missing);
	end_object(out, &j);
}

/* ---- powers of two */

struct bucket {
	char from[CELL_MAX], to[CELL_MAX]; /* as text */
	uint64_t low, high;		   /* both with this sign */
	bool negative;
	uint64_t count;
};

static void name_bound(char *text, uint64_t x, bool negative, bool times)
{
	struct espy_buf b = { 0 };

	if (negative)
		espy_buf__putc(&b, '-');
	if (times)
		put_duration(&b, x);
	else
		espy_buf__dec(&b, x);
	snprintf(text, CELL_MAX, "%.*s", (int)b.len, b.data ? b.data : "");
	espy_buf__free(&b);
}

/* Makes the bucket for numbers of so many bits. */
static struct bucket make_bucket(const struct espy_tally_hist *h, unsigned bits, bool negative)
{
	const uint64_t low = bits ? 1ull << (bits - 1) : 0, high = bits ? low + (low - 1) : 0;
	struct bucket k = { .low = low,
			    /* there is one negative number of 64 bits */
			    .high = negative && bits == 64 ? low : high,
			    .negative = negative,
			    .count = negative ? h->below[bits] : h->at[bits] };

	name_bound(k.from, negative ? k.high : k.low, negative, h->times);
	name_bound(k.to, negative ? k.low : k.high, negative, h->times);
	return k;
}

/* Writes the buckets from the first to the last that is not empty to v, with room for all. Returns their number. */
static unsigned make_buckets(const struct espy_tally_hist *h, struct bucket *v)
{
	unsigned cnt = 0, end = 0;

	for (unsigned bits = ESPY_TALLY_BUCKETS - 1; bits; bits--)
		if (cnt || h->below[bits])
			v[cnt++] = make_bucket(h, bits, true);
	for (unsigned bits = 0; bits < ESPY_TALLY_BUCKETS; bits++)
		if (cnt || h->at[bits])
			v[cnt++] = make_bucket(h, bits, false);
	for (unsigned i = 0; i < cnt; i++)
		end = v[i].count ? i + 1 : end;
	return end;
}

static void put_bar(struct espy_buf *b, uint64_t count, uint64_t most)
{
	unsigned len = most ? (unsigned)((double)count / (double)most * BAR + 0.5) : 0;

	len = len || !count ? len : 1;
	if (len)
		espy_buf__putc(b, ' ');
	while (len--)
		espy_buf__putc(b, '@');
	espy_buf__putc(b, '\n');
}

static void print_buckets(const struct espy_tally_one *t, const struct bucket *v, unsigned cnt, uint64_t total,
			  struct espy_output *out)
{
	unsigned widths[] = { 9, 9, width_of(total), BAR };
	struct espy_buf *b = &out->buf;
	uint64_t most = 0;

	for (unsigned i = 0; i < cnt; i++) {
		widths[0] = (unsigned)strlen(v[i].from) > widths[0] ? (unsigned)strlen(v[i].from) : widths[0];
		widths[1] = (unsigned)strlen(v[i].to) > widths[1] ? (unsigned)strlen(v[i].to) : widths[1];
		most = v[i].count > most ? v[i].count : most;
	}
	put_head(b, t);
	put_right(b, "from", widths[0]);
	put_right(b, "to", widths[1] + 1);
	put_right(b, "count", widths[2] + 1);
	espy_buf__putc(b, '\n');
	espy_buf__dashes(b, widths, 4);
	for (unsigned i = 0; i < cnt; i++) {
		put_right(b, v[i].from, widths[0]);
		put_right(b, v[i].to, widths[1] + 1);
		espy_buf__dec_right(b, v[i].count, widths[2] + 1);
		put_bar(b, v[i].count, most);
	}
	if (t->hist.failed) {
		put_right(b, "failed", widths[0] + widths[1] + 1);
		espy_buf__dec_right(b, t->hist.failed, widths[2] + 1);
		espy_buf__putc(b, '\n');
	}
	espy_buf__dashes(b, widths, 4);
	put_right(b, "total", widths[0] + widths[1] + 1);
	espy_buf__dec_right(b, total, widths[2] + 1);
	espy_buf__putc(b, '\n');
	put_missing(b, t);
	espy_line_output__whole_lines(out);
}

static void put_bound(struct espy_json *j, const char *key, uint64_t x, bool negative)
{
	espy_json__key(j, key);
	if (negative)
		espy_json__i64(j, (int64_t)(0 - x));
	else
		espy_json__u64(j, x);
}

static void print_bucket_objects(const struct espy_tally_one *t, const struct bucket *v, unsigned cnt, uint64_t total,
				 struct espy_output *out)
{
	struct espy_json j;

	for (unsigned i = 0; i < cnt; i++) {
		j = begin_object(out, t, "hist");
		put_bound(&j, "from", v[i].negative ? v[i].high : v[i].low, v[i].negative);
		put_bound(&j, "to", v[i].negative ? v[i].low : v[i].high, v[i].negative);
		espy_json__key_u64(&j, "count", v[i].count);
		end_object(out, &j);
	}
	j = begin_object(out, t, "hist_total");
	espy_json__key_u64(&j, "count", total);
	espy_json__key_u64(&j, "failed", t->hist.failed);
	espy_json__key_u64(&j, "missing", t->missing);
	end_object(out, &j);
}

/* ---- both */

static void print_hist(const struct espy_tally_one *t, bool json, struct espy_output *out)
{
	struct bucket v[2 * ESPY_TALLY_BUCKETS];
	const unsigned cnt = make_buckets(&t->hist, v);
	uint64_t total = t->hist.failed;

	for (unsigned i = 0; i < cnt; i++)
		total += v[i].count;
	if (json)
		print_bucket_objects(t, v, cnt, total, out);
	else
		print_buckets(t, v, cnt, total, out);
}

void espy_tally_print(struct espy_tally_one *t, unsigned top, bool json, struct espy_output *out)
{
	struct rows rows;

	if (t->is_hist) {
		print_hist(t, json, out);
		return;
	}
	if (!sort_rows(t, top, &rows))
		return;
	if (json)
		print_row_objects(t, &rows, out);
	else
		print_rows(t, &rows, out);
	free(rows.v);
}
