/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The visitor that looks at nothing: the base of those that look at little. */
#include "decode/visit.h"

static void arg(void *ctx, const char *name, const struct espy_type *type, bool named)
{
}

static void field(void *ctx, const char *name, const struct espy_type *type)
{
}

static void group_open(void *ctx, enum espy_group group, const struct espy_type *type)
{
}

static void group_close(void *ctx, enum espy_group group)
{
}

static void plain(void *ctx)
{
}

static void leaf(void *ctx, const struct espy_value *v)
{
}

static void address(void *ctx, uint64_t addr)
{
}

static void vars(void *ctx, uint64_t addr, unsigned count, bool unterminated)
{
}

static void elided(void *ctx, enum espy_elided why, uint64_t addr)
{
}

static bool note(void *ctx, unsigned n, int64_t a, int64_t b, bool before)
{
	return false;
}

static bool hook(void *ctx, struct espy_walk *w, unsigned h, const struct espy_value *v)
{
	return false;
}

const struct espy_visitor espy_visit_nothing = {
	.arg = arg,
	.open = group_open,
	.close = group_close,
	.field = field,
	.elem = plain,
	.integer = leaf,
	.string = leaf,
	.bits = leaf,
	.address = address,
	.vars = vars,
	.changed = plain,
	.elided = elided,
	.note = note,
	.hook = hook,
};
