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

static bool in_list(struct espy_mapping *m, struct wanted w)
{
	return find_in_list(m, open("/proc/self/maps", O_RDONLY | O_CLOEXEC), &w);
}

static void expect(uint64_t addr, const char *name)
{
	struct espy_mapping a, b;

	assert_true(espy_mapping__at(&a, getpid(), addr));
	assert_true(in_list(&b, (struct wanted){ .addr = addr }));
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
	assert_false(in_list(&m, (struct wanted){ .addr = (uintptr_t)three + page }));
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
	assert_true(in_list(&b, (struct wanted){ .part = "/libc" }));
	assert_int_equal(a.start, b.start);
	assert_int_equal(a.end, b.end);
	assert_string_equal(a.name, b.name);
	assert_false(espy_mapping__of_file(&a, getpid(), "/libno-such"));
	assert_false(in_list(&b, (struct wanted){ .part = "/libno-such" }));
	assert_false(espy_mapping__of_file(&a, getpid(), "stack]")); /* no file */
	assert_false(in_list(&b, (struct wanted){ .part = "stack]" }));
}

static void test_begin_of(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int fd = memfd_create("mapped", MFD_CLOEXEC);
	const char *name = "/memfd:mapped (deleted)";
	struct espy_mapping a, b;

	(void)state;
	assert_false(ftruncate(fd, 2 * (off_t)page));
	char *second = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	assert_ptr_not_equal(second, MAP_FAILED);
	assert_false(espy_mapping__begin_of(&a, getpid(), name));
	assert_false(in_list(&b, (struct wanted){ .name = name }));
	char *first = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(first, MAP_FAILED);
	assert_true(espy_mapping__begin_of(&a, getpid(), name));
	assert_true(in_list(&b, (struct wanted){ .name = name }));
	assert_int_equal(a.start, (uintptr_t)first);
	assert_int_equal(b.start, (uintptr_t)first);
	assert_false(espy_mapping__begin_of(&a, getpid(), "/memfd:mapped"));
	assert_false(in_list(&b, (struct wanted){ .name = "/memfd:mapped" }));
	munmap(first, page);
	munmap(second, page);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_at), cmocka_unit_test(test_of_file),
					    cmocka_unit_test(test_begin_of) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
