/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where structures stay addresses, no note tells what is in them. */
#include <sys/socket.h>
#include "truth.h"

int main(int argc, char **argv)
{
	struct mmsghdr *one = tail_alloc(sizeof(*one));
	void *zero = tail_alloc(2 * sizeof(long));
	int two[2];

	truth_begin(argc, argv, "-e verbose=none -e trace=recvmmsg");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, two) || send(two[0], "x", 1, 0) != 1)
		truth_skip("no sockets here");
	line(call(SYS_recvmmsg, (long)two[1], one, 1L, JUNK(MSG_DONTWAIT), zero), "recvmmsg(%d, %s, 1, MSG_DONTWAIT, %s)", two[1], ptr(one),
	     ptr(zero));
	return 0;
}
