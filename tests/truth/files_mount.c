/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Mounting, swap, quotas, handles, asynchronous I/O: calls that fail, for the sake of their arguments. */
#include "truth.h"
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/mount.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* All bytes of a handle stand there whatever -s says; if they cannot all be read, none does. */
static void handle_bytes(void)
{
	uint32_t handle[34] = { 128, 3 };
	char hex[4 * 128 + 1];

	for (uint32_t i = 0; i < 128; i++) {
		((uint8_t *)handle)[8 + i] = (uint8_t)(0x80 + i);
		sprintf(hex + 4 * i, "\\x%02x", 0x80 + i);
	}
	line(call(SYS_open_by_handle_at, JUNK(-1), tail_copy(handle, 136), JUNK(0)),
	     "open_by_handle_at(-1, {handle_bytes=128, handle_type=3, f_handle=\"%s\"}, O_RDONLY)", hex);
	line(call(SYS_open_by_handle_at, JUNK(-1), tail_copy(handle, 135), JUNK(0)),
	     "open_by_handle_at(-1, {handle_bytes=128, handle_type=3, f_handle=???}, O_RDONLY)");
	line(call(SYS_open_by_handle_at, JUNK(-1), tail_copy(handle, 8), JUNK(0)),
	     "open_by_handle_at(-1, {handle_bytes=128, handle_type=3, f_handle=???}, O_RDONLY)");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	char *a = tail_str("/nope/a"), *b = tail_str("/nope/b"), *t = tail_str("tmpfs"), *d = tail_str("size=1k");
	line(call(SYS_mount, a, b, t, 6L, d),
	     "mount(\"/nope/a\", \"/nope/b\", \"tmpfs\", MS_NOSUID|MS_NODEV, \"size=1k\")");
	line(call(SYS_mount, a, b, t, 0x3000L, d), "mount(\"/nope/a\", \"/nope/b\", %s, MS_BIND|MS_MOVE, %s)", ptr(t),
	     ptr(d));
	line(call(SYS_mount, a, b, t, 0x21L, d),
	     "mount(\"/nope/a\", \"/nope/b\", %s, MS_RDONLY|MS_REMOUNT, \"size=1k\")", ptr(t));
	/* the kernel looks for MS_REMOUNT first; of the old magic number it drops all upper bits */
	line(call(SYS_mount, a, b, t, 0x20020L, d),
	     "mount(\"/nope/a\", \"/nope/b\", %s, MS_REMOUNT|MS_UNBINDABLE, \"size=1k\")", ptr(t));
	line(call(SYS_mount, a, b, t, 0x181020L, d),
	     "mount(\"/nope/a\", \"/nope/b\", %s, MS_REMOUNT|MS_BIND|MS_SLAVE|MS_SHARED, \"size=1k\")", ptr(t));
	line(call(SYS_mount, a, b, t, 0xc0000L, d), "mount(\"/nope/a\", \"/nope/b\", %s, MS_PRIVATE|MS_SLAVE, %s)",
	     ptr(t), ptr(d));
	line(call(SYS_mount, a, b, t, 0xc0ed0001L, d),
	     "mount(\"/nope/a\", \"/nope/b\", \"tmpfs\", MS_MGC_VAL|MS_RDONLY, \"size=1k\")");
	line(call(SYS_mount, a, b, t, 0xc0ed1000L, d), "mount(\"/nope/a\", \"/nope/b\", %s, MS_MGC_VAL|MS_BIND, %s)",
	     ptr(t), ptr(d));
	line(call(SYS_mount, NULL, b, NULL, 0x44000L, NULL), "mount(NULL, \"/nope/b\", NULL, MS_REC|MS_PRIVATE, NULL)");
	line(call(SYS_umount2, a, JUNK(2)), "umount2(\"/nope/a\", MNT_DETACH)");
	line(call(SYS_pivot_root, a, b), "pivot_root(\"/nope/a\", \"/nope/b\")");
	line(call(SYS_open_tree, JUNK(-1), tail_str("x"), JUNK(0x80001)),
	     "open_tree(-1, \"x\", OPEN_TREE_CLONE|OPEN_TREE_CLOEXEC)");
	line(call(SYS_move_mount, JUNK(-1), tail_str(""), JUNK(AT_FDCWD), b, JUNK(4)),
	     "move_mount(-1, \"\", AT_FDCWD, \"/nope/b\", MOVE_MOUNT_F_EMPTY_PATH)");
	line(call(SYS_fsopen, tail_str("no such type"), JUNK(1)), "fsopen(\"no such type\", FSOPEN_CLOEXEC)");
	line(call(SYS_fsconfig, JUNK(-1), JUNK(1), tail_str("k"), tail_str("v"), JUNK(0)),
	     "fsconfig(-1, FSCONFIG_SET_STRING, \"k\", \"v\", 0)");
	line(call(SYS_fsconfig, JUNK(-1), JUNK(2), tail_str("k"), tail_copy("\1\2", 2), JUNK(2)),
	     "fsconfig(-1, FSCONFIG_SET_BINARY, \"k\", \"\\x01\\x02\", 2)");
	line(call(SYS_fsconfig, JUNK(-1), JUNK(3), tail_str("k"), tail_str("/x"), JUNK(AT_FDCWD)),
	     "fsconfig(-1, FSCONFIG_SET_PATH, \"k\", \"/x\", AT_FDCWD)");
	line(call(SYS_fsconfig, JUNK(-1), JUNK(6), NULL, NULL, JUNK(0)),
	     "fsconfig(-1, FSCONFIG_CMD_CREATE, NULL, NULL, 0)");
	line(call(SYS_fsmount, JUNK(-1), JUNK(1), JUNK(0x2)), "fsmount(-1, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID)");
	line(call(SYS_fspick, JUNK(-1), tail_str("x"), JUNK(1)), "fspick(-1, \"x\", FSPICK_CLOEXEC)");
	uint64_t ma[4] = { 1, 2, 1 << 20, 0 };
	line(call(SYS_mount_setattr, JUNK(-1), tail_str("x"), JUNK(0x8000), tail_copy(ma, 32), 32L),
	     "mount_setattr(-1, \"x\", AT_RECURSIVE, {attr_set=MOUNT_ATTR_RDONLY, attr_clr=MOUNT_ATTR_NOSUID, "
	     "propagation=MS_SHARED, userns_fd=0}, 32)");
	void *cut = tail_alloc(31);
	line(call(SYS_mount_setattr, JUNK(-1), tail_str("x"), JUNK(0), cut, 32L), "mount_setattr(-1, \"x\", 0, %s, 32)",
	     ptr(cut));
	line(call(SYS_swapon, tail_str("nope"), JUNK(0)), "swapon(\"nope\", 0)");
	line(call(SYS_swapoff, tail_str("nope")), "swapoff(\"nope\")");

	line(call(SYS_quotactl, JUNK(0x80000700), tail_str("/nope"), JUNK(5), NULL),
	     "quotactl(QCMD(Q_GETQUOTA, USRQUOTA), \"/nope\", 5, NULL)");
	line(call(SYS_quotactl, JUNK(0x80000102), tail_str("/nope"), JUNK(5), NULL),
	     "quotactl(QCMD(Q_SYNC, PRJQUOTA), \"/nope\")");

	unsigned h[2] = { 8, 1 };
	line(call(SYS_name_to_handle_at, JUNK(-1), tail_str("x"), tail_copy(h, 8), NULL, JUNK(AT_SYMLINK_FOLLOW)),
	     "name_to_handle_at(-1, \"x\", {handle_bytes=8}, NULL, AT_SYMLINK_FOLLOW)");
	line(call(SYS_open_by_handle_at, JUNK(-1), tail_copy("\4\0\0\0\1\0\0\0\253\315\357\1", 12), JUNK(O_RDWR)),
	     "open_by_handle_at(-1, {handle_bytes=4, handle_type=1, f_handle=\"\\xab\\xcd\\xef\\x01\"}, O_RDWR)");

	aio_context_t *ctx = tail_alloc(8);
	long r = call(SYS_io_setup, JUNK(4), ctx);
	if (r == 0) {
		line(r, "io_setup(4, [0x%lx])", (unsigned long)*ctx);
		int fd = open("aio", O_RDWR | O_CREAT, 0600);
		struct iocb one = { .aio_data = 7,
				    .aio_lio_opcode = IOCB_CMD_PWRITE,
				    .aio_fildes = (unsigned)fd,
				    .aio_buf = (uintptr_t)tail_copy("hello", 5),
				    .aio_nbytes = 5,
				    .aio_offset = 3 };
		struct iocb *p = tail_copy(&one, sizeof(one));
		line(call(SYS_io_submit, *ctx, 1L, tail_copy(&p, 8)),
		     "io_submit(0x%lx, 1, [{aio_data=0x7, aio_lio_opcode=IOCB_CMD_PWRITE, "
		     "aio_fildes=%d, aio_buf=\"hello\", aio_nbytes=5, aio_offset=3}])",
		     (unsigned long)*ctx, fd);
		line(call(SYS_io_getevents, *ctx, 1L, 1L, tail_alloc(32), NULL),
		     "io_getevents(0x%lx, 1, 1, [{data=0x7, obj=%s, res=5, res2=0}], NULL)", (unsigned long)*ctx,
		     ptr(p));
		line(call(SYS_io_submit, *ctx, 1L, NULL), "io_submit(0x%lx, 1, NULL)", (unsigned long)*ctx);
		one.aio_lio_opcode = IOCB_CMD_FSYNC;
		one.aio_fildes = (unsigned)-1;
		one.aio_reqprio = (short)0xc003;
		one.aio_flags = 3;
		one.aio_resfd = 9;
		p = tail_copy(&one, sizeof(one));
		line(call(SYS_io_submit, *ctx, 1L, tail_copy(&p, 8)),
		     "io_submit(0x%lx, 1, [{aio_data=0x7, aio_lio_opcode=IOCB_CMD_FSYNC, "
		     "aio_reqprio=IOPRIO_PRIO_VALUE(0x6 /* IOPRIO_CLASS_??? */, 3), aio_fildes=-1}])", (unsigned long)*ctx);
		line(call(SYS_io_cancel, *ctx, p, NULL),
		     "io_cancel(0x%lx, {aio_data=0x7, aio_lio_opcode=IOCB_CMD_FSYNC, "
		     "aio_reqprio=IOPRIO_PRIO_VALUE(0x6 /* IOPRIO_CLASS_??? */, 3), aio_fildes=-1}, NULL)", (unsigned long)*ctx);
		one.aio_lio_opcode = IOCB_CMD_PREAD;
		one.aio_reqprio = 0;
		one.aio_flags = 0;
		one.aio_buf = 0;
		p = tail_copy(&one, sizeof(one));
		line(call(SYS_io_submit, *ctx, 1L, tail_copy(&p, 8)),
		     "io_submit(0x%lx, 1, [{aio_data=0x7, aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=-1, aio_buf=0, aio_nbytes=5, "
		     "aio_offset=3, aio_resfd=0x9}])", (unsigned long)*ctx);
		line(call(SYS_io_destroy, *ctx), "io_destroy(0x%lx)", (unsigned long)*ctx);
		unlink("aio");
	}
	handle_bytes();
	return 0;
}
