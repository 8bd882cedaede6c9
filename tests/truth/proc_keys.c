/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keys, settings of a process and sandboxes: structures of every size, pointers that lead nowhere, numbers by width and
 * sign. */
#include "truth.h"
#include <linux/keyctl.h>
#include <linux/prctl.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

static void key_derivation(void)
{
	struct {
		const char *hashname, *otherinfo;
		uint32_t otherinfolen, spare[9];
	} kdf = { tail_str("sha256"), tail_copy("abcde", 5), 5, { 0 } };
	const int params[3] = { -6, 1234567890, -1 };
	const int *dh = tail_copy(params, sizeof(params));
	char *buf = tail_alloc(1);
	const size_t size = 2 * sizeof(char *) + 9 * 4;

	line(call(SYS_keyctl, JUNK(KEYCTL_DH_COMPUTE), dh, buf, 1L, tail_copy(&kdf, (size + 7) & ~7ul)),
	     "keyctl(KEYCTL_DH_COMPUTE, {private=KEY_SPEC_GROUP_KEYRING, prime=1234567890, "
	     "base=KEY_SPEC_THREAD_KEYRING}, %s, "
	     "1, {hashname=\"sha256\", otherinfo=\"abcde\", otherinfolen=5})",
	     ptr(buf));
	kdf.hashname = (void *)4096;
	kdf.otherinfo += 1; /* one byte too many */
	kdf.spare[1] = 0xbad;
	line(call(SYS_keyctl, JUNK(KEYCTL_DH_COMPUTE), dh, buf, 1L, tail_copy(&kdf, (size + 7) & ~7ul)),
	     "keyctl(KEYCTL_DH_COMPUTE, {private=KEY_SPEC_GROUP_KEYRING, prime=1234567890, "
	     "base=KEY_SPEC_THREAD_KEYRING}, %s, "
	     "1, {hashname=0x1000, otherinfo=%s, otherinfolen=5, __spare=[0, 0xbad, 0, 0, 0, 0, 0, 0]})",
	     ptr(buf), ptr(kdf.otherinfo));
}

static void signatures(void)
{
	const uint32_t sizes[10] = { 5, 3, 4, 0 };
	const uint32_t *params = tail_copy(sizes, sizeof(sizes));
	const char *info = tail_str("enc=pkcs1"), *in = tail_copy("abc", 3), *in2 = tail_copy("defg", 4);

	line(call(SYS_keyctl, JUNK(KEYCTL_PKEY_VERIFY), params, info, in, in2),
	     "keyctl(KEYCTL_PKEY_VERIFY, {key_id=5, in_len=3, in2_len=4}, \"enc=pkcs1\", \"abc\", \"defg\")");
	line(call(SYS_keyctl, JUNK(KEYCTL_PKEY_VERIFY), params, info, in, in2 + 1),
	     "keyctl(KEYCTL_PKEY_VERIFY, {key_id=5, in_len=3, in2_len=4}, \"enc=pkcs1\", \"abc\", %s)", ptr(in2 + 1));
}

static void settings(void)
{
	line(call(SYS_prctl, JUNK(PR_SET_UNALIGN), ~0ul, 0L, 0L, 0L),
	     "prctl(PR_SET_UNALIGN, PR_UNALIGN_NOPRINT|PR_UNALIGN_SIGBUS|0xfffffffc)");
	line(call(SYS_prctl, JUNK(PR_SET_TIMERSLACK), ~0ul, 0L, 0L, 0L), "prctl(PR_SET_TIMERSLACK, -1)");
	line(call(SYS_prctl, JUNK(PR_SET_MM), JUNK(99), 1L, 2L, 3L),
	     "prctl(PR_SET_MM, 0x63 /* PR_SET_MM_??? */, 0x1, 0x2, 0x3)");
	line(call(SYS_prctl, JUNK(PR_SET_PTRACER), JUNK(0x7ffffff0), 0L, 0L, 0L), "prctl(PR_SET_PTRACER, 2147483632)");
	line(call(SYS_prctl, JUNK(0x53564d41), 0L, 0L, 5L, tail_str("heap")),
	     "prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, NULL, 5, \"heap\")");
	line(call(SYS_prctl, JUNK(0x53564d41), JUNK(1), 0L, 5L, 0L),
	     "prctl(PR_SET_VMA, 0xdeadbeef00000001 /* PR_SET_VMA_??? */, 0, 0x5, 0)");
	line(call(SYS_prctl, JUNK(PR_SET_TAGGED_ADDR_CTRL), 2L, 1L, 2L, 3L),
	     "prctl(PR_SET_TAGGED_ADDR_CTRL, !PR_TAGGED_ADDR_ENABLE|PR_MTE_TCF_SYNC, 0x1, 0x2, 0x3)");
}

static void rulesets(void)
{
	static const uint64_t attr[7] = { 1, 2, 1, 0, 4, 2, 0 };

	line(call(SYS_landlock_create_ruleset, tail_copy(attr, 56), 56L, JUNK(8)),
	     "landlock_create_ruleset({handled_access_fs=LANDLOCK_ACCESS_FS_EXECUTE, "
	     "handled_access_net=LANDLOCK_ACCESS_NET_CONNECT_TCP, scoped=LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, "
	     "quiet_access_fs=0, quiet_access_net=LANDLOCK_ACCESS_NET_BIND_UDP, quiet_scoped=LANDLOCK_SCOPE_SIGNAL, "
	     "...}, 56, "
	     "0x8 /* LANDLOCK_CREATE_RULESET_??? */)");
	/* what the size leaves out of a field the kernel takes for zeros; the first field must be whole */
	line(call(SYS_landlock_create_ruleset, tail_copy(attr, 17), 17L, JUNK(8)),
	     "landlock_create_ruleset({handled_access_fs=LANDLOCK_ACCESS_FS_EXECUTE, "
	     "handled_access_net=LANDLOCK_ACCESS_NET_CONNECT_TCP, scoped=LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}, 17, "
	     "0x8 /* LANDLOCK_CREATE_RULESET_??? */)");
	const void *page = tail_copy(attr, 7);
	line(call(SYS_landlock_create_ruleset, page, 7L, JUNK(8)),
	     "landlock_create_ruleset(%s, 7, 0x8 /* LANDLOCK_CREATE_RULESET_??? */)", ptr(page));
	page = tail_alloc(1);
	line(call(SYS_landlock_create_ruleset, page, 8L, JUNK(8)),
	     "landlock_create_ruleset(%s, 8, 0x8 /* LANDLOCK_CREATE_RULESET_??? */)", ptr(page));
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	key_derivation();
	signatures();
	line(call(SYS_keyctl, JUNK(KEYCTL_CAPABILITIES), tail_alloc(1), 0L), "keyctl(KEYCTL_CAPABILITIES, [], 0)");
	settings();
	rulesets();
	return 0;
}
