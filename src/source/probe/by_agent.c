/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places that the agent can take: a jump is planned there. The others stay the kernel's, and are said. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/abi.h"
#include "arch/insn.h"
#include "source/probe/probe_impl.h"
#include "symbols/jump_place.h"

static bool is_of_agent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "libespy-agent.so") != NULL;
}

/* Tells whether a value is fetched that a function gets as an argument. keep: what is fetched at the place itself */
static bool wants_args(const struct espy_probe_plan *plan, uint32_t keep)
{
	bool wants = keep & ESPY_INSN_ARGS;

	for (uint32_t i = 0; i < plan->fetch_cnt; i++)
		wants = wants || plan->fetches[i].src == ESPY_PROBE_ENTRY_ARG;
	return wants;
}

/* Returns why the agent cannot take the place; NULL: it can. */
static const char *plan_jump(const struct espy_probe_places *p, const struct espy_probe_place *place,
			     struct espy_probe_file *file, const struct espy_function *f, bool moves, uint64_t addr,
			     uint32_t keep, struct espy_jump_place *jump)
{
	const bool returns = place->kind == ESPY_PROBE_RETURN;

	if (returns && (!f || f->addr != addr))
		return "no function is known to begin there";
	if (is_of_agent(file->path))
		return "the file is the agent itself";
	if (espy_agent_plan__room(&p->plans[place->plan]) > ESPY_AGENT_PROBE_ROOM)
		return "the probe fetches more than 3000 bytes";
	const struct espy_function *around = moves || returns ? f : NULL;
	/* What is fetched at a return does not depend on where in its beginning a function is met, but for its
	 * arguments. Entries and returns share one jump: so at first one keeps what the other may need. */
	const char *why = espy_jump_place(&file->functions, &file->elf, &file->branches, around, addr,
					  returns ? ESPY_INSN_ARGS : keep | ESPY_INSN_ARGS, jump);

	if (why && !wants_args(&p->plans[place->plan], returns ? 0 : keep))
		why = espy_jump_place(&file->functions, &file->elf, &file->branches, around, addr, returns ? 0 : keep,
				      jump);
	return why;
}

int espy_probe_place__plan_jump(struct espy_probe_places *p, struct espy_probe_place *place,
				struct espy_probe_file *file, const struct espy_function *f, bool moves, uint64_t addr,
				uint32_t keep)
{
	struct espy_jump_place *jump;
	const char *why;

	if (!p->targets->by_agent)
		return 0;
	jump = malloc(sizeof(*jump));
	if (!jump)
		return -ENOMEM;
	why = plan_jump(p, place, file, f, moves, addr, keep, jump);
	p->taken += !why || !place->agent_only;
	if (!why) {
		place->jump = jump;
		return 0;
	}
	free(jump);
	if (place->agent_only)
		return 0;
	if (!p->refused++)
		snprintf(p->refused_why, sizeof(p->refused_why), "%s", why);
	return 0;
}

void espy_probe_places__begin_jumps(struct espy_probe_places *p)
{
	p->taken = p->refused = 0;
}

void espy_probe_places__end_jumps(struct espy_probe_places *p, const struct espy_probe_rule *rule)
{
	const struct espy_rec_probe_def *def =
		p->probes.place_cnt ? p->probes.places[p->probes.place_cnt - 1].def : NULL;
	const char *file = rule->file ? rule->file : "the process";

	if (!p->refused || !p->targets->say_kernel || !def)
		return;
	if (p->taken == 1 && rule->symbol)
		espy_probe_say(p, false, "%s:%s goes through the kernel, since the agent cannot take it: %s", file,
			       rule->symbol, p->refused_why);
	else
		espy_probe_say(p, false,
			       "%zu of %zu places of %s go through the kernel, since the agent cannot take them: %s%s",
			       p->refused, p->taken, file, p->refused_why, p->refused > 1 ? ", for example" : "");
}
