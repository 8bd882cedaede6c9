/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/mark_def.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "record/mark_format.h"

/* Makes the form in which the conversion shows a number, without alignment: zeros are part of it, blanks are not. */
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

/* Makes a definition from kinds and three texts, one behind the other at `at`, where there are `room` bytes. */
static int make(struct espy_mark_def **out, const uint8_t *at, size_t room, unsigned nargs, const uint16_t sizes[3])
{
	const size_t texts = (size_t)sizes[0] + sizes[1] + sizes[2];

	if (nargs > ESPY_MARK_MAX_ARGS || !sizes[0] || !sizes[1] || !sizes[2] || nargs > room || texts > room - nargs)
		return -EBADMSG;
	struct espy_mark_def *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->nargs = nargs;
	for (unsigned i = 0; i < t->nargs; i++)
		t->args[i].kind = at[i];
	at += nargs;
	t->texts = malloc(texts);
	if (!t->texts) {
		free(t);
		return -ENOMEM;
	}
	memcpy(t->texts, at, texts);
	t->provider = t->texts;
	t->name = t->provider + sizes[0];
	t->format = t->name + sizes[1];
	/* Each text ends, whatever its bytes are. */
	t->provider[sizes[0] - 1] = t->name[sizes[1] - 1] = t->format[sizes[2] - 1] = 0;
	read_format(t);
	*out = t;
	return 0;
}

int espy_mark_def__make(struct espy_mark_def **out, const struct espy_rec_mark_def *def)
{
	*out = NULL;
	if (def->rec.size < sizeof(*def))
		return -EBADMSG;
	const uint16_t sizes[] = { def->provider_sz, def->name_sz, def->format_sz };

	return make(out, (const uint8_t *)(def + 1), def->rec.size - sizeof(*def), def->nargs, sizes);
}

int espy_mark_def__make_probe(struct espy_mark_def **out, const struct espy_rec_probe_def *def)
{
	*out = NULL;
	if (def->rec.size < sizeof(*def) || def->kind >= ESPY_PROBE_KINDS || def->result > def->nargs)
		return -EBADMSG;
	const uint16_t sizes[] = { def->provider_sz, def->name_sz, def->format_sz };
	int err = make(out, (const uint8_t *)(def + 1), def->rec.size - sizeof(*def), def->nargs, sizes);

	if (!err) {
		(*out)->place = def->kind;
		(*out)->result = def->result;
	}
	return err;
}

void espy_mark_def__free(struct espy_mark_def *t)
{
	if (!t)
		return;
	free(t->texts);
	free(t);
}
