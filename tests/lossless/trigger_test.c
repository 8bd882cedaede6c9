/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Triggers as text: what is made of good ones, and what is said about bad ones. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "describe/builtin.h"
#include "lib/call_set.h"
#include "filter/trigger_text.h"

static struct espy_image images[ESPY_ABI_CNT];
static struct espy_call_set sets[ESPY_ABI_CNT];
static char why[512];

static struct espy_trigger good(const char *text)
{
	struct espy_trigger t;

	if (espy_trigger__parse(&t, text, ESPY_TRIGGER_PAUSE, sets, why, sizeof(why)))
		fail_msg("refused: %s", why);
	assert_int_equal(t.action, ESPY_TRIGGER_PAUSE);
	return t;
}

#define assert_number(t, i, what_, compare_, number_)             \
	do {                                                      \
		assert_int_equal((t).tests[i].what, what_);       \
		assert_int_equal((t).tests[i].compare, compare_); \
		assert_int_equal((t).tests[i].number, number_);   \
	} while (0)

static void numbers(void **state)
{
	struct espy_trigger t = good("write");

	(void)state;
	assert_int_equal(t.nr, SYS_write);
	assert_int_equal(t.test_cnt, 0);
	t = good("  openat :ret==-ENOSPC");
	assert_int_equal(t.nr, SYS_openat);
	assert_int_equal(t.test_cnt, 1);
	assert_number(t, 0, ESPY_TRIGGER_RET, ESPY_COMPARE_EQ, -ENOSPC);
	t = good("connect: errno != 0 && pid == 1234&&tid>=0x10");
	assert_int_equal(t.test_cnt, 3);
	assert_number(t, 0, ESPY_TRIGGER_ERRNO, ESPY_COMPARE_EQ, 0);
	assert_true(t.tests[0].negated);
	assert_number(t, 1, ESPY_TRIGGER_PID, ESPY_COMPARE_EQ, 1234);
	assert_number(t, 2, ESPY_TRIGGER_TID, ESPY_COMPARE_GE, 16);
	t = good("close: errno == EBADF");
	assert_number(t, 0, ESPY_TRIGGER_ERRNO, ESPY_COMPARE_EQ, EBADF);
	t = good("openat: flags == O_RDONLY|O_CLOEXEC && dirfd == AT_FDCWD && dirfd < 3");
	assert_number(t, 0, ESPY_TRIGGER_ARG, ESPY_COMPARE_EQ, O_CLOEXEC);
	assert_int_equal(t.tests[0].arg, 2);
	assert_number(t, 1, ESPY_TRIGGER_ARG, ESPY_COMPARE_EQ, AT_FDCWD);
	assert_int_equal(t.tests[1].width, 4);
	assert_true(t.tests[1].is_signed);
	assert_number(t, 2, ESPY_TRIGGER_ARG, ESPY_COMPARE_LT, 3);
	t = good("kill: arg.pid == -1");
	assert_number(t, 0, ESPY_TRIGGER_ARG, ESPY_COMPARE_EQ, -1);
	t = good("kill: pid == 7");
	assert_number(t, 0, ESPY_TRIGGER_PID, ESPY_COMPARE_EQ, 7);
	t = good("write@32");
	assert_int_equal(t.abi, ESPY_ABI_I386);
	assert_int_equal(t.nr, 4);
}

/* What follows a test that holds, and one that does not. */
static void joined(void **state)
{
	struct espy_trigger t = good("openat: ret < 0 && (path ^= \"/etc/\" || !(flags has O_CREAT|O_WRONLY))");

	(void)state;
	assert_int_equal(t.test_cnt, 3);
	assert_int_equal(t.tests[0].yes, 1);
	assert_int_equal(t.tests[0].no, ESPY_TRIGGER_FAILS);
	assert_int_equal(t.tests[1].compare, ESPY_COMPARE_PREFIX);
	assert_int_equal(t.tests[1].yes, ESPY_TRIGGER_HOLDS);
	assert_int_equal(t.tests[1].no, 2);
	assert_int_equal(t.tests[2].compare, ESPY_COMPARE_BITS);
	assert_int_equal(t.tests[2].number, O_CREAT | O_WRONLY);
	assert_int_equal(t.tests[2].mask, O_CREAT | O_ACCMODE);
	assert_int_equal(t.tests[2].yes, ESPY_TRIGGER_FAILS);
	assert_int_equal(t.tests[2].no, ESPY_TRIGGER_HOLDS);
	t = good("kill: signum in {SIGTERM, 9} && comm == \"bash\" && uid == 0 && name == \"kill\"");
	assert_int_equal(t.test_cnt, 4);
	assert_int_equal(t.tests[0].number, 15);
	assert_int_equal(t.tests[2].what, ESPY_TRIGGER_COMM);
	assert_int_equal(t.tests[2].text_len, 5);
	assert_int_equal(t.tests[3].what, ESPY_TRIGGER_UID);
	/* A regular expression without operators is none. */
	t = good("unlinkat: path =~ \"^/etc/\" && path =~ \"^/a\\.b$\"");
	assert_int_equal(t.tests[0].compare, ESPY_COMPARE_PREFIX);
	assert_int_equal(t.tests[1].compare, ESPY_COMPARE_EQ);
	assert_string_equal((const char *)t.tests[1].text, "/a.b");
	/* No pid is below 0. */
	t = good("write: pid < -1");
	assert_int_equal(t.tests[0].mask, 0);
	assert_int_equal(t.tests[0].number, 1);
}

static void texts(void **state)
{
	struct espy_trigger t = good("unlinkat: path == \"/etc/passwd\"");

	(void)state;
	assert_int_equal(t.tests[0].what, ESPY_TRIGGER_TEXT);
	assert_int_equal(t.tests[0].compare, ESPY_COMPARE_EQ);
	assert_int_equal(t.tests[0].text_len, 12); /* with its NUL */
	assert_string_equal((const char *)t.tests[0].text, "/etc/passwd");
	t = good("unlinkat: pathname != \"/etc/*\"");
	assert_int_equal(t.tests[0].compare, ESPY_COMPARE_PREFIX);
	assert_true(t.tests[0].negated);
	assert_int_equal(t.tests[0].text_len, 5);
	t = good("unlinkat: path == \"*\"");
	assert_int_equal(t.tests[0].compare, ESPY_COMPARE_PREFIX);
	assert_int_equal(t.tests[0].text_len, 0);
	t = good("unlinkat: path == \"a\\*\"");
	assert_int_equal(t.tests[0].compare, ESPY_COMPARE_EQ);
	assert_int_equal(t.tests[0].text_len, 3);
	t = good("write: buf == \"\\x7fELF*\" && ret > 0");
	assert_int_equal(t.tests[0].text_len, 4);
	assert_memory_equal(t.tests[0].text, "\177ELF", 5);
	t = good("write: buf == \"a\\n\\\"\\\\\"");
	assert_int_equal(t.tests[0].text_len, 4); /* counted bytes have no NUL */
	assert_memory_equal(t.tests[0].text, "a\n\"\\", 5);
}

static void bad_ones(void **state)
{
	static const struct {
		const char *text, *column, *says;
	} rows[] = {
		{ "", "column 1:", "the name of a system call is expected, not the end" },
		{ "unlinkatt", "column 1:", "did you mean 'unlinkat'?" },
		{ "nothing_like_it", "column 1:", "`espy list syscalls`" },
		{ "exit_group: ret == 0", "column 1:", "exit_group never returns" },
		{ "write@16", "column 7:", "64, 32 or x32" },
		{ "write@io_uring", "column 7:", "64, 32 or x32" }, /* no task can be held behind it */
		{ "write ret", "column 7:", "a colon and a condition" },
		{ "write:", "column 7:", "there are ret, errno, pid, tid, comm, uid, fd, buf, count" },
		{ "write: len > 3", "column 8:",
		  "write has no argument 'len'; there are ret, errno, pid, tid, comm, uid, fd, buf, count" },
		{ "write: fd = 3",
		  "column 11:", "a comparison is written ==; one of == != < <= > >= & ^= $= *= =~ !~ has in" },
		{ "write: fd == ", "column 14:", "a \"text\" is expected, not the end" },
		{ "write: fd == three", "column 14:", "'three' is neither a number nor an error" },
		{ "write: fd == 12x", "column 14:", "'12x' is not a number" },
		{ "write: fd == 99999999999999999999", "column 14:", "does not fit into 64 bits" },
		{ "write: fd == \"x\"", "column 8:", "does not know fd as text" },
		{ "write: ret == \"x\"", "column 15:", "a number is expected, not a text" },
		{ "write: ret == ENOSPC", "column 15:", "ret == -ENOSPC" },
		{ "write: errno == -ENOSPC", "column 17:", "errno is positive: ENOSPC" },
		{ "write: ret == 3 & fd == 1", "column 17:", "&&, || or the end is expected, not '&'" },
		{ "write: ret == 3 &&", "column 19:", "a name is expected, not the end" },
		{ "write: buf > \"x\"", "column 12:", "text is compared by == != ^=" },
		{ "write: buf == \"x", "column 15:", "a \" is missing" },
		{ "write: buf == \"\\q\"", "column 16:", "behind a backslash" },
		{ "write: buf == \"123456789012345678901234567890123\"",
		  "column 15:", "only 32 bytes of buf are captured" },
		{ "stat: statbuf == \"x\"", "column 18:", "points to something else than text" },
		{ "write: fd in {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}", "column 7:", "at most 12 comparisons" },
		{ "write: fd == 1 || buf =~ \"a.b\"", "column 19:", "can compare buf by ==, != and ^= only" },
		{ "write: duration > 1ms", "column 8:", "does not know duration" },
		{ "write: fd > 1.5", "column 8:", "whole numbers" },
		{ "write: name == \"read\"", "column 7:", "never holds" },
		{ "sendmsg: msg.msg_iovlen > 1", "column 10:", "does not know msg.msg_iovlen" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct espy_trigger t;

		assert_int_equal(espy_trigger__parse(&t, rows[i].text, ESPY_TRIGGER_SNAPSHOT, sets, why, sizeof(why)),
				 -EINVAL);
		if (!strstr(why, rows[i].column) || !strstr(why, rows[i].says))
			fail_msg("of %s it says: %s; wanted: %s %s", rows[i].text, why, rows[i].column, rows[i].says);
	}
}

/* Whatever stands there: an answer, and nothing read beyond its end. */
static void any_bytes(void **state)
{
	static const char seed[] = "openat: pathname == \"/etc/pass*\" && ret >= -3 && flags != O_RDONLY|O_CLOEXEC";
	static const char letters[] = "\"\\:&|=<>*@- \tx0a_\377";

	(void)state;
	for (size_t len = 0; len < sizeof(seed); len++)
		for (size_t k = 0; k < sizeof(letters) - 1; k++) {
			char *text = strdup(seed); /* of exactly this size: checked by ASan */
			struct espy_trigger t;

			assert_non_null(text);
			if (len < sizeof(seed) - 1)
				text[len] = letters[k];
			else
				text[k] = '\0';
			espy_trigger__parse(&t, text, ESPY_TRIGGER_PAUSE, sets, why, sizeof(why));
			free(text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(joined), cmocka_unit_test(texts), cmocka_unit_test(bad_ones), cmocka_unit_test(any_bytes),
	};
	const struct espy_needs lim = { .str_limit = 32 };
	struct espy_filter filter;
	int bad;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size;
		const void *data = espy_builtin_image((enum espy_abi)abi, &size);

		if (espy_image__open(&images[abi], data, size, NULL))
			return 1;
	}
	espy_filter__init(&filter);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		if (espy_call_set__init(&sets[abi], &images[abi], &filter, &lim))
			return 1;
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		espy_call_set__free(&sets[abi]);
	espy_filter__free(&filter);
	return bad != 0;
}
