/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tallies: the tables by which the programs count in place of sending calls, and the counts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "source/bpf/bpf_source.h"
#include "source/probes.h"

#define VALUES_MAX 65536u /* of all --count-by together */

_Static_assert(ESPY_TALLY_CALLS == ESPY_BPF_TALLY_CALLS && ESPY_MAX_SYSCALLS == ESPY_BPF_NRS &&
		       ESPY_ABI_CNT == ESPY_BPF_ABIS,
	       "both sides count the same calls");

uint32_t bpf_tallies__hists(const struct bpf_source *s)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < s->opts.tally_cnt; i++)
		bits |= (uint32_t)s->opts.tallies[i].is_hist << i;
	return bits;
}

int bpf_tallies__set_sizes(const struct bpf_source *s)
{
	const size_t cnt = s->opts.tally_cnt;
	const bool values = bpf_tallies__hists(s) != (1u << cnt) - 1;
	int err;

	if (!cnt)
		return 0;
	err = bpf_tallies__are_of_hits(s) ? 0 : bpf_maps__set_entries(s, "espy_tally_specs", cnt * ESPY_ABI_CNT * ESPY_TALLY_CALLS);
	err = err ? err : bpf_maps__set_entries(s, "espy_tally_slots", cnt * ESPY_TALLIED_SLOTS);
	return err || !values ? err : bpf_maps__set_entries(s, "espy_tally_values", VALUES_MAX);
}

int bpf_tallies__fill(struct bpf_source *s)
{
	const size_t calls = (size_t)ESPY_ABI_CNT * ESPY_TALLY_CALLS;
	struct espy_tally_spec *all;
	int err;

	if (!s->opts.tally_cnt || bpf_tallies__are_of_hits(s))
		return 0;
	all = calloc(s->opts.tally_cnt * calls, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < s->opts.tally_cnt; i++)
		memcpy(all + i * calls, s->opts.tallies[i].calls, calls * sizeof(*all));
	err = bpf_maps__fill_array(s, "espy_tally_specs", all, sizeof(*all), s->opts.tally_cnt * calls);
	free(all);
	return err;
}

int bpf_tallies__fill_hits(const struct bpf_source *s, const struct bpf_map *map)
{
	const size_t places = s->opts.probes->place_cnt;
	struct espy_tally_spec *all;
	int err;

	if (!bpf_tallies__are_of_hits(s))
		return 0;
	all = calloc(places * ESPY_SOURCE_TALLIES, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < s->opts.tally_cnt; i++)
		for (size_t k = 0; k < places; k++)
			all[k * ESPY_SOURCE_TALLIES + i] = s->opts.tallies[i].places[k];
	err = bpf_maps__fill_table(map, all, sizeof(*all), places * ESPY_SOURCE_TALLIES);
	free(all);
	return err;
}

static uint64_t sum(const uint64_t *each, int cpus)
{
	uint64_t all = 0;

	for (int cpu = 0; cpu < cpus; cpu++)
		all += each[cpu];
	return all;
}

static void give_slots(struct bpf_source *s, uint64_t *each, int cpus, espy_tallied_fn fn, void *ctx)
{
	const int fd = bpf_map__fd(bpf_maps__of(s, "espy_tally_slots"));

	for (uint32_t i = 0; i < s->opts.tally_cnt * ESPY_TALLIED_SLOTS; i++) {
		struct espy_tallied t = { .tally = i / ESPY_TALLIED_SLOTS,
					  .is_slot = true,
					  .slot = i % ESPY_TALLIED_SLOTS };

		t.count = bpf_map_lookup_elem(fd, &i, each) ? 0 : sum(each, cpus);
		if (t.count)
			fn(ctx, &t);
	}
}

static void give_values(struct bpf_source *s, uint64_t *each, int cpus, espy_tallied_fn fn, void *ctx)
{
	const int fd = bpf_map__fd(bpf_maps__of(s, "espy_tally_values"));
	struct espy_bpf_tally_key key;

	for (int err = bpf_map_get_next_key(fd, NULL, &key); !err; err = bpf_map_get_next_key(fd, &key, &key)) {
		struct espy_tallied t = { .tally = key.tally,
					  .abi = key.call / ESPY_TALLY_CALLS,
					  .nr = key.call % ESPY_TALLY_CALLS,
					  .place = key.call,
					  .value = key.value };

		t.count = bpf_map_lookup_elem(fd, &key, each) ? 0 : sum(each, cpus);
		if (t.count && t.tally < s->opts.tally_cnt && (t.abi < ESPY_ABI_CNT || bpf_tallies__are_of_hits(s)))
			fn(ctx, &t);
	}
}

int bpf_tallies(struct espy_source *src, espy_tallied_fn fn, void *ctx)
{
	struct bpf_source *s = to_bpf(src);
	const int cpus = libbpf_num_possible_cpus();
	uint64_t *each;

	if (!s->loaded || !s->opts.tally_cnt)
		return -EOPNOTSUPP;
	each = cpus < 1 ? NULL : calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	give_slots(s, each, cpus, fn, ctx);
	give_values(s, each, cpus, fn, ctx);
	free(each);
	return 0;
}
