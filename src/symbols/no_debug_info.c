/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines and variables in a build without libdw: nothing is known of any file. */
#include <errno.h>
#include "symbols/source_lines.h"
#include "symbols/variables.h"

int espy_lines_of__places(struct espy_lines_of *l, const char *source, unsigned line, struct espy_line_places *out)
{
	(void)l;
	(void)source;
	(void)line;
	*out = (struct espy_line_places){ 0 };
	return -ENODATA;
}

bool espy_lines_of__begin(struct espy_lines_of *l, uint64_t addr, const char **source, unsigned *line)
{
	return espy_lines_of__at(l, addr, source, line);
}

int espy_variables__open(struct espy_variables **out, struct espy_lines_of *l, uint64_t addr, unsigned how)
{
	(void)l;
	(void)addr;
	(void)how;
	*out = NULL;
	return -ENODATA;
}

void espy_variables__close(struct espy_variables *v)
{
	(void)v;
}

int espy_variables__find(struct espy_variables *v, const char *expr, struct espy_variable *out, char why[ESPY_VAR_WHY])
{
	(void)v;
	(void)expr;
	*out = (struct espy_variable){ 0 };
	why[0] = 0;
	return -ENOENT;
}

int espy_variables__members(struct espy_variables *v, const struct espy_variable *of,
			    int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx)
{
	(void)v;
	(void)of;
	(void)fn;
	(void)ctx;
	return 0;
}

int espy_variables__constants(struct espy_variables *v, const struct espy_variable *of,
			      int (*fn)(void *ctx, const char *name, int64_t value), void *ctx)
{
	(void)v;
	(void)of;
	(void)fn;
	(void)ctx;
	return 0;
}

void espy_variables__each(struct espy_variables *v,
			  void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx)
{
	(void)v;
	(void)fn;
	(void)ctx;
}
