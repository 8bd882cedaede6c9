/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/gather.h"

#include <errno.h>
#include <stdlib.h>
#include "decode/visit.h"
#include "describe/hooks.h"
#include "session/resolve_impl.h"

/* What a call's text can ask, from the types of its parameters. */
enum interest {
	ASKS_NOTHING,
	ASKS_OF_REGISTERS, /* of numbers among the arguments, or of the result */
	ASKS_OF_MEMORY,	   /* of what they point to, as well: to be walked */
};

/* Types nest no deeper than this in any description that the compiler takes. */
#define MAX_DEPTH 24

static bool is_asked(const struct espy_type *t)
{
	switch (t->fmt) {
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
	case ESPY_FMT_PID:
	case ESPY_FMT_TID:
	case ESPY_FMT_IFINDEX:
		return true;
	default:
		return false;
	}
}

/* Is there something to ask anywhere in this type? seen: one byte a type, so that each is looked at once. */
static bool holds(const struct espy_image *img, uint32_t type, uint8_t *seen, unsigned depth)
{
	if (type == ESPY_NONE || depth > MAX_DEPTH || seen[type])
		return false;
	const struct espy_type *t = &img->types[type];

	seen[type] = 1;
	if (is_asked(t) || t->hook == ESPY_HOOK_NETLINK)
		return true;
	switch (t->kind) {
	case ESPY_T_PTR:
	case ESPY_T_ARRAY:
	case ESPY_T_TLV:
		return holds(img, t->elem, seen, depth + 1);
	case ESPY_T_STRUCT:
		for (uint32_t i = 0; i < t->count; i++)
			if (holds(img, img->fields[t->first + i].type, seen, depth + 1))
				return true;
		return false;
	case ESPY_T_UNION:
		for (uint32_t i = 0; i < t->count; i++)
			if (holds(img, img->cases[t->first + i].type, seen, depth + 1))
				return true;
		return false;
	case ESPY_T_BITS:
		return t->fmt == ESPY_FMT_FD;
	default:
		return false;
	}
}

static enum interest interest_of(const struct espy_image *img, const struct espy_call *c, uint8_t *seen)
{
	enum interest most = ASKS_NOTHING;

	if (c->ret.type != ESPY_NONE && is_asked(&img->types[c->ret.type]))
		most = ASKS_OF_REGISTERS;
	for (uint32_t i = 0; i < c->nparam; i++) {
		uint32_t type = img->fields[c->first_param + i].type;

		if (type == ESPY_NONE)
			continue;
		if (img->types[type].kind == ESPY_T_INT) {
			if (is_asked(&img->types[type]))
				most = most > ASKS_OF_REGISTERS ? most : ASKS_OF_REGISTERS;
			continue;
		}
		memset(seen, 0, img->type_cnt);
		if (holds(img, type, seen, 0))
			most = ASKS_OF_MEMORY;
	}
	return most;
}

int espy_gather__init(struct espy_gather *g, struct espy_resolve *r, const struct espy_image *images)
{
	*g = (struct espy_gather){ .resolve = r };
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		const struct espy_image *img = &images[abi];
		uint8_t *seen = malloc(img->type_cnt + 1);

		g->interest[abi] = malloc(img->call_cnt + 1);
		for (uint32_t c = 0; seen && g->interest[abi] && c < img->call_cnt; c++)
			g->interest[abi][c] = (uint8_t)interest_of(img, &img->calls[c], seen);
		free(seen);
		if (!seen || !g->interest[abi]) {
			espy_gather__free(g);
			return -ENOMEM;
		}
	}
	r->gathering = true;
	r->all = true;
	return 0;
}

static void ask(struct espy_resolve *r, const struct espy_call_view *v, const struct espy_type *t, uint64_t num)
{
	switch (t->fmt) {
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
		espy_resolve__ask_fd(r, v->tid, v->tgid, (int)num);
		break;
	case ESPY_FMT_PID:
	case ESPY_FMT_TID:
		if ((int32_t)num > 0)
			espy_resolve__comm(r, (uint32_t)num);
		break;
	case ESPY_FMT_IFINDEX:
		espy_resolve__ifname(r, (uint32_t)num);
		break;
	}
}

struct visit {
	struct espy_resolve *r;
	const struct espy_call_view *v;
};

static void integer(void *ctx, const struct espy_value *val)
{
	struct visit *t = ctx;

	ask(t->r, t->v, val->type, val->num);
}

static bool hook(void *ctx, struct espy_walk *w, unsigned which, const struct espy_value *val)
{
	struct visit *t = ctx;
	unsigned proto;

	(void)w;
	(void)val;
	if (which == ESPY_HOOK_NETLINK)
		t->r->complete.netlink_proto(t->r->complete.ctx, t->v->tid, (int)t->v->args[0], &proto);
	return false;
}

static enum interest of_call(const struct espy_gather *g, const struct espy_call_view *v)
{
	if (v->call == ESPY_NONE || v->ret == -EBADF)
		return ASKS_NOTHING;
	return (enum interest)g->interest[v->image->abi][v->call];
}

void espy_gather__args(struct espy_gather *g, const struct espy_call_view *v, enum espy_part part)
{
	static const struct espy_walk_opts all = { .verbose = true, .decode = true };
	struct espy_resolve *r = g->resolve;
	struct visit t = { .r = r, .v = v };
	enum interest most = of_call(g, v);

	if (part != ESPY_PART_ENTER && espy_resolve__changes_socket(r, v)) {
		struct espy_fd_name *n = espy_fd_table__find(&r->fds, v->tgid, (int)v->args[0]);

		/* What is complete does not change: a connection has both its ends. */
		if (n && !n->told && (!n->detail || !strstr(n->detail, "->")))
			n->detail_asked = false;
	}
	if (most == ASKS_OF_MEMORY) {
		struct espy_visitor vis = espy_visit_nothing;

		vis.integer = integer;
		vis.hook = hook;
		espy_walk__args(&vis, &t, &all, v, part, NULL);
	} else if (most == ASKS_OF_REGISTERS) {
		const struct espy_call *c = &v->image->calls[v->call];

		for (uint32_t i = 0; i < c->nparam; i++) {
			const struct espy_field *f = &v->image->fields[c->first_param + i];

			if (f->type != ESPY_NONE && f->off < ESPY_MAX_ARGS)
				ask(r, v, &v->image->types[f->type], v->args[f->off]);
		}
	}
	if (part != ESPY_PART_ENTER && espy_resolve__renames_task(r, v))
		espy_resolve__comm(r, v->tid);
}

void espy_gather__result(struct espy_gather *g, const struct espy_call_view *v)
{
	if (v->ret < 0 || of_call(g, v) == ASKS_NOTHING)
		return;
	const struct espy_call *c = &v->image->calls[v->call];

	if (c->ret.type != ESPY_NONE)
		ask(g->resolve, v, &v->image->types[c->ret.type], (uint64_t)v->ret);
}

void espy_gather__task(struct espy_gather *g, uint32_t tid)
{
	espy_resolve__comm(g->resolve, tid);
}

void espy_gather__free(struct espy_gather *g)
{
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		free(g->interest[abi]);
		g->interest[abi] = NULL;
	}
}
