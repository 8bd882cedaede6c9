/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who a process is, what it may use, and how its children end. */
#include "truth.h"
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void ids(void)
{
	long pid = getpid();

	line(call(SYS_getpid), "getpid()");
	line(call(SYS_getppid), "getppid()");
	line(call(SYS_gettid), "gettid()");
	line(call(SYS_getpgid, JUNK(0)), "getpgid(0)");
	line(call(SYS_getpgid, JUNK(-1)), "getpgid(-1)");
	line(call(SYS_getsid, pid), "getsid(%ld)", pid);
	line(call(SYS_setpgid, JUNK(-1), JUNK(3)), "setpgid(-1, 3)");
	line(call(SYS_getuid), "getuid()");
	line(call(SYS_setreuid, JUNK(-1), JUNK(-1)), "setreuid(-1, -1)");
	line(call(SYS_setresgid, -1L, JUNK(-1), -1L), "setresgid(-1, -1, -1)");

	uint32_t *u = tail_alloc(4), *e = tail_alloc(4), *s = tail_alloc(4);
	long ret = call(SYS_getresuid, u, e, s);
	line(ret, "getresuid([%u], [%u], [%u])", *u, *e, *s);
	line(call(SYS_getresgid, u, 1L, s), "getresgid(%s, 0x1, %s)", ptr(u), ptr(s));
	line(call(SYS_getgroups, JUNK(0), NULL), "getgroups(0, NULL)");
	line(call(SYS_getgroups, JUNK(0), 1L), "getgroups(0, [])");
	line(call(SYS_getgroups, JUNK(-1), 1L), "getgroups(-1, 0x1)");
}

static void limits(void)
{
	struct rlimit *r = tail_alloc(sizeof(*r));
	static const struct rlimit ROUND = { 8192 * 1024, RLIM_INFINITY }, ODD = { 1025, 1024 };

	line(call(SYS_setrlimit, JUNK(99), tail_copy(&ROUND, sizeof(ROUND))),
	     "setrlimit(0x63 /* RLIMIT_??? */, {rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY})");
	line(call(SYS_prlimit64, 0L, JUNK(RLIMIT_CORE), tail_copy(&ODD, sizeof(ODD)), NULL),
	     "prlimit64(0, RLIMIT_CORE, {rlim_cur=1025, rlim_max=1024}, NULL)");
	line(call(SYS_prlimit64, JUNK(0), (long)RLIMIT_NOFILE, NULL, 1L), "prlimit64(0, RLIMIT_NOFILE, NULL, 0x1)");
	line(call(SYS_getrlimit, 99L, r), "getrlimit(0x63 /* RLIMIT_??? */, %s)", ptr(r));
	line(call(SYS_getrusage, JUNK(99), r), "getrusage(0x63 /* RUSAGE_??? */, %s)", ptr(r));
	line(call(SYS_getpriority, JUNK(PRIO_PROCESS), JUNK(0)), "getpriority(PRIO_PROCESS, 0)");
	line(call(SYS_setpriority, JUNK(9), 1L, JUNK(-5)), "setpriority(0x9 /* PRIO_??? */, 1, -5)");
}

static int child(int (*f)(void))
{
	int pid = fork();

	if (!pid)
		_exit(f());
	return pid;
}

static int ends(void)
{
	return 3;
}

static int killed(void)
{
	return raise(SIGKILL);
}

static int stops(void)
{
	return raise(SIGSTOP) ? 1 : 0;
}

static void children(void)
{
	int *st = tail_alloc(4);
	void *ru = tail_alloc(sizeof(struct rusage)), *si = tail_alloc(128);
	int pid = child(ends);

	line(call(SYS_wait4, JUNK(pid), st, JUNK(0), NULL), "wait4(%d, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], 0, NULL)", pid);
	pid = child(killed);
	line(call(SYS_wait4, JUNK(-1), st, JUNK(__WALL), NULL),
	     "wait4(-1, [{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL}], __WALL, NULL)");
	pid = child(stops);
	line(call(SYS_wait4, JUNK(pid), st, (long)WUNTRACED, NULL),
	     "wait4(%d, [{WIFSTOPPED(s) && WSTOPSIG(s) == SIGSTOP}], WSTOPPED, NULL)", pid);
	/* Nothing new: the result is 0 and nothing is written. */
	line(call(SYS_wait4, (long)pid, st, (long)(WNOHANG | WUNTRACED), ru), "wait4(%d, %s, WNOHANG|WSTOPPED, %s)", pid, ptr(st), ptr(ru));
	line(call(SYS_kill, JUNK(pid), JUNK(SIGCONT)), "kill(%d, SIGCONT)", pid);
	line(call(SYS_wait4, (long)pid, st, 0L, NULL), "wait4(%d, [{WIFEXITED(s) && WEXITSTATUS(s) == 0}], 0, NULL)", pid);
	line(call(SYS_wait4, JUNK(-1), st, 0x1000L, ru), "wait4(-1, %s, 0x1000 /* W??? */, %s)", ptr(st), ptr(ru));

	pid = child(killed);
	line(call(SYS_waitid, JUNK(P_PID), (long)pid, si, JUNK(WEXITED), NULL),
	     "waitid(P_PID, %d, {si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=%d, si_uid=%u, si_status=SIGKILL, si_utime=0, si_stime=0}, WEXITED, NULL)",
	     pid, pid, getuid());
	line(call(SYS_waitid, JUNK(P_ALL), 0L, si, JUNK(WEXITED), ru), "waitid(P_ALL, 0, %s, WEXITED, %s)", ptr(si), ptr(ru));
	line(call(SYS_waitid, 9L, 99L, NULL, 0x10L, NULL), "waitid(0x9 /* P_??? */, 99, NULL, 0x10 /* W??? */, NULL)");
}

static void processes(void)
{
	line(call(SYS_clone, 0x10000L | SIGCHLD, 0x1000L, 0x2000L, 0x3000L, 0x4000L),
	     "clone(child_stack=0x1000, flags=CLONE_THREAD|SIGCHLD)");
	line(call(SYS_clone, 0x10000L | 0x1000000 | 0x80000 | 77, NULL, 0x2000L, 0x3000L, 0x4000L),
	     "clone(child_stack=NULL, flags=CLONE_THREAD|CLONE_SETTLS|CLONE_CHILD_SETTID|77, tls=0x4000, child_tidptr=0x3000)");
	static const uint64_t ARGS[11] = { 0x10000, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, 0 };
	line(call(SYS_clone3, tail_copy(ARGS, 64), 64L), "clone3({flags=CLONE_THREAD, exit_signal=SIGCHLD, stack=NULL, stack_size=0}, 64)");
	line(call(SYS_clone3, tail_copy(ARGS, 88), 88L), "clone3({flags=CLONE_THREAD, exit_signal=SIGCHLD, stack=NULL, stack_size=0}, 88)");
	/* what the size leaves out of a field is zeros; without a size, or with too large a one, the kernel reads no
	 * list */
	static const uint64_t CUT[11] = { 0x10000, 0, 0, 0, SIGCHLD, 0, 0, 0, 0x88, 33, 3 };
	line(call(SYS_clone3, tail_copy(CUT, 65), 65L),
	     "clone3({flags=CLONE_THREAD, exit_signal=SIGCHLD, stack=NULL, stack_size=0, set_tid=0x88, set_tid_size=0}, 65)");
	line(call(SYS_clone3, tail_copy(CUT, 81), 81L), "clone3({flags=CLONE_THREAD, exit_signal=SIGCHLD, stack=NULL, "
							"stack_size=0, set_tid=0x88, set_tid_size=33, "
							"cgroup=3}, 81)");
	line(call(SYS_unshare, 1L), "unshare(0x1 /* CLONE_??? */)");
	line(call(SYS_setns, JUNK(-1), JUNK(0x20000)), "setns(-1, CLONE_NEWNS)");

	char *argv[] = { tail_str("a\n"), tail_str("b"), NULL }, *envp[] = { tail_str("A=1"), NULL };
	void *e = tail_copy(envp, sizeof(envp));
	line(call(SYS_execve, tail_str("/none/x"), tail_copy(argv, sizeof(argv)), e),
	     "execve(\"/none/x\", [\"a\\n\", \"b\"], %s /* 1 var */)", ptr(e));
	line(call(SYS_execveat, JUNK(-100), tail_str("/none"), tail_copy(argv + 2, sizeof(argv[0])), NULL, JUNK(0x11100)),
	     "execveat(AT_FDCWD, \"/none\", [], NULL, AT_SYMLINK_NOFOLLOW|AT_EMPTY_PATH|AT_EXECVE_CHECK)");
	line(call(SYS_execve, 1L, 1L, NULL), "execve(0x1, 0x1, NULL)");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	ids();
	limits();
	children();
	processes();
	return 0;
}
