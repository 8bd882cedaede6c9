/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of the 32-bit table, from a 64-bit program: numbers of 64 bits lie in two registers, times have 64 bits, a long has 32. */
#include <setjmp.h>
#include <signal.h>
#include "truth.h"

static sigjmp_buf no_such_gate;

static void refused(int sig)
{
	siglongjmp(no_such_gate, sig);
}

static long call32(long nr, long a, long b, long c, long d, long e)
{
	long ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-e trace=preadv,pwritev,recvmmsg_time64,msgsnd");
	int64_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		truth_skip("no memory below 4 GB");
	signal(SIGSEGV, refused);
	if (sigsetjmp(no_such_gate, 1))
		truth_skip("no 32-bit calls here");
	low[0] = 1;
	low[1] = 2;
	line(call32(333, -1, 0, 0, 0x10, 1), "preadv(-1, NULL, 0, 4294967312)");
	line(call32(334, -1, 0, 0, -16, -1), "pwritev(-1, NULL, 0, -16)");
	line(call32(417, -1, 0, 0, 0x40, (long)low), "recvmmsg_time64(-1, NULL, 0, MSG_DONTWAIT, {tv_sec=1, tv_nsec=2})");
	line(call32(417, -1, 1, 1, 0, 0), "recvmmsg_time64(-1, 0x1, 1, 0, NULL)");
	memcpy(low, "\5\0\0\0abcdefgh", 12);
	line(call32(400, -1, (long)low, 1, 0, 0), "msgsnd(-1, {mtype=5, mtext=\"a\"}, 1, 0)");
	line(call32(400, -1, (long)low, 8, 0, 0), "msgsnd(-1, {mtype=5, mtext=\"abcdefgh\"}, 8, 0)");
	return 0;
}
