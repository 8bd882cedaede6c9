/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The condition language: one grammar for --where, --pause-on, --snapshot-on, `-m ... if` and probes.
 *
 *	CONDITION = AND { '||' AND }
 *	AND       = NOT { '&&' NOT }
 *	NOT       = '!' NOT | '(' CONDITION ')' | TEST
 *	TEST      = NAME OPERATOR VALUE | NAME 'in' '{' VALUE { ',' VALUE } '}'
 *	NAME      = WORD { '.' WORD | '->' WORD | '[' NUMBER ']' }
 *	OPERATOR  = == != < <= > >=      numbers; == and != also text
 *	          | &                    a number has one of these bits
 *	          | has                  flags: all of these are set; of a field with values: it has this value
 *	          | ^= $= *=             a text begins with, ends with, contains
 *	          | =~ !~                a text matches a POSIX extended regular expression, or does not
 *	VALUE     = TERM { '|' TERM } | "text" | 'text'
 *	TERM      = [ '-' ] ( NUMBER [ ns | us | ms | s ] | CONSTANT )
 *
 * A 'c' of one character beside a number is the number of the character. A text is compared with no number but 0 and
 *NULL, which ask for its pointer. NUMBER is 12, 0x1f, 017 or 1.5e3. CONSTANT is the name of an error, or a constant of
 *the compared value. Text has the escapes \n \t \r \0 \a \e \" \\ \' \* \xHH. With ==, != and in, a text that ends with
 ** (not \*) stands for all texts that begin so.
 *
 * Text is read in two steps. Parsing needs nothing but the text. Binding looks up names and constants in a table of the
 * caller, and makes a predicate. filter/predicate.h says what a missing value means.
 */
#ifndef ESPY_FILTER_CONDITION_H
#define ESPY_FILTER_CONDITION_H

#include "filter/predicate.h"

#define ESPY_CONDITION_NODES 128u
#define ESPY_CONDITION_TERMS 128u
#define ESPY_CONDITION_DEPTH 32u /* of parentheses and ! */
#define ESPY_CONDITION_NAME_MAX 96u

/* A mistake: its place (an offset in the text), and a message that says what was expected there. */
struct espy_condition_error {
	size_t at;
	char text[240];
};

enum espy_condition_kind { ESPY_CONDITION_TEST, ESPY_CONDITION_AND, ESPY_CONDITION_OR, ESPY_CONDITION_NOT };
struct espy_condition_node {
	uint8_t kind;    /* enum espy_condition_kind */
	uint8_t op;      /* TEST: enum espy_test_op */
	uint8_t negated; /* TEST: != !~ */
	uint8_t set;     /* TEST: in, so there may be several values */
	uint16_t a, b;   /* AND, OR: nodes; NOT: a; TEST: the first of its terms, and how many */
	uint32_t name;   /* TEST: offset of the name in text */
	uint32_t at, op_at; /* TEST: where name and operator stand in the source */
};

enum espy_term_kind { ESPY_TERM_UINT, ESPY_TERM_DOUBLE, ESPY_TERM_TIME, ESPY_TERM_CHAR, ESPY_TERM_WORD, ESPY_TERM_TEXT };
struct espy_condition_term {
	uint8_t kind;   /* enum espy_term_kind */
	uint8_t minus;
	uint8_t joined; /* the next term belongs to the same value: A|B */
	uint8_t star;   /* TEXT: it ended with *, which is not among its bytes */
	uint32_t at;    /* its place in the source */
	uint32_t text, text_len; /* WORD, TEXT, CHAR; in text, a NUL behind it */
	union {
		uint64_t u; /* UINT, CHAR; TIME: nanoseconds */
		double d;
	};
};

/* A text that was parsed: a tree in a flat array, without pointers. */
struct espy_condition {
	uint32_t node_cnt, term_cnt, text_len;
	uint32_t root; /* in nodes */
	struct espy_condition_node nodes[ESPY_CONDITION_NODES];
	struct espy_condition_term terms[ESPY_CONDITION_TERMS];
	char text[ESPY_PREDICATE_TEXT];
};

/* Parses a text, all of which must be one condition. Returns 0, or -EINVAL with *e filled. */
int espy_condition__parse(struct espy_condition *c, const char *text, struct espy_condition_error *e);

/* Parses a text from `at` on, all of which must be one NAME. Returns 0, -ENOMEM, or -EINVAL with *e filled. */
int espy_condition__parse_name(const char *text, size_t at, char name[ESPY_CONDITION_NAME_MAX], struct espy_condition_error *e);

/* ---- names */

struct espy_name_info {
	uint8_t type;   /* enum espy_value_type; TEXT only if text was asked for */
	uint8_t width;  /* INT, UINT: 1, 2, 4 or 8: with == != has & in, a number means its lowest bytes, as in C; 0: itself */
	uint16_t flags; /* enum espy_name_flags */
	uint32_t cap;   /* TEXT: most bytes that are captured; 0: no limit that matters */
	uint64_t ref;   /* handed to the getter */
	uint32_t own;   /* the table's own, for constant() */
};

/* A table of names. Messages are written to why and say what is possible. */
struct espy_names {
	void *ctx;
	/*
	 * Finds a name; text: to compare it with text. Returns 0; -ENOENT with a message if there is no such name; -EINVAL
	 * with a message if the name cannot be compared with that.
	 */
	int (*find)(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz);
	/*
	 * Finds a constant of the value `name`. *mask gets the bits that the constant decides on: the bits of its group; its
	 * own if it is a flag by itself. Returns 0 or -ENOENT. NULL: there are no constants but errors.
	 */
	int (*constant)(void *ctx, const struct espy_name_info *name, const char *word, uint64_t *value, uint64_t *mask);
	/* A name that this kind of event lacks makes a test NEVER, and no error: for conditions on many kinds. */
	bool lenient;
};

/* The results of binding for a value. */
enum { ESPY_BOUND_NAME = 1, /* the name that it is compared with is there */ ESPY_BOUND_ALL = 2 /* so is all else */ };
/*
 * Makes the predicate of a condition. bound: NULL, or one byte for each term of the condition; the byte of the first term
 * of each value gets the results, beside the bits that it has. Returns 0, or -EINVAL with *e filled. A lenient table
 * brings -EINVAL only if the condition is too large for a predicate, or wrong whatever the names are. Else *e, if its text
 * was empty, gets the mistake about the first name that is there.
 */
int espy_condition__bind(const struct espy_condition *c, const struct espy_names *names, struct espy_predicate *p,
			 uint8_t bound[ESPY_CONDITION_TERMS], struct espy_condition_error *e);

/* Calls fn with each name of the condition, in the order of the text, until it returns non-zero; returns that. */
int espy_condition__each_name(const struct espy_condition *c, int (*fn)(void *ctx, const char *name, size_t at),
			      void *ctx);

#endif
