/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/mark_def.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record/mark_format.h"

/* How the conversion shows a number, without what only aligns columns: zeros are part of it, blanks are not. */
static void make_spec(struct espy_mark_arg_def *a, const struct espy_mark_conv *c)
{
	size_t n = 0;

	a->spec[n++] = '%';
	if (c->alternate)
		a->spec[n++] = '#';
	if (c->plus)
		a->spec[n++] = '+';
	else if (c->blank && (c->letter == 'd' || c->letter == 'i'))
		a->spec[n++] = ' ';
	if (c->zeros && !c->minus && c->width && c->width != ESPY_CONV_NONE)
		n += (size_t)snprintf(a->spec + n, sizeof(a->spec) - n, "0%u", c->width < 64 ? c->width : 64);
	if (c->precision != ESPY_CONV_NONE && strchr("diuoxXeEfFgGaA", c->letter))
		n += (size_t)snprintf(a->spec + n, sizeof(a->spec) - n, ".%u", c->precision < 64 ? c->precision : 64);
	a->spec[n] = 0;
}

static void read_format(struct espy_mark_def *t)
{
	const size_t len = strlen(t->format);
	struct espy_mark_conv c;
	size_t at = 0;

	for (unsigned i = 0; i < t->nargs && espy_mark_conv__next(&c, t->format, len, &at); i++) {
		struct espy_mark_arg_def *a = &t->args[i];

		a->letter = c.letter;
		a->narrow = c.narrow < 0 ? 0 : c.narrow ? 16 : 8;
		make_spec(a, &c);
		a->hex_prefix = c.hex_prefix && strchr("xXp", c.letter);
		a->name = t->format + c.name_off;
		a->name_len = c.name_len;
	}
}

int espy_mark_def__make(struct espy_mark_def **out, const struct espy_rec_mark_def *def)
{
	const uint8_t *at = (const uint8_t *)(def + 1);
	size_t room, texts;

	*out = NULL;
	if (def->rec.size < sizeof(*def) || def->nargs > ESPY_MARK_MAX_ARGS)
		return -EBADMSG;
	room = def->rec.size - sizeof(*def);
	texts = (size_t)def->provider_sz + def->name_sz + def->format_sz;
	if (!def->provider_sz || !def->name_sz || !def->format_sz || def->nargs > room || texts > room - def->nargs)
		return -EBADMSG;
	struct espy_mark_def *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->nargs = def->nargs;
	for (unsigned i = 0; i < t->nargs; i++)
		t->args[i].kind = at[i];
	at += def->nargs;
	t->texts = malloc(texts);
	if (!t->texts) {
		free(t);
		return -ENOMEM;
	}
	memcpy(t->texts, at, texts);
	t->provider = t->texts;
	t->name = t->provider + def->provider_sz;
	t->format = t->name + def->name_sz;
	/* Whatever stands there: each of them ends. */
	t->provider[def->provider_sz - 1] = t->name[def->name_sz - 1] = t->format[def->format_sz - 1] = 0;
	read_format(t);
	*out = t;
	return 0;
}

void espy_mark_def__free(struct espy_mark_def *t)
{
	if (!t)
		return;
	free(t->texts);
	free(t);
}
