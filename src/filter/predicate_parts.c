/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Divides and joins predicates. Tests stand in the order of the text, so this finds again the parts that && and ||
 * join. A piece of tests is A && B if all ways out of A lead to the beginning of B, or to where the whole piece fails.
 */
#include "filter/predicate.h"

#include <stdio.h>
#include <string.h>
#include "base/errno_names.h"
#include "base/num.h"

/*
 * Returns the first place behind `first` at which every evaluation arrives that has not left for `leave`; `end` if
 * there is none before it. Other targets than tests up to there lie behind every index.
 */
static uint32_t meeting(const struct espy_predicate *p, uint32_t first, uint32_t end, uint32_t leave)
{
	uint32_t furthest = first + 1;

	for (uint32_t i = first; i < end; i++) {
		const struct espy_test *t = &p->tests[i];

		if (i > first && furthest <= i)
			return i;
		if (t->yes != leave && t->yes > furthest)
			furthest = t->yes;
		if (t->no != leave && t->no > furthest)
			furthest = t->no;
	}
	return end;
}

uint32_t espy_predicate__part(const struct espy_predicate *p, uint32_t first)
{
	return meeting(p, first, p->test_cnt, ESPY_TEST_FAILS);
}

/* Copies tests [first, end) to the end of `to`, behind its parts. HOLDS stands where a further part may follow. */
static void copy_part(const struct espy_predicate *from, uint32_t first, uint32_t end, struct espy_predicate *to)
{
	const uint32_t base = to->test_cnt;

	for (uint32_t i = 0; i < base; i++) {
		to->tests[i].yes = to->tests[i].yes == ESPY_TEST_HOLDS ? (uint16_t)base : to->tests[i].yes;
		to->tests[i].no = to->tests[i].no == ESPY_TEST_HOLDS ? (uint16_t)base : to->tests[i].no;
	}
	for (uint32_t i = first; i < end; i++) {
		struct espy_test *t = &to->tests[to->test_cnt++];
		uint16_t *targets[2] = { &t->yes, &t->no };

		*t = from->tests[i];
		for (unsigned k = 0; k < 2; k++) {
			if (*targets[k] == ESPY_TEST_FAILS)
				continue;
			*targets[k] = *targets[k] < end ? (uint16_t)(*targets[k] - first + base) : ESPY_TEST_HOLDS;
		}
	}
}

void espy_predicate__split(const struct espy_predicate *p, espy_part_fn takes, void *ctx, struct espy_predicate *near,
			   struct espy_predicate *rest)
{
	/* Names and texts keep their places: an unused name does no harm. */
	*near = *p;
	*rest = *p;
	memset(near->tests, 0, sizeof(near->tests));
	memset(rest->tests, 0, sizeof(rest->tests));
	near->test_cnt = rest->test_cnt = 0;
	for (uint32_t first = 0, end; first < p->test_cnt; first = end) {
		end = espy_predicate__part(p, first);
		copy_part(p, first, end, takes(ctx, p, first, end) ? near : rest);
	}
}

/* ---- known tests */

void espy_predicate__fold(struct espy_predicate *p, espy_known_fn known, void *ctx)
{
	uint16_t leads[ESPY_PREDICATE_TESTS]; /* the place to which a test leads: itself, or further */
	uint16_t place[ESPY_PREDICATE_TESTS];
	bool reached[ESPY_PREDICATE_TESTS] = { false };
	uint32_t cnt = 0;

	for (uint32_t i = p->test_cnt; i-- > 0;) {
		struct espy_test *t = &p->tests[i];
		const int k = t->op == ESPY_TEST_NEVER ? 0 : known ? known(ctx, p, t) : -1;

		t->yes = t->yes < p->test_cnt ? leads[t->yes] : t->yes;
		t->no = t->no < p->test_cnt ? leads[t->no] : t->no;
		leads[i] = k > 0 || t->yes == t->no ? t->yes : k == 0 ? t->no : (uint16_t)i;
	}
	if (!p->test_cnt || leads[0] == ESPY_TEST_HOLDS) {
		p->test_cnt = 0;
		return;
	}
	if (leads[0] == ESPY_TEST_FAILS) {
		p->tests[0] = (struct espy_test){ .op = ESPY_TEST_NEVER, .yes = ESPY_TEST_HOLDS, .no = ESPY_TEST_FAILS };
		p->test_cnt = 1;
		return;
	}
	reached[leads[0]] = true;
	for (uint32_t i = 0; i < p->test_cnt; i++) {
		if (!reached[i])
			continue;
		place[i] = (uint16_t)cnt++;
		if (p->tests[i].yes < p->test_cnt)
			reached[p->tests[i].yes] = true;
		if (p->tests[i].no < p->test_cnt)
			reached[p->tests[i].no] = true;
	}
	for (uint32_t i = 0; i < p->test_cnt; i++) {
		struct espy_test *t = &p->tests[i];

		if (!reached[i])
			continue;
		t->yes = t->yes < p->test_cnt ? place[t->yes] : t->yes;
		t->no = t->no < p->test_cnt ? place[t->no] : t->no;
		p->tests[place[i]] = *t; /* place[i] <= i */
	}
	p->test_cnt = cnt;
}

/* ---- as text */

/* Prints -ENOENT, 10000000ns, 0x41, 7. */
static void print_integer(const struct espy_test *t, unsigned flags, struct espy_buf *out)
{
	const bool negative = t->type == ESPY_VALUE_INT && t->i < 0;
	const uint64_t n = negative ? 0 - t->u : t->u;
	const char *error = flags & (ESPY_NAME_ERRNO | ESPY_NAME_RESULT) && n && n < 4096 &&
					    negative == !!(flags & ESPY_NAME_RESULT) && t->op == ESPY_TEST_EQ ?
				    espy_errno_name((unsigned)n) : NULL;

	if (t->op == ESPY_TEST_ANY || t->op == ESPY_TEST_BITS) {
		espy_buf__hex(out, t->u);
		return;
	}
	if (negative)
		espy_buf__putc(out, '-');
	if (error)
		espy_buf__puts(out, error);
	else
		espy_buf__dec(out, n);
	if (flags & ESPY_NAME_DURATION && n)
		espy_buf__puts(out, "ns");
}

static void print_constant(const struct espy_predicate *p, const struct espy_test *t, struct espy_buf *out)
{
	char number[32];

	switch (t->type) {
	case ESPY_VALUE_INT:
	case ESPY_VALUE_UINT:
		print_integer(t, p->names[t->name].flags, out);
		break;
	case ESPY_VALUE_DOUBLE:
		snprintf(number, sizeof(number), "%.17g", t->d);
		espy_buf__puts(out, number);
		break;
	default:
		espy_buf__putc(out, '"');
		for (uint32_t i = 0; i < t->text_len; i++) {
			const unsigned char c = (unsigned char)p->text[t->text + i];

			if (c < ' ' || c > '~') {
				snprintf(number, sizeof(number), "\\x%02x", c);
				espy_buf__puts(out, number);
				continue;
			}
			if (c == '"' || c == '\\' || (c == '*' && t->op == ESPY_TEST_EQ))
				espy_buf__putc(out, '\\');
			espy_buf__putc(out, (char)c);
		}
		espy_buf__putc(out, '"');
	}
}

static void print_test(const struct espy_predicate *p, const struct espy_test *t, bool turned, struct espy_buf *out)
{
	static const char *const plain[] = { "==", "==", "<", "<=", ">", ">=", "&", "has", "^=", "$=", "*=", "=~" };
	/* Only == and =~ have an operator for the opposite. */
	const char *op = t->op == ESPY_TEST_EQ && t->negated	? "!="
			 : t->op == ESPY_TEST_MATCH && t->negated ? "!~"
								  : plain[t->op];
	const bool opposite = t->op == ESPY_TEST_EQ || t->op == ESPY_TEST_MATCH;

	if (turned)
		espy_buf__puts(out, "!(");
	espy_buf__puts(out, espy_predicate__name(p, t));
	if (t->op == ESPY_TEST_PREFIX && t->negated) { /* written with an asterisk */
		espy_buf__puts(out, " != ");
		print_constant(p, t, out);
		out->len--;
		espy_buf__puts(out, "*\"");
	} else {
		espy_buf__puts(out, t->negated && !opposite ? " not " : " ");
		espy_buf__puts(out, t->op == ESPY_TEST_NEVER ? "is never there" : op);
		if (t->op != ESPY_TEST_NEVER) {
			espy_buf__putc(out, ' ');
			print_constant(p, t, out);
		}
	}
	if (turned)
		espy_buf__putc(out, ')');
}

/* Prints tests [first, end) whose ways out are yes and no. inside: a || of it needs parentheses. */
static void print_piece(const struct espy_predicate *p, uint32_t first, uint32_t end, uint32_t yes, uint32_t no,
			bool inside, struct espy_buf *out)
{
	uint32_t cut;

	if (end - first == 1) {
		print_test(p, &p->tests[first], p->tests[first].yes == no, out);
		return;
	}
	cut = meeting(p, first, end, no);
	if (cut < end) {
		print_piece(p, first, cut, cut, no, true, out);
		espy_buf__puts(out, " && ");
		print_piece(p, cut, end, yes, no, true, out);
		return;
	}
	cut = meeting(p, first, end, yes);
	if (cut == end)
		cut = first + 1; /* not of the compiler of conditions: shown in some way, but shown */
	if (inside)
		espy_buf__putc(out, '(');
	print_piece(p, first, cut, yes, cut, true, out);
	espy_buf__puts(out, " || ");
	print_piece(p, cut, end, yes, no, false, out);
	if (inside)
		espy_buf__putc(out, ')');
}

void espy_predicate__print(const struct espy_predicate *p, struct espy_buf *out)
{
	if (p->test_cnt)
		print_piece(p, 0, p->test_cnt, ESPY_TEST_HOLDS, ESPY_TEST_FAILS, false, out);
}
