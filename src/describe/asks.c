/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "describe/asks.h"

#include <string.h>
#include "describe/hooks.h"
#include "record/record.h"

/* Types nest no deeper than this in any description that the compiler takes. */
#define MAX_DEPTH 24

unsigned espy_image__asks_of_integer(const struct espy_type *t)
{
	switch (t->fmt) {
	case ESPY_FMT_FD:
	case ESPY_FMT_DIRFD:
		return ESPY_ASKS_FD;
	case ESPY_FMT_PID:
	case ESPY_FMT_TID:
		return ESPY_ASKS_PID;
	case ESPY_FMT_IFINDEX:
	case ESPY_FMT_GENL:
		return ESPY_ASKS_NUMBERED;
	default:
		return 0;
	}
}

/* Returns the questions of a type. It looks at each type once. */
static unsigned asks_of(const struct espy_image *img, uint32_t type, uint8_t *seen, unsigned depth)
{
	if (type == ESPY_NONE || depth > MAX_DEPTH || seen[type])
		return 0;
	const struct espy_type *t = &img->types[type];
	unsigned asks = espy_image__asks_of_integer(t) | (t->hook == ESPY_HOOK_NETLINK ? ESPY_ASKS_NETLINK : 0);

	seen[type] = 1;
	switch (t->kind) {
	case ESPY_T_PTR:
	case ESPY_T_ARRAY:
	case ESPY_T_TLV:
	case ESPY_T_PLACED:
		return asks | asks_of(img, t->elem, seen, depth + 1);
	case ESPY_T_STRUCT:
		for (uint32_t i = 0; i < t->count; i++)
			asks |= asks_of(img, img->fields[t->first + i].type, seen, depth + 1);
		return asks;
	case ESPY_T_UNION:
		for (uint32_t i = 0; i < t->count; i++)
			asks |= asks_of(img, img->cases[t->first + i].type, seen, depth + 1);
		return asks;
	default:
		return asks;
	}
}

unsigned espy_image__asks_of_type(const struct espy_image *img, uint32_t type, uint8_t *seen)
{
	memset(seen, 0, img->type_cnt);
	return asks_of(img, type, seen, 0);
}

unsigned espy_image__fd_args(const struct espy_image *img, const struct espy_call *c)
{
	unsigned args = 0;

	for (uint32_t i = 0; i < c->nparam; i++) {
		const struct espy_field *f = &img->fields[c->first_param + i];

		/* The descriptor of another process is none of the caller's. */
		if (f->type != ESPY_NONE && f->off < ESPY_MAX_ARGS && img->types[f->type].kind == ESPY_T_INT &&
		    img->types[f->type].len_a == ESPY_NONE &&
		    espy_image__asks_of_integer(&img->types[f->type]) & ESPY_ASKS_FD)
			args |= 1u << f->off;
	}
	return args;
}

bool espy_image__asks_netlink(const struct espy_image *img, const struct espy_call *c, uint8_t *seen)
{
	if (!(espy_image__fd_args(img, c) & 1))
		return false;
	for (uint32_t i = 0; i < c->nparam; i++) {
		const uint32_t type = img->fields[c->first_param + i].type;

		if (type != ESPY_NONE && img->types[type].kind != ESPY_T_INT &&
		    espy_image__asks_of_type(img, type, seen) & ESPY_ASKS_NETLINK)
			return true;
	}
	return false;
}
