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

/* A set of signals in a register, and one as the result. */
static void masks(void)
{
	call32(69, 0, 0, 0, 0, 0);
	call32(69, 3, 0, 0, 0, 0);
	text("ssetmask([HUP INT]) = 0 (old mask [])");
	call32(68, 0, 0, 0, 0, 0);
	text("sgetmask() = 0x3 (mask [HUP INT])");
	call32(69, 0, 0, 0, 0, 0);
	text("ssetmask([]) = 0x3 (old mask [HUP INT])");
}

/* socketcall and ipc lead to other calls. */
static void inner_calls(int32_t *args)
{
	const int32_t at = (int32_t)(intptr_t)args;
	int32_t *end = args + 1024;

	memcpy(args, (int32_t[]){ 1, 1, 0, at + 64 }, 16);
	call32(102, 8, at, 0, 0, 0);
	const int fd = args[16], other = args[17];
	text("socketpair(AF_UNIX, SOCK_STREAM, 0, [%d, %d]) = 0", fd, other);
	strcpy((char *)(args + 32), "hello");
	memcpy(args, (int32_t[]){ fd, at + 128, 5, 0 }, 16);
	line(call32(102, 9, at, 0, 0, 0), "send(%d, \"hello\", 5, 0)", fd);
	memcpy(args, (int32_t[]){ other, at + 256, 8, 0, 0, 0 }, 24);
	line(call32(102, 12, at, 0, 0, 0), "recvfrom(%d, \"hello\", 8, 0, NULL, NULL)", other);
	memcpy(args + 128, (int32_t[]){ 0, 0, at + 768, 1, 0, 0, 0 }, 28);
	memcpy(args + 192, (int32_t[]){ at + 128, 3 }, 8);
	memcpy(args, (int32_t[]){ fd, at + 512, 0 }, 12);
	line(call32(102, 16, at, 0, 0, 0),
	     "sendmsg(%d, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hel\", iov_len=3}], msg_iovlen=1, "
	     "msg_controllen=0, "
	     "msg_flags=0}, 0)",
	     fd);
	memcpy(end - 2, (int32_t[]){ -1, 5 }, 8);
	line(call32(102, 4, (long)(end - 2), 0, 0, 0), "listen(-1, 5)");
	line(call32(102, 5, (long)(end - 2), 0, 0, 0), "socketcall(SYS_ACCEPT, 0x%x)", (unsigned)(uintptr_t)(end - 2));
	line(call32(102, 1, 0, 0, 0, 0), "socketcall(SYS_SOCKET, NULL)");
	line(call32(102, 21, at, 0, 0, 0), "socketcall(21, 0x%x)", (unsigned)at);

	memcpy(args, "\1\0\2\0\0\0", 6);
	line(call32(117, 1, -1, 1, 7, at), "semop(-1, [{sem_num=1, sem_op=2, sem_flg=0}], 1)");
	line(call32(117, 0x10001, -1, 1, 7, at), "semop(-1, [{sem_num=1, sem_op=2, sem_flg=0}], 1)");
	args[0] = 8;
	line(call32(117, 3, -1, 2, 12, at), "semctl(-1, 2, GETVAL, [0x8])");
	line(call32(117, 3, -1, 2, 3, at), "semctl(-1, 2, IPC_INFO, 0x8)");
	line(call32(117, 2, 0, -1, 0600, 0), "semget(IPC_PRIVATE, -1, 0600)");
	memcpy(args, "\5\0\0\0ab", 6);
	line(call32(117, 11, -1, 2, 2048, at), "msgsnd(-1, {mtype=5, mtext=\"ab\"}, 2, IPC_NOWAIT)");
	line(call32(117, 14, -1, 0, 7, 0), "msgctl(-1, IPC_RMID, NULL)");
	line(call32(117, 21, -1, 0, at, 0), "shmat(-1, NULL, 0)");
	line(call32(117, 22, 1, 2, 3, 0x1001), "shmdt(0x1001)");
	line(call32(117, 24, -1, 0, 7, 0), "shmctl(-1, IPC_RMID, NULL)");
	const long id = call32(117, 23, 0, 4096, 0600, 0);
	if (id >= 0) {
		line(id, "shmget(IPC_PRIVATE, 4096, 0600)");
		call32(117, 21, id, 0, at, 0);
		text("shmat(%ld, NULL, 0) = 0x%x", id, (unsigned)args[0]);
		const uint32_t where = (uint32_t)args[0];
		line(call32(117, 22, 0, 0, 0, where), "shmdt(0x%x)", where);
		line(call32(117, 24, id, 0, 0, 0), "shmctl(%ld, IPC_RMID, NULL)", id);
	}
}

/* Arguments of ipc that lie behind its pointer: of version 0 the buffer and the type of msgrcv, the union of semctl. */
static void ipc_pointers(int32_t *args)
{
	const int32_t at = (int32_t)(intptr_t)args;

	memcpy(args, (int32_t[]){ at + 64, 5 }, 8);
	memcpy(args + 16, "\5\0\0\0ab", 6);
	line(call32(117, 12, -1, 2, 2048, at), "msgrcv(-1, 0x%x, 2, IPC_NOWAIT)", (unsigned)at);
	const long queue = call32(117, 13, 0, 0600, 0, 0);
	if (queue >= 0) {
		line(queue, "msgget(IPC_PRIVATE, 0600)");
		line(call32(117, 11, queue, 2, 0, at + 64), "msgsnd(%ld, {mtype=5, mtext=\"ab\"}, 2, 0)", queue);
		line(call32(117, 12, queue, 2, 2048, at), "msgrcv(%ld, {mtype=5, mtext=\"ab\"}, 2, 5, IPC_NOWAIT)", queue);
		call32(117, 14, queue, 0, 0, 0);
	}
	line(call32(117, 3, -1, 0, 2, at), "semctl(-1, 0, IPC_STAT, [0x%x])", (unsigned)at + 64);
	const long set = call32(117, 2, 0, 1, 0600, 0);
	if (set >= 0) {
		memset(args + 16, 0, 64);
		args[21] = 0600;
		line(call32(117, 3, set, 0, 1, at), "semctl(%ld, 0, IPC_SET, {sem_perm={uid=0, gid=0, mode=0600}})", set);
		call32(117, 3, set, 0, 0, at);
	}
}

/* Calls of old: ids of 16 bits, arguments in memory, structs of their own. */
static void old_calls(int32_t *args)
{
	const int32_t at = (int32_t)(intptr_t)args;
	int32_t *end = args + 1024;

	strcpy((char *)args, "/nonexistent");
	line(call32(16, at, 0x10000, -1, 0, 0), "lchown(\"/nonexistent\", 0, -1)");
	line(call32(182, at, 0x12345, 5, 0, 0), "chown(\"/nonexistent\", 9029, 5)");
	line(call32(95, -1, 0x1ffff, 5, 0, 0), "fchown(-1, -1, 5)");
	line(call32(81, 65537, at, 0, 0, 0), "setgroups(65537, 0x%x)", (unsigned)at);
	line(call32(138, -1, 0, 0, 0, 0), "setfsuid(-1)");
	memcpy(end - 5, (int32_t[]){ -1, 0, 0, 0, 0 }, 20);
	line(call32(82, (long)(end - 5), 0, 0, 0, 0), "select(-1, NULL, NULL, NULL, NULL)");
	line(call32(82, (long)(end - 4), 0, 0, 0, 0), "select(0x%x)", (unsigned)(uintptr_t)(end - 4));
	memcpy(end - 6, (int32_t[]){ 0, 4096, PROT_READ, MAP_PRIVATE, -1, 0x1000 }, 24);
	line(call32(90, (long)(end - 6), 0, 0, 0, 0), "mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, -1, 0x1000)");
	line(call32(90, 1, 0, 0, 0, 0), "mmap(0x1)");
	strcpy((char *)args, "/dev/null");
	line(call32(106, at, at + 64, 0, 0, 0),
	     "stat(\"/dev/null\", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...})");
	line(call32(18, at, at + 64, 0, 0, 0),
	     "oldstat(\"/dev/null\", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...})");
	line(call32(28, -1, at + 64, 0, 0, 0), "oldfstat(-1, 0x%x)", (unsigned)at + 64);
	line(call32(89, -1, at, 1, 0, 0), "readdir(-1, 0x%x)", (unsigned)at);
	line(call32(89, -1, at, 2, 0, 0), "readdir(-1, 0x%x, 2)", (unsigned)at);
	line(call32(109, 0, 0, 0, 0, 0), "olduname(0)");
	line(call32(140, -1, 1, 2, at, 0), "_llseek(-1, 4294967298, 0x%x, SEEK_SET)", (unsigned)at);
	line(call32(378, -1, 0, 0, 1, 2), "preadv2(-1, NULL, 0, 8589934593, 0)");
	line(call32(379, -1, 0, 0, 1, 2), "pwritev2(-1, NULL, 0, 8589934593, 0)");
	memcpy(end - 3, (int32_t[]){ 5, 6, 7 }, 12);
	line(call32(276, 99, (long)(end - 3), 97, 0, 0),
	     "set_mempolicy(0x63 /* MPOL_??? */, [0x000005, 0x000006, 0x000007], 97)");
	memset(args, 0, 16);
	args[0] = -1;
	const long ret = call32(243, at, 0, 0, 0, 0);
	if (!ret)
		text("set_thread_area({entry_number=-1, base_addr=00000000, limit=00000000, seg_32bit=0, contents=0, "
		     "read_exec_only=0, limit_in_pages=0, seg_not_present=0, useable=0}) = 0 (entry_number=%d)",
		     args[0]);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv,
		    "-e "
		    "trace=preadv,pwritev,recvmmsg_time64,%network,%ipc,socketcall,lchown,chown,fchown,setgroups,"
		    "setfsuid,select,"
		    "stat,oldstat,oldfstat,readdir,olduname,_llseek,preadv2,pwritev2,set_thread_area,set_mempolicy,"
		    "mmap@32,sgetmask,ssetmask");
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
	masks();
	inner_calls((int32_t *)low);
	ipc_pointers((int32_t *)low);
	old_calls((int32_t *)low);
	return 0;
}
