/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads expressions of names, whatever kind of debug information knows the names. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "symbols/variables.h"

#define INDEX_MAX (1u << 24)
#define STARS_MAX 8u
#define OFFERED 8u /* names in a message */

void espy_variables__close(struct espy_variables *v)
{
	free(v);
}

int espy_variables__members(struct espy_variables *v, const struct espy_variable *of,
			    int (*fn)(void *ctx, const char *name, const struct espy_variable *member), void *ctx)
{
	return v->ops->members(v, of, fn, ctx);
}

int espy_variables__constants(struct espy_variables *v, const struct espy_variable *of,
			      int (*fn)(void *ctx, const char *name, int64_t value), void *ctx)
{
	return v->ops->constants(v, of, fn, ctx);
}

void espy_variables__each(struct espy_variables *v,
			  void (*fn)(void *ctx, const char *name, const char *type, const char *why), void *ctx)
{
	v->ops->each(v, fn, ctx);
}

bool espy_var_way__follow(struct espy_var_way *way)
{
	if (way->is_memory) {
		if (way->loads == ESPY_VAR_LOADS)
			return false;
		way->loads++;
		way->off[way->loads] = 0;
		return true;
	}
	if (way->is_in_halves && way->bit % 64)
		return false;
	if (way->is_in_halves && way->bit)
		way->reg = way->second;
	way->is_in_halves = false;
	way->bit = 0;
	way->is_memory = true;
	return way->base != ESPY_VAR_REG || way->reg != ESPY_VAR_NO_REG;
}

/* ---- names in messages */

void espy_var_offers__begin(struct espy_var_offers *o, const char *wanted)
{
	*o = (struct espy_var_offers){ .cnt = 0 };
	espy_nearest__begin(&o->near, wanted, strlen(wanted));
}

void espy_var_offers__add(struct espy_var_offers *o, const char *name, bool listed)
{
	const size_t len = strlen(o->text);

	espy_nearest__offer(&o->near, name);
	if (listed && o->cnt++ < OFFERED && len + strlen(name) + 8 < sizeof(o->text))
		snprintf(o->text + len, sizeof(o->text) - len, "%s%s", len ? ", " : "", name);
}

void espy_var_offers__put(const struct espy_var_offers *o, char why[ESPY_VAR_WHY])
{
	const size_t len = strlen(why);
	char hint[ESPY_HINT_MAX];

	if (o->near.word)
		snprintf(why + len, ESPY_VAR_WHY - len, "%s", espy_nearest__hint(&o->near, hint));
	else if (o->cnt)
		snprintf(why + len, ESPY_VAR_WHY - len, "; there %s %s%s", o->cnt > 1 ? "are" : "is", o->text,
			 o->cnt > OFFERED ? ", ..." : "");
}

/* ---- from one value to another */

static int to_index(struct espy_variables *v, struct espy_variable *x, uint64_t index, char why[ESPY_VAR_WHY])
{
	const uint64_t cnt = v->ops->length(v, x);
	int err;

	if (cnt && index >= cnt) {
		snprintf(why, ESPY_VAR_WHY, "the array has %llu elements, from 0 on", (unsigned long long)cnt);
		return -EINVAL;
	}
	err = v->ops->target(v, x, why);
	if (err)
		return err;
	if (!x->size || !x->way.is_memory) {
		snprintf(why, ESPY_VAR_WHY, "how large its elements are is not known");
		return -EINVAL;
	}
	espy_var_way__add(&x->way, index * x->size);
	return 0;
}

struct wanted {
	const char *name;
	struct espy_variable found;
	struct espy_var_offers offers;
};

static int is_wanted(void *ctx, const char *name, const struct espy_variable *member)
{
	struct wanted *w = ctx;

	if (!strcmp(name, w->name)) {
		w->found = *member;
		return 1;
	}
	espy_var_offers__add(&w->offers, name, true);
	return 0;
}

static int to_named(struct espy_variables *v, struct espy_variable *x, const char *name, char why[ESPY_VAR_WHY])
{
	struct wanted w = { .name = name };
	int err = 0;

	if (x->kind == ESPY_VAR_POINTER || x->kind == ESPY_VAR_STRING)
		err = v->ops->target(v, x, why);
	if (err)
		return err;
	if (x->kind != ESPY_VAR_STRUCT) {
		snprintf(why, ESPY_VAR_WHY, "what stands before '%s' is no struct", name);
		return -EINVAL;
	}
	espy_var_offers__begin(&w.offers, name);
	if (!espy_variables__members(v, x, is_wanted, &w)) {
		snprintf(why, ESPY_VAR_WHY, "there is no member '%s'", name);
		espy_var_offers__put(&w.offers, why);
		return -ENOENT;
	}
	*x = w.found;
	return 0;
}

/* ---- expressions */

static size_t word_len(const char *at)
{
	size_t n = *at == '$';

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

/* Follows references, which are no pointers to the programmer. */
static int settle(struct espy_variables *v, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	int err = 0;

	for (unsigned i = 0; !err && v->ops->is_reference && i < STARS_MAX && v->ops->is_reference(v, x); i++)
		err = v->ops->target(v, x, why);
	return err;
}

/* Takes one `.name`, `->name` or `[N]`. */
static int take_part(struct espy_variables *v, const char **at, struct espy_variable *x, char why[ESPY_VAR_WHY])
{
	char name[128];
	char *end;

	if (**at == '[') {
		const unsigned long index = strtoul(*at + 1, &end, 10);

		if (!isdigit((unsigned char)(*at)[1]) || *end != ']' || index > INDEX_MAX) {
			snprintf(why, ESPY_VAR_WHY, "[NUMBER] is expected: the element of an array");
			return -EINVAL;
		}
		*at = end + 1;
		return to_index(v, x, index, why);
	}
	*at += **at == '.' ? 1 : 2;
	const size_t len = word_len(*at);

	/* A dot and a number are an element, as arguments are named. */
	if (len && strspn(*at, "0123456789") == len && len < 9) {
		const unsigned long index = strtoul(*at, NULL, 10);

		*at += len;
		return index <= INDEX_MAX ? to_index(v, x, index, why) : -EINVAL;
	}
	if (!len || len >= sizeof(name)) {
		snprintf(why, ESPY_VAR_WHY, "the name of a member is expected behind '.' and '->'");
		return -EINVAL;
	}
	memcpy(name, *at, len);
	name[len] = 0;
	*at += len;
	return to_named(v, x, name, why);
}

int espy_variables__find(struct espy_variables *v, const char *expr, struct espy_variable *out, char why[ESPY_VAR_WHY])
{
	const size_t stars = strspn(expr, "*");
	const char *at = expr + stars;
	const size_t len = word_len(at);
	char name[128];
	int err;

	*out = (struct espy_variable){ 0 };
	why[0] = 0;
	if (!len || len >= sizeof(name) || stars > STARS_MAX) {
		snprintf(why, ESPY_VAR_WHY, "the name of a variable is expected");
		return -EINVAL;
	}
	memcpy(name, at, len);
	name[len] = 0;
	at += len;
	err = v->ops->name(v, name, out, why);
	err = err ? err : settle(v, out, why);
	while (!err && (*at == '.' || *at == '[' || !strncmp(at, "->", 2))) {
		err = take_part(v, &at, out, why);
		err = err ? err : settle(v, out, why);
	}
	if (!err && *at) {
		snprintf(why, ESPY_VAR_WHY, "'->', '.', '[' or the end is expected before '%s'", at);
		err = -EINVAL;
	}
	for (size_t i = 0; i < stars && !err; i++) {
		err = v->ops->target(v, out, why);
		err = err ? err : settle(v, out, why);
	}
	return err;
}
