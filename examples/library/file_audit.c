/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * file_audit [-p PID | PROGRAM [ARGUMENTS]]: who opens, makes, removes and renames which files, one line each. The descriptions know
 * which calls those are (%file); a failed one is a line, too. Events that were lost are told.
 */
#include <espy/espy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_event(void *ctx, const struct espy_event *e)
{
	const char *error = espy_event_error(e), *comm = espy_event_task_name(e), *cwd = espy_event_fd_path(e, -100 /* AT_FDCWD */);
	char path[4096], flags[256] = "";
	const char *reason;
	uint64_t lost;

	(void)ctx;
	if (!espy_event_loss(e, &lost, &reason)) {
		printf("%llu events were lost: %s\n", (unsigned long long)lost, reason);
		return;
	}
	if (espy_event_string_at(e, "path", path, sizeof(path)) < 0)
		return;
	espy_event_value_text(e, "flags", flags, sizeof(flags));
	printf("%s[%d] %s %s%s%s%s%s%s%s\n", comm ? comm : "?", espy_event_process(e), espy_event_name(e), path[0] != '/' && cwd ? cwd : "",
	       path[0] != '/' && cwd ? "/" : "", path, *flags ? " " : "", flags, error ? ": " : "", error ? error : "");
}

static void on_log(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		fprintf(stderr, "%s: %s\n", (const char *)ctx, text);
}

int main(int argc, char **argv)
{
	const bool attach = argc == 3 && !strcmp(argv[1], "-p");
	const pid_t pid = attach ? atoi(argv[2]) : 0;
	char path[4096], why[256] = "";
	struct espy_program program = { .size = sizeof(program), .path = path, .argv = argv + 1 };
	struct espy_session_options so = { .size = sizeof(so), .follow = true, .log = on_log, .log_ctx = argv[0] };
	struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_CALL_END | ESPY_EVENT_LOSS, .event = on_event };
	struct espy_session *session;
	struct espy_filter *filter;
	int err = argc < 2 || (attach && pid <= 0) ? -EINVAL : attach ? 0 : espy_find_program(argv[1], path, sizeof(path));

	if (err) {
		fprintf(stderr, "usage: %s [-p PID | PROGRAM [ARGUMENTS]]: %s\n", argv[0], strerror(-err));
		return 2;
	}
	so.program = attach ? NULL : &program;
	so.pids = attach ? &pid : NULL;
	so.pid_count = attach;
	so.engines_fixed = true; /* no other engine comes: no other call is captured */
	err = espy_filter_new(&filter);
	if (!err && espy_filter_select(filter, "%file", why, sizeof(why)))
		fprintf(stderr, "%s: %s\n", argv[0], why);
	eo.filter = filter;
	err = err ? err : espy_session_open(&session, &so);
	if (err) {
		espy_filter_free(filter);
		return 2;
	}
	err = espy_engine_add(session, &eo, NULL);
	espy_filter_free(filter);
	err = err ? err : espy_session_run(session);
	espy_session_close(session);
	return err ? 2 : 0;
}
