// SPDX-License-Identifier: LGPL-2.1-or-later
// Unit tests of agent/format.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/format.h"
#include "record/record.h"

enum { I32 = 1, U32, I64, U64, PTR, DBL, STR, BYTES, I8, U8, I16, U16 };

static struct espy_format parse(const char *format, unsigned int n, const unsigned int *types)
{
	struct espy_format f;
	uint64_t t = 0;

	for (unsigned int i = 0; i < n; i++)
		t |= (uint64_t)types[i] << 4 * i;
	espy_format_parse(&f, format, strlen(format), t, n);
	return f;
}
#define PARSE(format, ...)                                                                                             \
	parse(format, sizeof((unsigned int[]){ __VA_ARGS__ }) / sizeof(unsigned int), (unsigned int[]){ __VA_ARGS__ })

static void test_kinds(void **state)
{
	struct espy_format f =
		PARSE("%d %u %hhd %hhx %hd %ld %zu %c %f %s %p", I32, I32, I32, U32, I32, I64, U64, I8, DBL, STR, STR);
	const uint8_t kinds[] = { I32, U32, I8, U8, I16, I64, U64, I8, DBL, STR, PTR };

	assert_int_equal(f.nargs, sizeof(kinds));
	for (unsigned int i = 0; i < sizeof(kinds); i++) {
		assert_int_equal(f.args[i].kind, kinds[i]);
		assert_int_equal(f.args[i].word, i);
		assert_int_equal(f.args[i].len_word, ESPY_FORMAT_NONE);
	}
}

// What is smaller than an int becomes one first, with its value; h and hh take its bits again.
static void test_small(void **state)
{
	struct espy_format f = PARSE("%d %d %u %x %hd %hhd %hu %hx %hhi %c", U8, U16, I8, I16, U8, U16, I8, I32, I64, U8);
	const uint8_t kinds[] = { I32, I32, U32, U32, I16, I8, U16, U16, I8, U8 };

	assert_int_equal(f.nargs, sizeof(kinds));
	for (unsigned int i = 0; i < sizeof(kinds); i++)
		assert_int_equal(f.args[i].kind, kinds[i]);
}

static void test_lengths(void **state)
{
	struct espy_format f = PARSE("%.*s %*p %.5s %*d %-8s %%", I32, STR, I32, PTR, STR, I32, I32, STR);

	assert_int_equal(f.nargs, 5);
	assert_int_equal(f.args[0].kind, STR);
	assert_int_equal(f.args[0].word, 1);
	assert_int_equal(f.args[0].len_word, 0);
	assert_int_equal(f.args[1].kind, BYTES);
	assert_int_equal(f.args[1].word, 3);
	assert_int_equal(f.args[1].len_word, 2);
	assert_int_equal(f.args[2].precision, 5);
	assert_int_equal(f.args[3].kind, I32);
	assert_int_equal(f.args[3].word, 6);
	assert_int_equal(f.args[3].len_word, ESPY_FORMAT_NONE);
	assert_int_equal(f.args[4].word, 7);
}

// A format that does not fit its arguments: nothing that is no pointer is followed.
static void test_contradictions(void **state)
{
	struct espy_format f = PARSE("%s %s %d %f %.*s %*p", I64, DBL, STR, I32, STR, STR, DBL, PTR);

	assert_int_equal(f.args[0].kind, I64);
	assert_int_equal(f.args[1].kind, DBL);
	assert_int_equal(f.args[2].kind, PTR);
	assert_int_equal(f.args[3].kind, I32);
	assert_int_equal(f.args[4].kind, PTR);
	assert_int_equal(f.args[4].len_word, ESPY_FORMAT_NONE);
	assert_int_equal(f.args[5].kind, PTR);
	f = PARSE("%d", I32, STR, DBL);
	assert_int_equal(f.nargs, 3);
	assert_int_equal(f.args[1].kind, PTR);
	f = PARSE("%d %d %d %*p %", I32);
	assert_int_equal(f.nargs, 1);
	f = PARSE("%d", 15);
	assert_int_equal(f.args[0].kind, U64);
}

static void check_name(const char *format, unsigned int arg, const char *name)
{
	struct espy_format f = PARSE(format, I32, I32, I32);

	assert_int_equal(f.args[arg].name_len, strlen(name));
	assert_memory_equal(format + f.args[arg].name_off, name, strlen(name));
}

static void test_names(void **state)
{
	check_name("id=%d size=%d", 0, "id");
	check_name("id=%d size=%d", 1, "size");
	check_name("took: %d, n %d", 0, "took");
	check_name("took: %d, n %d", 1, "n");
	check_name("a.b_c=\"%d\"", 0, "a.b_c");
	check_name("%d", 0, "");
	check_name("%d%d", 1, "");
	check_name("[%d] 7=%d x2=%d", 0, "");
	check_name("[%d] 7=%d x2=%d", 1, "");
	check_name("[%d] 7=%d x2=%d", 2, "x2");
	check_name("gr\303\266\303\237e=%d b=%d", 0, "");
	check_name("gr\303\266\303\237e=%d b=%d", 1, "b");
}

static void test_match(void **state)
{
	static const struct {
		const char *pattern, *full;
		int match;
	} t[] = {
		{ "app:*", "app_req_done", 1 },
		{ "app:req_*", "app_req_done", 1 },
		{ "app:req", "app_req_done", 0 },
		{ "*:*_done", "app_req_done", 1 },
		{ "req_done", "app_req_done", 1 },
		{ "req*", "app_req_done", 1 },
		{ "app*", "app_req_done", 0 },
		{ "app_*", "app_req_done", 1 },
		{ "app_req_done", "app_req_done", 1 },
		{ "app_req", "app_req_done", 0 },
		{ "*", "app_req_done", 1 },
		{ "a?p:req_don?", "app_req_done", 1 },
		{ "app_req:done", "app_req_done", 0 },
		{ "", "app_x", 0 },
		{ "tick", "tick", 1 },
		{ "tick:tick", "tick", 1 },
		{ "app:", "app_", 1 },
		{ "**x**:*", "xx_y", 1 },
		{ ":x", "_x", 1 },
	};

	for (unsigned int i = 0; i < sizeof(t) / sizeof(*t); i++)
		if (espy_mark_match(t[i].pattern, t[i].full, strlen(t[i].full)) != t[i].match)
			fail_msg("%s of %s", t[i].pattern, t[i].full);
}

// Whatever the bytes: bounded, and words within what there is.
static void test_garbage(void **state)
{
	char text[64];

	srand(7);
	for (int i = 0; i < 300000; i++) {
		struct espy_format f;
		unsigned int n = (unsigned int)rand() % 18, len = (unsigned int)rand() % sizeof(text);
		uint64_t types = (uint64_t)rand() << 32 ^ (uint64_t)rand() << 10 ^ (uint64_t)rand();
		char *exact = malloc(len + 1);

		for (unsigned int j = 0; j < len; j++)
			exact[j] = "%%%%*.lhsdpf 0123=_\"x\xff"[rand() % 22];
		espy_format_parse(&f, exact, len, types, n);
		assert_in_range(f.nargs, 0, 16);
		for (unsigned int a = 0; a < f.nargs; a++) {
			assert_in_range(f.args[a].kind, 1, 12);
			assert_true(f.args[a].word < n);
			assert_true(f.args[a].len_word == ESPY_FORMAT_NONE || f.args[a].len_word < n);
			assert_true(f.args[a].name_off + f.args[a].name_len <= len);
			if (f.args[a].kind == STR)
				assert_int_equal(types >> 4 * f.args[a].word & 15, STR);
		}
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds), cmocka_unit_test(test_small), cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_contradictions),
		cmocka_unit_test(test_names), cmocka_unit_test(test_match),   cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
