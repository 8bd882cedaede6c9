/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * put_server FILE COMMAND...: runs a command to which FILE is a file of a server with the same contents, in a mount
 * namespace of its own. The server's number is in $SERVER: it answers until it is stopped. After SIGUSR1 it stops
 * itself at the second open of the file. Status 77: such a file cannot be had here.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
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
static volatile sig_atomic_t opens = -1; /* so many it still answers; -1: all */

static void answer_one(int sig)
{
	(void)sig;
	opens = 1;
}

static size_t fill_attr(struct fuse_attr *a)
{
	*a = (struct fuse_attr){
		.ino = 1, .size = (uint64_t)st.st_size, .mode = S_IFREG | 0755, .nlink = 1, .blksize = 4096
	};
	return sizeof(struct fuse_attr_out);
}

/* Puts the answer to a request; its size, or -errno. */
static ssize_t answer(const struct fuse_in_header *in, const void *arg, void *out)
{
	const struct fuse_read_in *r = arg;
	struct fuse_attr_out *attr = out;
	uint64_t left;

	switch (in->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)out =
			(struct fuse_init_out){ .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096 };
		return sizeof(struct fuse_init_out);
	case FUSE_GETATTR:
		return (ssize_t)fill_attr(&attr->attr);
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

int main(int argc, char **argv)
{
	const int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
	char text[80];

	if (file < 0 || fstat(file, &st))
		return 2;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
	snprintf(text, sizeof(text), "fd=%d,rootmode=100755,user_id=0,group_id=0,allow_other", fuse);
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
	snprintf(text, sizeof(text), "%d", (int)server);
	setenv("SERVER", text, 1);
	execvp(argv[2], argv + 2);
	return 127;
}
