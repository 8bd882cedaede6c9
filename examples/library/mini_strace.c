/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mini_strace PROGRAM [ARGUMENTS]: every system call and signal of a program and its children, on standard error. */
#include <espy/espy.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void on_event(void *ctx, const struct espy_event *e)
{
	char text[4096];

	(void)ctx;
	if (espy_event_text(e, text, sizeof(text)) >= 0)
		fprintf(stderr, "%d %s\n", espy_event_task(e), text);
}

static void on_log(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		fprintf(stderr, "%s: %s\n", (const char *)ctx, text);
}

int main(int argc, char **argv)
{
	char path[4096];
	struct espy_program program = { .size = sizeof(program), .path = path, .argv = argv + 1 };
	struct espy_session_options so = { .size = sizeof(so), .program = &program, .follow = true, .log = on_log, .log_ctx = argv[0] };
	struct espy_engine_options eo = { .size = sizeof(eo), .event = on_event };
	struct espy_session *session;
	int err, status = 0;

	err = argc < 2 ? -EINVAL : espy_find_program(argv[1], path, sizeof(path));
	if (err) {
		fprintf(stderr, "usage: %s PROGRAM [ARGUMENTS]: %s\n", argv[0], strerror(-err));
		return 2;
	}
	err = espy_session_open(&session, &so);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-err));
		return 2;
	}
	err = espy_engine_add(session, &eo, NULL);
	err = err ? err : espy_session_run(session);
	if (!err)
		err = espy_session_program_status(session, &status);
	espy_session_close(session);
	return err ? 2 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
