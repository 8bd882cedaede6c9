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
#include "session/call_set.h"
#include "session/trigger.h"

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
		assert_int_equal((t).conds[i].what, what_);       \
		assert_int_equal((t).conds[i].compare, compare_); \
		assert_int_equal((t).conds[i].number, number_);   \
	} while (0)

static void numbers(void **state)
{
	struct espy_trigger t = good("write");

	(void)state;
	assert_int_equal(t.nr, SYS_write);
	assert_int_equal(t.cond_cnt, 0);
	t = good("  openat :ret==-ENOSPC");
	assert_int_equal(t.nr, SYS_openat);
	assert_int_equal(t.cond_cnt, 1);
	assert_number(t, 0, ESPY_TRIGGER_RET, ESPY_COMPARE_EQ, -ENOSPC);
	t = good("connect: errno != 0 && pid == 1234&&tid>=0x10");
	assert_int_equal(t.cond_cnt, 3);
	assert_number(t, 0, ESPY_TRIGGER_ERRNO, ESPY_COMPARE_NE, 0);
	assert_number(t, 1, ESPY_TRIGGER_PID, ESPY_COMPARE_EQ, 1234);
	assert_number(t, 2, ESPY_TRIGGER_TID, ESPY_COMPARE_GE, 16);
	t = good("close: errno == EBADF");
	assert_number(t, 0, ESPY_TRIGGER_ERRNO, ESPY_COMPARE_EQ, EBADF);
	t = good("openat: flags == O_RDONLY|O_CLOEXEC && dirfd == AT_FDCWD && dirfd < 3");
	assert_number(t, 0, ESPY_TRIGGER_ARG, ESPY_COMPARE_EQ, O_CLOEXEC);
	assert_int_equal(t.conds[0].arg, 2);
	assert_number(t, 1, ESPY_TRIGGER_ARG, ESPY_COMPARE_EQ, AT_FDCWD);
	assert_int_equal(t.conds[1].width, 4);
	assert_true(t.conds[1].is_signed);
	assert_number(t, 2, ESPY_TRIGGER_ARG, ESPY_COMPARE_LT, 3);
	t = good("kill: arg.pid == -1");
	assert_number(t, 0, ESPY_TRIGGER_ARG, ESPY_COMPARE_EQ, -1);
	t = good("kill: pid == 7");
	assert_number(t, 0, ESPY_TRIGGER_PID, ESPY_COMPARE_EQ, 7);
	t = good("write@32");
	assert_int_equal(t.abi, ESPY_ABI_I386);
	assert_int_equal(t.nr, 4);
}

static void texts(void **state)
{
	struct espy_trigger t = good("unlinkat: path == \"/etc/passwd\"");

	(void)state;
	assert_int_equal(t.conds[0].what, ESPY_TRIGGER_TEXT);
	assert_int_equal(t.conds[0].compare, ESPY_COMPARE_EQ);
	assert_int_equal(t.conds[0].text_len, 12); /* with its NUL */
	assert_string_equal((const char *)t.conds[0].text, "/etc/passwd");
	t = good("unlinkat: pathname != \"/etc/*\"");
	assert_int_equal(t.conds[0].compare, ESPY_COMPARE_NOT_PREFIX);
	assert_int_equal(t.conds[0].text_len, 5);
	t = good("unlinkat: path == \"*\"");
	assert_int_equal(t.conds[0].compare, ESPY_COMPARE_PREFIX);
	assert_int_equal(t.conds[0].text_len, 0);
	t = good("unlinkat: path == \"a\\*\"");
	assert_int_equal(t.conds[0].compare, ESPY_COMPARE_EQ);
	assert_int_equal(t.conds[0].text_len, 3);
	t = good("write: buf == \"\\x7fELF*\" && ret > 0");
	assert_int_equal(t.conds[0].text_len, 4);
	assert_memory_equal(t.conds[0].text, "\177ELF", 5);
	t = good("write: buf == \"a\\n\\\"\\\\\"");
	assert_int_equal(t.conds[0].text_len, 4); /* counted bytes have no NUL */
	assert_memory_equal(t.conds[0].text, "a\n\"\\", 5);
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
		{ "write ret", "column 7:", "a colon and a comparison" },
		{ "write:", "column 7:", "there are ret, errno, pid, tid, fd, buf, count" },
		{ "write: len > 3", "column 8:", "write has no argument 'len'; there are ret, errno, pid, tid, fd, buf, count" },
		{ "write: fd = 3", "column 11:", "==, !=, <, <=, > or >= is expected, not '='" },
		{ "write: fd == ", "column 14:", "a value is expected, not the end" },
		{ "write: fd == three", "column 14:", "'three' is neither a number nor an error" },
		{ "write: fd == 12x", "column 14:", "'12x' is no number" },
		{ "write: fd == 99999999999999999999", "column 14:", "no number of 64 bits" },
		{ "write: fd == \"x\"", "column 14:", "fd is no text" },
		{ "write: ret == \"x\"", "column 15:", "a number is expected, not a text" },
		{ "write: ret == ENOSPC", "column 15:", "ret == -ENOSPC" },
		{ "write: errno == -ENOSPC", "column 17:", "errno is positive: ENOSPC" },
		{ "write: ret == 3 & fd == 1", "column 17:", "&& or the end is expected, not '&'" },
		{ "write: ret == 3 &&", "column 19:", "a name is expected, not the end" },
		{ "write: buf > \"x\"", "column 14:", "only be compared by == and !=" },
		{ "write: buf == \"x", "column 15:", "a \" is missing" },
		{ "write: buf == \"\\q\"", "column 16:", "behind a backslash" },
		{ "write: buf == \"123456789012345678901234567890123\"", "column 15:", "only 32 bytes of buf are captured" },
		{ "stat: statbuf == \"x\"", "column 18:", "points to something else than text" },
		{ "write: fd==1&&fd==1&&fd==1&&fd==1&&fd==1&&fd==1&&fd==1", "column 50:", "at most 6 comparisons" },
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
		cmocka_unit_test(numbers), cmocka_unit_test(texts), cmocka_unit_test(bad_ones), cmocka_unit_test(any_bytes),
	};
	const struct espy_image *ptrs[ESPY_ABI_CNT];
	const struct espy_limits lim = { .str_limit = 32 };
	struct espy_filter filter;
	int bad;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size;
		const void *data = espy_builtin_image((enum espy_abi)abi, &size);

		if (espy_image__open(&images[abi], data, size, NULL))
			return 1;
		ptrs[abi] = &images[abi];
	}
	espy_filter__init(&filter, ptrs);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		if (espy_call_set__init(&sets[abi], &images[abi], &filter, &lim))
			return 1;
	bad = cmocka_run_group_tests(tests, NULL, NULL);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		espy_call_set__free(&sets[abi]);
	espy_filter__free(&filter);
	return bad != 0;
}
