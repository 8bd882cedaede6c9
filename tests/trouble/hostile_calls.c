/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls with pointers and lengths that no sane program passes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const uint64_t pointers[] = {
	0, 1, 4095, 0x7fffffffefff, 0x7fffffffffff, 0x800000000000, 0xffff800000000000, 0xffffffffff600000, UINT64_MAX,
};

int main(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec v[8];

	munmap(page + 4096, 4096);
	memset(page, 'x', 4096); /* a string that never ends */
	syscall(SYS_openat, AT_FDCWD, 1, O_RDONLY);
	syscall(SYS_openat, AT_FDCWD, page, O_RDONLY);
	syscall(SYS_writev, 1, pointers, 2000000000);
	for (int i = 0; i < 8; i++)
		v[i] = (struct iovec){ page, SIZE_MAX };
	syscall(SYS_writev, 1, v, 8);
	/* more bytes than the largest record holds, which end wherever its last item does */
	static char most[4096];
	static struct iovec all[1024];
	const int zeroes = open("/dev/zero", O_RDONLY);

	for (size_t len = 1; len <= sizeof(most); len += 65) {
		for (int i = 0; i < 1024; i++)
			all[i] = (struct iovec){ most, len };
		syscall(SYS_readv, zeroes, all, 1024);
	}
	for (long nr = 0; nr < 480; nr++) {
		/* not those that end, stop or harm us when given junk */
		static const long spare[] = { SYS_exit, SYS_exit_group, SYS_fork, SYS_vfork, SYS_clone, SYS_clone3, SYS_pause,
			SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
			SYS_reboot, SYS_close, SYS_close_range, SYS_dup2, SYS_dup3, SYS_munmap, SYS_mmap, SYS_mremap, SYS_brk, SYS_mprotect,
			SYS_arch_prctl, SYS_prctl, SYS_seccomp, SYS_personality, SYS_setrlimit, SYS_prlimit64, SYS_vhangup, SYS_sync,
			SYS_alarm, SYS_setitimer, SYS_select, SYS_pselect6, SYS_poll, SYS_ppoll, SYS_nanosleep, SYS_clock_nanosleep,
			SYS_wait4, SYS_waitid, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
			SYS_setfsuid, SYS_setfsgid, SYS_setgroups, SYS_chroot, SYS_unshare, SYS_setns, SYS_swapoff, SYS_acct,
			SYS_sethostname, SYS_setdomainname, SYS_ioperm, SYS_iopl, SYS_kexec_load, SYS_syslog, SYS_shutdown, SYS_futex,
			SYS_setsid, SYS_setpgid, SYS_ptrace, SYS_landlock_restrict_self, SYS_userfaultfd, SYS_rt_sigprocmask,
			SYS_rt_sigaction, SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_read, SYS_restart_syscall, SYS_rt_sigtimedwait,
			SYS_umask, SYS_setpriority, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
			SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_modify_ldt, SYS_mlockall, SYS_set_robust_list,
			SYS_set_tid_address, SYS_rseq, SYS_sigaltstack, SYS_capset, SYS_fchdir, SYS_flock, SYS_msgrcv, SYS_semop, SYS_semtimedop,
			SYS_accept, SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_io_uring_setup, SYS_memfd_secret, SYS_process_madvise,
			SYS_madvise, SYS_fsync, SYS_fdatasync, SYS_syncfs, SYS_futex_waitv, 454, 455, 456, 462, 335, 336, 447 };
		int skip = 0;

		for (size_t i = 0; i < sizeof(spare) / sizeof(spare[0]); i++)
			skip |= spare[i] == nr;
		for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]) && !skip; i++)
			syscall(nr, -1, pointers[i], pointers[i], pointers[i], pointers[i], pointers[i]);
	}
	puts("survived");
	return 0;
}
