/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Marks as text: by format, by kind, and from records that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include "agent/format.h"
#include "sink/text/text_mark.h"
#include "source/wanted_marks.h"

static struct espy_buf out;

struct args {
	uint8_t bytes[1024];
	size_t len;
};

static void put(struct args *a, uint64_t v)
{
	memcpy(a->bytes + a->len, &v, 8);
	a->len += 8;
}

static void put_double(struct args *a, double d)
{
	uint64_t v;

	memcpy(&v, &d, 8);
	put(a, v);
}

static void put_string(struct args *a, const char *s, uint32_t len, uint32_t status)
{
	put(a, len | (uint64_t)status << 32);
	memcpy(a->bytes + a->len, s, len);
	memset(a->bytes + a->len + len, 0, 8);
	a->len += (len + 7) & ~7u;
}

/* Checks the text of a mark `t_x` with this format and these arguments. */
static void check(const char *want, const char *format, const uint8_t *kinds, unsigned nargs, const struct args *a)
{
	const struct espy_text_opts o = { .str_limit = 8 };
	struct espy_mark_defs *defs = espy_mark_defs__new(0);
	const struct espy_rec_mark_def *def;
	struct espy_mark_def *t;
	uint32_t number;
	bool fresh;
	struct {
		struct espy_rec_mark mark;
		uint8_t bytes[1024];
	} rec = { .mark = { .rec = { .size = (uint32_t)(sizeof(struct espy_rec_mark) + a->len), .type = ESPY_REC_MARK },
			    .len = (uint32_t)a->len } };

	memcpy(rec.bytes, a->bytes, a->len);
	assert_int_equal(espy_mark_defs__get(defs, "t", 1, "x", format, kinds, nargs, &number, &fresh, &def), 0);
	assert_int_equal(espy_mark_def__make(&t, def), 0);
	out.len = 0;
	espy_mark_text__put(&out, &o, t, &rec.mark);
	espy_buf__putc(&out, 0);
	assert_string_equal(out.data, want);
	espy_mark_def__free(t);
	espy_mark_defs__free(defs);
}

static void test_formats(void **state)
{
	static const uint8_t kinds[] = { ESPY_MARK_I32,	   ESPY_MARK_U32,    ESPY_MARK_U64,    ESPY_MARK_U8,
					 ESPY_MARK_DOUBLE, ESPY_MARK_STRING, ESPY_MARK_POINTER };
	struct args a = { .len = 0 };

	(void)state;
	put(&a, (uint64_t)-7);
	put(&a, 255);
	put(&a, 8);
	put(&a, '\'');
	put_double(&a, 1.5);
	put_string(&a, "/x\n", 3, ESPY_ITEM_OK);
	put(&a, 0);
	check("t:x(id=-7, flags=0xff, mode=010, c='\\47', took=1.500, path=\"/x\\n\", p=NULL)",
	      "id=%d flags=%#x mode: %#lo c=%c took=%.3f path=\"%s\" p=%p", kinds, 7, &a);
	check("t:x(-7, 255, 8, 39, 1.5, \"/x\\n\", NULL)", "", kinds, 7, &a);
	/* More conversions than arguments, fewer, and ones that do not fit: the kinds win. */
	check("t:x(a=-7, b=255, 8, 39, 1.5, \"/x\\n\", NULL)", "a=%s b=%f", kinds, 7, &a);
	check("t:x(a=-7)", "a=%d b=%d c=%d", kinds, 1, &a);
	check("t:x(n=-0000007, u=0x00ff, -7)", "100%% n=%08d u=0x%04x", (const uint8_t[]){ 1, 2, 1 }, 3,
	      &(struct args){ .bytes = { 0xf9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,    0,	   0,
					 0,    0,    0,	   0,	 0xf9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
			      .len = 24 });
	check("t:x(99)", "%2147483647d", (const uint8_t[]){ 1 }, 1, &(struct args){ .bytes = { 99 }, .len = 8 });
}

#define AS_PRINTF(format, kind, value) \
	do { \
		char want[80]; \
		struct args a = { .len = 0 }; \
		snprintf(want, sizeof(want), "t:x(" format ")", value); \
		put(&a, (uint64_t)(value)); \
		check(want, format, (const uint8_t[]){ kind }, 1, &a); \
	} while (0)
#define WITH_ALL_FORMATS(kind, value) \
	do { \
		AS_PRINTF("%d", kind, value); \
		AS_PRINTF("%u", kind, value); \
		AS_PRINTF("%x", kind, value); \
		AS_PRINTF("%#o", kind, value); \
		AS_PRINTF("%hd", kind, value); \
		AS_PRINTF("%hx", kind, value); \
		AS_PRINTF("%hhi", kind, value); \
		AS_PRINTF("%hhu", kind, value); \
	} while (0)

/*
 * Smaller types become an int first, with their value: %d of an unsigned short of 40000 is 40000. Clang warns of formats
 * for smaller types than the argument's, which are what is tested.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
static void test_integers(void **state)
{
	(void)state;
	WITH_ALL_FORMATS(ESPY_MARK_I8, (signed char)-56);
	WITH_ALL_FORMATS(ESPY_MARK_U8, (unsigned char)200);
	WITH_ALL_FORMATS(ESPY_MARK_I16, (short)-25536);
	WITH_ALL_FORMATS(ESPY_MARK_U16, (unsigned short)40000);
	WITH_ALL_FORMATS(ESPY_MARK_I32, -70000);
	WITH_ALL_FORMATS(ESPY_MARK_U32, 4000000000u);
	AS_PRINTF("%ld", ESPY_MARK_I64, -5000000000l);
	AS_PRINTF("%lu", ESPY_MARK_U64, 18000000000000000000ul);
	AS_PRINTF("%ld", ESPY_MARK_U64, 18000000000000000000ul);
	AS_PRINTF("%lx", ESPY_MARK_I64, -5l);
}
#pragma GCC diagnostic pop

static void test_strings(void **state)
{
	static const uint8_t kinds[] = { ESPY_MARK_STRING, ESPY_MARK_STRING, ESPY_MARK_BYTES, ESPY_MARK_STRING };
	struct args a = { .len = 0 };

	(void)state;
	put_string(&a, "0123456789", 10, ESPY_ITEM_OK);
	put_string(&a, "cut", 3, ESPY_ITEM_TRUNCATED);
	put_string(&a, "\0\1\33[m", 5, ESPY_ITEM_OK);
	put_string(&a, "", 0, ESPY_ITEM_FAULT);
	check("t:x(s=\"01234567\"..., \"cut\"..., b=\"\\0\\1\\33[m\", NULL)", "s=%.*s %s b=%*p %s", kinds, 4, &a);
	put_string(&a, "", 0, ESPY_ITEM_NOT_RUN);
	check("t:x(\"01234567\"..., \"cut\"..., \"\\0\\1\\33[m\", NULL, ?)", "", (const uint8_t[]){ 7, 7, 8, 7, 7 }, 5,
	      &a);
}

static void test_doubles(void **state)
{
	struct args a = { .len = 0 };

	(void)state;
	put_double(&a, 1e300);
	put_double(&a, -__builtin_inf());
	put_double(&a, __builtin_nan(""));
	check("t:x(1e+300, -inf, v=nan)", "%g %f v=%e", (const uint8_t[]){ 6, 6, 6 }, 3, &a);
}

static void test_short(void **state)
{
	struct args a = { .len = 0 };

	(void)state;
	put(&a, 5);
	check("t:x(5, ?, ?)", "", (const uint8_t[]){ 1, 7, 1 }, 3, &a);
	put(&a, 0xffffffffull); /* a string longer than the record */
	check("t:x(5, ?, ?)", "", (const uint8_t[]){ 1, 7, 1 }, 3, &a);
}

/* Any bytes as definition and event: nothing is read outside (run under the sanitizers), no control character comes
 * out. */
static void test_garbage(void **state)
{
	const struct espy_text_opts o = { .str_limit = 100 };
	uint64_t seed = 88172645463325252ull;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		const size_t def_sz = sizeof(struct espy_rec_mark_def) + round % 100 * 8;
		const size_t rec_sz = sizeof(struct espy_rec_mark) + round % 70 * 8;
		uint8_t *def_bytes = malloc(def_sz), *rec_bytes = malloc(rec_sz);

		for (size_t i = 0; i < def_sz || i < rec_sz; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			uint8_t b = round % 3 ? "%dsxc=a .*1#\1\33"[seed % 15] : (uint8_t)seed;

			if (i < def_sz)
				def_bytes[i] = b;
			if (i < rec_sz)
				rec_bytes[i] = round % 2 ? (uint8_t)(b & 15) : b;
		}
		struct espy_rec_mark_def *def = (void *)def_bytes;
		struct espy_rec_mark *rec = (void *)rec_bytes;
		struct espy_mark_def *t;

		def->rec.size = (uint32_t)def_sz;
		rec->rec.size = (uint32_t)rec_sz;
		def->nargs %= 20;
		def->provider_sz %= 20;
		def->name_sz %= 20;
		def->format_sz %= 200;
		if (!espy_mark_def__make(&t, def)) {
			out.len = 0;
			espy_mark_text__put(&out, &o, t, rec);
			for (size_t i = 0; i < out.len; i++)
				assert_true((uint8_t)out.data[i] >= 0x20 && (uint8_t)out.data[i] < 0x7f);
			espy_mark_def__free(t);
		}
		free(def_bytes);
		free(rec_bytes);
	}
}

/* What each reader of a format makes of it: the names that are shown, those that conditions know, those of the agent. */
static void check_names(const char *format, unsigned nargs, const char *const *names)
{
	struct espy_mark_defs *defs = espy_mark_defs__new(0);
	const uint8_t kinds[] = { ESPY_MARK_I32, ESPY_MARK_I32, ESPY_MARK_I32, ESPY_MARK_I32 };
	const struct espy_rec_mark_def *def;
	struct espy_format f;
	uint32_t number;
	bool fresh;

	espy_format_parse(&f, format, strlen(format), 0x1111, nargs);
	assert_int_equal(f.nargs, nargs);
	assert_int_equal(espy_mark_defs__get(defs, "t", 1, "x", format, kinds, nargs, &number, &fresh, &def), 0);
	for (unsigned i = 0; i < nargs; i++) {
		assert_int_equal(f.args[i].name_len, strlen(names[i]));
		assert_memory_equal(format + f.args[i].name_off, names[i], strlen(names[i]));
		if (names[i][0])
			assert_int_equal(espy_mark_arg__find(names[i], format, nargs), i);
	}
	espy_mark_defs__free(defs);
}

static void test_names(void **state)
{
	struct args a = { .len = 0 };

	(void)state;
	check_names("id=%d path=\"%d\" n: %u %%x=%x", 4, (const char *[]){ "id", "path", "n", "x" });
	check_names("x=0x%lx, y=0X%X <%d> 0x%x", 4, (const char *[]){ "x", "y", "", "" });
	check_names("%d%d a=%5%b=%d 50%m c %d", 4, (const char *[]){ "", "", "b", "c" });
	check_names("1a=%d .b=%-08.3d _=%+d d='%hhd'", 4, (const char *[]){ "a", "b", "_", "d" });
	check_names("=%d a %d:%d %2$d", 4, (const char *[]){ "", "a", "", "" });
	check_names("a=%*d", 1, (const char *[]){ "" }); /* no number left for the conversion itself */
	check_names("a=%", 1, (const char *[]){ "" });
	check_names("a=%-0", 1, (const char *[]){ "" });
	check_names("", 1, (const char *[]){ "" });
	put(&a, 255);
	check("t:x(x=0xff)", "x=0x%lx", (const uint8_t[]){ ESPY_MARK_U64 }, 1, &a);
	check("t:x(x=255)", "x=0x%ld", (const uint8_t[]){ ESPY_MARK_U64 }, 1, &a);
	check("t:x(0xff)", "0x%lx", (const uint8_t[]){ ESPY_MARK_U64 }, 1, &a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats), cmocka_unit_test(test_integers), cmocka_unit_test(test_strings),
		cmocka_unit_test(test_doubles), cmocka_unit_test(test_short),
		cmocka_unit_test(test_garbage), cmocka_unit_test(test_names),
	};
	int bad = cmocka_run_group_tests(tests, NULL, NULL);

	espy_buf__free(&out);
	return bad;
}
