/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ioctl: terminals, files, network interfaces, numbers that nobody knows. */
#include "truth.h"
#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/socket.h>
#include <asm/ioctls.h>

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	long m = call(SYS_openat, (long)AT_FDCWD, "/dev/ptmx", (long)(O_RDWR | O_NOCTTY));
	if (m < 0)
		truth_skip("no pseudo-terminals");
	int *n = tail_alloc(4);
	long r = call(SYS_ioctl, JUNK(m), JUNK(TIOCGPTN), n);
	line(r, "ioctl(%ld, TIOCGPTN, [%d])", m, *n);
	int *zero = tail_alloc(4);
	line(call(SYS_ioctl, m, (long)TIOCSPTLCK, zero), "ioctl(%ld, TIOCSPTLCK, [0])", m);
	long s = call(SYS_ioctl, m, (long)TIOCGPTPEER, (long)(O_RDWR | O_NOCTTY));
	line(s, "ioctl(%ld, TIOCGPTPEER, 0x102)", m);

	struct termios *t = tail_alloc(sizeof(*t));
	line(call(SYS_ioctl, s, (long)TCGETS, t),
	     "ioctl(%ld, TCGETS, {c_iflag=ICRNL|IXON, c_oflag=NL0|CR0|TAB0|BS0|VT0|FF0|OPOST|ONLCR, "
	     "c_cflag=B38400|CS8|CREAD, c_lflag=ISIG|ICANON|ECHO|ECHOE|ECHOK|IEXTEN|ECHOCTL|ECHOKE, ...})",
	     s);
	t->c_lflag = 0;
	t->c_iflag = 0;
	t->c_oflag = 0;
	line(call(SYS_ioctl, s, (long)TCSETS, t),
	     "ioctl(%ld, TCSETS, {c_iflag=, c_oflag=NL0|CR0|TAB0|BS0|VT0|FF0|, c_cflag=B38400|CS8|CREAD, c_lflag=, "
	     "...})",
	     s);
	line(call(SYS_ioctl, JUNK(-1), (long)TCGETS, t), "ioctl(-1, TCGETS, %s)", ptr(t));
	struct {
		unsigned short v[4];
	} ws = { { 24, 80, 1, 2 } };
	line(call(SYS_ioctl, s, (long)TIOCSWINSZ, tail_copy(&ws, 8)),
	     "ioctl(%ld, TIOCSWINSZ, {ws_row=24, ws_col=80, ws_xpixel=1, ws_ypixel=2})", s);
	line(call(SYS_ioctl, s, (long)TIOCGWINSZ, tail_alloc(8)),
	     "ioctl(%ld, TIOCGWINSZ, {ws_row=24, ws_col=80, ws_xpixel=1, ws_ypixel=2})", s);
	line(call(SYS_ioctl, JUNK(-1), (long)TIOCGWINSZ, NULL), "ioctl(-1, TIOCGWINSZ, NULL)");
	line(call(SYS_ioctl, s, (long)FIONREAD, tail_alloc(4)), "ioctl(%ld, FIONREAD, [0])", s);
	line(call(SYS_ioctl, s, (long)TIOCOUTQ, tail_alloc(4)), "ioctl(%ld, TIOCOUTQ, [0])", s);
	line(call(SYS_ioctl, s, (long)TCFLSH, 2L), "ioctl(%ld, TCFLSH, TCIOFLUSH)", s);
	line(call(SYS_ioctl, s, (long)TCXONC, 1L), "ioctl(%ld, TCXONC, TCOON)", s);
	line(call(SYS_ioctl, s, (long)TCSBRK, 1L), "ioctl(%ld, TCSBRK, 1)", s);
	line(call(SYS_ioctl, s, (long)TIOCEXCL), "ioctl(%ld, TIOCEXCL)", s);
	int *one = tail_copy((int[]){ 1 }, 4);
	line(call(SYS_ioctl, s, (long)FIONBIO, one), "ioctl(%ld, FIONBIO, [1])", s);
	line(call(SYS_ioctl, s, (long)FIOCLEX), "ioctl(%ld, FIOCLEX)", s);
	line(call(SYS_ioctl, JUNK(-1), (long)TIOCSPGRP, tail_copy((int[]){ 5 }, 4)), "ioctl(-1, TIOCSPGRP, [5])");
	line(call(SYS_ioctl, JUNK(-1), (long)TIOCSCTTY, 1L), "ioctl(-1, TIOCSCTTY, 1)");

	line(call(SYS_ioctl, JUNK(-1), (long)FICLONE, 5L), "ioctl(-1, BTRFS_IOC_CLONE or FICLONE, 5)");
	long fr[4] = { 5, 1, 2, 3 };
	line(call(SYS_ioctl, JUNK(-1), (long)FICLONERANGE, tail_copy(fr, 32)),
	     "ioctl(-1, BTRFS_IOC_CLONE_RANGE or FICLONERANGE, {src_fd=5, src_offset=1, src_length=2, dest_offset=3})");
	line(call(SYS_ioctl, JUNK(-1), (long)FS_IOC_SETFLAGS, tail_copy((int[]){ 0x30 }, 4)),
	     "ioctl(-1, FS_IOC_SETFLAGS, [FS_IMMUTABLE_FL|FS_APPEND_FL])");
	line(call(SYS_ioctl, JUNK(-1), (long)FITRIM, tail_copy(fr, 24)),
	     "ioctl(-1, FITRIM, {start=0x5, len=1, minlen=2})");
	line(call(SYS_ioctl, JUNK(-1), (long)BLKGETSIZE64, NULL), "ioctl(-1, BLKGETSIZE64, NULL)");

	long k = call(SYS_socket, (long)AF_INET, (long)SOCK_DGRAM, 0L);
	struct ifreq ifr = { .ifr_name = "lo" };
	r = call(SYS_ioctl, k, (long)SIOCGIFINDEX, tail_copy(&ifr, sizeof(ifr)));
	if (r == 0) {
		line(r, "ioctl(%ld, SIOCGIFINDEX, {ifr_name=\"lo\", ifr_ifindex=1})", k);
		line(call(SYS_ioctl, k, (long)SIOCGIFHWADDR, tail_copy(&ifr, sizeof(ifr))),
		     "ioctl(%ld, SIOCGIFHWADDR, {ifr_name=\"lo\", ifr_hwaddr={sa_family=ARPHRD_LOOPBACK, "
		     "sa_data=00:00:00:00:00:00}})",
		     k);
	}
	strcpy(ifr.ifr_name, "nope");
	line(call(SYS_ioctl, k, (long)SIOCGIFMTU, tail_copy(&ifr, sizeof(ifr))),
	     "ioctl(%ld, SIOCGIFMTU, {ifr_name=\"nope\"})", k);

	line(call(SYS_ioctl, JUNK(-1), JUNK(0xc0049901), fr),
	     "ioctl(-1, _IOC(_IOC_READ|_IOC_WRITE, 0x99, 0x1, 0x4), %s)", ptr(fr));
	line(call(SYS_ioctl, JUNK(-1), JUNK(0x5499), 0L), "ioctl(-1, _IOC(_IOC_NONE, 0x54, 0x99, 0), 0)");
	return 0;
}
