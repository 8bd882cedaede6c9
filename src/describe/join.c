/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Joins images: puts their arrays one behind the other, and finds for each number the description that counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/align.h"
#include "describe/image_format.h"
#include "describe/prune.h"

#define MEMBER(section, list, cnt, type) uint32_t list;
/* The indices at which the elements of one part begin in the arrays of the whole. */
struct base {
	uint32_t strings;
	ESPY_IMAGE_LISTS(MEMBER)
};

static uint32_t shifted(uint32_t i, uint32_t by)
{
	return i == ESPY_NONE ? ESPY_NONE : i + by;
}

/* Moves the offset of a text. Empty texts are at 0 in all pools. */
static uint32_t string(uint32_t off, const struct base *b)
{
	return off ? off + b->strings : 0;
}

static void add_calls(struct espy_image *out, const struct espy_image *img, const struct base *b)
{
	struct espy_variant *variants = (struct espy_variant *)out->variants + b->variants;
	struct espy_call *calls = (struct espy_call *)out->calls + b->calls;
	struct espy_plan *plans = (struct espy_plan *)out->plans + b->plans;
	struct espy_op *ops = (struct espy_op *)out->ops + b->ops;

	for (uint32_t i = 0; i < img->variant_cnt; i++) {
		variants[i] = img->variants[i];
		variants[i].plan = (uint16_t)(variants[i].plan + b->plans);
		variants[i].call += b->calls;
	}
	for (uint32_t i = 0; i < img->call_cnt; i++) {
		calls[i] = img->calls[i];
		calls[i].name = string(calls[i].name, b);
		calls[i].first_param += b->fields;
		calls[i].ret.type = shifted(calls[i].ret.type, b->types);
		calls[i].ret.note_text = string(calls[i].ret.note_text, b);
		calls[i].ret.note_type = shifted(calls[i].ret.note_type, b->types);
		calls[i].event = string(calls[i].event, b);
		calls[i].plan += b->plans;
	}
	for (uint32_t i = 0; i < img->plan_cnt; i++) {
		plans[i] = img->plans[i];
		plans[i].first_op = (uint16_t)(plans[i].first_op + b->ops);
	}
	for (uint32_t i = 0; i < img->op_cnt; i++) {
		ops[i] = img->ops[i];
		ops[i].type += b->types;
	}
}

static void add_types(struct espy_image *out, const struct espy_image *img, const struct base *b)
{
	struct espy_field *fields = (struct espy_field *)out->fields + b->fields;
	struct espy_type *types = (struct espy_type *)out->types + b->types;
	struct espy_case *cases = (struct espy_case *)out->cases + b->cases;
	struct espy_expr *exprs = (struct espy_expr *)out->exprs + b->exprs;

	for (uint32_t i = 0; i < img->field_cnt; i++) {
		fields[i] = img->fields[i];
		fields[i].name = string(fields[i].name, b);
		fields[i].type += b->types;
		fields[i].when = shifted(fields[i].when, b->exprs);
	}
	for (uint32_t i = 0; i < img->type_cnt; i++) {
		struct espy_type *t = &types[i];

		*t = img->types[i];
		t->name = string(t->name, b);
		t->table = shifted(t->table, b->tables);
		t->len_a = shifted(t->len_a, b->exprs);
		t->len_b = shifted(t->len_b, b->exprs);
		if (t->kind == ESPY_T_PTR || t->kind == ESPY_T_ARRAY || t->kind == ESPY_T_TLV ||
		    t->kind == ESPY_T_PLACED)
			t->elem += b->types;
		if (t->kind == ESPY_T_ARRAY && t->flags & ESPY_TF_SPREAD)
			t->aux = shifted(t->aux, b->exprs);
		if (t->kind == ESPY_T_PLACED)
			t->show = shifted(t->show, b->exprs);
		if (t->kind == ESPY_T_STRUCT) {
			t->first += b->fields;
			t->show += b->index_list;
			t->brief += b->index_list;
		} else if (t->kind == ESPY_T_UNION) {
			t->first += b->cases;
		}
	}
	for (uint32_t i = 0; i < img->case_cnt; i++) {
		cases[i] = img->cases[i];
		cases[i].type += b->types;
	}
	for (uint32_t i = 0; i < img->expr_cnt; i++) {
		exprs[i] = img->exprs[i];
		if (exprs[i].op >= ESPY_X_OR && exprs[i].op <= ESPY_X_ROUND_BITS) {
			exprs[i].a += b->exprs;
			exprs[i].b += b->exprs;
		}
	}
	if (img->index_cnt)
		memcpy((uint32_t *)out->index_list + b->index_list, img->index_list, img->index_cnt * sizeof(uint32_t));
}

static void add_tables(struct espy_image *out, const struct espy_image *img, const struct base *b)
{
	struct espy_table *tables = (struct espy_table *)out->tables + b->tables;
	struct espy_entry *entries = (struct espy_entry *)out->entries + b->entries;

	for (uint32_t i = 0; i < img->table_cnt; i++) {
		tables[i] = img->tables[i];
		tables[i].name = string(tables[i].name, b);
		tables[i].unknown = string(tables[i].unknown, b);
		tables[i].first += b->entries;
	}
	for (uint32_t i = 0; i < img->entry_cnt; i++) {
		entries[i] = img->entries[i];
		entries[i].name = string(entries[i].name, b);
		entries[i].table = shifted(entries[i].table, b->tables);
		/* a name in tables of one kind, 0 in others */
		entries[i].reserved = string(entries[i].reserved, b);
	}
}

static void copy(const void *to, const void *from, size_t n, size_t elem_sz)
{
	if (n)
		memcpy((void *)to, from, n * elem_sz);
}

/* Adds the part whose elements come first in all arrays: its indices stay. */
static void add_first(struct espy_image *out, const struct espy_image *img)
{
	copy(out->strings, img->strings, img->strings_sz, 1);
#define COPY(section, list, cnt, type) copy(out->list, img->list, img->cnt, sizeof(type));
	ESPY_IMAGE_LISTS(COPY)
}

bool espy_image__is_part(const struct espy_image *img)
{
	bool describes = false;

	for (uint32_t nr = 0; nr < img->syscall_cnt; nr++) {
		if (img->syscalls[nr].flags & ESPY_SYSCALL_PART)
			return true;
		describes |= img->syscalls[nr].call != ESPY_NONE;
	}
	/* A part that came for a signal alone has no calls. The calls of the parts before it still count. */
	return !describes;
}

static void add_numbers(struct espy_image *out, const struct espy_image *img, const struct base *b, uint64_t *known,
			bool last)
{
	struct espy_syscall *syscalls = (struct espy_syscall *)out->syscalls;
	struct espy_call_plan *plans = (struct espy_call_plan *)out->call_plans;
	const bool part = espy_image__is_part(img);

	for (uint32_t nr = 0; nr < img->syscall_cnt; nr++) {
		const struct espy_syscall *from = &img->syscalls[nr];

		if (known[nr / 64] >> (nr % 64) & 1)
			continue;
		if (part && !(from->flags & ESPY_SYSCALL_PART)) {
			/* a name alone; another part has its meaning */
			if (from->name && !syscalls[nr].name)
				syscalls[nr].name = string(from->name, b);
			continue;
		}
		known[nr / 64] |= 1ull << (nr % 64);
		const uint32_t name = syscalls[nr].name;

		syscalls[nr] = *from;
		syscalls[nr].name = name ? name : string(from->name, b);
		syscalls[nr].call = shifted(from->call, b->calls);
		syscalls[nr].flags = last ? ESPY_SYSCALL_STAND_IN : 0;
		plans[nr] = img->call_plans[nr];
		plans[nr].plan = (uint16_t)(plans[nr].plan + b->plans);
		plans[nr].first_variant = (uint16_t)(plans[nr].first_variant + b->variants);
	}
}

static struct base after(const struct base *b, const struct espy_image *img)
{
#define AFTER(section, list, cnt, type) .list = b->list + img->cnt,
	return (struct base){
		.strings = b->strings + (uint32_t)img->strings_sz,
		ESPY_IMAGE_LISTS(AFTER)
	};
}

/* Returns the next array of `n` elements. */
static const void *take(char **at, size_t n, size_t elem_sz)
{
	const void *here = *at;

	*at += espy_pad8(n * elem_sz);
	return here;
}

/* Makes empty arrays of that size. 0 or -ENOMEM. */
static int lay_out(struct espy_image *out, const struct base *n, uint32_t numbers, void **bytes)
{
	size_t size = numbers * (sizeof(*out->syscalls) + sizeof(*out->call_plans)) + n->strings + 16 * 8;
#define ADD(section, list, cnt, type) size += n->list * sizeof(type);
	ESPY_IMAGE_LISTS(ADD)
	char *at = *bytes = calloc(1, size);

	if (!at)
		return -ENOMEM;
	out->syscalls = take(&at, numbers, sizeof(*out->syscalls));
	out->call_plans = take(&at, numbers, sizeof(*out->call_plans));
	out->syscall_cnt = numbers;
	out->strings = take(&at, n->strings, 1);
	out->strings_sz = n->strings;
#define TAKE(section, list, cnt, type)                                                                                 \
	out->list = take(&at, n->list, sizeof(type));                                                                  \
	out->cnt = n->list;
	ESPY_IMAGE_LISTS(TAKE)
	return 0;
}

int espy_image__join(const struct espy_image *const *parts, unsigned cnt, struct espy_image *out, void **bytes)
{
	struct base n = { .strings = 0 }, b = { .strings = 0 };
	uint64_t known[ESPY_JOIN_NUMBERS / 64] = { 0 };
	uint32_t numbers = 0;

	/* Behind a whole part no other part has anything to add. */
	for (unsigned i = 0; i < cnt; i++)
		if (!espy_image__is_part(parts[i]))
			cnt = i + 1;
	for (unsigned i = 0; i < cnt; i++) {
		n = after(&n, parts[i]);
		if (parts[i]->syscall_cnt > numbers)
			numbers = parts[i]->syscall_cnt;
		/* indices of 16 bits lead there; and no sum may overflow */
		if (n.plans > UINT16_MAX || n.variants > UINT16_MAX || n.ops > UINT16_MAX ||
		    numbers > ESPY_JOIN_NUMBERS ||
		    (n.strings | n.types | n.fields | n.entries | n.exprs | n.cases | n.tables | n.index_list |
		     n.calls) >>
			    28)
			return -EOVERFLOW;
	}
	*out = (struct espy_image){ .abi = cnt ? parts[0]->abi : 0 };
	int err = lay_out(out, &n, numbers, bytes);

	if (err)
		return err;
	for (uint32_t nr = 0; nr < numbers; nr++)
		((struct espy_syscall *)out->syscalls)[nr].call = ESPY_NONE;
	if (!cnt)
		return 0;
	/* The last part, this version's descriptions, is the largest by far: it comes first and is copied as it is. */
	const struct espy_image *last = parts[cnt - 1];
	const struct base first = { .strings = 0 };

	b = after(&first, last);
	for (unsigned i = 0; i + 1 < cnt; i++) {
		copy(out->strings + b.strings, parts[i]->strings, parts[i]->strings_sz, 1);
		add_numbers(out, parts[i], &b, known, false);
		add_calls(out, parts[i], &b);
		add_types(out, parts[i], &b);
		add_tables(out, parts[i], &b);
		b = after(&b, parts[i]);
	}
	add_first(out, last);
	add_numbers(out, last, &first, known, cnt > 1);
	return 0;
}
