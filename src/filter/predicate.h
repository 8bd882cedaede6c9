/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A predicate: a condition (filter/condition.h) that is bound to the names of one kind of event. It is a flat array of
 * tests, without pointers, so it can be copied, stored and compared byte for byte.
 *
 *	        +--------------+  yes   +-----------+  yes
 *	start ->| ret < 0      |------->| path ^= / |-----> HOLDS
 *	        +--------------+        +-----------+
 *	               | no                   | no
 *	               +----------------------+-----------> FAILS
 *
 * Evaluation begins with the first test. Each test says which one is next if it holds, and which one if it does not.
 * Both are later tests, so evaluation ends after test_cnt steps at most.
 *
 * A value is missing if the event has no such argument, or if its memory could not be read. A text is missing for a test
 * that asks for a number. Every test of a missing value fails, also !=, !~ and a test with !=
 * in a set. The operator ! of the language turns the result round: !(path == "x") holds where there is no path.
 * A text that was captured in part equals nothing and ends with nothing. The other tests see the captured part. All back ends have these rules.
 */
#ifndef ESPY_FILTER_PREDICATE_H
#define ESPY_FILTER_PREDICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ESPY_PREDICATE_TESTS 64u
#define ESPY_PREDICATE_NAMES 16u
#define ESPY_PREDICATE_TEXT 4096u

enum espy_value_type {
	ESPY_VALUE_NONE = 0, /* missing */
	ESPY_VALUE_INT = 1,
	ESPY_VALUE_UINT = 2,
	ESPY_VALUE_DOUBLE = 3,
	ESPY_VALUE_TEXT = 4, /* any bytes */
};

struct espy_filter_value {
	uint8_t type; /* enum espy_value_type */
	bool cut;     /* TEXT: there is more than these bytes */
	union {
		int64_t i;
		uint64_t u;
		double d;
		struct {
			const char *text; /* valid until the evaluation ends */
			size_t len;
		};
	};
};

enum espy_test_op {
	ESPY_TEST_NEVER = 0, /* fails whatever the value is: a name or a constant that this kind of event does not have */
	ESPY_TEST_EQ = 1,
	ESPY_TEST_LT = 2,
	ESPY_TEST_LE = 3,
	ESPY_TEST_GT = 4,
	ESPY_TEST_GE = 5,
	ESPY_TEST_ANY = 6,      /* numbers: one of the bits of u is set */
	ESPY_TEST_BITS = 7,     /* numbers: (value & mask) == u */
	ESPY_TEST_PREFIX = 8,   /* this and the rest: text */
	ESPY_TEST_SUFFIX = 9,
	ESPY_TEST_CONTAINS = 10,
	ESPY_TEST_MATCH = 11,   /* a POSIX extended regular expression */
};

/* Targets of a test that are no test. */
#define ESPY_TEST_HOLDS 0xfffeu
#define ESPY_TEST_FAILS 0xffffu

struct espy_test {
	uint8_t op;        /* enum espy_test_op */
	uint8_t negated;   /* 1: holds if the value is there and the comparison does not hold (!=, !~) */
	uint8_t type;      /* enum espy_value_type of the constant */
	uint8_t name;      /* in names */
	uint16_t yes, no;  /* the next test: a larger index than this one's, or ESPY_TEST_HOLDS, ESPY_TEST_FAILS */
	uint32_t text, text_len; /* TEXT: the constant's bytes, in text; a NUL stands behind them */
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
	uint64_t mask; /* BITS */
};
_Static_assert(sizeof(struct espy_test) == 32, "");

enum espy_name_flags {
	ESPY_NAME_ERRNO = 1,    /* a positive error number */
	ESPY_NAME_RESULT = 2,   /* a result: errors are negative */
	ESPY_NAME_DURATION = 4, /* nanoseconds: a number needs a unit */
	ESPY_NAME_TEXT = 8,     /* a pointer to a text: a number but 0 (NULL) beside it is a mistake */
};

struct espy_predicate_name {
	uint64_t ref;  /* a number of the table of names; the getter gets it back */
	uint32_t text; /* the name as the user wrote it, in text, with a NUL */
	uint16_t type; /* enum espy_value_type of the values that are asked for */
	uint16_t flags; /* enum espy_name_flags */
};

struct espy_predicate {
	uint32_t test_cnt; /* 0: holds always */
	uint32_t name_cnt, text_len;
	uint32_t reserved;
	struct espy_test tests[ESPY_PREDICATE_TESTS];
	struct espy_predicate_name names[ESPY_PREDICATE_NAMES];
	char text[ESPY_PREDICATE_TEXT];
};

/* Checks whether a predicate from a file or another process is well formed. 0, or -EBADMSG. */
int espy_predicate__check(const struct espy_predicate *p);
/* Tells whether two predicates mean the same, test for test. */
bool espy_predicate__same(const struct espy_predicate *a, const struct espy_predicate *b);

static inline const char *espy_predicate__name(const struct espy_predicate *p, const struct espy_test *t)
{
	return p->text + p->names[t->name].text;
}

/* ---- in user space */

/* Fetches one value. 0, or a negative errno: the value is missing. Called at most once per name and evaluation. */
typedef int (*espy_value_fn)(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out);

struct espy_evaluator; /* a predicate and its compiled regular expressions */

/* 0, -ENOMEM, or -EBADMSG if the predicate is not well formed. The predicate is copied. */
int espy_evaluator__new(struct espy_evaluator **out, const struct espy_predicate *p);
void espy_evaluator__free(struct espy_evaluator *e);
bool espy_evaluator__holds(const struct espy_evaluator *e, espy_value_fn get, void *ctx);

/* Tells whether one test of a value holds. A regular expression fails here. For the tests of other back ends. */
bool espy_test__holds(const struct espy_predicate *p, const struct espy_test *t, const struct espy_filter_value *v);

/* ---- in parts */

/*
 * A predicate is a conjunction of parts: tests [first, end) that all evaluations pass through before a part behind
 * them. Finds the part that begins at `first`. Returns where it ends, which is where the next one begins.
 */
uint32_t espy_predicate__part(const struct espy_predicate *p, uint32_t first);

/* Tells whether this part can be tested near the source. */
typedef bool (*espy_part_fn)(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end);
/*
 * Splits p into the parts that `takes` accepts and the others: p holds exactly where both hold. Either may be empty
 * (test_cnt 0), and then holds always.
 */
void espy_predicate__split(const struct espy_predicate *p, espy_part_fn takes, void *ctx, struct espy_predicate *near,
			   struct espy_predicate *rest);

/* Says of a test before there is an event: 1 it holds, 0 it fails, -1 not known. NEVER always fails. */
typedef int (*espy_known_fn)(void *ctx, const struct espy_predicate *p, const struct espy_test *t);
/* Takes out the tests that are known, and the tests that no evaluation comes to. known may be NULL. */
void espy_predicate__fold(struct espy_predicate *p, espy_known_fn known, void *ctx);
/* Tells of a folded predicate that it holds for no event. */
static inline bool espy_predicate__is_never(const struct espy_predicate *p)
{
	return p->test_cnt == 1 && p->tests[0].op == ESPY_TEST_NEVER;
}

struct espy_buf;
/* Writes a predicate as text of the language, by which a user recognises what was asked: `ret < 0 && path ^= "/etc"`. */
void espy_predicate__print(const struct espy_predicate *p, struct espy_buf *out);

#endif
