/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Security contexts of SELinux: user:role:type:level, of which the type says most. */
#include <espy/espy.h>

#include "sink/text/text_impl.h"

struct part {
	const char *at;
	size_t len;
};

/* Returns the third field of a context; the whole if it has no three. */
static struct part type_of(struct part context)
{
	const char *at = context.at, *end = context.at + context.len;

	for (unsigned i = 0; i < 2; i++) {
		at = memchr(at, ':', (size_t)(end - at));
		if (!at)
			return context;
		at++;
	}
	const char *behind = memchr(at, ':', (size_t)(end - at));

	return (struct part){ at, (size_t)((behind ? behind : end) - at) };
}

/* The attribute of a file may hold any bytes, and a terminal must not get them raw. */
static void put_part(struct espy_buf *b, struct part p)
{
	espy_buf__quote(b, (const uint8_t *)p.at, p.len, ESPY_HEX_NONE, "[]", false);
}

void espy_text__context(struct espy_buf *b, unsigned how, const char *actual, const uint8_t *expected, size_t len)
{
	struct part is = { actual, strlen(actual) }, should = { (const char *)expected, expected ? len : 0 };

	if (!(how & ESPY_CONTEXTS_FULL)) {
		is = type_of(is);
		should = should.len ? type_of(should) : should;
	}
	espy_buf__putc(b, '[');
	put_part(b, is);
	if (how & ESPY_CONTEXTS_EXPECTED && should.len && (is.len != should.len || memcmp(is.at, should.at, is.len))) {
		espy_buf__put(b, "!!", 2);
		put_part(b, should);
	}
	espy_buf__putc(b, ']');
}

void espy_text_context(struct espy_text *t, const struct espy_token *v)
{
	if (!t->o->contexts)
		return;
	espy_buf__putc(t->b, ' ');
	espy_text__context(t->b, t->o->contexts, v->name, v->bytes, v->len);
}
