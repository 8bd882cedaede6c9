/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several messages in one call: names, times, and the dumps of their buffers. */
#include <fcntl.h>
#include <mqueue.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "truth.h"

#define TO 100
#define FROM 101
#define QUEUE 102

static struct iovec *buffers(unsigned cnt, const char *const *words, size_t size)
{
	struct iovec *vec = tail_alloc(cnt * sizeof(*vec));

	for (unsigned i = 0; i < cnt; i++)
		vec[i] = words ? (struct iovec){ tail_copy(words[i], strlen(words[i])), strlen(words[i]) } :
				 (struct iovec){ tail_alloc(size), size };
	return vec;
}

static void send_two(void)
{
	static const char *const words[] = { "one", "two", "three" };
	struct mmsghdr *all = tail_alloc(3 * sizeof(*all));

	all[0].msg_hdr = (struct msghdr){ .msg_iov = buffers(2, words, 0), .msg_iovlen = 2 };
	all[1].msg_hdr = (struct msghdr){ .msg_iov = buffers(1, words + 2, 0), .msg_iovlen = 1 };
	line(call(SYS_sendmmsg, (long)TO, all, 2L, 0L),
	     "sendmmsg(100, [{msg_hdr={msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"one\", iov_len=3}, {iov_base=\"two\", iov_len=3}], "
	     "msg_iovlen=2, msg_controllen=0, msg_flags=0}, msg_len=6}, {msg_hdr={msg_name=NULL, msg_namelen=0, "
	     "msg_iov=[{iov_base=\"three\", iov_len=5}], msg_iovlen=1, msg_controllen=0, msg_flags=0}, msg_len=5}], 2, 0)");
	text(" = 2 buffers in vector 0");
	text(" * 3 bytes in buffer 0");
	text(" | 00000  6f 6e 65                                          one              |");
	text(" * 3 bytes in buffer 1");
	text(" | 00000  74 77 6f                                          two              |");
	text(" = 1 buffers in vector 1");
	text(" * 5 bytes in buffer 0");
	text(" | 00000  74 68 72 65 65                                    three            |");
}

/* What the caller had room for stands in front of the length that a name has; the time is the one that it gave. */
static void receive_one(void)
{
	struct mmsghdr *all = tail_alloc(2 * sizeof(*all));
	void *name = tail_alloc(2), *zero = tail_alloc(2 * sizeof(long));

	all[0].msg_len = 7;
	all[0].msg_hdr = (struct msghdr){ .msg_name = name, .msg_namelen = 1, .msg_iov = buffers(2, NULL, 4), .msg_iovlen = 2 };
	line(call(SYS_recvmmsg, -1L, all, 1L, 0L, NULL), "recvmmsg(-1, %s, 1, 0, NULL)", ptr(all));
	const long ret = call(SYS_recvmmsg, (long)FROM, all, 1L, JUNK(MSG_DONTWAIT), zero);
	text("recvmmsg(101, [{msg_hdr={msg_name=%s, msg_namelen=1 => 0, msg_iov=[{iov_base=\"onet\", iov_len=4}, {iov_base=\"wo\", iov_len=4}], "
	     "msg_iovlen=2, msg_controllen=0, msg_flags=0}, msg_len=6}], 1, MSG_DONTWAIT, {tv_sec=0, tv_nsec=0}) = %ld (left {tv_sec=0, tv_nsec=0})",
	     ptr(name), ret);
	text(" = 2 buffers in vector 0");
	text(" * 4 bytes in buffer 0");
	text(" | 00000  6f 6e 65 74                                       onet             |");
	text(" * 2 bytes in buffer 1");
	text(" | 00000  77 6f                                             wo               |");
}

/* A call that gives 0 has moved bytes, too. */
static void queue(void)
{
	struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 64 };
	char name[32];

	snprintf(name, sizeof(name), "/espy-%d", getpid());
	const int fd = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	if (fd < 0)
		return;
	mq_unlink(name);
	dup2(fd, QUEUE);
	line(call(SYS_mq_timedsend, (long)QUEUE, tail_copy("hello", 5), 5L, 1L, NULL), "mq_timedsend(102, \"hello\", 5, 1, NULL)");
	text(" | 00000  68 65 6c 6c 6f                                    hello            |");
}

int main(int argc, char **argv)
{
	int two[2];

	truth_begin(argc, argv, "-e trace=sendmmsg,recvmmsg,mq_timedsend,writev,write -e write=100,102 -e read=101 -s 8");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, two))
		truth_skip("no sockets here");
	dup2(two[0], TO);
	dup2(two[1], FROM);
	send_two();
	receive_one();
	queue();
	/* of memory that ends behind what is shown the beginning is shown */
	char *p = tail_copy("abcdefghijklmnop", 16);
	line(call(SYS_mq_timedsend, -1L, p, 64L, 1L, NULL), "mq_timedsend(-1, \"abcdefgh\"..., 64, 1, NULL)");
	return 0;
}
