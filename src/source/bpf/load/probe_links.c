/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes by the kernel's uprobes: the programs of probe.bpf.c at the places of opts.probes. Where the kernel can, all places of
 * a file are attached at once (uprobe_multi, Linux 6.6); else each by a perf event.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/array.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/load/probe_links_impl.h"
#include "source/rights.h"
#include "source/tracefs.h"

/* Of uapi/linux/bpf.h as of Linux 6.6; the headers of the build may be older. */
#define ATTACH_UPROBE_MULTI 48
#define MULTI_RETURN 1u
struct multi_attr { /* union bpf_attr of BPF_LINK_CREATE */
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t cnt, multi_flags, pid, reserved;
};

static int create_link(const void *attr, size_t size)
{
	const int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, size);

	return fd < 0 ? -errno : fd;
}

/* Tells whether the kernel knows such links: it then looks at the path, which is a directory's. */
static bool has_multi(void)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	const uint64_t offset = 0;
	const int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, sizeof(nothing) / sizeof(*nothing), &opts);
	const struct multi_attr attr = { .prog_fd = (uint32_t)prog,
					 .attach_type = ATTACH_UPROBE_MULTI,
					 .path = (uintptr_t)"/",
					 .offsets = (uintptr_t)&offset,
					 .cnt = 1 };

	if (prog < 0)
		return false;
	const int fd = create_link(&attr, sizeof(attr));

	if (fd >= 0)
		close(fd);
	close(prog);
	return fd == -EBADF;
}

static bool any_of(const struct espy_probes *p, enum bpf_probe_way way)
{
	for (size_t i = 0; i < p->place_cnt; i++)
		if (bpf_probe_way_of(&p->places[i]) == way)
			return true;
	return false;
}

static enum bpf_probe_way way_of_program(const struct bpf_program *prog)
{
	const char *name = bpf_program__name(prog);

	if (!strncmp(name, "espy_kernel", strlen("espy_kernel")) ||
	    !strncmp(name, "espy_direct", strlen("espy_direct")))
		return AT_KERNEL;
	return !strcmp(name, "espy_probe") ? AT_PLACE : !strcmp(name, "espy_tracepoint") ? AT_TRACEPOINT : AT_RETURN;
}

int bpf_probes__load(struct bpf_source *s)
{
	const struct espy_probes *wanted = s->opts.probes;
	struct bpf_probes *p;
	struct bpf_program *prog;
	int err;

	if (!wanted || !wanted->place_cnt)
		return 0;
	if (espy_rights__are_borrowed()) {
		bpf_source_report(s, ESPY_REPORT_ERROR,
				  "probes reach every process, and the capabilities of this espy are those of its file: the user needs "
				  "CAP_BPF and CAP_PERFMON");
		return -EPERM;
	}
	p = s->probes = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->told = calloc(1, wanted->place_cnt);
	if (!p->told)
		return -ENOMEM;
	err = bpf_source_open_beside(&p->obj, s, s->types.path, BPF_OBJECT_PROBE);
	if (err)
		return err;
	p->multi = has_multi();
	bpf_object__for_each_program(prog, p->obj) {
		const enum bpf_probe_way way = way_of_program(prog);

		if (way == AT_KERNEL)
			continue; /* kernel_links.c, direct_links.c */
		bpf_program__set_autoload(prog, any_of(wanted, way));
		if (p->multi && way != AT_TRACEPOINT)
			bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	}
	bpf_map__set_max_entries(bpf_object__find_map_by_name(p->obj, "espy_probe_plans"), (uint32_t)wanted->plan_cnt);
	struct bpf_map *specs = bpf_object__find_map_by_name(p->obj, "espy_place_specs");

	if (bpf_tallies__are_of_hits(s))
		bpf_map__set_max_entries(specs, (uint32_t)wanted->place_cnt * ESPY_SOURCE_TALLIES);
	if (bpf_probes__counts_hits(s))
		bpf_map__set_max_entries(bpf_object__find_map_by_name(p->obj, "espy_place_counts"), (uint32_t)wanted->place_cnt);
	err = bpf_kernel_links__prepare(s);
	if (err)
		return err;
	bpf_direct_links__begin(s);
	err = bpf_object__load(p->obj);
	bpf_direct_links__end();
	if (err)
		bpf_source_report(s, ESPY_REPORT_ERROR, "the kernel refuses the programs of probes: %s", strerror(-err));
	if (!err)
		err = bpf_maps__fill_table(bpf_object__find_map_by_name(p->obj, "espy_probe_plans"), wanted->plans,
					   sizeof(*wanted->plans), wanted->plan_cnt);
	return err ? err : bpf_tallies__fill_hits(s, specs);
}

/* ---- many places at once */

/* Places [first, first + cnt) of one file; only places of one way count. */
struct group {
	size_t first, cnt;
	enum bpf_probe_way way;
	uint64_t *offsets, *cookies; /* room for all of them */
};

/* Instructions that the kernel neither emulates nor executes elsewhere: not supported (its own 524), or invalid. */
static bool is_refusal(int err)
{
	return err == -524 || err == -EOPNOTSUPP || err == -EINVAL;
}

/* Leaves out a place that the kernel refuses if a pattern has named it. */
static int leave_out(struct bpf_source *s, size_t i, int err)
{
	return is_refusal(err) && bpf_probe_is_of_pattern(s->opts.probes->places[i].rule) ? 0 : err;
}

/* Creates one link for all the places. Returns its descriptor or -errno. */
static int link_of(const struct bpf_many *many)
{
	const struct espy_kprobe_multi in_kernel = {
		.prog_fd = (uint32_t)many->prog,
		.attach_type = ESPY_ATTACH_KPROBE_MULTI,
		.multi_flags = many->at_return ? ESPY_KPROBE_MULTI_RETURN : 0,
		.cnt = many->cnt,
		.addrs = (uintptr_t)many->places,
		.cookies = (uintptr_t)many->cookies,
	};
	const struct multi_attr in_file = {
		.prog_fd = (uint32_t)many->prog,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)many->path,
		.offsets = (uintptr_t)many->places,
		.cookies = (uintptr_t)many->cookies,
		.cnt = many->cnt,
		.multi_flags = many->at_return ? MULTI_RETURN : 0,
		.pid = (uint32_t)many->pid,
	};

	return many->path ? create_link(&in_file, sizeof(in_file)) : create_link(&in_kernel, sizeof(in_kernel));
}

int bpf_probes__create_links(struct bpf_source *s, struct bpf_many many)
{
	struct bpf_probes *p = s->probes;

	if (!espy_array__grow(p->fds, p->fd_cnt, p->fd_cap))
		return -ENOMEM;
	const int fd = link_of(&many);

	if (fd >= 0) {
		p->fds[p->fd_cnt++] = fd;
		return 0;
	}
	if (many.cnt == 1 || !many.is_refusal(fd))
		return many.leave_out(s, (uint32_t)many.cookies[0] - ESPY_PROBE_FIRST_DEF, fd);
	struct bpf_many rest = many;

	many.cnt /= 2;
	rest.cnt -= many.cnt;
	rest.places += many.cnt;
	rest.cookies += many.cnt;
	const int err = bpf_probes__create_links(s, many);

	return err ? err : bpf_probes__create_links(s, rest);
}

static int attach_program(struct bpf_source *s, const struct group *g, const char *name, bool at_return, pid_t pid)
{
	const struct espy_probes *wanted = s->opts.probes;
	struct bpf_probes *p = s->probes;
	char path[48];
	uint32_t cnt = 0;

	for (size_t i = g->first; i < g->first + g->cnt; i++) {
		if (bpf_probe_way_of(&wanted->places[i]) != g->way)
			continue;
		g->offsets[cnt] = wanted->places[i].offset;
		g->cookies[cnt++] = bpf_probe_cookie(wanted, i);
	}
	if (!cnt)
		return 0;
	/* Exactly the file that was resolved, also when another one has taken its name. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", wanted->places[g->first].fd);
	return bpf_probes__create_links(s,
					(struct bpf_many){
						.prog = bpf_program__fd(bpf_object__find_program_by_name(p->obj, name)),
						.at_return = at_return,
						.path = path,
						.pid = pid,
						.places = g->offsets,
						.cookies = g->cookies,
						.cnt = cnt,
						.is_refusal = is_refusal,
						.leave_out = leave_out,
					});
}

static int attach_groups(struct bpf_source *s, pid_t pid)
{
	const struct espy_probes *wanted = s->opts.probes;
	uint64_t *room = calloc(wanted->place_cnt, 2 * sizeof(*room));
	int err = room ? 0 : -ENOMEM;

	for (size_t i = 0, end; i < wanted->place_cnt && !err; i = end) {
		for (end = i + 1; end < wanted->place_cnt && wanted->places[end].fd == wanted->places[i].fd;)
			end++;
		struct group g = { .first = i, .cnt = end - i, .offsets = room, .cookies = room + wanted->place_cnt };

		err = attach_program(s, &g, "espy_probe", false, pid);
		g.way = AT_RETURN;
		err = err ? err : attach_program(s, &g, "espy_probe_begin", false, pid);
		err = err ? err : attach_program(s, &g, "espy_probe_end", true, pid);
	}
	free(room);
	return err;
}

/* ---- one after the other */

static int attach_single(struct bpf_source *s, size_t i, const char *name, bool at_return, pid_t pid)
{
	LIBBPF_OPTS(bpf_uprobe_opts, o, .bpf_cookie = bpf_probe_cookie(s->opts.probes, i), .retprobe = at_return);
	const struct espy_probe_place *place = &s->opts.probes->places[i];
	struct bpf_probes *p = s->probes;
	struct bpf_program *prog = bpf_object__find_program_by_name(p->obj, name);
	struct bpf_link *link;
	char path[48];

	if (!espy_array__grow(p->links, p->link_cnt, p->link_cap))
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	errno = 0;
	link = bpf_program__attach_uprobe_opts(prog, pid ? pid : -1, path, place->offset, &o);
	if (!link)
		return errno ? -errno : -EINVAL;
	p->links[p->link_cnt++] = link;
	return 0;
}

static int attach_one(struct bpf_source *s, size_t i, pid_t pid)
{
	const enum bpf_probe_way way = bpf_probe_way_of(&s->opts.probes->places[i]);
	int err;

	if (way == AT_TRACEPOINT || way == AT_KERNEL || way == BY_AGENT)
		return 0;
	if (way == AT_PLACE)
		return attach_single(s, i, "espy_probe", false, pid);
	err = attach_single(s, i, "espy_probe_begin", false, pid);
	return err ? err : attach_single(s, i, "espy_probe_end", true, pid);
}

/* ---- tracepoints */

int bpf_probes__attach_event(struct bpf_source *s, size_t i, const struct bpf_program *prog, int event)
{
	LIBBPF_OPTS(bpf_perf_event_opts, o, .bpf_cookie = bpf_probe_cookie(s->opts.probes, i));
	struct bpf_probes *p = s->probes;
	struct bpf_link *link = NULL;

	errno = 0;
	if (espy_array__grow(p->links, p->link_cnt, p->link_cap))
		link = bpf_program__attach_perf_event_opts(prog, event, &o);
	if (!link) {
		const int err = errno ? -errno : -ENOMEM;

		close(event);
		return err;
	}
	p->links[p->link_cnt++] = link;
	return 0;
}

static int attach_tracepoint(struct bpf_source *s, size_t i)
{
	const int event = espy_tracepoint__open(s->opts.probes->places[i].offset);

	return event < 0 ? event
			 : bpf_probes__attach_event(
				   s, i, bpf_object__find_program_by_name(s->probes->obj, "espy_tracepoint"), event);
}

/* Some tracepoints are only for the kernel's own tracer. If a pattern has named such a one, it is left out. */
static int attach_tracepoints(struct bpf_source *s)
{
	const struct espy_probes *wanted = s->opts.probes;

	for (size_t i = 0; i < wanted->place_cnt; i++) {
		const int err = bpf_probe_way_of(&wanted->places[i]) == AT_TRACEPOINT ? attach_tracepoint(s, i) : 0;

		if (!err || bpf_probe_is_of_pattern(wanted->places[i].rule))
			continue;
		bpf_source_report(s, ESPY_REPORT_ERROR, "the kernel refuses the tracepoint %s:%s: %s",
				  wanted->places[i].rule->file, wanted->places[i].rule->symbol, strerror(-err));
		return err;
	}
	return 0;
}

int bpf_probes__attach_to_kernel(struct bpf_source *s)
{
	const int err = s->probes ? attach_tracepoints(s) : 0;

	return err || !s->probes ? err : bpf_kernel_links__attach(s);
}

int bpf_probes__attach(struct bpf_source *s, pid_t pid)
{
	int err = 0;

	if (!s->probes)
		return 0;
	if (s->probes->multi)
		err = attach_groups(s, pid);
	for (size_t i = 0; !s->probes->multi && i < s->opts.probes->place_cnt && !err; i++)
		err = attach_one(s, i, pid);
	if (err)
		bpf_source_report(s, ESPY_REPORT_ERROR, "the kernel refuses a probe: %s",
				  is_refusal(err) ? "it cannot probe this instruction" : strerror(-err));
	return err;
}

const struct espy_rec *bpf_probes__definition(struct bpf_source *s, const struct espy_rec_probe *rec)
{
	const uint32_t i = rec->def - ESPY_PROBE_FIRST_DEF;

	if (!s->probes || i >= s->opts.probes->place_cnt || s->probes->told[i])
		return NULL;
	s->probes->told[i] = 1;
	return &s->opts.probes->places[i].def->rec;
}

int bpf_probes__hits(struct espy_source *src, struct espy_count *counts, size_t n)
{
	struct bpf_source *s = to_bpf(src);
	const int cpus = libbpf_num_possible_cpus();
	struct espy_bpf_hit_count *each;

	if (!s->probes || !bpf_probes__counts_hits(s))
		return -EOPNOTSUPP;
	each = cpus < 1 ? NULL : calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	const int fd = bpf_map__fd(bpf_object__find_map_by_name(s->probes->obj, "espy_place_counts"));

	for (uint32_t i = 0; i < n; i++) {
		struct espy_count *c = &counts[i];

		*c = (struct espy_count){ .min_ns = UINT64_MAX };
		if (bpf_map_lookup_elem(fd, &i, each))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++) {
			c->calls += each[cpu].hits;
			c->timed += each[cpu].timed;
			c->time_ns += each[cpu].time_ns;
			c->min_ns = ~each[cpu].min_ns < c->min_ns ? ~each[cpu].min_ns : c->min_ns;
			c->max_ns = each[cpu].max_ns > c->max_ns ? each[cpu].max_ns : c->max_ns;
		}
	}
	free(each);
	return 0;
}

void bpf_probes__tell_again(struct bpf_source *s)
{
	if (s->probes)
		memset(s->probes->told, 0, s->opts.probes->place_cnt);
}

static bool any_return(const struct espy_probes *p)
{
	for (size_t i = 0; i < p->place_cnt; i++)
		if (p->places[i].kind == ESPY_PROBE_RETURN)
			return true;
	return false;
}

void bpf_probes__detach(struct bpf_source *s)
{
	struct bpf_probes *p = s->probes;

	if (!p)
		return;
	for (size_t i = p->link_cnt; i-- > 0;)
		bpf_link__destroy(p->links[i]);
	/*
	 * The kernel waits until no task is in a program of them: some 50 ms. A program that begins meanwhile would have the
	 * kernel's address in the place of its return addresses, and an espy that does not know of it cannot tell its stack.
	 */
	const bool in_place = any_return(s->opts.probes);

	for (size_t i = p->fd_cnt; in_place && i-- > 0;)
		close(p->fds[i]);
	if (p->fd_cnt && !in_place)
		bpf_release(p->fds, p->fd_cnt, NULL);
	p->link_cnt = p->fd_cnt = 0;
}

void bpf_probes__free(struct bpf_source *s)
{
	struct bpf_probes *p = s->probes;

	if (!p)
		return;
	bpf_probes__detach(s);
	bpf_direct_links__free(p);
	bpf_object__close(p->obj);
	free(p->links);
	free(p->fds);
	free(p->told);
	free(p);
	s->probes = NULL;
}
