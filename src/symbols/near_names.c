/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds names near to the name of a missing function. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "base/edits.h"
#include "symbols/demangle.h"
#include "symbols/functions.h"

/* Returns the edits between the names. A name that has the other as a part is near, too. */
static unsigned farness(const char *wanted, size_t len, const char *name, unsigned limit)
{
	const unsigned d = espy_edits(wanted, name, limit);

	return d > 2 && len >= 4 && strlen(name) >= 4 && (strstr(name, wanted) || strstr(wanted, name)) ? 2 : d;
}

struct nearest {
	char **names;
	unsigned far[ESPY_NEAR_NAMES];
	size_t cnt;
};

static void offer(struct nearest *n, const char *name, unsigned far)
{
	size_t at = n->cnt;
	char *copy;

	for (size_t i = 0; i < n->cnt; i++)
		if (!strcmp(n->names[i], name))
			return; /* functions of one name, with other parameters */
	if ((at == ESPY_NEAR_NAMES && far >= n->far[at - 1]) || !(copy = strdup(name)))
		return;
	if (at == ESPY_NEAR_NAMES)
		free(n->names[--at]);
	else
		n->cnt++;
	for (; at && n->far[at - 1] > far; at--) {
		n->far[at] = n->far[at - 1];
		n->names[at] = n->names[at - 1];
	}
	n->far[at] = far;
	n->names[at] = copy;
}

size_t espy_functions__near(const struct espy_functions *f, const char *name, char *near[ESPY_NEAR_NAMES])
{
	const bool scoped = espy_function_name__is_scoped(name);
	const size_t len = strlen(name);
	const unsigned limit = len < 4 ? 1 : len < 8 ? 2 : 3;
	struct nearest n = { .names = near };

	for (size_t i = 0; i < f->cnt; i++) {
		const struct espy_function *x = &f->v[i];
		char *plain = x->type == STT_FUNC && scoped ? espy_demangle_name(x->name) : NULL;
		const char *offered = plain ? plain : x->name;
		const unsigned far = x->type == STT_FUNC ? farness(name, len, offered, limit) : limit + 1;

		if (far <= limit)
			offer(&n, offered, far);
		free(plain);
	}
	return n.cnt;
}
