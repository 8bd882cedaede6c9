/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Engines come, change and go while a session runs, from the thread that runs it, from others and from callbacks, and other engines miss
 * nothing by it; a mask holds within a millisecond; a host program goes on as if there were no session. By source bpf, where it
 * works, else ptrace; ESPY_SOURCE names one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <espy/espy.h>
#include "../wait.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of getppid: fewer where each call costs two stops, and four times as many with ROUNDS. */
static unsigned calls(void)
{
	const char *source = getenv("ESPY_SOURCE");

	return (source && !strcmp(source, "ptrace") ? 1000u : 100000u) * (getenv("ROUNDS") ? 4 : 1);
}

static void log_line(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)ctx;
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		print_message("%s\n", text);
}

/* ---- the program that is watched: this one */

/* Of a program whose test says when it has made enough calls ($SHARED_FD). */
struct shared {
	atomic_uint made;
	atomic_bool enough;
};

static struct shared *map_shared(int fd)
{
	struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return s == MAP_FAILED ? NULL : s;
}

/* getppid so often, or more often if the test wants that, then getuid once; "wait": for ever, a getpgrp now and then. It ends with its test. */
static int be_watched(char **argv)
{
	const char *fd = getenv("SHARED_FD");
	struct shared *shared = fd ? map_shared(atoi(fd)) : NULL;
	pid_t parent = 0;

	if (!strcmp(argv[1], "wait"))
		for (parent = getppid(); getppid() == parent;) {
			syscall(SYS_getpgrp);
			usleep(100); /* sleeps: a beat */
		}
	for (unsigned i = 0, n = calls(); i < n || (shared && !atomic_load(&shared->enough)); i++) {
		const pid_t now = (pid_t)syscall(SYS_getppid);

		if (i && now != parent)
			_exit(4);
		parent = now;
		if (shared)
			atomic_fetch_add(&shared->made, 1);
	}
	syscall(SYS_getuid);
	_exit(3); /* no leak check of a sanitizer, which would be traced */
}

static char self[4096];

static struct espy_session *open_session(const char *how, bool engines_fixed)
{
	char *const argv[] = { self, (char *)how, NULL };
	const struct espy_program program = { .size = sizeof(program), .path = self, .argv = argv };
	const struct espy_session_options so = { .size = sizeof(so), .program = &program, .source = getenv("ESPY_SOURCE"), .log = log_line,
						 .engines_fixed = engines_fixed, .overrun = ESPY_OVERRUN_AUTO,
						 .ring_bytes = 16u << 20 };
	struct espy_session *s;

	assert_int_equal(espy_session_open(&s, &so), 0);
	return s;
}

static struct espy_filter *select_calls(const char *expression)
{
	struct espy_filter *f;
	char why[128];

	assert_int_equal(espy_filter_new(&f), 0);
	assert_int_equal(espy_filter_select(f, expression, why, sizeof(why)), 0);
	return f;
}

struct seen {
	struct espy_session *session;
	struct espy_engine *engine;
	atomic_uint calls, removed;
	atomic_int process;
	_Atomic uint64_t last_ns; /* when the last callback ran */
	atomic_bool inside;
	unsigned remove_after, close_after;
	int64_t lost;
};

static void on_event(void *ctx, const struct espy_event *e)
{
	struct seen *seen = ctx;

	atomic_store(&seen->inside, true);
	if (espy_event_type(e) == ESPY_EVENT_LOSS) {
		uint64_t count = 0;

		assert_int_equal(espy_event_loss(e, &count, NULL), 0);
		seen->lost += (int64_t)count;
	} else {
		atomic_store(&seen->process, espy_event_process(e));
		atomic_fetch_add(&seen->calls, 1);
		atomic_store(&seen->last_ns, now_ns());
	}
	if (seen->remove_after && atomic_load(&seen->calls) == seen->remove_after) {
		assert_int_equal(espy_engine_remove(seen->engine), 0);
		assert_int_equal(espy_engine_remove(seen->engine), -EALREADY);
	}
	if (seen->close_after && atomic_load(&seen->calls) == seen->close_after) {
		assert_int_equal(espy_session_run(seen->session), -EBUSY);
		assert_int_equal(espy_session_dispatch(seen->session, 0), -EBUSY);
		espy_session_close(seen->session);
	}
	atomic_store(&seen->inside, false);
}

static void on_removed(void *ctx)
{
	struct seen *seen = ctx;

	atomic_fetch_add(&seen->removed, 1);
}

/* 0, or -ESRCH: the session is over. */
static int try_add(struct espy_session *s, struct seen *seen, const char *expression)
{
	struct espy_filter *f = select_calls(expression);
	const struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_CALL_END | ESPY_EVENT_LOSS, .filter = f,
						.event = on_event, .ctx = seen, .no_values = true, .removed = on_removed };

	seen->session = s;
	const int err = espy_engine_add(s, &eo, &seen->engine);
	espy_filter_free(f);
	return err;
}

static struct espy_engine *add(struct espy_session *s, struct seen *seen, const char *expression)
{
	assert_int_equal(try_add(s, seen, expression), 0);
	return seen->engine;
}

/* ---- tests */

struct changer {
	struct espy_session *session;
	struct shared *shared;
	struct seen others[3];
	unsigned rounds;
	bool failed;
};

static void *change_all_the_time(void *ctx)
{
	struct changer *c = ctx;
	struct espy_filter *f = select_calls("getuid,write");
	const uint64_t end = wait_now_ms() + WAIT_LIMIT_MS;
	unsigned cnt = 3;

	for (; cnt == 3 && !c->failed; c->rounds++) {
		for (cnt = 0; cnt < 3 && !try_add(c->session, &c->others[cnt], cnt ? "read,close" : "getppid"); cnt++)
			;
		if (cnt > 1)
			espy_engine_set_filter(c->others[1].engine, f);
		if (cnt > 2)
			espy_engine_set_events(c->others[2].engine, ESPY_EVENT_EXIT);
		for (unsigned k = 0; k < cnt; k++) {
			espy_engine_remove(c->others[k].engine);
			/* From now on no callback of it runs, and none will. */
			c->failed |= atomic_load(&c->others[k].inside) || atomic_load(&c->others[k].removed) != c->rounds + 1;
		}
		/* The program goes on until there was something to change, and this thread has come to it. */
		if ((c->rounds > 3 && atomic_load(&c->others[0].calls)) || wait_now_ms() > end)
			atomic_store(&c->shared->enough, true);
	}
	atomic_store(&c->shared->enough, true);
	espy_filter_free(f);
	return NULL;
}

/* Another thread adds, changes and removes engines; the one that was there sees each call once. */
static void changes_lose_nothing(void **state)
{
	const int fd = memfd_create("shared", 0);
	struct seen seen = { .calls = 0 }, last = { .calls = 0 };
	struct changer changer = { .session = NULL };
	char number[16];
	pthread_t thread;
	int status;

	(void)state;
	assert_int_equal(ftruncate(fd, sizeof(struct shared)), 0);
	changer.shared = map_shared(fd);
	assert_non_null(changer.shared);
	snprintf(number, sizeof(number), "%d", fd);
	setenv("SHARED_FD", number, 1);
	struct espy_session *s = open_session("calls", false);
	changer.session = s;
	add(s, &seen, "getppid");
	add(s, &last, "getuid");
	assert_int_equal(espy_session_start(s), 0);
	unsetenv("SHARED_FD");
	assert_int_equal(pthread_create(&thread, NULL, change_all_the_time, &changer), 0);
	assert_int_equal(espy_session_run(s), 0);
	pthread_join(thread, NULL);
	assert_false(changer.failed);
	print_message("%u rounds of changes, the first of three engines saw %u calls\n", changer.rounds, changer.others[0].calls);
	assert_true(changer.rounds > 3);
	const unsigned made = atomic_load(&changer.shared->made);
	assert_true(made >= calls());
	assert_true(changer.others[0].calls > 0 && changer.others[0].calls <= made);
	assert_int_equal(espy_session_program_status(s, &status), 0);
	assert_int_equal(status, 3 << 8);
	espy_session_close(s);
	munmap(changer.shared, sizeof(struct shared));
	close(fd);
	assert_int_equal(seen.calls + seen.lost, made);
	assert_int_equal(last.calls, 1);
	assert_int_equal(seen.removed, 1);
}

static void *run(void *ctx)
{
	espy_session_run(ctx);
	return NULL;
}

static bool wait_for_calls(const struct seen *seen, unsigned more)
{
	const unsigned from = atomic_load(&seen->calls);

	return WAIT_UNTIL(atomic_load(&seen->calls) >= from + more);
}

/*
 * A mask that is changed by another thread: what the call asks for holds when it returns, which takes a millisecond. Median of
 * some, since the machine has other things to do.
 */
static void masks_hold_at_once(void **state)
{
	enum { TIMES = 21 };
	struct espy_session *s = open_session("wait", false);
	struct espy_filter *none = select_calls("reboot"), *wanted = select_calls("getpgrp");
	struct seen seen = { .calls = 0 }, other = { .calls = 0 };
	struct espy_engine *e = add(s, &seen, "getpgrp");
	uint64_t took[TIMES];
	pthread_t thread;

	(void)state;
	add(s, &other, "getpgrp");
	assert_int_equal(pthread_create(&thread, NULL, run, s), 0);
	assert_true(wait_for_calls(&seen, 10));
	assert_int_equal(espy_session_dispatch(s, 0), -EBUSY);
	for (unsigned i = 0; i < TIMES; i++) {
		const uint64_t begun = now_ns();

		assert_int_equal(espy_engine_set_filter(e, i % 2 ? wanted : none), 0);
		const uint64_t changed = now_ns();

		took[i] = changed - begun;
		assert_true(wait_for_calls(i % 2 ? &seen : &other, 3));
		if (i % 2 == 0)
			assert_true(atomic_load(&seen.last_ns) <= changed);
	}
	for (unsigned i = 1; i < TIMES; i++)
		for (unsigned k = i; k && took[k - 1] > took[k]; k--) {
			const uint64_t t = took[k];

			took[k] = took[k - 1];
			took[k - 1] = t;
		}
	print_message("a mask holds after %.3f ms (median), %.3f ms (longest)\n", (double)took[TIMES / 2] / 1e6, (double)took[TIMES - 1] / 1e6);
	espy_filter_free(none);
	espy_filter_free(wanted);
	kill(atomic_load(&seen.process), SIGKILL);
	pthread_join(thread, NULL);
	espy_session_close(s);
}

/* A callback removes its own engine, and the session goes on; a callback closes the session. */
static void callbacks_that_end_things(void **state)
{
	struct espy_session *s = open_session("calls", false);
	struct seen first = { .remove_after = 5 }, second = { .calls = 0 }, third = { .close_after = 7 };

	(void)state;
	add(s, &first, "getppid");
	add(s, &second, "getppid");
	assert_int_equal(espy_session_run(s), 0);
	espy_session_close(s);
	assert_int_equal(first.calls, 5);
	assert_int_equal(first.removed, 1);
	assert_int_equal(second.calls + second.lost, calls());

	s = open_session("calls", false);
	add(s, &third, "getppid");
	assert_int_equal(espy_session_run(s), -ECANCELED);
	assert_int_equal(third.calls, 7);
	assert_int_equal(third.removed, 1);
}

/* A loop of the host's own: poll the descriptor, dispatch. */
static void a_loop_of_the_hosts(void **state)
{
	struct espy_session *s = open_session("calls", false);
	struct seen seen = { .calls = 0 };
	struct pollfd p = { .events = POLLIN };
	int n;

	(void)state;
	add(s, &seen, "getppid");
	assert_int_equal(espy_session_start(s), 0);
	p.fd = espy_session_fd(s);
	assert_true(p.fd >= 0);
	assert_int_equal(espy_session_fd(s), p.fd);
	do {
		assert_true(poll(&p, 1, 60000) == 1);
		n = espy_session_dispatch(s, 0);
	} while (n >= 0 || n == -EINTR);
	assert_int_equal(n, -ESRCH);
	assert_int_equal(espy_session_finish(s), 0);
	espy_session_close(s);
	assert_int_equal(seen.calls + seen.lost, calls());
}

/* Another thread stops the session, when it is seen to run. */
static void *stop_soon(void *ctx)
{
	const struct seen *seen = ctx;

	wait_for_calls(seen, 3);
	espy_session_stop(seen->session);
	return NULL;
}

static void stopped_from_another_thread(void **state)
{
	struct espy_session *s = open_session("wait", false);
	struct seen seen = { .calls = 0 };
	pid_t pid;
	pthread_t thread;

	(void)state;
	add(s, &seen, "getpgrp");
	assert_int_equal(espy_session_start(s), 0);
	pid = espy_session_program(s);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, &seen), 0);
	assert_int_equal(espy_session_run(s), 0);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&seen.calls) >= 3);
	espy_session_close(s);
	assert_int_equal(kill(pid, SIGKILL), 0); /* it was let go of, and lives */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(int argc, char **argv)
{
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_lose_nothing),
		cmocka_unit_test(masks_hold_at_once),
		cmocka_unit_test(callbacks_that_end_things),
		cmocka_unit_test(a_loop_of_the_hosts),
		cmocka_unit_test(stopped_from_another_thread),
	};

	self[len > 0 ? len : 0] = 0;
	return argc > 1 ? be_watched(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
