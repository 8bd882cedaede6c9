/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The readers of files: this very program, then damaged copies of it; and the language of USDT arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../../include/espy/mark.h"
#include "symbols/mark_notes.h"
#include "symbols/usdt.h"

static void read_all(struct espy_elf *e)
{
	struct espy_usdt_list u;
	struct espy_marks m;
	struct espy_elf_symbol s;
	struct espy_usdt_arg args[ESPY_USDT_MAX_ARGS];

	if (!espy_usdt__list(e, &u)) {
		for (size_t i = 0; i < u.cnt; i++)
			espy_usdt__args(e, u.v[i].addr, u.v[i].args, args);
		espy_usdt__free(&u);
	}
	if (!espy_marks__read(e, &m))
		espy_marks__free(&m);
	espy_elf__symbol(e, "main", true, &s);
}

static void test_self(void **state)
{
	struct espy_elf e;
	struct espy_marks m;
	size_t provider_len;
	const char *name;

	(void)state;
	MARK(unit_here, "a=%d b=%s", 1, "x");
	assert_int_equal(espy_elf__open_path(&e, "/proc/self/exe"), 0);
	assert_int_equal(espy_marks__read(&e, &m), 0);
	assert_int_equal(m.place_cnt, 1);
	assert_true(m.places[0].intact);
	assert_string_equal(m.marks[0].name, "unit_here");
	assert_string_equal(m.marks[0].format, "a=%d b=%s");
	assert_int_equal(m.marks[0].nargs, 2);
	assert_true(m.marks[0].line > 20);
	espy_mark__split(m.marks[0].name, &provider_len, &name);
	assert_int_equal(provider_len, 4);
	assert_string_equal(name, "here");
	espy_marks__free(&m);
	read_all(&e);
	espy_elf__close(&e);
}

/* Truncations and changed bytes: errors perhaps, and nothing else. */
static void test_damaged(void **state)
{
	struct espy_elf e;
	uint64_t seed = 88172645463325252ull;
	FILE *f = fopen("/proc/self/exe", "rb");

	(void)state;
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	const size_t size = (size_t)ftell(f);
	uint8_t *good = malloc(size), *bad = malloc(size);

	rewind(f);
	assert_int_equal(fread(good, 1, size, f), size);
	fclose(f);
	assert_int_equal(espy_elf__open_path(&e, "/proc/self/exe"), 0);
	/* Where the tables are: damage there is read. */
	size_t spots[64], spot_cnt = 0;

	spots[spot_cnt++] = 0;
	for (size_t i = 0; i < e.section_cnt && spot_cnt < 60; i++)
		if (strstr(e.sections[i].name, "note") || strstr(e.sections[i].name, "espy") ||
		    strstr(e.sections[i].name, "sym") || strstr(e.sections[i].name, "str"))
			spots[spot_cnt++] = e.sections[i].offset;
	espy_elf__close(&e);
	for (unsigned round = 0; round < 400; round++) {
		int fd = memfd_create("damaged", MFD_CLOEXEC);
		size_t len = size;

		memcpy(bad, good, size);
		for (unsigned k = 0; k < 1 + round % 8; k++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			size_t at = spots[seed % spot_cnt] + (seed >> 16) % 256;

			if (at < size)
				bad[at] = (uint8_t)(seed >> 40);
		}
		if (round % 5 == 0)
			len = (size_t)(seed >> 8) % size;
		assert_int_equal(write(fd, bad, len), (ssize_t)len);
		if (!espy_elf__open(&e, fd)) {
			read_all(&e);
			espy_elf__close(&e);
		}
	}
	free(good);
	free(bad);
}

static void test_args(void **state)
{
	struct espy_usdt_arg a[ESPY_USDT_MAX_ARGS];

	(void)state;
	assert_int_equal(espy_usdt__args(NULL, 0x1000,
					 "-4@%edi 8@-16(%rbp) 4@$5 -1@$-1 8@(%rax,%rbx,8) 2@%ah 8f@%xmm0 8@x(%rip)", a),
			 8);
	assert_int_equal(a[0].kind, ESPY_USDT_REG);
	assert_int_equal(a[0].reg, 14);
	assert_true(a[0].is_signed && a[0].size == 4);
	assert_int_equal(a[1].kind, ESPY_USDT_MEM);
	assert_int_equal(a[1].reg, 4);
	assert_int_equal(a[1].value, -16);
	assert_int_equal(a[2].value, 5);
	assert_int_equal(a[3].value, -1);
	assert_int_equal(a[4].index, 5);
	assert_int_equal(a[4].scale, 8);
	assert_int_equal(a[5].shift, 8);
	assert_int_equal(a[6].kind, ESPY_USDT_UNKNOWN);
	assert_int_equal(a[7].kind, ESPY_USDT_UNKNOWN); /* no file to ask for x */
	assert_int_equal(espy_usdt__args(NULL, 0, "", a), 0);
	static const char *const bad[] = { "8@",  "@",	  "3@%rax", "8@%nosuch", "8@(%rax", "8@(%rax,%rbx,3)",
					   "8@$", "8@99", "-@",	    "8@(,)" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(espy_usdt__args(NULL, 0, bad[i], a), 1);
		assert_int_equal(a[0].kind, ESPY_USDT_UNKNOWN);
	}
	/* Longer than anything real, and more of them than there can be. */
	char *text = malloc(100000);

	memset(text, '1', 99999);
	text[99999] = 0;
	assert_int_equal(espy_usdt__args(NULL, 0, text, a), 1);
	for (size_t i = 1; i < 99999; i += 2)
		text[i] = ' ';
	assert_int_equal(espy_usdt__args(NULL, 0, text, a), ESPY_USDT_MAX_ARGS);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_args),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
