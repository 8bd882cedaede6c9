/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * No engine comes before another one: each sees the calls that meet the condition of its own filter, of which the kernel tests that one of
 * them holds; the rules of all filters change calls. With two engines and with ten. By source bpf, where it works, else ptrace;
 * ESPY_SOURCE names one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <espy/espy.h>

#define ENGINES 10
#define ROUNDS 2000u
#define FIRST_WHO 100000

static char self[4096], last_error[512];

/* ---- the program that is watched: this one */

static const long changed[ENGINES] = { SYS_getppid, SYS_getpgrp, SYS_getuid, SYS_geteuid, SYS_getgid,
				       SYS_getegid, SYS_gettid, SYS_sched_yield, SYS_sync, SYS_getpid };
static const char *const changed_names[ENGINES] = { "getppid", "getpgrp", "getuid", "geteuid", "getgid",
						    "getegid", "gettid", "sched_yield", "sync", "getpid" };

/* "calls": getpriority and access of ROUNDS things that are not there. "changed": exits with the number of calls that return 100 and its place. */
static int be_watched(const char *how)
{
	char path[32];
	int cnt = 0;

	if (!strcmp(how, "changed"))
		for (int i = 0; i < ENGINES; i++)
			cnt += syscall(changed[i]) == 100 + i;
	for (unsigned i = 0; !strcmp(how, "calls") && i < ROUNDS; i++) {
		snprintf(path, sizeof(path), "/nosuch-%u", i);
		syscall(SYS_getpriority, 0, FIRST_WHO + i);
		syscall(SYS_access, path, 0);
	}
	_exit(cnt);
}

/* ---- sessions */

static void log_line(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)ctx;
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		snprintf(last_error, sizeof(last_error), "%s", text);
}

static struct espy_session *open_session(const char *how, const char *source, bool engines_fixed)
{
	char *const argv[] = { self, (char *)how, NULL };
	const struct espy_program program = { .size = sizeof(program), .path = self, .argv = argv };
	const struct espy_session_options so = { .size = sizeof(so), .program = &program, .source = source, .log = log_line,
						 .engines_fixed = engines_fixed };
	struct espy_session *s;

	last_error[0] = 0;
	assert_int_equal(espy_session_open(&s, &so), 0);
	return s;
}

struct seen {
	unsigned calls, wrong;
	unsigned which; /* the number that its calls are about; UINT32_MAX: any */
};

static void on_event(void *ctx, const struct espy_event *e)
{
	struct seen *seen = ctx;
	char path[32] = "", want[32];
	int64_t who;

	seen->calls++;
	if (seen->which == UINT32_MAX)
		return;
	snprintf(want, sizeof(want), "/nosuch-%u", seen->which);
	if (!espy_event_number_at(e, "who", &who))
		seen->wrong += who != FIRST_WHO + (int64_t)seen->which;
	else
		seen->wrong += espy_event_string_at(e, "pathname", path, sizeof(path)) < 0 || strcmp(path, want);
}

static struct espy_filter *new_filter(const char *expression, const char *inject, const char *where)
{
	struct espy_filter *f;
	char why[256];

	assert_int_equal(espy_filter_new(&f), 0);
	assert_int_equal(espy_filter_select(f, expression, why, sizeof(why)), 0);
	if (inject)
		assert_int_equal(espy_filter_select(f, inject, why, sizeof(why)), 0);
	if (where)
		assert_int_equal(espy_filter_where(f, where), 0);
	return f;
}

static int add(struct espy_session *s, struct espy_filter *f, struct seen *seen, struct espy_engine **out)
{
	const struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_CALL_END, .filter = f, .event = on_event, .ctx = seen };
	const int err = espy_engine_add(s, &eo, out);

	espy_filter_free(f);
	return err;
}

/* ---- conditions */

static void each_sees_its_own(unsigned cnt, bool one_more)
{
	struct espy_session *s = open_session("calls", getenv("ESPY_SOURCE"), true);
	struct espy_session_stats st = { .size = sizeof(st) };
	struct seen seen[ENGINES + 1] = { { .calls = 0 } };
	char where[96];

	for (unsigned i = 0; i < cnt; i++) {
		seen[i].which = i * 7;
		snprintf(where, sizeof(where), "who == %u || path == \"/nosuch-%u\"", FIRST_WHO + i * 7, i * 7);
		assert_int_equal(add(s, new_filter("getpriority,access", NULL, where), &seen[i], NULL), 0);
	}
	seen[cnt].which = UINT32_MAX;
	if (one_more)
		assert_int_equal(add(s, new_filter("access", NULL, NULL), &seen[cnt], NULL), 0);
	assert_int_equal(espy_session_run(s), 0);
	assert_int_equal(espy_session_stats(s, &st), 0);
	for (unsigned i = 0; i < cnt; i++) {
		assert_int_equal(seen[i].calls, 2);
		assert_int_equal(seen[i].wrong, 0);
	}
	assert_true(seen[cnt].calls >= (one_more ? ROUNDS : 0));
	/* What meets none of the conditions is left where it happens; of access all are wanted if one engine wants them. */
	if (!strcmp(espy_session_source(s), "bpf"))
		assert_in_range(st.records, 2 * cnt + (one_more ? ROUNDS : 0), (one_more ? ROUNDS : 0) + 100);
	espy_session_close(s);
}

static void two_conditions(void **state)
{
	(void)state;
	each_sees_its_own(2, false);
}

static void ten_conditions(void **state)
{
	(void)state;
	each_sees_its_own(ENGINES, false);
}

static void conditions_and_none(void **state)
{
	(void)state;
	each_sees_its_own(2, true);
}

/* The times that a second condition asks for are taken, though no line has them. */
static void duration_of_the_second(void **state)
{
	struct espy_session *s = open_session("calls", getenv("ESPY_SOURCE"), true);
	FILE *lines[2];
	char line[512];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct espy_filter *f = new_filter("getpriority", NULL, i ? "duration > 0s" : NULL);
		struct espy_text_options to = { .size = sizeof(to) };
		const struct espy_engine_options eo = { .size = sizeof(eo), .filter = f, .text = &to };

		lines[i] = tmpfile();
		assert_non_null(lines[i]);
		assert_int_equal(espy_output_fd(&to.output, fileno(lines[i])), 0);
		assert_int_equal(espy_engine_add(s, &eo, NULL), 0);
		espy_output_close(to.output);
		espy_filter_free(f);
	}
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);
	for (unsigned i = 0; i < 2; i++) {
		unsigned cnt = 0;

		rewind(lines[i]);
		while (fgets(line, sizeof(line), lines[i]))
			cnt += strstr(line, "getpriority(") != NULL;
		assert_int_equal(cnt, ROUNDS);
		fclose(lines[i]);
	}
}

/* Lines are told of calls that are not theirs, to know of tasks and gaps. Those do not count as the engine's. */
static void counts_its_own(void **state)
{
	struct espy_session *s = open_session("calls", getenv("ESPY_SOURCE"), true);
	struct espy_text_options to = { .size = sizeof(to) };
	struct espy_filter *one = new_filter("getpriority", NULL, "who == 100007");
	const struct espy_engine_options eo = { .size = sizeof(eo), .filter = one, .text = &to };
	struct espy_engine_stats st[3];
	struct espy_engine *e[3];
	struct seen seen[2] = { { .which = 7 }, { .which = UINT32_MAX } };
	FILE *lines = tmpfile();

	(void)state;
	assert_non_null(lines);
	assert_int_equal(espy_output_fd(&to.output, fileno(lines)), 0);
	assert_int_equal(espy_engine_add(s, &eo, &e[0]), 0);
	espy_output_close(to.output);
	assert_int_equal(add(s, one, &seen[0], &e[1]), 0);
	assert_int_equal(add(s, new_filter("getpriority", NULL, NULL), &seen[1], &e[2]), 0);
	assert_int_equal(espy_session_run(s), 0);
	for (unsigned i = 0; i < 3; i++) {
		st[i].size = sizeof(st[i]);
		assert_int_equal(espy_engine_stats(e[i], &st[i]), 0);
	}
	espy_session_close(s);
	fclose(lines);
	assert_int_equal(st[0].calls, 1);
	assert_in_range(st[0].events, 1, ROUNDS - 1);
	assert_int_equal(st[1].calls, 1);
	assert_int_equal(st[1].events, 1);
	assert_int_equal(st[2].calls, seen[1].calls);
	assert_int_equal(st[2].calls, ROUNDS);
}

/* ---- changed calls */

static void all_rules_hold(unsigned cnt)
{
	struct espy_session *s = open_session("changed", NULL, true);
	struct seen seen[ENGINES] = { { .calls = 0 } };
	char inject[64];
	int status;

	for (unsigned i = 0; i < cnt; i++) {
		seen[i].which = UINT32_MAX;
		snprintf(inject, sizeof(inject), "inject=%s:retval=%u", changed_names[i], 100 + i);
		assert_int_equal(add(s, new_filter(changed_names[i], inject, NULL), &seen[i], NULL), 0);
	}
	assert_int_equal(espy_session_run(s), 0);
	assert_string_equal(espy_session_source(s), "ptrace");
	assert_int_equal(espy_session_program_status(s, &status), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), cnt);
	espy_session_close(s);
}

static void two_change_calls(void **state)
{
	(void)state;
	all_rules_hold(2);
}

static void ten_change_calls(void **state)
{
	(void)state;
	all_rules_hold(ENGINES);
}

/* Which of the two should it be? */
static void two_change_one_call(void **state)
{
	struct espy_session *s = open_session("changed", NULL, true);
	struct seen seen = { .which = UINT32_MAX };

	(void)state;
	assert_int_equal(add(s, new_filter("getppid", "inject=getppid:retval=1", NULL), &seen, NULL), 0);
	assert_int_equal(add(s, new_filter("getppid", "inject=getuid,getppid:retval=2", NULL), &seen, NULL), 0);
	assert_int_equal(espy_session_start(s), -EINVAL);
	assert_non_null(strstr(last_error, "two filters change getppid"));
	espy_session_close(s);
}

static void rules_that_come_late(void **state)
{
	struct espy_session *s = open_session("changed", "ptrace", false);
	struct seen seen = { .which = UINT32_MAX };
	struct espy_engine *first;
	struct espy_filter *late = new_filter("getppid", "inject=getppid:retval=1", NULL);

	(void)state;
	assert_int_equal(add(s, new_filter("getuid", NULL, NULL), &seen, &first), 0);
	assert_int_equal(espy_session_start(s), 0);
	assert_int_equal(espy_engine_set_filter(first, late), -EOPNOTSUPP);
	assert_non_null(strstr(last_error, "the session has begun"));
	assert_int_equal(add(s, late, &seen, NULL), -EOPNOTSUPP);
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);
}

int main(int argc, char **argv)
{
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_conditions),
		cmocka_unit_test(ten_conditions),
		cmocka_unit_test(conditions_and_none),
		cmocka_unit_test(duration_of_the_second),
		cmocka_unit_test(counts_its_own),
		cmocka_unit_test(two_change_calls),
		cmocka_unit_test(ten_change_calls),
		cmocka_unit_test(two_change_one_call),
		cmocka_unit_test(rules_that_come_late),
	};

	self[len > 0 ? len : 0] = 0;
	return argc > 1 ? be_watched(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
