/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a view of records: the one place that judges the bytes of a call record. A holder of a view may rely on every
 * item lying inside its record.
 */
#include <errno.h>
#include <string.h>

#include "describe/call_view.h"

#define NO_ITEM 0xffffu

/* Reads the header, the arguments and the place where items begin. -EBADMSG: the record is too short for its flags. */
static int read_head(struct espy_call_view *v, const struct espy_rec *rec, size_t *items_off)
{
	if (rec->size < sizeof(struct espy_rec_call) || rec->size > ESPY_REC_MAX || rec->size % 8)
		return -EBADMSG;

	const unsigned nargs = ESPY_REC_NARGS(rec->flags), args = espy_call__args_off(rec->flags);

	*items_off = espy_call__items_off(rec->flags);
	if (nargs > ESPY_MAX_ARGS || *items_off > rec->size)
		return -EBADMSG;

	const uint8_t *p = (const uint8_t *)rec;
	if (rec->flags & ESPY_RF_ENTER_NS)
		memcpy(&v->enter_ns, p + sizeof(struct espy_rec_call), 8);
	if (rec->flags & ESPY_RF_IP)
		memcpy(&v->ip, p + espy_call__ip_off(rec->flags), 8);
	if (rec->flags & ESPY_RF_CPU_NS) {
		v->has_cpu = true;
		memcpy(&v->cpu_ns, p + args - 8, 8);
	}
	/* The arguments at entry are the true ones. The arguments of an exit record count if there are no others. */
	if (nargs > v->nargs) {
		for (unsigned i = 0; i < nargs; i++) /* too few for a call of memcpy */
			memcpy(&v->args[i], p + args + 8 * i, 8);
		v->nargs = nargs;
	}
	return 0;
}

static int read_items(struct espy_call_view *v, const struct espy_rec *rec, size_t off, unsigned op_cnt)
{
	unsigned before = v->item_cnt;

	while (off < rec->size) {
		/* size and off are multiples of 8, so a header always fits */
		const struct espy_item *it = (const struct espy_item *)((const uint8_t *)rec + off);
		size_t room = rec->size - off - sizeof(*it);
		if (it->len > room || ESPY_ITEM_STATUS(it->status) > ESPY_ITEM_NOT_RUN || it->op >= op_cnt)
			return -EBADMSG;
		off += espy_item__step(it);
		if (v->item_cnt == ESPY_VIEW_MAX_ITEMS) {
			v->item_dropped++;
			continue;
		}
		bool at_exit = it->status & ESPY_ITEM_AT_EXIT;
		struct espy_view_op *op = &v->ops[it->op];
		if (op->first[at_exit] == NO_ITEM)
			op->first[at_exit] = (uint16_t)v->item_cnt;
		else if (!at_exit && op->first[0] < before && op->again == NO_ITEM)
			op->again = (uint16_t)v->item_cnt;
		v->items[v->item_cnt++] = it;
	}
	return 0;
}

int espy_call_view__init(struct espy_call_view *v, const struct espy_image *image, const struct espy_rec *enter,
			 const struct espy_rec *exit)
{
	const struct espy_rec *any = enter ? enter : exit;
	if (!any)
		return -EINVAL;
	if ((enter && enter->type != ESPY_REC_ENTER) || (exit && exit->type != ESPY_REC_EXIT))
		return -EBADMSG;
	if (enter && exit && (enter->nr != exit->nr || enter->abi != exit->abi))
		return -EBADMSG;

	/* Field by field: the array of items is large and needs no clearing. */
	v->image = image;
	v->nr = any->nr;
	v->tid = any->tid;
	v->tgid = any->tgid;
	v->nargs = 0;
	memset(v->args, 0, sizeof(v->args));
	v->ret = 0;
	v->has_exit = exit;
	v->no_return = exit && (exit->flags & ESPY_RF_NO_RETURN);
	v->changed = exit ? exit->flags & (ESPY_RF_INJECTED | ESPY_RF_POKED | ESPY_RF_DELAYED | ESPY_RF_VALUE) : 0;
	v->enter_ns = v->exit_ns = v->ip = v->cpu_ns = 0;
	v->has_cpu = false;
	v->item_cnt = v->item_dropped = 0;
	v->op_cnt = 0;

	size_t enter_off = 0, exit_off = 0;
	int r = enter ? read_head(v, enter, &enter_off) : 0;
	/* The time of the record, unless it tells an earlier begin: espy looks late at a call that hangs. */
	if (!r && enter && !v->enter_ns)
		v->enter_ns = enter->time_ns;
	if (!r && exit) {
		r = read_head(v, exit, &exit_off);
		if (!r) {
			v->ret = ((const struct espy_rec_call *)exit)->ret;
			v->exit_ns = exit->time_ns;
		}
	}
	if (r)
		return r;

	v->plan = 0;
	v->call = espy_image__select(image, v->nr, v->args, &v->plan);
	unsigned op_cnt = v->call != ESPY_NONE && v->plan < image->plan_cnt ? image->plans[v->plan].op_cnt : 0;
	if (op_cnt > ESPY_PLAN_MAX_OPS)
		return -EBADMSG;
	v->op_cnt = op_cnt;
	for (unsigned op = 0; op < op_cnt; op++)
		v->ops[op] = (struct espy_view_op){ { NO_ITEM, NO_ITEM }, NO_ITEM };
	if (enter)
		r = read_items(v, enter, enter_off, op_cnt);
	if (!r && exit)
		r = read_items(v, exit, exit_off, op_cnt);
	return r;
}

static bool is_of_phase(const struct espy_item *a, const struct espy_item *b)
{
	return a->op == b->op && !((a->status ^ b->status) & ESPY_ITEM_AT_EXIT);
}

/* Puts an item at place `at` of the list, and moves what stands there and behind it. */
static void insert(struct espy_call_view *v, const struct espy_item *it, unsigned at)
{
	uint16_t *first = &v->ops[it->op].first[!!(it->status & ESPY_ITEM_AT_EXIT)];

	memmove(&v->items[at + 1], &v->items[at], (v->item_cnt - at) * sizeof(*v->items));
	v->items[at] = it;
	v->item_cnt++;
	for (unsigned op = 0; op < v->op_cnt; op++) {
		uint16_t *const places[] = { &v->ops[op].first[0], &v->ops[op].first[1], &v->ops[op].again };

		for (unsigned i = 0; i < 3; i++)
			*places[i] += *places[i] != NO_ITEM && *places[i] >= at;
	}
	if (*first == NO_ITEM)
		*first = (uint16_t)at;
}

void espy_call_view__put(struct espy_call_view *v, struct espy_item *it, uint64_t from)
{
	unsigned behind = v->item_cnt;
	bool placed = false;

	if (it->op >= v->op_cnt)
		return;
	for (unsigned i = 0; i < v->item_cnt; i++) {
		if (!is_of_phase(v->items[i], it))
			continue;
		behind = i + 1;
		if (v->items[i]->index != it->index || v->items[i]->len != from)
			continue;
		memcpy(it + 1, v->items[i] + 1, from);
		v->items[i] = it;
		placed = true;
	}
	if (!from && !placed && v->item_cnt < ESPY_VIEW_MAX_ITEMS)
		insert(v, it, behind);
}

static const struct espy_item *find_in_run(const struct espy_call_view *v, unsigned first, unsigned op, unsigned index,
					   bool at_exit)
{
	/* Almost always every element is there, and the item has its own index. */
	unsigned guess = first + index;
	if (guess < v->item_cnt) {
		const struct espy_item *it = v->items[guess];
		if (it->op == op && it->index == index && !(it->status & ESPY_ITEM_AT_EXIT) == !at_exit)
			return it;
	}
	for (unsigned i = first; i < v->item_cnt; i++) {
		const struct espy_item *it = v->items[i];
		if (it->op != op || !(it->status & ESPY_ITEM_AT_EXIT) != !at_exit)
			break;
		if (it->index == index)
			return it;
	}
	return NULL;
}

const struct espy_item *espy_call_view__item(const struct espy_call_view *v, unsigned op, unsigned index, bool at_exit)
{
	if (op >= v->op_cnt || v->ops[op].first[at_exit] == NO_ITEM)
		return NULL;
	const struct espy_item *it = find_in_run(v, v->ops[op].first[at_exit], op, index, at_exit);
	/* A source may have read at exit what it could not read at entry. */
	if (!at_exit && v->ops[op].again != NO_ITEM && (!it || ESPY_ITEM_STATUS(it->status) & 1)) {
		const struct espy_item *again = find_in_run(v, v->ops[op].again, op, index, false);
		if (again)
			it = again;
	}
	return it;
}

const struct espy_item *espy_call_view__arg_item(const struct espy_call_view *v, unsigned reg, bool at_exit)
{
	if (v->call == ESPY_NONE || v->plan >= v->image->plan_cnt)
		return NULL;
	const struct espy_plan *plan = &v->image->plans[v->plan];
	for (unsigned k = 0; k < plan->op_cnt && k < ESPY_PLAN_MAX_OPS; k++) {
		if (v->image->ops[plan->first_op + k].src != reg)
			continue;
		const struct espy_item *it = espy_call_view__item(v, k, 0, at_exit);
		if (it)
			return it;
	}
	return NULL;
}

uint64_t espy_load(const uint8_t *p, unsigned n, bool big_endian, bool sgn)
{
	uint64_t x = 0;
	switch (n) {
	case 1:
		x = p[0];
		return sgn ? (uint64_t)(int8_t)x : x;
	case 2: {
		uint16_t t;
		memcpy(&t, p, 2);
		t = big_endian ? __builtin_bswap16(t) : t;
		return sgn ? (uint64_t)(int16_t)t : t;
	}
	case 4: {
		uint32_t t;
		memcpy(&t, p, 4);
		t = big_endian ? __builtin_bswap32(t) : t;
		return sgn ? (uint64_t)(int32_t)t : t;
	}
	case 8:
		memcpy(&x, p, 8);
		return big_endian ? __builtin_bswap64(x) : x;
	}
	return 0;
}
