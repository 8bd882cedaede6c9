/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An engine of callbacks is told of every event that it asked for, with its task, name, number, result and status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>
#include <espy/espy.h>

struct seen {
	unsigned ends, begins, exits, signals, foreign;
	int kill_results, exit_status;
	bool exit_without_result;
	pid_t task;
};

static void on_event(void *ctx, const struct espy_event *e)
{
	struct seen *seen = ctx;
	const char *name = espy_event_name(e);
	int64_t result = -1;
	uint64_t ns;

	seen->task = seen->task ? seen->task : espy_event_task(e);
	seen->foreign += espy_event_task(e) != seen->task || espy_event_process(e) != seen->task || !espy_event_time(e);
	switch (espy_event_type(e)) {
	case ESPY_EVENT_CALL_END:
		seen->ends++;
		if (espy_event_number(e) == SYS_kill && name && !strcmp(name, "kill") && !espy_event_result(e, &result) &&
		    result == 0 && !espy_event_duration(e, &ns))
			seen->kill_results++;
		if (espy_event_number(e) == SYS_exit_group)
			seen->exit_without_result = espy_event_result(e, &result) == -ENODATA;
		assert_int_equal(espy_event_status(e, &(int){ 0 }), -ENOENT);
		break;
	case ESPY_EVENT_SIGNAL:
		seen->signals += !name && espy_event_number(e) == SIGUSR1;
		assert_int_equal(espy_event_result(e, &result), -ENOENT);
		break;
	case ESPY_EVENT_EXIT:
		seen->exits += !espy_event_status(e, &seen->exit_status);
		assert_null(name);
		assert_int_equal(espy_event_number(e), -1);
		break;
	default:
		seen->begins++;
	}
}

/* The calls of a shell that signals itself, by the source that needs no rights. */
static void events_of_a_command(void **state)
{
	char *const argv[] = { "sh", "-c", "trap : USR1; kill -USR1 $$; exit 7", NULL };
	const struct espy_program program = { .size = sizeof(program), .path = "/bin/sh", .argv = argv };
	const struct espy_session_options so = { .size = sizeof(so), .program = &program, .source = "ptrace" };
	struct seen seen = { 0 };
	const struct espy_engine_options eo = {
		.size = sizeof(eo),
		.events = ESPY_EVENT_CALL_END | ESPY_EVENT_SIGNAL | ESPY_EVENT_EXIT,
		.event = on_event,
		.ctx = &seen,
		.no_values = true,
	};
	struct espy_session *s;

	(void)state;
	assert_int_equal(espy_session_open(&s, &so), 0);
	assert_int_equal(espy_engine_add(s, &eo, NULL), 0);
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);
	assert_true(seen.ends > 5);
	assert_int_equal(seen.begins, 0);
	assert_int_equal(seen.kill_results, 1);
	assert_int_equal(seen.signals, 1);
	assert_int_equal(seen.exits, 1);
	assert_int_equal(seen.exit_status, 7 << 8);
	assert_true(seen.exit_without_result);
	assert_int_equal(seen.foreign, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(events_of_a_command) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
