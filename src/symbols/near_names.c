/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What somebody may have meant who has named a function that is not there. */
#include <elf.h>
#include <string.h>
#include "base/edits.h"
#include "symbols/functions.h"

/* Edits between the names. One that the other is a part of is near, too. */
static unsigned farness(const char *wanted, size_t len, const char *name, unsigned limit)
{
	const unsigned d = espy_edits(wanted, name, limit);

	return d > 2 && len >= 4 && strlen(name) >= 4 && (strstr(name, wanted) || strstr(wanted, name)) ? 2 : d;
}

size_t espy_functions__near(const struct espy_functions *f, const char *name, const char *near[ESPY_NEAR_NAMES])
{
	const size_t len = strlen(name);
	const unsigned limit = len < 4 ? 1 : len < 8 ? 2 : 3;
	unsigned far[ESPY_NEAR_NAMES];
	size_t cnt = 0;

	for (size_t i = 0; i < f->cnt; i++) {
		const struct espy_function *x = &f->v[i];
		const unsigned d = x->type == STT_FUNC ? farness(name, len, x->name, limit) : limit + 1;
		size_t at = cnt;

		if (d > limit || (cnt == ESPY_NEAR_NAMES && d >= far[cnt - 1]))
			continue;
		if (at == ESPY_NEAR_NAMES)
			at--;
		else
			cnt++;
		for (; at && far[at - 1] > d; at--) {
			far[at] = far[at - 1];
			near[at] = near[at - 1];
		}
		far[at] = d;
		near[at] = x->name;
	}
	return cnt;
}
