/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk over a call's values: shared by walk*.c, hooks and decoder.c. The walk goes over the parameters by the
 * description, finds the captured bytes of each pointer, and makes tokens in the order of the text. Where manners
 * differ, it goes each way in turn, with the manners of that way in `shown`.
 */
#ifndef ESPY_EVENT_WALK_IMPL_H
#define ESPY_EVENT_WALK_IMPL_H

#include <string.h>
#include "arch/abi_facts.h"
#include "event/decoder.h"

#define ESPY_NO_OP 0xffu
/*
 * A bound for the stack. The compiler of descriptions allows less (4 pointers, each with struct, union and array, and
 * in buffers messages with attributes of attributes).
 */
#define ESPY_WALK_MAX_DEPTH 40u

/*
 * Captured bytes of one object in the program's memory, as read before [0] and after [1] the call.
 * op, index and pos are their place in terms of the plan. By it a pointer among them finds the operation that followed
 * the pointer.
 */
struct espy_span {
	const uint8_t *p[2]; /* NULL: not captured */
	size_t n[2];
	uint64_t want; /* bytes of the object in the program; may be more than the captured ones */
	uint64_t addr; /* 0: not known */
	uint8_t op;    /* ESPY_NO_OP: none */
	bool fault;    /* the missing bytes are unreadable */
	bool cut;      /* a string that goes on behind the captured bytes, for an unknown length */
	uint16_t index;
	size_t pos;    /* of p[] in the item */
};

/* The struct that an expression stands in. */
struct espy_scope {
	const struct espy_scope *outer;
	const struct espy_type *type;
	const struct espy_span *mem;
	uint64_t size; /* of the sized struct or the TLV element around it */
};

struct espy_walk {
	struct espy_decoder *d;
	struct espy_token_list *out;
	const struct espy_call_view *v; /* NULL: no call */
	uint32_t tid; /* the task; 0: not known */
	const struct espy_image *img;
	const struct espy_scope *scope; /* innermost */
	const struct espy_span *mem;	/* of the value that a hook shows; NULL: a register */
	const char *name;		/* of the role; "": none */
	unsigned depth;
	unsigned elem_limit;
	uint16_t shown;	     /* manners of the present way */
	uint8_t role;	     /* of the next token */
	uint64_t asks;	     /* formats of numbers, as bits, that the resolver can say more about */
	bool ok, failed;     /* the call has returned, without or with an error */
	const char *again;   /* what stands before the value that the next one became: its name, or "" */
	bool folded;	     /* the next array is `[...]` in manners that are brief */
	bool inside;	     /* -s does not limit the next array */
	bool early;	     /* of what the pointer in the next field leads to, only what was there before the call */
	bool wrote;	     /* the walk has shown some argument */
	bool broken;	     /* it has met an array that is empty, or that could not be read to its end */
	uint64_t index;	     /* of the element of the innermost array */
	uint64_t text_end; /* bytes from the beginning of the record to the end of its last string, NUL included; 0: no
			      end */
	uint64_t record_end; /* bytes of the placed record, by the distance to the next one */
	uint64_t kind;       /* first bytes of the last string with ESPY_TF_KIND */
	uint64_t spread_left; /* bytes of the result not yet given to an element */
};

/* Returns the value of an expression. at_exit: by memory after the call, if it was read before and after it. */
uint64_t espy_walk__eval(const struct espy_walk *w, const struct espy_scope *sc, uint32_t expr, bool at_exit);
/*
 * Returns the length that len_a and len_b give; fallback if the type has neither. Signed negative numbers count as 0.
 */
uint64_t espy_walk__length(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *t,
			   uint64_t fallback);
/* Tells whether the length is known: that it is not a field of a struct behind a parameter that could not be read. */
bool espy_walk__length_known(const struct espy_walk *w, const struct espy_type *t);
/* Returns the case of a union that stands in sc (or among the parameters: sc NULL); ESPY_NONE: none fits. */
uint32_t espy_walk__case(const struct espy_walk *w, const struct espy_scope *sc, const struct espy_type *u);
/* Returns a parameter in network order, or one of two registers. */
uint64_t espy_walk__odd_param(const struct espy_walk *w, const struct espy_field *param);
/* Returns the lowest `size` bytes of a number; the whole number if size is 0 or more than 4. */
static inline uint64_t espy_walk__cut(uint64_t x, unsigned size, bool sgn)
{
	const unsigned unused = size && size <= 4 ? 64 - 8 * size : 0;

	return sgn ? (uint64_t)((int64_t)(x << unused) >> unused) : x << unused >> unused;
}
/* Returns a register as a value of the parameter's type. */
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

/* Makes room for one more token; NULL without memory, or if the event has more tokens than any honest one. */
struct espy_token *espy_walk_room(struct espy_walk *w);
/* Copies bytes for the life of the event, and puts a NUL behind them; "" without memory. */
const char *espy_walk_keep(struct espy_walk *w, const void *bytes, size_t len);

void espy_walk_free_texts(struct espy_decoder *d);
/* Returns the formats of numbers, as bits, for which the walk asks the resolver. */
uint64_t espy_walk_asks(const struct espy_decoder *d);

/* Begins a token with the walk's role and name, which it uses up. The caller fills in the rest. */
static inline struct espy_token *espy_walk_begin_token(struct espy_walk *w, struct espy_token *t, enum espy_token_kind kind)
{
	*t = (struct espy_token){ .kind = (uint8_t)kind, .role = w->role, .shown = w->shown, .name = w->name };
	w->role = ESPY_ROLE_NONE;
	w->name = "";
	return t;
}

/* Appends a token. Without room it is d->nowhere, which no sink reads. */
static inline struct espy_token *espy_walk_push(struct espy_walk *w, enum espy_token_kind kind)
{
	struct espy_token_list *l = w->out;
	struct espy_token *t = l->cnt < l->cap ? &l->at[l->cnt++] : espy_walk_room(w);

	return espy_walk_begin_token(w, t ? t : &w->d->nowhere, kind);
}

/* Appends a copy of a token, with the walk's role, name and manners. Without a role it keeps its own name. */
/* Types that no description has: numbers of 8 bytes, texts, bits, bytes as a string, and bytes in hexadecimal. */
extern const struct espy_type espy_number_dec, espy_number_signed, espy_number_hex;
extern const struct espy_type espy_type_chars, espy_type_bits, espy_type_bytes, espy_type_raw, espy_type_rest_raw;

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

/* Begins a group. Returns its handle for espy_walk_close(). */
static inline uint32_t espy_walk_open(struct espy_walk *w, enum espy_group group, const struct espy_type *type, unsigned flags)
{
	const uint32_t at = w->out->cnt;

	struct espy_token *t = espy_walk_push(w, ESPY_TOKEN_OPEN);

	t->group = (uint8_t)group;
	t->flags = (uint16_t)flags;
	t->type = type;
	return w->out->cnt > at ? at : ESPY_NO_TOKEN;
}

/* So many places behind the end of a list are for CLOSE alone, which so always finds room: groups nest less deep. */
#define ESPY_TOKENS_SPARE 128u

void espy_walk_close(struct espy_walk *w, uint32_t open);

static inline void espy_walk_address(struct espy_walk *w, uint64_t addr)
{
	espy_walk_push(w, ESPY_TOKEN_ADDR)->num = addr;
}

static inline void espy_walk_changed(struct espy_walk *w)
{
	espy_walk_push(w, ESPY_TOKEN_CHANGED)->name = w->again;
	w->again = "";
}

/*
 * Parts the ways of different manners. Each way begins at the same place; its tokens are for the manners of that way
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

/* Appends ELIDED in place of a field or an element. */
static inline void espy_walk_elided(struct espy_walk *w, enum espy_elided why, uint64_t addr)
{
	struct espy_token *t = espy_walk_push(w, ESPY_TOKEN_ELIDED);

	t->group = (uint8_t)why;
	t->addr = addr;
}

/* Appends the security context of the file at a path that the last token is, if the bytes are a whole one. */
void espy_walk_path_context(struct espy_walk *w, const uint8_t *bytes, size_t len);
/* Appends an FD for each descriptor in a set. */
void espy_walk_fd_set(struct espy_walk *w, const uint8_t *bits, uint64_t cnt);
static inline void espy_walk_fill_integer(struct espy_token *k, const struct espy_type *t, uint64_t num,
					  const uint8_t *bytes, size_t len, const char *name)
{
	k->fmt = t->fmt;
	k->len = (uint32_t)len;
	k->link = t->table;
	k->type = t;
	k->num = num;
	k->bytes = bytes;
	if (!k->role)
		k->name = name;
}
/* As espy_walk_integer(), where the list needs room, or the resolver is asked. */
void espy_walk_asked_integer(struct espy_walk *w, const struct espy_type *t, uint64_t num, const uint8_t *bytes,
			     size_t len, const char *name);
/* Appends an integer, and the resolver's tokens about it. Most integers go a way without calls. */
static inline void espy_walk_integer(struct espy_walk *w, const struct espy_type *t, uint64_t num, const uint8_t *bytes,
				     size_t len, const char *name)
{
	struct espy_token_list *l = w->out;

	if (l->cnt >= l->cap || w->asks >> (t->fmt & 63) & 1)
		espy_walk_asked_integer(w, t, num, bytes, len, name);
	else
		espy_walk_fill_integer(espy_walk_begin_token(w, &l->at[l->cnt++], ESPY_TOKEN_INT), t, num, bytes, len,
				       name);
}
/* The same, in another format than its type's. */
void espy_walk_integer_as(struct espy_walk *w, const struct espy_type *t, enum espy_fmt fmt, uint64_t num, const char *name);
/* Appends the date of a value; flags: the fraction is in microseconds (USEC), the date is a value itself (BARE). */
void espy_walk_date(struct espy_walk *w, int64_t sec, int64_t frac, unsigned flags);

/* ---- walk.c */
/* As espy_decoder__begin and espy_decoder__args. */
unsigned espy_walk_begin(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
void espy_walk_args(struct espy_decoder *d, const struct espy_call_view *v, unsigned manners, unsigned shown);
/* Begins the walk over the result of a call, after that over its arguments. */
void espy_walk_begin_result(struct espy_walk *w, struct espy_decoder *d, const struct espy_call_view *v, unsigned manners);
/* Walks bytes that are no argument of a call, with the walk's decoder and manners. */
void espy_walk_bytes(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len);
/* Shows bytes as this type inside the walk, in place of the hook's value. */
void espy_walk_show(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len, const char *name);
/* Returns the bytes of a field of the struct around; NULL: it has no such field, or the field was not captured. */
const uint8_t *espy_walk_sibling_bytes(const struct espy_walk *w, const char *name, size_t *len);
/* The same as a number. Returns false if the field is no number. */
bool espy_walk_sibling(const struct espy_walk *w, const char *name, uint64_t *num);

/* ---- walk_then.c */
/* Shows a parameter with `then`: what the call left behind the pointer of the one before it. */
void espy_walk_then(struct espy_walk *w, const struct espy_field *p, const struct espy_type *t);
static inline enum espy_token_role espy_walk_arg_role(const struct espy_field *p)
{
	if (p->flags & ESPY_FF_NONAME)
		return ESPY_ROLE_ARG_UNNAMED;
	return p->flags & ESPY_FF_NAMED ? ESPY_ROLE_ARG_NAMED : ESPY_ROLE_ARG;
}

/* ---- walk_values.c */
/* Returns a piece of captured memory, without phases that do not reach it. */
struct espy_span espy_span_sub(const struct espy_span *m, size_t off, uint64_t len);
/* Returns the phase to show if only one can be shown: after the call, if it was read. */
static inline unsigned espy_span_best(const struct espy_span *m)
{
	return m->p[1] ? 1 : 0;
}
/* Returns whether the bytes of an array stand for one thing, as an address in an array of u8 does. */
bool espy_walk_is_unit(const struct espy_walk *w, const struct espy_type *t);
/* Returns whether the two phases differ; false if there is only one. */
bool espy_span_differs(const struct espy_span *m);
/* Counts whole pointers up to NULL (argv, the environment). *terminated: NULL was captured. */
size_t espy_walk_count_ptrs(const struct espy_span *m, size_t width, bool *terminated);
/* Returns the parameter, of one that is a union with the type that the arguments choose. */
struct espy_field espy_walk_chosen(const struct espy_walk *w, const struct espy_field *p);
/* Returns the operation that followed a pointer of this type in a register; -1: none. */
int espy_walk_arg_op(const struct espy_walk *w, unsigned reg, const struct espy_type *ptr);
/* Returns the bytes of a pointee in the program; UINT64_MAX: not known before it is read. */
uint64_t espy_walk_want(const struct espy_walk *w, const struct espy_type *t);
/* Returns whether enough was captured to show a part of the pointee. Else its address stands for it. */
bool espy_walk_enough(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
bool espy_walk_enough_in_brief(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
/* Returns whether a struct of no fixed size, at `off` of `have` bytes, was not read as far as what is always there. */
bool espy_walk_torn(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, size_t have,
		    size_t off);
/* Shows a value in memory. */
void espy_walk_value(struct espy_walk *w, uint32_t type, const struct espy_span *m, const char *name);
/* Shows a pointer. op, index: the operation that followed it; op < 0: none. */
void espy_walk_ptr(struct espy_walk *w, const struct espy_type *t, uint64_t addr, int op, unsigned index,
		   const char *name);

/* Tells whether the conditions hold without which the struct is not shown. */
bool espy_walk_fulfils(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
/* Tells whether an array is said to hold more than its type ever has, and there is room for that many. */
bool espy_walk_beyond_max(const struct espy_walk *w, const struct espy_type *t, uint64_t room, uint64_t want);

/* ---- walk_arrays.c */
void espy_walk_array(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
void espy_walk_tlv(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
/* Returns the bytes of a TLV record in front of its varying part. */
size_t espy_walk_tlv_header(const struct espy_walk *w, const struct espy_type *t);
/* Returns whether the first fields of a struct are a header, and the others values behind it. */
bool espy_walk_is_headed(const struct espy_type *t);

/* Tells whether a remark is the value of the field that has its name. */
static inline bool espy_remark_is_value(const char *text)
{
	return !strcmp(text, "???") || !strcmp(text, "NULL");
}

/* Appends a remark. Its numbers come from the struct in scope, or from the call. */
void espy_walk_remark(struct espy_walk *w, const struct espy_type *t);

/* ---- walk_members.c */
/* The parts of a struct shown as `{...} => {...}`. */
enum { ESPY_FIRST_PART = 1, ESPY_SECOND_PART = 2, ESPY_ALL_PARTS = 3 };
void espy_walk_struct(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, unsigned parts);
/* Returns the value of the field in which a struct tells its own size; 0: not captured. */
uint64_t espy_walk_said(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, unsigned phase);
/* Returns the size of a struct by that field; 0: not captured. */
uint64_t espy_walk_extent(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			  unsigned phase);
bool espy_walk_has_flag(const struct espy_walk *w, const struct espy_type *t, uint32_t flag);
uint32_t espy_walk_union_case(const struct espy_walk *w, const struct espy_type *u, const struct espy_span *m);
/* Tells whether the type is a list of what is left, or of elements of any number. */
static inline bool espy_walk_is_array_like(const struct espy_type *t)
{
	return t->kind == ESPY_T_REST || t->kind == ESPY_T_STR || t->kind == ESPY_T_TLV ||
	       (t->kind == ESPY_T_ARRAY && !t->size) || (t->kind == ESPY_T_BYTES && !t->size);
}
/* Returns the bytes without which a number is none: all, of one with `upto` one. A table of 2 or 4 bytes wants all. */
static inline size_t espy_walk_number_needs(const struct espy_type *t)
{
	return t->flags & ESPY_TF_UPTO && (t->table == ESPY_NONE || t->size > 4) ? 1 : t->size;
}
/* Returns the bytes that a value needs to be shown: of a struct with `lead` those of its first field. */
size_t espy_walk_needed(const struct espy_walk *w, const struct espy_type *t);

/* ---- walk_placed.c */
/* Shows the records of a field that is `placed` in the struct m, as values. folded: in brief manners `...` stands for
 * them. */
void espy_walk_placed(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m, bool folded);
/* Finds the end of a string in a record at `off`. Returns false if it is unreadable: no end, and too few bytes. */
bool espy_walk_find_end(struct espy_walk *w, struct espy_span *s, uint64_t off);
/* Finds the place of a field with `behind` in the record m, by the string before it. Returns false if there is none. */
bool espy_walk_find_behind(const struct espy_walk *w, const struct espy_field *f, const struct espy_span *m,
			   uint32_t *off);

/* ---- walk_notes.c */
struct espy_time_note {
	int64_t num[2]; /* seconds, fraction */
	unsigned usec;	/* ESPY_TOKF_USEC: the fraction counts microseconds; ESPY_TOKF_STYLED: no date under -X raw */
	const char *instead; /* a name that stands for such a time; NULL: it is a time */
};
/* Reads the note of a struct. Returns false if its fields were not captured. */
bool espy_walk_read_note(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
			 struct espy_time_note *note);
/* Appends the note behind the struct. */
void espy_walk_put_note(struct espy_walk *w, const struct espy_time_note *note);

/* ---- walk_tail.c */
/* Shows some of the bytes in hexadecimal. */
void espy_walk_raw(struct espy_walk *w, const struct espy_span *m, size_t from, size_t end);
/* Tells whether bytes behind the known fields of a struct are shown as such. */
bool espy_walk_has_tail(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
/* Shows the bytes behind the known fields of a struct, if any is not zero. */
void espy_walk_tail(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m);
uint64_t espy_walk_limited(const struct espy_walk *w, const struct espy_type *t, uint64_t want);
bool espy_walk_bytes_unread(const struct espy_walk *w, const struct espy_type *t, const struct espy_span *s);
/* The bytes of a struct with `filled`: the field that its size cuts ends in zeros. Returns m, or *room. */
const struct espy_span *espy_walk_fill(struct espy_walk *w, const struct espy_type *t, const struct espy_span *m,
				       struct espy_span *room);

/* ---- hooks.c: values whose meaning the language cannot say */
struct espy_hooked {
	const struct espy_type *type;
	const char *name;     /* of the field or parameter; "" if it has none */
	uint64_t num;	      /* INT: the number */
	const uint8_t *bytes; /* captured bytes; NULL: a register */
	size_t len;	      /* of bytes */
	uint64_t want;	      /* bytes of the value in the program; more than len: cut */
	uint64_t addr;	      /* of the value in the program; 0: not known */
	bool of_result;	      /* it is the result, shown again behind it */
};
/* Shows a value by a hook. Returns false if it has made no token: the value is then shown without the hook. */
bool espy_walk_hook(struct espy_walk *w, unsigned hook, const struct espy_hooked *v);
/* hook_results.c: shows a value behind a result. */
void espy_walk_result_hook(struct espy_walk *w, unsigned hook);

#endif
