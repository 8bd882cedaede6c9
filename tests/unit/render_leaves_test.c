/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leaves: strings and their escapes, flags, enumerations, numbers in all formats, bit sets, errors. */
#include "base/errno_names.h"
#include "render_harness.h"

static const char text[] =
	"flags open_flags u32 \"O_???\" { O_ACCMODE = { O_RDONLY O_WRONLY O_RDWR } O_CREAT O_EXCL O_CLOEXEC }\n"
	"flags prot u64 \"PROT_???\" { PROT_NONE PROT_READ PROT_WRITE }\n"
	"flags map_flags u64 \"MAP_???\" { MAP_TYPE = { MAP_SHARED MAP_PRIVATE } \"MAP_???\" MAP_ANONYMOUS\n"
	"	MAP_HUGE_SHIFT << 31..26 }\n"
	"flags sock u32 \"SOCK_???\" { 15 = { ONE_S = 1 TWO_S = 2 } \"SOCK_???\" SOCK_X = 0x80000 }\n"
	"flags fdflags u32 \"FD_???\" { FD_CLOEXEC }\n"
	"flags quiet u32 { NOTHING = 0 as \"\" LOUD = 1 }\n"
	"enum advice s32 \"MADV_???\" { MADV_NORMAL MADV_RANDOM }\n"
	"enum plain s32 { ONE = 1 MINUS = (-2) }\n"
	"enum inhex u32 \"hex\" { ONE_X = 1 }\n"
	"enum wake_op u32 \"FUTEX_OP_???\" { FUTEX_OP_SET = 0 FUTEX_OP_ADD = 1 }\n"
	"pack futex_enc u32 { op 31..28:wake_op oparg 23..12 cmparg 11..0 }\n"
	"write(fd fd, buf in bytes[count], count usize)\n"
	"read(fd fd, buf out bytes[ret of count], count usize)\n"
	"open(pathname in path, flags u32:open_flags, mode u32:perm when flags & O_CREAT) -> fd\n"
	"mmap(addr addr, length usize, prot u64:prot, flags u64:map_flags, fd fd, offset u64:hex) -> ulong:hex\n"
	"madvise(addr addr, length usize, advice s32:advice)\n"
	"formats(a s32:plain, b u32:inhex, c u32:quiet, d u32:futex_enc, e u32:mode, f u32:dev)\n"
	"ids(a uid, b s32:signal, c u32:oct, d u64:rlim, e dirfd, f ulong:hex0)\n"
	"strs(a in str, b in path)\n"
	"sigs(set in bits signal[8], fds in bits fd[n], n s32)\n"
	"enum keys u32 \"KEY_???\" { KEY_A = 0 KEY_B = 1 KEY_C = 3 KEY_D = 4 KEY_E = 64 }\n"
	"keys(set out bits keys:names[ret * 8 max 16])\n"
	"fcntl(fd fd) -> s32:hex note \"flags \" open_flags\n"
	"getfd(fd fd) -> s32:hex note \"flags \" fdflags\n"
	"flags vl_flags s32 { VL_INHERIT = 0x20000 low 15..0:hex }\n"
	"vl(fd fd) -> s32:hex note names vl_flags\n"
	"umask(mask u32:perm) -> u32:perm\n"
	"sock(type u32:sock)\n"
	"pause() noreturn\n";
static const char constants[] =
	"O_ACCMODE 3\nO_RDONLY 0\nO_WRONLY 1\nO_RDWR 2\nO_CREAT 64\nO_EXCL 128\nO_CLOEXEC 0x80000\n"
	"PROT_NONE 0\nPROT_READ 1\nPROT_WRITE 2\nMAP_TYPE 15\nMAP_SHARED 1\nMAP_PRIVATE 2\n"
	"MAP_ANONYMOUS 32\nMAP_HUGE_SHIFT 26\nFD_CLOEXEC 1\nMADV_NORMAL 0\nMADV_RANDOM 1\n";
static const char calls[] =
	"0 read 3 -\n1 write 3 -\n2 open 3 -\n3 mmap 6 -\n4 madvise 3 -\n5 formats 6 -\n6 ids 6 -\n"
	"7 strs 2 -\n8 sigs 3 -\n9 fcntl 1 -\n10 getfd 1 -\n11 umask 1 -\n12 pause 0 -\n13 nodesc 2 -\n14 sock 1 -\n15 vl 1 -\n16 keys 1 -\n";

static int setup(void **state)
{
	return harness_new(state, text, constants, calls);
}

static const char *quote(const char *s, size_t n, enum espy_hex hex, const char *extra)
{
	static char out[4096];
	struct espy_buf b = { 0 };
	espy_buf__quote(&b, (const uint8_t *)s, n, hex, extra, true);
	memcpy(out, b.data, b.len);
	out[b.len] = 0;
	espy_buf__free(&b);
	return out;
}
#define QUOTE(s, hex) quote(s, sizeof(s) - 1, hex, NULL)

static void test_quote(void **state)
{
	assert_string_equal(QUOTE("plain", ESPY_HEX_NONE), "\"plain\"");
	assert_string_equal(QUOTE("\"\\\n\t\v\f\r", ESPY_HEX_NONE), "\"\\\"\\\\\\n\\t\\v\\f\\r\"");
	/* three digits only before a digit */
	assert_string_equal(QUOTE("\1\0019\1\067\177\377", ESPY_HEX_NONE), "\"\\1\\19\\0017\\177\\377\"");
	assert_string_equal(QUOTE("\0\33[0m", ESPY_HEX_NONE), "\"\\0\\33[0m\"");
	assert_string_equal(QUOTE("A\200\n", ESPY_HEX_NON_ASCII), "\"\\x41\\x80\\x0a\"");
	assert_string_equal(QUOTE("a\n", ESPY_HEX_NON_ASCII), "\"a\\n\"");
	assert_string_equal(QUOTE("a\n", ESPY_HEX_ALL), "\"\\x61\\x0a\"");
	assert_string_equal(QUOTE("a\200\n", ESPY_HEX_NON_ASCII_CHARS), "\"a\\x80\\n\"");
	assert_string_equal(quote("a<b>", 4, ESPY_HEX_NONE, "<>"), "\"a\\74b\\76\"");
}

static void test_string_limits(void **state)
{
	struct harness *k = *state;
	static const char abc[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

	harness_exit(k, "write", 32, 1, 0x1000, 32);
	harness_item(k, 0, ESPY_ITEM_OK, 0, abc, 32);
	assert_string_equal(harness_line(k), "write(1, \"abcdefghijklmnopqrstuvwxyzabcdef\", 32) = 32");
	harness_exit(k, "write", 33, 1, 0x1000, 33);
	harness_item(k, 0, CUT, 0, abc, 32);
	assert_string_equal(harness_line(k), "write(1, \"abcdefghijklmnopqrstuvwxyzabcdef\"..., 33) = 33");
	/* the same of a C string: 32 characters fit, 33 do not */
	harness_exit(k, "strs", 0, 0x1000, 0x2000);
	harness_item(k, 0, CUT, 0, abc, 33);
	harness_item(k, 1, ESPY_ITEM_OK, 0, "/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq", 45);
	assert_string_equal(harness_line(k), "strs(\"abcdefghijklmnopqrstuvwxyzabcdef\"..., "
					     "\"/abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq\") = 0");
	harness_exit(k, "write", 0, 1, 0x1000, 0);
	assert_string_equal(harness_line(k), "write(1, \"\", 0) = 0");
	harness_exit(k, "write", 0, 1, 0, 0);
	assert_string_equal(harness_line(k), "write(1, NULL, 0) = 0");
}

static void test_unreadable(void **state)
{
	struct harness *k = *state;

	harness_exit(k, "write", -14, 1, 0x7f0000001000, 8);
	harness_item(k, 0, FAULT, 0, "ab", 2);
	assert_string_equal(harness_line(k), "write(1, 0x7f0000001000, 8) = -1 EFAULT (Bad address)");
	harness_exit(k, "strs", 0, 0x1000, 0x2000);
	harness_item(k, 0, FAULT, 0, "", 0);
	assert_string_equal(harness_line(k), "strs(0x1000, 0x2000) = 0");
	/* results of a call that failed were never written */
	harness_exit(k, "read", -9, 99, 0x1000, 8);
	assert_string_equal(harness_line(k), "read(99, 0x1000, 8) = -1 EBADF (Bad file descriptor)");
	harness_exit(k, "read", 2, 3, 0x1000, 8);
	harness_item(k, 0, AT_EXIT, 0, "hi", 2);
	assert_string_equal(harness_line(k), "read(3, \"hi\", 8) = 2");
	harness_exit(k, "read", 0, 3, 0x1000, 8);
	assert_string_equal(harness_line(k), "read(3, \"\", 8) = 0");
}

static const char *open_line(struct harness *k, unsigned flags)
{
	harness_exit(k, "open", 3, 0x1000, flags, 0640);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "/x", 3);
	return harness_line(k);
}

static void test_flags(void **state)
{
	struct harness *k = *state;

	assert_string_equal(open_line(k, 0x80000), "open(\"/x\", O_RDONLY|O_CLOEXEC) = 3");
	assert_string_equal(open_line(k, 0x42), "open(\"/x\", O_RDWR|O_CREAT, 0640) = 3");
	assert_string_equal(open_line(k, 0x40000041), "open(\"/x\", O_WRONLY|O_CREAT|0x40000000, 0640) = 3");
	harness_exit(k, "mmap", 0x7f0000000000, 0, 4096, 0, 0x22, (uint64_t)-1, 0);
	assert_string_equal(harness_line(k),
			    "mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000000000");
	harness_exit(k, "mmap", -22, 0, 4096, 8, 0x8000002f, (uint64_t)-1, 0x1000);
	assert_string_equal(harness_line(k),
			    "mmap(NULL, 4096, 0x8 /* PROT_??? */, 0xf /* MAP_??? */|MAP_ANONYMOUS|32<<MAP_HUGE_SHIFT, "
			    "-1, 0x1000) = -1 EINVAL (Invalid argument)");
}

static void test_flag_styles(void **state)
{
	struct harness *k = *state;

	k->o.xlat = ESPY_XLAT_RAW;
	assert_string_equal(open_line(k, 0x80000), "open(\"/x\", 0x80000) = 3");
	k->o.xlat = ESPY_XLAT_VERBOSE;
	assert_string_equal(open_line(k, 0x80000), "open(\"/x\", 0x80000 /* O_RDONLY|O_CLOEXEC */) = 3");
	harness_exit(k, "mmap", 0, 0, 4096, 0, 0x22, (uint64_t)-1, 0);
	assert_string_equal(harness_line(k),
			    "mmap(NULL, 4096, 0 /* PROT_NONE */, 0x22 /* MAP_PRIVATE|MAP_ANONYMOUS */, -1, 0) = 0");
	/* a group with a text of its own is a number of its own */
	harness_exit(k, "sock", 0, 0x90001);
	assert_string_equal(harness_line(k), "sock(0x1 /* ONE_S */|0x90000 /* SOCK_X|0x10000 */) = 0");
	harness_exit(k, "madvise", 0, 0, 0, 1);
	assert_string_equal(harness_line(k), "madvise(NULL, 0, 0x1 /* MADV_RANDOM */) = 0");
	harness_exit(k, "ids", 0, 0, 9, 0, 0, (uint64_t)-100, 0);
	assert_string_equal(harness_line(k),
			    "ids(0, 9 /* SIGKILL */, 0, 0, -100 /* AT_FDCWD */, 0000000000000000) = 0");
	k->o.xlat = ESPY_XLAT_ABBREV;
}

static void test_enums(void **state)
{
	struct harness *k = *state;

	harness_exit(k, "sock", 0, 0x90001);
	assert_string_equal(harness_line(k), "sock(ONE_S|SOCK_X|0x10000) = 0");
	harness_exit(k, "sock", 0, 0x10003);
	assert_string_equal(harness_line(k), "sock(0x3 /* SOCK_??? */|0x10000 /* SOCK_??? */) = 0");

	harness_exit(k, "madvise", 0, 0x1000, 1, 1);
	assert_string_equal(harness_line(k), "madvise(0x1000, 1, MADV_RANDOM) = 0");
	harness_exit(k, "madvise", 0, 0x1000, 1, 99);
	assert_string_equal(harness_line(k), "madvise(0x1000, 1, 0x63 /* MADV_??? */) = 0");
	harness_exit(k, "formats", 0, 0xdeadbeeffffffffe, 2, 0, 0x10003005, 0100644, 0x801);
	assert_string_equal(harness_line(k),
			    "formats(MINUS, 0x2, , FUTEX_OP_ADD<<28|0x3<<12|0x5, S_IFREG|0644, makedev(0x8, 0x1)) = 0");
	harness_exit(k, "formats", 0, (uint64_t)-7, 1, 1, 0xf0000000, 0104755, 0);
	assert_string_equal(harness_line(k), "formats(-7, ONE_X, LOUD, 0xf<<28 /* FUTEX_OP_??? */|0<<12|0, "
					     "S_IFREG|S_ISUID|0755, makedev(0, 0)) = 0");
}

static void test_numbers(void **state)
{
	struct harness *k = *state;

	/* junk in upper register halves is no part of a 32-bit argument */
	harness_exit(k, "ids", 0, 0xaaaaaaaaffffffff, 0xbbbbbbbb00000022, 8, 8388608, 0xccccccccffffff9c, 0x1234);
	assert_string_equal(harness_line(k), "ids(-1, SIGRT_2, 010, 8192*1024, AT_FDCWD, 0x00000000001234) = 0");
	harness_exit(k, "ids", 0, 1000, 77, 0, UINT64_MAX, 3, 0);
	assert_string_equal(harness_line(k), "ids(1000, 77, 0, RLIM64_INFINITY, 3, 0000000000000000) = 0");
	harness_exit(k, "ids", 0, 1000, 32, 0, 1024, (uint64_t)-1, 0);
	assert_string_equal(harness_line(k), "ids(1000, SIGRTMIN, 0, 1024, -1, 0000000000000000) = 0");
}

static void test_sets(void **state)
{
	struct harness *k = *state;
	uint64_t sigs = 1ull << 1 | 1ull << 9 | 1ull << 31 | 1ull << 32, fds = 1ull << 3 | 1ull << 5, all = UINT64_MAX;

	harness_exit(k, "sigs", 0, 0x1000, 0x2000, 8);
	harness_item(k, 0, ESPY_ITEM_OK, 0, &sigs, 8);
	harness_item(k, 1, ESPY_ITEM_OK, 0, &fds, 8);
	assert_string_equal(harness_line(k), "sigs([INT USR1 RTMIN RT_1], [3 5], 8) = 0");
	all &= ~(1ull << 31 | 1ull << 32);
	fds = 0;
	harness_exit(k, "sigs", 0, 0x1000, 0x2000, 8);
	harness_item(k, 0, ESPY_ITEM_OK, 0, &all, 8);
	harness_item(k, 1, ESPY_ITEM_OK, 0, &fds, 8);
	assert_string_equal(harness_line(k), "sigs(~[RTMIN RT_1], [], 8) = 0");
}

static const char *keys_line(struct harness *k, long ret, uint64_t low, uint64_t high)
{
	const uint64_t set[2] = { low, high };

	harness_exit(k, "keys", ret, 0x1000);
	if (ret > 0)
		harness_item(k, 0, AT_EXIT, 0, set, ret > 8 ? 16 : 8);
	return harness_line(k);
}

/* Bits by their names: the result says how many count, of words that are read whole. */
static void test_bit_names(void **state)
{
	struct harness *k = *state;

	assert_string_equal(keys_line(k, 1, 0x109, 0), "keys([KEY_A KEY_C]) = 1");
	assert_string_equal(keys_line(k, 9, 0x1b, 1), "keys([KEY_A KEY_B KEY_C KEY_D ...]) = 9");
	assert_string_equal(keys_line(k, 2, 4, 0), "keys([0x2 /* KEY_??? */]) = 2");
	assert_string_equal(keys_line(k, 8, 0, 0), "keys([]) = 8");
	assert_string_equal(keys_line(k, 0, 1, 0), "keys(0x1000) = 0");
	assert_string_equal(keys_line(k, -9, 1, 0), "keys(0x1000) = -1 EBADF (Bad file descriptor)");
	k->o.xlat = ESPY_XLAT_RAW;
	assert_string_equal(keys_line(k, 9, 0x1b, 1), "keys([0x1b, 0x1]) = 9");
	k->o.xlat = ESPY_XLAT_VERBOSE;
	assert_string_equal(keys_line(k, 1, 3, 0), "keys([0 /* KEY_A */ 0x1 /* KEY_B */] /* [0x3] */) = 1");
	k->o.xlat = ESPY_XLAT_ABBREV;
}

static void test_results(void **state)
{
	struct harness *k = *state;

	harness_exit(k, "fcntl", 0x80000, 3);
	assert_string_equal(harness_line(k), "fcntl(3) = 0x80000 (flags O_RDONLY|O_CLOEXEC)");
	harness_exit(k, "fcntl", 0, 3);
	assert_string_equal(harness_line(k), "fcntl(3) = 0 (flags O_RDONLY)");
	harness_exit(k, "vl", 0xdead, 3);
	assert_string_equal(harness_line(k), "vl(3) = 0xdead");
	harness_exit(k, "vl", 0x2dead, 3);
	assert_string_equal(harness_line(k), "vl(3) = 0x2dead (VL_INHERIT|0xdead)");
	harness_exit(k, "vl", 0x10000, 3);
	assert_string_equal(harness_line(k), "vl(3) = 0x10000 (0x10000|0)");
	harness_exit(k, "getfd", 0, 3);
	assert_string_equal(harness_line(k), "getfd(3) = 0");
	harness_exit(k, "getfd", 1, 3);
	assert_string_equal(harness_line(k), "getfd(3) = 0x1 (flags FD_CLOEXEC)");
	harness_exit(k, "umask", 022, 0);
	assert_string_equal(harness_line(k), "umask(000) = 022");
	harness_exit(k, "fcntl", -512, 3);
	assert_string_equal(harness_line(k), "fcntl(3) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");
	harness_exit(k, "fcntl", -516, 3);
	assert_string_equal(harness_line(k), "fcntl(3) = ? ERESTART_RESTARTBLOCK (Interrupted by signal)");
	harness_exit(k, "fcntl", -4000, 3);
	assert_string_equal(harness_line(k), "fcntl(3) = -1 (errno 4000)");
	harness_begin(k, k->rec, ESPY_REC_EXIT, "pause", 0, 0, (const uint64_t[]){ 0 });
	((struct espy_rec *)k->rec)->flags |= ESPY_RF_NO_RETURN;
	assert_string_equal(harness_line(k), "pause() = ?");
}

static void test_raw(void **state)
{
	struct harness *k = *state;
	const uint64_t raw[16] = { 1u << 1 };

	harness_exit(k, "nodesc", 5, 1, 0);
	assert_string_equal(harness_line(k), "nodesc(0x1, 0) = 5");
	k->o.raw = raw;
	harness_exit(k, "write", 5, 1, 0x1000, 5);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "hello", 5);
	assert_string_equal(harness_line(k), "write(0x1, 0x1000, 0x5) = 0x5");
	harness_exit(k, "write", -9, 1, 0x1000, 5);
	assert_string_equal(harness_line(k), "write(0x1, 0x1000, 0x5) = -1 EBADF (Bad file descriptor)");
	k->o.raw = NULL;
	k->o.arg_names = true;
	harness_exit(k, "write", 5, 1, 0x1000, 5);
	harness_item(k, 0, ESPY_ITEM_OK, 0, "hello", 5);
	assert_string_equal(harness_line(k), "write(fd=1, buf=\"hello\", count=5) = 5");
	k->o.arg_names = false;
}

static void test_errno_table(void **state)
{
	assert_string_equal(espy_errno_name(2), "ENOENT");
	assert_string_equal(espy_errno_text(2), "No such file or directory");
	assert_string_equal(espy_errno_name(11), "EAGAIN");
	assert_string_equal(espy_errno_name(95), "EOPNOTSUPP");
	assert_string_equal(espy_errno_name(133), "EHWPOISON");
	assert_null(espy_errno_name(0));
	assert_null(espy_errno_name(41));
	assert_null(espy_errno_name(134));
	assert_null(espy_errno_name(5000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quote),	cmocka_unit_test(test_string_limits), cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_flags),	cmocka_unit_test(test_flag_styles),   cmocka_unit_test(test_enums),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_sets),	      cmocka_unit_test(test_results),
		cmocka_unit_test(test_raw),	cmocka_unit_test(test_bit_names),	cmocka_unit_test(test_errno_table),
	};
	return cmocka_run_group_tests(tests, setup, harness_free);
}
