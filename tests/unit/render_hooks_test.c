/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only hooks show, and the rarer forms of structures: headers with values behind them, unions of numbers, sets
 * with a count. */
#include "render_harness.h"
#include <linux/filter.h>

static const char text[] = "enum cmds u32 { TCGETS = 0x5401 }\n"
			   "enum nl_types u16 \"NLMSG_???\" { NLMSG_DONE = 3 }\n"
			   "flags clone_flags u64 \"CLONE_???\" { CLONE_VM = 0x100 CLONE_FS = 0x200 }\n"
			   "enum ill s32 \"ILL_???\" { ILL_OPC = 1 }\n"
			   "enum segv s32 \"SEGV_???\" { SEGV_MAPERR = 1 }\n"
			   "struct nlattr tlv nla_len align 4 headed 2 { nla_len u16 nla_type u16 value attr_value }\n"
			   "union attr_value by nla_type { 1 : u32 else : rest }\n"
			   "struct siginfo { si_signo s32:signal si_code codes pad u32 hidden si_addr addr }\n"
			   "union codes by si_signo { 4 : s32:ill 11 : s32:segv else : s32:hex }\n"
			   "struct sized_self extent size { size u32 a u32 b u32 }\n"
			   "struct timespec { tv_sec s64 tv_nsec s64 }\n"
			   "ioctl(fd fd, op u32:cmds hook ioctl_cmd, argp addr)\n"
			   "getdents64(fd fd, dirp out bytes[ret of count] hook getdents64 max 32768, count u32)\n"
			   "clone(flags u64:clone_flags hook clone_flags named, stack addr) -> tid twice\n"
			   "attrs(buf in nlattr[len bytes], len usize)\n"
			   "select(n s32, readfds inout bits fd[n] before, writefds inout bits fd[n] before, exceptfds "
			   "inout bits fd[n] before,\n"
			   "	timeout inout timespec before) -> s32 note hook select\n"
			   "flags capabilities u64 \"CAP_???\" { _CAP_DAC_OVERRIDE = 0x2 as \"1<<CAP_DAC_OVERRIDE\" "
			   "_CAP_MAC_OVERRIDE = 0x100000000 as \"1<<CAP_MAC_OVERRIDE\" }\n"
			   "capget(header in u32, data out bytes[24] hook cap_data)\n"
			   "filter(prog in bytes[len] hook seccomp_filter, len u32)\n"
			   "self(attr in sized_self)\n"
			   "wait(status out s32:wstatus on pos)\n"
			   "status(v s32:wstatus)\n";
static const char calls[] =
	"0 ioctl 3 -\n1 getdents64 3 -\n2 clone 2 -\n3 attrs 2 -\n4 select 5 -\n5 capget 2 -\n6 filter 2 -\n"
	"7 self 1 -\n8 wait 1 -\n9 status 1 -\n";

static int setup(void **state)
{
	return harness_new(state, text, "", calls);
}

static const char *ioctl_line(struct harness *k, uint32_t cmd)
{
	harness_exit(k, "ioctl", 0, 3, cmd, 0);
	return harness_line(k);
}

static void test_ioctl(void **state)
{
	struct harness *k = *state;

	assert_string_equal(ioctl_line(k, 0x5401), "ioctl(3, TCGETS, NULL) = 0");
	assert_string_equal(ioctl_line(k, 0xc0049901),
			    "ioctl(3, _IOC(_IOC_READ|_IOC_WRITE, 0x99, 0x1, 0x4), NULL) = 0");
	assert_string_equal(ioctl_line(k, 0x5499), "ioctl(3, _IOC(_IOC_NONE, 0x54, 0x99, 0), NULL) = 0");
	assert_string_equal(ioctl_line(k, 0x81004506), "ioctl(3, EVIOCGNAME(256), NULL) = 0");
	assert_string_equal(ioctl_line(k, 0x80604520), "ioctl(3, EVIOCGBIT(0, 96), NULL) = 0");
	k->o.xlat = ESPY_XLAT_VERBOSE;
	assert_string_equal(ioctl_line(k, 0x5401), "ioctl(3, 0x5401 /* TCGETS */, NULL) = 0");
	k->o.xlat = ESPY_XLAT_ABBREV;
}

static void test_getdents(void **state)
{
	struct harness *k = *state;
	const uint64_t none[16] = { 0 };
	struct {
		uint64_t ino, off;
		uint16_t reclen;
		uint8_t type;
		char name[5];
	} d[2] = { { 1, 2, 24, 4, "." }, { 3, 4, 24, 9, "a\33b" } };

	harness_exit(k, "getdents64", 48, 3, 0x1000, 100);
	harness_item(k, 0, AT_EXIT, 0, d, 48);
	assert_string_equal(harness_line(k), "getdents64(3, 0x1000 /* 2 entries */, 100) = 48");
	k->o.abbrev = none;
	assert_string_equal(harness_line(k),
			    "getdents64(3, [{d_ino=1, d_off=2, d_reclen=24, d_type=DT_DIR, d_name=\".\"}, "
			    "{d_ino=3, d_off=4, d_reclen=24, d_type=0x9 /* DT_??? */, d_name=\"a\\33b\"}], 100) = 48");
	/* an entry that says it is longer than the buffer, and one of no length */
	d[1].reclen = 1000;
	harness_exit(k, "getdents64", 48, 3, 0x1000, 100);
	harness_item(k, 0, AT_EXIT, 0, d, 48);
	assert_string_equal(harness_line(k),
			    "getdents64(3, [{d_ino=1, d_off=2, d_reclen=24, d_type=DT_DIR, d_name=\".\"}], 100) = 48");
	d[0].reclen = 0;
	harness_exit(k, "getdents64", 48, 3, 0x1000, 100);
	harness_item(k, 0, AT_EXIT, 0, d, 48);
	assert_string_equal(harness_line(k), "getdents64(3, [], 100) = 48");
	k->o.abbrev = NULL;
}

static void test_clone_flags(void **state)
{
	struct harness *k = *state;

	harness_exit(k, "clone", 5, 0x311, 0);
	assert_string_equal(harness_line(k), "clone(flags=CLONE_VM|CLONE_FS|SIGCHLD, NULL) = 5");
	harness_exit(k, "clone", 5, 0x11, 0);
	assert_string_equal(harness_line(k), "clone(flags=SIGCHLD, NULL) = 5");
	harness_exit(k, "clone", 5, 0, 0);
	assert_string_equal(harness_line(k), "clone(flags=0, NULL) = 5");
	harness_exit(k, "clone", 5, 0x80000000000000, 0);
	assert_string_equal(harness_line(k), "clone(flags=0x80000000000000 /* CLONE_??? */, NULL) = 5");
}

static void test_headed(void **state)
{
	struct harness *k = *state;
	struct {
		uint16_t len, type;
		uint32_t value;
	} a[2] = { { 8, 1, 1500 }, { 4, 2, 0 } };

	harness_exit(k, "attrs", 0, 0x1000, 8);
	harness_item(k, 0, ESPY_ITEM_OK, 0, a, 8);
	assert_string_equal(harness_line(k), "attrs([{nla_len=8, nla_type=1}, 1500], 8) = 0");
	harness_exit(k, "attrs", 0, 0x1000, 12);
	harness_item(k, 0, ESPY_ITEM_OK, 0, a, 12);
	assert_string_equal(harness_line(k),
			    "attrs([[{nla_len=8, nla_type=1}, 1500], {nla_len=4, nla_type=2}], 12) = 0");
}

static void test_select(void **state)
{
	struct harness *k = *state;
	const uint64_t in = 0xff | 1ull << 60, out = 1ull << 2;
	const int64_t tv[2] = { 1, 0 }, left[2] = { 0, 7 };

	/* the words hold bits beyond the count: they are nobody's */
	harness_exit(k, "select", 1, 4, 0x1000, 0, 0, 0x2000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, &in, 8);
	harness_item(k, 0, AT_EXIT, 0, &out, 8);
	harness_item(k, 3, ESPY_ITEM_OK, 0, tv, 16);
	harness_item(k, 3, AT_EXIT, 0, left, 16);
	assert_string_equal(harness_line(k), "select(4, [0 1 2 3], NULL, NULL, {tv_sec=1, tv_nsec=0}) = "
					     "1 (in [2], left {tv_sec=0, tv_nsec=7})");
	harness_exit(k, "select", 0, 4, 0x1000, 0, 0, 0x2000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, &in, 8);
	harness_item(k, 3, ESPY_ITEM_OK, 0, tv, 16);
	assert_string_equal(harness_line(k), "select(4, [0 1 2 3], NULL, NULL, {tv_sec=1, tv_nsec=0}) = 0 (Timeout)");
}

static void test_capabilities(void **state)
{
	struct harness *k = *state;
	const uint32_t v3 = 0x20080522, data[6] = { 1 << 1, 0, 0, 1, 0, 0 };

	harness_exit(k, "capget", 0, 0x1000, 0x2000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, &v3, 4);
	harness_item(k, 1, AT_EXIT, 0, data, 24);
	assert_string_equal(harness_line(k),
			    "capget([537396514], {effective=1<<CAP_DAC_OVERRIDE|1<<CAP_MAC_OVERRIDE, permitted=0, "
			    "inheritable=0}) = 0");
}

static void test_filter(void **state)
{
	struct harness *k = *state;
	const struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
					 BPF_JUMP(BPF_JMP | BPF_K | BPF_JEQ, 0x27, 0, 1),
					 BPF_STMT(BPF_RET | BPF_K, 0x50005) };

	harness_exit(k, "filter", 0, 0x1000, sizeof(f));
	harness_item(k, 0, ESPY_ITEM_OK, 0, f, sizeof(f));
	assert_string_equal(
		harness_line(k),
		"filter([BPF_STMT(BPF_LD|BPF_W|BPF_ABS, 0x4), BPF_JUMP(BPF_JMP|BPF_K|BPF_JEQ, 0x27, 0, 0x1), "
		"BPF_STMT(BPF_RET|BPF_K, SECCOMP_RET_ERRNO|0x5)], 24) = 0");
}

static void test_siginfo(void **state)
{
	struct harness *k = *state;
	struct espy_buf b = { 0 };
	struct {
		int32_t signo, code;
		uint64_t pad, addr;
	} si = { 11, 1, 0, 0 };

	/* a number whose table depends on another field is a field of its own */
	harness_put_siginfo(k, &b, &si, sizeof(si));
	espy_buf__putc(&b, 0);
	assert_string_equal(b.data, "{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=NULL}");
	b.len = 0;
	si.signo = 4;
	si.code = 9;
	harness_put_siginfo(k, &b, &si, sizeof(si));
	espy_buf__putc(&b, 0);
	assert_string_equal(b.data, "{si_signo=SIGILL, si_code=0x9 /* ILL_??? */, si_addr=NULL}");
	b.len = 0;
	harness_put_siginfo(k, &b, NULL, 0);
	espy_buf__putc(&b, 0);
	assert_string_equal(b.data, "{}");
	espy_buf__free(&b);
}

static void test_own_size(void **state)
{
	struct harness *k = *state;
	const uint32_t s[3] = { 8, 5, 6 };

	harness_exit(k, "self", 0, 0x1000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, s, 12);
	assert_string_equal(harness_line(k), "self({size=8, a=5}) = 0");
	harness_exit(k, "self", 0, 0x1000);
	harness_item(k, 0, FAULT, 0, s, 8);
	assert_string_equal(harness_line(k), "self({size=8, a=5}) = 0");
	harness_exit(k, "self", 0, 0x1000);
	harness_item(k, 0, FAULT, 0, s, 6);
	assert_string_equal(harness_line(k), "self(0x1000) = 0");
}

static void test_wait_status(void **state)
{
	struct harness *k = *state;
	const int32_t st = 0;
	static const struct {
		uint32_t status;
		const char *line;
	} cases[] = {
		{ 3 << 8, "status({WIFEXITED(s) && WEXITSTATUS(s) == 3}) = 0" },
		{ 15, "status({WIFSIGNALED(s) && WTERMSIG(s) == SIGTERM}) = 0" },
		{ 11 | 0x80, "status({WIFSIGNALED(s) && WTERMSIG(s) == SIGSEGV && WCOREDUMP(s)}) = 0" },
		{ 0x137f, "status({WIFSTOPPED(s) && WSTOPSIG(s) == SIGSTOP}) = 0" },
		{ 0xffff, "status({WIFCONTINUED(s)}) = 0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		harness_exit(k, "status", 0, cases[i].status);
		assert_string_equal(harness_line(k), cases[i].line);
	}
	/* nothing is written where nobody has ended */
	harness_exit(k, "wait", 0, 0x1000);
	harness_item(k, 0, AT_EXIT, 0, &st, 4);
	assert_string_equal(harness_line(k), "wait(0x1000) = 0");
	harness_exit(k, "wait", 9, 0x1000);
	harness_item(k, 0, AT_EXIT, 0, &st, 4);
	assert_string_equal(harness_line(k), "wait([{WIFEXITED(s) && WEXITSTATUS(s) == 0}]) = 9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ioctl),	    cmocka_unit_test(test_getdents),
		cmocka_unit_test(test_clone_flags), cmocka_unit_test(test_headed),
		cmocka_unit_test(test_select),	    cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_filter),	    cmocka_unit_test(test_siginfo),
		cmocka_unit_test(test_own_size),    cmocka_unit_test(test_wait_status),
	};
	return cmocka_run_group_tests(tests, setup, harness_free);
}
