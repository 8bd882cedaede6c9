/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mistakes of a caller get the answers that the headers promise: NULL, wrong sizes, contradictions, one handle for two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <espy/espy.h>

static void on_event(void *ctx, const struct espy_event *e)
{
	(void)ctx;
	(void)e;
}

static void null_pointers(void **state)
{
	int64_t n;
	uint64_t u;
	char text[8];
	const char *names[1];

	(void)state;
	assert_int_equal(espy_session_open(NULL, NULL), -EINVAL);
	assert_int_equal(espy_session_open(&(struct espy_session *){ NULL }, NULL), -EINVAL);
	espy_session_close(NULL);
	assert_int_equal(espy_session_start(NULL), -EINVAL);
	assert_int_equal(espy_session_run(NULL), -EINVAL);
	assert_int_equal(espy_session_fd(NULL), -EINVAL);
	assert_int_equal(espy_session_dispatch(NULL, 0), -EINVAL);
	espy_session_stop(NULL);
	espy_session_snapshot(NULL);
	assert_int_equal(espy_session_finish(NULL), -EINVAL);
	assert_int_equal(espy_session_add_pid(NULL, 1, false), -EINVAL);
	assert_int_equal(espy_session_remove_pid(NULL, 1), -EINVAL);
	assert_int_equal(espy_session_program(NULL), -ESRCH);
	assert_int_equal(espy_session_program_status(NULL, NULL), -EINVAL);
	assert_null(espy_session_source(NULL));
	assert_int_equal(espy_session_stats(NULL, NULL), -EINVAL);
	assert_int_equal(espy_session_held(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(espy_resume(NULL, 0), -EINVAL);
	assert_int_equal(espy_engine_add(NULL, NULL, NULL), -EINVAL);
	assert_int_equal(espy_engine_remove(NULL), -EINVAL);
	assert_int_equal(espy_engine_set_events(NULL, ESPY_EVENT_ALL), -EINVAL);
	assert_int_equal(espy_engine_set_filter(NULL, NULL), -EINVAL);
	assert_int_equal(espy_engine_stats(NULL, NULL), -EINVAL);
	assert_int_equal(espy_filter_new(NULL), -EINVAL);
	espy_filter_free(NULL);
	assert_int_equal(espy_filter_select(NULL, "open", NULL, 0), -EINVAL);
	assert_int_equal(espy_filter_path(NULL, "/"), -EINVAL);
	assert_int_equal(espy_filter_paths_as_written(NULL), -EINVAL);
	assert_int_equal(espy_filter_where(NULL, "ret < 0"), -EINVAL);
	assert_int_equal(espy_filter_mark(NULL, "*", NULL, NULL, 0), -EINVAL);
	assert_int_equal(espy_filter_task(NULL, 1), -EINVAL);
	assert_int_equal(espy_filter_status(NULL, ESPY_STATUS_ALL), -EINVAL);
	assert_false(espy_filter_has(NULL, ESPY_FILTER_CALLS));
	assert_int_equal(espy_output_open(NULL, NULL, false), -EINVAL);
	assert_int_equal(espy_output_fd(NULL, 1), -EINVAL);
	assert_int_equal(espy_output_per_task(NULL, NULL, false), -EINVAL);
	assert_int_equal(espy_output_flush(NULL), -EINVAL);
	assert_int_equal(espy_output_close(NULL), 0);
	assert_int_equal(espy_trace_open(NULL, NULL, false, NULL, NULL), -EINVAL);
	espy_trace_close(NULL);
	assert_int_equal(espy_find_program(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(espy_find_program("sh", NULL, 5), -EINVAL);
	assert_int_equal(espy_find_program("/bin/sh", text, 3), -ENAMETOOLONG);
	assert_int_equal(espy_find_program("", text, sizeof(text)), -ENOENT);
	assert_int_equal(espy_find_program("no such program", text, sizeof(text)), -ENAMETOOLONG);
	assert_int_equal(espy_find_program("/bin/sh", text, sizeof(text)), 0);
	assert_string_equal(text, "/bin/sh");
	assert_int_equal(espy_trace_info(NULL, NULL), -EINVAL);
	assert_int_equal(espy_ask_resume(1, -1, NULL, 0), 0);
	assert_int_equal(espy_event_type(NULL), 0);
	assert_int_equal(espy_event_time(NULL), 0);
	assert_int_equal(espy_event_task(NULL), 0);
	assert_int_equal(espy_event_process(NULL), 0);
	assert_null(espy_event_name(NULL));
	assert_int_equal(espy_event_number(NULL), -1);
	assert_int_equal(espy_event_result(NULL, &n), -EINVAL);
	assert_int_equal(espy_event_duration(NULL, &u), -EINVAL);
	assert_int_equal(espy_event_status(NULL, NULL), -EINVAL);
	assert_int_equal(espy_event_child(NULL), 0);
	assert_int_equal(espy_event_loss(NULL, &u, NULL), -EINVAL);
	assert_int_equal(espy_event_value(NULL, "x", NULL), -EINVAL);
	assert_int_equal(espy_event_number_at(NULL, "x", &n), -EINVAL);
	assert_int_equal(espy_event_string_at(NULL, "x", text, sizeof(text)), -EINVAL);
	assert_int_equal(espy_event_member(NULL, "", 0, text, sizeof(text)), -EINVAL);
	assert_int_equal(espy_event_names(NULL, "x", names, 1, NULL), -EINVAL);
	assert_int_equal(espy_event_value_text(NULL, "x", text, sizeof(text)), -EINVAL);
	assert_int_equal(espy_event_text(NULL, text, sizeof(text)), -EINVAL);
	assert_int_equal(espy_event_register(NULL, 0, &u), -EINVAL);
	assert_null(espy_event_error(NULL));
	assert_null(espy_event_fd_path(NULL, 0));
	assert_null(espy_event_task_name(NULL));
}

/* A size that is none; one of a later version, whose new fields are set, or are not. */
static void sizes(void **state)
{
	struct {
		struct espy_session_options o;
		uint64_t later[4];
	} big = { .o = { .size = sizeof(big) } };
	struct espy_session *s;

	(void)state;
	for (size_t size = 0; size < sizeof(size_t); size++)
		assert_int_equal(espy_session_open(&s, &(struct espy_session_options){ .size = size }), -EINVAL);
	assert_int_equal(espy_session_open(&s, &(struct espy_session_options){ .size = SIZE_MAX }), -EINVAL);
	assert_int_equal(espy_session_open(&s, &big.o), 0);
	espy_session_close(s);
	big.later[3] = 1;
	assert_int_equal(espy_session_open(&s, &big.o), -E2BIG);
}

static void contradictions(void **state)
{
	const struct espy_session_options empty = { .size = sizeof(empty) };
	struct espy_text_options text = { .size = sizeof(text) };
	struct espy_summary_options summary = { .size = sizeof(summary) };
	struct espy_sink_options sink = { .size = sizeof(sink) };
	struct espy_tally_options tally = { .size = sizeof(tally) };
	const struct espy_tally none = { .kind = ESPY_TALLY_HIST }, operators = { .text = "read: ret < 0" };
	struct espy_engine_options eo = { .size = sizeof(eo) };
	const pid_t pid = 1;
	struct espy_filter *f;
	struct espy_engine *e;
	struct espy_session *s;
	char why[64];

	(void)state;
	assert_int_equal(espy_session_open(&s, &(struct espy_session_options){ .size = sizeof(empty), .all = true, .cgroup = "/" }), -EINVAL);
	assert_int_equal(espy_session_open(&s, &(struct espy_session_options){ .size = sizeof(empty), .pid_count = 1 }), -EINVAL);
	assert_int_equal(espy_session_open(&s, &(struct espy_session_options){ .size = sizeof(empty), .all = true, .pids = &pid, .pid_count = 1 }),
			 -EINVAL);
	assert_int_equal(espy_session_open(&s, &empty), 0);
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL); /* no sink */
	eo.text = &text;
	eo.summary = &summary;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL); /* two */
	eo.text = NULL;
	text.size = 3;
	eo.summary = NULL;
	eo.text = &text;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL);
	eo.text = NULL;
	eo.sink = &sink;
	assert_int_equal(espy_engine_add(s, &eo, &e), -ENOENT);
	sink.name = "nosuch";
	assert_int_equal(espy_engine_add(s, &eo, &e), -ENOENT);
	sink.name = "json";
	sink.size = 3;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL);
	eo.sink = NULL;
	eo.tally = &tally;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL); /* counts nothing */
	tally.tallies = &none;
	tally.tally_count = 1;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL); /* no text */
	tally.tallies = &operators;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL);
	tally.tally_count = 1u << 20;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL); /* too many */
	eo.tally = NULL;
	eo.event = on_event;
	eo.events = 1u << 30;
	assert_int_equal(espy_engine_add(s, &eo, &e), -EINVAL); /* no such type */
	eo.events = 0;
	assert_int_equal(espy_filter_new(&f), 0);
	eo.filter = f;
	assert_int_equal(espy_filter_select(f, "no_such_call", why, sizeof(why)), -EINVAL);
	assert_int_equal(espy_filter_select(f, "no_such_call", NULL, 0), -EINVAL);
	assert_int_equal(espy_filter_select(f, NULL, why, sizeof(why)), -EINVAL);
	assert_int_equal(espy_filter_mark(f, "if (", NULL, NULL, 0), -EINVAL);
	assert_int_equal(espy_engine_add(s, &eo, &e), 0);
	/* An engine has the filter: it is not changed any more. */
	assert_int_equal(espy_filter_select(f, "read", why, sizeof(why)), -EBUSY);
	assert_int_equal(espy_filter_path(f, "/"), -EBUSY);
	assert_int_equal(espy_engine_set_events(e, 0), -EINVAL);
	assert_int_equal(espy_engine_set_events(e, 1u << 31), -EINVAL);
	assert_int_equal(espy_engine_set_filter(e, NULL), -EINVAL);
	assert_int_equal(espy_engine_remove(e), 0);
	espy_filter_free(f);
	/* Before it has begun. */
	assert_int_equal(espy_session_finish(s), -EINVAL);
	assert_int_equal(espy_session_add_pid(s, -5, false), -EINVAL);
	assert_int_equal(espy_session_remove_pid(s, 1), -ESRCH);
	assert_int_equal(espy_session_program(s), -ESRCH);
	assert_null(espy_session_source(s));
	espy_session_close(s);
}

static void log_line(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	unsigned *errors = ctx;

	(void)topic;
	*errors += level == ESPY_LOG_ERROR && *text;
}

/* What cannot work fails with an error and a word, and the session can still be closed. */
static void failures(void **state)
{
	char *const argv[] = { "nothing", NULL };
	const struct espy_program program = { .size = sizeof(program), .path = "/no/such program", .argv = argv };
	unsigned errors = 0;
	struct espy_session_options so = { .size = sizeof(so), .program = &program, .source = "ptrace", .log = log_line, .log_ctx = &errors };
	const struct espy_engine_options eo = { .size = sizeof(eo), .event = on_event };
	struct espy_session *s;
	struct espy_trace *t;

	(void)state;
	assert_int_equal(espy_session_open(&s, &so), 0);
	assert_int_equal(espy_engine_add(s, &eo, NULL), 0);
	assert_int_equal(espy_session_run(s), -ENOENT);
	assert_int_equal(espy_session_run(s), -ESRCH);
	assert_int_equal(espy_engine_add(s, &eo, NULL), -ESRCH);
	espy_session_close(s);
	assert_int_equal(errors, 1);
	so.source = "none";
	assert_int_equal(espy_session_open(&s, &so), 0);
	assert_int_not_equal(espy_session_start(s), 0);
	assert_int_equal(espy_session_start(s), -EALREADY);
	espy_session_close(s);
	assert_int_equal(errors, 2);
	assert_int_equal(espy_trace_open(&t, "/no/such trace", false, log_line, &errors), -ENOENT);
	assert_int_equal(errors, 3);
	assert_int_equal(espy_trace_open(&t, "/proc/self/exe", false, log_line, &errors), -EINVAL);
}

/* Two sessions on one trace; a trace that is closed before its session. */
static void one_trace_for_two(void **state)
{
	char name[] = "/tmp/espy-misuse-XXXXXX", *const argv[] = { "true", NULL };
	const struct espy_program program = { .size = sizeof(program), .path = "/bin/true", .argv = argv };
	const struct espy_session_options so = { .size = sizeof(so), .program = &program, .source = "ptrace" };
	struct espy_session_options shown = { .size = sizeof(shown) };
	const struct espy_trace_options to = { .size = sizeof(to), .path = name, .replace = true };
	const struct espy_engine_options record = { .size = sizeof(record), .trace = &to }, eo = { .size = sizeof(eo), .event = on_event };
	struct espy_session *s, *second;
	struct espy_trace *t;
	const int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(espy_session_open(&s, &so), 0);
	assert_int_equal(espy_engine_add(s, &record, NULL), 0);
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);

	assert_int_equal(espy_trace_open(&t, name, false, NULL, NULL), 0);
	shown.trace = t;
	assert_int_equal(espy_session_open(&s, &shown), 0);
	assert_int_equal(espy_session_open(&second, &shown), -EBUSY);
	assert_int_equal(espy_engine_add(s, &eo, NULL), 0);
	espy_trace_close(t);
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_pointers), cmocka_unit_test(sizes), cmocka_unit_test(contradictions),
		cmocka_unit_test(failures),	 cmocka_unit_test(one_trace_for_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
