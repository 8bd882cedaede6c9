/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/call_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe/hooks.h"

#define MESSAGE_MOST 32768u /* bytes: what a buffer for netlink holds */
#define DATA_MOST 65536u    /* bytes: of others, as of any buffer */

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/*
 * Tells whether the operation reads a message that the program sends or receives. -s does not cut it, since it may have
 * parts: it may be netlink's, or have a number before its bytes (System V). *head: how many bytes come before its data.
 */
static bool is_message(const struct espy_image *img, const struct espy_op *op, uint32_t *head)
{
	const struct espy_type *t = &img->types[op->type];

	*head = 0;
	if (t->hook == ESPY_HOOK_NETLINK)
		return true;
	if (t->kind != ESPY_T_STRUCT || !(t->flags & ESPY_TF_SIZED) || !t->count)
		return false;
	const struct espy_field *last = &img->fields[t->first + t->count - 1];
	if (last->type == ESPY_NONE)
		return false;
	*head = last->off;
	return img->types[last->type].kind == ESPY_T_REST;
}

/*
 * Returns how many bytes are read that may be a message of netlink. Others are as many as -s says. A source that stops
 * no task reads a message whole under -v only: it does not know what socket it is, and most are none of netlink's. For
 * a recording, which wants all structures, they would all be ten times as large.
 */
static uint32_t socket_bytes(const struct espy_op *op, const struct espy_needs *lim, bool abbrev)
{
	const uint32_t whole = abbrev || lim->verbose ? 0 : MESSAGE_MOST;
	const uint32_t shown = lim->str_limit < DATA_MOST && !lim->whole_data ? lim->str_limit : DATA_MOST;
	const uint32_t most = whole > shown ? whole : shown;

	return op->cap > most ? op->cap : most;
}

/*
 * Tells whether one byte more than is shown is read of data: if it cannot be read, the address is shown, as strace
 * does. Programs of the source bpf are fastest with 32 bytes, which most users have, and data there ends at unreadable
 * memory only by chance. With 32, espy_call_set__read_freely() adds the byte for other sources. Data of one length
 * always are those of rare calls.
 */
static bool needs_one_more(const struct espy_image *img, const struct espy_op *op, const struct espy_needs *lim)
{
	return img->types[op->type].count || (op->when & ESPY_OP_ENTER && lim->str_limit != 32);
}

/* Returns the bytes of one element: of an array that is counted in bytes, too. */
static uint32_t element_size(const struct espy_image *img, const struct espy_op *op)
{
	const struct espy_type *t = &img->types[op->type];
	const uint32_t size = t->kind == ESPY_T_ARRAY && t->elem < img->type_cnt ? img->types[t->elem].size : 0;

	return size > op->elem ? size : op->elem;
}

/* Returns how many bytes of one operation the call needs. abbrev: the call is shown without -v. */
static uint32_t wanted_cap(const struct espy_image *img, const struct espy_op *op, const struct espy_needs *lim,
			   bool abbrev)
{
	uint32_t head;

	if (lim->limit_data && is_message(img, op, &head))
		return least(op->cap, (uint64_t)head + lim->data_bytes);
	if (img->types[op->type].hook == ESPY_HOOK_NETLINK)
		return socket_bytes(op, lim, abbrev);
	/* bytes that only -v shows are cut by -s, too */
	const bool cut = op->limit == ESPY_LIMIT_VERBOSE && !abbrev && img->types[op->type].kind == ESPY_T_BYTES;
	switch (cut ? ESPY_LIMIT_DATA : op->limit) {
	case ESPY_LIMIT_STRING:
		return least(op->cap, (uint64_t)lim->str_limit + 1);
	case ESPY_LIMIT_DATA:
		if (lim->limit_data)
			return least(op->cap, lim->data_bytes);
		if (img->types[op->type].hook == ESPY_HOOK_SOCKOPT && lim->str_limit < 4 && !lim->whole_data)
			return least(op->cap, 4); /* an integer is shown as a whole */
		return lim->whole_data ? op->cap
				       : least(op->cap, (uint64_t)lim->str_limit + needs_one_more(img, op, lim));
	case ESPY_LIMIT_ELEMS:
		/* One element more than is shown tells whether "..." follows. */
		return abbrev && !lim->whole_data
			       ? least(op->cap, ((uint64_t)lim->str_limit + 1) * element_size(img, op))
			       : op->cap;
	case ESPY_LIMIT_ENV:
		return abbrev || lim->no_env ? 0 : least(op->cap, (uint64_t)lim->str_limit + 1);
	case ESPY_LIMIT_SECRET:
		return 0;
	case ESPY_LIMIT_VERBOSE:
		return abbrev ? 0 : op->cap;
	default:
		return op->cap;
	}
}

uint32_t espy_call_set__most_data(const struct espy_needs *lim)
{
	const uint32_t most = lim->whole_data || lim->str_limit >= ESPY_MORE_MOST ? ESPY_MORE_MOST : lim->str_limit + 1;

	return lim->limit_data || most <= ESPY_PLAN_CAP ? 0 : most;
}

/* Tells whether an operation reads a buffer that may be longer than its cap. */
static bool may_be_long(const struct espy_image *img, const struct espy_op *op)
{
	return op->kind == ESPY_OP_BYTES && op->cap >= ESPY_PLAN_CAP &&
	       (op->limit == ESPY_LIMIT_DATA || img->types[op->type].hook == ESPY_HOOK_NETLINK);
}

/* Raises the caps of a plan's operations to the needs of a call. Plans share operations, so the largest cap counts. */
static void raise_caps(struct espy_op *ops, const struct espy_image *img, uint32_t plan_idx,
		       const struct espy_needs *lim, bool abbrev)
{
	const struct espy_plan *plan = &img->plans[plan_idx];

	for (unsigned i = 0; i < plan->op_cnt; i++) {
		uint32_t n = plan->first_op + i;
		uint32_t cap = wanted_cap(img, &img->ops[n], lim, abbrev);

		if (cap > ops[n].cap)
			ops[n].cap = cap;
		if (espy_call_set__most_data(lim) && may_be_long(img, &ops[n]))
			ops[n].holds |= ESPY_HOLDS_MORE;
	}
}

void espy_call_set__read_freely(struct espy_call_set *set, const struct espy_needs *lim)
{
	struct espy_op *ops = (struct espy_op *)set->ops; /* ours; to others they are const */

	for (uint32_t i = 0; ops && i < set->image->op_cnt && !lim->limit_data; i++) {
		const bool message = set->image->types[ops[i].type].hook == ESPY_HOOK_NETLINK;

		if (message && !lim->verbose && ops[i].cap && ops[i].cap < MESSAGE_MOST)
			ops[i].cap = MESSAGE_MOST;
		/* see needs_one_more() */
		if (ops[i].limit == ESPY_LIMIT_DATA && ops[i].when & ESPY_OP_ENTER && ops[i].cap == lim->str_limit)
			ops[i].cap = least(set->image->ops[i].cap, (uint64_t)lim->str_limit + 1);
	}
}

int espy_call_set__init(struct espy_call_set *set, const struct espy_image *img, const struct espy_filter *f,
			const struct espy_needs *lim)
{
	struct espy_op *ops = calloc(img->op_cnt ? img->op_cnt : 1, sizeof(*ops));

	if (!ops)
		return -ENOMEM;
	for (uint32_t i = 0; i < img->op_cnt; i++) {
		ops[i] = img->ops[i];
		ops[i].cap = 0;
	}
	memset(set, 0, sizeof(*set));
	set->image = img;
	set->ops = ops;
	set->all_wanted = f->trace_unknown;
	for (uint32_t nr = 0; nr < img->syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
		const struct espy_call_plan *cp = &img->call_plans[nr];
		bool abbrev = !lim->verbose && espy_syscall_set__has(&f->abbrev, img->abi, nr);
		uint64_t bit = 1ull << (nr % 64);

		if (espy_syscall_set__has(&f->trace, img->abi, nr))
			set->wanted[nr / 64] |= bit;
		if (espy_syscall_set__has(&f->raw, img->abi, nr))
			set->raw[nr / 64] |= bit;
		if (img->syscalls[nr].call == ESPY_NONE)
			continue;
		raise_caps(ops, img, cp->plan, lim, abbrev);
		for (uint32_t v = 0; v < cp->variant_cnt; v++)
			raise_caps(ops, img, img->variants[cp->first_variant + v].plan, lim, abbrev);
	}
	return 0;
}

void espy_call_set__free(struct espy_call_set *set)
{
	free((void *)set->ops);
	set->ops = NULL;
}
