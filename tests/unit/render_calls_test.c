/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole calls: structures, arrays, what changed, what could not be read, calls written in two parts. */
#include "render_harness.h"

static const char text[] =
	"flags pollflags s16 \"POLL_???\" { POLLIN POLLOUT POLLHUP }\n"
	"flags clone3_flags u64 \"CLONE_???\" { CLONE_PARENT_SETTID }\n"
	"enum families u16 \"AF_???\" { AF_UNSPEC AF_UNIX AF_INET AF_INET6 }\n"
	"struct timespec { tv_sec s64 tv_nsec s64 }\n"
	"struct utimes note utime { tv_sec s64 tv_nsec s64 }\n"
	"struct stat brief { st_mode st_size } { st_dev u64:dev st_mode u32:mode pad u32 hidden st_size s64 st_mtime "
	"s64:time }\n"
	"struct iov_in { iov_base in bytes[iov_len] iov_len usize }\n"
	"struct iov_out { iov_base out bytes[spread of iov_len] iov_len usize }\n"
	"struct sockaddr { sa_family u16:families u sockaddr_u }\n"
	"union sockaddr_u by sa_family { AF_UNIX : sa_un AF_INET : sa_in AF_INET6 : sa_in6 else : sa_rest }\n"
	"struct sa_un { sun_path char[108]:sunpath }\n"
	"struct sa_in packed { sin_port be16:htons sin_addr ipv4 sin_zero u8[8] hidden }\n"
	"struct sa_in6 packed { sin6_port be16:htons sin6_flowinfo be32:htonl sin6_addr u8[16]:inet6 sin6_scope_id u32 "
	"}\n"
	"struct sa_rest { sa_data rest }\n"
	"struct pollfd { fd fd events s16:pollflags revents s16:pollflags hidden }\n"
	"struct msghdr { msg_name out sockaddr sized msg_namelen of msg_namelen msg_namelen s32 both\n"
	"	msg_iov in iov_out[msg_iovlen] spread ret msg_iovlen usize msg_flags u32 }\n"
	"struct mmsg { msg_iov in iov_in[msg_iovlen] msg_iovlen usize }\n"
	"struct clone_args tail { flags u64:clone3_flags child_tid addr64\n"
	"	parent_tid out64 tid when flags & CLONE_PARENT_SETTID after exit_signal u64:signal }\n"
	"struct attr { nla_len u16 nla_type u16 value rest }\n"
	"struct cmsg tlv cmsg_len align ulong { cmsg_len usize cmsg_level s32 cmsg_type s32 data cmsg_data }\n"
	"union cmsg_data by cmsg_level, cmsg_type { 1.1 : fdlist else : rest_data }\n"
	"struct fdlist { cmsg_data fd[rest] }\n"
	"struct rest_data { cmsg_data rest }\n"
	"nanosleep(req in timespec, rem out timespec on err)\n" /* sleeps: no, this is text */
	"utimensat(times in utimes[2])\n"
	"fstat(fd fd, statbuf out stat)\n"
	"writev(fd fd, iov in iov_in[iovcnt], iovcnt usize)\n"
	"readv(fd fd, iov in iov_out[iovcnt] spread ret, iovcnt usize)\n"
	"connect(sockfd fd, addr in sockaddr sized addrlen, addrlen s32)\n"
	"accept(sockfd fd, addr out sockaddr sized addrlen of addrlen, addrlen inout s32) -> fd\n"
	"poll(fds inout pollfd[nfds] before, nfds u32, timeout s32) -> s32 note hook poll\n"
	"recvmsg(sockfd fd, msg inout msghdr, flags u32:hex)\n"
	"sendmmsg(sockfd fd, msgvec in mmsg[vlen], vlen u32)\n"
	"clone3(cl_args in clone_args sized size, size usize) -> tid\n"
	"execve(pathname in path, argv in strv, envp in strv class env) newimage\n"
	"type strv = (in str)[null max 512]\n"
	"setgroups(size s32, list in gid[size])\n"
	"control(buf in cmsg[len bytes], len usize)\n"
	"wait4(pid pid, status out s32:wstatus, options u32)\n"
	"pipe(fds out fd[2])\n";
static const char constants[] =
	"POLLIN 1\nPOLLOUT 4\nPOLLHUP 16\nCLONE_PARENT_SETTID 0x100000\nAF_UNSPEC 0\nAF_UNIX 1\nAF_INET 2\n"
	"AF_INET6 10\n";
static const char calls[] = "0 nanosleep 2 -\n1 utimensat 1 -\n2 fstat 2 -\n3 writev 3 -\n4 readv 3 -\n5 connect 3 -\n"
			    "6 accept 3 -\n7 poll 3 -\n8 recvmsg 3 -\n9 sendmmsg 3 -\n10 clone3 2 -\n11 execve 3 -\n"
			    "12 setgroups 2 -\n13 control 2 -\n14 wait4 3 -\n15 pipe 1 -\n";

static int setup(void **state)
{
	return harness_new(state, text, constants, calls);
}

static void test_struct(void **state)
{
	struct harness *k = *state;
	const int64_t ts[2] = { 1, 2 }, left[2] = { 0, 5 };

	harness_exit(k, "nanosleep", 0, 0x1000, 0x2000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, ts, 16);
	assert_string_equal(harness_line(k), "nanosleep({tv_sec=1, tv_nsec=2}, 0x2000) = 0"); /* sleeps: no, this is text */
	harness_exit(k, "nanosleep", -4, 0x1000, 0x2000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, ts, 16);
	harness_item(k, 1, AT_EXIT, 0, left, 16);
	assert_string_equal(
		harness_line(k),
		"nanosleep({tv_sec=1, tv_nsec=2}, {tv_sec=0, tv_nsec=5}) = -1 EINTR (Interrupted system call)"); /* sleeps: no, this is text */
	harness_exit(k, "nanosleep", -14, 0x1000, 0);
	harness_item(k, 0, FAULT, 0, ts, 12);
	assert_string_equal(harness_line(k), "nanosleep(0x1000, NULL) = -1 EFAULT (Bad address)"); /* sleeps: no, this is text */
}

static void test_brief(void **state)
{
	struct harness *k = *state;
	struct {
		uint64_t dev;
		uint32_t mode, pad;
		int64_t size, mtime;
	} st = { 0xfe00, 0100644, 7, 42, 1600000000 };
	const uint64_t none[16] = { 0 };

	harness_exit(k, "fstat", 0, 3, 0x1000);
	harness_item(k, 0, AT_EXIT, 0, &st, sizeof(st));
	assert_string_equal(harness_line(k), "fstat(3, {st_mode=S_IFREG|0644, st_size=42, ...}) = 0");
	k->o.abbrev = none;
	assert_string_equal(harness_line(k), "fstat(3, {st_dev=makedev(0xfe, 0), st_mode=S_IFREG|0644, st_size=42, "
					     "st_mtime=1600000000 /* 2020-09-13T12:26:40+0000 */}) = 0");
	k->o.abbrev = NULL;
	k->o.verbose = none;
	assert_string_equal(harness_line(k), "fstat(3, 0x1000) = 0");
	k->o.verbose = NULL;
}

static void test_notes(void **state)
{
	struct harness *k = *state;
	int64_t ts[4] = { 1600000000, 123, 5, (1l << 30) - 2l };

	harness_exit(k, "utimensat", 0, 0x1000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, ts, 32);
	assert_string_equal(harness_line(k),
			    "utimensat([{tv_sec=1600000000, tv_nsec=123} /* 2020-09-13T12:26:40.000000123+0000 */, "
			    "UTIME_OMIT]) = 0");
}

static void test_vectors(void **state)
{
	struct harness *k = *state;
	const uint64_t vec[] = { 0x2000, 1, 0x3000, 2, 0x4000, 8 };

	harness_exit(k, "writev", 11, 1, 0x1000, 3);
	harness_item(k, 0, ESPY_ITEM_OK, 0, vec, sizeof(vec));
	harness_item(k, 1, ESPY_ITEM_OK, 0, "a", 1);
	harness_item(k, 1, FAULT, 1, "b", 1);
	harness_item(k, 1, ESPY_ITEM_OK, 2, "cccccccc", 8);
	assert_string_equal(harness_line(k), "writev(1, [{iov_base=\"a\", iov_len=1}, {iov_base=0x3000, iov_len=2}, "
					     "{iov_base=\"cccccccc\", iov_len=8}], 3) = 11");
	/* what was received fills the buffers in order */
	harness_exit(k, "readv", 4, 1, 0x1000, 3);
	harness_item(k, 0, ESPY_ITEM_OK, 0, vec, sizeof(vec));
	harness_item(k, 1, AT_EXIT, 0, "a", 1);
	harness_item(k, 1, AT_EXIT, 1, "bb", 2);
	harness_item(k, 1, AT_EXIT, 2, "c", 1);
	assert_string_equal(harness_line(k), "readv(1, [{iov_base=\"a\", iov_len=1}, {iov_base=\"bb\", iov_len=2}, "
					     "{iov_base=\"c\", iov_len=8}], 3) = 4");
	/* the vector runs into memory that is not there */
	harness_exit(k, "writev", -14, 1, 0x1000, 3);
	harness_item(k, 0, FAULT, 0, vec, 32);
	harness_item(k, 1, ESPY_ITEM_OK, 0, "a", 1);
	harness_item(k, 1, ESPY_ITEM_OK, 1, "bb", 2);
	assert_string_equal(
		harness_line(k),
		"writev(1, [{iov_base=\"a\", iov_len=1}, {iov_base=\"bb\", iov_len=2}, ... /* 0x1020 */], 3) "
		"= -1 EFAULT (Bad address)");
	harness_exit(k, "writev", 0, 1, 0x1000, 0);
	assert_string_equal(harness_line(k), "writev(1, [], 0) = 0");
	harness_exit(k, "writev", 0, 1, 0, 0);
	assert_string_equal(harness_line(k), "writev(1, NULL, 0) = 0");
}

static void test_array_limit(void **state)
{
	struct harness *k = *state;
	const uint32_t ids[4] = { 0, 1, 2, 0xffffffff };

	k->o.str_limit = 3;
	harness_exit(k, "setgroups", 0, 4, 0x1000);
	harness_item(k, 0, ESPY_ITEM_OK, 0, ids, 16);
	assert_string_equal(harness_line(k), "setgroups(4, [0, 1, 2, ...]) = 0");
	k->o.str_limit = 32;
	assert_string_equal(harness_line(k), "setgroups(4, [0, 1, 2, -1]) = 0");
	harness_exit(k, "setgroups", -22, 40, 0x1000);
	harness_item(k, 0, CUT, 0, ids, 16);
	assert_string_equal(harness_line(k), "setgroups(40, [0, 1, 2, -1, ...]) = -1 EINVAL (Invalid argument)");
	/* a negative count is no count */
	harness_exit(k, "setgroups", -22, (uint32_t)-1, 0x1000);
	assert_string_equal(harness_line(k), "setgroups(-1, []) = -1 EINVAL (Invalid argument)");
}

static void test_sockaddr(void **state)
{
	struct harness *k = *state;
	static const uint8_t in[16] = { 2, 0, 0, 80, 127, 0, 0, 1 };
	static const uint8_t in6[28] = { 10, 0, 1, 187, 0, 0, 0, 5, 0xfe, 0x80, [23] = 1, [24] = 3 };
	int32_t len = 128, got = 16;

	harness_exit(k, "connect", 0, 3, 0x1000, 16);
	harness_item(k, 0, ESPY_ITEM_OK, 0, in, 16);
	assert_string_equal(
		harness_line(k),
		"connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}, 16) = 0");
	harness_exit(k, "connect", 0, 3, 0x1000, 8);
	harness_item(k, 0, ESPY_ITEM_OK, 0, in, 8);
	assert_string_equal(harness_line(k), "connect(3, {sa_family=AF_INET, sa_data=\"\\0P\\177\\0\\0\\1\"}, 8) = 0");
	harness_exit(k, "connect", 0, 3, 0x1000, 28);
	harness_item(k, 0, ESPY_ITEM_OK, 0, in6, 28);
	assert_string_equal(harness_line(k),
			    "connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(5), "
			    "inet_pton(AF_INET6, \"fe80::1\", &sin6_addr), sin6_scope_id=3}, 28) = 0");
	harness_exit(k, "connect", 0, 3, 0x1000, 8);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "\1\0/tmp/x", 8);
	assert_string_equal(harness_line(k), "connect(3, {sa_family=AF_UNIX, sun_path=\"/tmp/x\"}, 8) = 0");
	harness_exit(k, "connect", 0, 3, 0x1000, 7);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "\1\0\0ab\0\0", 7);
	assert_string_equal(harness_line(k), "connect(3, {sa_family=AF_UNIX, sun_path=@\"ab\\0\\0\"}, 7) = 0");
	harness_exit(k, "connect", 0, 3, 0x1000, 2);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "\1\0", 2);
	assert_string_equal(harness_line(k), "connect(3, {sa_family=AF_UNIX}, 2) = 0");
	harness_exit(k, "connect", -22, 3, 0x1000, 1);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "\1", 1);
	assert_string_equal(harness_line(k), "connect(3, 0x1000, 1) = -1 EINVAL (Invalid argument)");
	/* a length that the call changes */
	harness_exit(k, "accept", 4, 3, 0x1000, 0x2000);
	harness_item(k, 1, ESPY_ITEM_OK, 0, &len, 4);
	harness_item(k, 0, AT_EXIT, 0, in, 16);
	harness_item(k, 1, AT_EXIT, 0, &got, 4);
	const char *line = harness_line(k);
	/* which of the two operations comes first is the compiler's business */
	if (k->img.ops[k->img.plans[k->view.plan].first_op].src == 2) {
		harness_exit(k, "accept", 4, 3, 0x1000, 0x2000);
		harness_item(k, 0, ESPY_ITEM_OK, 0, &len, 4);
		harness_item(k, 1, AT_EXIT, 0, in, 16);
		harness_item(k, 0, AT_EXIT, 0, &got, 4);
		line = harness_line(k);
	}
	assert_string_equal(line, "accept(3, {sa_family=AF_INET, sin_port=htons(80), "
				  "sin_addr=inet_addr(\"127.0.0.1\")}, [128 => 16]) = 4");
}

static void test_poll(void **state)
{
	struct harness *k = *state;
	struct {
		int32_t fd;
		int16_t events, revents;
	} in[2] = { { 3, 1, 0 }, { 4, 5, 0 } }, out[2] = { { 3, 1, 0 }, { 4, 5, 17 } };

	harness_exit(k, "poll", 1, 0x1000, 2, 100);
	harness_item(k, 0, ESPY_ITEM_OK, 0, in, sizeof(in));
	harness_item(k, 0, AT_EXIT, 0, out, sizeof(out));
	assert_string_equal(harness_line(k), "poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}], 2, 100) = "
					     "1 ([{fd=4, revents=POLLIN|POLLHUP}])");
	harness_exit(k, "poll", 0, 0x1000, 2, 100);
	harness_item(k, 0, ESPY_ITEM_OK, 0, in, sizeof(in));
	harness_item(k, 0, AT_EXIT, 0, in, sizeof(in));
	assert_string_equal(harness_line(k),
			    "poll([{fd=3, events=POLLIN}, {fd=4, events=POLLIN|POLLOUT}], 2, 100) = 0 (Timeout)");
}

static void test_execve(void **state)
{
	struct harness *k = *state;
	const uint64_t argv[] = { 0x2000, 0x2002, 0 }, envp[] = { 0x3000, 0x3010, 0x3020, 0 };
	const uint64_t none[16] = { 0 };

	harness_exit(k, "execve", 0, 0x1000, 0x1100, 0x1200);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "/bin/ls", 8);
	harness_item(k, 1, ESPY_ITEM_OK, 0, argv, sizeof(argv));
	harness_item(k, 2, ESPY_ITEM_OK, 0, "ls", 3);
	harness_item(k, 2, ESPY_ITEM_OK, 1, "-l\n", 4);
	harness_item(k, 3, ESPY_ITEM_OK, 0, envp, sizeof(envp));
	assert_string_equal(harness_line(k), "execve(\"/bin/ls\", [\"ls\", \"-l\\n\"], 0x1200 /* 3 vars */) = 0");
	harness_exit(k, "execve", -14, 0x1000, 0x1100, 0x1200);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "/bin/ls", 8);
	harness_item(k, 1, FAULT, 0, argv, 16);
	harness_item(k, 2, ESPY_ITEM_OK, 0, "ls", 3);
	harness_item(k, 2, FAULT, 1, "", 0);
	harness_item(k, 3, FAULT, 0, envp, 8);
	assert_string_equal(harness_line(k),
			    "execve(\"/bin/ls\", [\"ls\", 0x2002, ... /* 0x1110 */], 0x1200 /* 1 var, unterminated */) "
			    "= -1 EFAULT (Bad address)");
	k->o.abbrev = none;
	harness_exit(k, "execve", 0, 0x1000, 0x1100, 0x1200);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "/bin/ls", 8);
	harness_item(k, 1, ESPY_ITEM_OK, 0, argv + 2, 8);
	harness_item(k, 3, ESPY_ITEM_OK, 0, envp + 2, 16);
	harness_item(k, 4, ESPY_ITEM_OK, 0, "A=1", 4);
	assert_string_equal(harness_line(k), "execve(\"/bin/ls\", [], [\"A=1\"]) = 0");
	k->o.abbrev = NULL;
}

static void test_two_parts_struct(void **state)
{
	struct harness *k = *state;
	const uint64_t args[4] = { 0x100000, 0x5000, 0x6000, 17 };
	const int32_t tid = 4711;
	struct espy_buf b = { 0 };
	unsigned shown;

	harness_enter(k, "clone3", 0x1000, 32);
	harness_item(k, 0, ESPY_ITEM_OK, 0, args, 32);
	harness_exit(k, "clone3", 4711, 0x1000, 32);
	harness_item(k, 0, ESPY_ITEM_OK, 0, args, 32);
	harness_item(k, 1, AT_EXIT, 0, &tid, 4);
	assert_string_equal(
		harness_line(k),
		"clone3({flags=CLONE_PARENT_SETTID, child_tid=0x5000, parent_tid=0x6000, exit_signal=SIGCHLD} => "
		"{parent_tid=[4711]}, 32) = 4711");
	/* the first half is written when the call begins */
	shown = harness_put_begin(k, &b);
	espy_buf__putc(&b, '^');
	harness_put_rest(k, &b, shown);
	espy_buf__putc(&b, 0);
	assert_string_equal(b.data,
			    "{flags=CLONE_PARENT_SETTID, child_tid=0x5000, parent_tid=0x6000, exit_signal=SIGCHLD}^ => "
			    "{parent_tid=[4711]}, 32");
	espy_buf__free(&b);
	/* bytes behind the struct */
	harness_exit(k, "clone3", -22, 0x1000, 40);
	harness_item(k, 0, ESPY_ITEM_OK, 0, (const uint64_t[]){ 0, 0, 0, 0, 5 }, 40);
	assert_string_equal(harness_line(k), "clone3({flags=0, child_tid=NULL, exit_signal=0, /* bytes 32..39 */ "
					     "\"\\x05\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"}, 40) "
					     "= -1 EINVAL (Invalid argument)");
}

static void test_parts(void **state)
{
	struct harness *k = *state;
	struct espy_buf b = { 0 };
	unsigned shown;
	const int32_t status = 3 << 8;

	harness_enter(k, "wait4", (uint32_t)-1, 0x1000, 0);
	shown = harness_put_begin(k, &b);
	espy_buf__puts(&b, " <unfinished ...>");
	harness_exit(k, "wait4", 77, (uint32_t)-1, 0x1000, 0);
	harness_item(k, 0, AT_EXIT, 0, &status, 4);
	harness_put_rest(k, &b, shown);
	espy_buf__putc(&b, 0);
	/* the comma comes with the argument behind it */
	assert_string_equal(b.data, "-1 <unfinished ...>, [{WIFEXITED(s) && WEXITSTATUS(s) == 3}], 0");
	espy_buf__free(&b);

	harness_enter(k, "pipe", 0x1000);
	shown = harness_put_begin(k, &b);
	assert_int_equal(b.len, 0);
	const int32_t fds[2] = { 3, 4 };
	harness_exit(k, "pipe", 0, 0x1000);
	harness_item(k, 0, AT_EXIT, 0, fds, 8);
	harness_put_rest(k, &b, shown);
	espy_buf__putc(&b, 0);
	assert_string_equal(b.data, "[3, 4]");
	espy_buf__free(&b);
}

static void test_control(void **state)
{
	struct harness *k = *state;
	struct {
		uint64_t len;
		int32_t level, type;
		uint8_t data[8];
	} m[2] = { { 24, 1, 1, { 3, 0, 0, 0, 4 } }, { 18, 0, 9, { 'h', 'i' } } };

	harness_exit(k, "control", 0, 0x1000, 48);
	harness_item(k, 0, ESPY_ITEM_OK, 0, m, 48);
	assert_string_equal(harness_line(k), "control([{cmsg_len=24, cmsg_level=1, cmsg_type=1, cmsg_data=[3, 4]}, "
					     "{cmsg_len=18, cmsg_level=0, cmsg_type=9, cmsg_data=\"hi\"}], 48) = 0");
	/* records that lie about their length: longer than the buffer, shorter than their own header */
	m[1].len = 1000;
	harness_exit(k, "control", 0, 0x1000, 48);
	harness_item(k, 0, ESPY_ITEM_OK, 0, m, 48);
	assert_string_equal(harness_line(k),
			    "control([{cmsg_len=24, cmsg_level=1, cmsg_type=1, cmsg_data=[3, 4]}, "
			    "{cmsg_len=1000, cmsg_level=0, cmsg_type=9, cmsg_data=\"hi\\0\\0\\0\\0\\0\\0\"}], 48) = 0");
	m[1].len = 3;
	harness_exit(k, "control", 0, 0x1000, 48);
	harness_item(k, 0, ESPY_ITEM_OK, 0, m, 48);
	assert_string_equal(harness_line(k), "control([{cmsg_len=24, cmsg_level=1, cmsg_type=1, cmsg_data=[3, 4]}, "
					     "{cmsg_len=3, cmsg_level=0, cmsg_type=9}, ... /* 0x1028 */], 48) = 0");
	harness_exit(k, "control", 0, 0x1000, 5);
	harness_item(k, 0, ESPY_ITEM_OK, 0, m, 5);
	assert_string_equal(harness_line(k), "control(0x1000, 5) = 0");
}

static void test_inout_struct(void **state)
{
	struct harness *k = *state;
	struct {
		uint64_t name;
		int32_t namelen, pad;
		uint64_t iov, iovlen;
		uint32_t flags, pad2;
	} in = { 0x2000, 128, 0, 0x3000, 1, 9, 0 }, out = in;
	const uint64_t vec[2] = { 0x4000, 100 };

	out.namelen = 2;
	out.flags = 0;
	harness_exit(k, "recvmsg", 3, 5, 0x1000, 0x40);
	espy_call_view__init(&k->view, &k->img, NULL, (struct espy_rec *)k->rec);
	const struct espy_op *ops = &k->img.ops[k->img.plans[k->view.plan].first_op];
	harness_item(k, 0, ESPY_ITEM_OK, 0, &in, sizeof(in));
	harness_item(k, 0, AT_EXIT, 0, &out, sizeof(out));
	for (unsigned i = 1; i < 4; i++) {
		if (ops[i].src != (ESPY_OP_SRC_OP | 0))
			harness_item(k, i, AT_EXIT, 0, "abc", 3);
		else if (ops[i].src_off == 0)
			harness_item(k, i, AT_EXIT, 0, "\0\0", 2);
		else
			harness_item(k, i, ESPY_ITEM_OK, 0, vec, sizeof(vec));
	}
	assert_string_equal(harness_line(k),
			    "recvmsg(5, {msg_name={sa_family=AF_UNSPEC}, msg_namelen=128 => 2, "
			    "msg_iov=[{iov_base=\"abc\", iov_len=100}], msg_iovlen=1, msg_flags=0}, 0x40) = 3");
	harness_exit(k, "recvmsg", -11, 5, 0x1000, 0x40);
	harness_item(k, 0, ESPY_ITEM_OK, 0, &in, sizeof(in));
	assert_string_equal(harness_line(k),
			    "recvmsg(5, {msg_namelen=128}, 0x40) = -1 EAGAIN (Resource temporarily unavailable)");
}

static void test_messages(void **state)
{
	struct harness *k = *state;
	const uint64_t msgs[] = { 0x2000, 2, 0x3000, 1 };
	const uint64_t v0[] = { 0x5000, 1, 0x5001, 1 }, v1[] = { 0x6000, 1 };

	harness_exit(k, "sendmmsg", 2, 5, 0x1000, 2);
	harness_item(k, 0, ESPY_ITEM_OK, 0, msgs, sizeof(msgs));
	harness_item(k, 1, ESPY_ITEM_OK, 0, v0, sizeof(v0));
	harness_item(k, 1, ESPY_ITEM_OK, 1, v1, sizeof(v1));
	harness_item(k, 2, ESPY_ITEM_OK, 0, "a", 1);
	harness_item(k, 2, ESPY_ITEM_OK, 1, "b", 1);
	harness_item(k, 2, ESPY_ITEM_OK, 2, "c", 1);
	assert_string_equal(
		harness_line(k),
		"sendmmsg(5, [{msg_iov=[{iov_base=\"a\", iov_len=1}, {iov_base=\"b\", iov_len=1}], msg_iovlen=2}, "
		"{msg_iov=[{iov_base=\"c\", iov_len=1}], msg_iovlen=1}], 2) = 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_struct),
		cmocka_unit_test(test_brief),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_array_limit),
		cmocka_unit_test(test_sockaddr),
		cmocka_unit_test(test_poll),
		cmocka_unit_test(test_execve),
		cmocka_unit_test(test_two_parts_struct),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_inout_struct),
		cmocka_unit_test(test_messages),
	};
	/* dates in the lines */
	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, setup, harness_free);
}
