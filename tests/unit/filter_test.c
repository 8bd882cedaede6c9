/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filter expressions against the built-in call tables. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "describe/builtin.h"
#include "filter/call_filter.h"
#include "filter/filter_calls.h"

static struct espy_image opened[ESPY_ABI_CNT];
static const struct espy_image *images[ESPY_ABI_CNT];

static int open_images(void **state)
{
	(void)state;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size;
		const void *data = espy_builtin_image((enum espy_abi)abi, &size);

		if (espy_image__open(&opened[abi], data, size, NULL))
			return -1;
		images[abi] = &opened[abi];
	}
	return 0;
}

static bool traces(const struct espy_filter *f, enum espy_abi abi, const char *name)
{
	int nr = espy_image__find_syscall(images[abi], name);

	assert_true(nr >= 0);
	return espy_syscall_set__has(&f->trace, abi, (uint32_t)nr);
}

static bool traces64(const struct espy_filter *f, const char *name)
{
	return traces(f, ESPY_ABI_X86_64, name);
}

static struct espy_filter parsed(const char *expr)
{
	struct espy_filter f;
	char err[256];

	espy_filter__init(&f);
	if (espy_filter__parse(&f, images, expr, err, sizeof(err)))
		fail_msg("%s: %s", expr, err);
	return f;
}

static void test_defaults(void **state)
{
	struct espy_filter f;

	(void)state;
	espy_filter__init(&f);
	assert_true(traces64(&f, "read") && traces(&f, ESPY_ABI_I386, "read") && f.trace_unknown && !f.trace_given);
	assert_true(espy_syscall_set__has(&f.abbrev, ESPY_ABI_X86_64, 0) &&
		    espy_syscall_set__has(&f.verbose, ESPY_ABI_X86_64, 0));
	assert_false(espy_syscall_set__has(&f.raw, ESPY_ABI_X86_64, 0));
	assert_true(f.signals == ~0ull);
	espy_filter__free(&f);
}

static void test_names(void **state)
{
	struct espy_filter f = parsed("open,close");

	(void)state;
	assert_true(f.trace_given && !f.trace_unknown);
	assert_true(traces64(&f, "open") && traces64(&f, "close") && traces(&f, ESPY_ABI_I386, "open"));
	assert_false(traces64(&f, "read") || traces64(&f, "openat"));
	espy_filter__free(&f);
	f = parsed("t=open@64");
	assert_true(traces64(&f, "open") && !traces(&f, ESPY_ABI_I386, "open"));
	espy_filter__free(&f);
	f = parsed("trace=open@32,?nosuch,??nosuch");
	assert_true(!traces64(&f, "open") && traces(&f, ESPY_ABI_I386, "open"));
	espy_filter__free(&f);
	f = parsed("trace=12,,3");
	assert_true(traces64(&f, "brk") && traces64(&f, "close") && !traces64(&f, "read"));
	espy_filter__free(&f);
	f = parsed("trace=stat64"); /* a call of i386 only */
	assert_true(traces(&f, ESPY_ABI_I386, "stat64") && !traces64(&f, "stat"));
	espy_filter__free(&f);
}

static void test_sets(void **state)
{
	struct espy_filter f = parsed("!open");

	(void)state;
	assert_true(!traces64(&f, "open") && traces64(&f, "read") && f.trace_unknown);
	espy_filter__free(&f);
	f = parsed("!!open");
	assert_true(traces64(&f, "open") && !traces64(&f, "read") && !f.trace_unknown);
	espy_filter__free(&f);
	f = parsed("none");
	assert_true(!traces64(&f, "open") && !f.trace_unknown);
	espy_filter__free(&f);
	f = parsed("!none");
	assert_true(traces64(&f, "open") && f.trace_unknown);
	espy_filter__free(&f);
	f = parsed("open,all");
	assert_true(traces64(&f, "read") && f.trace_unknown && espy_syscall_set__has(&f.trace, ESPY_ABI_X86_64, 400));
	espy_filter__free(&f);
	f = parsed("!all");
	assert_true(!traces64(&f, "read") && !f.trace_unknown);
	espy_filter__free(&f);
	f = parsed("abbrev=none");
	assert_true(traces64(&f, "read") && !f.trace_given && !espy_syscall_set__has(&f.abbrev, ESPY_ABI_X86_64, 0));
	espy_filter__free(&f);
	f = parsed("raw=all");
	assert_true(espy_syscall_set__has(&f.raw, ESPY_ABI_I386, 3));
	espy_filter__free(&f);
}

static void test_last_wins(void **state)
{
	struct espy_filter f = parsed("open");
	char err[256];

	(void)state;
	assert_int_equal(espy_filter__parse(&f, images, "close", err, sizeof(err)), 0);
	assert_true(traces64(&f, "close") && !traces64(&f, "open"));
	/* An expression that is refused leaves the filter as it was. */
	assert_int_equal(espy_filter__parse(&f, images, "read,nosuch", err, sizeof(err)), -EINVAL);
	assert_true(traces64(&f, "close") && !traces64(&f, "read"));
	espy_filter__free(&f);
}

static void test_classes(void **state)
{
	static const struct {
		const char *expr, *in, *out;
	} rows[] = {
		{ "%file", "openat", "read" },
		{ "file", "openat", "read" },
		{ "%desc", "read", "chdir" },
		{ "desc", "read", "chdir" },
		{ "%network", "socket", "open" },
		{ "%net", "socket", "open" },
		{ "network", "socket", "open" },
		{ "%process", "execve", "read" },
		{ "%signal", "rt_sigaction", "read" },
		{ "%memory", "mmap", "read" },
		{ "%ipc", "shmget", "read" },
		{ "%clock", "clock_gettime", "read" },
		{ "%creds", "getuid", "read" },
		{ "%pure", "getpid", "read" },
		{ "%stat", "stat", "lstat" },
		{ "%lstat", "lstat", "stat" },
		{ "%fstat", "fstat", "stat" },
		{ "%%stat", "statx", "statfs" },
		{ "%statfs", "statfs", "fstatfs" },
		{ "%fstatfs", "fstatfs", "statfs" },
		{ "%%statfs", "fstatfs", "stat" },
		{ "stat", "stat", "statx" }, /* the call: this class has a % only */
		{ "/^open", "openat", "mq_open" },
		{ "/open", "mq_open", "read" },
		{ "/^(brk|mmap)$", "brk", "read" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct espy_filter f = parsed(rows[i].expr);

		if (!traces64(&f, rows[i].in) || traces64(&f, rows[i].out))
			fail_msg("%s: with %s, without %s", rows[i].expr, rows[i].in, rows[i].out);
		espy_filter__free(&f);
	}
}

static void test_every_class_has_a_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ESPY_CLASS_CNT; i++) {
		const char *name = espy_class_names[i];

		assert_non_null(name);
		assert_true(espy_filter_class(name + 1, strlen(name + 1)) == 1ull << i);
	}
}

static void test_messages(void **state)
{
	static const struct {
		const char *expr, *message;
	} rows[] = {
		{ "foo", "invalid system call 'foo'" },
		{ "trace=", "invalid system call ''" },
		{ "!", "invalid system call '!'" },
		{ "foo=x", "invalid system call 'foo=x'" },
		{ "all,foo", "invalid system call 'foo'" },
		{ "none,read", "invalid system call 'none'" },
		{ "READ", "invalid system call 'READ'" },
		{ "9999", "invalid system call '9999'" },
		{ "99999999999999999999", "invalid system call '99999999999999999999'" },
		{ "%foo", "invalid system call '%foo'" },
		{ "%%foo", "invalid system call '%%foo'" },
		{ "foo@64", "invalid system call 'foo@64'" },
		{ "read@foo", "incorrect personality designator 'foo' in qualification 'read@foo'" },
		{ "/[", "regcomp: [: Unmatched [, [^, [:, [., or [=" },
		{ "signal=FOO", "invalid signal 'FOO'" },
		{ "signal=", "invalid signal ''" },
		{ "signal=256", "invalid signal '256'" },
		{ "read=x", "invalid descriptor 'x'" },
		{ "write=-1", "invalid descriptor '-1'" },
		{ "fd=", "invalid descriptor ''" },
		{ "read=99999999999", "invalid descriptor '99999999999'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct espy_filter f;
		char err[256];

		espy_filter__init(&f);
		assert_int_equal(espy_filter__parse(&f, images, rows[i].expr, err, sizeof(err)), -EINVAL);
		/* The words of the C library differ between versions. */
		assert_memory_equal(err, rows[i].message,
				    strncmp(err, "regcomp", 7) ? strlen(rows[i].message) + 1 : 12);
		espy_filter__free(&f);
	}
}

static void test_signals(void **state)
{
	static const struct {
		const char *expr;
		uint64_t set;
	} rows[] = {
		{ "signal=INT", 1ull << 1 },
		{ "signal=SIGINT,sigterm", 1ull << 1 | 1ull << 14 },
		{ "s=!usr1", ~(1ull << 9) },
		{ "signal=none", 0 },
		{ "signals=all", ~0ull },
		{ "signal=2", 1ull << 1 },
		{ "signal=77", 0 },
		{ "signal=0", 0 },
		{ "signal=rtmin", 1ull << 31 },
		{ "signal=RT_2", 1ull << 33 },
		{ "signal=!none", ~0ull },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct espy_filter f = parsed(rows[i].expr);

		if (f.signals != rows[i].set)
			fail_msg("%s: %llx", rows[i].expr, (unsigned long long)f.signals);
		espy_filter__free(&f);
	}
}

static void test_descriptors(void **state)
{
	struct espy_filter f = parsed("read=3,5");

	(void)state;
	assert_true(f.read.given && !f.read.negated && f.read.fd_cnt == 2 && f.read.fds[1] == 5 && !f.write.given);
	espy_filter__free(&f);
	f = parsed("trace-fds=!9");
	assert_true(f.fds.given && f.fds.negated && f.fds.fd_cnt == 1);
	espy_filter__free(&f);
	f = parsed("write=all");
	assert_true(f.write.given && f.write.negated && !f.write.fd_cnt);
	espy_filter__free(&f);
	f = parsed("write=!all");
	assert_false(f.write.given);
	espy_filter__free(&f);
	f = parsed("fd=none");
	assert_true(f.fds.given && !f.fds.negated && !f.fds.fd_cnt);
	espy_filter__free(&f);
}

static void test_paths(void **state)
{
	struct espy_filter f;

	(void)state;
	espy_filter__init(&f);
	assert_int_equal(espy_filter__add_path(&f, "/a"), 0);
	assert_int_equal(espy_filter__add_path(&f, "/b"), 0);
	assert_int_equal(espy_filter__add_path(&f, "/a"), 0);
	assert_int_equal(f.path_cnt, 2);
	assert_string_equal(f.paths[1], "/b");
	espy_filter__free(&f);
	assert_int_equal(f.path_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),    cmocka_unit_test(test_names),
		cmocka_unit_test(test_sets),	    cmocka_unit_test(test_last_wins),
		cmocka_unit_test(test_classes),	    cmocka_unit_test(test_every_class_has_a_name),
		cmocka_unit_test(test_messages),    cmocka_unit_test(test_signals),
		cmocka_unit_test(test_descriptors), cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, open_images, NULL);
}
