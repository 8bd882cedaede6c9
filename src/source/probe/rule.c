/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes the definition of a probe for the stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/num.h"
#include "source/probe/probe_impl.h"

void espy_probe_kinds(const struct espy_probe_rule *rule, uint8_t kinds[ESPY_MARK_MAX_ARGS])
{
	static const uint8_t numbers[2][9] = {
		{ [1] = ESPY_MARK_U8, [2] = ESPY_MARK_U16, [4] = ESPY_MARK_U32, [8] = ESPY_MARK_U64 },
		{ [1] = ESPY_MARK_I8, [2] = ESPY_MARK_I16, [4] = ESPY_MARK_I32, [8] = ESPY_MARK_I64 },
	};

	for (unsigned i = 0; i < rule->plan.arg_cnt; i++) {
		const struct espy_probe_fetch *f = &rule->plan.fetches[i];

		const char letter = rule->args[i].letter;

		kinds[i] = f->what == ESPY_PROBE_STRING	   ? ESPY_MARK_STRING
			   : f->what == ESPY_PROBE_BYTES   ? ESPY_MARK_BYTES
			   : letter == 'p'		   ? ESPY_MARK_POINTER
			   : letter == 'g' && f->size == 8 ? ESPY_MARK_DOUBLE
							   : numbers[f->is_signed][f->size];
	}
}

/* Puts one conversion, as espy-trace-format(5) says. */
static void put_argument(struct espy_buf *b, const struct espy_probe_arg *a, uint32_t max)
{
	if (a->before)
		espy_buf__puts(b, a->before);
	espy_buf__puts(b, a->name);
	espy_buf__puts(b, a->letter == 'x' ? "=0x%" : "=%");
	if (a->is_array) {
		espy_buf__putc(b, '.');
		espy_buf__dec(b, max);
	}
	espy_buf__puts(b, strchr("spcg", a->letter) ? "" : "ll");
	espy_buf__putc(b, a->letter);
	if (a->bits) {
		espy_buf__putc(b, '<');
		espy_buf__dec(b, a->low);
		espy_buf__putc(b, ':');
		espy_buf__dec(b, a->bits);
		espy_buf__putc(b, '>');
	}
	if (a->words) {
		espy_buf__putc(b, '{');
		espy_buf__puts(b, a->words);
		espy_buf__putc(b, '}');
	}
}

char *espy_probe_format(const struct espy_probe_rule *rule)
{
	struct espy_buf b = { 0 };

	for (unsigned i = 0; i < rule->plan.arg_cnt; i++) {
		if (i)
			espy_buf__putc(&b, ' ');
		put_argument(&b, &rule->args[i], rule->plan.fetches[i].max);
	}
	if (rule->behind)
		espy_buf__puts(&b, rule->behind);
	return espy_buf__string(&b);
}

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
	struct espy_rec_probe_def *def;
	char *format = espy_probe_format(rule);
	const size_t format_sz = format ? strlen(format) + 1 : 0;
	const size_t size = (sizeof(*def) + rule->plan.arg_cnt + provider_sz + name_sz + format_sz + path_sz + 7) & ~(size_t)7;

	def = format_sz && format_sz <= UINT16_MAX ? calloc(1, size) : NULL;
	if (!def) {
		free(format);
		return NULL;
	}
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
	free(format);
	return def;
}
