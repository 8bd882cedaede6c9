/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the definition of a probe for the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "source/probe/probe_impl.h"

void espy_probe_kinds(const struct espy_probe_rule *rule, uint8_t kinds[ESPY_MARK_MAX_ARGS])
{
	static const uint8_t numbers[2][9] = {
		{ [1] = ESPY_MARK_U8, [2] = ESPY_MARK_U16, [4] = ESPY_MARK_U32, [8] = ESPY_MARK_U64 },
		{ [1] = ESPY_MARK_I8, [2] = ESPY_MARK_I16, [4] = ESPY_MARK_I32, [8] = ESPY_MARK_I64 },
	};

	for (unsigned i = 0; i < rule->plan.arg_cnt; i++) {
		const struct espy_probe_fetch *f = &rule->plan.fetches[i];

		kinds[i] = f->what == ESPY_PROBE_STRING	   ? ESPY_MARK_STRING :
			   f->what == ESPY_PROBE_BYTES	   ? ESPY_MARK_BYTES :
			   rule->args[i].letter == 'p'	   ? ESPY_MARK_POINTER : numbers[f->is_signed][f->size];
	}
}

void espy_probe_format(const struct espy_probe_rule *rule, char format[ESPY_PROBE_FORMAT_MAX])
{
	size_t used = 0;

	format[0] = 0;
	for (unsigned i = 0; i < rule->plan.arg_cnt; i++) {
		const struct espy_probe_arg *a = &rule->args[i];

		used += (size_t)snprintf(format + used, ESPY_PROBE_FORMAT_MAX - used, "%s%s=%s%%%s%c", i ? " " : "", a->name,
					 a->letter == 'x' ? "0x" : "", strchr("spc", a->letter) ? "" : "ll", a->letter);
	}
}
_Static_assert(ESPY_MARK_MAX_ARGS * (sizeof(((struct espy_probe_arg *)0)->name) + 8) < ESPY_PROBE_FORMAT_MAX,
	       "no format is cut");

static uint8_t *put_text(uint8_t *to, const char *text, size_t size)
{
	memcpy(to, text, size - 1);
	to[size - 1] = 0;
	return to + size;
}

struct espy_rec_probe_def *espy_probe_def__new(const struct espy_probe_rule *rule, const struct espy_probe_file *file, uint8_t kind,
					       const char *provider, const char *name, uint64_t offset)
{
	const size_t provider_sz = strnlen(provider, 255) + 1, name_sz = strnlen(name, 1023) + 1,
		     path_sz = strnlen(file->path, 4095) + 1;
	char format[ESPY_PROBE_FORMAT_MAX];
	struct espy_rec_probe_def *def;

	espy_probe_format(rule, format);
	const size_t format_sz = strlen(format) + 1;
	const size_t size = (sizeof(*def) + rule->plan.arg_cnt + provider_sz + name_sz + format_sz + path_sz + 7) & ~(size_t)7;

	def = calloc(1, size);
	if (!def)
		return NULL;
	*def = (struct espy_rec_probe_def){
		.rec = { .size = (uint32_t)size, .type = ESPY_REC_PROBE_DEF },
		.nargs = (uint8_t)rule->plan.arg_cnt,
		.kind = kind,
		.result = rule->result,
		.build_id_sz = (uint8_t)file->build_id_sz,
		.provider_sz = (uint16_t)provider_sz,
		.name_sz = (uint16_t)name_sz,
		.format_sz = (uint16_t)format_sz,
		.path_sz = (uint16_t)path_sz,
		.offset = offset,
		.inode = file->inode,
		.dev_major = file->dev_major,
		.dev_minor = file->dev_minor,
	};
	memcpy(def->build_id, file->build_id, file->build_id_sz);
	uint8_t *at = (uint8_t *)(def + 1);

	espy_probe_kinds(rule, at);
	at = put_text(at + rule->plan.arg_cnt, provider, provider_sz);
	at = put_text(at, name, name_sz);
	at = put_text(at, format, format_sz);
	put_text(at, file->path, path_sz);
	return def;
}
