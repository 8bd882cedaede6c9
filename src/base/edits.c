/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/edits.h"

#include <stdio.h>
#include <string.h>

unsigned espy_edits(const char *a, const char *b, unsigned limit)
{
	enum { MAX = ESPY_EDITS_MAX };
	unsigned rows[3][MAX + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > MAX || lb > MAX || (la > lb ? la - lb : lb - la) > limit)
		return limit + 1;
	for (size_t j = 0; j <= lb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *cur = rows[i % 3], *prev = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		cur[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			unsigned best = prev[j - 1] + (a[i - 1] != b[j - 1]);

			if (prev[j] + 1 < best)
				best = prev[j] + 1;
			if (cur[j - 1] + 1 < best)
				best = cur[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			cur[j] = best;
		}
	}
	return rows[la % 3][lb];
}

void espy_nearest__begin(struct espy_nearest *n, const char *wanted, size_t len)
{
	*n = (struct espy_nearest){ .limit = len < 4 || len > ESPY_EDITS_MAX ? 0 : len < 6 ? 1 : 2 };
	if (n->limit)
		memcpy(n->wanted, wanted, len);
}

void espy_nearest__offer(struct espy_nearest *n, const char *word)
{
	const unsigned d = n->limit ? espy_edits(n->wanted, word, n->limit) : 1;

	if (d > n->limit)
		return;
	n->limit = d - (d > 0);
	n->word = word;
}

const char *espy_nearest__hint(const struct espy_nearest *n, char text[ESPY_HINT_MAX])
{
	text[0] = '\0';
	if (n->word)
		snprintf(text, ESPY_HINT_MAX, "; did you mean '%s'?", n->word);
	return text;
}
