/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading description files. Apart from the compiler, which sees texts only. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "describe/builtin.h"

#define MAX_FILE (64u << 20)

int espy_text_source__read(struct espy_text_source *s, const char *name)
{
	FILE *f = fopen(name, "re");
	size_t cap = 65536, n = 0;
	char *p = NULL;
	int err;

	*s = (struct espy_text_source){ .name = name };
	if (!f)
		return -errno;
	err = -ENOMEM;
	p = malloc(cap);
	if (!p)
		goto out;
	for (size_t got; (got = fread(p + n, 1, cap - n, f)) > 0;) {
		n += got;
		if (n < cap)
			continue;
		char *q = cap < MAX_FILE ? realloc(p, cap * 2) : NULL;

		if (!q)
			goto out;
		p = q;
		cap *= 2;
	}
	err = ferror(f) ? -EIO : 0;
out:
	fclose(f);
	if (err) {
		free(p);
		return err;
	}
	s->text = p;
	s->size = n;
	return 0;
}
