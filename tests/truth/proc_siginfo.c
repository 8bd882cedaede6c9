/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What signals carry, with -y: descriptors, numbers of calls, codes. */
#include "truth.h"
#include <linux/audit.h>
#include <signal.h>
#include <sys/stat.h>
#include <fcntl.h>

static void nothing(int sig)
{
	(void)sig;
}

/* Sends a signal with a code and two numbers behind si_addr. */
static void queue(int sig, int code, unsigned long addr, unsigned a, unsigned b)
{
	unsigned char info[128] = { 0 };

	memcpy(info, &sig, 4);
	memcpy(info + 8, &code, 4);
	memcpy(info + 16, &addr, 8);
	memcpy(info + 24, &a, 4);
	memcpy(info + 28, &b, 4);
	call(SYS_rt_sigqueueinfo, getpid(), sig, info);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = nothing };

	truth_begin(argc, argv, "-y -e trace=alarm");
	sigaction(SIGIO, &action, NULL);
	sigaction(SIGSYS, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	sigaction(SIGILL, &action, NULL);

	text("--- SIGIO {si_signo=SIGIO, si_code=POLL_IN, si_band=7, si_fd=%d</dev/null>} ---", 0);
	dup2(open("/dev/null", O_RDONLY), 0);
	queue(SIGIO, 1, 7, 0, 0);
	text("--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x1234, si_syscall=__NR_write, "
	     "si_arch=AUDIT_ARCH_X86_64} ---");
	queue(SIGSYS, 1, 0x1234, 1, AUDIT_ARCH_X86_64);
	text("--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x1234, si_syscall=1, "
	     "si_arch=AUDIT_ARCH_AARCH64} ---");
	queue(SIGSYS, 1, 0x1234, 1, AUDIT_ARCH_AARCH64);
	text("--- SIGSYS {si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x1234, si_syscall=4294967295, "
	     "si_arch=AUDIT_ARCH_X86_64} ---");
	queue(SIGSYS, 1, 0x1234, ~0u, AUDIT_ARCH_X86_64);
	text("--- SIGFPE {si_signo=SIGFPE, si_code=0x9, si_addr=0x1} ---");
	queue(SIGFPE, 9, 1, 0, 0);
	text("--- SIGFPE {si_signo=SIGFPE, si_code=FPE_CONDTRAP, si_addr=0x1} ---");
	queue(SIGFPE, 15, 1, 0, 0);
	text("--- SIGILL {si_signo=SIGILL, si_code=0xa, si_addr=0x1} ---");
	queue(SIGILL, 10, 1, 0, 0);
	return 0;
}
