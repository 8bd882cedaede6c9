/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds types, tables and calls of an opened image by name, and the variant by the arguments. */
#include <errno.h>
#include <string.h>
#include "base/search.h"
#include "describe/image.h"

uint32_t espy_image__find_type(const struct espy_image *img, const char *name)
{
	for (uint32_t i = 0; i < img->type_cnt; i++) {
		const struct espy_type *t = &img->types[i];

		/* Not the copies that a use with a length or a hook made. */
		if (t->kind == ESPY_T_STRUCT && !(t->flags & ESPY_TF_SIZED) && !t->hook &&
		    !strcmp(espy_image__str(img, t->name), name))
			return i;
	}
	return ESPY_NONE;
}

uint32_t espy_image__find_table(const struct espy_image *img, const char *name)
{
	for (uint32_t i = 0; i < img->table_cnt; i++)
		if (!strcmp(espy_image__str(img, img->tables[i].name), name))
			return i;
	return ESPY_NONE;
}

int espy_image__find_syscall(const struct espy_image *img, const char *name)
{
	if (!*name)
		return -ENOENT;
	for (uint32_t i = 0; i < img->syscall_cnt; i++)
		if (!strcmp(espy_image__str(img, img->syscalls[i].name), name))
			return (int)i;
	return -ENOENT;
}

static const struct espy_variant *find_variant(const struct espy_image *img, const struct espy_call_plan *p,
					       uint64_t key)
{
	const struct espy_variant *v = img->variants + p->first_variant;
	size_t at;

	ESPY_SEARCH(at, p->variant_cnt, v[at].key >= key);
	return at < p->variant_cnt && v[at].key == key ? &v[at] : NULL;
}

/* Apart, since most calls have no variants, and registers need not be saved for them. */
static __attribute__((noinline)) uint32_t select_variant(const struct espy_image *img, const struct espy_call_plan *p,
							 uint32_t nr, const uint64_t args[6], uint32_t *plan_idx)
{
	uint64_t key = (uint32_t)args[p->key_arg0] & p->key_mask0;

	if (p->key_arg1 != 0xff)
		key = key << 32 | (uint32_t)args[p->key_arg1];
	const struct espy_variant *v = find_variant(img, p, key);
	if (!v && ESPY_FAMILY_HAS(p->inner, key))
		v = find_variant(img, p, ESPY_FAMILY_KEY(key));
	if (!v)
		return img->syscalls[nr].call;
	*plan_idx = v->plan;
	return v->call;
}

uint32_t espy_image__select(const struct espy_image *img, uint32_t nr, const uint64_t args[6], uint32_t *plan_idx)
{
	if (nr >= img->syscall_cnt) {
		*plan_idx = ESPY_NONE;
		return ESPY_NONE;
	}
	const struct espy_call_plan *p = &img->call_plans[nr];

	*plan_idx = p->plan;
	if (!p->variant_cnt)
		return img->syscalls[nr].call;
	return select_variant(img, p, nr, args, plan_idx);
}

uint32_t espy_image__inner(const struct espy_image *img, uint32_t nr, const uint64_t args[6], uint32_t *args_arg)
{
	if (nr >= img->syscall_cnt || !ESPY_LEADS_ON(&img->call_plans[nr]))
		return ESPY_NONE;
	const struct espy_call_plan *p = &img->call_plans[nr];
	const uint32_t key = (uint32_t)args[p->key_arg0] & p->key_mask0, inner = ESPY_INNER_FIRST(p->inner) + key;

	if (key >= ESPY_INNER_KEYS || inner >= img->syscall_cnt || !*espy_image__str(img, img->syscalls[inner].name))
		return ESPY_NONE;
	*args_arg = ESPY_INNER_ARGS(p->inner) ? ESPY_INNER_ARGS(p->inner) - 1 : ESPY_NONE;
	return inner;
}

const char *espy_image__event_name(const struct espy_image *img, uint32_t nr)
{
	const struct espy_syscall *s = &img->syscalls[nr];
	const char *event = s->call < img->call_cnt ? espy_image__str(img, img->calls[s->call].event) : "";

	return *event ? event : espy_image__str(img, s->name);
}
