/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands of devices that are not there, with bytes of one value in place of each struct, and with structs whose end
 * cannot be read. The second half succeeds: a filter of the program's own answers each ioctl with 0, and memory stays
 * as it was.
 */
#include "truth.h"
#include <linux/blktrace_api.h>
#include <linux/btrfs.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/gpio.h>
#include <linux/input.h>
#include <linux/random.h>
#include <linux/sockios.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <linux/videodev2.h>
#include <mtd/mtd-user.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

static const struct ask {
	unsigned long cmd;
	const char *name;
	uint8_t byte;	  /* of which the struct consists */
	size_t size;	  /* bytes that can be read */
	const char *text; /* "@" followed by a number: the address so many bytes behind the first one */
} asks[] = {
	{ 0x3d13, "PTP_MASK_CLEAR_ALL", 0, 8, "" },
	{ 0x40043d14, "PTP_MASK_EN_SINGLE", 1, 4, ", [16843009]" },
	{ SIOCSIFADDR, "SIOCSIFADDR", 0, 40, ", {ifr_name=\"\", ifr_addr={sa_family=AF_UNSPEC, sa_data=\"\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\"}}" },
	{ SIOCBRADDIF, "SIOCBRADDIF", 0xff, 40, ", {ifr_ifindex=4294967295}" },
	{ MEMREADOOB64, "MEMREADOOB64", 0, 24, ", {start=0, length=0, usr_ptr=NULL}" },
	{ MEMWRITE, "MEMWRITE", 0, 48, ", {start=0, len=0, ooblen=0, usr_data=NULL, usr_oob=NULL, mode=MTD_OPS_PLACE_OOB}" },
	{ SECCOMP_IOCTL_NOTIF_SEND, "SECCOMP_IOCTL_NOTIF_SEND", 0xff, 24,
	  ", {id=0xffffffffffffffff, val=-1, error=-EPERM, flags=SECCOMP_USER_NOTIF_FLAG_CONTINUE|0xfffffffe}" },
	{ RNDADDENTROPY, "RNDADDENTROPY", 1, 8, ", {entropy_count=16843009, buf_size=16843009, buf=@8}" },
	{ RNDADDENTROPY, "RNDADDENTROPY", 1, 7, ", @0" },
	{ FIDEDUPERANGE, "BTRFS_IOC_FILE_EXTENT_SAME or FIDEDUPERANGE", 1, 24,
	  ", {src_offset=72340172838076673, src_length=72340172838076673, dest_count=257, info=@24}" },
	{ FIDEDUPERANGE, "BTRFS_IOC_FILE_EXTENT_SAME or FIDEDUPERANGE", 1, 23, ", @0" },
	{ GPIOHANDLE_SET_CONFIG_IOCTL, "GPIOHANDLE_SET_CONFIG_IOCTL", 1, 83, ", @0" },
	{ GPIO_V2_GET_LINEINFO_IOCTL, "GPIO_V2_GET_LINEINFO_IOCTL", 1, 256, ", {offset=16843009}" },
	{ VIDIOC_G_FMT, "VIDIOC_G_FMT", 1, 207, ", @0" },
	{ VIDIOC_G_PARM, "VIDIOC_G_PARM", 1, 203, ", @0" },
	{ VIDIOC_CREATE_BUFS, "VIDIOC_CREATE_BUFS", 1, 255, ", @0" },
	{ VIDIOC_ENUM_FRAMESIZES, "VIDIOC_ENUM_FRAMESIZES", 1, 43, ", @0" },
	{ VIDIOC_QUERYCTRL, "VIDIOC_QUERYCTRL", 0, 68, ", {id=0 /* V4L2_CID_??? */}" },
	{ VIDIOC_S_EXT_CTRLS, "VIDIOC_S_EXT_CTRLS", 0xff, 32,
	  ", {ctrl_class=0xffffffff /* V4L2_CTRL_CLASS_??? */, count=4294967295, controls=0xffffffffffffffff}" },
	{ FS_IOC_SETFSLABEL, "FS_IOC_SETFSLABEL", 'a', 255, ", @0" },
	{ UFFDIO_API, "UFFDIO_API", 1, 24,
	  ", {api=0x101010101010101, features=UFFD_FEATURE_PAGEFAULT_FLAG_WP|UFFD_FEATURE_THREAD_ID|UFFD_FEATURE_MOVE|0x101010101000000}" },
	{ BLKTRACESETUP, "BLKTRACESETUP", 0xff, 72,
	  ", {act_mask=65535, buf_size=4294967295, buf_nr=4294967295, start_lba=18446744073709551615, "
	  "end_lba=18446744073709551615, pid=-1}" },
	/* names that no header of this machine's kind has */
	{ 0xae06, "_IOC(_IOC_NONE, 0xae, 0x6, 0)", 0, 8, ", @0" },
	{ 0x89e1, "_IOC(_IOC_NONE, 0x89, 0xe1, 0)", 0, 8, ", @0" },
}, answers[] = {
	{ FS_IOC_FIEMAP, "FS_IOC_FIEMAP", 0, 32,
	  ", {fm_start=0, fm_length=0, fm_flags=0, fm_extent_count=0} => {fm_flags=0, fm_mapped_extents=0, ...}" },
	{ UFFDIO_API, "UFFDIO_API", 0, 24, ", {api=0, features=0, ioctls=0}" },
	{ UFFDIO_REGISTER, "UFFDIO_REGISTER", 0xff, 32,
	  ", {range={start=0xffffffffffffffff, len=0xffffffffffffffff}, "
	  "mode=UFFDIO_REGISTER_MODE_MISSING|UFFDIO_REGISTER_MODE_WP|UFFDIO_REGISTER_MODE_MINOR|0xfffffffffffffff8, "
	  "ioctls=1<<_UFFDIO_WAKE|1<<_UFFDIO_COPY|1<<_UFFDIO_ZEROPAGE|1<<_UFFDIO_MOVE|1<<_UFFDIO_WRITEPROTECT|1<<_UFFDIO_CONTINUE|"
	  "1<<_UFFDIO_POISON|0xfffffffffffffe03}" },
	{ SECCOMP_IOCTL_NOTIF_RECV, "SECCOMP_IOCTL_NOTIF_RECV", 0, 80,
	  ", {id=0, pid=0, flags=0, data={nr=0, arch=0 /* AUDIT_ARCH_??? */, instruction_pointer=NULL, args=[0, 0, 0, 0, 0, 0]}}" },
	{ EVIOCGID, "EVIOCGID", 1, 8, ", {bustype=257, vendor=257, product=257, version=257}" },
	{ BLKTRACESETUP, "BLKTRACESETUP", 0, 72,
	  ", {act_mask=0, buf_size=0, buf_nr=0, start_lba=0, end_lba=0, pid=0, name=\"\"}" },
	{ BTRFS_IOC_GET_DEV_STATS, "BTRFS_IOC_GET_DEV_STATS", 0, 1032,
	  ", {devid=makedev(0, 0), nr_items=0, flags=0} => {nr_items=0, flags=0, []}" },
	{ BTRFS_IOC_TREE_SEARCH_V2, "BTRFS_IOC_TREE_SEARCH_V2", 0, 112,
	  ", {key={tree_id=0, min_objectid=0, max_objectid=0, min_offset=0, max_offset=0, min_transid=0, max_transid=0, min_type=0, "
	  "max_type=0, nr_items=0}, buf_size=0} => {key={nr_items=0}, buf_size=0, ...}" },
};

static void make(const struct ask *a)
{
	uint8_t *p = tail_alloc(a->size);
	char text[1024];
	const char *at = strchr(a->text, '@');

	memset(p, a->byte, a->size);
	if (at) {
		char *end;
		const unsigned long off = strtoul(at + 1, &end, 10);

		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - a->text), a->text, ptr(p + off), end);
	} else {
		strcpy(text, a->text);
	}
	line(call(SYS_ioctl, JUNK(-1), a->cmd, p), "ioctl(-1, %s%s)", a->name, text);
}

/* From here on each ioctl returns 0, and does nothing. */
static void answer_all(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(rules) / sizeof(*rules), rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		truth_skip("no seccomp filters here");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-e trace=ioctl");
	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++)
		make(&asks[i]);
	answer_all();
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
		make(&answers[i]);
	return 0;
}
