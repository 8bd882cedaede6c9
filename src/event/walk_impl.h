/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk over a call's values: shared by walk*.c, hooks and decoder.c. The walk goes over the parameters by the
 * description, finds for each pointer the bytes that were captured, and makes tokens in the order in which things are
 * shown. Where the manners that are wanted part ways, each way is walked with its manners in `shown`.
 */
#ifndef ESPY_EVENT_WALK_IMPL_H
#define ESPY_EVENT_WALK_IMPL_H

#include <string.h>
#include "arch/abi_facts.h"
#include "event/decoder.h"

#define ESPY_NO_OP 0xffu
/*
 * Deeper than the compiler allows (4 pointers, each with struct, union and array, and in buffers messages with attributes of
 * attributes), and a bound for the stack.
 */
#define ESPY_WALK_MAX_DEPTH 40u

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
	struct espy_decoder *d;
	struct espy_token_list *out;
	const struct espy_call_view *v; /* NULL: no call */
	uint32_t tid; /* the task; 0: not known */
	const struct espy_image *img;
	const struct espy_scope *scope; /* innermost */
	const struct espy_span *mem;	/* of the value that a hook is asked for; NULL: a register */
	const char *name;		/* of the role; "": none */
	unsigned depth;
	unsigned elem_limit;
	uint16_t shown;	     /* manners that what is walked now is for */
	uint8_t role;	     /* of the next token */
	uint64_t asks;	     /* formats (as bits) of numbers about which more is wanted */
	bool ok, failed;     /* the call has returned, and how */
	bool folded;	     /* the next array is `[...]` in manners that are brief */
	bool wrote;	     /* some argument was shown */
	uint64_t kind;       /* first bytes of the last string with ESPY_TF_KIND */
	uint64_t spread_left; /* bytes of the result not yet given to an element */
};

/* Value of an expression; at_exit chooses between memory before and after the call where both were read. */
uint64_t espy_walk__eval(const struct espy_walk *w, const struct espy_scope *sc, uint32_t expr, bool at_exit);
/* The length that len_a and len_b give; fallback if there is neither. Signed negative numbers count as 0. */
uint64_t espy_walk__length(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *t,
			   uint64_t fallback);
/* The case of a union that stands in sc (or among the parameters: sc NULL); ESPY_NONE: none fits. */
uint32_t espy_walk__case(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *u);
/* A number in network order, or one of two registers. */
uint64_t espy_walk__odd_param(const struct espy_walk *w, const struct espy_field *param);
/* The lowest `size` bytes of a number; of 8 bytes, or of a size that is no number's, all of it. */
static inline uint64_t espy_walk__cut(uint64_t x, unsigned size, bool sgn)
{
	const unsigned unused = size && size <= 4 ? 64 - 8 * size : 0;

	return sgn ? (uint64_t)((int64_t)(x << unused) >> unused) : x << unused >> unused;
}
/* A register as the parameter's type sees it. */
static inline uint64_t espy_walk__param_of(const struct espy_walk *w, const struct espy_field *param, const struct espy_type *t)
{
	if (param->off >= ESPY_MAX_ARGS)
		return 0;
	if (t->flags & ESPY_TF_BE || (t->size == 8 && espy_abis[w->img->abi].reg_sz < 8))
		return espy_walk__odd_param(w, param);
	return espy_walk__cut(w->v->args[param->off], t->size, t->flags & ESPY_TF_SIGNED);
}
static inline uint64_t espy_walk__param(const struct espy_walk *w, const struct espy_field *param)
{
	return espy_walk__param_of(w, param, &w->img->types[param->type]);
}

/* ---- making tokens */

/* Room for one more; NULL without memory, and when the event has more tokens than any honest one. */
struct espy_token *espy_walk_room(struct espy_walk *w);
/* Bytes that live as long as the event, with a NUL behind them; "" without memory. */
const char *espy_walk_keep(struct espy_walk *w, const void *bytes, size_t len);

void espy_walk_free_texts(struct espy_decoder *d);
/* Formats of numbers about which the resolver is to be asked, as bits. The walk over arguments leaves them in asks of the decoder. */
uint64_t espy_walk_asks(const struct espy_decoder *d);

/* A token with the role of what comes next, which is nothing after it; all else is for the caller to fill in. */
static inline struct espy_token *espy_walk_begin_token(struct espy_walk *w, struct espy_token *t, enum espy_token_kind kind)
{
	*t = (struct espy_token){ .kind = (uint8_t)kind, .role = w->role, .shown = w->shown, .name = w->name };
	w->role = ESPY_ROLE_NONE;
	w->name = "";
	return t;
}

/* The next token. Where there is no room: in a place that nobody reads. */
static inline struct espy_token *espy_walk_push(struct espy_walk *w, enum espy_token_kind kind)
{
	struct espy_token_list *l = w->out;
	struct espy_token *t = l->cnt < l->cap ? &l->at[l->cnt++] : espy_walk_room(w);

	return espy_walk_begin_token(w, t ? t : &w->d->nowhere, kind);
}

/* The same, filled in but for role, name and manners; of a token without a role the name is the given one. */
static inline void espy_walk_put(struct espy_walk *w, struct espy_token token)
{
	struct espy_token *t = espy_walk_push(w, (enum espy_token_kind)token.kind);

	token.role = t->role;
	token.shown = t->shown;
	if (t->role || !token.name)
		token.name = t->name;
	*t = token;
}

static inline void espy_walk_role(struct espy_walk *w, enum espy_token_role role, const char *name)
{
	w->role = role;
	w->name = name;
}

#define ESPY_NO_TOKEN UINT32_MAX

/* A group begins; returns what espy_walk_close takes. */
static inline uint32_t espy_walk_open(struct espy_walk *w, enum espy_group group, const struct espy_type *type, unsigned flags)
{
	const uint32_t at = w->out->cnt;

	struct espy_token *t = espy_walk_push(w, ESPY_TOKEN_OPEN);

	t->group = (uint8_t)group;
	t->flags = (uint16_t)flags;
	t->type = type;
	return w->out->cnt > at ? at : ESPY_NO_TOKEN;
}

/* For CLOSE alone there is always room: lists have this much behind their end, and groups nest less deep. */
#define ESPY_TOKENS_SPARE 128u

void espy_walk_close(struct espy_walk *w, uint32_t open);

static inline void espy_walk_address(struct espy_walk *w, uint64_t addr)
{
	espy_walk_push(w, ESPY_TOKEN_ADDR)->num = addr;
}

static inline void espy_walk_changed(struct espy_walk *w)
{
	espy_walk_push(w, ESPY_TOKEN_CHANGED);
}

/*
 * Where manners part: each way is taken from the same place, with those of the manners that go it, and what it makes is for them
 * alone.
 *
 *	const struct espy_ways ways = espy_walk_part(w);
 *	if (espy_walk_take(w, &ways, ESPY_MANNERS_BRIEF))
 *		...
 *	if (espy_walk_take(w, &ways, ESPY_MANNERS_FULL))
 *		...
 *	espy_walk_join(w, &ways);
 */
struct espy_ways {
	uint16_t shown;
	uint8_t role;
	const char *name;
};
static inline struct espy_ways espy_walk_part(const struct espy_walk *w)
{
	return (struct espy_ways){ .shown = w->shown, .role = w->role, .name = w->name };
}
static inline bool espy_walk_take(struct espy_walk *w, const struct espy_ways *ways, unsigned manners)
{
	w->shown = (uint16_t)(ways->shown & manners);
	w->role = ways->role;
	w->name = ways->name;
	return w->shown;
}
static inline void espy_walk_join(struct espy_walk *w, const struct espy_ways *ways)
{
	w->shown = ways->shown;
	w->role = ESPY_ROLE_NONE;
	w->name = "";
}

/* Something is left out: in place of a field or an element. */
static inline void espy_walk_elided(struct espy_walk *w, enum espy_elided why, uint64_t addr)
{
	struct espy_token *t = espy_walk_push(w, ESPY_TOKEN_ELIDED);

	t->group = (uint8_t)why;
	t->addr = addr;
}

/* What the resolver knows of the descriptors in a set, one token for each bit. */
void espy_walk_fd_set(struct espy_walk *w, const uint8_t *bits, uint64_t cnt);
/* An integer, and what the resolver knows about it. */
void espy_walk_integer(struct espy_walk *w, const struct espy_type *t, uint64_t num, const uint8_t *bytes, size_t len,
		       const char *name);
/* The same, shown in a format that is not its type's. */
void espy_walk_integer_as(struct espy_walk *w, const struct espy_type *t, enum espy_fmt fmt, uint64_t num, const char *name);
/* A date behind a value: of it, in microseconds (USEC), as a value by itself (BARE). Nothing if there is no such date. */
void espy_walk_date(struct espy_walk *w, int64_t sec, int64_t frac, unsigned flags);

/* ---- walk.c */
/* As espy_decoder__begin and espy_decoder__args. */
unsigned espy_walk_begin(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
void espy_walk_args(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners, unsigned shown);
/* The walk over the result of a call, whose arguments have been walked over. */
void espy_walk_begin_result(struct espy_walk *w, struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
/* Walks bytes that are no argument of a call, with the walk's decoder and manners. */
void espy_walk_bytes(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len);
/* Show bytes as this type inside the walk, as if they stood where the hook stands. */
void espy_walk_show(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len, const char *name);
/* A field of the struct that the walk is in, as bytes; NULL if there is none of that name, or it was not captured. */
const uint8_t *espy_walk_sibling_bytes(const struct espy_walk *w, const char *name, size_t *len);
/* The same as a number; false if it is none. */
bool espy_walk_sibling(const struct espy_walk *w, const char *name, uint64_t *num);

/* ---- walk_values.c */
/* A piece of captured memory; phases that do not reach it are left out. */
struct espy_span espy_span_sub(const struct espy_span *m, size_t off, uint64_t len);
/* The phase to show where only one can be: after the call, if it was read. */
static inline unsigned espy_span_best(const struct espy_span *m)
{
	return m->p[1] ? 1 : 0;
}
/* Bytes that stand for one thing: an address in an array of u8. */
bool espy_walk_is_unit(const struct espy_walk *w, const struct espy_type *t);
/* Do the two phases differ? false if there is but one. */
bool espy_span_differs(const struct espy_span *m);
/* argv and the environment: pointers up to NULL. Returns the whole pointers read and whether NULL was seen. */
size_t espy_walk_count_ptrs(const struct espy_span *m, size_t width, bool *terminated);
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

/* ---- walk_arrays.c */
void espy_walk_array(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
void espy_walk_tlv(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
/* Bytes of a record of a TLV in front of what varies. */
size_t espy_walk_tlv_header(const struct espy_walk *w, const struct espy_type *t);
/* A struct of which the first fields are a header, and the rest values behind it. */
bool espy_walk_is_headed(const struct espy_type *t);

/* A remark, whose numbers are of the struct in scope, or of the call. */
void espy_walk_remark(struct espy_walk *w, const struct espy_type *t);

/* ---- walk_members.c */
/* The parts of a struct shown as `{...} => {...}`. */
enum { ESPY_FIRST_PART = 1, ESPY_SECOND_PART = 2, ESPY_ALL_PARTS = 3 };
void espy_walk_struct(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, unsigned parts);
/* The value of that field; 0 too if it was not captured. */
uint64_t espy_walk_said(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, unsigned phase);
/* What a struct says of its own size in the field that the description names; 0: that field was not captured. */
uint64_t espy_walk_extent(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			  unsigned phase);
bool espy_walk_has_flag(const struct espy_walk *w, const struct espy_type *t, uint32_t flag);
uint32_t espy_walk_union_case(const struct espy_walk *w, const struct espy_type *u, const struct espy_span *m);

/* ---- walk_notes.c */
struct espy_time_note {
	int64_t num[2]; /* seconds, fraction */
	unsigned usec;	/* ESPY_TOKF_USEC: the fraction counts microseconds */
	const char *instead; /* a name that stands for such a time; NULL: it is a time */
};
/* Reads what the note of a struct says; false if that was not captured. */
bool espy_walk_read_note(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			 struct espy_time_note *note);
/* Puts it behind the struct. */
void espy_walk_put_note(struct espy_walk *w, const struct espy_time_note *note);

/* ---- walk_tail.c */
/* Shows the bytes behind the known fields of a struct, if one of them is not zero. */
void espy_walk_tail(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);

/* ---- hooks.c: values whose meaning the language cannot say */
struct espy_hooked {
	const struct espy_type *type;
	const char *name;     /* of the field or parameter; "" if it has none */
	uint64_t num;	      /* INT: the number */
	const uint8_t *bytes; /* what was captured; NULL: a register */
	size_t len;	      /* of bytes */
	uint64_t want;	      /* bytes that there are in all; more than len: cut */
	uint64_t addr;	      /* where they lie in the program; 0: not known */
	bool of_result;	      /* it is the result, said again behind it */
};
/* false, and no token made: show it as if it had no hook. */
bool espy_walk_hook(struct espy_walk *w, unsigned hook, const struct espy_hooked *v);
/* hook_results.c: what stands behind a result. */
void espy_walk_result_hook(struct espy_walk *w, unsigned hook);

#endif
