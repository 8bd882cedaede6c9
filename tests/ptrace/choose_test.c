/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The choice of a source: by name, by what is needed, by what the user may do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/choose.h"

#define NOBODY 65534

static void by_name(void **state)
{
	const struct espy_source_ops *ops;
	char why[500];

	(void)state;
	assert_ptr_equal(espy_source__find("bpf"), &espy_source_bpf);
	assert_ptr_equal(espy_source__find("ptrace"), &espy_source_ptrace);
	assert_null(espy_source__find("auto"));
	assert_int_equal(espy_source__choose(&ops, "perf", 0, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "'perf'"));
	assert_int_equal(espy_source__choose(&ops, "ptrace", ESPY_SRC_SYSTEM_WIDE, why, sizeof(why)), -EOPNOTSUPP);
	assert_non_null(strstr(why, "ptrace source cannot"));
	if (!espy_source_ptrace.probe(why, sizeof(why))) {
		assert_int_equal(espy_source__choose(&ops, "ptrace", ESPY_SRC_ENTER, why, sizeof(why)), 0);
		assert_ptr_equal(ops, &espy_source_ptrace);
		assert_string_equal(why, "");
	}
}

static void by_itself(void **state)
{
	const struct espy_source_ops *ops;
	char why[500], bpf_why[500];
	int bpf = espy_source_bpf.probe(bpf_why, sizeof(bpf_why)), r;

	(void)state;
	r = espy_source__choose(&ops, NULL, 0, why, sizeof(why));
	if (!bpf) {
		assert_int_equal(r, 0);
		assert_ptr_equal(ops, &espy_source_bpf);
		assert_string_equal(why, "");
	} else if (!r) {
		assert_ptr_equal(ops, &espy_source_ptrace);
		assert_non_null(strstr(why, "using the ptrace source"));
		assert_non_null(strstr(why, "bpf: "));
	}
	r = espy_source__choose(&ops, "auto", ESPY_SRC_SYSTEM_WIDE, why, sizeof(why));
	assert_int_equal(r, bpf);
	if (r) {
		assert_null(ops);
		assert_non_null(strstr(why, "ptrace cannot watch the whole system"));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_name), cmocka_unit_test(by_itself) };
	int bad = cmocka_run_group_tests(tests, NULL, NULL), status;
	pid_t pid;

	(void)argc;
	(void)argv;
	if (bad || geteuid())
		return bad;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(0);
		prctl(PR_SET_DUMPABLE, 1);
		_exit(cmocka_run_group_tests_name("without privilege", tests, NULL, NULL));
	}
	waitpid(pid, &status, 0);
	return status != 0;
}
