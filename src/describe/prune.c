/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes an image of some calls. prune_mark.c first marks all that they reach. Then each array is written without the
 * unmarked elements. The new index of an element is the number of marked ones before it, so ranges stay ranges and the
 * order, which readers rely on, stays.
 */
#include "describe/prune_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/align.h"

/* Returns the new index of an element; ESPY_NONE: it is none of the array. */
static uint32_t moved(const struct espy_pruning *p, enum espy_section which, uint32_t i)
{
	const struct espy_prune_part *part = &p->parts[which];

	return i < part->cnt && part->used[i] ? part->rank[i] : ESPY_NONE;
}

/* Returns the new begin of a range, of which all elements are marked, or none is left. */
static uint32_t range_moved(const struct espy_pruning *p, enum espy_section which, uint32_t first)
{
	return first <= p->parts[which].cnt ? p->parts[which].rank[first] : 0;
}

static uint32_t string(struct espy_pruning *p, char *pool, uint32_t off)
{
	const char *s = espy_image__str(p->img, off);

	if (!*s)
		return 0;
	if (!p->strings[off]) {
		const size_t n = strlen(s) + 1;

		/* each text is in the pool once, so there is room; else the pool is not ours */
		if (n > p->img->strings_sz - p->strings_sz) {
			p->error = -EINVAL;
			return 0;
		}
		p->strings[off] = p->strings_sz;
		memcpy(pool + p->strings_sz, s, n);
		p->strings_sz += (uint32_t)n;
	}
	return p->strings[off];
}

static void write_numbers(struct espy_pruning *p, struct espy_syscall *syscalls, struct espy_call_plan *plans,
			  char *pool)
{
	for (uint32_t nr = 0; nr < p->number_cnt; nr++) {
		const bool wanted = nr < p->want->number_cnt && espy_prune_bit(p->want->numbers, nr);

		syscalls[nr] = (struct espy_syscall){ .call = ESPY_NONE };
		if (wanted)
			syscalls[nr].flags = ESPY_SYSCALL_PART;
		if (nr >= p->img->syscall_cnt || (!wanted && !p->all_names))
			continue;
		syscalls[nr].name = string(p, pool, p->img->syscalls[nr].name);
		if (!wanted)
			continue;
		syscalls[nr].call = moved(p, ESPY_SEC_CALLS, p->img->syscalls[nr].call);
		syscalls[nr].classes = p->img->syscalls[nr].classes;
		syscalls[nr].nargs = p->img->syscalls[nr].nargs;
		syscalls[nr].flags |= p->img->syscalls[nr].flags & ESPY_SYSCALL_ADDR3;
		const struct espy_call_plan *from = &p->img->call_plans[nr];

		plans[nr] = *from;
		plans[nr].plan = (uint16_t)moved(p, ESPY_SEC_PLANS, from->plan);
		plans[nr].first_variant = (uint16_t)range_moved(p, ESPY_SEC_VARIANTS, from->first_variant);
		plans[nr].variant_cnt = (uint16_t)(range_moved(p, ESPY_SEC_VARIANTS,
							       (uint32_t)from->first_variant + from->variant_cnt) -
						   plans[nr].first_variant);
		if (!plans[nr].variant_cnt)
			plans[nr] = (struct espy_call_plan){ .plan = plans[nr].plan };
	}
}

static void write_calls(struct espy_pruning *p, struct espy_call *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->call_cnt; i++) {
		const struct espy_call *from = &p->img->calls[i];

		if (!p->parts[ESPY_SEC_CALLS].used[i])
			continue;
		*to = *from;
		to->name = string(p, pool, from->name);
		to->first_param = range_moved(p, ESPY_SEC_FIELDS, from->first_param);
		to->ret.type = moved(p, ESPY_SEC_TYPES, from->ret.type);
		to->ret.note_text = string(p, pool, from->ret.note_text);
		to->ret.note_type = moved(p, ESPY_SEC_TYPES, from->ret.note_type);
		to->event = string(p, pool, from->event);
		to->plan = moved(p, ESPY_SEC_PLANS, from->plan);
		to++;
	}
}

static void write_fields(struct espy_pruning *p, struct espy_field *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->field_cnt; i++) {
		if (!p->parts[ESPY_SEC_FIELDS].used[i])
			continue;
		*to = p->img->fields[i];
		to->name = string(p, pool, to->name);
		to->type = moved(p, ESPY_SEC_TYPES, to->type);
		to->when = moved(p, ESPY_SEC_EXPRS, to->when);
		to++;
	}
}

static void write_types(struct espy_pruning *p, struct espy_type *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->type_cnt; i++) {
		const struct espy_type *from = &p->img->types[i];

		if (!p->parts[ESPY_SEC_TYPES].used[i])
			continue;
		*to = *from;
		to->name = string(p, pool, from->name);
		to->table = moved(p, ESPY_SEC_TABLES, from->table);
		to->len_a = moved(p, ESPY_SEC_EXPRS, from->len_a);
		to->len_b = moved(p, ESPY_SEC_EXPRS, from->len_b);
		to->elem = ESPY_NONE;
		if (from->kind == ESPY_T_PTR || from->kind == ESPY_T_ARRAY || from->kind == ESPY_T_TLV ||
		    from->kind == ESPY_T_PLACED)
			to->elem = moved(p, ESPY_SEC_TYPES, from->elem);
		if (from->kind == ESPY_T_ARRAY && from->flags & ESPY_TF_SPREAD)
			to->aux = moved(p, ESPY_SEC_EXPRS, from->aux);
		if (from->kind == ESPY_T_PLACED)
			to->show = moved(p, ESPY_SEC_EXPRS, from->show);
		if (from->kind == ESPY_T_STRUCT) {
			to->first = range_moved(p, ESPY_SEC_FIELDS, from->first);
			to->show = range_moved(p, ESPY_SEC_INDICES, from->show);
			to->brief = range_moved(p, ESPY_SEC_INDICES, from->brief);
		} else if (from->kind == ESPY_T_UNION) {
			to->first = range_moved(p, ESPY_SEC_CASES, from->first);
			to->count = range_moved(p, ESPY_SEC_CASES, from->first + from->count) - to->first;
		}
		to++;
	}
}

static void write_tables(struct espy_pruning *p, struct espy_table *to, char *pool)
{
	for (uint32_t i = 0; i < p->img->table_cnt; i++) {
		const struct espy_table *from = &p->img->tables[i];

		if (!p->parts[ESPY_SEC_TABLES].used[i])
			continue;
		*to = *from;
		to->name = string(p, pool, from->name);
		to->unknown = string(p, pool, from->unknown);
		to->first = range_moved(p, ESPY_SEC_ENTRIES, from->first);
		to->count = range_moved(p, ESPY_SEC_ENTRIES, from->first + from->count) - to->first;
		to++;
	}
}

static void write_entries(struct espy_pruning *p, struct espy_entry *entries, char *pool)
{
	const struct espy_image *img = p->img;

	for (uint32_t i = 0; i < img->table_cnt; i++) {
		const struct espy_table *t = &img->tables[i];

		for (uint32_t k = t->first; p->parts[ESPY_SEC_TABLES].used[i] && k < t->first + t->count; k++) {
			struct espy_entry *e = &entries[p->parts[ESPY_SEC_ENTRIES].rank[k]];

			if (!p->parts[ESPY_SEC_ENTRIES].used[k])
				continue;
			*e = img->entries[k];
			e->name = string(p, pool, img->entries[k].name);
			e->table = moved(p, ESPY_SEC_TABLES, img->entries[k].table);
			if (t->kind == ESPY_TABLE_PACK)
				e->reserved = string(p, pool, img->entries[k].reserved);
		}
	}
}

/* Writes the arrays that refer to little. */
static void write_rest(struct espy_pruning *p, void *const to[])
{
	const struct espy_image *img = p->img;
	struct espy_variant *variants = to[ESPY_SEC_VARIANTS];
	struct espy_case *cases = to[ESPY_SEC_CASES];
	struct espy_expr *exprs = to[ESPY_SEC_EXPRS];
	uint32_t *indices = to[ESPY_SEC_INDICES];
	struct espy_plan *plans = to[ESPY_SEC_PLANS];
	struct espy_op *ops = to[ESPY_SEC_OPS];

	for (uint32_t i = 0; i < img->variant_cnt; i++) {
		if (!p->parts[ESPY_SEC_VARIANTS].used[i])
			continue;
		*variants = img->variants[i];
		variants->plan = (uint16_t)moved(p, ESPY_SEC_PLANS, variants->plan);
		variants->call = moved(p, ESPY_SEC_CALLS, variants->call);
		variants++;
	}
	for (uint32_t i = 0; i < img->case_cnt; i++)
		if (p->parts[ESPY_SEC_CASES].used[i]) {
			*cases = img->cases[i];
			cases->type = moved(p, ESPY_SEC_TYPES, cases->type);
			cases++;
		}
	for (uint32_t i = 0; i < img->expr_cnt; i++) {
		if (!p->parts[ESPY_SEC_EXPRS].used[i])
			continue;
		*exprs = img->exprs[i];
		if (exprs->op >= ESPY_X_OR && exprs->op <= ESPY_X_ROUND_BITS) {
			exprs->a = moved(p, ESPY_SEC_EXPRS, exprs->a);
			exprs->b = moved(p, ESPY_SEC_EXPRS, exprs->b);
		}
		exprs++;
	}
	for (uint32_t i = 0; i < img->index_cnt; i++)
		if (p->parts[ESPY_SEC_INDICES].used[i])
			*indices++ = img->index_list[i];
	for (uint32_t i = 0; i < img->plan_cnt; i++)
		if (p->parts[ESPY_SEC_PLANS].used[i]) {
			*plans = img->plans[i];
			plans->first_op = (uint16_t)range_moved(p, ESPY_SEC_OPS, plans->first_op);
			plans++;
		}
	for (uint32_t i = 0; i < img->op_cnt; i++)
		if (p->parts[ESPY_SEC_OPS].used[i]) {
			*ops = img->ops[i];
			ops->type = moved(p, ESPY_SEC_TYPES, ops->type);
			ops++;
		}
}

static int open_parts(struct espy_pruning *p)
{
	const struct espy_image *img = p->img;
#define COUNT(section, list, cnt, type) [ESPY_SEC_##section] = img->cnt,
	const uint32_t cnt[ESPY_SECTION_CNT] = {
		ESPY_IMAGE_LISTS(COUNT)
	};
	size_t whole = img->strings_sz;

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		whole += cnt[i] + 1u;
	/* one word and one mark for each element */
	uint32_t *words = calloc(whole, sizeof(*words) + 1);

	if (!words)
		return -ENOMEM;
	uint8_t *marks = (uint8_t *)(words + whole);

	p->block = p->strings = words;
	words += img->strings_sz;
	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++) {
		p->parts[i] = (struct espy_prune_part){ .used = marks, .rank = words, .cnt = cnt[i] };
		marks += cnt[i] + 1;
		words += cnt[i] + 1;
	}
	return 0;
}

/* Counts the marked elements of an array before each, for the new indices. Returns their number. */
static uint32_t count_part(struct espy_prune_part *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i <= part->cnt; i++) {
		part->rank[i] = n;
		n += i < part->cnt && part->used[i];
	}
	return n;
}

static int write_image(struct espy_pruning *p)
{
	struct espy_image_header h = { .magic = ESPY_IMAGE_MAGIC, .version = ESPY_IMAGE_VERSION, .abi = p->img->abi };
	void *to[ESPY_SECTION_CNT];
	uint32_t n[ESPY_SECTION_CNT];
	uint64_t off = sizeof(h);

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		n[i] = count_part(&p->parts[i]);
	n[ESPY_SEC_SYSCALLS] = n[ESPY_SEC_CALL_PLANS] = p->number_cnt;
	/* numbers without a description have a plan nevertheless: nothing to copy */
	if (p->number_cnt && !n[ESPY_SEC_PLANS])
		n[ESPY_SEC_PLANS] = 1;
	/* The strings come last: only then their number is known. */
	for (unsigned i = ESPY_SEC_STRINGS + 1; i < ESPY_SECTION_CNT; i++) {
		h.sections[i] = (struct espy_image_section){ off, n[i], espy_image_elem_sz[i] };
		off += espy_pad8((uint64_t)n[i] * espy_image_elem_sz[i]);
	}
	char *out = calloc(1, off + p->img->strings_sz + 8);

	if (!out)
		return -ENOMEM;
	char *pool = out + off;

	for (unsigned i = 0; i < ESPY_SECTION_CNT; i++)
		to[i] = out + h.sections[i].off;
	p->strings_sz = 1;
	write_numbers(p, to[ESPY_SEC_SYSCALLS], to[ESPY_SEC_CALL_PLANS], pool);
	write_calls(p, to[ESPY_SEC_CALLS], pool);
	write_fields(p, to[ESPY_SEC_FIELDS], pool);
	write_types(p, to[ESPY_SEC_TYPES], pool);
	write_tables(p, to[ESPY_SEC_TABLES], pool);
	write_entries(p, to[ESPY_SEC_ENTRIES], pool);
	write_rest(p, to);
	h.sections[ESPY_SEC_STRINGS] = (struct espy_image_section){ off, p->strings_sz, 1 };
	h.size = off + espy_pad8(p->strings_sz);
	memcpy(out, &h, sizeof(h));
	p->out = out;
	p->out_sz = h.size;
	return 0;
}

int espy_image__prune(const struct espy_image *img, const struct espy_prune *want, void **bytes, size_t *size)
{
	struct espy_pruning p = { .img = img, .want = want };
	int err = open_parts(&p);

	if (err)
		return err;
	espy_prune_mark(&p);
	if (p.all_names && p.number_cnt < img->syscall_cnt)
		p.number_cnt = img->syscall_cnt;
	err = write_image(&p);
	free(p.block);
	if (!err)
		err = p.error;
	if (err) {
		free(p.out);
		return err;
	}
	*bytes = p.out;
	*size = p.out_sz;
	return 0;
}
