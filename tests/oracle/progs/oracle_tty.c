/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: terminals and other ioctls. */
#include <fcntl.h>
#include <linux/input.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int main(void)
{
	struct termios t;
	struct winsize w;
	int n = 0;

	int m = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	ioctl(m, TIOCSPTLCK, &n);
	ioctl(m, TIOCGPTN, &n);
	ioctl(m, TCGETS, &t);
	ioctl(m, TIOCGWINSZ, &w);
	w.ws_row = 24;
	ioctl(m, TIOCSWINSZ, &w);
	ioctl(m, TIOCGPGRP, &n);
	ioctl(m, FIONREAD, &n);
	ioctl(m, FIONBIO, &n);
	ioctl(m, TCFLSH, TCIOFLUSH);
	ioctl(m, 0x12345678, 7);
	ioctl(-1, TIOCSCTTY, 0);
	int f = open("/dev/null", O_RDWR);
	ioctl(f, FIONREAD, &n);
	/* A code and a size within the number. */
	ioctl(f, EVIOCGBIT(0, 8), &t);
	ioctl(f, EVIOCGBIT(EV_KEY, 32), &t);
	ioctl(f, EVIOCGBIT(0x1d, 8), &t);
	ioctl(f, EVIOCGABS(ABS_MT_SLOT), &t);
	ioctl(f, EVIOCGNAME(16), &t);
	ioctl(f, FIOCLEX);
	return 0;
}
