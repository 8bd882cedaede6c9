/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls that programs seldom make by themselves: locks of memory, policies, modules, ports, limits of the scheduler,
 * kernel log. */
#include "truth.h"

#define NOBODY 99999999L

static void memory(void)
{
	void *p = tail_alloc(4096);
	const unsigned long nodes = 5;

	line(call(SYS_mlock, p, 0L), "mlock(%s, 0)", ptr(p));
	line(call(SYS_munlock, p, 0L), "munlock(%s, 0)", ptr(p));
	line(call(SYS_pkey_free, JUNK(77)), "pkey_free(77)");
	line(call(SYS_memfd_secret, JUNK(7)), "memfd_secret(0x7)");
	line(call(SYS_get_mempolicy, NULL, NULL, 0L, 5L, 0x99L), "get_mempolicy(NULL, NULL, 0, 0x5, MPOL_F_NODE|0x98)");
	line(call(SYS_migrate_pages, JUNK(NOBODY), 3L, tail_copy(&nodes, 8), NULL),
	     "migrate_pages(%ld, 3, [0x00000000000005], NULL)", NOBODY);
	line(call(SYS_set_mempolicy_home_node, 4096L, 0L, 9999L, 1L), "set_mempolicy_home_node(0x1000, 0, 9999, 0x1)");
	line(call(SYS_process_madvise, JUNK(-1), NULL, 0L, JUNK(21), JUNK(1)),
	     "process_madvise(-1, NULL, 0, MADV_PAGEOUT, 0x1)");
	line(call(SYS_process_mrelease, JUNK(-1), JUNK(1)), "process_mrelease(-1, 0x1)");
}

static void tasks(void)
{
	struct {
		long sec, nsec;
	} *ts = tail_alloc(16);
	const int prio = 100;
	long ret;

	line(call(SYS_sched_setparam, JUNK(NOBODY), tail_copy(&prio, 4)), "sched_setparam(%ld, {sched_priority=100})",
	     NOBODY);
	line(call(SYS_sched_rr_get_interval, JUNK(NOBODY), 8L), "sched_rr_get_interval(%ld, 0x8)", NOBODY);
	ret = call(SYS_sched_rr_get_interval, JUNK(0), ts);
	line(ret, "sched_rr_get_interval(0, {tv_sec=%ld, tv_nsec=%ld})", ts->sec, ts->nsec);
	line(call(SYS_get_robust_list, JUNK(NOBODY), 8L, 16L), "get_robust_list(%ld, 0x8, 0x10)", NOBODY);
	text("set_tid_address(0x8) = %ld", call(SYS_set_tid_address, 8L));
	line(call(SYS_pidfd_send_signal, JUNK(-1), JUNK(10), NULL, JUNK(1)),
	     "pidfd_send_signal(-1, SIGUSR1, NULL, PIDFD_SIGNAL_THREAD)");
	line(call(SYS_rseq, 32L, JUNK(1), JUNK(2), JUNK(0x53053053)),
	     "rseq(0x20, 1, RSEQ_FLAG_SLICE_EXT_DEFAULT_ON, 0x53053053)");
	const uint32_t area[] = { 0, 0, 0, 0, 0, 7, 8, 0 };
	line(call(SYS_rseq, tail_copy(area, 32), JUNK(32), JUNK(2), JUNK(0x53053053)),
	     "rseq({cpu_id_start=0, cpu_id=0, rseq_cs=NULL, flags=0, node_id=7, mm_cid=8, "
	     "slice_ctrl={request=0, granted=0, __reserved=0}}, 32, RSEQ_FLAG_SLICE_EXT_DEFAULT_ON, 0x53053053)");
}

static void files(void)
{
	char *path = tail_str("/nowhere"), *name = tail_str("user.x");

	line(call(SYS_lgetxattr, path, name, 8L, 0L), "lgetxattr(\"/nowhere\", \"user.x\", 0x8, 0)");
	line(call(SYS_llistxattr, path, 8L, 0L), "llistxattr(\"/nowhere\", 0x8, 0)");
	line(call(SYS_lremovexattr, path, name), "lremovexattr(\"/nowhere\", \"user.x\")");
	line(call(SYS_quotactl_fd, JUNK(-1), JUNK(0x80000100), JUNK(NOBODY), 8L),
	     "quotactl_fd(-1, QCMD(Q_SYNC, USRQUOTA))");
	line(call(SYS_signalfd, JUNK(-1), 8L, 7L), "signalfd(-1, 0x8, 7)");
	line(call(SYS_eventfd2, JUNK(5), JUNK(0x10)), "eventfd2(5, 0x10 /* EFD_??? */)");
	line(call(SYS_timerfd_gettime, JUNK(-1), 8L), "timerfd_gettime(-1, 0x8)");
	line(call(SYS_landlock_add_rule, JUNK(-1), JUNK(1), 8L, JUNK(1)),
	     "landlock_add_rule(-1, LANDLOCK_RULE_PATH_BENEATH, 0x8, LANDLOCK_ADD_RULE_QUIET)");
	line(call(SYS_ustat, 0x801L, 8L), "ustat(makedev(0x8, 0x1), 0x8)");
	line(call(SYS_sysfs, JUNK(9), 1L, 2L), "sysfs(0xdeadbeef00000009, 0x1, 0x2)");
}

static void machine(void)
{
	line(call(SYS_ioperm, -1L, 2L, JUNK(1)), "ioperm(0xffffffffffffffff, 0x2, 1)");
	line(call(SYS_iopl, JUNK(4)), "iopl(4)");
	line(call(SYS_syslog, JUNK(99), 8L, JUNK(-1)), "syslog(99 /* SYSLOG_ACTION_??? */, 0x8, -1)");
	line(call(SYS_init_module, 8L, 1L, tail_str("p=1")), "init_module(0x8, 1, \"p=1\")");
	line(call(SYS_lookup_dcookie, 1L, 8L, 4096L), "lookup_dcookie(1, 0x8, 4096)");
	line(call(SYS_uselib, tail_str("/nowhere")), "uselib(\"/nowhere\")");
	line(call(SYS_set_thread_area, 8L), "set_thread_area(0x8)");
	const uint32_t entry[4] = { (uint32_t)-1, 0x1000, 5, 1 };
	line(call(SYS_set_thread_area, tail_copy(entry, sizeof(entry))),
	     "set_thread_area({entry_number=-1, base_addr=0x001000, limit=0x000005, seg_32bit=1, contents=0, read_exec_only=0, "
	     "limit_in_pages=0, seg_not_present=0, useable=0, lm=0})");
	line(call(SYS_get_thread_area, tail_copy(entry, sizeof(entry))), "get_thread_area({entry_number=-1, ...})");
	/* the kernel returns its error as an unsigned int */
	const long ldt = call(SYS_modify_ldt, JUNK(99), 8L, 16L);
	if (ldt > 0)
		text("modify_ldt(99, 0x8, 16) = %ld ENOSYS (Function not implemented)", ldt);
	else
		line(ldt, "modify_ldt(99, 0x8, 16)");
}

/* The size that the kernel writes over one that it does not know. */
static void counter(void)
{
	static const uint32_t known[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144 };
	uint32_t *attr = tail_alloc(160);

	attr[1] = 160;
	attr[39] = 1;
	const long ret = call(SYS_perf_event_open, attr, 0L, JUNK(-1), JUNK(-1), 0L);
	if (ret != -E2BIG)
		return;
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == attr[1])
			line(ret,
			     "perf_event_open({type=PERF_TYPE_HARDWARE, size=0xa0 /* PERF_ATTR_SIZE_??? */ => PERF_ATTR_SIZE_VER%u, "
			     "config=PERF_COUNT_HW_CPU_CYCLES, sample_period=0, sample_type=0, read_format=0, precise_ip=0 /* arbitrary "
			     "skid */, ...}, 0, -1, -1, 0)",
			     i);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	memory();
	tasks();
	files();
	machine();
	counter();
	return 0;
}
