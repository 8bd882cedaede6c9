/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The walk's own state: shared by walk.c and expr.c, not for users. */
#ifndef ESPY_DECODE_WALK_H
#define ESPY_DECODE_WALK_H

#include "decode/visit.h"

#define ESPY_NO_OP 0xffu

/*
 * Captured bytes of one object in the program's memory, as read before [0] and after [1] the call.
 * op, index and pos say where they lie in the plan's terms, so that a pointer among them finds the
 * operation that followed it.
 */
struct espy_span {
	const uint8_t *p[2]; /* NULL: not captured */
	size_t n[2];
	uint64_t want; /* bytes of the object in the program; may be more than was captured */
	uint64_t addr; /* 0: not known */
	uint8_t op;    /* ESPY_NO_OP: none */
	bool fault;    /* what is missing is unreadable */
	bool cut;      /* there is more than was captured, and nobody knows how much: a string */
	uint16_t index;
	size_t pos;    /* of p[] in the item */
};

/* The struct that an expression stands in. */
struct espy_scope {
	const struct espy_scope *outer;
	const struct espy_type *type;
	const struct espy_span *mem;
	uint64_t size; /* of the sized struct or the TLV element around */
};

struct espy_walk {
	const struct espy_visitor *vis;
	void *ctx;
	const struct espy_walk_opts *o;
	const struct espy_call_view *v; /* NULL: no call */
	const struct espy_image *img;
	const struct espy_scope *scope; /* innermost */
	const struct espy_span *mem;     /* of the value that a hook is asked for; NULL: a register */
	unsigned depth;
	bool ok, failed;     /* the call has returned, and how */
	bool wrote;          /* some argument was shown */
	uint64_t spread_left; /* bytes of the result not yet given to an element */
};

/* Value of an expression; at_exit chooses between memory before and after the call where both were read. */
uint64_t espy_walk__eval(const struct espy_walk *w, const struct espy_scope *sc, uint32_t expr, bool at_exit);
/* The length that len_a and len_b give; fallback if there is neither. Signed negative numbers count as 0. */
uint64_t espy_walk__length(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *t,
			   uint64_t fallback);
/* The case of a union that stands in sc (or among the parameters: sc NULL); ESPY_NONE: none fits. */
uint32_t espy_walk__case(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *u);
/* A register as the parameter's type sees it. */
uint64_t espy_walk__param(const struct espy_walk *w, const struct espy_field *param);

/* ---- value.c ---- */
/* A piece of captured memory; phases that do not reach it are left out. */
struct espy_span espy_span_sub(const struct espy_span *m, size_t off, uint64_t len);
/* The phase to show where only one can be: after the call, if it was read. */
static inline unsigned espy_span_best(const struct espy_span *m)
{
	return m->p[1] ? 1 : 0;
}
/* Whether all n bytes are 0; true if there are none. */
bool espy_all_zero(const uint8_t *p, size_t n);
struct espy_value espy_walk_make_value(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
				       unsigned phase, const char *name);
/* Bytes that stand for one thing: an address in an array of u8. */
bool espy_walk_is_unit(const struct espy_walk *w, const struct espy_type *t);
bool espy_walk_is_headed(const struct espy_type *t);
/* The operation that followed the pointer in a register; -1: none. */
int espy_walk_arg_op(const struct espy_walk *w, unsigned reg, uint32_t pointee);
/* Bytes that a pointee has in the program; UINT64_MAX: not known before it is read. */
uint64_t espy_walk_want(const struct espy_walk *w, const struct espy_type *t);
/* Was enough captured to show anything of the pointee? Else its address stays. */
bool espy_walk_enough(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
/* Show a value in memory; a pointer (op, index: the operation that followed it, op < 0: none). */
void espy_walk_value(struct espy_walk *w, uint32_t type, const struct espy_span *m, const char *name);
void espy_walk_ptr(struct espy_walk *w, const struct espy_type *t, uint64_t addr, int op, unsigned index,
		   const char *name);

/* ---- members.c ---- */
/* The parts of a struct shown as `{...} => {...}`. */
enum { ESPY_FIRST_PART = 1, ESPY_SECOND_PART = 2, ESPY_ALL_PARTS = 3 };
void espy_walk_struct(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, unsigned parts);
/* What a struct says of its own size in the field that the description names; 0: that field was not captured. */
uint64_t espy_walk_extent(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			  unsigned phase);
bool espy_walk_has_flag(const struct espy_walk *w, const struct espy_type *t, uint32_t flag);
uint32_t espy_walk_union_case(const struct espy_walk *w, const struct espy_type *u, const struct espy_span *m);

#endif
