/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the stages of the description compiler share: memory, names, tokens, diagnostics, and the
 * arrays in which the image grows. Private to src/describe.
 */
#ifndef ESPY_DESCRIBE_COMPILER_H
#define ESPY_DESCRIBE_COMPILER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "describe/ast.h"
#include "describe/describe.h"
#include "describe/image.h"
#include "describe/image_format.h"

/* Most errors that are reported before the compiler gives up. */
#define DC_MAX_ERRORS 200u
#define ESPY_MAX_PARAMS 6u

struct dc_chunk {
	struct dc_chunk *next;
};
struct dc_arena {
	struct dc_chunk *chunks;
	char *at, *end;
};

/* A growing array; elements are plain data. */
struct dc_vec {
	void *data;
	uint32_t n, cap, elem_sz;
};

/*
 * Words that the grammar gives a meaning; reserved only where they can stand. In this order: integers and other base types;
 * directions and clauses; parts of clauses, and declarations. The formatter would break the lines anew with each word.
 */
/* clang-format off */
#define DC_WORDS(W) \
	W(U8, "u8") W(U16, "u16") W(U32, "u32") W(U64, "u64") W(S8, "s8") W(S16, "s16") W(S32, "s32") \
	W(S64, "s64") W(BE16, "be16") W(BE32, "be32") W(BE64, "be64") W(INT, "int") W(UINT, "uint") \
	W(LONG, "long") W(ULONG, "ulong") W(USIZE, "usize") W(CHAR, "char") W(ADDR, "addr") \
	W(ADDR64, "addr64") W(FD, "fd") W(FD64, "fd64") W(DIRFD, "dirfd") W(GENL, "genl") W(PID, "pid") \
	W(TID, "tid") W(PGID, "pgid") W(SID, "sid") W(UID, "uid") W(GID, "gid") W(IPV4, "ipv4") \
	W(STR, "str") W(PATH, "path") W(LINK, "link") W(BYTES, "bytes") W(REST, "rest") W(VOID, "void") \
	W(BITS, "bits") W(REMARK, "remark") \
	W(IN, "in") W(OUT, "out") W(INOUT, "inout") W(IN64, "in64") W(OUT64, "out64") W(INOUT64, "inout64") \
	W(WHEN, "when") W(ON, "on") W(AT, "at") W(SPREAD, "spread") W(CLASS, "class") W(MAX, "max") \
	W(VERBOSE, "verbose") W(NONZERO, "nonzero") W(ALWAYS, "always") W(HIDDEN, "hidden") \
	W(NONAME, "noname") W(ON_OK, "on_ok") W(BEFORE, "before") W(AFTER, "after") W(HEX, "hex") \
	W(BOTH, "both") W(NAMED, "named") W(THEN, "then") W(INTACT, "intact") \
	W(REQUIRED, "required") W(ABBREV, "abbrev") W(OK_OR_MORE, "ok_or_more") \
	W(BARE, "bare") W(FOLDED, "folded") W(INDEXED, "indexed") W(UPTO, "upto") W(NAMING, "naming") \
	W(LAST, "last") W(ASIDE, "aside") W(OVER, "over") W(SHORT, "short") W(HIGH_FIRST, "high_first") \
	W(PLACED, "placed") W(BEHIND, "behind") W(HOOK, "hook") \
	W(SIZED, "sized") W(OF, "of") W(MIN, "min") W(NULL, "null") W(RET, "ret") W(OUTER, "outer") \
	W(SIZE, "size") W(FIRST, "first") W(KIND, "kind") W(INDEX, "index") W(ELSE, "else") W(SLOT, "_") \
	W(FLAGS, "flags") W(ENUM, "enum") W(PACK, "pack") W(STRUCT, "struct") W(UNION, "union") \
	W(TYPE, "type") W(ATTRS, "attrs") W(FROM, "from") W(AS, "as") W(MERGED, "merged") \
	W(INCLUDE, "include") W(SHOW, "show") W(BRIEF, "brief") W(NOTE, "note") W(TAIL, "tail") \
	W(PACKED, "packed") W(TLV, "tlv") W(ALIGN, "align") W(BY, "by") W(BRACES, "braces") \
	W(SWITCH, "switch") W(NEWIMAGE, "newimage") W(NORETURN, "noreturn") W(TWICE, "twice") \
	W(BLOCKS, "blocks") W(ORDER, "order") W(TRACEPOINT, "tracepoint") W(INNER, "inner") W(OK, "ok") \
	W(ERR, "err") W(ANY, "any") W(POS, "pos") W(HEADED, "headed") W(EXTENT, "extent") W(SP, "sp") \
	W(DATA, "data") W(ENV, "env") W(SECRET, "secret") W(CHAINED, "chained") W(WALLTIME, "walltime") \
	W(UTIME, "utime")
/* clang-format on */

enum dc_word {
	W_NONE,
#define WORD(name, text) W_##name,
	DC_WORDS(WORD)
#undef WORD
	W_CNT,
	W_BASE_FIRST = W_U8,
	W_BASE_LAST = W_REMARK,
	W_CLAUSE_FIRST = W_WHEN,
	W_CLAUSE_LAST = W_HOOK,
};

enum dc_tok_kind {
	T_EOF, T_NAME, T_NUM, T_STR, T_HEADER, T_DOTDOT, T_ARROW, T_SHL, T_SHR, T_LE, T_GE, T_EQ, T_NE, T_LAND, T_LOR,
	T_PUNCT, /* num: the character */
};
struct dc_tok {
	uint8_t kind;  /* enum dc_tok_kind */
	bool at_bol;   /* stands at the beginning of its line: where the parser starts again after an error */
	uint16_t word; /* of a T_NAME: enum dc_word */
	uint32_t off, len;
	uint64_t num;
	union {
		struct dc_sym *sym;
		const char *str; /* T_STR, T_HEADER */
	};
};

struct dc_const {
	struct dc_const *next; /* other values of the same name */
	uint64_t value;
	const char *header;    /* NULL: not said */
	uint32_t layer;        /* which constants text; a higher one hides lower ones */
	bool undefined;        /* `?` */
	bool by_table;         /* defined by `NAME = value` in a table */
};

/* A struct or call whose names an expression can use. */
struct dc_ctx {
	const struct dc_ctx *outer;
	const struct ast_call *call;    /* parameters; */
	const struct ast_named *record; /* or fields */
	const uint32_t *order;    /* call: index of parameter i in the image's fields */
};

/* The arrays of the image in which equal records share a place. */
enum dc_interned { DC_TYPES, DC_EXPRS, DC_FIELDS, DC_CASES, DC_INDICES, DC_INTERNED_CNT };

struct dc {
	const struct espy_describe_input *in;
	const struct espy_describe_listing *listing;
	espy_diag_fn diag;
	void *diag_ctx;
	jmp_buf no_memory;
	jmp_buf sync;         /* parser: to the next declaration */
	uint32_t errors;
	bool too_many;

	struct dc_arena arena;
	struct dc_sym *syms; /* hash table by text */
	struct dc_sym *words[W_CNT];

	/* texts that positions refer to: descriptions, then constants, then the call table */
	const struct espy_text_source *src[128];
	uint32_t src_cnt;

	/* parser */
	struct dc_vec toks;
	uint32_t tok;
	uint32_t cur_src;
	uint32_t depth; /* of nested expressions, groups, types: bounds the stack */
	bool in_when;	/* an expression in which any word behind `->` is the name of a field */

	struct ast_table *tables, **tables_tail;
	struct ast_named *named, **named_tail;
	struct ast_call *calls, **calls_tail;
	struct ast_call *variants, **variants_tail; /* until they are given to their base forms */

	struct dc_sym **forms; /* by call number: what describes it, its name unless the table says otherwise */

	/* the ABI */
	uint32_t cut_off;   /* recursions that were cut off so far */
	uint32_t busy_cnt;  /* structs being lowered */
	uint32_t long_sz, ptr_sz, u64_align;

	/* the image */
	union {
		struct { /* in the order of enum espy_section */
			struct dc_vec strings, syscalls, call_plans, ivariants, icalls, fields, types, cases, exprs,
				itables, entries, index_list, plans, ops;
		};
		struct dc_vec sections[ESPY_SECTION_CNT];
	};
	struct dc_run *interned[DC_INTERNED_CNT]; /* hash tables by content */
};

_Static_assert(offsetof(struct dc, ops) == offsetof(struct dc, sections[ESPY_SEC_OPS]), "each section has its list");

/* arena.c */
void *dc_alloc(struct dc *dc, size_t size); /* zeroed; does not return without memory */
/* Moves a list that grew while it was parsed to the arena. Returns its place. */
void *dc_keep(struct dc *dc, const void *v, uint32_t n, size_t elem_sz);
void dc_arena_free(struct dc_arena *a);
char *dc_strndup(struct dc *dc, const char *s, size_t n);
void *dc_vec_add(struct dc *dc, struct dc_vec *v, uint32_t n); /* n zeroed elements at the end */
void *dc_vec_at(const struct dc_vec *v, uint32_t i);
void dc_vec_free(struct dc_vec *v);
struct dc_sym *dc_intern(struct dc *dc, const char *s, size_t n);
void dc_init_words(struct dc *dc);
uint32_t dc_str(struct dc *dc, const char *s);        /* into the string pool; equal strings share */
uint32_t dc_sym_str(struct dc *dc, struct dc_sym *s);
/* The index of n records in an image array: where equal ones already stand, or added. */
uint32_t dc_intern_record(struct dc *dc, enum dc_interned which, const void *rec, uint32_t n);

/* diag.c */
void dc_error(struct dc *dc, struct dc_pos pos, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* lex.c */
void dc_lex(struct dc *dc, uint32_t src);

/* parse.c */
void dc_parse(struct dc *dc, uint32_t src);
struct dc_tok *dc_peek(struct dc *dc, uint32_t ahead);
struct dc_tok *dc_next(struct dc *dc);
struct dc_pos dc_tok_pos(struct dc *dc, const struct dc_tok *t);
bool dc_is_punct(struct dc *dc, uint32_t ahead, char c);
bool dc_is_word(struct dc *dc, uint32_t ahead, enum dc_word w);
bool dc_accept(struct dc *dc, char c);
bool dc_accept_word(struct dc *dc, enum dc_word w);
/* Accepts a word that has a meaning in this place only. */
bool dc_accept_text(struct dc *dc, const char *text);
void dc_expect(struct dc *dc, char c, const char *after);
struct dc_sym *dc_expect_name(struct dc *dc, const char *what, struct dc_pos *pos);
_Noreturn void dc_syntax(struct dc *dc, const char *expected); /* "found X, expected Y"; to the next declaration */
void dc_enter(struct dc *dc); /* deeper; dc_leave on the way back */
void dc_leave(struct dc *dc);

/* parse_type.c */
struct ast_type *dc_parse_type(struct dc *dc);
/* parse_expr.c */
struct ast_expr *dc_parse_expr(struct dc *dc);
struct ast_expr *dc_parse_primary(struct dc *dc); /* name, number, or expression in parentheses */
/* parse_table.c */
void dc_parse_table(struct dc *dc, int kind);
/* What stands for a value without a name, and `from` and a header: both may be missing. */
void dc_parse_origin(struct dc *dc, struct ast_table *t);
/* parse_attrs.c */
void dc_parse_attrs(struct dc *dc);
/* parse_call.c */
void dc_parse_call(struct dc *dc);
/* Takes `min N`, if it comes next. Returns N; 0: it does not come. */
uint16_t dc_parse_min(struct dc *dc);
/* placed.c: parses what stands behind the word `placed`. */
struct ast_placed *dc_parse_placed(struct dc *dc);
/* Makes the type of a field that is `placed`, of the type of what lies there. */
uint32_t dc_lower_placed(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, uint32_t elem);
void dc_parse_names(struct dc *dc, struct ast_names *names, char open, char close);
struct ast_key *dc_parse_keys(struct dc *dc, uint32_t *n, char end);

/* consts.c */
void dc_load_constants(struct dc *dc, uint32_t src, uint32_t layer);
void dc_add_const(struct dc *dc, struct dc_sym *name, uint64_t value, const char *header, uint32_t layer);
/* 0: *value; 1: `?`, not defined for this ABI; -1: unknown or ambiguous, reported unless quiet */
int dc_const_value(struct dc *dc, struct dc_sym *name, const char *header, struct dc_pos pos, uint64_t *value, bool quiet);
/* a constant expression; table (may be NULL) is where names are looked up first; result as dc_const_value */
int dc_const_expr(struct dc *dc, const struct ast_expr *e, const char *header, const struct ast_table *table,
		  uint64_t *value);
void dc_load_syscalls(struct dc *dc, uint32_t src);

/* a op b of two constants, as the decoder computes it (division by 0 gives 0); -1 if op is no such operator */
int dc_fold(uint32_t op, uint64_t a, uint64_t b, uint64_t *v);

/* tables.c */
uint64_t dc_cut(uint64_t v, unsigned size, bool sgn); /* to size bytes, then zero- or sign-extended */
void dc_table_constants(struct dc *dc); /* `NAME = value` items define NAME for all */
uint32_t dc_lower_table(struct dc *dc, struct ast_table *t);
/* value of an item called `name` in the table; as dc_const_value, -1 without a report if there is none */
int dc_table_item(struct dc *dc, const struct ast_table *t, struct dc_sym *name, uint64_t *value);

/* exprs.c */
uint32_t dc_lower_expr(struct dc *dc, const struct ast_expr *e, const struct dc_ctx *ctx);
uint32_t dc_add_expr(struct dc *dc, uint32_t op, uint32_t a, uint32_t b, uint64_t value);
bool dc_expr_has(struct dc *dc, uint32_t i, uint32_t op);
/* declared type of a field or parameter of the context, aliases resolved; NULL: none of that name */
const struct ast_type *dc_ctx_type(struct dc *dc, const struct dc_ctx *ctx, struct dc_sym *name);

/* layout.c */
void dc_layout_init(struct dc *dc);
bool dc_scalar(struct dc *dc, enum dc_word w, struct espy_type *t); /* size, sign, format of an integer word */
void dc_layout_struct(struct dc *dc, struct ast_named *s, struct espy_type *t, struct espy_field *fields);
void dc_report_layout(struct dc *dc, const struct ast_named *s, const struct espy_field *fields);

/* types.c */
enum dc_place { PLACE_PARAM, PLACE_FIELD, PLACE_POINTEE, PLACE_ELEM, PLACE_CASE, PLACE_RESULT };
extern const struct espy_type dc_empty_type; /* where a type begins: refers to nothing */
uint32_t dc_lower_type(struct dc *dc, const struct ast_type *t, const struct dc_ctx *ctx, enum dc_place place);
/* named.c */
void dc_lower_all_named(struct dc *dc); /* also those that no call uses: records that are not calls */
uint32_t dc_lower_named(struct dc *dc, struct ast_named *s, const struct dc_ctx *ctx);
uint32_t dc_add_type(struct dc *dc, const struct espy_type *t);
struct espy_type *dc_type(struct dc *dc, uint32_t i);
bool dc_is_plain(struct dc *dc, uint32_t x); /* a length that a source can evaluate */
const struct ast_type *dc_resolve_alias(struct dc *dc, const struct ast_type *t);
/* formats.c */
void dc_apply_format(struct dc *dc, const struct ast_type *t, struct espy_type *ty); /* `:format`, `:TABLE`, `hex` */
void dc_apply_hook(struct dc *dc, const struct ast_type *t, struct espy_type *ty);
uint16_t dc_find_hook(struct dc *dc, struct dc_sym *name, struct dc_pos pos);
bool dc_is_int_word(enum dc_word w);

/* calls.c */
const struct ast_type *dc_param_type(const struct ast_call *c, uint32_t i); /* bare names: as in the base form */
void dc_bind_variants(struct dc *dc);
void dc_lower_calls(struct dc *dc);
/* the register of the parameter of that name; ESPY_NONE: it has none */
uint32_t dc_register_of(struct dc *dc, const struct ast_call *c, const struct dc_sym *name);

/* effects.c */
bool dc_is_effect(const struct dc_sym *name);
/* What the plan says of a call besides its memory: its effect, and which of its values are descriptors. */
void dc_lower_effects(struct dc *dc, const struct ast_call *c, const struct espy_call *ic, struct espy_plan *plan);
/* What the memory of operations holds: espy_op.holds. */
void dc_find_fds(struct dc *dc, struct espy_op *ops, uint32_t n);

/* plan.c */
/* the plan of a call whose parameters are lowered; *plan has all but its operations. Its index */
uint32_t dc_make_plan(struct dc *dc, struct ast_call *c, const struct espy_call *ic, const struct dc_pos *param_pos,
		      struct espy_plan *plan);

/* write.c */
int dc_write(struct dc *dc, void **blob, size_t *size);

#endif
