/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the places of a line of source. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "source/probe/probe_impl.h"
#include "symbols/source_lines.h"

size_t espy_probe_source_len(const struct espy_probe_rule *rule)
{
	return (size_t)(strrchr(rule->symbol, ':') - rule->symbol);
}

struct espy_lines_of *espy_probe_file__lines(struct espy_probe_file *file)
{
	if (!file->lines)
		file->lines = espy_lines_of__open_fd(file->elf.fd, file->path);
	return file->lines;
}

static int refuse(const struct espy_probe_places *p, const struct espy_probe_file *file, const char *source,
		  const struct espy_line_places *found, int err)
{
	const bool near = found->near[0];

	if (err == -ENODATA)
		espy_probe_say(p, true,
			       "%s has no debug information with lines: build it with -g, or install its debug symbols",
			       file->path);
	else if (err == -ENOENT)
		espy_probe_say(p, true, "no source of %s is called '%s'%s%s%s", file->path, source,
			       near ? "; there is " : "", found->near, near ? "" : " (espy list functions names them)");
	else if (err == -ERANGE)
		espy_probe_say(p, true, "%s has no code of a line so far down: the last one with code is %s:%u",
			       file->path, source, found->last);
	else
		espy_probe_say(p, true, "%s: %s:%u: %s", file->path, source, found->line, strerror(-err));
	return err == -ENOMEM ? err : -EINVAL;
}

int espy_probe_places__add_line(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan,
				struct espy_probe_file *file)
{
	const unsigned wanted = (unsigned)rule->offset;
	char *source = strndup(rule->symbol, espy_probe_source_len(rule));
	struct espy_line_places found;
	int err;

	if (!source)
		return -ENOMEM;
	err = espy_lines_of__places(espy_probe_file__lines(file), source, wanted, &found);
	if (err) {
		err = refuse(p, file, source, &found, err);
	} else if (found.line != wanted) {
		espy_probe_say(p, false, "%s:%u has no code: the probe is at the next line that has, %s:%u", source,
			       wanted, source, found.line);
	}
	p->line = found.line;
	espy_probe_places__begin_names(p, found.cnt > 1);
	for (size_t i = 0; i < found.cnt && !err; i++)
		err = espy_probe_places__add_address(p, rule, plan, file, found.addrs[i]);
	if (!err)
		err = espy_probe_places__end_names(p, found.cnt, "places", rule->symbol);
	free(found.addrs);
	free(source);
	return err;
}
