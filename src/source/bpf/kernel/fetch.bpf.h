/* SPDX-License-Identifier: GPL-2.0-only */
/* What a probe fetches at a hit: values of registers, of memory behind them, and fields of a tracepoint. */
#ifndef ESPY_FETCH_BPF_H
#define ESPY_FETCH_BPF_H

#include "maps.bpf.h"
#include "record/probe_plan.h"

/* The memory that a probe reads. */
enum memory {
	MEMORY_OF_USER,
	MEMORY_OF_RECORD, /* the kernel's: texts and bytes of a tracepoint */
	/* Of a function of the kernel: pointers lead to both, and the highest bit tells them apart. */
	MEMORY_BY_ADDRESS,
};

static __always_inline bool is_of_kernel(u64 memory, u64 at)
{
	return memory == MEMORY_OF_RECORD || (memory == MEMORY_BY_ADDRESS && (s64)at < 0);
}

/* Loads from memory of the kernel too, if the probe may. */
static __always_inline long read_memory(u64 memory, void *to, u32 size, u64 at)
{
	return is_of_kernel(memory, at) ? bpf_probe_read_kernel(to, size, (void *)at)
					: bpf_probe_read_user(to, size, (void *)at);
}

/*
 * One hit. The verifier checks a function that is not static once, and takes any value as its result: so the number of
 * ways through a plan does not multiply.
 */
struct hit {
	u64 values[ESPY_MARK_MAX_ARGS]; /* of texts: their beginnings */
	u64 saved[ESPY_PROBE_SAVED];
	u64 begin_ns, now_ns;
	u32 bad; /* bit per value that could not be read */
	u32 def;
	u64 begun;  /* begin_ns and saved are known */
	u64 memory; /* enum memory */
};

/* The loads stay apart: the verifier knows registers by constant offsets only, and the compiler would make one load of
 * all. */
#define LOAD(reg)                                                                                                      \
	({                                                                                                             \
		u64 v = regs->reg;                                                                                     \
		asm volatile("# " #reg : "+r"(v));                                                                     \
		v;                                                                                                     \
	})

/* Takes the values that begin in registers. Returns how many values there are in all. */
static __always_inline u32 values_of(const u64 *all, const struct espy_probe_plan *plan, struct hit *h)
{
	for (u32 i = 0; i < ESPY_MARK_MAX_ARGS && i < plan->fetch_cnt; i++) {
		u64 reg = plan->fetches[i].reg;

		CLAMP(reg, ESPY_REG_CNT - 1);
		if (plan->fetches[i].src == ESPY_PROBE_REG)
			h->values[i] = all[reg];
	}
	return plan->fetch_cnt;
}

/* All registers are copied first: the verifier would follow a way for each of them for each value. */
static __noinline u32 fetch_registers(struct pt_regs *regs, const struct espy_probe_plan *plan, struct hit *h)
{
#define REG(name, member) [ESPY_REG_##name] = LOAD(member),
	const u64 all[ESPY_REG_CNT] = { ESPY_REGISTERS(REG) };
#undef REG

	return values_of(all, plan, h);
}

/* Loads `size` bytes of memory as a number. Returns false if it cannot read them. */
static __always_inline bool load_number(u64 memory, u64 at, u32 size, u64 *v)
{
	*v = 0;
	switch (size) {
	case 1:
		return !read_memory(memory, v, 1, at);
	case 2:
		return !read_memory(memory, v, 2, at);
	case 4:
		return !read_memory(memory, v, 4, at);
	default:
		return !read_memory(memory, v, 8, at);
	}
}

/* Returns the value of as many bytes as the fetch has, with its sign. */
static __always_inline u64 sized(const struct espy_probe_fetch *f, u64 v)
{
	u32 shift = (64 - 8 * f->size) & 63;

	return f->is_signed ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

/* Follows the way of a value: to it, or to the beginning of a text. Returns 0 if it could not read memory. */
__noinline int follow(const struct espy_probe_fetch *f, u64 *v, u64 memory)
{
	u32 cnt;
	bool number;

	if (!f || !v)
		return 0;
	cnt = f->way_cnt;
	number = f->what == ESPY_PROBE_NUMBER;
	for (u32 i = 0; i < ESPY_PROBE_WAY_MAX; i++) {
		if (i >= cnt)
			break;
		*v += (s64)f->way[i];
		if (i == cnt - 1 && !number)
			break;
		if (!load_number(memory, *v, i == cnt - 1 ? f->size : 8, v))
			return 0;
	}
	if (number)
		*v = sized(f, *v);
	return 1;
}

/* Fetches a value. One that begins in a register begins with what is there already. */
__noinline int fetch_value(const struct espy_probe_fetch *f, struct hit *h, u32 i)
{
	u32 at = i & (ESPY_MARK_MAX_ARGS - 1), reg;

	if (!f || !h)
		return 0;
	reg = f->reg;
	if (f->src == ESPY_PROBE_ENTRY_ARG) {
		if (!h->begun || reg >= ESPY_PROBE_SAVED) {
			h->bad |= 1u << at;
			return 0;
		}
		h->values[at] = h->saved[reg];
	} else if (f->src != ESPY_PROBE_REG) {
		h->values[at] = f->value;
	}
	if (!follow(f, &h->values[at], h->memory))
		h->bad |= 1u << at;
	return 0;
}

/* Goes on from the values that begin in registers. cnt: how many values there are in all. */
static __always_inline void fetch_rest(const struct espy_probe_plan *plan, struct hit *h, u32 cnt)
{
	for (u32 i = 0; i < ESPY_MARK_MAX_ARGS && i < cnt; i++)
		fetch_value(&plan->fetches[i], h, i);
}

static __always_inline void fetch_all(struct pt_regs *regs, const struct espy_probe_plan *plan, struct hit *h)
{
	fetch_rest(plan, h, fetch_registers(regs, plan, h));
}

/*
 * The same of a tracepoint, whose record begins at `begin`. That is a number: the verifier allows no offset behind a
 * context that it does not know.
 */
__noinline int fetch_field(const struct espy_probe_fetch *f, u64 begin, u64 *v)
{
	u32 elsewhere;
	u64 at;

	if (!f || !v)
		return 0;
	at = begin + (u32)f->way[0];
	*v = f->value;
	if (f->src == ESPY_PROBE_ELSEWHERE) {
		*v = 0;
		if (bpf_probe_read_kernel(&elsewhere, sizeof(elsewhere), (void *)at))
			return 0;
		*v = begin + (elsewhere & 0xffff);
	} else if (f->src == ESPY_PROBE_FIELD) {
		*v = at;
		if (f->what != ESPY_PROBE_NUMBER)
			return 1;
		*v = 0;
		if (bpf_probe_read_kernel(v, f->size == 1 || f->size == 2 || f->size == 4 ? f->size : 8, (void *)at))
			return 0;
		*v = sized(f, *v);
	}
	return 1;
}

static __noinline int fetch_fields(u64 begin, const struct espy_probe_plan *plan, struct hit *h)
{
	for (u32 i = 0; i < ESPY_MARK_MAX_ARGS; i++) {
		if (i >= plan->fetch_cnt)
			break;
		if (!fetch_field(&plan->fetches[i], begin, &h->values[i]))
			h->bad |= 1u << i;
	}
	return 0;
}

/* ---- memory where the hit's texts lie */

static __always_inline long read_bytes(const struct hit *h, void *to, u32 size, u64 at)
{
	return read_memory(h->memory, to, size, at);
}

static __always_inline long read_text(const struct hit *h, void *to, u32 size, u64 at)
{
	return is_of_kernel(h->memory, at) ? bpf_probe_read_kernel_str(to, size, (void *)at)
					   : bpf_probe_read_user_str(to, size, (void *)at);
}

#endif
