/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The effect of a call besides memory and result, in words behind it: `closes(fd)`. And the answers to the questions
 * of sources about types: which arguments, results and operations are descriptors. So sources need not look at types.
 */
#include <stdlib.h>
#include "describe/asks.h"
#include "describe/compiler.h"

static const struct {
	const char *name;
	uint8_t nargs, effect;
} effects[] = {
	{ "closes", 1, ESPY_EFFECT_CLOSES },
	{ "closes", 2, ESPY_EFFECT_CLOSES_RANGE },
	{ "replaces", 2, ESPY_EFFECT_REPLACES },
	{ "makes_socket", 2, ESPY_EFFECT_MAKES_SOCKET },
	{ "changes_socket", 1, ESPY_EFFECT_CHANGES_SOCKET },
	{ "sends", 1, ESPY_EFFECT_SENDS },
	{ "changes_cwd", 0, ESPY_EFFECT_CHANGES_CWD },
	{ "renames", 0, ESPY_EFFECT_RENAMES },
	{ "maps", 0, ESPY_EFFECT_MAPS },
	{ "receives_fds", 1, ESPY_EFFECT_RECEIVES_FDS },
	{ "makes_pidfd", 2, ESPY_EFFECT_MAKES_PIDFD },
	{ "makes_pidfd", 1, ESPY_EFFECT_MAKES_PIDFD_BY },
	{ "moves", 1, ESPY_EFFECT_MOVES },
	{ "moves", 2, ESPY_EFFECT_MOVES },
	{ "restores", 0, ESPY_EFFECT_RESTORES },
	{ "enters", 1, ESPY_EFFECT_ENTERS },
	{ "enters", 2, ESPY_EFFECT_ENTERS },
};

#define EFFECT_CNT (sizeof(effects) / sizeof(effects[0]))

bool dc_is_effect(const struct dc_sym *name)
{
	for (size_t i = 0; i < EFFECT_CNT; i++)
		if (!strcmp(effects[i].name, name->s))
			return true;
	return false;
}

/* Lowers the effect of a form. c: the form that has it, so that names mean its own parameters. */
static void lower_effect(struct dc *dc, const struct ast_call *c, struct espy_plan *plan)
{
	uint32_t arg[2] = { ESPY_NO_ARG, ESPY_NO_ARG };
	size_t i = 0;

	while (i < EFFECT_CNT && (strcmp(effects[i].name, c->effect->s) || effects[i].nargs != c->effect_args.n))
		i++;
	if (i == EFFECT_CNT) {
		dc_error(dc, c->effect_pos, "`%s` with %u parameters is no effect", c->effect->s, c->effect_args.n);
		return;
	}
	for (uint32_t k = 0; k < c->effect_args.n; k++) {
		arg[k] = dc_register_of(dc, c, c->effect_args.v[k]);
		if (arg[k] != ESPY_NONE)
			continue;
		dc_error(dc, c->effect_args.pos[k], "`%s` names `%s`, which is no parameter in a register",
			 c->effect->s, c->effect_args.v[k]->s);
		return;
	}
	plan->effect = effects[i].effect;
	plan->effect_args = (uint8_t)(arg[0] | arg[1] << 4);
}

/* Makes an image of the types so far, for the questions of asks.h. Returns room for the types that they have seen. */
static uint8_t *view(struct dc *dc, struct espy_image *img)
{
	uint8_t *seen = malloc(dc->types.n + 1);

	if (!seen)
		longjmp(dc->no_memory, 1);
	*img = (struct espy_image){ .types = dc->types.data,
				    .type_cnt = dc->types.n,
				    .fields = dc->fields.data,
				    .field_cnt = dc->fields.n,
				    .cases = dc->cases.data,
				    .case_cnt = dc->cases.n };
	return seen;
}

static bool is_fd(const struct espy_type *t)
{
	return t->kind == ESPY_T_INT && t->fmt == ESPY_FMT_FD;
}

void dc_lower_effects(struct dc *dc, const struct ast_call *c, const struct espy_call *ic, struct espy_plan *plan)
{
	struct espy_image img;
	uint8_t *seen = view(dc, &img);

	plan->effect_args = ESPY_NO_ARG | ESPY_NO_ARG << 4;
	if (c->effect || (c->base && c->base->effect))
		lower_effect(dc, c->effect ? c : c->base, plan);
	plan->fd_args = (uint8_t)espy_image__fd_args(&img, ic);
	if (ic->ret.type != ESPY_NONE && is_fd(&img.types[ic->ret.type]))
		plan->flags |= ESPY_PLAN_RET_FD;
	if (espy_image__asks_netlink(&img, ic, seen))
		plan->flags |= ESPY_PLAN_NETLINK;
	free(seen);
}

void dc_find_fds(struct dc *dc, struct espy_op *ops, uint32_t n)
{
	struct espy_image img;
	uint8_t *seen = view(dc, &img);

	for (uint32_t k = 0; k < n; k++) {
		const struct espy_type *t = &img.types[ops[k].type];
		const struct espy_type *elem = t->kind == ESPY_T_ARRAY ? &img.types[t->elem] : t;

		if (ops[k].kind == ESPY_OP_CSTR && t->flags & ESPY_TF_PATH && !(t->flags & ESPY_TF_UNTOUCHED))
			ops[k].holds |= ESPY_HOLDS_PATH;
		if (ops[k].kind == ESPY_OP_BYTES && is_fd(elem) && elem->size == 4)
			ops[k].holds |= ESPY_HOLDS_FDS;
		if (espy_image__asks_of_type(&img, ops[k].type, seen) & ESPY_ASKS_FD)
			ops[k].holds |= ESPY_HOLDS_SOME_FDS;
	}
	free(seen);
}
