/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process that asks a running espy gets its answer, though signals come meanwhile. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/small_file.h"
#include "lib/control_socket.h"
#include "tests/wait.h"

#define SIGNALS 3

static pthread_t asking;
static pid_t asking_tid;
static volatile sig_atomic_t came;
static int listening;

static void count(int sig)
{
	(void)sig;
	came++;
}

static bool has_one_more(sig_atomic_t before)
{
	return came > before;
}

/* Tells whether that thread sleeps until the answer comes. */
static bool waits_for_it(void)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)asking_tid);
	return espy_read_line(path, text, sizeof(text)) > 0 && atoi(text) == SYS_recvfrom;
}

/* Accepts one that asks, and answers when signals have interrupted it. */
static void *answer_late(void *ctx)
{
	const int fd = accept(listening, NULL, NULL);
	char request[64];

	if (fd < 0 || recv(fd, request, sizeof(request), 0) <= 0)
		return ctx;
	for (int i = 0; i < SIGNALS; i++) {
		const sig_atomic_t before = came;

		if (!WAIT_UNTIL(waits_for_it()))
			return ctx;
		pthread_kill(asking, SIGALRM);
		if (!WAIT_UNTIL(has_one_more(before)))
			return ctx;
	}
	send(fd, "done", 4, MSG_NOSIGNAL);
	close(fd);
	return NULL;
}

static void signals_while_it_waits(void **state)
{
	const struct sigaction by_count = { .sa_handler = count };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/espy-control-XXXXXX", answer[ESPY_CONTROL_TEXT];
	pthread_t server;
	void *failed;

	(void)state;
	asking = pthread_self();
	asking_tid = gettid();
	assert_int_equal(sigaction(SIGALRM, &by_count, NULL), 0);
	assert_non_null(mkdtemp(dir));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/hold.1", dir);
	listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listening, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(pthread_create(&server, NULL, answer_late, dir), 0);
	assert_int_equal(espy_control__ask(dir, "hold.1", WAIT_LIMIT_MS, "resume 1", answer), 0);
	assert_string_equal(answer, "done");
	pthread_join(server, &failed);
	assert_null(failed);
	unlink(addr.sun_path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(signals_while_it_waits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
