/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The user-space runner of plans; plan_run.h has the rules. All bytes that it reads come from a program that may lie:
 * it cuts each length before its use, and checks each offset against the captured bytes.
 */
#include "source/plan_run.h"

#include <errno.h>
#include <string.h>
#include "record/call_record.h"
#include "source/more_out.h"

#define ITEM_ALIGN 8u
/* A string mostly is short: read this much first, aligned, so that a fault behind its end is not met. */
#define CSTR_CHUNK 256u
/* espy_item.index has 16 bits. */
#define MAX_INDEX 0xffffu

static const size_t item_sz = sizeof(struct espy_item);

struct region {
	const struct espy_item *items;
	size_t size;
};

struct runner {
	struct espy_rec_out *out;
	const struct espy_plan_run *run;
	struct region enter; /* the bytes read before the call */
	uint32_t base;	     /* own items begin here in out */
};

/* The place of one pointer: an argument, or an element of a source item. */
struct place {
	const unsigned char *enter, *exit; /* bytes of the element at entry and at exit; either may be NULL */
	size_t enter_sz, exit_sz;	   /* bytes from there to the end of the item */
};

/* Finds the first item of an operation in a region, of the wanted phase. */
static const struct espy_item *find_item(const struct region *r, unsigned op, bool at_exit)
{
	const struct espy_item *it;

	for (it = espy_item__first(r->items, r->size); it; it = espy_item__next(it, r->items, r->size))
		if (it->op == op && !(it->status & ESPY_ITEM_AT_EXIT) == !at_exit)
			return it;
	return NULL;
}

static const struct espy_item *next_of_op(const struct region *r, const struct espy_item *it)
{
	const struct espy_item *n = espy_item__next(it, r->items, r->size);

	if (!n || n->op != it->op || ((n->status ^ it->status) & ESPY_ITEM_AT_EXIT))
		return NULL;
	return n;
}

static struct region own_region(const struct runner *r)
{
	return (struct region){ .items = (const void *)(r->out->data + r->base), .size = r->out->size - r->base };
}

/* Items of an operation read before the call: by the entry record, or (exit alone) by this run. */
static const struct espy_item *enter_item(const struct runner *r, unsigned op, struct region *in)
{
	const struct espy_item *it = find_item(&r->enter, op, false);

	*in = r->enter;
	if (!it) {
		*in = own_region(r);
		it = find_item(in, op, false);
	}
	return it;
}

static const struct espy_item *exit_item(const struct runner *r, unsigned op, struct region *in)
{
	*in = own_region(r);
	return r->run->at_exit ? find_item(in, op, true) : NULL;
}

/* Loads a number, little-endian as the machine: the plans are for x86. */
static uint64_t load(const unsigned char *p, unsigned width, bool is_signed)
{
	uint64_t v = 0;

	memcpy(&v, p, width);
	if (is_signed && width < 8 && v >> (width * 8 - 1) & 1)
		v |= ~0ull << (width * 8);
	return v;
}

static uint64_t not_negative(uint64_t v, bool is_signed)
{
	return is_signed && (int64_t)v < 0 ? 0 : v;
}

/* Finds a number in captured bytes. Returns false if they do not reach so far. */
static bool number_at(const unsigned char *p, size_t sz, unsigned off, uint16_t ref, uint64_t *v)
{
	unsigned width = ESPY_REF_WIDTH(ref);

	if (!p || off > sz || width > sz - off)
		return false;
	*v = not_negative(load(p + off, width, ESPY_REF_SIGNED(ref)), ESPY_REF_SIGNED(ref));
	return true;
}

static bool op_number(const struct espy_item *it, uint16_t ref, uint64_t *v)
{
	return it && number_at(espy_item__bytes(it), it->len, 0, ref, v);
}

/* One of a and b. false: the memory that holds it was not readable. UINT64_MAX: no limit. */
static bool length_of(const struct runner *r, const struct place *pl, unsigned kind, uint16_t ref, bool is_a,
		      uint64_t spread, uint64_t *v)
{
	const struct espy_plan_run *run = r->run;
	const struct espy_item *first, *second;
	struct region in;
	unsigned n = ESPY_REF_VAL(ref);

	*v = UINT64_MAX;
	switch (kind) {
	case ESPY_LEN_NONE:
		return true;
	case ESPY_LEN_CONST: /* all of its bits are the number */
		*v = ref;
		return true;
	case ESPY_LEN_ARG:
		if (n >= ESPY_MAX_ARGS)
			return false;
		number_at((const unsigned char *)&run->args[n], sizeof(run->args[n]), 0, ref, v);
		break;
	case ESPY_LEN_RET:
		if (!run->at_exit)
			return true;
		*v = espy_ret_is_error(run->ret) ? 0 : not_negative((uint64_t)run->ret, true);
		break;
	case ESPY_LEN_SPREAD:
		*v = spread;
		return true;
	case ESPY_LEN_FIELD:
		if (is_a ? number_at(pl->exit, pl->exit_sz, n, ref, v) || number_at(pl->enter, pl->enter_sz, n, ref, v)
			 : number_at(pl->enter, pl->enter_sz, n, ref, v) || number_at(pl->exit, pl->exit_sz, n, ref, v))
			break;
		return false;
	case ESPY_LEN_OPVAL:
		first = is_a ? exit_item(r, n, &in) : enter_item(r, n, &in);
		second = is_a ? enter_item(r, n, &in) : exit_item(r, n, &in);
		if (!op_number(first, ref, v) && !op_number(second, ref, v))
			return false;
		break;
	default:
		return false;
	}
	if (ref & ESPY_REF_BITS)
		*v = *v > UINT64_MAX - 63 ? UINT64_MAX / 8 : (*v + 63) / 64 * 8;
	return true;
}

/* Returns the room for the bytes of one more item; -1: not even its header fits. */
static int64_t room_left(const struct espy_rec_out *out)
{
	if (out->max < out->size || out->max - out->size < item_sz)
		return -1;
	return (int64_t)((out->max - out->size - item_sz) & ~(ITEM_ALIGN - 1));
}

/* Finishes the item whose bytes stand behind its header already. */
static void put_item(struct espy_rec_out *out, unsigned op, unsigned status, unsigned index, uint32_t len)
{
	struct espy_item *it = (void *)(out->data + out->size);
	uint32_t padded = (uint32_t)espy_pad8(len);

	*it = (struct espy_item){ .op = (uint8_t)op, .status = (uint8_t)status, .index = (uint16_t)index, .len = len };
	memset(out->data + out->size + item_sz + len, 0, padded - len);
	out->size += (uint32_t)item_sz + padded;
}

static void put_not_run(struct runner *r, unsigned op, unsigned phase, unsigned index)
{
	if (room_left(r->out) >= 0)
		put_item(r->out, op, ESPY_ITEM_NOT_RUN | phase, index, 0);
}

static size_t read_mem(const struct runner *r, uint64_t addr, void *buf, size_t n)
{
	size_t got = n ? r->run->mem->read(r->run->mem->ctx, addr, buf, n) : 0;

	return got < n ? got : n;
}

/*
 * Up to and including the terminator (a zero of `width` bytes, aligned to it), at most n bytes. Returns the bytes;
 * *fault: there was a fault before n and before a terminator; *ended: the terminator is there.
 */
static size_t read_to_zero(const struct runner *r, uint64_t addr, unsigned char *buf, size_t n, unsigned width,
			   bool *fault, bool *ended)
{
	size_t have = 0, chunk = CSTR_CHUNK;

	*fault = *ended = false;
	while (have < n) {
		size_t want = chunk - (size_t)((addr + have) & (chunk - 1)), got, i;

		if (width > 1) /* an unaligned vector: whole elements all the same */
			want = (want + width - 1) / width * width;
		if (want > n - have)
			want = n - have;
		got = read_mem(r, addr + have, buf + have, want);
		if (width == 1) {
			unsigned char *nul = memchr(buf + have, 0, got);

			if (nul) {
				*ended = true;
				return (size_t)(nul - buf) + 1;
			}
		} else {
			for (i = have; i + width <= have + got; i += width)
				if (!load(buf + i, width, false)) {
					*ended = true;
					return i + width;
				}
		}
		have += got;
		if (got < want) {
			*fault = true;
			break;
		}
		if (chunk < 4096)
			chunk *= 4;
	}
	return have;
}

/* Leaves the bytes of a buffer from `from` on to `more`, if the session wants them. */
static void put_more(const struct runner *r, unsigned k, uint64_t addr, uint64_t from, uint64_t want, unsigned phase,
		     unsigned index)
{
	const struct espy_item head = { .op = (uint8_t)k, .status = (uint8_t)phase, .index = (uint16_t)index };

	if (r->out->more && r->run->ops[k].holds & ESPY_HOLDS_MORE)
		espy_more_out__put(r->out->more, r->run->mem, &head, addr, from, want);
}

/* Read one item. want: bytes that the call gives it, UINT64_MAX for no limit but the terminator. */
static void read_item(struct runner *r, unsigned k, uint64_t addr, uint64_t want, unsigned phase, unsigned index)
{
	const struct espy_op *op = &r->run->ops[k];
	int64_t room = room_left(r->out);
	unsigned char *buf = r->out->data + r->out->size + item_sz;
	unsigned status = ESPY_ITEM_OK;
	unsigned width = 1;
	uint64_t n = want;
	bool fault, ended = false;
	size_t got;

	if (room < 0) {
		put_more(r, k, addr, 0, want, phase, index);
		return;
	}
	if (r->out->more && op->holds & ESPY_HOLDS_MORE && room > ESPY_MORE_FROM)
		room = ESPY_MORE_FROM;
	if (n > op->cap) {
		n = op->cap;
		status = ESPY_ITEM_TRUNCATED;
	}
	if (n > (uint64_t)room) {
		n = (uint64_t)room;
		status = ESPY_ITEM_TRUNCATED;
		if (!n) {
			put_not_run(r, k, phase, index);
			put_more(r, k, addr, 0, want, phase, index);
			return;
		}
	}
	if (op->kind == ESPY_OP_BYTES) {
		got = read_mem(r, addr, buf, (size_t)n);
		fault = got < n;
	} else {
		if (op->kind == ESPY_OP_PTRVEC) {
			width = op->elem == 4 ? 4 : 8;
			n -= n % width;
		}
		got = read_to_zero(r, addr, buf, (size_t)n, width, &fault, &ended);
	}
	if (fault)
		status = ESPY_ITEM_FAULT;
	else if (ended)
		status = ESPY_ITEM_OK;
	put_item(r->out, k, status | phase, index, (uint32_t)got);
	if (status == ESPY_ITEM_TRUNCATED)
		put_more(r, k, addr, got, want, phase, index);
}

/* One pointer of one operation. */
static void run_pointer(struct runner *r, unsigned k, uint64_t addr, const struct place *pl, unsigned phase,
			unsigned index, uint64_t *spread)
{
	const struct espy_op *op = &r->run->ops[k];
	uint64_t a, b, want;
	bool known = length_of(r, pl, op->a_kind, op->a_ref, true, *spread, &a) &&
		     length_of(r, pl, op->b_kind, op->b_ref, false, *spread, &b);

	if (!known) {
		if (addr)
			put_not_run(r, k, phase, index);
		return;
	}
	if (op->a_kind == ESPY_LEN_NONE && op->b_kind == ESPY_LEN_NONE) {
		want = op->kind == ESPY_OP_BYTES ? op->elem : UINT64_MAX;
	} else {
		want = a < b ? a : b;
		if (__builtin_mul_overflow(want, (uint64_t)op->elem, &want))
			want = UINT64_MAX;
	}
	/* The share of an element is used up even where its bytes are not read. */
	if (op->a_kind == ESPY_LEN_SPREAD || op->b_kind == ESPY_LEN_SPREAD)
		*spread -= want < *spread ? want : *spread;
	if (addr)
		read_item(r, k, addr, want, phase, index);
}

static bool pointer_at(const unsigned char *p, size_t sz, const struct espy_op *op, uint64_t *addr)
{
	unsigned width = op->flags & ESPY_OPF_PTR32 ? 4 : 8;

	if (!p || op->src_off > sz || width > sz - op->src_off)
		return false;
	*addr = load(p + op->src_off, width, false);
	return true;
}

static size_t stride_of(const struct espy_op *src)
{
	if (src->kind == ESPY_OP_PTRVEC)
		return src->elem == 4 ? 4 : 8;
	return src->elem;
}

/*
 * Runs all pointers inside the items of another operation: over the entry items if there are any, with the exit items
 * beside them for the lengths. Both stand in order of index.
 */
static void run_from_op(struct runner *r, unsigned k, unsigned phase, uint64_t spread)
{
	const struct espy_op *op = &r->run->ops[k];
	unsigned s = op->src & ~ESPY_OP_SRC_OP;
	bool each = op->flags & (ESPY_OPF_EACH | ESPY_OPF_MSG_EACH);
	const struct espy_item *en, *ex, *it;
	struct region en_in, ex_in;
	unsigned index = 0;
	size_t stride;

	if (s >= k)
		return;
	stride = stride_of(&r->run->ops[s]);
	if (!stride)
		return;
	en = enter_item(r, s, &en_in);
	ex = exit_item(r, s, &ex_in);
	while ((it = en ? en : ex)) {
		const struct espy_item *beside = en && ex && ex->index == en->index ? ex : NULL;
		size_t off;

		for (off = 0;; off += stride) {
			struct place pl = { 0 };
			uint64_t addr;

			if (en) {
				pl.enter = off < en->len ? espy_item__bytes(en) + off : NULL;
				pl.enter_sz = off < en->len ? en->len - off : 0;
			}
			if (beside || !en) {
				const struct espy_item *x = en ? beside : ex;

				pl.exit = off < x->len ? espy_item__bytes(x) + off : NULL;
				pl.exit_sz = off < x->len ? x->len - off : 0;
			}
			if (each && it->len - off < stride)
				break;
			if (pointer_at(pl.enter, pl.enter_sz, op, &addr) || pointer_at(pl.exit, pl.exit_sz, op, &addr))
				run_pointer(r, k, addr, &pl, phase, index, &spread);
			else if (!each)
				put_not_run(r, k, phase, 0);
			if (!each || ++index > MAX_INDEX)
				return;
		}
		if (!en) {
			ex = next_of_op(&ex_in, ex);
			continue;
		}
		en = next_of_op(&en_in, en);
		while (en && ex && ex->index < en->index)
			ex = next_of_op(&ex_in, ex);
		if (!en)
			break;
	}
}

static void run_op(struct runner *r, unsigned k, unsigned phase)
{
	const struct espy_op *op = &r->run->ops[k];
	uint64_t spread = UINT64_MAX;
	struct place none = { 0 };
	uint64_t addr;

	if (r->run->at_exit)
		spread = espy_ret_is_error(r->run->ret) ? 0 : not_negative((uint64_t)r->run->ret, true);
	if (op->src & ESPY_OP_SRC_OP) {
		run_from_op(r, k, phase, spread);
		return;
	}
	if (op->src == ESPY_OP_SRC_SP)
		addr = r->run->sp ? r->run->sp + op->src_off : 0;
	else if (op->src < ESPY_MAX_ARGS)
		addr = r->run->args[op->src];
	else
		return;
	if (op->flags & ESPY_OPF_PTR32)
		addr &= 0xffffffffu;
	run_pointer(r, k, addr, &none, phase, 0, &spread);
}

void espy_plan_run__items(struct espy_rec_out *out, const struct espy_plan_run *run)
{
	bool failed = espy_ret_is_error(run->ret);
	bool gone = run->at_exit && !failed && (run->plan_flags & ESPY_PLAN_NEW_IMAGE);
	struct runner r = { .out = out,
			    .run = run,
			    .enter = { .items = run->enter_items, .size = run->enter_items_sz },
			    .base = out->size };
	unsigned k;

	if (!run->mem || gone)
		return;
	for (k = 0; k < run->op_cnt && k < ESPY_PLAN_MAX_OPS; k++) {
		const struct espy_op *op = &run->ops[k];
		bool outcome = op->when & (failed ? ESPY_OP_ON_ERR : ESPY_OP_ON_OK);

		if (!op->cap)
			continue;
		if (run->at_exit && (op->when & ESPY_OP_EXIT) && outcome)
			run_op(&r, k, ESPY_ITEM_AT_EXIT);
		else if ((op->when & ESPY_OP_ENTER) && (!run->at_exit || !run->enter_items))
			run_op(&r, k, 0);
	}
}

bool espy_call_set__wants(const struct espy_call_set *set, uint32_t nr)
{
	if (!set)
		return true;
	if (nr < ESPY_MAX_SYSCALLS)
		return set->wanted[nr / 64] >> (nr % 64) & 1;
	return set->all_wanted;
}

/* The plan of a call and how many registers it has; NULL: raw. */
static const struct espy_plan *plan_of(const struct espy_call_set *set, const struct espy_call_regs *regs,
				       unsigned *nargs)
{
	const struct espy_image *img = set ? set->image : NULL;
	const struct espy_plan *plan = NULL;
	uint32_t idx;

	*nargs = ESPY_MAX_ARGS;
	if (!img || regs->nr >= img->syscall_cnt)
		return NULL;
	if (img->syscalls[regs->nr].nargs < *nargs)
		*nargs = img->syscalls[regs->nr].nargs;
	if (espy_image__select(img, regs->nr, regs->args, &idx) != ESPY_NONE && idx < img->plan_cnt)
		plan = &img->plans[idx];
	if (regs->nr < ESPY_MAX_SYSCALLS && set->raw[regs->nr / 64] >> (regs->nr % 64) & 1)
		return NULL;
	if (plan && plan->nargs <= ESPY_MAX_ARGS)
		*nargs = plan->nargs;
	return plan;
}

static int put_head(struct espy_rec_out *out, uint8_t type, const struct espy_call_regs *regs, unsigned nargs)
{
	bool has_enter_ns = regs->enter_ns && (type == ESPY_REC_EXIT || regs->enter_ns != regs->time_ns);
	const bool has_cpu = regs->has_cpu && type == ESPY_REC_EXIT;
	const uint16_t parts = (uint16_t)(nargs | (has_enter_ns ? ESPY_RF_ENTER_NS : 0) | (regs->ip ? ESPY_RF_IP : 0) |
					  (has_cpu ? ESPY_RF_CPU_NS : 0));
	const uint32_t size = espy_call__items_off(parts);
	struct espy_rec_call *call = (void *)out->data;
	unsigned char *p = (unsigned char *)(call + 1);

	out->size = 0;
	if (out->max < size)
		return -ENOBUFS;
	*call = (struct espy_rec_call){
		.rec = { .size = size,
			 .abi = regs->abi,
			 .type = type,
			 .flags = (uint16_t)(parts | (regs->no_return ? ESPY_RF_NO_RETURN : 0) | regs->changed),
			 .nr = (uint16_t)(regs->nr < ESPY_NR_UNKNOWN ? regs->nr : ESPY_NR_UNKNOWN),
			 .tid = regs->tid,
			 .tgid = regs->tgid,
			 .time_ns = regs->time_ns },
		.ret = type == ESPY_REC_EXIT ? regs->ret : 0,
	};
	if (has_enter_ns) {
		memcpy(p, &regs->enter_ns, 8);
		p += 8;
	}
	if (regs->ip) {
		memcpy(p, &regs->ip, 8);
		p += 8;
	}
	if (has_cpu) {
		memcpy(p, &regs->cpu_ns, 8);
		p += 8;
	}
	memcpy(p, regs->args, 8 * nargs);
	out->size = size;
	return 0;
}

static void run_plan(struct espy_rec_out *out, const struct espy_call_set *set, const struct espy_plan *plan,
		     const struct espy_call_regs *regs, const struct region *enter, bool at_exit,
		     const struct espy_mem *mem)
{
	struct espy_plan_run run = { .op_cnt = plan->op_cnt,
				     .plan_flags = plan->flags,
				     .sp = regs->sp,
				     .ret = at_exit ? regs->ret : 0,
				     .at_exit = at_exit,
				     .mem = mem };

	if (plan->first_op > set->image->op_cnt || plan->op_cnt > set->image->op_cnt - plan->first_op)
		return;
	run.ops = set->ops + plan->first_op;
	if (enter) {
		run.enter_items = enter->items;
		run.enter_items_sz = enter->size;
	}
	memcpy(run.args, regs->args, sizeof(run.args));
	espy_plan_run__items(out, &run);
}

static void put_size(struct espy_rec_out *out)
{
	((struct espy_rec *)(void *)out->data)->size = out->size;
}

int espy_plan_run__enter(struct espy_rec_out *out, const struct espy_call_set *set, const struct espy_call_regs *regs,
			 const struct espy_mem *mem)
{
	unsigned nargs;
	const struct espy_plan *plan = plan_of(set, regs, &nargs);
	int err = put_head(out, ESPY_REC_ENTER, regs, nargs);

	if (err)
		return err;
	if (plan)
		run_plan(out, set, plan, regs, NULL, false, mem);
	put_size(out);
	return 0;
}

int espy_plan_run__exit(struct espy_rec_out *out, const struct espy_call_set *set, const struct espy_call_regs *regs,
			const struct espy_rec *enter, const struct espy_mem *mem)
{
	unsigned nargs;
	const struct espy_plan *plan = plan_of(set, regs, &nargs);
	struct region in = { 0 };
	int err = put_head(out, ESPY_REC_EXIT, regs, nargs);

	if (err)
		return err;
	in.items = espy_rec__items(enter, &in.size);
	if (in.items) {
		size_t room = out->max - out->size;

		if (in.size >
		    room) /* cannot be where both buffers have one size; then the exit tells less, not wrong */
			in.size = 0;
		memcpy(out->data + out->size, in.items, in.size);
		in.items = (const void *)(out->data + out->size);
		out->size += (uint32_t)in.size;
	}
	if (plan && !regs->no_return)
		run_plan(out, set, plan, regs, in.items ? &in : NULL, true, mem);
	put_size(out);
	return 0;
}
