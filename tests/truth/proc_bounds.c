/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arguments at their bounds: flags that a call does not know, sizes that are too short or too long, memory that ends in
 * the middle, small integers by width and sign.
 */
#include "truth.h"
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/time.h>

#ifndef SYS_listmount
#define SYS_listmount 458
#endif
#ifndef SYS_lsm_set_self_attr
#define SYS_lsm_set_self_attr 460
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#endif
#ifndef SYS_removexattrat
#define SYS_removexattrat 466
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

static void at_flags(void)
{
	const char *name = tail_str("x");

	line(call(SYS_fchmodat2, JUNK(-1), name, JUNK(4), JUNK(0xffffeeff)),
	     "fchmodat2(-1, \"x\", 004, 0xffffeeff /* AT_??? */)");
	line(call(SYS_open_tree, JUNK(-1), name, JUNK(-1)),
	     "open_tree(-1, \"x\", OPEN_TREE_CLONE|OPEN_TREE_NAMESPACE|OPEN_TREE_CLOEXEC|AT_SYMLINK_NOFOLLOW|"
	     "AT_NO_AUTOMOUNT|AT_EMPTY_PATH|AT_RECURSIVE|0xfff766fc)");
	line(call(SYS_removexattrat, JUNK(-1), name, JUNK(-1), name),
	     "removexattrat(-1, \"x\", AT_SYMLINK_NOFOLLOW|AT_EMPTY_PATH|0xffffeeff, \"x\")");
	line(call(SYS_openat, JUNK(-1), name, JUNK(0x100000)), "openat(-1, \"x\", O_RDONLY|__O_SYNC)");
	line(call(SYS_mknodat, JUNK(-1), name, JUNK(07640)), "mknodat(-1, \"x\", S_ISUID|S_ISGID|S_ISVTX|0640)");
}

static void sizes(void)
{
	uint32_t head[] = { 23, 0 };
	void *p = tail_copy(head, 4);

	line(call(SYS_listmount, p, NULL, 0L, JUNK(0)), "listmount({size=23}, NULL, 0, 0)");
	*(uint32_t *)p = 24;
	line(call(SYS_listmount, p, NULL, 0L, JUNK(0)), "listmount({size=24, ???}, NULL, 0, 0)");
	uint32_t req[] = { 24, -5u, 3, 0, 5, 6 };
	p = tail_copy(req, 24);
	line(call(SYS_listmount, p, NULL, 0L, JUNK(0)),
	     "listmount({size=24, mnt_ns_fd=-5, mnt_id=0x3, param=0x600000005}, NULL, 0, 0)");
	void *end = tail_alloc(1);
	line(call(SYS_listmount, NULL, end, 0L, JUNK(0)), "listmount(NULL, [], 0, 0)");

	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t prio;
		uint64_t runtime, deadline, period;
		uint32_t min, max;
	} attr = { .size = 56, .policy = 77, .flags = 0x10 };
	line(call(SYS_sched_setattr, JUNK(-1), tail_copy(&attr, 56), JUNK(0x80)),
	     "sched_setattr(-1, {size=56, sched_flags=SCHED_FLAG_KEEP_PARAMS, sched_util_min=0, sched_util_max=0}, 128)");
	attr.size = 0;
	attr.flags = 0x8;
	line(call(SYS_sched_setattr, JUNK(-1), tail_copy(&attr, 56), 0L),
	     "sched_setattr(-1, {size=0, sched_flags=SCHED_FLAG_KEEP_POLICY, sched_nice=0, sched_priority=0, "
	     "sched_runtime=0, sched_deadline=0, sched_period=0}, 0)");

	/* A size that the kernel refuses: it writes its own over it. */
	attr.size = 8;
	const uint32_t *refused = tail_copy(&attr, 56);
	const long ret = call(SYS_sched_setattr, JUNK(0), refused, 0L);
	line(ret, "sched_setattr(0, {size=8} => {size=%u}, 0)", *refused);
	uint32_t event[16] = { 1, 8 };
	const void *small = tail_copy(event, 64);
	line(call(SYS_perf_event_open, small, JUNK(-1), JUNK(-1), JUNK(-1), 0L), "perf_event_open(%s, -1, -1, -1, 0)", ptr(small));
	/* how far an event may be from its instruction is told even where it is 0; so many bytes count as the first version had */
	static const char *const skids[] = { "arbitrary skid", "constant skid", "requested to have 0 skid", "must have 0 skid" };
	for (uint64_t i = 0; i < 4; i++) {
		const uint64_t counter[8] = { 0, i << 32 | 1, 5, 0, 0, 1 | i << 15 | 1 << 17 | i << 38 };
		const char *pmus[] = { "", "0x1<<32|", "0x2<<32|", "0x3<<32|" };
		char spare[64] = "";

		if (i)
			snprintf(spare, sizeof(spare), ", __reserved_1=0x%x /* Bits 63..38 */", (unsigned)i);
		line(call(SYS_perf_event_open, tail_copy(counter, 64), JUNK(-1), JUNK(-1), JUNK(-1), 0L),
		     "perf_event_open({type=PERF_TYPE_HARDWARE, size=0 /* PERF_ATTR_SIZE_??? */, config=%sPERF_COUNT_HW_INSTRUCTIONS, "
		     "sample_period=5, sample_type=0, read_format=0, disabled=1, precise_ip=%u /* %s */, mmap_data=1%s, ...}, -1, -1, -1, 0)",
		     pmus[i], (unsigned)i, skids[i], spare);
	}
	void *short_attr = tail_alloc(8);
	line(call(SYS_perf_event_open, short_attr, JUNK(-1), JUNK(-1), JUNK(-1), 0L), "perf_event_open(%s, -1, -1, -1, 0)", ptr(short_attr));

	uint64_t ctx[] = { 0x8786858483828180, 1, 2, 0 };
	line(call(SYS_lsm_set_self_attr, JUNK(100), tail_copy(ctx, 32), JUNK(33), JUNK(1)),
	     "lsm_set_self_attr(LSM_ATTR_CURRENT, {id=0x8786858483828180, flags=0x1, len=2, ctx_len=0}, 33, 0x1)");
	p = tail_copy(ctx, 31);
	line(call(SYS_lsm_set_self_attr, JUNK(100), p, JUNK(33), JUNK(1)),
	     "lsm_set_self_attr(LSM_ATTR_CURRENT, %s, 33, 0x1)", ptr(p));
}

static void arrays(void)
{
	const struct timeval t[2] = { { 1, 2 }, { 3, 4 } };
	const char *name = tail_str("x");
	void *p = tail_copy(t, 31);

	line(call(SYS_futimesat, JUNK(-1), name, p), "futimesat(-1, \"x\", %s)", ptr(p));
	p = tail_copy(t, 7);
	line(call(SYS_readv, JUNK(-1), p, 2L), "readv(-1, %s, 2)", ptr(p));
	line(call(SYS_readv, JUNK(-1), p, -8L), "readv(-1, %s, 18446744073709551608)", ptr(p));
	line(call(SYS_set_mempolicy, JUNK(0xffffffff), NULL, 0L),
	     "set_mempolicy(MPOL_F_STATIC_NODES|MPOL_F_RELATIVE_NODES|MPOL_F_NUMA_BALANCING|0xffff1fff, NULL, 0)");
	line(call(SYS_set_mempolicy, JUNK(0x4001), p, 1L), "set_mempolicy(MPOL_PREFERRED|MPOL_F_RELATIVE_NODES, %s, 1)",
	     ptr(p));
	uint64_t mask = 5;
	p = tail_copy(&mask, 8);
	line(call(SYS_set_mempolicy, JUNK(0xff), p, 66L), "set_mempolicy(0xff /* MPOL_??? */, [0x00000000000005, ... /* %s */], 66)",
	     ptr((char *)p + 8));
}

/* The two bytes of KEYCTL_CAPABILITIES have tables of their own. */
static void key_capabilities(void)
{
	static const char *const names[2][8] = {
		{ "KEYCTL_CAPS0_CAPABILITIES", "KEYCTL_CAPS0_PERSISTENT_KEYRINGS", "KEYCTL_CAPS0_DIFFIE_HELLMAN",
		  "KEYCTL_CAPS0_PUBLIC_KEY", "KEYCTL_CAPS0_BIG_KEY", "KEYCTL_CAPS0_INVALIDATE",
		  "KEYCTL_CAPS0_RESTRICT_KEYRING", "KEYCTL_CAPS0_MOVE" },
		{ "KEYCTL_CAPS1_NS_KEYRING_NAME", "KEYCTL_CAPS1_NS_KEY_TAG", "KEYCTL_CAPS1_NOTIFICATIONS" },
	};
	unsigned char *caps = tail_alloc(2);
	const long ret = call(SYS_keyctl, JUNK(KEYCTL_CAPABILITIES), caps, 2L);
	char shown[2][512] = { "", "" };

	if (ret != 2)
		return; /* a kernel without keys, or with less to tell */
	for (unsigned i = 0; i < 2; i++)
		for (unsigned bit = 0; bit < 8; bit++)
			if (caps[i] >> bit & 1) {
				strcat(shown[i], shown[i][0] ? "|" : "");
				strcat(shown[i], names[i][bit] ? names[i][bit] : "?");
			}
	line(ret, "keyctl(KEYCTL_CAPABILITIES, [%s, %s], 2)", shown[0][0] ? shown[0] : "0", shown[1][0] ? shown[1] : "0");
	line(call(SYS_keyctl, JUNK(KEYCTL_CAPABILITIES), caps + 1, 1L), "keyctl(KEYCTL_CAPABILITIES, [%s], 1)", shown[0]);
}

static void numbers(void)
{
	const char *name = tail_str("x");
	int value = 0;

	line(call(SYS_swapon, name, JUNK(0xffffffff)),
	     "swapon(\"x\", SWAP_FLAG_PREFER|SWAP_FLAG_DISCARD|SWAP_FLAG_DISCARD_ONCE|SWAP_FLAG_DISCARD_PAGES|0xfff80000|32767)");
	line(call(SYS_landlock_restrict_self, JUNK(-1), JUNK(0xffffffff)), "landlock_restrict_self(-1, 0xffffffff)");
	line(call(SYS_keyctl, JUNK(KEYCTL_SET_REQKEY_KEYRING), JUNK(-77)),
	     "keyctl(KEYCTL_SET_REQKEY_KEYRING, -77 /* KEY_REQKEY_DEFL_??? */)");
	line(call(SYS_syslog, JUNK(77), name, JUNK(1)), "syslog(77 /* SYSLOG_ACTION_??? */, %s, 1)", ptr(name));
	uint32_t params[] = { -3u, 2, 0, 1, 0, 0, 0, 0, 0, 0 };
	line(call(SYS_keyctl, JUNK(KEYCTL_PKEY_ENCRYPT), tail_copy(params, 40), tail_str(""), tail_copy("abc", 3), NULL),
	     "keyctl(KEYCTL_PKEY_ENCRYPT, {key_id=KEY_SPEC_SESSION_KEYRING, in_len=2, out_len=0, "
	     "__spare=[0x1, 0, 0, 0, 0, 0, 0]}, \"\", \"ab\", NULL)");
	struct {
		uint64_t value;
		uint32_t signo, notify;
		uint64_t rest[6];
	} ev = { 0, 0xfacefeed, 77, { 0 } };
	line(call(SYS_timer_create, JUNK(0), tail_copy(&ev, 64), NULL),
	     "timer_create(CLOCK_REALTIME, {sigev_signo=4207869677, sigev_notify=0x4d /* SIGEV_??? */}, NULL)");
	line(call(SYS_setxattr, name, name, tail_copy("ab", 3), 3L, JUNK(76)),
	     "setxattr(\"x\", \"x\", \"ab\", 3, 0x4c /* XATTR_??? */)");
	line(call(SYS_quotactl, JUNK(0x80000701), name, JUNK(3141592653), &value),
	     "quotactl(QCMD(Q_GETQUOTA, GRPQUOTA), \"x\", 3141592653, %s)", ptr(&value));
}

static void descriptors(void)
{
	uint64_t attr[4] = { 2, 4, 1 << 19, 0x123456789 };
	uint32_t handle[1] = { ~0u };
	void *p = tail_copy(handle, sizeof(handle));

	line(call(SYS_mount_setattr, JUNK(-1), "", JUNK(0), tail_copy(attr, sizeof(attr)), 32L),
	     "mount_setattr(-1, \"\", 0, {attr_set=MOUNT_ATTR_NOSUID, attr_clr=MOUNT_ATTR_NODEV, propagation=MS_SLAVE, "
	     "userns_fd=4886718345}, 32)");
	line(call(SYS_pidfd_open, 0L, JUNK(-1)), "pidfd_open(0, PIDFD_NONBLOCK|PIDFD_THREAD|PIDFD_AUTOKILL|0xfffff57f)");
	line(call(SYS_open_by_handle_at, JUNK(-1), p, JUNK(0)), "open_by_handle_at(-1, %s, O_RDONLY)", ptr(p));
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	at_flags();
	sizes();
	arrays();
	key_capabilities();
	numbers();
	descriptors();
	return 0;
}
