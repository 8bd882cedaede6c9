/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * only_opens ALLOWED[:ALLOWED...] PROGRAM [ARGUMENTS]: fails if the program, or a child of it, opens a file that is not below one of
 * the ALLOWED directories. For test suites: the exit status is that of the program; 99 if it has opened another file, which is named on
 * standard error.
 */
#include <espy/espy.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

struct check {
	const char *allowed;
	unsigned bad;
};

static bool is_below(const char *path, const char *dir, size_t len)
{
	while (len > 1 && dir[len - 1] == '/')
		len--;
	return !strncmp(path, dir, len) && (path[len] == '/' || !path[len] || dir[len - 1] == '/');
}

static bool is_allowed(const char *path, const char *allowed)
{
	for (size_t len; *allowed; allowed += len + (allowed[len] == ':')) {
		len = strcspn(allowed, ":");
		if (len && is_below(path, allowed, len))
			return true;
	}
	return false;
}

/* The descriptor is asked which file was opened, not the argument: links and relative names are of no use to hide one. */
static void on_open(void *ctx, const struct espy_event *e)
{
	struct check *check = ctx;
	const char *path;
	uint64_t lost;
	int64_t fd;

	if (!espy_event_loss(e, &lost, NULL)) {
		fprintf(stderr, "only_opens: %llu events were lost: nothing is proved\n", (unsigned long long)lost);
		check->bad++;
		return;
	}
	if (espy_event_result(e, &fd) || fd < 0)
		return;
	path = espy_event_fd_path(e, (int)fd);
	if (path && path[0] == '/' && !is_allowed(path, check->allowed)) {
		fprintf(stderr, "only_opens: process %d opened %s\n", espy_event_process(e), path);
		check->bad++;
	}
}

static void on_log(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)ctx;
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		fprintf(stderr, "only_opens: %s\n", text);
}

int main(int argc, char **argv)
{
	struct check check = { .allowed = argc > 2 ? argv[1] : "" };
	char path[4096];
	struct espy_program program = { .size = sizeof(program), .path = path, .argv = argv + 2 };
	struct espy_session_options so = { .size = sizeof(so), .program = &program, .follow = true, .engines_fixed = true, .log = on_log };
	struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_CALL_END | ESPY_EVENT_LOSS, .event = on_open, .ctx = &check };
	struct espy_filter *filter = NULL;
	struct espy_session *session = NULL;
	int err = argc < 3 ? -EINVAL : espy_find_program(argv[2], path, sizeof(path)), status = 0;

	err = err ? err : espy_filter_new(&filter);
	err = err ? err : espy_filter_select(filter, "open,openat,openat2,creat,open_by_handle_at", NULL, 0);
	err = err ? err : espy_session_open(&session, &so);
	eo.filter = filter;
	err = err ? err : espy_engine_add(session, &eo, NULL);
	err = err ? err : espy_session_run(session);
	err = err ? err : espy_session_program_status(session, &status);
	espy_session_close(session);
	espy_filter_free(filter);
	if (err) {
		fprintf(stderr, "only_opens: %s\n", strerror(-err));
		return 98;
	}
	return check.bad ? 99 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
