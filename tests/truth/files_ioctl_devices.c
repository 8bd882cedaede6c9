/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands of devices that need not be there: the arguments are shown although the descriptor is closed. */
#include "truth.h"
#include <linux/btrfs.h>
#include <linux/dm-ioctl.h>
#include <linux/gpio.h>
#include <linux/hdreg.h>
#include <linux/input.h>
#include <linux/kd.h>
#include <linux/kvm.h>
#include <linux/loop.h>
#include <linux/tee.h>
#include <linux/videodev2.h>
#include <mtd/mtd-user.h>
#include <mtd/ubi-user.h>
#include <signal.h>
#include <sys/ioctl.h>

/* Asks a closed descriptor for CMD with N bytes that end at the end of memory; TEXT is the argument as it is shown. */
static void ask(unsigned long cmd, const char *name, const void *bytes, size_t n, const char *text)
{
	char all[2048];

	snprintf(all, sizeof(all), "ioctl(-1, %s%s%s)", name, *text ? ", " : "", text);
	line(call(SYS_ioctl, -1L, cmd, n ? tail_copy(bytes, n) : bytes), "%s", all);
}

#define ASK(cmd, obj, text) ask(cmd, #cmd, &(obj), sizeof(obj), text)
#define ASK_NUMBER(cmd, n, text) ask(cmd, #cmd, (const void *)(unsigned long)(n), 0, text)

static void consoles(void)
{
	struct kbentry e = { 1, 2, 0x0104 };
	struct kbkeycode k = { 0x10, 0x20 };
	struct kbd_repeat r = { 250, -1 };
	struct kbsentry s = { 3, "hello" };
	struct unimapinit u = { 1, 2, 3 };
	struct console_font_op f = { KD_FONT_OP_GET, 1, 8, 16, 256, (void *)0x1234 };

	ASK(KDSKBENT, e, "{kb_table=K_SHIFTTAB, kb_index=2, kb_value=0x104 /* K_F5 */}");
	ASK(KDSETKEYCODE, k, "{scancode=0x10, keycode=0x20}");
	ASK(KDKBDREP, r, "{delay=250, period=-1}");
	ASK(KDSKBSENT, s, "{kb_func=KVAL(K_F4), kb_string=\"hello\"}");
	ASK(PIO_UNIMAPCLR, u, "{advised_hashsize=1, advised_hashstep=2, advised_hashlevel=3}");
	ASK(KDFONTOP, f,
	    "{op=KD_FONT_OP_GET, flags=KD_FONT_FLAG_DONT_RECALC, width=8, height=16, charcount=256, data=0x1234}");
	f.op = KD_FONT_OP_COPY;
	ASK(KDFONTOP, f, "{op=KD_FONT_OP_COPY, height=16}");
	ASK_NUMBER(KDSKBMODE, -2, "-2 /* K_??? */");
	ASK_NUMBER(KDSIGACCEPT, SIGTERM, "SIGTERM");
}

static void flash(void)
{
	struct erase_info_user e = { 1, 2 };
	struct mtd_oob_buf64 o = { 1, 0, 2, 0x8000 };
	struct mtd_write_req w = { .start = 1, .len = 2, .usr_data = 4, .usr_oob = 5, .mode = MTD_OPS_RAW };
	struct ubi_rsvol_req s = { 4096, 3 };
	int32_t leb = 7;

	ask(MEMERASE, "MIXER_WRITE(2) or MEMERASE", &e, sizeof(e), "{start=0x1, length=0x2}");
	ASK(MEMWRITEOOB64, o, "{start=0x1, length=0x2, usr_ptr=0x8000}");
	ASK(MEMWRITE, w, "{start=0x1, len=0x2, ooblen=0, usr_data=0x4, usr_oob=0x5, mode=MTD_OPS_RAW}");
	ASK(UBI_IOCRSVOL, s, "{bytes=4096, vol_id=3}");
	ASK(UBI_IOCEBER, leb, "[7]");
}

static void disks(void)
{
	unsigned char cmd[4] = { 0xec, 1, 2, 3 };

	ASK(HDIO_DRIVE_CMD, cmd, "{command=ATA_CMD_ID_ATA, sector_number=1, feature=2, sector_count=3}");
	ASK_NUMBER(HDIO_SET_MULTCOUNT, 16, "16");
	ASK_NUMBER(HDIO_SET_BUSSTATE, BUSSTATE_TRISTATE, "BUSSTATE_TRISTATE");
	ASK_NUMBER(HDIO_GET_DMA, 0, "NULL");
}

static void gpio(void)
{
	struct gpiohandle_request h = { .lineoffsets = { 18, 35, 52 }, .flags = 0x14, .default_values = { 0, 1, 6 },
					.consumer_label = "line consumer", .lines = 3 };
	struct gpioline_info i = { .line_offset = 50 };
	struct gpio_v2_line_values v = { .bits = 1, .mask = 3 };

	ASK(GPIO_GET_LINEHANDLE_IOCTL, h,
	    "{lines=3, lineoffsets=[18, 35, 52], flags=GPIOHANDLE_REQUEST_ACTIVE_LOW|GPIOHANDLE_REQUEST_OPEN_SOURCE, "
	    "default_values=[0, 1, 6], consumer_label=\"line consumer\"}");
	ASK(GPIO_GET_LINEINFO_IOCTL, i, "{line_offset=50}");
	ASK(GPIO_V2_LINE_GET_VALUES_IOCTL, v, "{mask=0x3}");
	ASK_NUMBER(GPIO_GET_CHIPINFO_IOCTL, 0, "NULL");
}

static void mapper(void)
{
	struct dm_ioctl d = { .version = { 4, 1, 2 }, .data_size = 305, .dev = 0x1234, .name = "nnn", .uuid = "uuu" };

	ASK(DM_DEV_REMOVE, d,
	    "[{version=[4, 1, 2], data_size=305, dev=makedev(0x12, 0x34), name=\"nnn\", uuid=\"uuu\", event_nr=0, flags=0}]");
	ASK(DM_LIST_DEVICES, d, "[{version=[4, 1, 2], data_size=305, data_start=0, flags=0}]");
	d.data_size = 14;
	ASK(DM_VERSION, d, "[{version=[4, 1, 2], data_size=14 /* data_size too small */}]");
	d.version[0] = 9;
	ASK(DM_VERSION, d, "[{version=[9, 1, 2] /* unsupported device mapper ABI version */}]");
}

static void btrfs(void)
{
	struct btrfs_ioctl_qgroup_create_args q = { 1, 2 };
	struct btrfs_ioctl_received_subvol_args r = { .uuid = { 1, 2, 3 }, .stransid = 5 };
	uint64_t flags = BTRFS_SUBVOL_RDONLY;

	ASK_NUMBER(BTRFS_IOC_SYNC, 7, "");
	ASK_NUMBER(BTRFS_IOC_FS_INFO, 0, "NULL");
	ASK(BTRFS_IOC_QGROUP_CREATE, q, "{create=1, qgroupid=2}");
	ASK(BTRFS_IOC_SUBVOL_SETFLAGS, flags, "BTRFS_SUBVOL_RDONLY");
	ASK(BTRFS_IOC_SET_RECEIVED_SUBVOL, r,
	    "{uuid=01020300-0000-0000-0000-000000000000, stransid=5, stime={sec=0, nsec=0}, flags=0}");
}

static void others(void)
{
	struct loop_info64 l = { .lo_encrypt_type = 0xafaeadac, .lo_encrypt_key_size = 1, .lo_flags = 0xdec0de00 };
	struct tee_ioctl_cancel_arg c = { 1, 2 };
	struct kvm_regs g = { .rax = 2, .rip = 0x1000, .rflags = 2 };

	ASK(LOOP_SET_STATUS64, l,
	    "{lo_offset=0, lo_number=0, lo_encrypt_type=0xafaeadac /* LO_CRYPT_??? */, lo_encrypt_key_size=1, "
	    "lo_flags=0xdec0de00 /* LO_FLAGS_??? */, lo_file_name=\"\", lo_crypt_name=\"\", lo_encrypt_key=\"\\0\", ...}");
	ASK(TEE_IOC_CANCEL, c, "{cancel_id=1, session=0x2}");
	ASK(KVM_SET_REGS, g, "{rax=0x2, ..., rsp=0, rbp=0, ..., rip=0x1000, rflags=0x2}");
	ASK_NUMBER(KVM_CHECK_EXTENSION, KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY");
}

/* Formats of each kind of stream share their room. */
static void video_formats(void)
{
	struct v4l2_format f = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };

	f.fmt.pix.width = 640;
	f.fmt.pix.pixelformat = V4L2_PIX_FMT_MJPEG;
	f.fmt.pix.field = V4L2_FIELD_INTERLACED_BT;
	ASK(VIDIOC_S_FMT, f,
	    "{type=V4L2_BUF_TYPE_VIDEO_CAPTURE, fmt.pix={width=640, height=0, pixelformat=v4l2_fourcc('M', 'J', 'P', 'G')"
	    " /* V4L2_PIX_FMT_MJPEG */, field=V4L2_FIELD_INTERLACED_BT, bytesperline=0, sizeimage=0,"
	    " colorspace=V4L2_COLORSPACE_DEFAULT}}");
	ASK(VIDIOC_G_FMT, f, "{type=V4L2_BUF_TYPE_VIDEO_CAPTURE}");
	f.fmt.pix.pixelformat = 0x015c2741;
	f.fmt.pix.colorspace = 99;
	ASK(VIDIOC_TRY_FMT, f,
	    "{type=V4L2_BUF_TYPE_VIDEO_CAPTURE, fmt.pix={width=640, height=0, pixelformat=v4l2_fourcc('A', '\\'', '\\\\', '\\x01'),"
	    " field=V4L2_FIELD_INTERLACED_BT, bytesperline=0, sizeimage=0, colorspace=0x63 /* V4L2_COLORSPACE_??? */}}");
	f = (struct v4l2_format){ .type = V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE };
	f.fmt.pix_mp.num_planes = 2;
	f.fmt.pix_mp.plane_fmt[1].bytesperline = 77;
	ASK(VIDIOC_S_FMT, f,
	    "{type=V4L2_BUF_TYPE_VIDEO_OUTPUT_MPLANE, fmt.pix_mp={width=0, height=0, pixelformat=v4l2_fourcc('\\x00', '\\x00', '\\x00', '\\x00'),"
	    " field=V4L2_FIELD_ANY, colorspace=V4L2_COLORSPACE_DEFAULT, plane_fmt=[{sizeimage=0, bytesperline=0}, {sizeimage=0, bytesperline=77}],"
	    " num_planes=2}}");
	f = (struct v4l2_format){ .type = V4L2_BUF_TYPE_SLICED_VBI_CAPTURE };
	f.fmt.sliced.service_set = V4L2_SLICED_VPS | 2;
	f.fmt.sliced.io_size = 9;
	ASK(VIDIOC_S_FMT, f,
	    "{type=V4L2_BUF_TYPE_SLICED_VBI_CAPTURE, fmt.sliced={service_set=V4L2_SLICED_VPS|0x2,"
	    " service_lines=[[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],"
	    " [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], io_size=9}}");
	f = (struct v4l2_format){ .type = V4L2_BUF_TYPE_META_OUTPUT };
	ASK(VIDIOC_S_FMT, f,
	    "{type=V4L2_BUF_TYPE_META_OUTPUT, fmt.meta={dataformat=v4l2_fourcc('\\x00', '\\x00', '\\x00', '\\x00'), buffersize=0}}");
	f.type = 77;
	ASK(VIDIOC_S_FMT, f, "{type=0x4d /* V4L2_BUF_TYPE_??? */}");
}

static void video(void)
{
	struct v4l2_streamparm p = { .type = V4L2_BUF_TYPE_VIDEO_OUTPUT };
	struct v4l2_tuner t = { .index = 1, .name = "radio", .type = V4L2_TUNER_RADIO, .capability = V4L2_TUNER_CAP_RDS, .afc = -5 };
	struct v4l2_buffer b = { .index = 3, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP };
	struct v4l2_frmivalenum i = { .index = 1, .pixel_format = V4L2_PIX_FMT_YUYV, .width = 64, .height = 48 };
	struct v4l2_queryctrl q = { .id = V4L2_CTRL_FLAG_NEXT_CTRL | V4L2_CID_BRIGHTNESS };
	struct v4l2_create_buffers c = { .count = 2, .memory = V4L2_MEMORY_DMABUF, .format = { .type = 77 } };
	struct v4l2_ext_control e[] = { { .id = V4L2_CID_CONTRAST, .value = -3 } };
	struct v4l2_ext_controls x = { .ctrl_class = V4L2_CTRL_CLASS_USER, .count = 1, .controls = e };

	video_formats();
	p.parm.output.capability = V4L2_CAP_TIMEPERFRAME;
	p.parm.output.timeperframe = (struct v4l2_fract){ 1, 30 };
	ASK(VIDIOC_S_PARM, p,
	    "{type=V4L2_BUF_TYPE_VIDEO_OUTPUT, parm.output={capability=V4L2_CAP_TIMEPERFRAME, outputmode=0, timeperframe=1/30, extendedmode=0, writebuffers=0}}");
	ASK(VIDIOC_G_PARM, p, "{type=V4L2_BUF_TYPE_VIDEO_OUTPUT}");
	ASK(VIDIOC_S_TUNER, t,
	    "{index=1, name=\"radio\", type=V4L2_TUNER_RADIO, capability=V4L2_TUNER_CAP_RDS, rangelow=0, rangehigh=0, rxsubchans=0,"
	    " audmode=V4L2_TUNER_MODE_MONO, signal=0, afc=-5}");
	ASK(VIDIOC_G_TUNER, t, "{index=1}");
	ASK(VIDIOC_QBUF, b, "{type=V4L2_BUF_TYPE_VIDEO_CAPTURE, index=3}");
	ASK(VIDIOC_DQBUF, b, "{type=V4L2_BUF_TYPE_VIDEO_CAPTURE}");
	ASK(VIDIOC_ENUM_FRAMEINTERVALS, i,
	    "{index=1, pixel_format=v4l2_fourcc('Y', 'U', 'Y', 'V') /* V4L2_PIX_FMT_YUYV */, width=64, height=48}");
	ASK(VIDIOC_QUERYCTRL, q, "{id=V4L2_CTRL_FLAG_NEXT_CTRL|V4L2_CID_BRIGHTNESS}");
	ASK(VIDIOC_CREATE_BUFS, c, "{count=2, memory=V4L2_MEMORY_DMABUF, format={type=0x4d /* V4L2_BUF_TYPE_??? */}}");
	ASK(VIDIOC_G_EXT_CTRLS, x,
	    "{ctrl_class=V4L2_CTRL_CLASS_USER, count=1, controls=[{id=V4L2_CID_CONTRAST, size=0, value=-3, value64=4294967293}], error_idx=0}");
	ASK_NUMBER(VIDIOC_S_FMT, 0, "NULL");
}

static void keys(void)
{
	uint32_t old[2] = { 3, KEY_B };
	struct input_keymap_entry e = { .flags = 1, .len = 4 };

	ASK(EVIOCSKEYCODE, old, "[3, KEY_B]");
	ASK(EVIOCSKEYCODE_V2, e, "{flags=1, len=4, ...}");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	consoles();
	flash();
	disks();
	gpio();
	mapper();
	btrfs();
	video();
	keys();
	others();
	return 0;
}
