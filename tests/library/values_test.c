/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Values of events by their names and paths (espy/value.h): this program runs itself to make calls whose data it knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cmocka.h>
#include <espy/espy.h>

#define NAME "/dev/null"
static const char data[] = "first\0second\377";

static int make_calls(void)
{
	const struct iovec iov[2] = { { (void *)data, 5 }, { (void *)(data + 6), 7 } };
	const struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = 2 };
	struct stat st;
	int fd, pair[2];

	fd = (int)syscall(SYS_openat, AT_FDCWD, NAME, O_WRONLY | O_CLOEXEC | O_APPEND, 0);
	if (syscall(SYS_write, fd, data, sizeof(data) - 1) < 0 || fstat(fd, &st))
		return 1;
	syscall(SYS_openat, AT_FDCWD, "/nowhere/at all", O_RDONLY, 0);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || sendmsg(pair[0], &msg, MSG_NOSIGNAL) != 12)
		return 1;
	return 0;
}

static void do_nothing(int sig)
{
	(void)sig;
}

struct seen {
	unsigned opens, writes, failed, stats, messages, signals, exits;
};

static void check_text(const struct espy_event *e, const char *path, const char *text)
{
	char have[256];

	assert_int_equal(espy_event_value_text(e, path, have, sizeof(have)), strlen(text));
	assert_string_equal(have, text);
}

static void check_string(const struct espy_event *e, const char *path, const char *bytes, size_t len)
{
	char have[64];

	assert_int_equal(espy_event_string_at(e, path, have, sizeof(have)), len);
	assert_memory_equal(have, bytes, len);
	assert_int_equal(have[len], 0);
}

static void on_open(const struct espy_event *e, struct seen *seen)
{
	struct espy_value v = { .size = sizeof(v) };
	const char *names[4];
	uint64_t rest, reg;
	char text[256], cut[8];
	int64_t n;

	if (espy_event_string_at(e, "path", text, sizeof(text)) < 0 || strcmp(text, NAME)) {
		if (strcmp(text, "/nowhere/at all"))
			return;
		seen->failed++;
		assert_string_equal(espy_event_error(e), "ENOENT");
		assert_int_equal(espy_event_names(e, "ret", names, 4, NULL), 1);
		assert_string_equal(names[0], "ENOENT");
		assert_int_equal(espy_event_number_at(e, "ret", &n), 0);
		assert_int_equal(n, -ENOENT);
		return;
	}
	seen->opens++;
	assert_null(espy_event_error(e));
	assert_int_equal(espy_event_value(e, "pathname", &v), 0);
	assert_int_equal(v.kind, ESPY_KIND_STRING);
	assert_int_equal(v.length, strlen(NAME));
	assert_false(v.cut);
	assert_int_equal(espy_event_names(e, "flags", names, 4, &rest), 3);
	assert_string_equal(names[0], "O_WRONLY");
	assert_int_equal(rest, 0);
	check_text(e, "flags", "O_WRONLY|O_APPEND|O_CLOEXEC");
	assert_int_equal(espy_event_register(e, 2, &reg), 0);
	assert_int_equal((int)reg, O_WRONLY | O_CLOEXEC | O_APPEND);
	assert_int_equal(espy_event_register(e, 9, &reg), -ENOENT);
	/* Four bytes of the text, and the length of the whole. */
	assert_int_equal(espy_event_value_text(e, "path", cut, 5), strlen(NAME) + 2);
	assert_string_equal(cut, "\"/de");
	assert_true(espy_event_text(e, text, sizeof(text)) > 0);
	assert_memory_equal(text, "openat(AT_FDCWD, \"/dev/null\", O_WRONLY|O_APPEND|O_CLOEXEC) = ", 61);
	/* What is none. */
	assert_int_equal(espy_event_value(e, "flags.x", &v), -ENOENT);
	assert_int_equal(espy_event_value(e, "nothing", &v), -ENOENT);
	assert_int_equal(espy_event_value(e, "", &v), -EINVAL);
	assert_int_equal(espy_event_value(e, NULL, &v), -EINVAL);
	assert_int_equal(espy_event_value(NULL, "flags", &v), -EINVAL);
	assert_int_equal(espy_event_value(e, "flags", NULL), -EINVAL);
	assert_int_equal(espy_event_value(e, "flags", &(struct espy_value){ .size = 1 }), -EINVAL);
	assert_int_equal(espy_event_number_at(e, "path", &n), -EDOM);
	assert_int_equal(espy_event_string_at(e, "flags", text, sizeof(text)), -EDOM);
	assert_int_equal(espy_event_names(e, "path", names, 4, NULL), -EDOM);
}

static void on_write(const struct espy_event *e, struct seen *seen)
{
	struct espy_value v = { .size = sizeof(v) };
	char path[64];

	if (espy_event_value(e, "buf", &v) || v.length != sizeof(data) - 1 || memcmp(v.bytes, data, v.length))
		return;
	seen->writes++;
	assert_int_equal(v.kind, ESPY_KIND_BYTES);
	assert_int_equal(v.full_length, sizeof(data) - 1);
	assert_int_not_equal(v.address, 0);
	check_text(e, "buf", "\"first\\0second\\377\"");
	/* The file behind the descriptor, by its number and as "path". */
	assert_int_equal(espy_event_value(e, "fd", &v), 0);
	assert_int_equal(v.kind, ESPY_KIND_SIGNED);
	assert_string_equal(espy_event_fd_path(e, (int)v.number.i), NAME);
	check_string(e, "path", NAME, strlen(NAME));
	assert_non_null(espy_event_fd_path(e, AT_FDCWD));
	assert_null(espy_event_fd_path(e, 12345));
	assert_non_null(espy_event_task_name(e));
	assert_int_equal(espy_event_member(e, "", 0, path, sizeof(path)), 2);
	assert_string_equal(path, "fd");
	assert_int_equal(espy_event_member(e, "", 3, path, sizeof(path)), -ENOENT);
	assert_int_equal(espy_event_member(e, "", 0, path, 2), -ENAMETOOLONG);
	assert_int_equal(espy_event_member(e, "fd", 0, path, sizeof(path)), -ENOENT);
}

static void on_message(const struct espy_event *e, struct seen *seen)
{
	struct espy_value v = { .size = sizeof(v) };
	char path[64];
	int64_t n;

	seen->messages++;
	check_string(e, "msg.msg_iov[0].iov_base", data, 5);
	check_string(e, "msg.iov[1].base", data + 6, 7);
	assert_int_equal(espy_event_number_at(e, "msg.iov[1].len", &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(espy_event_value(e, "msg.iov[2].base", &v), -ENOENT);
	assert_int_equal(espy_event_value(e, "msg", &v), 0);
	assert_int_equal(v.kind, ESPY_KIND_STRUCT);
	assert_int_equal(espy_event_value(e, "msg.iov", &v), 0);
	assert_int_equal(v.kind, ESPY_KIND_ARRAY);
	/* Every member is found by the path that it is said to have. */
	for (unsigned i = 0; espy_event_member(e, "msg", i, path, sizeof(path)) >= 0; i++) {
		assert_memory_equal(path, "msg.", 4);
		assert_int_equal(espy_event_value(e, path, &v), 0);
	}
	assert_true(espy_event_member(e, "msg.iov", 1, path, sizeof(path)) > 0);
	assert_string_equal(path, "msg.iov[1]");
	assert_true(espy_event_member(e, path, 1, path, sizeof(path)) > 0);
	check_text(e, "msg.iov[1].iov_len", "7");
}

static void on_stat(const struct espy_event *e, struct seen *seen)
{
	struct espy_value v = { .size = sizeof(v) };
	const char *name = "";
	int64_t n;

	if (espy_event_number_at(e, "statbuf.mode", &n) && espy_event_number_at(e, "statbuf.st_mode", &n))
		return;
	if (!S_ISCHR(n))
		return;
	seen->stats++;
	assert_int_equal(espy_event_value(e, "statbuf", &v), 0);
	assert_int_equal(v.kind, ESPY_KIND_STRUCT);
	assert_true(espy_event_names(e, "statbuf.mode", &name, 1, NULL) >= 0);
}

static void on_signal(const struct espy_event *e, struct seen *seen)
{
	char text[256];
	int64_t n;

	seen->signals++;
	assert_int_equal(espy_event_number_at(e, "si_signo", &n), 0);
	assert_int_equal(n, SIGUSR2);
	assert_int_equal(espy_event_number_at(e, "pid", &n), 0);
	assert_int_equal(n, espy_event_process(e));
	assert_true(espy_event_member(e, "", 0, text, sizeof(text)) > 0);
	assert_string_equal(text, "si_signo");
	assert_true(espy_event_text(e, text, sizeof(text)) > 0);
	assert_memory_equal(text, "--- SIGUSR2 {si_signo=SIGUSR2, ", 31);
}

static void on_event(void *ctx, const struct espy_event *e)
{
	struct seen *seen = ctx;
	char text[64];

	switch (espy_event_type(e)) {
	case ESPY_EVENT_SIGNAL:
		on_signal(e, seen);
		return;
	case ESPY_EVENT_EXIT:
		seen->exits++;
		assert_int_equal(espy_event_text(e, text, sizeof(text)), 21);
		assert_string_equal(text, "+++ exited with 9 +++");
		return;
	}
	switch (espy_event_number(e)) {
	case SYS_openat:
		on_open(e, seen);
		break;
	case SYS_write:
		on_write(e, seen);
		break;
	case SYS_fstat:
	case SYS_newfstatat:
		on_stat(e, seen);
		break;
	case SYS_sendmsg:
		on_message(e, seen);
		break;
	}
}

static void log_line(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)ctx;
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		print_message("%s\n", text);
}

static void values_of_a_command(void **state)
{
	const char *self = *state;
	char *const argv[] = { (char *)self, "calls", NULL };
	const struct espy_program program = { .size = sizeof(program), .path = self, .argv = argv };
	const struct espy_session_options so = { .size = sizeof(so), .program = &program, .source = "ptrace", .log = log_line };
	struct seen seen = { 0 };
	const struct espy_engine_options eo = {
		.size = sizeof(eo),
		.events = ESPY_EVENT_CALL_END | ESPY_EVENT_SIGNAL | ESPY_EVENT_EXIT,
		.event = on_event,
		.ctx = &seen,
	};
	struct espy_session *s;

	assert_int_equal(espy_session_open(&s, &so), 0);
	assert_int_equal(espy_engine_add(s, &eo, NULL), 0);
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);
	assert_int_equal(seen.opens, 1);
	assert_int_equal(seen.failed, 1);
	assert_int_equal(seen.writes, 1);
	assert_int_equal(seen.stats, 1);
	assert_int_equal(seen.messages, 1);
	assert_int_equal(seen.signals, 1);
	assert_int_equal(seen.exits, 1);
}

int main(int argc, char **argv)
{
	char self[4096];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(values_of_a_command, self) };

	if (argc > 1) {
		if (make_calls())
			return 1;
		signal(SIGUSR2, do_nothing);
		kill(getpid(), SIGUSR2);
		_exit(9); /* no leak check of a sanitizer, which would be traced */
	}
	self[len > 0 ? len : 0] = 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
