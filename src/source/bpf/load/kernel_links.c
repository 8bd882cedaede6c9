/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Probes at functions of the kernel, unless they have programs of their own (direct_links.c). Where the kernel can, all
 * of them are attached at once (kprobe_multi, Linux 5.18 with CONFIG_FPROBE); an instruction inside of a function, a
 * register that such links do not have, and all places on other kernels get a perf event each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <bpf/bpf.h>
#include "source/bpf/load/probe_links_impl.h"
#include "source/kernel_functions.h"

bool bpf_kernel_links__has_register(unsigned reg, bool at_return)
{
	static const uint8_t args[ESPY_PROBE_SAVED] = ESPY_REG_ARGS;

	for (unsigned i = 0; i < ESPY_PROBE_SAVED && !at_return; i++)
		if (args[i] == reg)
			return true;
	return at_return ? reg == ESPY_REG_RESULT : reg == ESPY_REG_SP || reg == ESPY_REG_IP;
}

static bool is_for_multi(const struct bpf_source *s, const struct espy_probe_place *place)
{
	const struct espy_probe_plan *plan = &s->opts.probes->plans[place->plan];

	if (!s->probes->kernel.multi || place->offset || !place->function->addr)
		return false;
	for (unsigned i = 0; i < plan->fetch_cnt; i++)
		if (plan->fetches[i].src == ESPY_PROBE_REG &&
		    !bpf_kernel_links__has_register(plan->fetches[i].reg, place->kind == ESPY_PROBE_RETURN))
			return false;
	return true;
}

/* A kind of places that need the same programs. */
struct kind {
	bool multi, at_return;
};

static bool is_of_kind(const struct bpf_source *s, const struct espy_probe_place *place, struct kind k)
{
	return bpf_probe_way_of(place) == AT_KERNEL && (place->kind == ESPY_PROBE_RETURN) == k.at_return &&
	       is_for_multi(s, place) == k.multi;
}

static struct bpf_program *program(const struct bpf_source *s, const char *name, bool multi)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%s", name, multi ? "_multi" : "");
	return bpf_object__find_program_by_name(s->probes->obj, text);
}

/* Has the programs of a kind of places loaded if there are such places. Returns whether there are. */
static bool choose(struct bpf_source *s, struct kind k)
{
	static const char *const names[2][2] = { { "espy_kernel" }, { "espy_kernel_begin", "espy_kernel_end" } };
	const struct espy_probes *wanted = s->opts.probes;
	bool any = false;

	for (size_t i = 0; i < wanted->place_cnt && !any; i++)
		any = is_of_kind(s, &wanted->places[i], k);
	for (unsigned i = 0; i < 2 && names[k.at_return][i]; i++) {
		struct bpf_program *prog = program(s, names[k.at_return][i], k.multi);

		bpf_program__set_autoload(prog, any);
		if (k.multi)
			bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)ESPY_ATTACH_KPROBE_MULTI);
	}
	return any;
}

int bpf_kernel_links__prepare(struct bpf_source *s)
{
	static const char *const maps[] = { "espy_kernel_scratch", "espy_kernel_stack", "espy_kernel_calls" };
	const struct espy_probes *wanted = s->opts.probes;
	bool any = false;
	char why[256];
	int err = 0;

	for (size_t i = 0; i < wanted->place_cnt && !any; i++)
		any = bpf_probe_way_of(&wanted->places[i]) == AT_KERNEL;
	if (any)
		err = espy_kernel_probes__find(&s->probes->kernel, why, sizeof(why));
	if (err)
		bpf_source_report(s, ESPY_REPORT_ERROR, "functions of the kernel cannot be probed: %s", why);
	for (unsigned i = 0; i < 4 && !err; i++)
		choose(s, (struct kind){ .multi = i & 1, .at_return = i & 2 });
	bpf_direct_links__prepare(s);
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		bpf_map__set_autocreate(bpf_object__find_map_by_name(s->probes->obj, maps[i]), any);
	return err;
}

/* ---- many functions at once */

/* Reasons by which the kernel says that one of the functions cannot be probed. */
static bool is_refusal(int err)
{
	return err == -EINVAL || err == -ENOENT || err == -ESRCH || err == -EILSEQ || err == -EADDRNOTAVAIL ||
	       err == -EOPNOTSUPP || err == -524;
}

static void say_refused(struct bpf_source *s, size_t i, int err)
{
	const struct espy_probe_place *place = &s->opts.probes->places[i];

	bpf_source_report(s, ESPY_REPORT_ERROR, "the kernel refuses a probe at its function %s%s: %s",
			  place->function->name, place->offset ? ", so far behind its beginning" : "",
			  place->offset && is_refusal(err) ? "no instruction that can be probed begins there"
			  : is_refusal(err) ? "it cannot be probed (notrace, or a part of what probes are made of)"
					    : strerror(-err));
}

/* Leaves out a place of a pattern that the kernel refuses. */
static int leave_out(struct bpf_source *s, size_t i, int err)
{
	if (is_refusal(err) && bpf_probe_is_of_pattern(s->opts.probes->places[i].rule))
		return 0;
	say_refused(s, i, err);
	return err;
}

/* The places for links of one kind, those of one function behind each other, and room for what a link takes. */
struct many {
	struct bpf_source *s;
	struct place_at {
		uint64_t addr, cookie;
	} * v;
	uint64_t *addrs, *cookies;
	size_t cnt;
};

static int by_addr(const void *a, const void *b)
{
	const struct place_at *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->cookie < y->cookie ? -1 : x->cookie > y->cookie;
}

static int gather(struct many *m, struct bpf_source *s, bool at_return)
{
	const struct espy_probes *wanted = s->opts.probes;

	*m = (struct many){ .s = s };
	m->v = calloc(wanted->place_cnt, sizeof(*m->v));
	m->addrs = calloc(wanted->place_cnt, sizeof(*m->addrs));
	m->cookies = calloc(wanted->place_cnt, sizeof(*m->cookies));
	if (!m->v || !m->addrs || !m->cookies)
		return -ENOMEM;
	for (size_t i = 0; i < wanted->place_cnt; i++)
		if (is_of_kind(s, &wanted->places[i], (struct kind){ .multi = true, .at_return = at_return }) &&
		    !bpf_direct_links__has(s, i))
			m->v[m->cnt++] =
				(struct place_at){ wanted->places[i].function->addr, bpf_probe_cookie(wanted, i) };
	qsort(m->v, m->cnt, sizeof(*m->v), by_addr);
	return 0;
}

/* Attaches a program. A link has one cookie for each function, so the second place of a function is in the second link.
 */
static int attach_many(struct many *m, const char *name, bool behind)
{
	const int prog = bpf_program__fd(program(m->s, name, true));
	int err = 0;

	for (size_t nth = 0; !err; nth++) {
		uint32_t cnt = 0;

		for (size_t i = 0, same = 0; i < m->cnt; i++) {
			same = i && m->v[i].addr == m->v[i - 1].addr ? same + 1 : 0;
			if (same != nth)
				continue;
			m->addrs[cnt] = m->v[i].addr;
			m->cookies[cnt++] = m->v[i].cookie;
		}
		if (!cnt)
			break;
		err = bpf_probes__create_links(m->s, (struct bpf_many){
							     .prog = prog,
							     .at_return = behind,
							     .places = m->addrs,
							     .cookies = m->cookies,
							     .cnt = cnt,
							     .is_refusal = is_refusal,
							     .leave_out = leave_out,
						     });
	}
	return err;
}

static int attach_kind(struct bpf_source *s, bool at_return)
{
	struct many m;
	int err = gather(&m, s, at_return);

	if (!err)
		err = attach_many(&m, at_return ? "espy_kernel_begin" : "espy_kernel", false);
	if (!err && at_return)
		err = attach_many(&m, "espy_kernel_end", true);
	free(m.v);
	free(m.addrs);
	free(m.cookies);
	return err;
}

/* ---- one place */

static int attach_single(struct bpf_source *s, size_t i, const char *name, bool at_return)
{
	const struct espy_probe_place *place = &s->opts.probes->places[i];
	const int event = espy_kernel_probes__open(&s->probes->kernel, place->function->name, place->function->addr,
						   place->offset, at_return);

	return event < 0 ? event : bpf_probes__attach_event(s, i, program(s, name, false), event);
}

static int attach_one(struct bpf_source *s, size_t i)
{
	const bool at_return = s->opts.probes->places[i].kind == ESPY_PROBE_RETURN;
	int err = attach_single(s, i, at_return ? "espy_kernel_begin" : "espy_kernel", false);

	err = err || !at_return ? err : attach_single(s, i, "espy_kernel_end", true);
	return err ? leave_out(s, i, err) : 0;
}

int bpf_kernel_links__attach(struct bpf_source *s)
{
	const struct espy_probes *wanted = s->opts.probes;
	int err;

	bpf_direct_links__attach(s);
	err = s->probes->kernel.multi ? attach_kind(s, false) : 0;
	if (!err && s->probes->kernel.multi)
		err = attach_kind(s, true);
	for (size_t i = 0; i < wanted->place_cnt && !err; i++)
		if (bpf_probe_way_of(&wanted->places[i]) == AT_KERNEL && !is_for_multi(s, &wanted->places[i]) &&
		    !bpf_direct_links__has(s, i))
			err = attach_one(s, i);
	return err;
}
