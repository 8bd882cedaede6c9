/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hot path: the whole of a common call in one switch, read straight into the ring. Rules that the measurements
 * gave: one fixed reservation of about the right size, reads of up to 32 bytes through a small stack frame, anything
 * unusual (a fault, a string that fills its class, an odd caller) is dropped here and left to the general path.
 * Returns 0 when the call is dealt with, 1 when the general path is to take it.
 */
#ifndef ESPY_FAST_BPF_H
#define ESPY_FAST_BPF_H

#include "comm.bpf.h"
#include "known.bpf.h"
#include "trigger.bpf.h"

#define TINY 32u /* bytes read through the stack */
#define FAST_PATH 128u
#define FAST_VEC 4u

/*
 * Bytes that fast_head() writes: for all six arguments, or for the first three of a call that has no more. The size of
 * a reservation must be constant for the verifier, and the configuration is. Small records matter: each line of the
 * cache that a record touches comes from the reader's CPU, and the ring holds more of them.
 */
#define HEAD_OF(args) (32u + (conf.needs.enter_ns ? 8u : 0u) + (conf.needs.ip ? 8u : 0u) + 8u * (args))
#define FEW 3u
#define ALL 6u
#define UP8(n) (((n) + 7) & ~7u)

/*
 * The arguments of the functions below. They load registers and result from the context each time: the compiler would
 * spill variables around each helper call, and the stack frame would grow (see fast_tiny).
 */
struct fast_call {
	u64 *ctx;
	bool raw; /* the context of sys_exit, with the registers in it; else that of the tracepoint of one call */
	const struct pt_regs *one_regs;
	struct task_struct *task;
	const struct espy_fast *fast;
	u64 enter_ns, now;
	bool wrote; /* or tried to */
};

static __always_inline u64 *fast_ctx(const struct fast_call *c)
{
	u64 *ctx = c->ctx;

	asm volatile("" : "+r"(ctx));
	return ctx;
}

static __always_inline const struct pt_regs *fast_regs_of(const struct fast_call *c)
{
	return c->raw ? (const struct pt_regs *)fast_ctx(c)[0] : c->one_regs;
}

static __always_inline s64 fast_ret(const struct fast_call *c)
{
	return fast_ctx(c)[c->raw ? 1 : 2];
}

static __always_inline u64 fast_arg(const struct fast_call *c, u32 i)
{
	return reg_arg(fast_regs_of(c), i);
}

/* The items, which come later, cover the arguments that are not wanted. args: FEW or ALL, see HEAD_OF. */
static __always_inline void fast_head(const struct fast_call *c, u8 *rec, const u32 args)
{
	struct espy_rec_call *call = (struct espy_rec_call *)rec;
	const struct pt_regs *regs;
	u64 *at = (u64 *)(rec + 32);

	/* the helper first: nothing else is alive across it */
	call->rec.time_ns = conf.needs.enter_ns ? c->now : now_if(conf.needs.times);
	regs = fast_regs_of(c);
	*(u32 *)&call->rec.flags = (u32)c->fast->rec_flags | (u32)call_nr(regs) << 16;
	call->rec.tid = c->task->pid;
	call->rec.tgid = c->task->tgid;
	call->ret = fast_ret(c);
	if (conf.needs.enter_ns)
		*at++ = c->enter_ns;
	if (conf.needs.ip)
		*at++ = regs->ip;
	at[0] = reg_arg(regs, 0);
	at[1] = reg_arg(regs, 1);
	at[2] = reg_arg(regs, 2);
	if (args == FEW)
		return;
	at[3] = reg_arg(regs, 3);
	at[4] = reg_arg(regs, 4);
	at[5] = reg_arg(regs, 5);
}

static __always_inline bool has_few(const struct fast_call *c)
{
	return ESPY_REC_NARGS(c->fast->rec_flags) <= FEW;
}

/* The least room for a head in a ring of our own. An item behind it covers the bytes that fast_head() writes beyond. */
static __always_inline u64 head_room(const struct fast_call *c)
{
	return has_few(c) ? HEAD_OF(FEW) : HEAD_OF(ALL);
}

static __always_inline void fast_size(u8 *rec, u32 size)
{
	*(u32 *)rec = ESPY_REC_FIRST_WORD(size, ESPY_ABI_NATIVE, ESPY_REC_EXIT);
}

static __always_inline void fast_item(u8 *at, u32 op, u32 status, u32 len)
{
	*(u64 *)at = op | status << 8 | (u64)len << 32;
}

/* Sets items to the item area of a reserved record. The verifier then knows the head's limit: HEAD_OF(args). */
#define FAST_ITEMS(items, rec, head_size, args)           \
	do {                                              \
		u64 head_off = head_size;                 \
		const u64 head_most = HEAD_OF(args);      \
		CLAMP_TO(head_off, head_most);            \
		items = rec + head_off;                   \
	} while (0)

/*
 * Without branches, so that the verifier sees one state: the value of a length argument, of which only 32 bits may count;
 * and *len cut to `cap`, with the status that says so.
 */
static __always_inline u64 fast_len_arg(const struct fast_call *c)
{
	return fast_arg(c, c->fast->len_arg) & ~0ull >> ((c->fast->flags & ESPY_FAST_ARG32) << 1);
}
_Static_assert(ESPY_FAST_ARG32 << 1 == 32, "bits that do not count");

static __always_inline u32 cut_to(u64 *len, u64 cap)
{
	u64 over;

	CLAMP(*len, 0x7fffffff);
	over = (cap - *len) >> 63;
	asm volatile("" : "+r"(over));
	*len ^= (*len ^ cap) & -over;
	return over * ESPY_ITEM_TRUNCATED;
}

/* Registers alone. */
static __always_inline int fast_regs_in(const struct fast_call *c, const u32 args)
{
	u8 *rec = FAST_RESERVE(HEAD_OF(args), HEAD_OF(args));

	if (!rec)
		return fast_full();
	fast_head(c, rec, args);
	fast_size(rec, c->fast->head);
	out_submit(rec);
	return 0;
}

static __always_inline int fast_regs(const struct fast_call *c)
{
	return has_few(c) ? fast_regs_in(c, FEW) : fast_regs_in(c, ALL);
}

/* Bytes that were read to the stack; room for them: 8 or TINY. */
static __always_inline int fast_tiny_in(const struct fast_call *c, u64 len, u32 status, const u64 *tiny, const u32 args,
					const u32 room)
{
	u8 *rec = FAST_RESERVE(HEAD_OF(args) + 8 + room, HEAD_OF(args) + 8 + room), *at;

	if (!rec)
		return fast_full();
	fast_head(c, rec, args);
	fast_size(rec, c->fast->head + 8 + UP8((u32)len));
	FAST_ITEMS(at, rec, c->fast->head, args);
	fast_item(at, c->fast->op, status, len);
	*(u64 *)(at + 8) = tiny[0];
	if (room > 8) {
		*(u64 *)(at + 16) = tiny[1];
		*(u64 *)(at + 24) = tiny[2];
		*(u64 *)(at + 32) = tiny[3];
	}
	out_submit(rec);
	return 0;
}

/*
 * A buffer of up to 32 bytes. The stack frame of the whole program must stay below 64 bytes: that is why there is
 * one such buffer, and why all is inline.
 */
static __always_inline int fast_tiny(const struct fast_call *c, u64 ptr, u64 len, u32 status, u64 *tiny)
{
	u64 n = len;

	tiny[0] = tiny[1] = tiny[2] = tiny[3] = 0;
	CLAMP(n, TINY);
	if (bpf_probe_read_user(tiny, n, (void *)ptr))
		return 1;
	if (len > 8)
		return has_few(c) ? fast_tiny_in(c, len, status, tiny, FEW, TINY) : fast_tiny_in(c, len, status, tiny, ALL, TINY);
	return has_few(c) ? fast_tiny_in(c, len, status, tiny, FEW, 8) : fast_tiny_in(c, len, status, tiny, ALL, 8);
}

/* A larger one, straight into a record of the class. */
static __always_inline int fast_buf_in(const struct fast_call *c, u64 ptr, u64 len, u32 status, const u32 args, const u32 size)
{
	u8 *rec = FAST_RESERVE(HEAD_OF(args) + 8 + size, head_room(c) + 8 + UP8((u32)len)), *at;
	u64 n = len, last = (len - 1) & ~7ull;

	if (!rec)
		return fast_full();
	fast_head(c, rec, args);
	FAST_ITEMS(at, rec, c->fast->head, args);
	CLAMP(last, size - 8);
	*(u64 *)(at + 8 + last) = 0;
	CLAMP(n, size);
	if (bpf_probe_read_user(at + 8, n, (void *)ptr)) {
		out_discard(rec);
		return 1;
	}
	fast_size(rec, c->fast->head + 8 + UP8((u32)len));
	fast_item(at, c->fast->op, status, len);
	out_submit(rec);
	return 0;
}

static __always_inline int fast_buf(const struct fast_call *c, u64 *tiny)
{
	const struct espy_fast *f = c->fast;
	u64 ptr = fast_arg(c, f->arg), len = f->max_cnt;
	u32 status = f->status;

	if (!ptr)
		return fast_regs(c);
	if (f->flags & ESPY_FAST_ON_OK && fast_ret(c) < 0)
		return fast_regs(c);
	if (f->flags & ESPY_FAST_LEN_RET) {
		u64 ret = fast_ret(c) < 0 ? 0 : fast_ret(c);

		len = ret < len ? ret : len;
	}
	if (f->flags & ESPY_FAST_LEN_ARG) {
		u64 arg = fast_len_arg(c);

		len = arg < len ? arg : len;
	}
	len *= f->elem;
	status |= cut_to(&len, f->cap);
	if (len <= TINY)
		return fast_tiny(c, ptr, len, status, tiny);
	if (len <= 64)
		return fast_buf_in(c, ptr, len, status, ALL, 64);
	if (len <= 144)
		return has_few(c) ? fast_buf_in(c, ptr, len, status, FEW, 144) : fast_buf_in(c, ptr, len, status, ALL, 144);
	if (len <= 256)
		return fast_buf_in(c, ptr, len, status, ALL, 256);
	return 1;
}

/*
 * A path, and with `struct_size` a fixed struct behind it. A path that fills its class may go on: left to the
 * general path.
 */
#define FAST_PATH_CLASS(name, struct_size)                                                   \
	static __always_inline int name(const struct fast_call *c, u64 ptr, u64 ptr2)        \
	{                                                                                    \
		const struct espy_fast *f = c->fast;                                         \
		u64 n, last;                                                                 \
		u32 size = c->fast->head;                                                \
		const u32 most = 8 + FAST_PATH + (struct_size ? 8 + struct_size : 0);        \
		u8 *at, *rec = FAST_RESERVE(HEAD_OF(ALL) + most, head_room(c) + most);        \
		s64 got;                                                                     \
		if (!rec)                                                                    \
			return fast_full();                                                  \
		fast_head(c, rec, ALL);                                                      \
		FAST_ITEMS(at, rec, size, ALL);                                              \
		got = bpf_probe_read_user_str(at + 8, FAST_PATH, (void *)ptr);               \
		if (got <= 0 || got >= FAST_PATH || got > f->cap) {                          \
			out_discard(rec);                          \
			return 1;                                                            \
		}                                                                            \
		last = (u64)got & ~7ull;                                                     \
		CLAMP(last, FAST_PATH - 8);                                                  \
		if (got & 7)                                                                 \
			*(u64 *)(at + 8 + last) &= (1ull << (got & 7) * 8) - 1;              \
		size += 8 + UP8((u32)got);                                                   \
		fast_item(at, f->op, f->status, got);                                        \
		if (struct_size) {                                                           \
			last = UP8((u32)got);                                                \
			CLAMP(last, FAST_PATH);                                              \
			at += 8 + last;                                                      \
			n = f->cap2;                                                         \
			last = (n - 1) & ~7ull;                                              \
			CLAMP(last, (struct_size ? struct_size : 8) - 8);                    \
			*(u64 *)(at + 8 + last) = 0;                                         \
			CLAMP(n, struct_size);                                               \
			if (bpf_probe_read_user(at + 8, n, (void *)ptr2)) {                  \
				out_discard(rec);                  \
				return 1;                                                    \
			}                                                                    \
			fast_item(at, f->op2, f->status2, n);                                \
			size += 8 + UP8((u32)n);                                             \
		}                                                                            \
		fast_size(rec, size);                                                        \
		out_submit_short(rec, size);                                                 \
		return 0;                                                                    \
	}
FAST_PATH_CLASS(fast_path_only, 0)
FAST_PATH_CLASS(fast_path_144, 144)
FAST_PATH_CLASS(fast_path_256, 256)

static __always_inline int fast_path(const struct fast_call *c)
{
	const struct espy_fast *f = c->fast;
	u64 ptr = fast_arg(c, f->arg), ptr2 = 0;

	if (!ptr)
		return 1;
	if (f->shape == ESPY_SHAPE_PATH_BUF && (!(f->flags & ESPY_FAST_ON_OK) || fast_ret(c) >= 0))
		ptr2 = fast_arg(c, f->arg2);
	if (!ptr2)
		return fast_path_only(c, ptr, 0);
	if (f->cap2 <= 144)
		return fast_path_144(c, ptr, ptr2);
	if (f->cap2 <= 256)
		return fast_path_256(c, ptr, ptr2);
	return 1;
}

#define VEC_RECORD (HEAD_OF(ALL) + 8 + FAST_VEC * 16 + FAST_VEC * (8 + TINY) + 40 + 16)

/*
 * Up to four buffers of up to 32 bytes each. The state between elements is kept at the end of the record. Read back
 * from there, it is unknown to the verifier: so the verifier checks one state per element instead of all combinations.
 */
static __always_inline int fast_vec(const struct fast_call *c, u64 *tiny)
{
	const struct espy_fast *f = c->fast;
	u64 ptr = fast_arg(c, f->arg), cnt = fast_len_arg(c), no_spread, n;
	volatile u64 *state;
	u8 *rec, *vec;

	if (!ptr || !cnt || cnt > FAST_VEC || cnt * 16 > f->cap || f->cap2 > TINY)
		return 1;
	if (f->flags & ESPY_FAST_ON_OK && fast_ret(c) < 0)
		return 1;
	rec = FAST_RESERVE(VEC_RECORD, VEC_RECORD);
	if (!rec)
		return fast_full();
	fast_head(c, rec, ALL);
	no_spread = ((f->flags & ESPY_FAST_SPREAD) >> 5) - 1ull;
	state = (u64 *)(rec + VEC_RECORD - 16);
	state[0] = 0;           /* bytes of the elements' items */
	state[1] = fast_ret(c); /* bytes not yet given to an element */
	FAST_ITEMS(vec, rec, c->fast->head, ALL);
	n = cnt * 16;
	fast_item(vec, f->op, f->status, n);
	CLAMP(n, FAST_VEC * 16);
	if (bpf_probe_read_user(vec + 8, n, (void *)ptr))
		goto drop;
#pragma unroll
	for (u32 i = 0; i < FAST_VEC; i++) {
		u64 base, len, left, off;
		u32 status = f->status2;
		u8 *to;

		base = *(u64 *)(vec + 8 + i * 16);
		len = *(u64 *)(vec + 8 + i * 16 + 8);
		if (((struct espy_item *)vec)->len <= i * 16)
			break;
		left = state[1] | no_spread;
		len = len < left ? len : left;
		state[1] = left - len;
		if (!base)
			continue;
		status |= cut_to(&len, f->cap2);
		off = 8 + ((struct espy_item *)vec)->len + state[0];
		CLAMP(off, 8 + FAST_VEC * 16 + FAST_VEC * (8 + TINY));
		to = vec + off;
		fast_item(to, f->op2, status | i << 8, len);
		state[0] += 8 + UP8((u32)len);
		tiny[0] = tiny[1] = tiny[2] = tiny[3] = 0;
		CLAMP(len, TINY);
		if (bpf_probe_read_user(tiny, len, (void *)base))
			goto drop;
		*(u64 *)(to + 8) = tiny[0];
		*(u64 *)(to + 16) = tiny[1];
		*(u64 *)(to + 24) = tiny[2];
		*(u64 *)(to + 32) = tiny[3];
	}
	n = c->fast->head + 8 + ((struct espy_item *)vec)->len + state[0];
	fast_size(rec, n);
	out_submit_short(rec, n);
	return 0;
drop:
	out_discard(rec);
	return 1;
}

/* Tells whether an argument of the bit set is not NULL. Without branches: the verifier would check all combinations. */
static __always_inline bool points_to_more(const struct pt_regs *regs, u64 nulls)
{
	return (reg_arg(regs, 0) & -(nulls & 1)) | (reg_arg(regs, 1) & -(nulls >> 1 & 1)) |
	       (reg_arg(regs, 2) & -(nulls >> 2 & 1)) | (reg_arg(regs, 3) & -(nulls >> 3 & 1)) |
	       (reg_arg(regs, 4) & -(nulls >> 4 & 1)) | (reg_arg(regs, 5) & -(nulls >> 5 & 1));
}

/*
 * At the entry of a call of ESPY_SHAPE_BOTH: its buffer as an item to the task's slot. Returns false if the general path is
 * to take the entry.
 */
static __always_inline bool fast_enter(struct task_struct *task, const struct pt_regs *regs, const struct espy_fast *f)
{
	u64 ptr = reg_arg(regs, f->arg), len = f->max_cnt;
	struct espy_bpf_slot_small *slot;

	if (!ptr)
		return true;
	if (f->flags & ESPY_FAST_LEN_ARG) {
		u64 arg = reg_arg(regs, f->len_arg) & ~0ull >> ((f->flags & ESPY_FAST_ARG32) << 1);

		len = arg < len ? arg : len;
	}
	if (len > ESPY_BPF_SHORT)
		return false;
	len *= f->elem;
	if (len > ESPY_BPF_SHORT || len > f->cap)
		return false;
	slot = bpf_task_storage_get(&espy_slots, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!slot)
		return false;
	slot->cap.valid = ESPY_SLOT_EMPTY;
	*(u64 *)(slot->items + 8) = *(u64 *)(slot->items + 16) = *(u64 *)(slot->items + 24) = *(u64 *)(slot->items + 32) = 0;
	fast_item(slot->items, f->op, 0, len);
	slot->cap.used = 8 + UP8((u32)len);
	CLAMP(len, ESPY_BPF_SHORT);
	if (bpf_probe_read_user(slot->items + 8, len, (void *)ptr))
		return false;
	slot->cap.nr = call_nr(regs);
	slot->cap.abi = ESPY_ABI_NATIVE;
	slot->cap.flags = 0;
	slot->cap.faults = 0;
	slot->cap.valid = ESPY_SLOT_SHORT;
	return true;
}

#define BOTH_RECORD (HEAD_OF(ALL) + 2 * (8 + ESPY_BPF_SHORT))
_Static_assert(ESPY_BPF_SHORT == TINY, "the buffer is read to the same place");

_Static_assert(ESPY_FAST_ON_OK == 1, "a bit to compute with");

/* The item of the entry, and behind it the buffer as it is now, unless the call has failed and leaves it alone. */
static __always_inline int fast_both(const struct fast_call *c, u64 *tiny)
{
	u64 ptr = fast_arg(c, c->fast->arg), len, n, first, failed;
	struct espy_bpf_slot_small *slot;
	u8 *rec, *at;

	if (!ptr)
		return fast_regs(c);
	slot = bpf_task_storage_get(&espy_slots, c->task, NULL, 0);
	if (!slot || slot->cap.valid != ESPY_SLOT_SHORT || slot->cap.nr != (u32)call_nr(fast_regs_of(c)))
		return 1;
	len = n = ((struct espy_item *)slot->items)->len;
	tiny[0] = tiny[1] = tiny[2] = tiny[3] = 0;
	CLAMP(n, TINY);
	if (bpf_probe_read_user(tiny, n, (void *)ptr))
		return 1;
	rec = FAST_RESERVE(BOTH_RECORD, BOTH_RECORD);
	if (!rec)
		return fast_full(); /* the general path needs the slot */
	slot->cap.valid = ESPY_SLOT_EMPTY;
	fast_head(c, rec, ALL);
	FAST_ITEMS(at, rec, c->fast->head, ALL);
	*(u64 *)at = *(u64 *)slot->items;
	*(u64 *)(at + 8) = *(u64 *)(slot->items + 8);
	*(u64 *)(at + 16) = *(u64 *)(slot->items + 16);
	*(u64 *)(at + 24) = *(u64 *)(slot->items + 24);
	*(u64 *)(at + 32) = *(u64 *)(slot->items + 32);
	first = 8 + UP8((u32)len);
	n = first;
	CLAMP(n, 8 + TINY);
	at += n;
	fast_item(at, c->fast->op, ESPY_ITEM_AT_EXIT, len);
	*(u64 *)(at + 8) = tiny[0];
	*(u64 *)(at + 16) = tiny[1];
	*(u64 *)(at + 24) = tiny[2];
	*(u64 *)(at + 32) = tiny[3];
	/* Without a branch: the second item does not count after a failure that leaves the buffer alone. */
	failed = (u64)fast_ret(c) >> 63 & c->fast->flags & ESPY_FAST_ON_OK;
	asm volatile("" : "+r"(failed));
	n = c->fast->head + first + (first & (failed - 1));
	fast_size(rec, n);
	out_submit_short(rec, n);
	return 0;
}

static __always_inline int fast_exit(struct fast_call *c)
{
	u64 tiny[TINY / 8], nr = call_nr(fast_regs_of(c));
	int left = 1;

	if (IS_COMPAT(c->task))
		return 1;
	nr &= ESPY_BPF_NRS - 1;
	if (nr != call_nr(fast_regs_of(c)))
		return 1;
	c->fast = &shared.fast[nr];
	if (c->fast->shape == ESPY_SHAPE_SKIP)
		return 0;
	/* A task that is about to die never sees the result. */
	if (shared.attention || c->task->pending.signal.sig[0] & 1ul << (SIG_KILL - 1))
		return 1;
	if (conf.gate_cnt && c->fast->gate && !passes_early(c->fast->gate, fast_regs_of(c), fast_ret(c)))
		return 0;
	if (conf.needs.enter_ns) {
		u32 pid = c->task->pid;
		struct espy_bpf_enter *enter = bpf_map_lookup_elem(&espy_enters, &pid);

		if (!enter || !enter->ns)
			return 1;
		c->enter_ns = enter->ns;
		c->now = now_if(conf.needs.times);
	}
	if (nameless(c->task) || (c->fast->nulls && points_to_more(fast_regs_of(c), c->fast->nulls)))
		return 1;
	if (c->fast->flags & ESPY_FAST_MAKES_FD && fast_ret(c) >= 0)
		return 1;
	if (c->fast->fd1 != ESPY_FAST_NO_FD && !known_fd(c->task, fast_arg(c, c->fast->fd1)))
		return 1;
	if (c->fast->fd2 != ESPY_FAST_NO_FD && !known_fd(c->task, fast_arg(c, c->fast->fd2)))
		return 1;
	switch (c->fast->shape) {
	case ESPY_SHAPE_REGS:
		left = fast_regs(c);
		break;
	case ESPY_SHAPE_BUF:
		left = fast_buf(c, tiny);
		break;
	case ESPY_SHAPE_PATH:
	case ESPY_SHAPE_PATH_BUF:
		left = fast_path(c);
		break;
	case ESPY_SHAPE_VEC:
		left = fast_vec(c, tiny);
		break;
	case ESPY_SHAPE_BOTH:
		left = fast_both(c, tiny);
		break;
	}
	if (!left)
		wake_reader();
	c->wrote = true;
	return left;
}

#endif
