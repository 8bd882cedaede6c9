/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/mark_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "filter/def_filter.h"
#include "record/mark_def.h"
#include "record/mark_values.h"
#include "source/wanted_marks.h"

/* Writes a name as the arguments of probes are named: the element of an array, x[2], is x.2. */
static const char *plain_name(const char *name, char text[ESPY_CONDITION_NAME_MAX])
{
	size_t n = 0;

	for (; *name && n < ESPY_CONDITION_NAME_MAX - 1; name++)
		if (*name != ']')
			text[n++] = *name == '[' ? '.' : *name;
	text[n] = 0;
	return text;
}

int espy_mark_names__constant(void *ctx, const struct espy_name_info *name, const char *word, uint64_t *value,
			      uint64_t *mask)
{
	const struct espy_mark_names *n = ctx;

	*mask = UINT64_MAX;
	return n->def && name->ref < n->def->nargs && espy_mark_arg__constant(&n->def->args[name->ref], word, value)
		       ? 0
		       : -ENOENT;
}

int espy_mark_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	const struct espy_mark_names *n = ctx;
	char plain[ESPY_CONDITION_NAME_MAX];
	const int arg = espy_mark_arg__find(!strncmp(name, "arg.", 4) ? name + 4 : plain_name(name, plain), n->format,
					    n->nargs);

	if (arg < 0) {
		snprintf(why, why_sz, "there is no argument '%s'", name);
		return -ENOENT;
	}
	const uint8_t kind = n->kinds[arg];

	if (text != espy_mark_kind_is_text(kind)) {
		snprintf(why, why_sz, text ? "%s is a number; a number is expected" : "%s is a text: a \"text\" is expected, not a number", name);
		return -EINVAL;
	}
	*out = (struct espy_name_info){
		.type = text ? ESPY_VALUE_TEXT : kind == ESPY_MARK_DOUBLE ? ESPY_VALUE_DOUBLE :
			espy_mark_kind_is_signed(kind) ? ESPY_VALUE_INT : ESPY_VALUE_UINT,
		.ref = (uint64_t)arg,
	};
	return 0;
}

int espy_mark_names__value(const struct espy_mark_def *def, const struct espy_rec *rec, unsigned index, struct espy_filter_value *out)
{
	struct espy_mark_args args;

	espy_mark_args__begin(&args, rec);
	if (args.missing >> index & 1)
		return -EFAULT;
	const int err = espy_mark_values__get(args.at, (size_t)(args.end - args.at), def, index, out);
	return err && err != -EFAULT ? -ENOENT : err;
}

int espy_probe_names__find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	static const struct {
		const char *name;
		uint16_t ref, flags;
	} own[] = {
		{ "pid", ESPY_PROBE_NAME_PID, 0 },
		{ "tid", ESPY_PROBE_NAME_TID, 0 },
		{ "duration", ESPY_PROBE_NAME_DURATION, ESPY_NAME_DURATION },
	};
	struct espy_probe_names *n = ctx;
	const int err = espy_mark_names__find(&n->args, name, text, out, why, why_sz);

	if (err != -ENOENT)
		return err;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		if (strcmp(name, own[i].name))
			continue;
		if (text || (own[i].flags && !n->returns)) {
			snprintf(why, why_sz, text ? "%s is a number; a number is expected" :
						     "%s is known where a function returns (FILE:SYMBOL%%return)", name);
			return -EINVAL;
		}
		*out = (struct espy_name_info){ .type = ESPY_VALUE_UINT, .flags = own[i].flags, .ref = own[i].ref };
		return 0;
	}
	snprintf(why, why_sz, "the probe has no argument '%s'; beside its arguments there are pid, tid and duration", name);
	return -ENOENT;
}
