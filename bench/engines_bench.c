/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What engines cost. On the reader's side: a trace is delivered to 1 and to 10 engines of callbacks that want the same
 * calls, and to 10 that want different ones. In the tracee: a program of many calls is watched by 1 engine and by 10,
 * by turns. engines_bench TRACE [TIMES]: ns a record and ns a call, the least of some runs; and what each further
 * engine adds.
 */
#include <errno.h>
#include <espy/espy.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_event(void *ctx, const struct espy_event *e)
{
	uint64_t *calls = ctx;

	*calls += espy_event_number(e) >= 0;
}

/* The calls of a usual program, spread over engines. */
static const char *const parts[] = { "read",
				     "write",
				     "openat",
				     "close",
				     "fstat,newfstatat",
				     "mmap,munmap,mprotect,brk",
				     "execve,wait4,clone,vfork",
				     "rt_sigaction,rt_sigprocmask",
				     "lseek,ioctl,fcntl,access",
				     "lstat,stat,getdents64,readlink" };

/* ns a record; 0: it did not work. */
static double run(const char *path, unsigned engines, bool disjoint)
{
	static uint64_t calls[10];
	struct espy_session_stats st = { .size = sizeof(st) };
	struct espy_session_options so = { .size = sizeof(so), .engines_fixed = true };
	struct espy_engine_options eo = {
		.size = sizeof(eo), .events = ESPY_EVENT_CALL_END, .event = on_event, .no_values = true
	};
	struct espy_session *s;
	struct espy_trace *t;
	int err = espy_trace_open(&t, path, false, NULL, NULL);

	if (err)
		return 0;
	so.trace = t;
	err = espy_session_open(&s, &so);
	espy_trace_close(t);
	if (err)
		return 0;
	for (unsigned i = 0; i < engines && !err; i++) {
		struct espy_filter *f = NULL;

		if (disjoint) {
			err = espy_filter_new(&f);
			err = err ? err : espy_filter_select(f, parts[i], NULL, 0);
		}
		eo.filter = f;
		eo.ctx = &calls[i];
		err = err ? err : espy_engine_add(s, &eo, NULL);
		espy_filter_free(f);
	}
	const uint64_t begun = now_ns();
	err = err ? err : espy_session_run(s);
	const uint64_t took = now_ns() - begun;
	err = err ? err : espy_session_stats(s, &st);
	espy_session_close(s);
	return err || !st.records ? 0 : (double)took / (double)st.records;
}

/* ---- the tracee */

#define CALLS 300000

/* The tracee: its own CPU time of its calls goes to standard output. */
static int make_calls(void)
{
	const uint64_t begun = now_ns();

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	const double ns = (double)(now_ns() - begun) / CALLS;

	return write(STDOUT_FILENO, &ns, sizeof(ns)) != sizeof(ns);
}

static int to_pipe(void *ctx)
{
	return dup2(((int *)ctx)[1], STDOUT_FILENO) < 0;
}

/* ns a call of a program that so many engines watch; 0: it did not work. */
static double watch(unsigned engines)
{
	static uint64_t calls[10];
	char *const argv[] = { "engines_bench", "calls", NULL };
	struct espy_engine_options eo = {
		.size = sizeof(eo), .events = ESPY_EVENT_CALL_END, .event = on_event, .no_values = true
	};
	struct espy_session_options so = { .size = sizeof(so), .overrun = ESPY_OVERRUN_LOSE };
	int ends[2], err = pipe2(ends, O_CLOEXEC) ? -errno : 0;
	const struct espy_program program = { .size = sizeof(program),
					      .path = "/proc/self/exe",
					      .argv = argv,
					      .child_setup = to_pipe,
					      .child_ctx = ends };
	struct espy_session *s = NULL;
	double ns = 0;

	if (err)
		return 0;
	so.program = &program;
	err = espy_session_open(&s, &so);
	for (unsigned i = 0; i < engines && !err; i++) {
		eo.ctx = &calls[i];
		err = espy_engine_add(s, &eo, NULL);
	}
	err = err ? err : espy_session_run(s);
	espy_session_close(s);
	close(ends[1]);
	if (read(ends[0], &ns, sizeof(ns)) != sizeof(ns) || err)
		ns = 0;
	close(ends[0]);
	return ns;
}

/* False: no program can be watched here. */
static bool measure_tracee(unsigned times)
{
	double least[2] = { 0 };

	for (unsigned i = 0; i < times; i++)
		for (unsigned k = 0; k < 2; k++) {
			const double ns = watch(k ? 10 : 1);

			if (!ns)
				return false;
			least[k] = !least[k] || ns < least[k] ? ns : least[k];
		}
	printf("%-24s %7.1f ns a call\n%-24s %7.1f ns a call\n%-24s %7.1f ns a call\n", "tracee with 1 engine",
	       least[0], "tracee with 10 engines", least[1], "tracee, each further", (least[1] - least[0]) / 9);
	return true;
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		unsigned engines;
		bool disjoint;
	} kinds[] = { { "1 engine", 1, false }, { "10 engines", 10, false }, { "10 disjoint", 10, true } };
	const unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
	double least[3] = { 0 };

	if (argc == 2 && !strcmp(argv[1], "calls"))
		return make_calls();
	if (argc < 2) {
		fprintf(stderr, "usage: engines_bench TRACE [TIMES]\n");
		return 2;
	}
	for (unsigned i = 0; i < times; i++)
		for (unsigned k = 0; k < 3; k++) {
			const double ns = run(argv[1], kinds[k].engines, kinds[k].disjoint);

			if (!ns) {
				fprintf(stderr, "%s cannot be shown\n", argv[1]);
				return 1;
			}
			least[k] = !least[k] || ns < least[k] ? ns : least[k];
		}
	for (unsigned k = 0; k < 3; k++)
		printf("%-12s %7.1f ns a record\n", kinds[k].name, least[k]);
	printf("%-12s %7.1f ns a record\n", "each further", (least[1] - least[0]) / 9);
	if (!measure_tracee(times))
		fprintf(stderr, "no program can be watched here\n");
	return 0;
}
