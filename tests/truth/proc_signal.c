/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Signals: actions, sets, what a signal carries. */
#include "truth.h"
#include <signal.h>

#define NOBODY 99999999L /* above the largest pid */

/* si_signo, si_errno, si_code, then four words */
static void *info(int signo, int code, int err, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	struct {
		int signo, err, code, pad;
		uint64_t v[14];
	} s = { signo, err, code, 0, { a, b, c, d } };

	return tail_copy(&s, sizeof(s));
}

static void queue(int sig, int code, int err, uint64_t a, uint64_t b, uint64_t c, uint64_t d, const char *want)
{
	void *i = info(sig, code, err, a, b, c, d);
	long ret = call(SYS_rt_sigqueueinfo, NOBODY, JUNK(SIGUSR1), i);

	line(ret, "rt_sigqueueinfo(%ld, SIGUSR1, %s)", NOBODY, want);
}

static void infos(void)
{
	static const uint64_t A = 0x0000002a0000000b, B = 0x1234567800000009, C = 0x77, D = 0x88;

	queue(SIGUSR1, SI_USER, 2, A, B, C, D, "{si_signo=SIGUSR1, si_code=SI_USER, si_errno=ENOENT, si_pid=11, si_uid=42}");
	queue(SIGUSR1, SI_TKILL, 0, A, B, C, D, "{si_signo=SIGUSR1, si_code=SI_TKILL, si_pid=11, si_uid=42}");
	queue(SIGUSR1, SI_QUEUE, 0, A, B, C, D, "{si_signo=SIGUSR1, si_code=SI_QUEUE, si_pid=11, si_uid=42, si_int=9, si_ptr=0x1234567800000009}");
	queue(SIGUSR1, SI_QUEUE, 0, A, 0, C, D, "{si_signo=SIGUSR1, si_code=SI_QUEUE, si_pid=11, si_uid=42}");
	queue(SIGALRM, SI_TIMER, 0, A, 0, C, D, "{si_signo=SIGALRM, si_code=SI_TIMER, si_timerid=0xb, si_overrun=42, si_int=0, si_ptr=NULL}");
	queue(SIGUSR1, SI_SIGIO, 0, A, B, C, D, "{si_signo=SIGUSR1, si_code=SI_SIGIO, si_band=180388626443, si_fd=9}");
	queue(SIGCHLD, CLD_EXITED, 0, A, B, C, D,
	      "{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=11, si_uid=42, si_status=9, si_utime=119 /* 1.19 s */, si_stime=136 /* 1.36 s */}");
	queue(SIGCHLD, CLD_DUMPED, 0, A, B, 0, 0,
	      "{si_signo=SIGCHLD, si_code=CLD_DUMPED, si_pid=11, si_uid=42, si_status=SIGKILL, si_utime=0, si_stime=0}");
	queue(SIGSEGV, SEGV_MAPERR, 0, 0, B, C, D, "{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}");
	queue(SIGSEGV, 3, 0, A, B, C, D, "{si_signo=SIGSEGV, si_code=SEGV_BNDERR, si_addr=0x2a0000000b, si_lower=0x77, si_upper=0x88}");
	queue(SIGSEGV, 4, 0, A, B, C, D, "{si_signo=SIGSEGV, si_code=SEGV_PKUERR, si_addr=0x2a0000000b, si_pkey=119}");
	queue(SIGSEGV, 99, 0, A, B, C, D, "{si_signo=SIGSEGV, si_code=0x63, si_addr=0x2a0000000b}");
	queue(SIGBUS, BUS_ADRALN, 0, A, B, C, D, "{si_signo=SIGBUS, si_code=BUS_ADRALN, si_addr=0x2a0000000b}");
	queue(SIGBUS, BUS_MCEERR_AO, 0, A, B, C, D, "{si_signo=SIGBUS, si_code=BUS_MCEERR_AO, si_addr=0x2a0000000b, si_addr_lsb=0x9}");
	queue(SIGFPE, FPE_INTDIV, 0, A, B, C, D, "{si_signo=SIGFPE, si_code=FPE_INTDIV, si_addr=0x2a0000000b}");
	queue(SIGTRAP, SI_KERNEL, 0, A, B, C, D, "{si_signo=SIGTRAP, si_code=SI_KERNEL, si_addr=0x2a0000000b}");
	queue(SIGIO, POLL_IN, 0, 65, 3, C, D, "{si_signo=SIGIO, si_code=POLL_IN, si_band=65, si_fd=3}");
	queue(SIGIO, 9, 0, 65, 3, C, D, "{si_signo=SIGIO, si_code=0x9}");
	queue(SIGSYS, 1, 0, A, 0xc000003e00000000 | SYS_getppid, C, D,
	      "{si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x2a0000000b, si_syscall=__NR_getppid, si_arch=AUDIT_ARCH_X86_64}");
	queue(SIGUSR1, 1, 0, 0, 0, C, D, "{si_signo=SIGUSR1, si_code=0x1}");
	queue(77, 1, 999, 1, 1, C, D, "{si_signo=77, si_code=0x1, si_errno=999, si_pid=1, si_uid=0, si_int=1, si_ptr=0x1}");
	queue(0, 0, 0, 0, 0, 0, 0, "{}");
	void *cut = tail_alloc(100);
	line(call(SYS_rt_sigqueueinfo, NOBODY, (long)SIGUSR1, cut), "rt_sigqueueinfo(%ld, SIGUSR1, %s)", NOBODY, ptr(cut));
	line(call(SYS_rt_tgsigqueueinfo, NOBODY, JUNK(-1), JUNK(64), NULL), "rt_tgsigqueueinfo(%ld, -1, SIGRT_32, NULL)", NOBODY);
}

static void masks(void)
{
	uint64_t hup_usr1 = 1 | 1 << 9, all = ~0ul, most = 0x3fffffffffful;
	void *set = tail_copy(&hup_usr1, 8), *old = tail_alloc(8);

	line(call(SYS_rt_sigprocmask, JUNK(SIG_BLOCK), set, old, 8L), "rt_sigprocmask(SIG_BLOCK, [HUP USR1], [], 8)");
	line(call(SYS_rt_sigprocmask, JUNK(SIG_UNBLOCK), NULL, old, 8L), "rt_sigprocmask(SIG_UNBLOCK, NULL, [HUP USR1], 8)");
	line(call(SYS_rt_sigprocmask, JUNK(9), tail_copy(&all, 8), old, 8L), "rt_sigprocmask(0x9 /* SIG_??? */, ~[], %s, 8)", ptr(old));
	line(call(SYS_rt_sigprocmask, 9L, tail_copy(&most, 8), NULL, 8L),
	     "rt_sigprocmask(0x9 /* SIG_??? */, ~[RT_11 RT_12 RT_13 RT_14 RT_15 RT_16 RT_17 RT_18 RT_19 RT_20 RT_21 RT_22 RT_23 RT_24 RT_25 RT_26 RT_27 RT_28 RT_29 RT_30 RT_31 RT_32], NULL, 8)");
	line(call(SYS_rt_sigprocmask, (long)SIG_SETMASK, set, old, 4L), "rt_sigprocmask(SIG_SETMASK, %s, %s, 4)", ptr(set), ptr(old));
	line(call(SYS_rt_sigprocmask, (long)SIG_SETMASK, 1L, 1L, 8L), "rt_sigprocmask(SIG_SETMASK, 0x1, 0x1, 8)");
	line(call(SYS_rt_sigpending, old, 8L), "rt_sigpending([], 8)");
	line(call(SYS_rt_sigpending, old, 9L), "rt_sigpending(%s, 9)", ptr(old));
	line(call(SYS_rt_sigsuspend, set, 4L), "rt_sigsuspend(%s, 4)", ptr(set));

	static const struct timespec SHORT = { 0, 1000 };
	void *i = tail_alloc(128), *ts = tail_copy(&SHORT, sizeof(SHORT));
	line(call(SYS_rt_sigtimedwait, set, i, ts, 8L), "rt_sigtimedwait([HUP USR1], %s, {tv_sec=0, tv_nsec=1000}, 8)", ptr(i));
	line(call(SYS_kill, getpid(), JUNK(SIGUSR1)), "kill(%d, SIGUSR1)", getpid());
	text("rt_sigtimedwait([HUP USR1], {si_signo=SIGUSR1, si_code=SI_USER, si_pid=%d, si_uid=%u}, NULL, 8) = %ld (SIGUSR1)", getpid(),
	     getuid(), call(SYS_rt_sigtimedwait, set, i, NULL, 8L));

	struct {
		unsigned long handler, flags, restorer, mask;
	} act = { 1, 0x14000000, 0x1234, 1 << 11 };
	void *a = tail_copy(&act, sizeof(act)), *o = tail_alloc(sizeof(act));
	line(call(SYS_rt_sigaction, JUNK(SIGUSR2), a, o, 8L),
	     "rt_sigaction(SIGUSR2, {sa_handler=SIG_IGN, sa_mask=[USR2], sa_flags=SA_RESTORER|SA_RESTART, sa_restorer=0x1234}, {sa_handler=SIG_DFL, sa_mask=[], sa_flags=0}, 8)");
	line(call(SYS_rt_sigaction, JUNK(77), NULL, o, 8L), "rt_sigaction(77, NULL, %s, 8)", ptr(o));
	line(call(SYS_rt_sigaction, (long)SIGUSR2, a, o, 4L), "rt_sigaction(SIGUSR2, %s, %s, 4)", ptr(a), ptr(o));

	line(call(SYS_kill, NOBODY, JUNK(0)), "kill(%ld, 0)", NOBODY);
	line(call(SYS_kill, NOBODY, JUNK(32)), "kill(%ld, SIGRTMIN)", NOBODY);
	line(call(SYS_kill, NOBODY, JUNK(34)), "kill(%ld, SIGRT_2)", NOBODY);
	line(call(SYS_tkill, NOBODY, JUNK(65)), "tkill(%ld, 65)", NOBODY);
	line(call(SYS_tgkill, NOBODY, JUNK(-1), JUNK(9)), "tgkill(%ld, -1, SIGKILL)", NOBODY);

	stack_t st = { (void *)0x1000, (int)0x80000001, 8192 };
	line(call(SYS_sigaltstack, tail_copy(&st, sizeof(st)), tail_alloc(sizeof(st))),
	     "sigaltstack({ss_sp=0x1000, ss_flags=SS_ONSTACK|SS_AUTODISARM, ss_size=8192}, {ss_sp=NULL, ss_flags=SS_DISABLE, ss_size=0})");
	st.ss_flags = 0xffff;
	line(call(SYS_sigaltstack, tail_copy(&st, sizeof(st)), NULL),
	     "sigaltstack({ss_sp=0x1000, ss_flags=SS_ONSTACK|SS_DISABLE|0xfffc, ss_size=8192}, NULL)");
	line(call(SYS_signalfd4, JUNK(99), set, 8L, JUNK(0x800)), "signalfd4(99, [HUP USR1], 8, SFD_NONBLOCK)");
	line(call(SYS_signalfd4, JUNK(-1), set, 4L, JUNK(0x80000)), "signalfd4(-1, %s, 4, SFD_CLOEXEC)", ptr(set));
}

static void on_signal(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	infos();
	masks();
	/* of no signal nothing is shown */
	line(call(SYS_rt_sigqueueinfo, 0x7ffffff0L, 0L, tail_copy((const int[32]){ 0, EIO, -1 }, 128)),
	     "rt_sigqueueinfo(2147483632, 0, {})");

	/* The mask that the handler's frame restores. */
	signal(SIGUSR1, on_signal);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	text("--- SIGUSR1 {si_signo=SIGUSR1, si_code=SI_TKILL, si_pid=%d, si_uid=%u} ---", getpid(), getuid());
	text("rt_sigreturn({mask=[]}) = 0");
	raise(SIGUSR1);
	return 0;
}
