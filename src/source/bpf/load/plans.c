/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the tables of the programs from call sets: the plans of all ABIs in one set of tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "record/call_record.h"
#include "source/bpf/bpf_source.h"

/* Up to so many wanted calls, each may be attached by itself: the calls that are not wanted then cost less. */
#define NARROW_MAX 24u
#define RAW_PLAN 0u /* first in the table: six registers, no memory */

static bool test_bit(const uint64_t *bits, uint32_t nr)
{
	return bits[nr / 64] >> (nr % 64) & 1;
}

/* Returns the argument that points to two descriptors that the call has made, or -1. */
static int fd_pair(const struct espy_image *img, const struct espy_plan *plan)
{
	for (uint32_t i = plan->first_op; i < (uint32_t)plan->first_op + plan->op_cnt; i++) {
		const struct espy_op *op = &img->ops[i];

		if (op->holds & ESPY_HOLDS_FDS && op->src < ESPY_MAX_ARGS && op->when & ESPY_OP_EXIT &&
		    op->b_kind == ESPY_LEN_CONST && op->b_ref == 2)
			return op->src;
	}
	return -1;
}

/* Returns the argument with the file name, of a call that replaces the image. */
static uint8_t path_arg(const struct espy_op *ops, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (ops[i].kind == ESPY_OP_CSTR && ops[i].src < ESPY_MAX_ARGS)
			return (uint8_t)ops[i].src;
	return 0;
}

/* Adds descriptors that only a program of their own finds. details: tell more of sockets. */
static bool add_fds_of_effect(struct espy_bpf_call *call, const struct espy_plan *plan, uint32_t abi, bool details)
{
	call->fds_arg = ESPY_EFFECT_A(plan->effect_args);
	switch (plan->effect) {
	case ESPY_EFFECT_RECEIVES_FDS:
		call->fds = ESPY_FDS_RIGHTS;
		return abi == ESPY_ABI_NATIVE; /* the program reads the structs of that ABI */
	case ESPY_EFFECT_MAKES_PIDFD:
		call->fds = ESPY_FDS_CLONE;
		call->fds_arg = plan->effect_args;
		return true;
	case ESPY_EFFECT_MAKES_PIDFD_BY:
		call->fds = ESPY_FDS_CLONE3;
		return true;
	case ESPY_EFFECT_CHANGES_SOCKET:
		call->fds = ESPY_FDS_SOCKET;
		return details;
	case ESPY_EFFECT_CHANGES_CWD:
		call->fds = ESPY_FDS_CWD;
		return true;
	default:
		return false;
	}
}

/* Which descriptors a call makes that are to be named, whether the call itself is wanted or not. */
static void add_names(struct espy_bpf_call *call, const struct espy_image *img, const struct espy_plan *plan,
		      bool details)
{
	const int pair = fd_pair(img, plan);

	if (add_fds_of_effect(call, plan, img->abi, details)) {
		call->flags |= ESPY_CALL_FDS;
	} else if (plan->flags & ESPY_PLAN_RET_FD) {
		call->flags |= ESPY_CALL_RET_FD;
	} else if (pair >= 0) {
		call->flags |= ESPY_CALL_FDS;
		call->fds = ESPY_FDS_PAIR;
		call->fds_arg = (uint8_t)pair;
	}
}

static void add_variants(struct espy_bpf_call *call, const struct espy_call_plan *cp, uint32_t base)
{
	call->first_variant = base + cp->first_variant;
	call->variant_cnt = cp->variant_cnt;
	call->key_arg0 = cp->key_arg0;
	call->key_arg1 = cp->key_arg1;
	call->key_mask0 = cp->key_mask0;
}

/* Lets variants of size 0 stand for all sizes of some ioctl commands. */
static void add_family(struct espy_bpf_call *call, const struct espy_call_plan *cp)
{
	if (!cp->inner || !cp->variant_cnt)
		return;
	call->flags |= ESPY_CALL_FAMILY;
	call->key_mask0 = cp->inner;
}

static uint32_t flags_of_variants(const struct bpf_tables *t, const struct espy_bpf_call *call)
{
	uint32_t flags = 0;

	for (uint32_t v = 0; v < call->variant_cnt; v++)
		flags |= t->variants[call->first_variant + v].flags;
	return flags;
}

/* Returns how many operations the plan has here: none if all of them are for -v, which nobody has asked for. */
static uint8_t live_ops(const struct espy_call_set *set, const struct espy_plan *plan)
{
	for (uint32_t i = plan->first_op; i < (uint32_t)plan->first_op + plan->op_cnt; i++)
		if (set->ops[i].cap || set->ops[i].limit != ESPY_LIMIT_VERBOSE)
			return plan->op_cnt;
	return 0;
}

static uint16_t plan_flags(const struct espy_call_set *set, const struct espy_plan *plan)
{
	const bool enter = plan->flags & ESPY_PLAN_NEEDS_ENTER && (live_ops(set, plan) || !plan->op_cnt);

	return (enter ? ESPY_CALL_ENTER : 0) |
	       (plan->flags & ESPY_PLAN_NEW_IMAGE ? ESPY_CALL_NEW_IMAGE | ESPY_CALL_ENTER : 0) |
	       (plan->flags & ESPY_PLAN_NO_RETURN ? ESPY_CALL_NO_RETURN : 0) |
	       (plan->flags & ESPY_PLAN_TWICE ? ESPY_CALL_TWICE : 0);
}

static uint32_t variant_flags(const struct espy_call_set *set, const struct espy_plan *plan, bool names)
{
	return (plan_flags(set, plan) & ESPY_CALL_ENTER) |
	       (names && plan->flags & ESPY_PLAN_RET_FD ? ESPY_CALL_RET_FD : 0);
}

/*
 * Returns the arguments whose descriptors the program must know: all, if names are shown; else the socket whose
 * messages the decoder reads by its protocol.
 */
static uint8_t known_args(const struct espy_plan *plan, bool names)
{
	if (names)
		return plan->fd_args;
	return plan->flags & ESPY_PLAN_NETLINK ? 1 : 0;
}

/* Descriptors that the call closes. Returns the arguments that are their numbers; 0: none, or more than one. */
static uint8_t closed_args(const struct espy_plan *plan)
{
	return plan->effect == ESPY_EFFECT_CLOSES || plan->effect == ESPY_EFFECT_REPLACES
		       ? (uint8_t)(1u << ESPY_EFFECT_A(plan->effect_args))
		       : 0;
}

/* -P: adds the parts of a call that tell whether it touches a path. */
static void add_path_test(struct espy_bpf_call *call, const struct espy_image *img, const struct espy_call_plan *cp)
{
	const struct espy_plan *base = &img->plans[cp->plan];

	for (uint32_t v = 0; v <= cp->variant_cnt; v++) {
		const struct espy_plan *plan = v ? &img->plans[img->variants[cp->first_variant + v - 1].plan] : base;

		call->fd_args |= plan->fd_args;
		for (uint32_t i = plan->first_op; i < (uint32_t)plan->first_op + plan->op_cnt; i++) {
			const struct espy_op *op = &img->ops[i];

			if (op->holds & ESPY_HOLDS_PATH && op->src < ESPY_MAX_ARGS)
				call->path_args |= (uint8_t)(1u << op->src);
			else if (op->holds & (ESPY_HOLDS_PATH | ESPY_HOLDS_SOME_FDS))
				call->flags |= ESPY_CALL_TOUCHES;
		}
	}
	call->closes = closed_args(base);
	if (base->effect == ESPY_EFFECT_CLOSES_RANGE)
		call->flags |= ESPY_CALL_TOUCHES;
}

/* Sets the first two of them, for the hot path. Returns false if there are more. */
static bool set_fds(struct espy_fast *f, unsigned args)
{
	unsigned cnt = 0;

	for (unsigned i = 0; i < ESPY_MAX_ARGS; i++) {
		if (!(args >> i & 1))
			continue;
		if (cnt == 2)
			return false;
		*(cnt++ ? &f->fd2 : &f->fd1) = (uint8_t)i;
	}
	return true;
}

/* Adds the plans of one ABI, with their operations and variants, behind those already in the tables. */
static void add_plans(struct bpf_tables *t, const struct espy_call_set *set, bool names)
{
	const struct espy_image *img = set->image;
	const uint32_t op_base = (uint32_t)t->op_cnt, plan_base = (uint32_t)t->plan_cnt,
		       var_base = (uint32_t)t->variant_cnt;

	for (uint32_t i = 0; i < img->op_cnt; i++)
		t->ops[op_base + i].op = set->ops[i];
	for (uint32_t i = 0; i < img->plan_cnt; i++)
		t->plans[plan_base + i] = (struct espy_bpf_plan){
			.first_op = op_base + img->plans[i].first_op,
			.op_cnt = live_ops(set, &img->plans[i]),
			.nargs = img->plans[i].nargs,
			.flags = img->plans[i].flags,
		};
	for (uint32_t i = 0; i < img->variant_cnt; i++)
		t->variants[var_base + i] = (struct espy_bpf_variant){
			.key = img->variants[i].key,
			.plan = plan_base + img->variants[i].plan,
			.flags = variant_flags(set, &img->plans[img->variants[i].plan], names),
		};
	t->op_cnt += img->op_cnt;
	t->plan_cnt += img->plan_cnt;
	t->variant_cnt += img->variant_cnt;
}

/* Adds the calls of one ABI, and its plans. */
static void add_set(struct bpf_tables *t, const struct bpf_source *s, uint32_t abi)
{
	const struct espy_call_set *set = &s->sets[abi];
	const struct espy_image *img = set->image;
	const uint32_t plan_base = (uint32_t)t->plan_cnt, var_base = (uint32_t)t->variant_cnt;
	const bool names = s->opts.needs.fds && !s->opts.count_only;

	add_plans(t, set, names);
	for (uint32_t nr = 0; nr < ESPY_BPF_NRS; nr++) {
		struct espy_bpf_call *call = &t->calls[abi * ESPY_BPF_NRS + nr];
		bool raw = test_bit(set->raw, nr), wanted = test_bit(set->wanted, nr);
		const struct espy_call_plan *cp;
		const struct espy_plan *plan;

		*call = (struct espy_bpf_call){ .plan = RAW_PLAN };
		if (nr >= img->syscall_cnt || !*espy_image__str(img, img->syscalls[nr].name)) {
			if (wanted || set->all_wanted)
				call->flags = ESPY_CALL_WANTED | ESPY_CALL_RAW;
			if (call->flags && abi == ESPY_ABI_NATIVE)
				t->fast[nr] = (struct espy_fast){ .shape = ESPY_SHAPE_REGS };
			continue;
		}
		cp = &img->call_plans[nr];
		plan = &img->plans[cp->plan];
		if (plan->effect == ESPY_EFFECT_RESTORES)
			t->sigreturn_nr[abi] = nr;
		if (names)
			add_names(call, img, plan, s->opts.needs.details);
		if (!wanted) {
			if (names)
				add_variants(call, cp, var_base);
			call->flags |= flags_of_variants(t, call) & ESPY_CALL_RET_FD;
			if (call->flags && abi == ESPY_ABI_NATIVE)
				t->fast[nr] = (struct espy_fast){ .shape = ESPY_SHAPE_GENERAL };
			continue;
		}
		call->plan = plan_base + cp->plan;
		call->flags |= ESPY_CALL_WANTED | (raw ? ESPY_CALL_RAW : 0) | plan_flags(set, plan) |
			       (img->syscalls[nr].flags & ESPY_SYSCALL_ADDR3 ? ESPY_CALL_ADDR3 : 0);
		if (!raw || names)
			call->fd_args = s->opts.count_only ? 0 : known_args(plan, names);
		if (bpf_tests_paths(s))
			add_path_test(call, img, cp);
		t->tell_fds |= call->fd_args != 0;
		if (call->flags & ESPY_CALL_NEW_IMAGE)
			call->path_arg = path_arg(set->ops + plan->first_op, plan->op_cnt);
		/* At its end the instruction pointer is that of before the signal. */
		if (t->sigreturn_nr[abi] == nr && plan->op_cnt && !raw)
			call->flags |= s->opts.needs.ip ? ESPY_CALL_ENTER : ESPY_CALL_SIGRETURN;
		if (!raw || plan->flags & ESPY_PLAN_NEW_IMAGE) {
			add_variants(call, cp, var_base);
			call->flags |= flags_of_variants(t, call) & ESPY_CALL_ENTER;
			add_family(call, cp);
		}
		if (abi != ESPY_ABI_NATIVE)
			continue;
		if (call->variant_cnt || bpf_tests_paths(s) ||
		    call->flags & (ESPY_CALL_FDS | ESPY_CALL_SIGRETURN))
			t->fast[nr] = (struct espy_fast){ .shape = ESPY_SHAPE_GENERAL };
		else
			bpf_tables__choose_shape(&t->fast[nr], plan, set->ops + plan->first_op, raw);
		if (call->flags & ESPY_CALL_RET_FD && t->fast[nr].shape != ESPY_SHAPE_GENERAL)
			t->fast[nr].flags |= ESPY_FAST_MAKES_FD;
	}
}

/* Lets a call lead to the inner ones (ESPY_INNER_*), if any of them is of interest. */
static void add_inner(struct bpf_tables *t, const struct espy_image *img, uint32_t nr)
{
	const struct espy_call_plan *cp = &img->call_plans[nr];
	struct espy_bpf_call *outer = &t->calls[img->abi * ESPY_BPF_NRS + nr];
	uint16_t flags = 0;

	for (uint32_t i = 0; i < ESPY_INNER_KEYS; i++) {
		const uint32_t inner = ESPY_INNER_FIRST(cp->inner) + i;
		struct espy_bpf_call *call = &t->calls[img->abi * ESPY_BPF_NRS + inner % ESPY_BPF_NRS];

		if (inner >= img->syscall_cnt || inner >= ESPY_BPF_NRS ||
		    !*espy_image__str(img, img->syscalls[inner].name))
			continue;
		call->words = (uint8_t)img->syscalls[inner].nargs;
		flags |= call->flags | (call->closes ? ESPY_CALL_ENTER : 0);
	}
	outer->first_variant = ESPY_INNER_FIRST(cp->inner);
	outer->variant_cnt = 0;
	outer->key_arg0 = cp->key_arg0;
	outer->key_arg1 = ESPY_INNER_ARGS(cp->inner) ? (uint8_t)(ESPY_INNER_ARGS(cp->inner) - 1) : 0xff;
	outer->key_mask0 = cp->key_mask0;
	if (flags | outer->flags)
		outer->flags |= (uint16_t)(ESPY_CALL_OUTER | (flags & ESPY_CALL_ENTER));
}

/* The parts of a shape that do not depend on its operations. */
static void finish(struct espy_fast *f, const struct espy_bpf_call *call, uint8_t nargs,
		   const struct espy_source_opts *opts)
{
	f->fd1 = f->fd2 = ESPY_FAST_NO_FD;
	if (!set_fds(f, call->fd_args) || (opts->stops.stack_frames && f->shape != ESPY_SHAPE_SKIP))
		f->shape = ESPY_SHAPE_GENERAL;
	f->rec_flags = (nargs & 7) | (opts->needs.enter_ns ? ESPY_RF_ENTER_NS : 0) | (opts->needs.ip ? ESPY_RF_IP : 0);
	f->head = espy_call__items_off(f->rec_flags);
}

/*
 * Tells whether this kernel takes x32 calls. Few do. Else all numbers with that bit are ENOSYS, and no call that a
 * name can mean.
 */
static bool takes_x32(void)
{
	return syscall(SYS_getpid | (long)ESPY_ABI_TAG) > 0;
}

/*
 * Tells whether the set is so small that single tracepoints are better. They see neither x32 calls nor rt_sigreturn,
 * nor 32-bit calls. But if tasks are watched one by one, single.c knows tasks with 32-bit calls in time.
 */
static bool is_narrow(const struct bpf_tables *t, const struct bpf_source *s, uint32_t mode)
{
	size_t cnt = 0;

	if (s->opts.count_only || s->opts.needs.enter_ns || s->opts.needs.cpu_ns || s->opts.needs.fds ||
	    s->opts.trigger_cnt || s->opts.stops.stack_frames)
		return false;
	for (uint32_t abi = 0; abi < ESPY_BPF_ABIS; abi++)
		if (!s->set[abi] || s->sets[abi].all_wanted)
			return false;
	for (uint32_t i = 0; i < ESPY_BPF_ABIS * ESPY_BPF_NRS; i++) {
		if (!(t->calls[i].flags & ESPY_CALL_WANTED))
			continue;
		if (i / ESPY_BPF_NRS == ESPY_ABI_COMPAT) {
			if (mode != ESPY_BPF_MODE_BITS)
				return false;
		} else if (i / ESPY_BPF_NRS == ESPY_ABI_IO_URING) {
			continue; /* other programs see them */
		} else if (i / ESPY_BPF_NRS == ESPY_ABI_TAGGED) {
			if (takes_x32())
				return false;
		} else if (++cnt > NARROW_MAX || i == t->sigreturn_nr[ESPY_ABI_NATIVE]) {
			return false;
		}
	}
	return cnt > 0;
}

/*
 * Lets the general path see the return of each call that can replace the image, if one is wanted: a successful one of
 * another name returns with the number of execve. Returns whether any of those calls is not wanted itself.
 */
static bool open_exec_exits(struct bpf_tables *t, const struct bpf_source *s)
{
	const struct espy_image *img = s->set[ESPY_ABI_NATIVE] ? s->sets[ESPY_ABI_NATIVE].image : NULL;
	bool other = false;

	for (uint32_t nr = 0; t->any_exec && img && nr < img->syscall_cnt && nr < ESPY_BPF_NRS; nr++) {
		if (!(img->plans[img->call_plans[nr].plan].flags & ESPY_PLAN_NEW_IMAGE) ||
		    t->fast[nr].shape != ESPY_SHAPE_SKIP)
			continue;
		t->fast[nr].shape = ESPY_SHAPE_GENERAL;
		other = true;
	}
	return other;
}

static bool is_none(const struct bpf_tables *t, const struct bpf_source *s)
{
	if ((s->opts.count_only && !s->opts.probes) || s->opts.needs.fds || s->opts.trigger_cnt || s->opts.calls_change || t->any_enter ||
	    t->any_exec)
		return false;
	for (uint32_t abi = 0; abi < ESPY_BPF_ABIS; abi++)
		if (!s->set[abi] || s->sets[abi].all_wanted)
			return false;
	for (uint32_t i = 0; i < ESPY_BPF_ABIS * ESPY_BPF_NRS; i++)
		if (t->calls[i].flags & ESPY_CALL_WANTED)
			return false;
	return true;
}

/* Adds a trigger to a call. The general path captures such a call, shown or not. */
static void add_trigger(struct bpf_tables *t, uint32_t call, uint32_t trigger)
{
	t->calls[call].triggers |= (uint8_t)(1u << trigger);
	if (call < ESPY_BPF_NRS)
		t->fast[call].shape = ESPY_SHAPE_GENERAL;
}

/*
 * Adds the gates of one call. The hot path runs the early gate, unless the registers are other ones by then (execve),
 * or descriptors are to be named whatever becomes of the call.
 */
static void add_gates(struct bpf_tables *t, const struct bpf_source *s, uint32_t call, const struct espy_call_gate *g)
{
	const uint32_t names = s->opts.needs.fds ? ESPY_CALL_RET_FD | ESPY_CALL_FDS : 0;
	struct espy_bpf_call *c = &t->calls[call];

	if (g->early > s->opts.gate_cnt || g->late > s->opts.gate_cnt)
		return;
	c->early = g->early ? (uint16_t)(ESPY_TRIGGER_MAX + g->early - 1) : 0;
	c->late = g->late ? (uint16_t)(ESPY_TRIGGER_MAX + g->late - 1) : 0;
	if (call >= ESPY_BPF_NRS || t->fast[call].shape == ESPY_SHAPE_SKIP)
		return;
	if (c->late)
		t->fast[call].shape = ESPY_SHAPE_GENERAL;
	if (!(c->flags & (ESPY_CALL_ENTER | ESPY_CALL_NEW_IMAGE | ESPY_CALL_SIGRETURN | names)) && !c->triggers)
		t->fast[call].gate = c->early;
	else if (c->early)
		t->fast[call].shape = ESPY_SHAPE_GENERAL;
}

/* Measures how long the records of a plan may be. */
static void measure_plan(struct bpf_tables *t, uint32_t plan)
{
	const struct espy_bpf_plan *p = &t->plans[plan];
	uint64_t ever = ESPY_BPF_HEAD_MAX, data = ESPY_BPF_HEAD_MAX;

	for (uint32_t i = 0; i < p->op_cnt; i++) {
		const struct espy_op *op = &t->ops[p->first_op + i].op;

		ever += op->flags & (ESPY_OPF_EACH | ESPY_OPF_MSG_EACH) ? ESPY_BPF_ITEMS_MAX : op->cap + 16;
		if (op->limit == ESPY_LIMIT_STRING || op->limit == ESPY_LIMIT_DATA)
			data += op->cap + 16;
	}
	ever = ever < ESPY_BPF_ITEMS_MAX + ESPY_BPF_HEAD_MAX ? ever : ESPY_BPF_ITEMS_MAX + ESPY_BPF_HEAD_MAX;
	data = data < ever ? data : ever;
	t->longest_ever = ever > t->longest_ever ? (uint32_t)ever : t->longest_ever;
	t->longest = data > t->longest ? (uint32_t)data : t->longest;
}

static void measure(struct bpf_tables *t)
{
	for (uint32_t i = 0; i < ESPY_BPF_ABIS * ESPY_BPF_NRS; i++) {
		const struct espy_bpf_call *c = &t->calls[i];

		if (!(c->flags & ESPY_CALL_WANTED) || c->flags & ESPY_CALL_RAW)
			continue;
		measure_plan(t, c->plan);
		for (uint32_t v = 0; v < c->variant_cnt; v++)
			measure_plan(t, t->variants[c->first_variant + v].plan);
	}
}

int bpf_tables__make(struct bpf_tables *t, const struct bpf_source *s, uint32_t mode)
{
	size_t plans = 1, ops = 1, variants = 1;

	memset(t, 0, sizeof(*t));
	for (uint32_t abi = 0; abi < ESPY_BPF_ABIS; abi++) {
		if (!s->set[abi])
			continue;
		plans += s->sets[abi].image->plan_cnt;
		ops += s->sets[abi].image->op_cnt;
		variants += s->sets[abi].image->variant_cnt;
	}
	t->calls = calloc(ESPY_BPF_ABIS * ESPY_BPF_NRS, sizeof(*t->calls));
	t->plans = calloc(plans, sizeof(*t->plans));
	t->ops = calloc(ops, sizeof(*t->ops));
	t->variants = calloc(variants, sizeof(*t->variants));
	t->fast = calloc(ESPY_BPF_NRS, sizeof(*t->fast));
	if (!t->calls || !t->plans || !t->ops || !t->variants || !t->fast) {
		bpf_tables__free(t);
		return -ENOMEM;
	}
	/* Where tasks are not watched one by one, their names are told on the same way. */
	t->tell_fds = !s->opts.count_only &&
		      (s->opts.needs.fds || (s->opts.needs.comms && mode != ESPY_BPF_MODE_BITS));
	t->plans[RAW_PLAN].nargs = ESPY_MAX_ARGS;
	t->plan_cnt = 1;
	for (uint32_t abi = 0; abi < ESPY_BPF_ABIS; abi++) {
		t->sigreturn_nr[abi] = ESPY_NR_UNKNOWN;
		if (abi == ESPY_ABI_IO_URING && !s->opts.io_uring)
			continue;
		if (s->set[abi]) {
			add_set(t, s, abi);
			continue;
		}
		for (uint32_t nr = 0; nr < ESPY_BPF_NRS; nr++) {
			t->calls[abi * ESPY_BPF_NRS + nr].flags = ESPY_CALL_WANTED | ESPY_CALL_RAW;
			if (abi == ESPY_ABI_NATIVE)
				t->fast[nr] = (struct espy_fast){ .shape = ESPY_SHAPE_REGS };
		}
	}
	for (uint32_t abi = 0; abi < ESPY_BPF_ABIS; abi++)
		for (uint32_t nr = 0; s->set[abi] && nr < s->sets[abi].image->syscall_cnt && nr < ESPY_BPF_NRS; nr++)
			if (ESPY_LEADS_ON(&s->sets[abi].image->call_plans[nr]))
				add_inner(t, s->sets[abi].image, nr);
	for (uint32_t i = 0; i < s->opts.trigger_cnt; i++)
		add_trigger(t, s->opts.triggers[i].abi * ESPY_BPF_NRS + s->opts.triggers[i].nr, i);
	for (uint32_t i = 0; i < ESPY_BPF_ABIS * ESPY_BPF_NRS; i++) {
		const uint32_t abi = i / ESPY_BPF_NRS, nr = i % ESPY_BPF_NRS;

		if (s->set[abi] && s->sets[abi].gates)
			add_gates(t, s, i, &s->sets[abi].gates[nr]);
	}
	for (uint32_t i = 0; i < ESPY_ABI_IO_URING * ESPY_BPF_NRS; i++) {
		if (t->calls[i].flags & ESPY_CALL_NEW_IMAGE)
			t->any_exec = true;
		else if (t->calls[i].flags & ESPY_CALL_ENTER || t->calls[i].closes)
			t->any_enter = true;
	}
	for (uint32_t nr = 0; nr < ESPY_BPF_NRS; nr++)
		t->compat = t->compat || t->calls[ESPY_ABI_COMPAT * ESPY_BPF_NRS + nr].flags & ESPY_CALL_WANTED;
	for (uint32_t nr = 0; nr < ESPY_BPF_NRS; nr++)
		finish(&t->fast[nr], &t->calls[nr], t->plans[t->calls[nr].plan].nargs, &s->opts);
	const bool other_exit = open_exec_exits(t, s);

	t->narrow = !other_exit && is_narrow(t, s, mode);
	t->none = is_none(t, s);
	measure(t);
	t->stack = s->opts.stops.stack_frames ? sizeof(struct espy_bpf_stack) + ESPY_BPF_STACK_BYTES : 0;
	if (!t->op_cnt)
		t->op_cnt = 1;
	if (!t->variant_cnt)
		t->variant_cnt = 1;
	return 0;
}

void bpf_tables__free(struct bpf_tables *t)
{
	free(t->calls);
	free(t->plans);
	free(t->ops);
	free(t->variants);
	free(t->fast);
	memset(t, 0, sizeof(*t));
}
