/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sink/prefetch.h"

#include <errno.h>
#include <stdlib.h>
#include "describe/asks.h"
#include "sink/namespaces.h"

/* The questions that a call's text can ask, from the types of its parameters. */
enum interest {
	ASKS_NOTHING,
	ASKS_OF_REGISTERS, /* of numbers among the arguments, or of the result */
	ASKS_OF_MEMORY,	   /* of the memory that they point to, as well */
};

static enum interest interest_of(const struct espy_image *img, const struct espy_call *c, uint8_t *seen)
{
	enum interest most = ASKS_NOTHING;

	if (c->ret.type != ESPY_NONE && espy_image__asks_of_integer(&img->types[c->ret.type]))
		most = ASKS_OF_REGISTERS;
	for (uint32_t i = 0; i < c->nparam; i++) {
		uint32_t type = img->fields[c->first_param + i].type;

		if (type == ESPY_NONE)
			continue;
		if (img->types[type].kind == ESPY_T_INT) {
			if (espy_image__asks_of_integer(&img->types[type]))
				most = most > ASKS_OF_REGISTERS ? most : ASKS_OF_REGISTERS;
			continue;
		}
		if (espy_image__asks_of_type(img, type, seen))
			most = ASKS_OF_MEMORY;
	}
	return most;
}

int espy_prefetch__init(struct espy_prefetch *g, struct espy_state *s, const struct espy_image *images)
{
	*g = (struct espy_prefetch){ .resolver = espy_state__resolver(s) };
	g->decoder.resolver = &g->resolver;
	g->decoder.want = (struct espy_want){ .paths = true, .details = true, .comms = true, .elem_limit = UINT32_MAX };
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		const struct espy_image *img = &images[abi];
		uint8_t *seen = malloc(img->type_cnt + 1);

		g->interest[abi] = malloc(img->call_cnt + 1);
		for (uint32_t c = 0; seen && g->interest[abi] && c < img->call_cnt; c++)
			g->interest[abi][c] = (uint8_t)interest_of(img, &img->calls[c], seen);
		free(seen);
		if (!seen || !g->interest[abi]) {
			espy_prefetch__free(g);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Asks as the text of a number will ask. result: of a call, which may make the resolver forget a task. */
static void ask(const struct espy_resolver *r, const struct espy_call_view *v, const struct espy_type *t, uint64_t num,
		bool result)
{
	const bool of_group = t->fmt == ESPY_FMT_PGID || t->fmt == ESPY_FMT_SID;
	struct espy_fd_answer answer;
	uint32_t pid;

	switch (t->fmt) {
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
		if (t->len_a != ESPY_NONE)
			break; /* of another process: its text says what is known then */
		r->fd(r->ctx, v->tid, (int)num, true, &answer);
		break;
	case ESPY_FMT_PID:
	case ESPY_FMT_TID:
	case ESPY_FMT_PGID:
	case ESPY_FMT_SID:
		pid = (int32_t)num > 0 ? r->pid(r->ctx, v->tid, (uint32_t)num, of_group || !result) : 0;
		if (pid && !of_group)
			r->comm(r->ctx, pid);
		break;
	case ESPY_FMT_IFINDEX:
		r->ifname(r->ctx, (uint32_t)num);
		break;
	case ESPY_FMT_GENL:
		r->genl(r->ctx, (uint32_t)num);
		break;
	}
}

static enum interest of_call(const struct espy_prefetch *g, const struct espy_call_view *v)
{
	if (v->call == ESPY_NONE || v->ret == -EBADF)
		return ASKS_NOTHING;
	return (enum interest)g->interest[v->image->abi][v->call];
}

void espy_prefetch__args(struct espy_prefetch *g, const struct espy_call_view *v)
{
	enum interest most = of_call(g, v);

	espy_namespaces__ask(v, &g->resolver); /* in front of the call's record, though they are those behind it */
	if (most == ASKS_OF_MEMORY) {
		/* Only the questions count, not the tokens. */
		if (v->has_exit)
			espy_decoder__args(&g->decoder, v, ESPY_MANNER_FULL, 0);
		else
			espy_decoder__begin(&g->decoder, v, ESPY_MANNER_FULL);
	} else if (most == ASKS_OF_REGISTERS) {
		const struct espy_call *c = &v->image->calls[v->call];

		for (uint32_t i = 0; i < c->nparam; i++) {
			const struct espy_field *f = &v->image->fields[c->first_param + i];

			if (f->type != ESPY_NONE && f->off < ESPY_MAX_ARGS)
				ask(&g->resolver, v, &v->image->types[f->type], v->args[f->off], false);
		}
	}
}

void espy_prefetch__result(struct espy_prefetch *g, const struct espy_call_view *v)
{
	if (v->ret < 0 || of_call(g, v) == ASKS_NOTHING)
		return;
	const struct espy_call *c = &v->image->calls[v->call];

	if (c->ret.type != ESPY_NONE)
		ask(&g->resolver, v, &v->image->types[c->ret.type], (uint64_t)v->ret, true);
}

void espy_prefetch__free(struct espy_prefetch *g)
{
	espy_decoder__free(&g->decoder);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		free(g->interest[abi]);
		g->interest[abi] = NULL;
	}
}
