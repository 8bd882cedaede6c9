/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the programs count in place of sending records (--count-by, --hist). A program may be preempted, and another
 * task then counts on the same CPU: so each count is raised by one instruction that nothing divides.
 */
#ifndef ESPY_TALLIED_BPF_H
#define ESPY_TALLIED_BPF_H

#include "maps.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} espy_tally_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct espy_bpf_tally_key);
	__type(value, u64);
} espy_tally_values SEC(".maps");

static __always_inline u32 bits_of(u64 x)
{
	u32 n = 0;

	for (u32 step = 32; step; step >>= 1)
		if (x >> step) {
			x >>= step;
			n += step;
		}
	return x ? n + 1 : 0;
}

static __always_inline void tally_slot(u32 tally, u32 slot)
{
	u32 id = tally * ESPY_TALLIED_SLOTS + slot;
	u64 *count = bpf_map_lookup_elem(&espy_tally_slots, &id);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void tally_value(u32 tally, u32 call, u64 value)
{
	const struct espy_bpf_tally_key key = { .tally = tally, .call = call, .value = value };
	u64 *count = bpf_map_lookup_elem(&espy_tally_values, &key), one = 1;

	if (count) {
		__sync_fetch_and_add(count, 1);
		return;
	}
	if (!bpf_map_update_elem(&espy_tally_values, &key, &one, BPF_NOEXIST))
		return;
	count = bpf_map_lookup_elem(&espy_tally_values, &key); /* another CPU has made it */
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		tally_slot(tally, ESPY_TALLIED_OTHER);
}

/* Counts a number. of: the call, or the place of a probe. */
static __always_inline void tally_number(u32 tally, u32 of, u64 value, bool is_signed)
{
	if (!(conf.tally_hists >> tally & 1))
		tally_value(tally, of, value);
	else if (is_signed && (s64)value < 0)
		tally_slot(tally, ESPY_TALLIED_BELOW + bits_of(-value));
	else
		tally_slot(tally, ESPY_TALLIED_AT + bits_of(value));
}

#endif
