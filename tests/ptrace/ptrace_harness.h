/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the tests of the ptrace source share: a trace that remembers its records, subjects to trace, looks at /proc. */
#ifndef ESPY_TEST_PTRACE_PTRACE_HARNESS_H
#define ESPY_TEST_PTRACE_PTRACE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "source/source.h"
#include "tests/wait.h"
#include "ptrace_subjects.h"

/* One record, shortened to what the tests look at. */
struct seen {
	uint8_t type, abi;
	uint16_t flags, nr;
	uint32_t tid, tgid, a, b; /* FORK: child tid, tgid; EXEC: old tid; TASK_EXIT: status, group_dead */
	int64_t ret;
	uint64_t arg0, arg1;
	uint64_t time_ns;
};

struct trace {
	struct espy_source *s;
	const struct espy_source_ops *ops;
	struct seen *rec;
	size_t cnt, cap;
	pid_t command;
	struct truth *truth;
	int truth_fd;
	char report[512];
	pid_t let_go_of; /* asked of the receiver: at the first record of this call number */
	int let_go_nr;
	bool let_go_at_fork;
};

/* Fixture of each test: *state is a struct trace. */
int harness_setup(void **state);
int harness_teardown(void **state);
struct espy_source_opts harness_usual(struct trace *t);
/* Open the source and start a subject under it. set: of all ABIs, or NULL. */
void harness_start(struct trace *t, const struct espy_source_opts *o, const struct espy_call_set *set, const char *name,
		   int n);
/* A subject that is not traced, when it is ready. */
pid_t harness_launch(struct trace *t, const char *name, int n);
int harness_on_record(void *trace, const struct espy_rec *r);
void harness_poll_for(struct trace *t, int ms);
/* Until there are cnt records of that type and number; fails after a minute. */
void harness_poll_until(struct trace *t, int type, int nr, size_t cnt);
/* Until all have gone; fails after a minute. */
void harness_poll_to_end(struct trace *t);
/* Records of a type; of a call number (or signal) if nr >= 0, of a task if tid. */
size_t harness_count(const struct trace *t, int type, int nr, uint32_t tid);
/* What holds of any stream: born before all else, dead after it, calls well nested, nothing left open. */
void harness_check_stream(const struct trace *t);
int harness_status_of_command(struct trace *t);
char harness_state_of(pid_t pid);
bool harness_is_traced(pid_t pid);
/* The task sleeps in this call, and stands in no stop. */
bool harness_sleeps_in(pid_t tid, int nr);
/* Runs the tests, or a subject if the arguments say so; as root a second time without privilege. */
int harness_main(int argc, char **argv, const struct CMUnitTest *tests, size_t test_cnt);

#endif
