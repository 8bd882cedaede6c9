/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * put_server FILE COMMAND...: runs a command to which FILE is a file of a server with the same contents, in a mount
 * namespace of its own. The server's number is in $SERVER: it answers until it is stopped. After SIGUSR1 it stops
 * itself at the second open of the file. Status 77: such a file cannot be had here.
 *
 * put_server -o DIR/FILE COMMAND...: the server has the directory with that file alone, and an overlay lies above it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *bytes;
static struct stat st;
static const char *only; /* the name of the file in the server's directory; NULL: the root is the file */
static volatile sig_atomic_t opens = -1; /* so many it still answers; -1: all */

static void answer_one(int sig)
{
	(void)sig;
	opens = 1;
}

static size_t fill_attr(struct fuse_attr *a, uint64_t node)
{
	const bool is_dir = only && node == FUSE_ROOT_ID;

	*a = (struct fuse_attr){ .ino = node,
				 .size = is_dir ? 0 : (uint64_t)st.st_size,
				 .mode = (is_dir ? S_IFDIR : S_IFREG) | 0755,
				 .nlink = 1,
				 .blksize = 4096 };
	return sizeof(struct fuse_attr_out);
}

/* Puts the answer to a request; its size, or -errno. */
static ssize_t answer(const struct fuse_in_header *in, const void *arg, void *out)
{
	const struct fuse_read_in *r = arg;
	struct fuse_attr_out *attr = out;
	struct fuse_entry_out *entry = out;
	uint64_t left;

	switch (in->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)out =
			(struct fuse_init_out){ .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
		return sizeof(struct fuse_init_out);
	case FUSE_GETATTR:
		return (ssize_t)fill_attr(&attr->attr, in->nodeid);
	case FUSE_LOOKUP:
		if (!only || strcmp(arg, only))
			return -ENOENT;
		*entry = (struct fuse_entry_out){ .nodeid = 2, .entry_valid = 3600, .attr_valid = 3600 };
		fill_attr(&entry->attr, 2);
		return sizeof(*entry);
	case FUSE_STATFS:
		((struct fuse_statfs_out *)out)->st = (struct fuse_kstatfs){ .bsize = 4096, .namelen = 255 };
		return sizeof(struct fuse_statfs_out);
	case FUSE_OPENDIR:
		*(struct fuse_open_out *)out = (struct fuse_open_out){ 0 };
		return sizeof(struct fuse_open_out);
	case FUSE_READDIR:
		return 0;
	case FUSE_OPEN:
		if (opens >= 0 && opens-- == 0)
			raise(SIGSTOP);
		*(struct fuse_open_out *)out = (struct fuse_open_out){ .open_flags = FOPEN_KEEP_CACHE };
		return sizeof(struct fuse_open_out);
	case FUSE_READ:
		left = r->offset < (uint64_t)st.st_size ? (uint64_t)st.st_size - r->offset : 0;
		left = left < r->size ? left : r->size;
		memcpy(out, bytes + r->offset, left);
		return (ssize_t)left;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return 0;
	default:
		return -ENOSYS;
	}
}

static void serve(int fuse)
{
	static char in[1 << 16], out[1 << 20];
	const struct fuse_in_header *head = (const void *)in;
	struct fuse_out_header *to = (void *)out;

	signal(SIGUSR1, answer_one);
	while (read(fuse, in, sizeof(in)) > 0) {
		if (head->opcode == FUSE_FORGET || head->opcode == FUSE_INTERRUPT || head->opcode == FUSE_BATCH_FORGET)
			continue;
		const ssize_t n = answer(head, in + sizeof(*head), out + sizeof(*to));

		*to = (struct fuse_out_header){ .len = (uint32_t)(sizeof(*to) + (size_t)(n > 0 ? n : 0)),
						.unique = head->unique,
						.error = n < 0 ? (int)n : 0 };
		if (write(fuse, out, to->len) < 0 && errno != ENOENT)
			_exit(1);
	}
	_exit(0);
}

/* An overlay of the server's directory and an empty one. */
static int put_overlay(const char *dir)
{
	char empty[] = "/tmp/espy-empty-XXXXXX", options[4200];

	if (!mkdtemp(empty))
		return -1;
	snprintf(options, sizeof(options), "lowerdir=%s:%s", dir, empty);
	const int err = mount("none", dir, "overlay", 0, options);

	rmdir(empty);
	return err;
}

int main(int argc, char **argv)
{
	const bool overlay = argc > 3 && !strcmp(argv[1], "-o");

	argv += overlay;
	argc -= overlay;
	const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
	char text[80];

	if (file < 0 || fstat(file, &st))
		return 2;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
	if (overlay) {
		only = strrchr(argv[1], '/') + 1;
		argv[1][only - argv[1] - 1] = '\0'; /* the directory */
	}
	snprintf(text, sizeof(text), "fd=%d,rootmode=%s,user_id=0,group_id=0,allow_other", fuse, overlay ? "40755" : "100755");
	if (bytes == MAP_FAILED || fuse < 0 || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", argv[1], "fuse", 0, text)) {
		printf("SKIP: a file of a server of its own: %s\n", strerror(errno));
		return 77;
	}
	const pid_t server = fork();

	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fuse);
	}
	close(fuse);
	if (overlay && put_overlay(argv[1])) {
		printf("SKIP: an overlay above a server: %s\n", strerror(errno));
		kill(server, SIGKILL);
		return 77;
	}
	snprintf(text, sizeof(text), "%d", (int)server);
	setenv("SERVER", text, 1);
	execvp(argv[2], argv + 2);
	return 127;
}
