/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* See ptrace_harness.h. The traced programs are the test program itself, run again (ptrace_subjects.c); shared memory
 * tells their side.
 */
#include "ptrace_harness.h"
#include "base/small_file.h"

#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

static void on_report(void *ctx, enum espy_report_level level, const char *text)
{
	struct trace *t = ctx;

	(void)level;
	snprintf(t->report, sizeof(t->report), "%s", text);
}

int harness_on_record(void *ctx, const struct espy_rec *r)
{
	struct trace *t = ctx;
	struct seen *s;

	if (t->cnt == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 1024;
		t->rec = realloc(t->rec, t->cap * sizeof(*t->rec));
	}
	s = &t->rec[t->cnt++];
	*s = (struct seen){ .type = r->type,
			    .abi = r->abi,
			    .flags = r->flags,
			    .nr = r->nr,
			    .tid = r->tid,
			    .tgid = r->tgid,
			    .time_ns = r->time_ns };
	switch (r->type) {
	case ESPY_REC_ENTER:
	case ESPY_REC_EXIT: {
		const uint64_t *args = (const void *)((const struct espy_rec_call *)r + 1);
		unsigned n = ESPY_REC_NARGS(r->flags);

		args += !!(r->flags & ESPY_RF_ENTER_NS) + !!(r->flags & ESPY_RF_IP);
		s->ret = ((const struct espy_rec_call *)r)->ret;
		s->arg0 = n > 0 ? args[0] : 0;
		s->arg1 = n > 1 ? args[1] : 0;
		break;
	}
	case ESPY_REC_FORK:
		s->a = ((const struct espy_rec_fork *)r)->child_tid;
		s->b = ((const struct espy_rec_fork *)r)->child_tgid;
		break;
	case ESPY_REC_EXEC:
		s->a = ((const struct espy_rec_exec *)r)->old_tid;
		break;
	case ESPY_REC_TASK_EXIT:
		s->a = ((const struct espy_rec_task_exit *)r)->status;
		s->b = ((const struct espy_rec_task_exit *)r)->group_dead;
		break;
	default:
		break;
	}
	if (r->type == ESPY_REC_STOPPED)
		t->truth->stops_told++;
	if (t->let_go_of && r->type == ESPY_REC_ENTER && r->nr == t->let_go_nr)
		t->ops->remove_target(t->s, t->let_go_of);
	if (t->let_go_at_fork && r->type == ESPY_REC_FORK && t->cnt > 100)
		t->ops->remove_target(t->s, 0);
	return 0;
}

int harness_setup(void **state)
{
	struct trace *t = calloc(1, sizeof(*t));

	t->truth_fd = memfd_create("truth", 0);
	if (ftruncate(t->truth_fd, sizeof(struct truth)))
		return -1;
	t->truth = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, MAP_SHARED, t->truth_fd, 0);
	t->ops = &espy_source_ptrace;
	*state = t;
	return t->truth == MAP_FAILED ? -1 : 0;
}

int harness_teardown(void **state)
{
	struct trace *t = *state;

	t->truth->quit = 1; /* what a failed test has left ends */
	if (t->s)
		t->ops->close(t->s);
	munmap(t->truth, sizeof(struct truth));
	close(t->truth_fd);
	free(t->rec);
	free(t);
	return 0;
}

struct espy_source_opts harness_usual(struct trace *t)
{
	return (struct espy_source_opts){ .report = on_report,
					  .report_ctx = t,
					  .follow = true };
}

static const char *subject_argv(struct trace *t, const char *name, int n, char *argv[6], char text[2][16])
{
	snprintf(text[0], 16, "%d", t->truth_fd);
	snprintf(text[1], 16, "%d", n);
	argv[0] = (char *)"subject";
	argv[1] = (char *)"--subject";
	argv[2] = (char *)name;
	argv[3] = text[0];
	argv[4] = text[1];
	argv[5] = NULL;
	return "/proc/self/exe";
}

void harness_start(struct trace *t, const struct espy_source_opts *o, const struct espy_call_set *set, const char *name,
		   int n)
{
	char *argv[6], text[2][16];
	struct espy_command cmd = { .path = subject_argv(t, name, n, argv, text), .argv = argv, .envp = environ };
	unsigned abi;

	assert_int_equal(t->ops->open(&t->s, o), 0);
	for (abi = 0; set && abi < ESPY_ABI_CNT; abi++)
		assert_int_equal(t->ops->set_calls(t->s, abi, set), 0);
	assert_int_equal(t->ops->start_command(t->s, &cmd, &t->command), 0);
}

/* The same program, not traced. */
pid_t harness_launch(struct trace *t, const char *name, int n)
{
	char *argv[6], text[2][16];
	const char *path = subject_argv(t, name, n, argv, text);
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(path, argv);
		_exit(126);
	}
	if (!WAIT_UNTIL(t->truth->ready))
		fail_msg("the subject %s does not begin", name);
	return pid;
}

void harness_poll_for(struct trace *t, int ms)
{
	uint64_t end = wait_now_ms() + (uint64_t)ms;

	while (wait_now_ms() < end)
		if (t->ops->poll(t->s, harness_on_record, t, 20) == -ESRCH)
			return;
}

/* Until all have gone; the invariants of any stream hold for what has come. */
void harness_poll_to_end(struct trace *t)
{
	uint64_t end = wait_now_ms() + WAIT_LIMIT_MS;

	for (;;) {
		int r = t->ops->poll(t->s, harness_on_record, t, 1000);

		if (r == -ESRCH)
			break;
		assert_true(r >= 0);
		if (wait_now_ms() >= end)
			fail_msg("not all tasks have gone within a minute; %zu records have come", t->cnt);
	}
}

size_t harness_count(const struct trace *t, int type, int nr, uint32_t tid)
{
	size_t i, n = 0;

	for (i = 0; i < t->cnt; i++)
		n += t->rec[i].type == type && (nr < 0 || t->rec[i].nr == nr) && (!tid || t->rec[i].tid == tid);
	return n;
}

void harness_poll_until(struct trace *t, int type, int nr, size_t cnt)
{
	uint64_t end = wait_now_ms() + WAIT_LIMIT_MS;

	while (harness_count(t, type, nr, 0) < cnt) {
		assert_true(t->ops->poll(t->s, harness_on_record, t, 20) != -ESRCH);
		if (wait_now_ms() >= end)
			fail_msg("%zu records of type %d, number %d within a minute, not %zu", harness_count(t, type, nr, 0), type, nr, cnt);
	}
}

/* Marks, by tid: born, in a call (its number + 1), dead. */
void harness_check_stream(const struct trace *t)
{
	static uint8_t born[1 << 22], dead[1 << 22];
	static uint16_t in_call[1 << 22];
	size_t i;

	/* Only what the records name: 16 MB in use would make each later fork of the test expensive. */
	for (i = 0; i < t->cnt; i++) {
		const struct seen *s = &t->rec[i];
		const uint32_t other = s->type == ESPY_REC_FORK || s->type == ESPY_REC_EXEC ? s->a : s->tid;

		born[s->tid] = born[other] = 0;
		dead[s->tid] = dead[other] = 0;
		in_call[s->tid] = in_call[other] = 0;
	}
	born[t->command] = 1;
	for (i = 0; i < t->cnt; i++) {
		const struct seen *s = &t->rec[i];

		/* A child whose parent died before it could be asked stands for its parent. */
		if (!born[s->tid] && !(s->type == ESPY_REC_FORK && s->a == s->tid))
			fail_msg("record %zu (type %u nr %u): task %u was not announced", i, s->type, s->nr, s->tid);
		if (dead[s->tid])
			fail_msg("record %zu (type %u nr %u): task %u is dead", i, s->type, s->nr, s->tid);
		switch (s->type) {
		case ESPY_REC_ENTER:
			if (in_call[s->tid])
				fail_msg("record %zu: task %u begins %u inside of %u", i, s->tid, s->nr,
					 in_call[s->tid] - 1);
			in_call[s->tid] = (uint16_t)(s->nr + 1);
			break;
		case ESPY_REC_EXIT:
			if (in_call[s->tid] != s->nr + 1)
				fail_msg("record %zu: task %u ends %u, was in %d", i, s->tid, s->nr,
					 in_call[s->tid] - 1);
			in_call[s->tid] = 0;
			break;
		case ESPY_REC_FORK:
			if (born[s->a] && !dead[s->a])
				fail_msg("record %zu: task %u was born twice", i, s->a);
			born[s->a] = 1;
			dead[s->a] = 0;
			in_call[s->a] = 0;
			break;
		case ESPY_REC_EXEC:
			if (s->a) {
				in_call[s->tid] = in_call[s->a];
				in_call[s->a] = 0;
				dead[s->a] = 1;
			}
			break;
		case ESPY_REC_TASK_EXIT:
			if (in_call[s->tid])
				fail_msg("record %zu: task %u died in call %d that was not ended", i, s->tid,
					 in_call[s->tid] - 1);
			dead[s->tid] = 1;
			break;
		default:
			break;
		}
	}
	for (i = 0; i < sizeof(born); i++)
		if (born[i] && !dead[i])
			fail_msg("the end of task %zu was not told", i);
}

int harness_status_of_command(struct trace *t)
{
	int status = -1;

	assert_int_equal(t->ops->command_status(t->s, &status), 0);
	return status;
}

char harness_state_of(pid_t pid)
{
	struct espy_proc_stat stat;

	return espy_read_proc_stat(pid, &stat) ? stat.state : 0;
}

bool harness_is_traced(pid_t pid)
{
	char path[40], line[300];
	long tracer = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TracerPid: %ld", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer > 0;
}

bool harness_sleeps_in(pid_t tid, int nr)
{
	char path[40];
	int in = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)tid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &in) != 1)
		in = -1;
	if (f)
		fclose(f);
	return in == nr && harness_state_of(tid) == 'S';
}

/* All of it again as a user without any privilege. */
static int unprivileged(const char *self)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(77);
		prctl(PR_SET_DUMPABLE, 1);
		execl("/proc/self/exe", self, "--unprivileged", (char *)NULL);
		_exit(77);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int harness_main(int argc, char **argv, const struct CMUnitTest *tests, size_t test_cnt)
{
	char why[300];
	int err, bad;

	if (argc == 5 && !strcmp(argv[1], "--subject")) {
		struct truth *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[3]), 0);

		return t == MAP_FAILED ? 98 : subject_run(argv[2], t, atoi(argv[4]), argv);
	}
	/* In a sanitized build the subjects are sanitized too, and the search for leaks does not work under ptrace. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	err = espy_source_ptrace.probe(why, sizeof(why));
	if (err) {
		printf("skipped: %s\n", why);
		return 77;
	}
	if (argc > 1 && strcmp(argv[1], "--unprivileged"))
		cmocka_set_test_filter(argv[1]);
	bad = _cmocka_run_group_tests("ptrace", tests, test_cnt, NULL, NULL);
	if (!bad && argc == 1 && !geteuid()) {
		printf("as a user without privilege:\n");
		fflush(stdout);
		bad = unprivileged(argv[0]);
		if (bad == 77) {
			printf("skipped the run without privilege: the program may not be run by that user\n");
			bad = 0;
		}
	}
	return bad;
}
