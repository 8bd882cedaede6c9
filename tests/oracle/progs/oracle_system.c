/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: prctl, capabilities, scheduling, limits, identity, system information. */
#include <linux/capability.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	struct sched_param sp = { 0 };
	struct rlimit rl;
	struct rusage ru;
	struct sysinfo si;
	struct utsname un;
	struct timespec t = { 0, 1000 }, rem;
	struct timeval tv;
	struct tms tms;
	cpu_set_t cpus;
	char buf[64];
	unsigned cpu, node;
	uid_t r, e, s;
	gid_t groups[64];
	time_t now;

	prctl(PR_SET_NAME, "a name");
	prctl(PR_GET_NAME, buf);
	prctl(PR_SET_PDEATHSIG, 15);
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_GET_DUMPABLE);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_CAPBSET_READ, CAP_CHOWN);
	prctl(PR_GET_KEEPCAPS);
	prctl(PR_SET_TIMERSLACK, 1);
	prctl(9999, 1, 2, 3, 4);
	prctl(PR_GET_SECCOMP);
	syscall(SYS_capget, &h, d);
	syscall(SYS_capset, &h, d);
	h.version = 1;
	syscall(SYS_capget, &h, NULL);
	sched_yield();
	sched_getaffinity(0, sizeof(cpus), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_getscheduler(0);
	sched_setscheduler(0, SCHED_BATCH, &sp);
	sched_getparam(0, &sp);
	sched_get_priority_max(SCHED_FIFO);
	sched_rr_get_interval(0, &rem);
	syscall(SYS_sched_getattr, 0, buf, 56, 0);
	getrlimit(RLIMIT_NOFILE, &rl);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, RLIM_INFINITY });
	syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &rl);
	getrusage(RUSAGE_SELF, &ru);
	sysinfo(&si);
	uname(&un);
	times(&tms);
	getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, 0);
	getpid();
	syscall(SYS_gettid);
	getuid();
	getresuid(&r, &e, &s);
	setresuid(-1, -1, -1);
	getresgid(&r, &e, &s);
	setregid(-1, -1);
	getgroups(64, groups);
	getpgrp();
	getsid(0);
	setpgid(0, 0);
	syscall(SYS_getcpu, &cpu, &node, NULL);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &rem);
	syscall(SYS_clock_getres, CLOCK_MONOTONIC, &rem);
	syscall(SYS_gettimeofday, &tv, NULL);
	syscall(SYS_time, &now);
	nanosleep(&t, &rem); /* sleeps: a program that is watched */
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); /* sleeps: a program that is watched */
	getrandom(buf, 8, GRND_NONBLOCK);
	sethostname("", (size_t)-1);
	syscall(SYS_arch_prctl, 0x1003, &cpu);
	syscall(SYS_personality, 0xffffffffu);
	syscall(SYS_ioprio_get, 1, 0);
	syscall(9999);
	return 0;
}
