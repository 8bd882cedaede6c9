/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes at functions of the kernel by programs of their own, which get the arguments and the result by the kernel's
 * types (fentry, fexit). Such a program is loaded for one function, so a few functions that a rule names have them, and
 * hits that are numbers: others of these programs may run on the same CPU, so there is no room for texts. The rest is
 * for kernel_links.c, also all that this kernel refuses here.
 *
 * libbpf links a program once. Its hook before a program is loaded takes what would be loaded, loads it for each
 * function, and leaves libbpf a program of two instructions.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/array.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/load/probe_links_impl.h"

/* ---- which */

/* Tells whether the place is a whole function of the kernel's own, and its hits are numbers that the types tell of. */
static bool is_possible(const struct bpf_source *s, const struct espy_probe_place *place)
{
	const struct espy_probe_plan *plan = &s->opts.probes->plans[place->plan];

	if (bpf_probe_way_of(place) != AT_KERNEL || !place->function_id || place->offset || plan->memory ||
	    s->opts.stops.stack_frames || bpf_probe_is_of_pattern(place->rule))
		return false;
	for (unsigned i = 0; i < plan->fetch_cnt; i++) {
		const struct espy_probe_fetch *f = &plan->fetches[i];

		if (f->src == ESPY_PROBE_REG &&
		    (f->reg == ESPY_REG_SP || f->reg == ESPY_REG_IP ||
		     !bpf_kernel_links__has_register(f->reg, place->kind == ESPY_PROBE_RETURN)))
			return false;
	}
	return true;
}

void bpf_direct_links__prepare(struct bpf_source *s)
{
	const struct espy_probes *wanted = s->opts.probes;
	struct bpf_direct *d = &s->probes->direct;
	bool entries = false, returns = false;
	struct bpf_program *prog;

	for (size_t i = 0; i < wanted->place_cnt && d->cnt < BPF_DIRECT_MAX; i++) {
		if (!is_possible(s, &wanted->places[i]))
			continue;
		d->v[d->cnt++] = (struct bpf_direct_place){ .place = i, .entry = -1, .end = -1 };
		entries |= wanted->places[i].kind != ESPY_PROBE_RETURN;
		returns |= wanted->places[i].kind == ESPY_PROBE_RETURN;
	}
	bpf_object__for_each_program(prog, s->probes->obj)
		if (!strncmp(bpf_program__section_name(prog), BPF_DIRECT_SECTION, strlen(BPF_DIRECT_SECTION)))
			bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), "espy_direct") ? entries : returns);
}

/* ---- loading */

/* The session whose programs this thread loads. */
static _Thread_local struct bpf_source *loading;

void bpf_direct_links__begin(struct bpf_source *s)
{
	loading = s;
}

void bpf_direct_links__end(void)
{
	loading = NULL;
}

int bpf_direct_links__before_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const char *name = bpf_program__name(prog);
	const bool is_end = !strcmp(name, "espy_direct_end"), of_return = strcmp(name, "espy_direct") != 0;
	struct bpf_prog_load_opts own = *opts;

	(void)cookie;
	if (!loading)
		return -EINVAL;
	own.expected_attach_type = is_end ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY;
	for (size_t i = 0; i < loading->probes->direct.cnt; i++) {
		struct bpf_direct_place *at = &loading->probes->direct.v[i];
		const struct espy_probe_place *place = &loading->opts.probes->places[at->place];

		if ((place->kind == ESPY_PROBE_RETURN) != of_return)
			continue;
		own.attach_btf_id = place->function_id;
		*(is_end ? &at->end : &at->entry) = bpf_prog_load(BPF_PROG_TYPE_TRACING, name, "GPL", bpf_program__insns(prog),
								  bpf_program__insn_cnt(prog), &own);
	}
	return bpf_verify__leave_nothing(prog, opts);
}

/* ---- attaching */

/* Attaches a program. Returns the link's descriptor, or -errno. */
static int attach(struct bpf_source *s, int prog, bool at_end, uint64_t cookie)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .tracing.cookie = cookie);
	struct bpf_probes *p = s->probes;

	if (prog < 0)
		return prog;
	/* for both links of a return */
	if (!espy_array__room(&p->fds, p->fd_cnt, &p->fd_cap, sizeof(*p->fds), 2))
		return -ENOMEM;
	return bpf_link_create(prog, 0, at_end ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY, &opts);
}

void bpf_direct_links__attach(struct bpf_source *s)
{
	struct bpf_probes *p = s->probes;

	for (size_t i = 0; i < p->direct.cnt; i++) {
		struct bpf_direct_place *at = &p->direct.v[i];
		const bool returns = s->opts.probes->places[at->place].kind == ESPY_PROBE_RETURN;
		const uint64_t cookie = bpf_probe_cookie(s->opts.probes, at->place);
		const int first = attach(s, at->entry, false, cookie);
		const int second = first < 0 || !returns ? 0 : attach(s, at->end, true, cookie);

		at->attached = first >= 0 && second >= 0;
		if (!at->attached && first >= 0)
			close(first);
		if (!at->attached)
			continue;
		p->fds[p->fd_cnt++] = first;
		if (returns)
			p->fds[p->fd_cnt++] = second;
	}
	/* The links keep the programs. */
	bpf_direct_links__free(p);
}

bool bpf_direct_links__has(const struct bpf_source *s, size_t place)
{
	const struct bpf_direct *d = &s->probes->direct;

	for (size_t i = 0; i < d->cnt; i++)
		if (d->v[i].place == place)
			return d->v[i].attached;
	return false;
}

void bpf_direct_links__free(struct bpf_probes *p)
{
	for (size_t i = 0; i < p->direct.cnt; i++) {
		struct bpf_direct_place *at = &p->direct.v[i];

		if (at->entry >= 0)
			close(at->entry);
		if (at->end >= 0)
			close(at->end);
		at->entry = at->end = -1;
	}
}
