/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that are the gate to others, such as socketcall: the sources in user space record the inner call. */
#include "source/plan_run.h"

#include <string.h>

void espy_call_set__enter_inner(const struct espy_call_set *set, struct espy_call_regs *regs, const struct espy_mem *mem)
{
	uint32_t words[6] = { 0 }, at = ESPY_NONE;
	uint64_t first = regs->args[0];

	if (!set)
		return;
	const uint32_t nr = espy_image__inner(set->image, regs->nr, regs->args, &at);

	if (nr == ESPY_NONE)
		return;
	if (at == ESPY_NONE) {
		memmove(regs->args, regs->args + 1, 5 * sizeof(regs->args[0]));
		regs->args[5] = first;
	} else {
		const size_t n = set->image->syscalls[nr].nargs * sizeof(words[0]);

		if (mem->read(mem->ctx, regs->args[at], words, n) != n)
			return;
		for (unsigned i = 0; i < 6; i++)
			regs->args[i] = words[i];
	}
	regs->nr = nr;
}

bool espy_call_set__wants_any(const struct espy_call_set *set, uint32_t nr)
{
	bool any = espy_call_set__wants(set, nr);

	if (!set || nr >= set->image->syscall_cnt || !ESPY_LEADS_ON(&set->image->call_plans[nr]))
		return any;
	for (uint32_t i = 0; i < ESPY_INNER_KEYS && !any; i++)
		any = espy_call_set__wants(set, ESPY_INNER_FIRST(set->image->call_plans[nr].inner) + i);
	return any;
}
