/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of memory that come only when the helper answers: the helper process (hold_helper.c) is the server of their
 * file, over /dev/fuse without a library. Rules from experience:
 *
 *  - no other process sees the file: its file system is mounted nowhere, and the mount goes once the file is open;
 *  - a request that was not yet taken from /dev/fuse is killable, a taken one is not: take it only to answer it;
 *  - every sleeper has a page of its own: a second task on the same page sleeps unkillable; and no read-ahead;
 *  - the answer is an error, so that the page is not kept;
 *  - no other process has the server's end: when the helper ends, the kernel ends the connection and every wait with it;
 *  - the process that has the file mapped is another one (be_mapper), for its end may have to wait for the sleepers.
 *
 * All this runs in a child of a process with threads: it calls nothing that might take a lock of the C library.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/mount.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "pause.h"

#define BUF_SIZE 32768u /* the kernel wants room for the largest request that it may send */
#define SETUP_MS 3000
#define FILE_NODE 2u
#define FOREVER 0x7fffffffull
#define FILE_NAME "hold"

struct mapped {
	int err;
	uint64_t base;
};

/*
 * The kernel ends a connection that has left a request unanswered for so many seconds (Linux 6.14), should even
 * the helper's own end be held up. It is the least that the kernel takes; it looks every 15 seconds.
 */
#define TIMEOUT_S 15u
#define INIT_REQUEST_TIMEOUT (1ull << 42)
#define INIT_OUT_TIMEOUT 40u /* where the answer to FUSE_INIT has it; Debian 12's header does not name it */

static void reply(struct bpf_pages *p, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + size), .error = error, .unique = unique };
	struct iovec v[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)data, size } };

	/* ENOENT: the task that asked was killed meanwhile. Nothing else can go wrong that could be mended here. */
	if (writev(p->fuse, v, size ? 2 : 1) < 0)
		return;
}

static struct fuse_attr attributes(const struct bpf_pages *p, uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr){
		.ino = node, .size = is_file ? p->cnt * p->page_sz : 0, .mode = is_file ? S_IFREG | 0400 : S_IFDIR | 0500,
		.nlink = 1, .uid = getuid(), .gid = getgid(), .blksize = 4096,
	};
}

/* Answers the first request. */
static void begin(struct bpf_pages *p, const struct fuse_in_header *in)
{
	const struct fuse_init_in *init = (const void *)(in + 1);
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor : FUSE_KERNEL_MINOR_VERSION,
		.max_write = 4096, .max_background = 16, .congestion_threshold = 12, .time_gran = 1,
	};
	const uint16_t timeout = TIMEOUT_S;

	_Static_assert(sizeof(out) == 64, "the layout that the kernel knows");
	if (init->flags & FUSE_INIT_EXT && (uint64_t)init->flags2 << 32 & INIT_REQUEST_TIMEOUT) {
		out.flags = FUSE_INIT_EXT;
		out.flags2 = (uint32_t)(INIT_REQUEST_TIMEOUT >> 32);
		memcpy((uint8_t *)&out + INIT_OUT_TIMEOUT, &timeout, sizeof(timeout));
	}
	reply(p, in->unique, 0, &out, sizeof(out));
}

/* Serves every request but reads. */
static void serve(struct bpf_pages *p, const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT:
		begin(p, in);
		break;
	case FUSE_LOOKUP: {
		struct fuse_entry_out out = {
			.nodeid = FILE_NODE, .generation = 1, .entry_valid = FOREVER, .attr_valid = FOREVER,
			.attr = attributes(p, FILE_NODE),
		};

		reply(p, in->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out out = { .attr_valid = FOREVER, .attr = attributes(p, in->nodeid) };

		reply(p, in->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_OPEN: {
		struct fuse_open_out out = { .fh = 1 };

		reply(p, in->unique, 0, &out, sizeof(out));
		break;
	}
	case FUSE_RELEASE:
		reply(p, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* want no answer */
	default:
		/* FLUSH among them: said once, the kernel does not ask again */
		reply(p, in->unique, -ENOSYS, NULL, 0);
	}
}

int bpf_pages__next(struct bpf_pages *p, uint32_t *page, uint64_t *key)
{
	const struct fuse_in_header *in = (const void *)p->buf;

	for (;;) {
		ssize_t n = read(p->fuse, p->buf, BUF_SIZE);

		if (n < 0 && (errno == EINTR || errno == ENOENT)) /* ENOENT: that task was killed just now */
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if ((size_t)n < sizeof(*in))
			return -EIO;
		if (in->opcode == FUSE_READ && (size_t)n >= sizeof(*in) + sizeof(struct fuse_read_in)) {
			const struct fuse_read_in *r = (const void *)(in + 1);

			*page = (uint32_t)(r->offset / p->page_sz);
			*key = in->unique;
			return 1;
		}
		serve(p, in);
	}
}

void bpf_pages__answer(struct bpf_pages *p, uint64_t key)
{
	reply(p, key, -EIO, NULL, 0);
}

static int fs_option(int fs, const char *name, unsigned value, const char *fmt)
{
	char text[16];

	snprintf(text, sizeof(text), fmt, value);
	return syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, name, text, 0) ? -errno : 0;
}

/* Makes a mount that is attached nowhere. */
static int make_mount(const struct bpf_pages *p)
{
	int fs = (int)syscall(SYS_fsopen, "fuse", FSOPEN_CLOEXEC), fd = -1, err;

	if (fs < 0)
		return -errno;
	err = fs_option(fs, "fd", (unsigned)p->fuse, "%u");
	err = err ? err : fs_option(fs, "rootmode", S_IFDIR, "%o");
	err = err ? err : fs_option(fs, "user_id", getuid(), "%u");
	err = err ? err : fs_option(fs, "group_id", getgid(), "%u");
	if (!err && syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		err = -errno;
	if (!err) {
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
		if (fd < 0)
			err = -errno;
	}
	close(fs);
	return err ? err : fd;
}

/*
 * Maps the file, in a child of the helper's, and then waits for the helper's end. Opening asks the server, so the
 * server cannot do it. And a sleeper holds a lock on the memory that it reads, for which the end of the process that
 * has it mapped waits: the server's end must wait for no task.
 */
static void __attribute__((noreturn)) be_mapper(const struct bpf_pages *p, int mount, int sock)
{
	size_t size = p->cnt * p->page_sz;
	struct mapped m = { 0 };
	void *at = MAP_FAILED;
	int fd;

	close(p->fuse); /* the last one is to be the helper's */
	fd = openat(mount, FILE_NAME, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || madvise(at, size, MADV_RANDOM))
		m.err = -errno;
	if (fd >= 0)
		close(fd); /* this, too, asks the server */
	m.base = (uint64_t)(uintptr_t)at;
	if (write(sock, &m, sizeof(m)) == sizeof(m) && !m.err)
		while (read(sock, &m, sizeof(m)) < 0 && errno == EINTR)
			;
	_exit(0);
}

/* Serves until the mapper says that it is done, or has ended. */
static int serve_mapper(struct bpf_pages *p)
{
	struct pollfd fds[2] = { { .fd = p->fuse, .events = POLLIN }, { .fd = p->mapper_end, .events = POLLIN } };
	struct mapped m;

	for (;;) {
		uint32_t page;
		uint64_t key;
		int n = poll(fds, 2, SETUP_MS), r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ETIMEDOUT;
		r = bpf_pages__next(p, &page, &key);
		if (r > 0)
			bpf_pages__answer(p, key);
		if (r < 0)
			return r;
		if (fds[1].revents)
			break;
	}
	if (read(p->mapper_end, &m, sizeof(m)) != sizeof(m))
		return -ECHILD;
	p->base = m.base;
	return m.err;
}

static int start_mapper(struct bpf_pages *p, int mount)
{
	int socks[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return -errno;
	p->mapper = (pid_t)syscall(SYS_clone, 0ul, NULL, NULL, NULL, 0ul);
	if (!p->mapper) {
		close(socks[0]);
		be_mapper(p, mount, socks[1]);
	}
	close(socks[1]);
	p->mapper_end = socks[0];
	return p->mapper < 0 ? -errno : serve_mapper(p);
}

int bpf_pages__open(struct bpf_pages *p, size_t cnt, char *why, size_t why_sz)
{
	/* The missing part, and the remedy. */
	const char *what = "/dev/fuse", *hint = " (FUSE of the kernel; a container must be given the device)";
	int mount, err;

	*p = (struct bpf_pages){ .fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK), .mapper_end = -1, .cnt = cnt,
				 .page_sz = (size_t)sysconf(_SC_PAGESIZE) };
	err = p->fuse < 0 ? -errno : 0;
	if (err == -EACCES)
		hint = " (as root: chmod 666 /dev/fuse, as it is on most systems; or run espy as root)";
	if (!err) {
		p->buf = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		err = p->buf == MAP_FAILED ? -errno : 0;
	}
	if (!err) {
		what = "a FUSE file system";
		hint = " (CAP_SYS_ADMIN is needed)";
		mount = make_mount(p);
		err = mount < 0 ? mount : start_mapper(p, mount);
		if (mount >= 0)
			close(mount);
	}
	if (err)
		snprintf(why, why_sz, "%s: %s%s", what, strerror(-err), hint);
	return err;
}
