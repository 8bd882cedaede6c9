/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From a rule about functions of the kernel to places, and why some of them are no place for a probe. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/edits.h"
#include "source/probe/probe_impl.h"

#define NAME_MAX_SHOWN 1024

struct search {
	struct espy_probe_places *p;
	const struct espy_probe_rule *rule;
	bool is_pattern;
	uint32_t plan;	/* of a rule without names */
	size_t cnt;	/* functions that fit and can be probed */
	size_t refused; /* that fit, and cannot */
};

/* ---- places */

static int add_bound(struct search *s, const struct espy_probe_rule *own, uint32_t plan,
		     const struct espy_kernel_function *f)
{
	static const struct espy_probe_file nowhere = { .path = (char *)"" };
	const struct espy_probe_rule *rule = s->rule;
	const char *slash = rule->event ? strrchr(rule->event, '/') : NULL;
	char name[NAME_MAX_SHOWN], group[256];

	if (rule->event)
		snprintf(name, sizeof(name), "%s", slash ? slash + 1 : rule->event);
	else if (rule->offset)
		snprintf(name, sizeof(name), "%s+%#llx", f->name, (unsigned long long)rule->offset);
	else
		snprintf(name, sizeof(name), "%s", f->name);
	snprintf(group, sizeof(group), "%.*s", slash ? (int)(slash - rule->event) : (int)strlen(ESPY_PROBE_KERNEL),
		 slash ? rule->event : ESPY_PROBE_KERNEL);
	struct espy_probe_place place = {
		.fd = -1,
		.offset = rule->offset,
		.function = f,
		.function_id = own != rule && s->p->kernel_types && !*f->module
				       ? espy_kernel_types__id(s->p->kernel_types, f->name)
				       : 0,
		.kind = rule->returns  ? ESPY_PROBE_RETURN
			: rule->offset ? ESPY_PROBE_INSIDE
				       : ESPY_PROBE_ENTRY,
		.plan = plan,
		.rule = rule,
	};

	place.def = espy_probe_def__new(own, &nowhere, place.kind, group, name, rule->offset);
	return espy_probe_places__add(s->p, &place);
}

/* Opens what can be named at a function. Returns 0, also if nothing can (*v is NULL then), or -ENOMEM. */
static int open_names(struct espy_probe_places *p, const struct espy_probe_rule *rule,
		      const struct espy_kernel_function *f, struct espy_variables **v)
{
	int err;

	*v = NULL;
	if (!p->kernel_types && !p->kernel_types_err)
		p->kernel_types_err = espy_kernel_types__open(&p->kernel_types);
	if (p->kernel_types_err)
		return p->kernel_types_err == -ENOMEM ? -ENOMEM : 0;
	err = espy_kernel_types__function(p->kernel_types, f->name, f->module, rule->returns, v);
	return err == -ENODATA ? 0 : err;
}

/* Adds the place at a function. Parameters are found there, if the rule names some; of several functions not all need
 * to have them. */
static int add_function(struct search *s, const struct espy_kernel_function *f)
{
	struct espy_probe_places *p = s->p;
	struct espy_probe_rule *own;
	struct espy_variables *v;
	char why[ESPY_VAR_WHY];
	uint32_t plan;
	int err;

	s->cnt++;
	if (!espy_probe_rule__has_names(s->rule))
		return add_bound(s, s->rule, s->plan, f);
	err = open_names(p, s->rule, f, &v);
	if (err)
		return err;
	const bool unknown = !v && p->kernel_types_err;

	err = espy_probe_bind_kernel(p, s->rule, v, s->is_pattern, &own, why);
	if (err && err != -ENOMEM && s->is_pattern) {
		p->unnamed++;
		if (!p->unnamed_why[0])
			memcpy(p->unnamed_why, why, sizeof(p->unnamed_why));
	} else if (err == -EINVAL) {
		espy_probe_say(p, true, "%s:%s: %s%s%s", ESPY_PROBE_KERNEL, f->name, why,
			       unknown ? "; /sys/kernel/btf/vmlinux: " : "",
			       unknown ? strerror(-p->kernel_types_err) : "");
	}
	if (err < 0)
		return err == -EINVAL && s->is_pattern ? 0 : err;
	p->named |= own->plan.arg_cnt > 0;
	err = espy_probe_places__add_plan(p, &own->plan, &plan);
	err = err ? err : add_bound(s, own, plan, f);
	espy_probe_bound__free(own);
	return err;
}

/* ---- refusals */

/* Tells why the function cannot be probed. NULL: it can, as far as the kernel tells. */
static const char *unprobed(const struct espy_kernel_functions *all, const struct espy_kernel_function *f)
{
	const char *never = espy_kernel_function__never(f->name);

	if (never)
		return never;
	return all->traced_err || f->is_traced ? NULL
					       : "it is none of available_filter_functions (notrace, a part of another "
						 "function, or code that the kernel has thrown away)";
}

static void say_unknown(const struct search *s)
{
	const struct espy_probe_rule *rule = s->rule;
	struct espy_nearest near;
	const char *other;

	if (s->is_pattern) {
		espy_probe_say(s->p, true,
			       s->refused ? "no function of the kernel that is called like '%s' can be probed"
					  : "no function of the kernel is called like '%s'",
			       rule->symbol);
		return;
	}
	other = espy_kernel_functions__near(&s->p->kernel, rule->symbol, &near);
	espy_probe_say(s->p, true,
		       "the kernel has no function '%s': the compiler may have put it into its callers, or a program "
		       "has it (FILE:%s)%s%s%s",
		       rule->symbol, rule->symbol, other ? "; did you mean '" : "", other ? other : "",
		       other ? "'?" : "");
}

static int read_functions(struct espy_probe_places *p)
{
	const int err = p->kernel.cnt ? 0 : espy_kernel_functions__read(&p->kernel);

	if (err && err != -ENOMEM) {
		espy_probe_say(p, true, "the functions of the kernel are not known: /proc/kallsyms: %s",
			       strerror(-err));
		return -EINVAL;
	}
	return err;
}

int espy_probe_places__add_kernel(struct espy_probe_places *p, const struct espy_probe_rule *rule)
{
	struct search s = { .p = p, .rule = rule, .is_pattern = strpbrk(rule->symbol, "*?") };
	const struct espy_kernel_function *f;
	int err = read_functions(p);
	size_t at = 0;

	if (!err && rule->offset && espy_probe_rule__has_names(rule)) {
		espy_probe_say(
			p, true,
			"%s:%s+%#llx: parameters are known where a function begins or returns: name a register here",
			ESPY_PROBE_KERNEL, rule->symbol, (unsigned long long)rule->offset);
		return -EINVAL;
	}
	if (!err && !espy_probe_rule__has_names(rule))
		err = espy_probe_places__add_plan(p, &rule->plan, &s.plan);
	espy_probe_places__begin_names(p, s.is_pattern);
	while (!err && (f = espy_kernel_functions__match(&p->kernel, rule->symbol, &at))) {
		const char *why = unprobed(&p->kernel, f);

		if (!why) {
			err = add_function(&s, f);
		} else if (s.is_pattern) {
			s.refused++;
		} else {
			espy_probe_say(p, true, "'%s' of the kernel cannot be probed: %s", f->name, why);
			return -EINVAL;
		}
	}
	err = err ? err : espy_probe_places__end_names(p, s.cnt, "functions", "the kernel");
	if (err || s.cnt)
		return err;
	say_unknown(&s);
	return -EINVAL;
}
