/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of newer kernels, by number: on an old one they fail, which their arguments show as well. */
#include "truth.h"
#include <fcntl.h>

enum {
	CACHESTAT = 451,
	FCHMODAT2 = 452,
	STATMOUNT = 457,
	LISTMOUNT = 458,
	SETXATTRAT = 463,
	GETXATTRAT,
	LISTXATTRAT,
	REMOVEXATTRAT,
	OPEN_TREE_ATTR,
	FILE_GETATTR,
	FILE_SETATTR
};

static int known(long nr)
{
	/* An unknown call is ENOSYS whatever its arguments; a known one complains of them. */
	return call(nr, -1L, -1L, -1L, -1L, -1L, -1L) != -ENOSYS;
}

/* The strings lie behind the fixed 512 bytes of the struct, whose fields say where; options are as many as a field says. */
static void mount_strings(const uint64_t *ids, long n)
{
	for (long i = 0; i < n; i++) {
		const uint64_t req[3] = { 24, ids[i], 0x8 | 0x10 | 0x20 | 0x400 };
		uint8_t *buf = tail_alloc(2048);
		const char *text = (char *)buf + 512;
		const long ret = call(STATMOUNT, tail_copy(req, 24), buf, 2048L, JUNK(0));
		const uint32_t *at = (uint32_t *)(void *)buf;
		char options[2048] = "";

		if (ret || !(at[2] & 0x400))
			continue; /* without options, or of an older kernel */
		for (uint32_t k = 0, off = at[33]; k < at[32]; k++) {
			sprintf(options + strlen(options), "%s\"%s\"", k ? ", " : "", text + off);
			off += (uint32_t)strlen(text + off) + 1;
		}
		line(ret,
		     "statmount({size=24, mnt_ns_fd=0, mnt_id=0x%lx, param=STATMOUNT_MNT_ROOT|STATMOUNT_MNT_POINT|STATMOUNT_FS_TYPE|"
		     "STATMOUNT_OPT_ARRAY}, {size=%u, mask=STATMOUNT_MNT_ROOT|STATMOUNT_MNT_POINT|STATMOUNT_FS_TYPE|"
		     "STATMOUNT_OPT_ARRAY, fs_type=\"%s\", mnt_root=\"%s\", mnt_point=\"%s\", opt_num=%u, opt_array=[%s]}, 2048, 0)",
		     (unsigned long)ids[i], at[0], text + at[9], text + at[26], text + at[27], at[32], options);
		return;
	}
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	line(call(FCHMODAT2, JUNK(AT_FDCWD), tail_str("nope"), JUNK(0640), JUNK(AT_SYMLINK_NOFOLLOW)),
	     "fchmodat2(AT_FDCWD, \"nope\", 0640, AT_SYMLINK_NOFOLLOW)");
	uint64_t range[2] = { 4096, 100 };
	line(call(CACHESTAT, JUNK(-1), tail_copy(range, 16), NULL, JUNK(0)),
	     "cachestat(-1, {off=0x1000, len=100}, NULL, 0)");
	if (known(LISTMOUNT) && known(STATMOUNT)) {
		struct {
			uint32_t size, fd;
			uint64_t id, param;
		} req = { 24, 0, ~0ul, 0 };
		uint64_t *ids = tail_alloc(8);
		long n = call(LISTMOUNT, tail_copy(&req, 24), ids, 1L, JUNK(0));
		if (n == 1) {
			line(n, "listmount({size=24, mnt_ns_fd=0, mnt_id=LSMT_ROOT, param=0}, [0x%lx], 1, 0)",
			     (unsigned long)*ids);
			req.id = *ids;
			req.param = 2;
			void *buf = tail_alloc(100);
			line(call(STATMOUNT, tail_copy(&req, 24), buf, 100L, JUNK(0x80)),
			     "statmount({size=24, mnt_ns_fd=0, mnt_id=0x%lx, param=STATMOUNT_MNT_BASIC}, %s, 100, 0x80 "
			     "/* STATMOUNT_??? */)",
			     (unsigned long)*ids, ptr(buf));
			uint64_t *more = tail_alloc(8 * 32);
			req.id = ~0ul;
			req.param = 0;
			mount_strings(more, call(LISTMOUNT, tail_copy(&req, 24), more, 32L, JUNK(0)));
		}
	}
	struct {
		void *value;
		uint32_t size, flags;
	} xa = { tail_copy("val", 3), 3, 1 };
	line(call(SETXATTRAT, JUNK(AT_FDCWD), tail_str("nope"), JUNK(AT_SYMLINK_NOFOLLOW), tail_str("user.a"),
		  tail_copy(&xa, 16), 16L),
	     "setxattrat(AT_FDCWD, \"nope\", AT_SYMLINK_NOFOLLOW, \"user.a\", {value=\"val\", size=3, "
	     "flags=XATTR_CREATE}, 16)");
	xa.flags = 0;
	line(call(GETXATTRAT, JUNK(AT_FDCWD), tail_str("nope"), JUNK(0), tail_str("user.a"), tail_copy(&xa, 16), 16L),
	     "getxattrat(AT_FDCWD, \"nope\", 0, \"user.a\", {value=%s, size=3, flags=0}, 16)", ptr(xa.value));
	void *cut = tail_alloc(8);
	line(call(SETXATTRAT, JUNK(-1), tail_str("nope"), JUNK(0), tail_str("user.a"), cut, 8L),
	     "setxattrat(-1, \"nope\", 0, \"user.a\", %s, 8)", ptr(cut));
	char *list = tail_alloc(10);
	line(call(LISTXATTRAT, JUNK(AT_FDCWD), tail_str("nope"), JUNK(0), list, 10L),
	     "listxattrat(AT_FDCWD, \"nope\", 0, %s, 10)", ptr(list));
	line(call(REMOVEXATTRAT, JUNK(AT_FDCWD), tail_str("nope"), JUNK(0), tail_str("user.a")),
	     "removexattrat(AT_FDCWD, \"nope\", 0, \"user.a\")");
	uint64_t ma[4] = { 1, 0x70, 0, 0 };
	line(call(OPEN_TREE_ATTR, JUNK(AT_FDCWD), tail_str("nope"), JUNK(0x80001), tail_copy(ma, 32), 32L),
	     "open_tree_attr(AT_FDCWD, \"nope\", OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC, "
	     "{attr_set=MOUNT_ATTR_RDONLY, attr_clr=MOUNT_ATTR__ATIME, propagation=0 /* MS_??? */, userns_fd=0}, 32)");
	unsigned fa[6] = { 0x10, 0, 0, 7, 0, 0 };
	line(call(FILE_SETATTR, JUNK(AT_FDCWD), tail_str("nope"), tail_copy(fa, 24), 24L, JUNK(0)),
	     "file_setattr(AT_FDCWD, \"nope\", {fa_xflags=FS_XFLAG_APPEND, fa_extsize=0, fa_projid=0, "
	     "fa_cowextsize=0}, 24, 0)");
	void *out = tail_alloc(24);
	line(call(FILE_GETATTR, JUNK(AT_FDCWD), tail_str("nope"), out, 24L, JUNK(0)),
	     "file_getattr(AT_FDCWD, \"nope\", %s, 24, 0)", ptr(out));
	uint64_t *lsm = tail_alloc(32);
	uint32_t *room = tail_alloc(4);
	*lsm = 100;
	*room = 31;
	line(call(459, JUNK(105), lsm, room, JUNK(5)),
	     "lsm_get_self_attr(LSM_ATTR_SOCKCREATE, {id=LSM_ID_CAPABILITY} => %s, [31], LSM_FLAG_SINGLE|0x4)", ptr(lsm));
	line(call(459, JUNK(105), lsm, room, JUNK(4)),
	     "lsm_get_self_attr(LSM_ATTR_SOCKCREATE, %s, [31], 0x4 /* LSM_FLAG_??? */)", ptr(lsm));
	return 0;
}
