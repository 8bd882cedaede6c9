/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the places of symbols in files, and refuses symbols that are no place for a probe, with the reason. */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "source/probe/probe_impl.h"
#include "arch/insn.h"
#include "base/array.h"
#include "symbols/demangle.h"
#include "symbols/entry_place.h"
#include "symbols/no_return.h"

#define PLACES_MAX 262144u
#define NAME_MAX_SHOWN 1024

void espy_probe_say(const struct espy_probe_places *p, bool error, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	p->targets->say(p->targets->ctx, error, text);
}

/* Returns the word in front of the colon. */
static const char *provider_of(const struct espy_probe_rule *rule, const struct espy_probe_file *file)
{
	const char *path = rule->file && !espy_probe_is_mapping(rule->file) ? rule->file : file->path, *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* And behind it: the event's own name, the line, the function and how far behind its beginning, or the offset. */
static void name_of(const struct espy_probe_rule *rule, const struct espy_function *f, uint64_t addr, uint64_t offset,
		    unsigned line, char name[NAME_MAX_SHOWN])
{
	const char *slash = rule->event ? strrchr(rule->event, '/') : NULL;
	char *scoped = f && rule->symbol && espy_function_name__is_scoped(rule->symbol) ? espy_demangle_name(f->name) : NULL;
	const char *of_function = scoped ? scoped : f ? f->name : NULL;

	if (rule->event)
		snprintf(name, NAME_MAX_SHOWN, "%s", slash ? slash + 1 : rule->event);
	else if (rule->where == ESPY_PROBE_AT_LINE)
		snprintf(name, NAME_MAX_SHOWN, "%.*s:%u", (int)espy_probe_source_len(rule), rule->symbol, line);
	else if (f && addr == f->addr)
		snprintf(name, NAME_MAX_SHOWN, "%s", of_function);
	else if (f)
		snprintf(name, NAME_MAX_SHOWN, "%s+%#llx", of_function, (unsigned long long)(addr - f->addr));
	else
		snprintf(name, NAME_MAX_SHOWN, "%#llx", (unsigned long long)offset);
	free(scoped);
}

/* Finds the registers at which a plan begins, by machine numbers. Returns false if one differs at each instruction. */
static bool registers_of(const struct espy_probe_plan *plan, uint32_t *regs)
{
	*regs = 0;
	for (uint32_t i = 0; i < plan->fetch_cnt; i++) {
		const struct espy_probe_fetch *f = &plan->fetches[i];

		if (f->src != ESPY_PROBE_REG)
			continue;
		const uint32_t bit = espy_insn_bit_of(f->reg);

		if (!bit)
			return false;
		*regs |= bit;
	}
	return true;
}

/* Where a probe of addr lies. That of a function's beginning, which the user has named as such, may lie a little behind it. */
static uint64_t place_of(const struct espy_probe_rule *rule, struct espy_probe_file *file, const struct espy_function *f, uint64_t addr)
{
	enum espy_entry_cost cost;
	uint32_t keep;

	if (rule->where != ESPY_PROBE_AT_SYMBOL || rule->returns || !f || addr != f->addr || !registers_of(&rule->plan, &keep))
		return addr;
	return espy_entry_place(&file->functions, &file->elf, &file->branches, f, keep, &cost);
}

int espy_probe_places__add(struct espy_probe_places *p, const struct espy_probe_place *place)
{
	struct espy_probes *all = &p->probes;
	int err = place->def ? 0 : -ENOMEM;

	if (!err && all->place_cnt == PLACES_MAX) {
		espy_probe_say(p, true, "at most %u places can be probed", PLACES_MAX);
		err = -EINVAL;
	}
	if (!err && !espy_array__grow(all->places, all->place_cnt, p->place_cap))
		err = -ENOMEM;
	if (err) {
		free((void *)place->def);
		free((void *)place->jump);
	} else {
		all->places[all->place_cnt++] = *place;
	}
	return err;
}

int espy_probe_places__add_plan(struct espy_probe_places *p, const struct espy_probe_plan *plan, uint32_t *index)
{
	const unsigned string_max = p->targets->string_max;
	struct espy_probe_plan *own;

	if (!espy_array__grow(p->plans, p->probes.plan_cnt, p->plan_cap))
		return -ENOMEM;
	p->probes.plans = p->plans;
	*index = (uint32_t)p->probes.plan_cnt++;
	own = &p->plans[*index];
	*own = *plan;
	for (unsigned i = 0; i < own->fetch_cnt; i++)
		if (!own->fetches[i].max)
			own->fetches[i].max = string_max < ESPY_PROBE_STRING_MAX ? string_max : ESPY_PROBE_STRING_MAX - 1;
	/* Most places of a pattern have the same plan. */
	if (*index && !memcmp(own, own - 1, sizeof(*own)))
		*index = (uint32_t)--p->probes.plan_cnt - 1;
	return 0;
}

/* Adds a place. own: the rule that holds there, which is not kept. */
static int add_bound(struct espy_probe_places *p, const struct espy_probe_rule *rule, const struct espy_probe_rule *own,
		     uint32_t plan, struct espy_probe_file *file, const struct espy_function *f, uint64_t addr)
{
	char name[NAME_MAX_SHOWN];
	uint64_t offset;
	uint32_t keep = 0;

	if (!espy_elf__offset_of(&file->elf, place_of(own, file, f, addr), &offset))
		return -EINVAL;
	name_of(rule, f, addr, offset, p->line, name);
	struct espy_probe_place place = {
		.fd = file->elf.fd,
		.offset = offset,
		.kind = rule->returns	       ? ESPY_PROBE_RETURN
			: f && f->addr == addr ? ESPY_PROBE_ENTRY
					       : ESPY_PROBE_INSIDE,
		.plan = plan,
		.rule = rule,
		.agent_only = p->agent_only,
	};
	const char *provider = rule->event && strchr(rule->event, '/') ? rule->event : provider_of(rule, file);
	char group[256];

	snprintf(group, sizeof(group), "%.*s", (int)strcspn(provider, "/"), provider);
	place.def = espy_probe_def__new(own, file, place.kind, group, name, offset);
	if (place.def) {
		const bool fixed = rule->where != ESPY_PROBE_AT_SYMBOL || !registers_of(&own->plan, &keep);
		const int err = espy_probe_place__plan_jump(p, &place, file, f, !fixed, addr, keep);

		if (err) {
			free((void *)place.def);
			return err;
		}
	}
	if (p->agent_only && !place.jump && place.def) {
		free((void *)place.def);
		p->unprobed++;
		return 0;
	}
	return espy_probe_places__add(p, &place);
}

void espy_probe_places__begin_names(struct espy_probe_places *p, bool several)
{
	p->several = several;
	p->unnamed = 0;
	p->named = false;
	p->unnamed_why[0] = 0;
}

int espy_probe_places__end_names(struct espy_probe_places *p, size_t cnt, const char *what, const char *of)
{
	if (!p->unnamed)
		return 0;
	espy_probe_say(p, !p->named, "%zu of %zu %s of %s lack a variable that is named%s%s", p->unnamed, cnt, what, of,
		       p->unnamed_why[0] ? ": " : ", because they have no debug information", p->unnamed_why);
	return p->named ? 0 : -EINVAL;
}

/* Adds a place. Variables are found there, if the rule names some; of several places not all need to have them. */
static int add_any_place(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan,
			 struct espy_probe_file *file, const struct espy_function *f, uint64_t addr)
{
	struct espy_probe_rule *own;
	char why[ESPY_VAR_WHY];
	int err;

	if (!espy_probe_rule__has_names(rule))
		return add_bound(p, rule, rule, plan, file, f, addr);
	err = espy_probe_bind(p, rule, file, addr, p->several, &own, why);
	if (err && err != -ENOMEM && p->several) {
		p->unnamed++;
		if (!p->unnamed_why[0])
			memcpy(p->unnamed_why, why, sizeof(p->unnamed_why));
	} else if (err == -EINVAL) {
		espy_probe_say(p, true, "%s: %s", file->path, why);
	}
	if (err < 0)
		return err == -EINVAL && p->several ? 0 : err; /* of a p->several, its condition names the variable */
	p->named |= own->plan.arg_cnt > 0;
	err = espy_probe_places__add_plan(p, &own->plan, &plan);
	err = err ? err : add_bound(p, rule, own, plan, file, f, addr);
	espy_probe_bound__free(own);
	return err;
}

/* ---- refusals */

static void say_unknown(const struct espy_probe_places *p, const struct espy_probe_rule *rule, const struct espy_probe_file *file)
{
	const char *name = provider_of(rule, file);
	char *near[ESPY_NEAR_NAMES];
	const size_t cnt = espy_functions__near(&file->functions, rule->symbol, near);

	if (!file->functions.cnt)
		espy_probe_say(p, true, "%s (%s) has no symbols: give an offset in the file (%s:0x1234), or install its debug symbols", name,
			       file->path, name);
	else if (strpbrk(rule->symbol, "*?"))
		espy_probe_say(p, true, "no function of %s (%s) is called like '%s'", name, file->path, rule->symbol);
	else if (!cnt)
		espy_probe_say(p, true, "%s (%s) has no function '%s'", name, file->path, rule->symbol);
	else
		espy_probe_say(p, true, "%s (%s) has no function '%s'; there %s %s%s%s%s%s", name, file->path, rule->symbol,
			       cnt > 1 ? "are" : "is", near[0], cnt > 1 ? ", " : "", cnt > 1 ? near[1] : "", cnt > 2 ? ", " : "",
			       cnt > 2 ? near[2] : "");
	for (size_t i = 0; i < cnt; i++)
		free(near[i]);
}

static int refuse(const struct espy_probe_places *p, const struct espy_probe_file *file, uint64_t addr, uint64_t begin, int err)
{
	const struct espy_function *f = espy_functions__around(&file->functions, begin);
	uint64_t offset = 0;

	espy_elf__offset_of(&file->elf, addr, &offset);
	if (err == -EACCES)
		espy_probe_say(p, true, "%s: there is no code at offset %#llx", file->path, (unsigned long long)offset);
	else if (err == -ENOENT)
		espy_probe_say(p, true, "%s: no function is known around offset %#llx, so it cannot be told where instructions begin",
			       file->path, (unsigned long long)offset);
	else if (err == -EILSEQ && f)
		espy_probe_say(p, true, "%s: %s+%#llx is in the middle of an instruction, which begins at %s+%#llx", file->path, f->name,
			       (unsigned long long)(addr - f->addr), f->name, (unsigned long long)(begin - f->addr));
	else if (err == -EILSEQ)
		espy_probe_say(p, true, "%s: offset %#llx is in the middle of an instruction, which begins at %#llx", file->path,
			       (unsigned long long)offset, (unsigned long long)(offset - (addr - begin)));
	else
		espy_probe_say(p, true, "%s: %s", file->path, strerror(-err));
	return err == -ENOMEM ? err : -EINVAL;
}

static int refuse_symbol(const struct espy_probe_places *p, const struct espy_probe_rule *rule, const struct espy_probe_file *file,
			 const struct espy_function *f)
{
	const char *name = provider_of(rule, file);

	if (f->type == STT_OBJECT)
		espy_probe_say(p, true, "'%s' of %s is data, no function", f->name, name);
	else if (f->type == STT_GNU_IFUNC)
		espy_probe_say(p, true, "'%s' of %s stands for several functions, one of which is chosen when the program is started: name that one "
					"(%s:*%s*), or the function that calls it", f->name, name, name, f->name);
	else
		espy_probe_say(p, true, "'%s' of %s has %llu bytes: offset %#llx is outside", f->name, name, (unsigned long long)f->size,
			       (unsigned long long)rule->offset);
	return -EINVAL;
}

static bool can_be_probed(const struct espy_probe_file *file, uint64_t addr)
{
	uint8_t code[ESPY_INSN_MAX] = { 0 };

	/* Fewer bytes at the end of a segment: the kernel sees for itself. */
	return espy_elf__read_vaddr(&file->elf, addr, code, sizeof(code)) || !espy_insn_unprobed(code, sizeof(code));
}

/* Adds a place, if the kernel or the agent can probe it; counts it in p->unprobed if not. */
static int add_place(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan,
		     struct espy_probe_file *file, const struct espy_function *f, uint64_t addr)
{
	int err = 0;

	p->agent_only = !can_be_probed(file, addr);
	if (p->agent_only && !p->targets->by_agent)
		p->unprobed++;
	else
		err = add_any_place(p, rule, plan, file, f, addr);
	p->agent_only = false;
	return err;
}

/* Tells why the function has no return that can be probed; NULL: it has one, or the rule is about something else. */
static const char *no_return(const struct espy_probe_rule *rule, const struct espy_probe_file *file, const struct espy_function *f)
{
	return rule->returns && f ? espy_functions__no_return(&file->functions, f) : NULL;
}

/* What becomes of exceptions, once for a file. */
static void tell_of_exceptions(const struct espy_probe_places *p, const struct espy_probe_rule *rule, struct espy_probe_file *file)
{
	const bool by_kernel = !p->targets->by_agent || p->refused;

	if (!rule->returns || !by_kernel || file->exceptions_told || !espy_elf__has_exceptions(&file->elf))
		return;
	file->exceptions_told = true;
	espy_probe_say(p, false, "%s: an exception or panic that leaves a function whose return is probed ends the program: it does not find the "
				 "way back (espy-probes(7))", file->path);
}

/* ---- rules */

static int add_checked(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan, struct espy_probe_file *file,
		       const struct espy_function *f, uint64_t addr)
{
	const char *why = no_return(rule, file, f);

	if (why) {
		espy_probe_say(p, true, "%s: no probe can be at the return of %s: %s", file->path, f->name, why);
		return -EINVAL;
	}
	p->unprobed = 0;
	const int err = add_place(p, rule, plan, file, f, addr);

	if (err || !p->unprobed)
		return err;
	espy_probe_say(p, true, "%s: %s+%#llx: the kernel cannot probe this instruction (LOCK, VEX, EVEX or privileged): take the next one",
		       file->path, f ? f->name : "", (unsigned long long)(f ? addr - f->addr : addr));
	return -EINVAL;
}

static int add_symbol(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan, struct espy_probe_file *file,
		      const struct espy_function *f)
{
	const uint64_t addr = f->addr + rule->offset;
	uint64_t begin = addr;
	int err;

	if (f->type == STT_OBJECT || f->type == STT_GNU_IFUNC || (rule->offset && f->size && rule->offset >= f->size))
		return refuse_symbol(p, rule, file, f);
	err = espy_functions__check(&file->functions, &file->elf, addr, &begin);
	return err ? refuse(p, file, addr, begin, err) : add_checked(p, rule, plan, file, f, addr);
}

/* Adds the symbols of a pattern. It passes over symbols that are no function, and takes one name of a function. */
static int add_symbols(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan, struct espy_probe_file *file)
{
	const bool glob = strpbrk(rule->symbol, "*?");
	const struct espy_function *f;
	size_t at = 0, cnt = 0, no_returns = 0;
	uint64_t last = 0, begin;
	int err = 0;

	espy_probe_places__begin_names(p, glob);
	p->unprobed = 0;
	while (!err && (f = espy_functions__match(&file->functions, rule->symbol, &at))) {
		if (!glob) {
			err = add_symbol(p, rule, plan, file, f);
			cnt++;
			continue;
		}
		if (f->type != STT_FUNC || f->addr == last || (f->size && rule->offset >= f->size) ||
		    espy_functions__check(&file->functions, &file->elf, f->addr + rule->offset, &begin))
			continue;
		last = f->addr;
		cnt++;
		if (no_return(rule, file, f))
			no_returns++;
		else
			err = add_place(p, rule, plan, file, f, f->addr + rule->offset);
	}
	if (!err)
		err = espy_probe_places__end_names(p, cnt, "functions", file->path);
	if (glob && p->unprobed)
		espy_probe_say(p, false,
			       "%zu of %zu functions of %s are left out: they begin with an instruction that the "
			       "kernel cannot probe",
			       p->unprobed, cnt, file->path);
	if (no_returns)
		espy_probe_say(p, false, "%zu of %zu functions of %s are left out: a probe at their return would break the program",
			       no_returns, cnt, file->path);
	if (err || cnt)
		return err;
	say_unknown(p, rule, file);
	return -EINVAL;
}

int espy_probe_places__add_address(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan,
				   struct espy_probe_file *file, uint64_t addr)
{
	uint64_t begin = addr;
	const int err = espy_functions__check(&file->functions, &file->elf, addr, &begin);

	if (err)
		return refuse(p, file, addr, begin, err);
	return add_checked(p, rule, plan, file, espy_functions__around(&file->functions, addr), addr);
}

/* Finds the address of a byte of the file in its own numbering. */
static bool address_of(const struct espy_elf *e, uint64_t offset, uint64_t *addr)
{
	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_X && offset >= s->offset && offset - s->offset < s->file_sz) {
			*addr = s->vaddr + (offset - s->offset);
			return true;
		}
	}
	return false;
}

static int add_rule(struct espy_probe_places *p, const struct espy_probe_rule *rule)
{
	struct espy_probe_file *files[ESPY_PROBE_FILES_MAX];
	uint64_t addr = 0;
	uint32_t plan = 0;
	int n, err;

	if (rule->where == ESPY_PROBE_AT_TRACEPOINT)
		return espy_probe_places__add_tracepoints(p, rule);
	if (rule->where == ESPY_PROBE_AT_KERNEL)
		return espy_probe_places__add_kernel(p, rule);
	n = espy_probe_files__find(p, rule, files, &addr);
	err = n < 0 ? n : 0;
	if (!err && !espy_probe_rule__has_names(rule))
		err = espy_probe_places__add_plan(p, &rule->plan, &plan);
	for (int i = 0; i < n && !err; i++) {
		struct espy_probe_file *file = files[i];

		if (!file->functions_read)
			err = espy_functions__read(&file->functions, &file->elf, file->path);
		file->functions_read = !err;
		if (err)
			espy_probe_say(p, true, "%s: %s", file->path, err == -EBADMSG ? "its symbols are damaged" : strerror(-err));
		else if (rule->where == ESPY_PROBE_AT_SYMBOL)
			err = add_symbols(p, rule, plan, file);
		else if (rule->where == ESPY_PROBE_AT_LINE)
			err = espy_probe_places__add_line(p, rule, plan, file);
		else if (rule->where == ESPY_PROBE_AT_OFFSET && !address_of(&file->elf, rule->offset, &addr))
			err = refuse(p, file, 0, 0, -EACCES);
		else {
			espy_probe_places__begin_names(p, false);
			err = espy_probe_places__add_address(p, rule, plan, file, addr);
		}
		if (!err)
			tell_of_exceptions(p, rule, file);
	}
	return err == -ENOENT ? -EINVAL : err;
}

/* Places of one file become neighbours. */
static int by_file(const void *a, const void *b)
{
	const struct espy_probe_place *x = a, *y = b;

	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void number(struct espy_probes *all)
{
	if (all->place_cnt)
		qsort(all->places, all->place_cnt, sizeof(*all->places), by_file);
	for (size_t i = 0; i < all->place_cnt; i++)
		((struct espy_rec_probe_def *)all->places[i].def)->def = ESPY_PROBE_FIRST_DEF + (uint32_t)i;
}

/* Takes out what the kernel cannot have, and the agent could not keep after all. */
static void drop_unprobed(struct espy_probe_places *p)
{
	struct espy_probes *all = &p->probes;
	size_t kept = 0;

	for (size_t i = 0; i < all->place_cnt; i++)
		if (all->places[i].agent_only && !all->places[i].jump)
			free((void *)all->places[i].def);
		else
			all->places[kept++] = all->places[i];
	if (kept != all->place_cnt)
		espy_probe_say(p, false,
			       "%zu place%s left out: another probe is in the way, and the kernel cannot probe the "
			       "instruction",
			       all->place_cnt - kept, all->place_cnt - kept > 1 ? "s are" : " is");
	all->place_cnt = kept;
	number(all);
}

int espy_probe_places__open(struct espy_probe_places **out, struct espy_probe_rule *const *rules, size_t rule_cnt,
			    const struct espy_probe_targets *t)
{
	struct espy_probe_places *p = calloc(1, sizeof(*p));
	int err = 0;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->targets = t;
	for (size_t i = 0; i < rule_cnt && !err; i++) {
		espy_probe_places__begin_jumps(p);
		err = add_rule(p, rules[i]);
		if (!err)
			espy_probe_places__end_jumps(p, rules[i]);
	}
	if (!err) {
		number(&p->probes);
		err = espy_probe_places__share_hops(p);
		drop_unprobed(p);
	}
	p->targets = NULL;
	espy_kernel_types__close(p->kernel_types);
	p->kernel_types = NULL;
	for (size_t i = 0; i < p->file_cnt; i++) {
		espy_functions__free(&p->files[i]->functions);
		espy_branches__free(&p->files[i]->branches);
		espy_lines_of__close(p->files[i]->lines);
		p->files[i]->lines = NULL;
	}
	if (err) {
		espy_probe_places__free(p);
		return err;
	}
	*out = p;
	return 0;
}

const struct espy_probes *espy_probe_places__get(const struct espy_probe_places *p)
{
	return &p->probes;
}

void espy_probe_places__free(struct espy_probe_places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->probes.place_cnt; i++) {
		free((void *)p->probes.places[i].def);
		free((void *)p->probes.places[i].jump);
	}
	free(p->probes.places);
	free(p->plans);
	espy_kernel_functions__free(&p->kernel);
	espy_probe_files__free(p);
	free(p);
}
