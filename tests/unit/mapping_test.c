/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One mapping of this process: the kernel's answer, where it has one, and that of the list of all are the same. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "base/mapping.c"

static bool in_list(struct espy_mapping *m, uint64_t addr, const char *part)
{
	return find_in_list(m, open("/proc/self/maps", O_RDONLY | O_CLOEXEC), addr, part);
}

static void expect(uint64_t addr, const char *name)
{
	struct espy_mapping a, b;

	assert_true(espy_mapping__at(&a, getpid(), addr));
	assert_true(in_list(&b, addr, NULL));
	assert_true(a.start <= addr && addr < a.end);
	assert_int_equal(a.start, b.start);
	assert_int_equal(a.end, b.end);
	assert_string_equal(a.name, b.name);
	assert_true(*name ? strstr(a.name, name) != NULL : !a.name[0]);
}

static void test_at(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *three = mmap(NULL, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct espy_mapping m;

	(void)state;
	assert_ptr_not_equal(three, MAP_FAILED);
	munmap(three + page, page);
	expect((uintptr_t)&m, "[stack]");
	expect((uintptr_t)test_at, "/unit-mapping");
	expect((uintptr_t)three, "");
	expect((uintptr_t)three + 2 * page, "");
	assert_false(espy_mapping__at(&m, getpid(), (uintptr_t)three + page));
	assert_false(in_list(&m, (uintptr_t)three + page, NULL));
	assert_false(espy_mapping__at(&m, getpid(), 0));
	assert_false(espy_mapping__at(&m, -1, (uintptr_t)three));
	munmap(three, page);
	munmap(three + 2 * page, page);
}

static void test_of_file(void **state)
{
	struct espy_mapping a, b;

	(void)state;
	assert_true(espy_mapping__of_file(&a, getpid(), "/libc"));
	assert_true(in_list(&b, 0, "/libc"));
	assert_int_equal(a.start, b.start);
	assert_int_equal(a.end, b.end);
	assert_string_equal(a.name, b.name);
	assert_false(espy_mapping__of_file(&a, getpid(), "/libno-such"));
	assert_false(in_list(&b, 0, "/libno-such"));
	assert_false(espy_mapping__of_file(&a, getpid(), "stack]")); /* no file */
	assert_false(in_list(&b, 0, "stack]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_at), cmocka_unit_test(test_of_file) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
