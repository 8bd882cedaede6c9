/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The change to tracepoints of single calls takes a call without tracepoint for one that the kernel does not have. Here each call of the
 * descriptions that has none is made: the kernel says ENOSYS. Skipped where tracefs cannot be read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "describe/builtin.h"
#include "describe/image.h"
#include "source/tracefs.h"

static int tracefs;
/* Does the kernel say that there is no such call? Asked by a child, with arguments of which no call makes anything. */
static bool is_none(uint32_t nr)
{
	int status = -1;
	const pid_t pid = fork();

	if (!pid) {
		errno = 0;
		_exit(syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L) == -1 && errno == ENOSYS ? 0 : 1);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void a_call_without_tracepoint_is_none(void **state)
{
	struct espy_image img;
	size_t size;
	const void *data = espy_builtin_image(ESPY_ABI_X86_64, &size);
	unsigned with = 0, without = 0;

	(void)state;
	assert_int_equal(espy_image__open(&img, data, size, NULL), 0);
	for (uint32_t nr = 0; nr < img.syscall_cnt; nr++) {
		char path[200];

		if (!*espy_image__str(&img, img.syscalls[nr].name))
			continue;
		snprintf(path, sizeof(path), "events/syscalls/sys_enter_%s/id", espy_image__event_name(&img, nr));
		if (!faccessat(tracefs, path, F_OK, 0)) {
			with++;
			continue;
		}
		if (!is_none(nr))
			fail_msg("call %u, %s: the kernel has it, and no tracepoint of that name", nr, espy_image__event_name(&img, nr));
		without++;
	}
	print_message("%u calls with a tracepoint, %u that this kernel does not have\n", with, without);
	assert_true(with > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_call_without_tracepoint_is_none) };

	tracefs = espy_tracefs__open();
	if (tracefs < 0) {
		printf("SKIP: tracefs: %s\n", strerror(-tracefs));
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
