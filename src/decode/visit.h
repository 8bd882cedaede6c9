/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walker and its visitor. The walker goes over the parameters of a call by the description,
 * finds for each pointer the bytes that were captured, and calls the visitor in the order in which
 * things are shown. It decides WHAT is shown (conditions, phases, limits, what only -v shows); the
 * visitor decides HOW. Text is one visitor, JSON another.
 *
 *      arg                                  a parameter begins
 *          integer | string | bits | address | hook         a leaf
 *          open(STRUCT) (field <value>)* [elided] close
 *          open(ARRAY)  (elem  <value>)* [elided] close
 *          open(POINTEE) <value> close      a scalar behind a pointer: [16]
 *          <value> changed <value>          before and after the call, where they differ
 *
 * Nothing here allocates, and nothing here trusts a length in a record.
 */
#ifndef ESPY_DECODE_VISIT_H
#define ESPY_DECODE_VISIT_H

#include "decode/decode.h"

/* Deeper than the compiler allows (4 pointers, each with struct, union and array), and a bound for the stack. */
#define ESPY_WALK_MAX_DEPTH 24u

enum espy_group { ESPY_GROUP_STRUCT, ESPY_GROUP_ARRAY, ESPY_GROUP_POINTEE };

enum espy_elided {
	ESPY_ELIDED_MORE,    /* there is more than is shown: `...` */
	ESPY_ELIDED_FAULT,   /* the rest is unreadable from this address on: the address as a comment behind `...` */
	ESPY_ELIDED_UNKNOWN, /* bytes behind the known struct that could not be read: `???` */
};

/* The fraction of a note counts microseconds, not nanoseconds. */
#define ESPY_NOTE_USEC 0x100u

struct espy_walk;

/* A leaf. */
struct espy_value {
	const struct espy_type *type;
	const char *name;     /* of the field or parameter; "" if it has none */
	uint64_t num;         /* INT, PTR: the number, sign-extended if the type is signed; BITS: how many bits count */
	const uint8_t *bytes; /* STR, CHARS, BYTES, REST, BITS, hooks: what was captured; NULL: nothing in memory */
	size_t len;           /* of bytes */
	uint64_t want;        /* bytes that there are in all; more than len: cut */
	uint64_t addr;        /* where they lie in the program; 0: not known */
	bool cut;             /* STR: no NUL within the captured bytes */
	bool fault;           /* the rest of it is unreadable */
	size_t tail_from;     /* bytes behind the known struct: how many bytes that has; 0: not such bytes */
	const struct espy_walk *walk; /* for espy_walk__sibling */
};

/* All are called with the ctx given to the walk. None may be NULL. */
struct espy_visitor {
	/* named: the name is part of the text in every style */
	void (*arg)(void *ctx, const char *name, const struct espy_type *type, bool named);
	void (*open)(void *ctx, enum espy_group group, const struct espy_type *type);
	void (*close)(void *ctx, enum espy_group group);
	void (*field)(void *ctx, const char *name, const struct espy_type *type); /* name "": shown without one */
	void (*elem)(void *ctx);
	void (*integer)(void *ctx, const struct espy_value *v);
	void (*string)(void *ctx, const struct espy_value *v); /* STR, CHARS, BYTES, REST, and byte arrays with a format */
	void (*bits)(void *ctx, const struct espy_value *v);
	void (*address)(void *ctx, uint64_t addr);
	void (*vars)(void *ctx, uint64_t addr, unsigned count, bool unterminated); /* environment, counted */
	void (*changed)(void *ctx);
	void (*elided)(void *ctx, enum espy_elided why, uint64_t addr); /* inside a group, in place of field or elem */
	/*
	 * A struct with a note (enum espy_note, | ESPY_NOTE_USEC), after it was shown (its first two fields:
	 * seconds, and a fraction); or, with `before` set, before it: true then means that the note stands in
	 * its place.
	 */
	bool (*note)(void *ctx, unsigned note, int64_t sec, int64_t frac, bool before);
	/* A value with a hook; false: show it as if it had none. The walk may be asked for more (below). */
	bool (*hook)(void *ctx, struct espy_walk *w, unsigned hook, const struct espy_value *v);
};

/* Looks at nothing: copy it and set the functions that a visitor needs. */
extern const struct espy_visitor espy_visit_nothing;

struct espy_walk_opts {
	bool verbose;         /* -v: everything */
	bool decode;          /* false: pointers to anything but strings stay addresses (-e verbose=) */
	unsigned elem_limit;  /* most elements of an array that are shown, unless verbose */
};

/* Registers in hexadecimal, arg1..arg6: a call without a description, or one that is wanted raw. */
void espy_walk__raw_args(const struct espy_visitor *vis, void *ctx, const struct espy_call_view *v, unsigned *shown);

enum espy_part { ESPY_PART_WHOLE, ESPY_PART_ENTER, ESPY_PART_EXIT };

/*
 * Arguments. ENTER stops before the first one that is known only after the call; EXIT goes on from
 * there. *shown carries the place between the two calls (opaque; may be NULL for WHOLE). The view of
 * the EXIT part must hold the enter record too, or be of a source whose EXIT records tell the whole call.
 */
void espy_walk__args(const struct espy_visitor *vis, void *ctx, const struct espy_walk_opts *o,
		     const struct espy_call_view *v, enum espy_part part, unsigned *shown);

/* Bytes that are no call's: a siginfo. type: index in img->types. */
void espy_walk__bytes(const struct espy_visitor *vis, void *ctx, const struct espy_walk_opts *o,
		      const struct espy_image *img, uint32_t type, const uint8_t *bytes, size_t len);

/* For hooks. The view is NULL in espy_walk__bytes. */
const struct espy_call_view *espy_walk__view(const struct espy_walk *w);
const struct espy_walk_opts *espy_walk__opts(const struct espy_walk *w);
/* Show bytes as this type inside the walk, as if they stood where the hook stands. */
void espy_walk__show(struct espy_walk *w, uint32_t type, const uint8_t *bytes, size_t len, const char *name);
/* A field of the struct that the hooked value stands in; false if there is none of that name or it was not captured. */
bool espy_walk__sibling(const struct espy_walk *w, const char *name, uint64_t *num);

/* The same as bytes; NULL if there are not all of them. */
const uint8_t *espy_walk__sibling_bytes(const struct espy_walk *w, const char *name, size_t *len);

/* The call failed: an error number in ret. */
static inline bool espy_call_view__failed(const struct espy_call_view *v)
{
	return v->has_exit && !v->no_return && v->ret < 0 && v->ret >= -4095;
}

/* The item that parameter n's pointer led to, at exit or entry; NULL if there is none. For hooks on results. */
const struct espy_item *espy_call_view__arg_item(const struct espy_call_view *v, unsigned reg, bool at_exit);

static inline const uint8_t *espy_item__bytes(const struct espy_item *it)
{
	return (const uint8_t *)(it + 1);
}

/* n bytes (1, 2, 4, 8; others: 0) as a number of the given byte order and sign. */
uint64_t espy_load(const uint8_t *p, unsigned n, bool big_endian, bool sgn);

#endif
