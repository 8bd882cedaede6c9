/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The frames of a copied stack, beside those that backtrace(3) finds in this process by tables of its own. */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>
#include "symbols/unwind.h"

#define FRAMES 128

static struct espy_unwinder *unwinder;
static size_t max_frames; /* that are asked for */
static size_t copied;	  /* bytes of the stack, at most */
static size_t seen;	  /* frames that were compared */
static volatile unsigned interrupted;
static bool more;
static volatile int behind; /* keeps calls from being the last thing that a function does */

static uintptr_t stack_end(void)
{
	pthread_attr_t attr;
	void *begin;
	size_t size;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &begin, &size), 0);
	pthread_attr_destroy(&attr);
	return (uintptr_t)begin + size;
}

/* Compares all frames but the first, which stands at another instruction in each. */
static __attribute__((noinline)) void compare(void)
{
	struct espy_unwound_frame frames[FRAMES];
	void *callers[FRAMES];
	ucontext_t at;

	assert_int_equal(getcontext(&at), 0);
	const greg_t *g = at.uc_mcontext.gregs;
	const uintptr_t sp = (uintptr_t)g[REG_RSP];
	const size_t whole = stack_end() - sp;
	struct espy_stack_copy copy = { .bytes = (const uint8_t *)sp,
					.size = whole < copied ? whole : copied,
					.cut = whole > copied };

	const uint64_t regs[ESPY_REG_CNT] = {
		[ESPY_REG_R15] = (uint64_t)g[REG_R15],
		[ESPY_REG_R14] = (uint64_t)g[REG_R14],
		[ESPY_REG_R13] = (uint64_t)g[REG_R13],
		[ESPY_REG_R12] = (uint64_t)g[REG_R12],
		[ESPY_REG_BP] = (uint64_t)g[REG_RBP],
		[ESPY_REG_BX] = (uint64_t)g[REG_RBX],
		[ESPY_REG_IP] = (uint64_t)g[REG_RIP],
		[ESPY_REG_CS] = 0x33,
		[ESPY_REG_SP] = sp,
	};
	memcpy(copy.regs, regs, sizeof(regs));
	const size_t cnt = (size_t)backtrace(callers, FRAMES);

	seen = espy_unwinder__frames_of_copy(unwinder, getpid(), gettid(), &copy, frames, max_frames, &more);
	assert_in_range(seen, 1, cnt);
	for (size_t i = 1; i < seen; i++) {
		Dl_info file;

		assert_true(dladdr((char *)callers[i] - 1, &file));
		assert_non_null(frames[i].path);
		const ptrdiff_t off = (char *)callers[i] - ((char *)file.dli_fbase + frames[i].addr);

		interrupted += !off; /* a signal came there; a function that called is shown by the end of its call */
		assert_in_range(off, 0, 1);
	}
	if (max_frames > cnt && copied > whole)
		assert_int_equal(seen, cnt);
	behind++;
}

static __attribute__((noinline)) void down(int depth)
{
	if (depth)
		down(depth - 1);
	else
		compare();
	behind++;
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void by_frame_pointer(int depth)
{
	volatile char *room = __builtin_alloca((size_t)(64 + 16 * depth));

	room[0] = 1;
	if (depth)
		by_frame_pointer(depth - 1);
	else
		compare();
	behind += room[0];
}

/* Where the frame ends is told by an expression here: the stack is aligned anew, and the old pointer saved. */
static __attribute__((noinline)) void aligned_anew(int depth)
{
	_Alignas(128) volatile char room[128];
	volatile char *more_room = __builtin_alloca((size_t)(16 + depth));

	room[0] = more_room[0] = 1;
	compare();
	behind += room[0] + more_room[0];
}

static int compare_elements(const void *a, const void *b)
{
	compare();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	compare();
}

static int begin(void **state)
{
	(void)state;
	unwinder = espy_unwinder__new(NULL);
	max_frames = FRAMES;
	copied = SIZE_MAX;
	return !unwinder;
}

static int end(void **state)
{
	(void)state;
	espy_unwinder__free(unwinder);
	return 0;
}

static void test_functions(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++)
		for (int depth = 0; depth < 30; depth++) {
			down(depth);
			by_frame_pointer(depth);
		}
	assert_int_equal(espy_unwinder__by_rules(unwinder), 180);
	assert_int_equal(interrupted, 0);
}

static void test_library_between(void **state)
{
	int v[] = { 5, 3, 1, 4, 2 };

	(void)state;
	qsort(v, 5, sizeof(v[0]), compare_elements);
	assert_int_equal(v[4], 5);
	assert_true(espy_unwinder__by_rules(unwinder) > 0);
}

static void test_expressions(void **state)
{
	(void)state;
	for (int depth = 0; depth < 3; depth++)
		aligned_anew(depth);
	down(3);
	assert_int_equal(espy_unwinder__by_rules(unwinder), 1);
}

static void test_signal(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	interrupted = 0;
	for (int round = 0; round < 2; round++)
		raise(SIGUSR1);
	assert_true(interrupted > 0);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(espy_unwinder__by_rules(unwinder), 0);
}

/* No more frames than wanted, and than the copy holds. */
static void test_bounds(void **state)
{
	(void)state;
	max_frames = 5;
	down(20);
	assert_int_equal(seen, 5);
	assert_true(more);
	max_frames = FRAMES;
	down(20);
	assert_false(more);
	const size_t whole = seen;

	unsigned cut = 0;

	for (copied = 0; copied < 16384; copied += 8) {
		down(20);
		cut += seen > 5 && seen < whole;
		assert_int_equal(more, seen < whole);
	}
	assert_true(cut > 10);
	assert_int_equal(espy_unwinder__by_rules(unwinder), 2 + 16384 / 8);
}

/* What is known of a process is forgotten with it. */
static void test_forget(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		down(round);
		espy_unwinder__forget(unwinder, getpid());
	}
	assert_int_equal(espy_unwinder__by_rules(unwinder), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_functions, begin, end),
		cmocka_unit_test_setup_teardown(test_library_between, begin, end),
		cmocka_unit_test_setup_teardown(test_expressions, begin, end),
		cmocka_unit_test_setup_teardown(test_signal, begin, end),
		cmocka_unit_test_setup_teardown(test_bounds, begin, end),
		cmocka_unit_test_setup_teardown(test_forget, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
