/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Images in parts. What a decoder can see of a call (types, fields, expressions, tables, operations, all by their names
 * and values) is compared in the whole image and in a part; and the parts of a trace are there before the records that
 * need them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "describe/builtin.h"
#include "describe/hooks.h"
#include "describe/prune.h"
#include "sink/trace_schema.h"
#include "trace/trace.h"

struct pair {
	const struct espy_image *a, *b; /* b: a part of it */
	bool values;			/* members of large tables were left out */
};

static void same_string(const struct pair *p, uint32_t a, uint32_t b)
{
	assert_string_equal(espy_image__str(p->a, a), espy_image__str(p->b, b));
}

static void same_expr(const struct pair *p, uint32_t a, uint32_t b)
{
	if (a == ESPY_NONE || b == ESPY_NONE) {
		assert_int_equal(a, b);
		return;
	}
	const struct espy_expr *x = &p->a->exprs[a], *y = &p->b->exprs[b];

	assert_int_equal(x->op, y->op);
	assert_int_equal(x->value, y->value);
	if (x->op < ESPY_X_OR || x->op > ESPY_X_ROUND_BITS) {
		assert_int_equal(x->a, y->a);
		return;
	}
	same_expr(p, x->a, y->a);
	if (x->op != ESPY_X_NOT && x->op != ESPY_X_INV && x->op != ESPY_X_ROUND_BITS)
		same_expr(p, x->b, y->b);
}

static void same_table(const struct pair *p, uint32_t a, uint32_t b)
{
	if (a == ESPY_NONE || b == ESPY_NONE) {
		assert_int_equal(a, b);
		return;
	}
	const struct espy_table *x = &p->a->tables[a], *y = &p->b->tables[b];

	same_string(p, x->name, y->name);
	same_string(p, x->unknown, y->unknown);
	assert_int_equal(x->kind, y->kind);
	assert_int_equal(x->flags, y->flags);
	if (p->values && x->count != y->count) {
		assert_true(x->count >= ESPY_PRUNE_LARGE_TABLE && y->count < x->count);
		return;
	}
	assert_int_equal(x->count, y->count);
	for (uint32_t i = 0; i < x->count; i++) {
		const struct espy_entry *e = &p->a->entries[x->first + i], *f = &p->b->entries[y->first + i];

		same_string(p, e->name, f->name);
		assert_int_equal(e->value, f->value);
		assert_int_equal(e->group_cnt, f->group_cnt);
		assert_int_equal(e->shift, f->shift);
		assert_int_equal(e->is_shift, f->is_shift);
		if (x->kind == ESPY_TABLE_PACK)
			same_string(p, e->reserved, f->reserved);
		if (e->table != a)
			same_table(p, e->table, f->table);
	}
}

/* what the code behind a hook finds by name */
static const struct {
	unsigned hook;
	const char *table;
} by_hook[] = {
	{ ESPY_HOOK_CLONE_FLAGS, "clone_flags" },
	{ ESPY_HOOK_IOPRIO, "ioprio_classes" },
	{ ESPY_HOOK_QCMD, "quota_ops" },
	{ ESPY_HOOK_QCMD, "quotatypes" },
};

static void same_type(const struct pair *p, uint32_t a, uint32_t b);

static void same_field(const struct pair *p, const struct espy_field *x, const struct espy_field *y)
{
	same_string(p, x->name, y->name);
	assert_int_equal(x->off, y->off);
	assert_int_equal(x->flags, y->flags);
	same_expr(p, x->when, y->when);
	same_type(p, x->type, y->type);
}

static void same_type(const struct pair *p, uint32_t a, uint32_t b)
{
	if (a == ESPY_NONE || b == ESPY_NONE) {
		assert_int_equal(a, b);
		return;
	}
	const struct espy_type *x = &p->a->types[a], *y = &p->b->types[b];
	const uint32_t in_a[] = { x->kind, x->fmt,   x->hook, x->flags,	   x->size,	x->align,
				  x->max,  x->count, x->note, x->show_cnt, x->brief_cnt };
	const uint32_t in_b[] = { y->kind, y->fmt,   y->hook, y->flags,	   y->size,	y->align,
				  y->max,  y->count, y->note, y->show_cnt, y->brief_cnt };

	assert_memory_equal(in_a, in_b, sizeof(in_a));
	same_string(p, x->name, y->name);
	same_table(p, x->table, y->table);
	same_expr(p, x->len_a, y->len_a);
	same_expr(p, x->len_b, y->len_b);
	if (x->kind == ESPY_T_ARRAY && x->flags & ESPY_TF_SPREAD)
		same_expr(p, x->aux, y->aux);
	else
		assert_int_equal(x->aux, y->aux);
	if (x->kind == ESPY_T_PTR || x->kind == ESPY_T_ARRAY || x->kind == ESPY_T_TLV)
		same_type(p, x->elem, y->elem);
	for (uint32_t i = 0; x->kind == ESPY_T_STRUCT && i < x->count; i++)
		same_field(p, &p->a->fields[x->first + i], &p->b->fields[y->first + i]);
	if (x->kind == ESPY_T_STRUCT && x->show_cnt)
		assert_memory_equal(p->a->index_list + x->show, p->b->index_list + y->show,
				    x->show_cnt * sizeof(uint32_t));
	if (x->kind == ESPY_T_STRUCT && x->brief_cnt)
		assert_memory_equal(p->a->index_list + x->brief, p->b->index_list + y->brief,
				    x->brief_cnt * sizeof(uint32_t));
	for (uint32_t i = 0; x->kind == ESPY_T_UNION && i < x->count; i++) {
		const struct espy_case *c = &p->a->cases[x->first + i], *d = &p->b->cases[y->first + i];

		assert_int_equal(c->key, d->key);
		assert_int_equal(c->key2, d->key2);
		assert_int_equal(c->is_else, d->is_else);
		same_type(p, c->type, d->type);
	}
	for (size_t i = 0; x->hook && i < sizeof(by_hook) / sizeof(by_hook[0]); i++)
		if (x->hook == by_hook[i].hook)
			same_table(p, espy_image__find_table(p->a, by_hook[i].table),
				   espy_image__find_table(p->b, by_hook[i].table));
}

static void same_plan(const struct pair *p, uint32_t a, uint32_t b)
{
	const struct espy_plan *x = &p->a->plans[a], *y = &p->b->plans[b];

	assert_int_equal(x->op_cnt, y->op_cnt);
	assert_int_equal(x->nargs, y->nargs);
	assert_int_equal(x->flags, y->flags);
	for (unsigned i = 0; i < x->op_cnt; i++) {
		struct espy_op o = p->a->ops[x->first_op + i], q = p->b->ops[y->first_op + i];

		same_type(p, o.type, q.type);
		o.type = q.type;
		assert_memory_equal(&o, &q, sizeof(o));
	}
}

static void same_call(const struct pair *p, uint32_t a, uint32_t b)
{
	if (a == ESPY_NONE || b == ESPY_NONE) {
		assert_int_equal(a, b);
		return;
	}
	const struct espy_call *x = &p->a->calls[a], *y = &p->b->calls[b];

	same_string(p, x->name, y->name);
	assert_int_equal(x->nparam, y->nparam);
	for (uint32_t i = 0; i < x->nparam; i++)
		same_field(p, &p->a->fields[x->first_param + i], &p->b->fields[y->first_param + i]);
	same_type(p, x->ret.type, y->ret.type);
	same_type(p, x->ret.note_type, y->ret.note_type);
	same_string(p, x->ret.note_text, y->ret.note_text);
	assert_int_equal(x->ret.note, y->ret.note);
	same_plan(p, x->plan, y->plan);
}

/* What selects, and what it selects: the base form and every variant. */
static void same_number(const struct pair *p, uint32_t nr, const uint64_t *calls)
{
	const struct espy_syscall *s = &p->a->syscalls[nr], *t = &p->b->syscalls[nr];
	const struct espy_call_plan *cp = &p->a->call_plans[nr];
	uint64_t args[6] = { 0 };
	uint32_t plan_a, plan_b;

	same_string(p, s->name, t->name);
	assert_int_equal(s->nargs, t->nargs);
	assert_int_equal(s->classes, t->classes);
	same_call(p, s->call, t->call);
	for (uint32_t k = cp->first_variant; k < (uint32_t)cp->first_variant + cp->variant_cnt; k++) {
		const struct espy_variant *v = &p->a->variants[k];

		if (calls && !(calls[v->call / 64] >> (v->call % 64) & 1))
			continue;
		if (cp->key_arg1 != 0xff) {
			args[cp->key_arg0] = v->key >> 32;
			args[cp->key_arg1] = (uint32_t)v->key;
		} else {
			args[cp->key_arg0] = v->key;
		}
		const uint32_t a = espy_image__select(p->a, nr, args, &plan_a),
			       b = espy_image__select(p->b, nr, args, &plan_b);

		same_call(p, a, b);
		same_plan(p, plan_a, plan_b);
	}
}

static void open_builtin(enum espy_abi abi, struct espy_image *img)
{
	size_t size;
	const void *data = espy_builtin_image(abi, &size);

	assert_int_equal(espy_image__open(img, data, size, NULL), 0);
}

static void *pruned(const struct espy_image *img, const struct espy_prune *want, struct espy_image *part, size_t *size)
{
	void *bytes;

	assert_int_equal(espy_image__prune(img, want, &bytes, size), 0);
	assert_int_equal(espy_image__open(part, bytes, *size, NULL), 0);
	return bytes;
}

/* Each number alone, with all of its variants: the same as in the whole image, and no other is described. */
static void test_each_number(void **state)
{
	static uint64_t all_calls[1024];

	(void)state;
	memset(all_calls, 0xff, sizeof(all_calls));
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		struct espy_image img, part;
		size_t whole, size, largest = 0;

		open_builtin(abi, &img);
		espy_builtin_image(abi, &whole);
		for (uint32_t nr = 0; nr < img.syscall_cnt; nr++) {
			uint64_t numbers[16] = { 0 };
			const struct espy_prune want = {
				.numbers = numbers,
				.number_cnt = 1024,
				.calls = all_calls,
				.all_values = true,
			};

			numbers[nr / 64] |= 1ull << (nr % 64);
			void *bytes = pruned(&img, &want, &part, &size);
			const struct pair p = { &img, &part, false };

			assert_true(espy_image__is_part(&part));
			same_number(&p, nr, NULL);
			for (uint32_t other = 0; other < part.syscall_cnt; other++)
				if (other != nr)
					assert_int_equal(part.syscalls[other].call, ESPY_NONE);
			largest = size > largest ? size : largest;
			free(bytes);
		}
		/* Of io_uring one number, sendmsg, has most of what there is. */
		assert_true(largest < (abi == ESPY_ABI_IO_URING ? whole : whole / 2));
	}
}

/* A part that came for a signal alone describes no number, and hides none of those before it. */
static void test_signals_alone(void **state)
{
	const uint64_t numbers[16] = { 0 }, no_calls[1024] = { 0 };
	const struct espy_prune want = { .numbers = numbers, .number_cnt = 1024, .calls = no_calls, .signals = 1u << 1 };
	struct espy_image img, part;
	size_t size;

	(void)state;
	open_builtin(ESPY_ABI_X86_64, &img);
	void *bytes = pruned(&img, &want, &part, &size);

	assert_true(espy_image__is_part(&part));
	assert_false(espy_image__is_part(&img));
	free(bytes);
}

/* Variants and members that were not seen are left out; those that were are there. */
static void test_variants(void **state)
{
	struct espy_image img, part;
	uint64_t numbers[16] = { 0 }, calls[1024] = { 0 };
	struct espy_prune_value v = { 0 };
	uint64_t args[6] = { 0, 0x5401 /* TCGETS */ };
	uint32_t plan;
	size_t size;

	(void)state;
	open_builtin(ESPY_ABI_X86_64, &img);
	const uint32_t nr = (uint32_t)espy_image__find_syscall(&img, "ioctl");
	const uint32_t call = espy_image__select(&img, nr, args, &plan);
	const struct espy_prune want = {
		.numbers = numbers,
		.number_cnt = 1024,
		.calls = calls,
		.values = &v,
		.value_cnt = 1,
	};

	assert_int_not_equal(call, img.syscalls[nr].call);
	assert_true(espy_prune_value_of(&img, &img.fields[img.calls[call].first_param + 1], args, &v));
	assert_int_equal(v.value, 0x5401);
	assert_false(espy_prune_value_of(&img, &img.fields[img.calls[call].first_param], args, &v));
	numbers[nr / 64] |= 1ull << (nr % 64);
	calls[call / 64] |= 1ull << (call % 64);
	void *bytes = pruned(&img, &want, &part, &size);
	const struct pair p = { &img, &part, true };

	same_number(&p, nr, calls);
	assert_int_equal(part.variant_cnt, 1);
	const struct espy_table *t = &part.tables[espy_image__find_table(&part, "ioctl_cmds")];

	assert_int_equal(t->count, 1);
	assert_string_equal(espy_image__str(&part, part.entries[t->first].name), "TCGETS");
	free(bytes);
}

/* Of addresses the families that were seen; what else refers to addresses gets all of them. */
static void test_families(void **state)
{
	struct espy_image img, part;
	uint64_t numbers[16] = { 0 }, calls[1024] = { 0 };
	struct espy_prune_value v = { .value = 0xabcd0001 /* AF_UNIX, and the beginning of its name */ };
	const struct espy_prune want = {
		.numbers = numbers,
		.number_cnt = 1024,
		.calls = calls,
		.values = &v,
		.value_cnt = 1,
	};
	uint32_t key_sz;
	size_t size;

	(void)state;
	open_builtin(ESPY_ABI_X86_64, &img);
	const uint32_t nr = (uint32_t)espy_image__find_syscall(&img, "connect");
	const struct espy_call *c = &img.calls[img.syscalls[nr].call];

	assert_true(espy_prune_struct_of(&img, &img.fields[c->first_param + 1], &v.of, &key_sz));
	assert_int_equal(key_sz, 2);
	assert_false(espy_prune_struct_of(&img, &img.fields[c->first_param], &v.of, &key_sz));
	numbers[nr / 64] |= 1ull << (nr % 64);
	void *bytes = pruned(&img, &want, &part, &size);
	const struct espy_type *s =
		&part.types[part.types[part.fields[part.calls[part.syscalls[nr].call].first_param + 1].type].elem];
	const struct espy_type *u = &part.types[part.fields[s->first + 1].type];

	assert_int_equal(u->kind, ESPY_T_UNION);
	assert_int_equal(u->count, 2);
	assert_int_equal(part.cases[u->first].key, 1);
	assert_true(part.cases[u->first + 1].is_else);
	free(bytes);
	const uint32_t sendmsg = (uint32_t)espy_image__find_syscall(&img, "sendmsg");
	const struct pair p = { &img, &part, true };

	numbers[sendmsg / 64] |= 1ull << (sendmsg % 64);
	bytes = pruned(&img, &want, &part, &size);
	same_number(&p, sendmsg, NULL);
	free(bytes);
}

static uint32_t fields_union(const struct espy_image *img)
{
	const struct espy_type *t = &img->types[espy_image__find_type(img, "siginfo")];

	for (uint32_t i = 0; i < t->count; i++)
		if (!strcmp(espy_image__str(img, img->fields[t->first + i].name), "_sifields"))
			return img->fields[t->first + i].type;
	fail();
	return 0;
}

/* Signals and netlink are no calls: their types are found by name. */
static void test_by_name(void **state)
{
	struct espy_image img, part;
	const uint64_t none[1024] = { 0 };
	struct espy_prune want = { .numbers = none, .number_cnt = 1024, .calls = none };
	size_t size;

	(void)state;
	open_builtin(ESPY_ABI_X86_64, &img);
	void *bytes = pruned(&img, &want, &part, &size);

	assert_int_equal(espy_image__find_type(&part, "siginfo"), ESPY_NONE);
	assert_int_equal(espy_image__find_type(&part, "nlmsg_route"), ESPY_NONE);
	free(bytes);
	want.signals = 1ull << (17 - 1);
	bytes = pruned(&img, &want, &part, &size);
	const struct espy_type *u = &part.types[fields_union(&part)];

	assert_int_equal(u->count, 3);
	assert_int_equal(part.cases[u->first].key, 0);
	assert_int_equal(part.cases[u->first + 1].key, 17);
	assert_true(part.cases[u->first + 2].is_else);
	assert_int_equal(part.syscall_cnt, 0);
	free(bytes);
	/* SIGSYS shows the name of any call */
	want.signals = UINT64_MAX;
	bytes = pruned(&img, &want, &part, &size);
	struct pair p = { &img, &part, false };

	same_type(&p, espy_image__find_type(&img, "siginfo"), espy_image__find_type(&part, "siginfo"));
	assert_true(espy_image__find_syscall(&part, "openat") >= 0);
	free(bytes);
	want.signals = 0;
	want.netlink = true;
	bytes = pruned(&img, &want, &part, &size);
	same_type(&p, espy_image__find_type(&img, "nlmsg_route"), espy_image__find_type(&part, "nlmsg_route"));
	same_type(&p, espy_image__find_type(&img, "nlmsg_any"), espy_image__find_type(&part, "nlmsg_any"));
	free(bytes);
}

/* Two parts and a whole image behind them: each number as in the first that knows it. */
static void test_join(void **state)
{
	static uint64_t all_calls[1024];
	struct espy_image img, parts[2], joined;
	const struct espy_image *list[] = { &parts[1], &parts[0], &img };
	void *bytes[2], *all;
	size_t size;

	(void)state;
	memset(all_calls, 0xff, sizeof(all_calls));
	open_builtin(ESPY_ABI_X86_64, &img);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t numbers[16] = { i ? 0xf0f0 : 0xffff };
		const struct espy_prune want = {
			.numbers = numbers,
			.number_cnt = 1024,
			.calls = all_calls,
			.all_values = true,
		};

		bytes[i] = pruned(&img, &want, &parts[i], &size);
	}
	const struct pair p = { &img, &joined, false };

	assert_int_equal(espy_image__join(list, 3, &joined, &all), 0);
	assert_int_equal(joined.syscall_cnt, img.syscall_cnt);
	for (uint32_t nr = 0; nr < img.syscall_cnt; nr++) {
		same_number(&p, nr, NULL);
		assert_int_equal(joined.syscalls[nr].flags, nr < 16 ? 0 : ESPY_SYSCALL_STAND_IN);
	}
	free(all);
	/* a whole one leaves nothing to those behind it */
	list[0] = &img;
	assert_int_equal(espy_image__join(list, 3, &joined, &all), 0);
	assert_int_equal(joined.type_cnt, img.type_cnt);
	assert_int_equal(joined.syscalls[300].flags, 0);
	free(all);
	/* without it, what no part knows is not described */
	list[0] = &parts[1];
	assert_int_equal(espy_image__join(list, 2, &joined, &all), 0);
	assert_int_equal(joined.syscall_cnt, 16);
	assert_int_equal(espy_image__select(&joined, 300, (uint64_t[6]){ 0 }, &(uint32_t){ 0 }), ESPY_NONE);
	free(all);
	free(bytes[0]);
	free(bytes[1]);
}

/* ---- the parts of a trace ---- */

struct recorder {
	struct espy_trace_writer *w;
	struct espy_trace_schema *d;
};

static int describe(void *ctx, struct espy_trace_writer *w, unsigned file)
{
	return espy_trace_schema__write(((struct recorder *)ctx)->d, w, file);
}

static void give(struct recorder *r, unsigned nr, enum espy_abi abi, uint64_t arg1)
{
	struct {
		struct espy_rec_call call;
		uint64_t args[6];
	} rec = { .call.rec = { .size = sizeof(rec),
				.abi = abi,
				.type = ESPY_REC_EXIT,
				.flags = 6,
				.nr = (uint16_t)nr,
				.tid = 1,
				.tgid = 1,
				.time_ns = nr + 1 },
		  .args = { 3, arg1 } };

	espy_trace_schema__record(r->d, &rec.call.rec);
	assert_int_equal(espy_trace_writer__record(r->w, &rec.call.rec), 0);
}

/* All records of a trace that may end anywhere: each call is described by the parts that came before it. */
static unsigned check_trace(const char *path, unsigned *sections, size_t *bytes)
{
	const struct espy_trace_read_opts o = { .follow = true };
	struct espy_trace_reader *r;
	struct espy_image whole[ESPY_ABI_CNT];
	const struct espy_rec *rec;
	char why[128];
	unsigned n = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		open_builtin(abi, &whole[abi]);
	assert_int_equal(espy_trace_reader__open(&r, path, &o, why, sizeof(why)), 0);
	*sections = 0;
	*bytes = 0;
	while (espy_trace_reader__next(r, &rec) == 1) {
		const unsigned abi = rec->abi;
		struct espy_image parts[16], joined;
		const struct espy_image *list[16];
		const void *data;
		void *all;
		size_t size;
		unsigned cnt = 0;
		uint32_t plan_a, plan_b;

		for (*bytes = 0; !espy_trace_reader__section(r, ESPY_SECTION_IMAGE, abi, cnt, &data, &size);
		     cnt++) {
			assert_true(cnt < 16);
			assert_int_equal(espy_image__open(&parts[cnt], data, size, NULL), 0);
			list[cnt] = &parts[cnt];
			*bytes += size;
		}
		assert_int_equal(espy_image__join(list, cnt, &joined, &all), 0);
		const struct pair p = { &whole[abi], &joined, true };
		const uint64_t *args = (const uint64_t *)(rec + 1) + 1;

		same_call(&p, espy_image__select(p.a, rec->nr, args, &plan_a),
			  espy_image__select(p.b, rec->nr, args, &plan_b));
		if (!strcmp(espy_image__str(p.a, p.a->syscalls[rec->nr].name), "ioctl")) {
			const struct espy_table *t =
				&joined.tables[joined.types[joined.fields[joined.calls[joined.syscalls[rec->nr].call]
										  .first_param +
									  1]
								    .type]
						       .table];
			bool found = false;

			for (uint32_t i = 0; i < t->count; i++)
				found |= joined.entries[t->first + i].value == args[1];
			assert_true(found);
		}
		*sections = cnt > *sections ? cnt : *sections;
		free(all);
		n++;
	}
	espy_trace_reader__close(r);
	return n;
}

static void test_trace(void **state)
{
	char path[] = "/tmp/espy-parts-XXXXXX";
	const uint16_t cmds[] = { 0x5401, 0x5413, 0x5402, 0x540b };
	struct espy_image images[ESPY_ABI_CNT];
	const void *bytes[ESPY_ABI_CNT];
	size_t sizes[ESPY_ABI_CNT], parts_sz;
	struct recorder r = { 0 };
	unsigned given = 0, sections;

	(void)state;
	close(mkstemp(path));
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		open_builtin(abi, &images[abi]);
		bytes[abi] = espy_builtin_image(abi, &sizes[abi]);
	}
	const struct espy_trace_write_opts o = {
		.path = path,
		.force = true,
		.level = 3,
		.describe = describe,
		.state_ctx = &r,
	};

	r.d = espy_trace_schema__new(images, bytes, sizes);
	assert_non_null(r.d);
	assert_int_equal(espy_trace_writer__open(&r.w, &o), 0);
	/* one number after the other, and a variant and a name of ioctl now and then: as if it had been killed after
	 * each */
	for (unsigned i = 0; i < 24; i++) {
		give(&r, i % 12, ESPY_ABI_X86_64, 0);
		if (i % 3 == 0)
			give(&r, 16, ESPY_ABI_X86_64, cmds[i / 6]);
		if (i == 5)
			give(&r, 3, ESPY_ABI_I386, 0);
		given += 1 + (i % 3 == 0) + (i == 5);
		assert_int_equal(espy_trace_writer__flush(r.w), 0);
		assert_int_equal(check_trace(path, &sections, &parts_sz), given);
		/* however many there would be, the whole image comes in the end, once */
		assert_true(sections <= 9);
		if (i < 3)
			assert_true(parts_sz < sizes[0] / 4);
	}
	assert_int_equal(sections, 9);
	assert_int_equal(espy_trace_writer__close(r.w), 0);
	espy_trace_schema__free(r.d);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_number), cmocka_unit_test(test_signals_alone),
		cmocka_unit_test(test_variants), cmocka_unit_test(test_families),
		cmocka_unit_test(test_by_name),	    cmocka_unit_test(test_join),     cmocka_unit_test(test_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
