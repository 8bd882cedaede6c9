/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ops [sqpoll|wide|direct]: submits operations through a ring of io_uring, one after the other, and writes to
 * descriptor 3 the line that each of them is to have. sqpoll: a thread of the kernel's takes them. wide: entries of 128
 * bytes. direct: without the array of indices.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define SETUP_SQE128 (1u << 10) /* the headers of the machine may be older */
#define SETUP_NO_SQARRAY (1u << 16)
enum { OP_READ_MULTISHOT = 49, OP_FTRUNCATE = 55 };

static struct {
	int fd;
	unsigned *tail, *mask, *array, *flags, *head, *cq_head, *cq_tail, *cq_mask, wide;
	char *entries;
	struct io_uring_cqe *results;
} ring;
static FILE *want;

static void open_ring(unsigned flags)
{
	struct io_uring_params p = { .flags = flags, .sq_thread_idle = 60000 };
	const int prot = PROT_READ | PROT_WRITE;

	ring.fd = (int)syscall(SYS_io_uring_setup, 8, &p);
	if (ring.fd < 0) {
		fprintf(stderr, "io_uring_setup: %s\n", strerror(errno));
		exit(errno == EINVAL ? 77 : 1); /* an older kernel */
	}
	ring.wide = flags & SETUP_SQE128 ? 2 : 1;
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, prot, MAP_SHARED, ring.fd, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * 16, prot, MAP_SHARED, ring.fd, IORING_OFF_CQ_RING);

	ring.entries = mmap(NULL, p.sq_entries * 64 * ring.wide, prot, MAP_SHARED, ring.fd, IORING_OFF_SQES);
	ring.head = (void *)(sq + p.sq_off.head);
	ring.tail = (void *)(sq + p.sq_off.tail);
	ring.mask = (void *)(sq + p.sq_off.ring_mask);
	ring.flags = (void *)(sq + p.sq_off.flags);
	ring.array = flags & SETUP_NO_SQARRAY ? NULL : (void *)(sq + p.sq_off.array);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.cq_mask = (void *)(cq + p.cq_off.ring_mask);
	ring.results = (void *)(cq + p.cq_off.cqes);
}

/* Puts entries where the kernel sees all of them at once: its thread takes what it sees, and ends a chain there. */
static void put_all(const struct io_uring_sqe *e, unsigned cnt)
{
	const unsigned tail = *ring.tail;

	for (unsigned i = 0; i < cnt; i++) {
		const unsigned at = (tail + i) & *ring.mask;

		memset(ring.entries + (size_t)at * 64 * ring.wide, 0, 64 * ring.wide);
		memcpy(ring.entries + (size_t)at * 64 * ring.wide, &e[i], 64);
		if (ring.array)
			ring.array[at] = at;
	}
	__atomic_store_n(ring.tail, tail + cnt, __ATOMIC_RELEASE);
}

static void put(const struct io_uring_sqe *e)
{
	put_all(e, 1);
}

/* Lets the kernel take what was put, and waits until `results` are there. */
static void enter(unsigned cnt, unsigned results)
{
	syscall(SYS_io_uring_enter, ring.fd, cnt, results, IORING_ENTER_GETEVENTS | IORING_ENTER_SQ_WAKEUP, NULL, 8);
}

static struct io_uring_cqe take(void)
{
	const unsigned head = *ring.cq_head;

	while (head == __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE))
		enter(0, 1);
	const struct io_uring_cqe c = ring.results[head & *ring.cq_mask];

	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return c;
}

static void tell(int ret, const char *name, const char *fmt, va_list args)
{
	fprintf(want, "%s@io_uring(", name);
	vfprintf(want, fmt, args);
	if (ret < 0)
		fprintf(want, ") = -1 %s (%s)\n", strerrorname_np(-ret), strerror(-ret));
	else if (!strcmp(name, "poll_add"))
		fprintf(want, ") = 0x%x\n", ret);
	else
		fprintf(want, ") = %d\n", ret);
}

static __attribute__((format(printf, 3, 4))) void told(int ret, const char *name, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(ret, name, fmt, args);
	va_end(args);
}

/* Submits the entry, and writes the line with its arguments. Returns the result. */
static __attribute__((format(printf, 3, 4))) int op(struct io_uring_sqe e, const char *name, const char *fmt, ...)
{
	va_list args;
	int ret;

	put(&e);
	enter(1, 1);
	ret = take().res;
	va_start(args, fmt);
	tell(ret, name, fmt, args);
	va_end(args);
	return ret;
}

#define AT(p) (uintptr_t)(p)
#define OP(code, ...) ((struct io_uring_sqe){ .opcode = (code), .user_data = __LINE__, __VA_ARGS__ })

static void files(void)
{
	char path[64] = "new", text[] = "a text of some length", got[64], names[2][8] = { "one", "two" };
	struct iovec out[2] = { { text, 6 }, { text + 7, 4 } }, in[2] = { { got, 4 }, { got + 8, 40 } };
	struct {
		uint64_t flags, mode, resolve;
	} how = { O_RDONLY, 0, 0 };
	struct statx st;
	int fd;

	fd = op(OP(IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = AT(path), .open_flags = O_RDWR | O_CREAT, .len = 0640),
		"openat", "AT_FDCWD, \"new\", O_RDWR|O_CREAT, 0640");
	op(OP(IORING_OP_WRITE, .fd = fd, .addr = AT(text), .len = 21), "write",
	   "%d, \"a text of some length\", 21, 0, 0", fd);
	op(OP(IORING_OP_READ, .fd = fd, .addr = AT(got), .len = 60, .off = 7), "read",
	   "%d, \"of some length\", 60, 7, 0", fd);
	op(OP(IORING_OP_READ, .fd = fd, .addr = AT(got), .len = 60, .off = (uint64_t)-1), "read",
	   "%d, \"a text of some length\", 60, -1, 0", fd);
	op(OP(IORING_OP_WRITEV, .fd = fd, .addr = AT(out), .len = 2), "writev",
	   "%d, [{iov_base=\"a text\", iov_len=6}, {iov_base=\"of s\", iov_len=4}], 2, 0, 0", fd);
	op(OP(IORING_OP_READV, .fd = fd, .addr = AT(in), .len = 2), "readv",
	   "%d, [{iov_base=\"a te\", iov_len=4}, {iov_base=\"xtof ssome length\", iov_len=40}], 2, 0, 0", fd);
	op(OP(IORING_OP_FSYNC, .fd = fd, .fsync_flags = IORING_FSYNC_DATASYNC), "fsync",
	   "%d, IORING_FSYNC_DATASYNC, 0, 0", fd);
	op(OP(IORING_OP_FALLOCATE, .fd = fd, .len = 1, .off = 4096, .addr = 100), "fallocate",
	   "%d, FALLOC_FL_KEEP_SIZE, 4096, 100", fd);
	op(OP(OP_FTRUNCATE, .fd = fd, .off = 5), "ftruncate", "%d, 5", fd);
	op(OP(IORING_OP_FADVISE, .fd = fd, .len = 10, .fadvise_advice = 1), "fadvise", "%d, 0, 10, POSIX_FADV_RANDOM",
	   fd);
	op(OP(IORING_OP_CLOSE, .fd = fd), "close", "%d", fd);
	fd = op(OP(IORING_OP_OPENAT2, .fd = AT_FDCWD, .addr = AT(path), .len = sizeof(how), .off = AT(&how)), "openat2",
		"AT_FDCWD, \"new\", {flags=O_RDONLY, resolve=0}, 24");
	op(OP(IORING_OP_CLOSE, .fd = fd), "close", "%d", fd);
	op(OP(IORING_OP_MKDIRAT, .fd = AT_FDCWD, .addr = AT(names[0]), .len = 0700), "mkdirat",
	   "AT_FDCWD, \"one\", 0700");
	op(OP(IORING_OP_RENAMEAT, .fd = AT_FDCWD, .addr = AT(names[0]), .len = (unsigned)AT_FDCWD, .off = AT(names[1]),
	      .rename_flags = 1),
	   "renameat", "AT_FDCWD, \"one\", AT_FDCWD, \"two\", RENAME_NOREPLACE");
	op(OP(IORING_OP_UNLINKAT, .fd = AT_FDCWD, .addr = AT(names[1]), .unlink_flags = AT_REMOVEDIR), "unlinkat",
	   "AT_FDCWD, \"two\", AT_REMOVEDIR");
	op(OP(IORING_OP_SYMLINKAT, .fd = AT_FDCWD, .addr = AT(path), .off = AT(names[0])), "symlinkat",
	   "\"new\", AT_FDCWD, \"one\"");
	op(OP(IORING_OP_LINKAT, .fd = AT_FDCWD, .addr = AT(path), .len = (unsigned)AT_FDCWD, .off = AT(names[1])),
	   "linkat", "AT_FDCWD, \"new\", AT_FDCWD, \"two\", 0");
	op(OP(IORING_OP_STATX, .fd = AT_FDCWD, .addr = AT("none"), .len = STATX_SIZE, .off = AT(&st)), "statx",
	   "AT_FDCWD, \"none\", AT_STATX_SYNC_AS_STAT, STATX_SIZE, %p", (void *)&st);
	op(OP(IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = 1), "openat", "AT_FDCWD, 0x1, O_RDONLY");
	/* What the kernel refuses at once has a line, too. */
	op(OP(IORING_OP_FSYNC, .fd = 99, .fsync_flags = 6), "fsync", "99, 0x6 /* IORING_FSYNC_??? */, 0, 0");
	op(OP(IORING_OP_READ, .fd = 99, .addr = AT(got), .len = 5), "read", "99, %p, 5, 0, 0", (void *)got);
	op(OP(250, .fd = 1), "0xfa", "0x1, 0, 0, 0, 0, 0");
}

/* The program uses the memory of a name again as soon as the entry is taken. */
static void reused_memory(void)
{
	char path[8] = "first";
	int fd;

	put(&OP(IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = AT(path), .flags = IOSQE_ASYNC));
	enter(1, 0);
	while (__atomic_load_n(ring.head, __ATOMIC_ACQUIRE) != *ring.tail)
		enter(0, 0);
	strcpy(path, "second");
	fd = take().res;
	told(fd, "openat", "AT_FDCWD, \"first\", O_RDONLY, IOSQE_ASYNC");
}

static void sockets(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(here);
	char got[32], hello[] = "hello";
	struct iovec in = { got, 10 }, out = { hello, 5 };
	struct msghdr msg = { .msg_iov = &out, .msg_iovlen = 1 }, answer = { .msg_iov = &in, .msg_iovlen = 1 };
	const int nobody = socket(AF_INET, SOCK_STREAM, 0), other = socket(AF_INET, SOCK_STREAM, 0);
	int pair[2];

	op(OP(IORING_OP_SOCKET, .fd = AF_INET, .off = SOCK_STREAM), "socket", "AF_INET, SOCK_STREAM, 0");
	bind(nobody, (struct sockaddr *)&here, sizeof(here));
	getsockname(nobody, (struct sockaddr *)&here, &len);
	op(OP(IORING_OP_CONNECT, .fd = other, .addr = AT(&here), .off = sizeof(here)), "connect",
	   "%d, {sa_family=AF_INET, sin_port=htons(%d), sin_addr=inet_addr(\"127.0.0.1\")}, 16", other,
	   ntohs(here.sin_port));
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	op(OP(IORING_OP_SEND, .fd = pair[0], .addr = AT(hello), .len = 5, .msg_flags = MSG_NOSIGNAL), "send",
	   "%d, \"hello\", 5, MSG_NOSIGNAL, NULL", pair[0]);
	op(OP(IORING_OP_RECV, .fd = pair[1], .addr = AT(got), .len = 30), "recv", "%d, \"hello\", 30, 0", pair[1]);
	op(OP(IORING_OP_SENDMSG, .fd = pair[0], .addr = AT(&msg), .len = 1), "sendmsg",
	   "%d, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hello\", iov_len=5}], msg_iovlen=1, "
	   "msg_controllen=0, msg_flags=0}, 0",
	   pair[0]);
	op(OP(IORING_OP_RECVMSG, .fd = pair[1], .addr = AT(&answer), .len = 1), "recvmsg",
	   "%d, {msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"hello\", iov_len=10}], msg_iovlen=1, "
	   "msg_controllen=0, msg_flags=0}, 0",
	   pair[1]);
	op(OP(IORING_OP_POLL_ADD, .fd = pair[0], .poll32_events = POLLOUT), "poll_add", "%d, POLLOUT, 0", pair[0]);
	op(OP(IORING_OP_SHUTDOWN, .fd = pair[0], .len = SHUT_WR), "shutdown", "%d, SHUT_WR", pair[0]);
}

static void others(void)
{
	struct {
		int64_t sec, nsec;
	} soon = { 0, 1000 };
	int both[2] = { 1, -1 };

	op(OP(IORING_OP_NOP), "nop", "%s", "");
	op(OP(IORING_OP_NOP, .flags = IOSQE_ASYNC), "nop", "IOSQE_ASYNC");
	op(OP(IORING_OP_TIMEOUT, .addr = AT(&soon), .len = 1), "timeout", "{tv_sec=0, tv_nsec=1000}, 0, 0");
	op(OP(IORING_OP_TIMEOUT_REMOVE, .addr = 77), "timeout_remove", "0x4d, NULL, 0");
	op(OP(IORING_OP_ASYNC_CANCEL, .addr = 77), "async_cancel", "0x4d, 0");
	op(OP(IORING_OP_FILES_UPDATE, .addr = AT(both), .len = 2), "files_update", "[1, -1], 2, 0");
	op(OP(IORING_OP_REMOVE_BUFFERS, .fd = 3), "remove_buffers", "3");
	/* The file is one of the ring's own table, which is empty. */
	op(OP(IORING_OP_READ, .fd = 5, .flags = IOSQE_FIXED_FILE, .addr = 0x1000, .len = 1), "read",
	   "5, 0x1000, 1, 0, 0, IOSQE_FIXED_FILE");
}

/* Of a chain the second operation waits for the first one. */
static void chain(void)
{
	const struct io_uring_sqe both[] = {
		OP(IORING_OP_READ, .fd = 98, .addr = 0x1000, .len = 1, .flags = IOSQE_IO_LINK),
		OP(IORING_OP_NOP),
	};

	put_all(both, 2);
	enter(2, 2);
	told(take().res, "read", "98, 0x1000, 1, 0, 0, IOSQE_IO_LINK");
	told(take().res, "nop", "%s", "");
}

/* Two connections come by one operation, which goes on. */
static void several_results(void)
{
	const struct sockaddr_un here = { .sun_family = AF_UNIX, .sun_path = "server" };
	const int server = socket(AF_UNIX, SOCK_STREAM, 0);

	if (bind(server, (const struct sockaddr *)&here, sizeof(here)) || listen(server, 3))
		exit(1);
	put(&OP(IORING_OP_ACCEPT, .fd = server, .ioprio = 1));
	enter(1, 0);
	for (int i = 0; i < 2; i++) {
		if (connect(socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)&here, sizeof(here)))
			exit(1);
		told(take().res, "accept", "%d, NULL, NULL, 0, IORING_ACCEPT_MULTISHOT", server);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	want = fdopen(3, "w");
	if (!want)
		return 1;
	close(open("first", O_CREAT | O_RDONLY, 0600));
	open_ring(!strcmp(how, "sqpoll")   ? IORING_SETUP_SQPOLL
		  : !strcmp(how, "wide")   ? SETUP_SQE128
		  : !strcmp(how, "direct") ? SETUP_NO_SQARRAY
					   : 0);
	files();
	reused_memory();
	sockets();
	others();
	chain();
	several_results();
	fclose(want);
	return 0;
}
