/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A call that is not here costs a part of its own in the files that have it, so what few programs do has no place here; and a
 * change here, or in the description of one of these, costs each file some kilobytes until there is a new dictionary
 * (tools/make-dictionary). Values are those of x86-64.
 */
#include "session/common_calls.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#define ALL(call) { .name = #call, .all = 1 }

const struct espy_common_call espy_common_calls[] = {
	ALL(read), ALL(write), ALL(open), ALL(close), ALL(stat), ALL(fstat), ALL(lstat), ALL(poll), ALL(lseek),
	ALL(mmap), ALL(mprotect), ALL(munmap), ALL(brk), ALL(rt_sigaction), ALL(rt_sigprocmask), ALL(rt_sigreturn),
	ALL(pread64), ALL(pwrite64), ALL(readv), ALL(writev), ALL(access), ALL(pipe), ALL(select), ALL(sched_yield),
	ALL(mremap), ALL(msync), ALL(mincore), ALL(madvise), ALL(dup), ALL(dup2), ALL(pause), ALL(nanosleep),
	ALL(getitimer), ALL(alarm), ALL(setitimer), ALL(getpid), ALL(sendfile), ALL(connect), ALL(accept),
	ALL(sendto), ALL(recvfrom), ALL(sendmsg), ALL(recvmsg), ALL(shutdown), ALL(bind), ALL(listen),
	ALL(getsockname), ALL(getpeername), ALL(socketpair), ALL(clone), ALL(fork), ALL(vfork), ALL(execve),
	ALL(exit), ALL(wait4), ALL(kill), ALL(uname), ALL(flock), ALL(fsync), ALL(fdatasync), ALL(truncate),
	ALL(ftruncate), ALL(getdents), ALL(getcwd), ALL(chdir), ALL(fchdir), ALL(rename), ALL(mkdir), ALL(rmdir),
	ALL(creat), ALL(link), ALL(unlink), ALL(symlink), ALL(readlink), ALL(chmod), ALL(fchmod), ALL(chown),
	ALL(fchown), ALL(lchown), ALL(umask), ALL(gettimeofday), ALL(getrlimit), ALL(getrusage), ALL(sysinfo),
	ALL(times), ALL(getuid), ALL(getgid), ALL(setuid), ALL(setgid), ALL(geteuid), ALL(getegid), ALL(setpgid),
	ALL(getppid), ALL(getpgrp), ALL(setsid), ALL(setreuid), ALL(setregid), ALL(getgroups), ALL(setgroups),
	ALL(setresuid), ALL(getresuid), ALL(setresgid), ALL(getresgid), ALL(getpgid), ALL(getsid), ALL(capget),
	ALL(capset), ALL(rt_sigpending), ALL(rt_sigtimedwait), ALL(rt_sigsuspend), ALL(sigaltstack), ALL(utime),
	ALL(statfs), ALL(fstatfs), ALL(getpriority), ALL(setpriority), ALL(sched_setscheduler),
	ALL(sched_getscheduler), ALL(setrlimit), ALL(chroot), ALL(gettid), ALL(readahead), ALL(getxattr),
	ALL(lgetxattr), ALL(fgetxattr), ALL(listxattr), ALL(llistxattr), ALL(tkill), ALL(time), ALL(futex),
	ALL(sched_setaffinity), ALL(sched_getaffinity), ALL(getdents64), ALL(set_tid_address), ALL(fadvise64),
	ALL(clock_gettime), ALL(clock_getres), ALL(clock_nanosleep), ALL(exit_group), ALL(epoll_wait),
	ALL(epoll_ctl), ALL(tgkill), ALL(utimes), ALL(waitid), ALL(inotify_add_watch), ALL(inotify_rm_watch),
	ALL(openat), ALL(mkdirat), ALL(fchownat), ALL(newfstatat), ALL(unlinkat), ALL(renameat), ALL(linkat),
	ALL(symlinkat), ALL(readlinkat), ALL(fchmodat), ALL(faccessat), ALL(pselect6), ALL(ppoll),
	ALL(set_robust_list), ALL(splice), ALL(utimensat), ALL(epoll_pwait), ALL(timerfd_create), ALL(eventfd),
	ALL(fallocate), ALL(timerfd_settime), ALL(accept4), ALL(signalfd4), ALL(eventfd2), ALL(epoll_create1),
	ALL(dup3), ALL(pipe2), ALL(inotify_init1), ALL(preadv), ALL(pwritev), ALL(recvmmsg), ALL(prlimit64),
	ALL(sendmmsg), ALL(getcpu), ALL(renameat2), ALL(getrandom), ALL(memfd_create), ALL(copy_file_range),
	ALL(statx), ALL(rseq), ALL(pidfd_send_signal), ALL(pidfd_open), ALL(clone3), ALL(close_range), ALL(openat2),
	ALL(faccessat2), ALL(epoll_pwait2), ALL(fcntl), ALL(socket), ALL(arch_prctl),
	{ "ioctl", .args = { 0, TCGETS } },
	{ "ioctl", .args = { 0, TCSETS } },
	{ "ioctl", .args = { 0, TCSETSW } },
	{ "ioctl", .args = { 0, TIOCGPGRP } },
	{ "ioctl", .args = { 0, TIOCSPGRP } },
	{ "ioctl", .args = { 0, TIOCGWINSZ } },
	{ "ioctl", .args = { 0, FIONREAD } },
	{ "ioctl", .args = { 0, FIONBIO } },
	{ "ioctl", .args = { 0, FIOCLEX } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_REUSEADDR } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_TYPE } },
	{ "getsockopt", .args = { 0, SOL_SOCKET, SO_TYPE } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_ERROR } },
	{ "getsockopt", .args = { 0, SOL_SOCKET, SO_ERROR } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_SNDBUF } },
	{ "getsockopt", .args = { 0, SOL_SOCKET, SO_SNDBUF } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_RCVBUF } },
	{ "getsockopt", .args = { 0, SOL_SOCKET, SO_RCVBUF } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_KEEPALIVE } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_LINGER } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_RCVTIMEO } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_SNDTIMEO } },
	{ "setsockopt", .args = { 0, SOL_SOCKET, SO_PASSCRED } },
	{ "getsockopt", .args = { 0, SOL_SOCKET, SO_PEERCRED } },
	{ "setsockopt", .args = { 0, IPPROTO_TCP, TCP_NODELAY } },
	{ "setsockopt", .args = { 0, IPPROTO_IPV6, IPV6_V6ONLY } },
	{ "setsockopt", .args = { 0, IPPROTO_IP, IP_RECVERR } },
	{ "prctl", .args = { PR_SET_NAME } },
	{ "prctl", .args = { PR_GET_NAME } },
	{ "prctl", .args = { PR_SET_PDEATHSIG } },
	{ "prctl", .args = { PR_GET_DUMPABLE } },
	{ "prctl", .args = { PR_SET_DUMPABLE } },
	{ "prctl", .args = { PR_CAPBSET_READ } },
	{ "prctl", .args = { PR_SET_NO_NEW_PRIVS } },
};
const size_t espy_common_call_cnt = sizeof(espy_common_calls) / sizeof(espy_common_calls[0]);

const uint16_t espy_common_families[] = { AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
const size_t espy_common_family_cnt = sizeof(espy_common_families) / sizeof(espy_common_families[0]);
