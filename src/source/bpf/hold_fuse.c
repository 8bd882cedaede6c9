/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pages of memory that are not there until espy says so: a file whose server is espy itself, over /dev/fuse without a
 * library, mapped by a process that does nothing but have it mapped. Rules that experience gave:
 *
 *  - the file is seen by nobody: its file system is mounted nowhere, and the mount goes once the file is open;
 *  - a request that was not yet taken from /dev/fuse is killable, a taken one is not: take it only to answer it;
 *  - every sleeper has a page of its own, for on a page that another waits for one sleeps unkillable; and no read-ahead;
 *  - the answer is an error, so that the page is not kept;
 *  - the helper (hold_helper.c) does not have the server's end: when espy goes, the kernel ends the connection and all requests with it;
 *  - for that the server's end must be the first that is closed. Letting go of a program on a perf event waits for all
 *    sleepable programs, so for those who are held. The kernel closes the files of a process that ends beginning with the
 *    highest number: this one gets a high one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/mount.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bpf_source.h"
#include "pause.h"

#define BUF_SIZE 32768u /* the kernel wants room for the largest request that it may send */
#define SETUP_MS 3000
#define FILE_NODE 2u
#define HIGH_FD 8000 /* more than a session ever has open */
#define FOREVER 0x7fffffffull
#define FILE_NAME "hold"

static int open_server(void)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK), high, err;
	struct rlimit lim;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &lim))
		return fd < 0 ? -errno : fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, lim.rlim_cur > HIGH_FD ? HIGH_FD : (int)lim.rlim_cur - 2);
	err = -errno;
	close(fd);
	return high < 0 ? err : high;
}

static void reply(struct bpf_pages *p, uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + size), .error = error, .unique = unique };
	struct iovec v[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)data, size } };

	/* ENOENT: whoever asked was killed meanwhile. Nothing else can go wrong that could be mended here. */
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

/* Everything but reads. */
static void serve(struct bpf_pages *p, const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT: {
		const struct fuse_init_in *init = (const void *)(in + 1);
		struct fuse_init_out out = {
			.major = FUSE_KERNEL_VERSION,
			.minor = init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor : FUSE_KERNEL_MINOR_VERSION,
			.max_write = 4096, .max_background = 16, .congestion_threshold = 12, .time_gran = 1,
		};

		reply(p, in->unique, 0, &out, sizeof(out));
		break;
	}
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

/* A mount that is attached nowhere. */
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

/* Opening asks the server, which must not be the one who opens. */
struct opener {
	struct bpf_pages *pages;
	int mount;
	int err;
	int done; /* written when it is over */
};

static void *open_and_map(void *arg)
{
	struct opener *o = arg;
	size_t size = o->pages->cnt * o->pages->page_sz;
	int fd = openat(o->mount, FILE_NAME, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		o->err = -errno;
	} else {
		o->pages->base = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
		if (o->pages->base == MAP_FAILED)
			o->err = -errno;
		else if (madvise(o->pages->base, size, MADV_RANDOM))
			o->err = -errno;
		close(fd);
	}
	if (write(o->done, "d", 1) != 1)
		o->err = o->err ? o->err : -EIO;
	return NULL;
}

/* Serves until the opener says that it is done. */
static int serve_opener(struct bpf_pages *p, int done)
{
	struct pollfd fds[2] = { { .fd = p->fuse, .events = POLLIN }, { .fd = done, .events = POLLIN } };

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
			return 0;
	}
}

static int map_file(struct bpf_pages *p, int mount)
{
	struct opener o = { .pages = p, .mount = mount };
	sigset_t all, old;
	pthread_t thread;
	int done[2], err;

	if (pipe2(done, O_CLOEXEC))
		return -errno;
	o.done = done[1];
	/* Signals are for the threads that expect them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&thread, NULL, open_and_map, &o);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err) {
		err = serve_opener(p, done[0]);
		if (err) {
			/* Ends the connection, and with it what the opener waits for. */
			close(p->fuse);
			p->fuse = -1;
		}
		pthread_join(thread, NULL);
	}
	close(done[0]);
	close(done[1]);
	return err ? err : o.err;
}

static void init(struct bpf_pages *p, size_t cnt)
{
	*p = (struct bpf_pages){ .fuse = -1, .alive = -1, .pidfd = -1, .base = MAP_FAILED, .cnt = cnt,
				 .page_sz = (size_t)sysconf(_SC_PAGESIZE) };
}

int bpf_pages__open_helper(struct bpf_pages *p, const struct bpf_helper_duty *duty)
{
	int err;

	init(p, 0);
	err = bpf_pages__start_helper(p, duty);
	if (err)
		bpf_pages__close(p);
	return err;
}

int bpf_pages__open(struct bpf_pages *p, size_t cnt, const struct bpf_helper_duty *duty, char *why, size_t why_sz)
{
	/* What cannot be had, and what there is to be done about it. */
	const char *what = "/dev/fuse", *hint = " (FUSE of the kernel; a container must be given the device)";
	int mount, err;

	init(p, cnt);
	p->fuse = open_server();
	err = p->fuse < 0 ? p->fuse : 0;
	p->buf = malloc(BUF_SIZE);
	if (!err && !p->buf)
		err = -ENOMEM;
	if (!err) {
		what = "a FUSE file system";
		hint = " (CAP_SYS_ADMIN is needed)";
		mount = make_mount(p);
		err = mount < 0 ? mount : map_file(p, mount);
		if (mount >= 0)
			close(mount);
	}
	if (!err) {
		what = "a helper process";
		hint = "";
		err = bpf_pages__start_helper(p, duty);
	}
	/* The address stays, as that of the pages in the helper. */
	if (p->base != MAP_FAILED)
		munmap(p->base, p->cnt * p->page_sz);
	if (err) {
		snprintf(why, why_sz, "%s: %s%s", what, strerror(-err), hint);
		bpf_pages__close(p);
	}
	return err;
}

void bpf_pages__close(struct bpf_pages *p)
{
	if (p->fuse >= 0)
		close(p->fuse);
	if (p->alive >= 0)
		close(p->alive);
	if (p->pidfd >= 0)
		close(p->pidfd);
	if (p->helper > 0)
		while (waitpid(p->helper, NULL, __WALL) < 0 && errno == EINTR)
			;
	free(p->buf);
	init(p, 0);
}
