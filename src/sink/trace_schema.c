/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/trace_schema.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "describe/prune.h"
#include "record/call_record.h"
#include "source/source.h"

/* The most parts of one ABI in one file. The next part is the whole image. */
#define PARTS_MAX 8u
/* The most members of large tables and the like. A trace with more of them gets everything. */
#define VALUES_MAX 256u
#define CALLS_MAX 8192u
#define NUMBER_WORDS (ESPY_MAX_SYSCALLS / 64)
#define CALL_WORDS (CALLS_MAX / 64)

struct needs {
	uint64_t numbers[NUMBER_WORDS];
	uint64_t calls[CALL_WORDS]; /* of image->calls */
	uint64_t signals;
};

struct abi_schema {
	const struct espy_image *img;
	const void *bytes;
	size_t size;
	uint64_t has_values[CALL_WORDS]; /* calls with parameters whose values matter */
	struct needs now, there;	 /* of the records of this block; of the file so far */
	struct espy_prune_value values[VALUES_MAX];
	uint32_t value_cnt;
	bool all_values;
	uint64_t new_values[NUMBER_WORDS]; /* numbers of calls that had a value for the first time */
	unsigned parts;
	bool has_netlink;
	bool whole;  /* the file has everything */
	bool any;    /* something may be new */
	bool in_use; /* calls of this ABI have come */
};

struct espy_trace_schema {
	struct abi_schema abi[ESPY_ABI_CNT];
	unsigned file;
	bool netlink;
};

static bool bit(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= 1ull << (i % 64);
}

struct espy_trace_schema *espy_trace_schema__new(const struct espy_image *images, const void *const *bytes,
						const size_t *sizes)
{
	struct espy_trace_schema *d = calloc(1, sizeof(*d));

	if (d)
		d->file = UINT_MAX; /* none yet */
	for (unsigned abi = 0; d && abi < ESPY_ABI_CNT; abi++) {
		struct abi_schema *a = &d->abi[abi];
		const struct espy_image *img = &images[abi];

		*a = (struct abi_schema){ .img = img, .bytes = bytes[abi], .size = sizes[abi] };
		for (uint32_t i = 0; i < img->call_cnt && i < CALLS_MAX; i++)
			for (uint32_t k = 0; k < img->calls[i].nparam; k++) {
				const struct espy_field *param = &img->fields[img->calls[i].first_param + k];
				struct espy_prune_value v;
				uint32_t of, key_sz;

				if (espy_prune_value_of(img, param, (uint64_t[6]){ 0 }, &v) ||
				    espy_prune_struct_of(img, param, &of, &key_sz))
					set(a->has_values, i);
			}
	}
	return d;
}

void espy_trace_schema__free(struct espy_trace_schema *d)
{
	free(d);
}

void espy_trace_schema__netlink(struct espy_trace_schema *d)
{
	d->netlink = true;
}

static void note_value(struct abi_schema *a, uint32_t nr, const struct espy_prune_value *v)
{
	uint32_t i = 0;

	while (i < a->value_cnt && (a->values[i].of != v->of || a->values[i].value != v->value))
		i++;
	if (a->all_values || i < a->value_cnt)
		return;
	set(a->new_values, nr);
	a->any = true;
	if (a->value_cnt == VALUES_MAX)
		a->all_values = true;
	else
		a->values[a->value_cnt++] = *v;
}

/* Notes the values at the head of the struct that a register points to, each time that a source read it. */
static void note_structs(struct abi_schema *a, const struct espy_rec *rec, const struct espy_plan *plan, uint32_t reg,
			 uint32_t of, uint32_t key_sz)
{
	size_t size;
	const struct espy_item *items = espy_rec__items(rec, &size);

	for (const struct espy_item *it = espy_item__first(items, size); it; it = espy_item__next(it, items, size)) {
		struct espy_prune_value v = { .of = of };

		if (it->op >= plan->op_cnt || a->img->ops[plan->first_op + it->op].src != reg || it->len < key_sz)
			continue;
		memcpy(&v.value, espy_item__bytes(it), key_sz);
		note_value(a, rec->nr, &v);
	}
}

static void note_values(struct abi_schema *a, const struct espy_rec *rec, uint32_t call, uint32_t plan,
			const uint64_t args[6])
{
	const struct espy_call *c = &a->img->calls[call];

	for (uint32_t k = 0; k < c->nparam; k++) {
		const struct espy_field *param = &a->img->fields[c->first_param + k];
		struct espy_prune_value v;
		uint32_t of, key_sz;

		if (espy_prune_value_of(a->img, param, args, &v))
			note_value(a, rec->nr, &v);
		else if (espy_prune_struct_of(a->img, param, &of, &key_sz))
			note_structs(a, rec, &a->img->plans[plan], param->off, of, key_sz);
	}
}

static void note_call(struct abi_schema *a, const struct espy_rec *rec)
{
	const unsigned nargs = ESPY_REC_NARGS(rec->flags) < ESPY_MAX_ARGS ? ESPY_REC_NARGS(rec->flags) : ESPY_MAX_ARGS;
	const size_t off = espy_call__args_off(rec->flags);
	uint64_t args[ESPY_MAX_ARGS] = { 0 };
	uint32_t plan;

	if (rec->nr >= ESPY_MAX_SYSCALLS || off + 8u * nargs > rec->size)
		return;
	memcpy(args, (const uint8_t *)rec + off, 8u * nargs);
	const uint32_t call = espy_image__select(a->img, rec->nr, args, &plan);

	if (call != ESPY_NONE && call < CALLS_MAX) {
		if (bit(a->has_values, call))
			note_values(a, rec, call, plan, args);
		a->any |= !bit(a->there.calls, call);
		set(a->now.calls, call);
	}
	a->any |= !bit(a->there.numbers, rec->nr);
	set(a->now.numbers, rec->nr);
	a->in_use = true;
}

void espy_trace_schema__record(struct espy_trace_schema *d, const struct espy_rec *rec)
{
	struct abi_schema *native = &d->abi[ESPY_ABI_NATIVE];

	switch (rec->type) {
	case ESPY_REC_ENTER:
	case ESPY_REC_EXIT:
		if (rec->abi < ESPY_ABI_CNT)
			note_call(&d->abi[rec->abi], rec);
		break;
	case ESPY_REC_SIGNAL:
		if (rec->nr && rec->nr <= 64)
			native->now.signals |= 1ull << (rec->nr - 1);
		native->any |= native->now.signals & ~native->there.signals;
		break;
	}
}

/* Finds calls that need more than the file has. The part gets all their needs: readers look at the last part only. */
static bool find_new(const struct abi_schema *a, uint64_t *numbers)
{
	bool any = false;

	memset(numbers, 0, NUMBER_WORDS * sizeof(*numbers));
	for (uint32_t nr = 0; nr < ESPY_MAX_SYSCALLS; nr++) {
		bool is_new = false;

		if (!bit(a->now.numbers, nr))
			continue;
		is_new = !bit(a->there.numbers, nr) || bit(a->new_values, nr);
		if (nr < a->img->syscall_cnt) {
			const struct espy_call_plan *cp = &a->img->call_plans[nr];

			for (uint32_t k = cp->first_variant;
			     !is_new && k < (uint32_t)cp->first_variant + cp->variant_cnt; k++) {
				const uint32_t call = a->img->variants[k].call;

				is_new = call < CALLS_MAX && bit(a->now.calls, call) && !bit(a->there.calls, call);
			}
		}
		if (is_new)
			set(numbers, nr);
		any |= is_new;
	}
	return any || a->now.signals & ~a->there.signals;
}

static int write_part(struct abi_schema *a, unsigned abi, bool netlink, struct espy_trace_writer *w)
{
	uint64_t numbers[NUMBER_WORDS];
	void *bytes;
	size_t size;

	a->any = false;
	if (!find_new(a, numbers) && netlink == a->has_netlink)
		return 0;
	for (unsigned i = 0; i < NUMBER_WORDS; i++)
		a->there.numbers[i] |= a->now.numbers[i];
	for (unsigned i = 0; i < CALL_WORDS; i++)
		a->there.calls[i] |= a->now.calls[i];
	a->there.signals |= a->now.signals;
	a->has_netlink = netlink;
	memset(a->new_values, 0, sizeof(a->new_values));
	if (a->parts++ == PARTS_MAX) {
		a->whole = true;
		return espy_trace_writer__section(w, ESPY_SECTION_IMAGE, abi, a->bytes, a->size);
	}
	const struct espy_prune want = {
		.numbers = numbers,
		.number_cnt = ESPY_MAX_SYSCALLS,
		.calls = a->there.calls,
		.values = a->values,
		.value_cnt = a->value_cnt,
		.all_values = a->all_values,
		.signals = a->there.signals,
		.netlink = netlink,
	};
	int err = espy_image__prune(a->img, &want, &bytes, &size);

	if (err)
		return err;
	err = espy_trace_writer__section(w, ESPY_SECTION_IMAGE, abi, bytes, size);
	free(bytes);
	return err;
}

int espy_trace_schema__write(struct espy_trace_schema *d, struct espy_trace_writer *w, unsigned file)
{
	int err = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++) {
		struct abi_schema *a = &d->abi[abi];

		if (d->file != file) {
			memset(&a->there, 0, sizeof(a->there));
			a->parts = 0;
			a->has_netlink = false;
			a->whole = false;
			a->any = true;
		}
		const bool netlink = a->has_netlink || (d->netlink && a->in_use);

		if ((a->any || netlink != a->has_netlink) && !a->whole)
			err = write_part(a, abi, netlink, w);
		memset(&a->now, 0, sizeof(a->now));
	}
	d->file = file;
	return err;
}
