/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -e read= and -e write=: the bytes of calls below their lines, also of those that fail to write, and of several messages. */
#include "truth.h"
#include <sys/socket.h>
#include <sys/uio.h>
#include <fcntl.h>

#define IN 140
#define OUT 141
#define CLOSED 142

static void dump(const char *hex, const char *bytes)
{
	text(" | 00000  %-49s %-16s |", hex, bytes);
}

int main(int argc, char **argv)
{
	char got[2][8] = { "", "" };
	int pair[2];

	truth_begin(argc, argv, "-e read=140 -e write=141,142 -e trace=write,read,pwritev,sendmmsg,recvmmsg");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || dup2(pair[0], IN) != IN || dup2(pair[1], OUT) != OUT)
		return 1;
	line(call(SYS_write, JUNK(CLOSED), tail_copy("hello", 5), 5L), "write(142, \"hello\", 5)");
	dump("68 65 6c 6c 6f", "hello");
	struct iovec v[3] = { { "ab", 2 }, { "c", 1 }, { "defg", 4 } };
	line(call(SYS_pwritev, JUNK(CLOSED), v, 2L, 0L, 0L), "pwritev(142, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"c\", iov_len=1}], 2, 0)");
	text(" * 2 bytes in buffer 0");
	dump("61 62", "ab");
	text(" * 1 bytes in buffer 1");
	dump("63", "c");
	/* nothing of a vector that cannot be read as a whole */
	struct iovec *torn = tail_copy(v, sizeof(v[0]));

	line(call(SYS_pwritev, JUNK(CLOSED), torn, 2L, 0L, 0L),
	     "pwritev(142, [{iov_base=\"ab\", iov_len=2}, ... /* %p */], 2, 0)", (void *)(torn + 1));
	struct mmsghdr out[2] = { { .msg_hdr = { .msg_iov = v, .msg_iovlen = 2 } }, { .msg_hdr = { .msg_iov = v + 2, .msg_iovlen = 1 } } };
	line(call(SYS_sendmmsg, JUNK(OUT), out, 2L, 0L),
	     "sendmmsg(141, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"ab\", iov_len=2}, {iov_base=\"c\", iov_len=1}], "
	     "msg_iovlen=2, msg_controllen=0, msg_flags=0}, msg_len=3}, {msg_hdr={msg_name=NULL, msg_namelen=0, "
	     "msg_iov=[{iov_base=\"defg\", iov_len=4}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=4}], 2, 0)");
	text(" = 2 buffers in vector 0");
	text(" * 2 bytes in buffer 0");
	dump("61 62", "ab");
	text(" * 1 bytes in buffer 1");
	dump("63", "c");
	text(" = 1 buffers in vector 1");
	text(" * 4 bytes in buffer 0");
	dump("64 65 66 67", "defg");
	line(call(SYS_sendmmsg, JUNK(CLOSED), out, 1L, 0L),
	     "sendmmsg(142, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"ab\", iov_len=2}, {iov_base=\"c\", iov_len=1}], "
	     "msg_iovlen=2, msg_controllen=0, msg_flags=0}}], 1, 0)");
	struct iovec w[2] = { { got[0], 8 }, { got[1], 8 } };
	struct mmsghdr in[1] = { { .msg_hdr = { .msg_iov = w, .msg_iovlen = 2 } } };
	call(SYS_recvmmsg, JUNK(IN), in, 1L, (long)MSG_DONTWAIT, NULL);
	text("recvmmsg(140, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"abc\", iov_len=8}, {iov_base=\"\", iov_len=8}], "
	     "msg_iovlen=2, msg_controllen=0, msg_flags=0}, msg_len=3}], 1, MSG_DONTWAIT, NULL) = 1");
	text(" = 2 buffers in vector 0");
	text(" * 3 bytes in buffer 0");
	dump("61 62 63", "abc");
	line(call(SYS_read, JUNK(IN), got[0], 8L), "read(140, \"defg\", 8)");
	dump("64 65 66 67", "defg");
	return 0;
}
