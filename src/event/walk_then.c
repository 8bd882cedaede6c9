/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a call left behind the pointer of the parameter before: ` => value`. */
#include <string.h>

#include "event/walk_impl.h"

/* Tells whether the arrays of an argument could be read whole: walks it once more, for nothing. */
static bool is_intact(struct espy_walk *w, const struct espy_field *declared)
{
	const struct espy_field chosen = espy_walk_chosen(w, declared), *p = &chosen;
	const struct espy_type *t = &w->img->types[p->type];
	const uint64_t x = espy_walk__param_of(w, p, t);
	const uint32_t at = w->out->cnt;

	if (t->kind != ESPY_T_PTR)
		return false;
	w->broken = false;
	espy_walk_ptr(w, t, x, x ? espy_walk_arg_op(w, (uint8_t)p->off, t) : -1, 0, "");
	w->out->cnt = at;
	return !w->broken;
}

/* What the call left behind the pointer of the parameter before this one; nothing if it failed, unless `on err` reads it. */
void espy_walk_then(struct espy_walk *w, const struct espy_field *p, const struct espy_type *t)
{
	const struct espy_plan *plan = &w->img->plans[w->v->plan];
	const struct espy_op *ops = &w->img->ops[plan->first_op];
	unsigned k = 0;

	if (t->kind == ESPY_T_INT) { /* where no pointer counts, a number */
		if (p[-1].when == ESPY_NONE || espy_walk__eval(w, NULL, p[-1].when, false))
			return;
		w->wrote = true;
		espy_walk_role(w, espy_walk_arg_role(p), espy_image__str(w->img, p->name));
		espy_walk_integer(w, t, espy_walk__param(w, p), NULL, 0, "");
		return;
	}
	if (t->kind != ESPY_T_PTR)
		return;
	while (k < plan->op_cnt && !(ops[k].src == p->off && ops[k].type == t->elem && (ops[k].when & ESPY_OP_EXIT)))
		k++;
	/* Where the parameter before it does not count, it is the argument. */
	if (p[-1].when != ESPY_NONE && !espy_walk__eval(w, NULL, p[-1].when, false)) {
		w->wrote = true;
		espy_walk_role(w, espy_walk_arg_role(&p[-1]), espy_image__str(w->img, p[-1].name));
		espy_walk_ptr(w, t, espy_walk__param(w, p), k < plan->op_cnt ? (int)k : -1, 0, "");
		return;
	}
	if (!espy_walk__param(w, p))
		return;
	/* it goes on from what was shown of the bytes before the call */
	int before = -1;
	for (unsigned i = 0; i < plan->op_cnt && before < 0; i++)
		if (ops[i].src == p->off && (ops[i].when & ESPY_OP_ENTER))
			before = (int)i;
	const struct espy_item *in = before < 0 ? NULL : espy_call_view__item(w->v, (unsigned)before, 0, false);
	const struct espy_type *was = before < 0 ? NULL : &w->img->types[ops[before].type];
	const bool all = !was || was->kind == ESPY_T_ARRAY || was->flags & ESPY_TF_WHOLE; /* must have been read */
	if (was && (!in || !in->len || in->len < (all ? espy_walk_want(w, was) : was->size)))
		return;
	if (p->flags & ESPY_FF_BOTH && w->failed) {
		espy_walk_changed(w);
		espy_walk_address(w, espy_walk__param(w, p));
		return;
	}
	const struct espy_item *it = k < plan->op_cnt ? espy_call_view__item(w->v, k, 0, true) : NULL;
	if (!it || it->len < w->img->types[t->elem].size)
		return;
	if (p->flags & ESPY_FF_INTACT && !is_intact(w, &p[-1]))
		return;
	/* a call that fails seldom writes */
	const uint32_t size = w->img->types[t->elem].size;
	if (w->failed && !(p->flags & ESPY_FF_INTACT) && !(t->flags & ESPY_TF_ERR_ONLY) && in && in->len >= size &&
	    !memcmp(espy_item__bytes(in), espy_item__bytes(it), size))
		return;
	if (p->flags & ESPY_FF_ON_OK) {
		if (!w->ok)
			return;
		espy_walk_role(w, espy_walk_arg_role(p), espy_image__str(w->img, p->name));
	} else {
		espy_walk_changed(w);
	}
	espy_walk_ptr(w, t, espy_walk__param(w, p), (int)k, 0, espy_image__str(w->img, p->name));
}
