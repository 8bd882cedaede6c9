/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The maps of the object: how large they are, the tables that are in them when programs run, and the memory that both
 * sides write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "source/bpf/bpf_source.h"

struct bpf_map *bpf_maps__of(const struct bpf_source *s, const char *name)
{
	return bpf_object__find_map_by_name(s->obj, name);
}

int bpf_maps__set_entries(const struct bpf_source *s, const char *name, size_t n)
{
	struct bpf_map *map = bpf_maps__of(s, name);

	return map ? bpf_map__set_max_entries(map, (uint32_t)n) : -ENOENT;
}

/* It goes through a mapping: the kernel takes each entry of a batch by itself. */
int bpf_maps__fill_table(const struct bpf_map *map, const void *data, size_t size, size_t n)
{
	const size_t stride = (size + 7) & ~(size_t)7; /* of the kernel's arrays */
	uint8_t *at;

	if (!map || bpf_map__value_size(map) != size || n > bpf_map__max_entries(map))
		return -EINVAL;
	if (!n)
		return 0;
	at = mmap(NULL, n * stride, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (at == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < n; i++)
		memcpy(at + i * stride, (const uint8_t *)data + i * size, size);
	munmap(at, n * stride);
	return 0;
}

int bpf_maps__fill_array(const struct bpf_source *s, const char *name, const void *data, size_t size, size_t n)
{
	return bpf_maps__fill_table(bpf_maps__of(s, name), data, size, n);
}

/*
 * Makes the memory that both sides write. libbpf would fill it with zeros once more, and touch each page of its
 * megabyte for that.
 */
int bpf_maps__make_shared(const struct bpf_source *s)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct bpf_map *map = bpf_maps__of(s, ".bss");
	int fd, err;

	if (!map)
		return -EINVAL;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, bpf_map__name(map), sizeof(uint32_t), bpf_map__value_size(map), 1,
			    &opts);
	if (fd < 0)
		return fd;
	err = bpf_map__reuse_fd(map, fd);
	close(fd);
	return err;
}

/*
 * Room for 4 096 dying tasks, which most sessions never see, is a fortieth of the start. Since Linux 6.1 the kernel can
 * take it when it is needed, also where locks are held; before that, it warns of a program that has such a map.
 */
static int take_fatals_on_demand(const struct bpf_source *s)
{
	return bpf_kernel_is(6, 1) && bpf_map__set_map_flags(bpf_maps__of(s, "espy_fatals"), BPF_F_NO_PREALLOC) ? -errno
														: 0;
}

int bpf_maps__set_sizes(const struct bpf_source *s, size_t pids, size_t cpus)
{
	const struct bpf_tables *t = &s->tables;
	const size_t calls = ESPY_BPF_ABIS * ESPY_BPF_NRS;
	int err;

	err = bpf_maps__set_entries(s, "espy_calls", calls);
	err = err ? err : bpf_maps__set_entries(s, "espy_plans", t->plan_cnt);
	err = err ? err : bpf_maps__set_entries(s, "espy_ops", t->op_cnt);
	err = err ? err : bpf_maps__set_entries(s, "espy_variants", t->variant_cnt);
	err = err ? err : bpf_maps__set_entries(s, "espy_triggers", ESPY_TRIGGER_MAX + s->opts.gate_cnt);
	err = err ? err : bpf_maps__set_entries(s, "espy_scratch", cpus);
	err = err ? err : bpf_maps__set_entries(s, "espy_enters", pids);
	err = err ? err : bpf_maps__set_entries(s, "espy_marks", s->mark_cnt);
	err = err ? err : bpf_maps__set_entries(s, "espy_counts", s->opts.count_only && !s->opts.tally_cnt ? calls : 1);
	err = err ? err : take_fatals_on_demand(s);
	return err ? err : bpf_tallies__set_sizes(s);
}

/* Fills in the triggers, and the gates behind the room for them. */
static int fill_triggers(struct bpf_source *s)
{
	const size_t cnt = ESPY_TRIGGER_MAX + s->opts.gate_cnt;
	struct espy_trigger *all = calloc(cnt, sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	if (s->opts.trigger_cnt)
		memcpy(all, s->opts.triggers, s->opts.trigger_cnt * sizeof(*all));
	if (s->opts.gate_cnt)
		memcpy(all + ESPY_TRIGGER_MAX, s->opts.gates, s->opts.gate_cnt * sizeof(*all));
	err = bpf_maps__fill_array(s, "espy_triggers", all, sizeof(*all), cnt);
	free(all);
	return err;
}

static int fill_tables(struct bpf_source *s)
{
	const struct bpf_tables *t = &s->tables;
	int err;

	err = bpf_maps__fill_array(s, "espy_calls", t->calls, sizeof(*t->calls), ESPY_BPF_ABIS * ESPY_BPF_NRS);
	err = err ? err : bpf_maps__fill_array(s, "espy_plans", t->plans, sizeof(*t->plans), t->plan_cnt);
	err = err ? err : bpf_maps__fill_array(s, "espy_ops", t->ops, sizeof(*t->ops), t->op_cnt);
	err = err ? err : bpf_maps__fill_array(s, "espy_variants", t->variants, sizeof(*t->variants), t->variant_cnt);
	if (!err && s->opts.trigger_cnt + s->opts.gate_cnt)
		err = fill_triggers(s);
	err = err ? err : bpf_tallies__fill(s);
	if (err)
		return err;
	memcpy(s->shared->fast, t->fast, sizeof(s->shared->fast));
	memcpy(s->shared->sigreturn_nr, t->sigreturn_nr, sizeof(t->sigreturn_nr));
	return 0;
}

/* Maps the shared memory: libbpf maps the data of a loaded object for its own skeletons only. */
static int map_shared(struct bpf_source *s, uint64_t room)
{
	struct bpf_map *map = bpf_maps__of(s, ".bss");
	void *at;

	if (!map || bpf_map__value_size(map) < sizeof(*s->shared))
		return -EINVAL;
	at = mmap(NULL, sizeof(*s->shared), PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (at == MAP_FAILED)
		return -errno;
	s->shared = at;
	s->shared->high = espy_bpf_high(room, s->tables.longest + s->tables.stack, 0);
	bpf_paths__share(s);
	return 0;
}

int bpf_maps__fill(struct bpf_source *s, uint64_t room)
{
	int err = map_shared(s, room);

	return err ? err : fill_tables(s);
}
