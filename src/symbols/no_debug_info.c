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
