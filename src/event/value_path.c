/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "event/value_path.h"

#include <stdlib.h>
#include <string.h>

/* Groups nest no deeper than types do. */
#define DEPTH_MAX 64u

struct search {
	const struct espy_value_path *path;
	const char *at; /* the rest of the path for the next value; NULL: it is another value */
	const char *open[DEPTH_MAX];
	uint64_t elem[DEPTH_MAX]; /* the index of the next element */
	unsigned depth;
};

bool espy_value_path__is_field(const char *name, const char *word, size_t len)
{
	const size_t n = strlen(name);

	return n >= len && !memcmp(name + n - len, word, len) && (n == len || name[n - len - 1] == '_');
}

static void on_open(struct search *s, const struct espy_token *k)
{
	if (s->depth < DEPTH_MAX) {
		s->open[s->depth] = s->at;
		s->elem[s->depth] = 0;
	}
	s->depth++;
	if (k->group == ESPY_GROUP_POINTEE && s->at && !strncmp(s->at, "[0]", 3))
		s->at += 3;
}

/* Ends a group. A token behind it without a role belongs to the same value. */
static void on_close(struct search *s)
{
	s->depth -= s->depth > 0;
	s->at = s->depth < DEPTH_MAX ? s->open[s->depth] : NULL;
}

static const char *around(const struct search *s)
{
	return s->depth && s->depth <= DEPTH_MAX ? s->open[s->depth - 1] : NULL;
}

static void on_field(struct search *s, const char *name)
{
	const char *at = s->depth ? around(s) : s->path->rest;

	s->at = at;
	if (!at || !*name)
		return; /* the fields of a part without a name are fields here */
	const size_t len = *at == '.' ? strcspn(at + 1, ".[") : 0;

	s->at = len && espy_value_path__is_field(name, at + 1, len) ? at + 1 + len : NULL;
}

static void on_elem(struct search *s, uint64_t index)
{
	const char *at = around(s);
	char *end;

	s->at = at && *at == '[' && strtoull(at + 1, &end, 10) == index && *end == ']' ? end + 1 : NULL;
}

static void on_role(struct search *s, const struct espy_token *k)
{
	switch (k->role) {
	case ESPY_ROLE_ARG:
	case ESPY_ROLE_ARG_NAMED:
	case ESPY_ROLE_ARG_UNNAMED:
		s->at = s->path->param && !strcmp(k->name, s->path->param) ? s->path->rest : NULL;
		s->depth = 0;
		break;
	case ESPY_ROLE_FIELD:
		on_field(s, k->name);
		break;
	case ESPY_ROLE_FIELD_UNNAMED:
		on_field(s, "");
		break;
	case ESPY_ROLE_ELEM:
		on_elem(s, s->depth && s->depth <= DEPTH_MAX ? s->elem[s->depth - 1]++ : 0);
		break;
	case ESPY_ROLE_INDEX:
		on_elem(s, k->num);
		break;
	case ESPY_ROLE_PART:
	case ESPY_ROLE_LABEL:
		s->at = NULL;
		break;
	}
}

void espy_value_path__each(const struct espy_tokens *t, const struct espy_value_path *p, void (*fn)(void *ctx, uint32_t i), void *ctx)
{
	struct search s = { .path = p, .at = p->param ? NULL : p->rest };

	for (uint32_t i = 0; i < t->cnt; i++) {
		const struct espy_token *k = &t->at[i];

		if (!(k->shown & p->manner)) {
			i = k->kind == ESPY_TOKEN_OPEN ? k->link : i;
			continue;
		}
		on_role(&s, k);
		if (k->kind == ESPY_TOKEN_CLOSE) {
			on_close(&s);
			continue;
		}
		if (s.at && !*s.at)
			fn(ctx, i);
		if (k->kind == ESPY_TOKEN_OPEN)
			on_open(&s, k);
	}
}
