/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations as written: what the parser makes and the later stages read. Everything lies in the
 * compiler's arena and lives as long as it.
 */
#ifndef ESPY_DESCRIBE_AST_H
#define ESPY_DESCRIBE_AST_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

struct ast_table;
struct ast_named;
struct ast_call;
struct dc_const;

/* Where something stands: source number and byte offset; line and column are found when a message needs them. */
struct dc_pos {
	uint32_t src, off;
};

/* A name, interned: equal names are equal pointers. The declarations it has, one per space. */
struct dc_sym {
	uint32_t len;
	const char *s;          /* NUL-terminated */
	uint32_t str;           /* in the string pool of the image; 0: not there yet */
	uint16_t word;          /* enum dc_word; 0: an ordinary name */
	struct ast_table *table;
	struct ast_named *type; /* struct, union, alias */
	struct ast_call *call;
	struct dc_const *consts; /* values, most recent first */
	bool const_used;
	UT_hash_handle hh; /* by its text */
};

/* Expression operators: enum espy_expr_op, and these. */
enum {
	AX_NAME = 100, /* sym */
	AX_OUTER,      /* outer.sym */
	AX_FILE,       /* file(sym) */
	AX_MEMBER,     /* sym->member: a field of what a pointer parameter points to */
};
struct ast_expr {
	uint32_t op;
	struct dc_pos pos;
	struct ast_expr *a, *b;
	uint64_t value;
	struct dc_sym *sym, *member;
};

enum ast_len_kind { LEN_NONE, LEN_COUNT, LEN_NULL, LEN_REST, LEN_SIZED };
struct ast_len {
	enum ast_len_kind kind;
	struct dc_pos pos;
	struct ast_expr *a, *b; /* [a of b]; b alone: [b] */
	bool bytes;             /* counts bytes, not elements */
	bool spread;            /* [spread of b] */
	uint16_t min;           /* `sized b min N`: a smaller one is not taken; 0: any */
};

enum ast_base { BASE_WORD, BASE_NAME, BASE_BITS, BASE_PAREN };
enum ast_on { ON_DEFAULT, ON_OK, ON_ERR, ON_ANY, ON_POS };

/* `placed "TEXT" (START, LIMIT, TIMES) chained NEXT from first` */
struct ast_placed {
	struct dc_pos pos;
	const char *text;
	struct ast_expr *start, *limit, *times; /* times NULL: until a distance is 0 */
	struct dc_sym *next;			/* NULL: there is one only */
	bool from_first;
};

struct ast_type {
	struct dc_pos pos;
	uint8_t in, out, ptr64;
	uint8_t base; /* enum ast_base */
	struct dc_pos base_pos;
	struct dc_sym *name; /* BASE_WORD, BASE_NAME; BASE_BITS: the kind */
	struct ast_type *inner; /* BASE_PAREN */
	const char *text;       /* `remark` */
	bool styled;		/* `remark`: not under -X raw */
	struct ast_expr *number[2]; /* `remark`: up to two numbers for it; `fd of PROCESS`: the process */
	struct dc_sym *fmt;
	struct dc_pos fmt_pos;
	struct ast_len len;
	/* clauses */
	struct ast_placed *placed; /* NULL: it lies where the fields before it end */
	struct ast_expr *when;
	struct ast_expr *spread;
	struct ast_expr *max;
	uint32_t abbrev; /* elements that are shown without -v; 0: as many as of any array */
	struct dc_sym *at;
	struct dc_pos at_pos, on_pos;
	struct dc_sym *hook;
	struct dc_pos hook_pos;
	uint32_t sp_off;      /* `from sp + N` */
	uint8_t on;           /* enum ast_on */
	uint32_t class_flags; /* ESPY_TF_ENV, ESPY_TF_SECRET */
	bool verbose, hex, bare, from_sp, upto, naming, aside;
	struct dc_sym *index; /* `indexed TABLE` */
	struct dc_pos index_pos;
	uint32_t field_flags; /* ESPY_FF_* */
};

struct ast_field {
	struct dc_sym *name;
	struct dc_pos pos;
	struct ast_type *type; /* NULL: a bare name, or `_` */
	bool slot;             /* `_` */
};

struct ast_names {
	struct dc_sym **v;
	struct dc_pos *pos;
	uint32_t n;
};

struct ast_key {
	struct ast_expr *k[2]; /* k[1] NULL: a single key */
	struct dc_pos pos;
};
struct ast_case {
	struct ast_key *keys;
	uint32_t nkeys; /* 0: else */
	struct ast_type *type;
	struct dc_pos pos;
};

enum ast_named_kind { NAMED_STRUCT, NAMED_UNION, NAMED_ALIAS };
struct ast_named {
	struct ast_named *next; /* in order of declaration */
	enum ast_named_kind kind;
	struct dc_sym *name;
	struct dc_pos pos;
	/* struct */
	struct ast_field *fields;
	uint32_t nfields;
	const char *as_name, *as_header;
	struct ast_names show, brief;
	uint32_t note;
	bool packed, tail, more, lead, torn, whole, partial, extra, filled, bare;
	struct dc_sym *tlv_len; /* NULL: not a record of its own length */
	struct dc_pos tlv_pos;
	struct ast_expr *tlv_align;
	bool tlv_overlap; /* the next record begins where this one says, also inside its header */
	struct dc_sym *tlv_align_word;
	/* union */
	struct ast_expr *by[2];
	bool braces;
	struct ast_case *cases;
	uint32_t ncases;
	/* alias */
	struct ast_type *alias;
	/* later stages */
	uint8_t outer_state; /* does it refer to the struct around? 0: not known yet, 1: being found out, 2: no, 3: yes */
	uint8_t busy;        /* being lowered, so many times: meeting it again is recursion */
	uint32_t memo;       /* its type record if it needs no context, + 1 */
	bool failed;         /* an error was reported; say no more */
	uint32_t fixed_sz;   /* bytes up to what varies, as sizeof counts */
	uint8_t headed;      /* so many fields stand in braces, the others behind as values; 0: all */
	struct dc_sym *extent; /* field that says how many bytes of the struct count; NULL: all */
	struct dc_pos extent_pos;
	uint16_t extent_min; /* `min N`; 0: none */
};

struct ast_item {
	enum { ITEM_NAME, ITEM_GROUP, ITEM_SHIFT, ITEM_LOW, ITEM_INCLUDE, ITEM_PACK } kind;
	struct dc_sym *name;    /* ITEM_GROUP: NULL if the mask is `value` */
	struct dc_pos pos;
	struct ast_expr *value; /* NULL: by name */
	const char *text;       /* `as` */
	struct ast_item *group;
	uint32_t ngroup;
	const char *unknown;    /* of a group; NULL: none */
	bool offsets;		/* an unknown member is the name below it and the distance */
	bool merged;		/* an unknown member of the group stays among the other bits */
	bool always;		/* the group is shown even if it is 0, and no name is for that */
	uint8_t hi, lo;
	uint8_t low;		/* ITEM_LOW: ESPY_LOW_*; ITEM_SHIFT: ESPY_SHIFT_* */
	struct dc_sym *table;   /* ITEM_PACK: format of the field */
	struct dc_pos table_pos;
};
struct ast_table {
	struct ast_table *next;
	int kind; /* enum espy_table_kind */
	struct dc_sym *name;
	struct dc_pos pos;
	struct dc_sym *width;
	struct dc_pos width_pos;
	const char *unknown; /* NULL: none */
	bool decimal, comment, apart, offsets, whole;
	const char *header;
	struct ast_item *items;
	uint32_t nitems;
	bool busy, circular;
	uint32_t index; /* in the image, + 1 */
};

struct ast_call {
	struct ast_call *next;         /* base forms, or variants of one, in order of declaration */
	struct dc_sym *name;
	struct dc_pos pos;
	struct ast_field *params;
	uint32_t nparams;
	struct ast_type *ret;          /* NULL: default */
	struct dc_pos note_pos;
	bool has_note;
	const char *note_text;
	struct ast_type *note_type;
	bool note_names; /* there is a note only if a flag has a name, and it is in names whatever the style */
	struct dc_sym *note_hook;
	struct ast_expr *sw[2];        /* switch */
	struct ast_expr *family[8];    /* types of ioctl commands whose size does not count */
	uint32_t nfamily;
	struct dc_pos sw_pos;
	uint8_t plan_flags;            /* ESPY_PLAN_* from the words behind it */
	struct dc_sym *effect;         /* NULL: none, or as in the base form */
	struct dc_pos effect_pos;
	struct ast_names effect_args;
	struct dc_sym *event;          /* `tracepoint NAME`; NULL: as the call is called */
	struct ast_names order;
	struct ast_expr *inner; /* `inner FIRST [from ARGS]`; NULL: none */
	struct dc_sym *inner_args;
	struct dc_pos inner_pos;
	/* variants */
	bool is_variant;
	struct ast_key *keys;
	uint32_t nkeys;
	struct ast_call *base;
	struct ast_call *variants, **variants_tail;
	uint32_t nvariants;
	uint32_t index;
};

#endif
