/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading, writing and moving bytes. */
#include "truth.h"
#include <fcntl.h>
#include <sys/uio.h>

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	long fd = call(SYS_openat, JUNK(AT_FDCWD), tail_str("data"), JUNK(O_RDWR | O_CREAT | O_TRUNC), JUNK(0640));
	line(fd, "openat(AT_FDCWD, \"data\", O_RDWR|O_CREAT|O_TRUNC, 0640)");

	char *in = tail_copy("0123456789\n\t\"\\\001\0012\377", 18);
	line(call(SYS_write, JUNK(fd), in, 18L), "write(%ld, \"0123456789\\n\\t\\\"\\\\\\1\\0012\\377\", 18)", fd);
	line(call(SYS_write, fd, in, 0L), "write(%ld, \"\", 0)", fd);
	line(call(SYS_write, fd, NULL, 3L), "write(%ld, NULL, 3)", fd);
	line(call(SYS_write, fd, in, 19L), "write(%ld, %s, 19)", fd, ptr(in));
	line(call(SYS_write, JUNK(-1), in, 3L), "write(-1, \"012\", 3)");

	char *long33 = tail_copy("abcdefghijklmnopqrstuvwxyzABCDEFG", 33);
	line(call(SYS_pwrite64, fd, long33, 33L, 100L),
	     "pwrite64(%ld, \"abcdefghijklmnopqrstuvwxyzABCDEF\"..., 33, 100)", fd);
	line(call(SYS_pwrite64, fd, long33 + 1, 32L, 100L),
	     "pwrite64(%ld, \"bcdefghijklmnopqrstuvwxyzABCDEFG\", 32, 100)", fd);
	line(call(SYS_pwrite64, fd, long33, 1L, -1L), "pwrite64(%ld, \"a\", 1, -1)", fd);

	line(call(SYS_lseek, JUNK(fd), 0L, JUNK(SEEK_SET)), "lseek(%ld, 0, SEEK_SET)", fd);
	line(call(SYS_lseek, fd, -3L, (long)SEEK_END), "lseek(%ld, -3, SEEK_END)", fd);
	line(call(SYS_lseek, fd, 0L, 99L), "lseek(%ld, 0, 0x63 /* SEEK_??? */)", fd);
	line(call(SYS_lseek, JUNK(-7), 5L, (long)SEEK_CUR), "lseek(-7, 5, SEEK_CUR)");
	line(call(SYS_lseek, fd, 0L, (long)SEEK_SET), "lseek(%ld, 0, SEEK_SET)", fd);

	char *out = tail_alloc(5);
	line(call(SYS_read, JUNK(fd), out, 5L), "read(%ld, \"01234\", 5)", fd);
	line(call(SYS_read, fd, out, 0L), "read(%ld, \"\", 0)", fd);
	line(call(SYS_read, fd, NULL, 5L), "read(%ld, NULL, 5)", fd);
	line(call(SYS_read, JUNK(-1), out, 5L), "read(-1, %s, 5)", ptr(out));
	/* Fewer bytes come than there is room for. */
	char *rest = tail_alloc(3);
	line(call(SYS_pread64, fd, rest, 100L, 129L), "pread64(%ld, \"EFG\", 100, 129)", fd);
	line(call(SYS_pread64, fd, rest, 3L, 5000L), "pread64(%ld, \"\", 3, 5000)", fd);

	struct iovec v[2] = { { tail_copy("ab", 2), 2 }, { tail_copy("cde", 3), 3 } };
	struct iovec *vec = tail_copy(v, sizeof(v));
	line(call(SYS_writev, JUNK(fd), vec, 2L),
	     "writev(%ld, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"cde\", iov_len=3}], 2)", fd);
	line(call(SYS_writev, fd, vec, 0L), "writev(%ld, [], 0)", fd);
	line(call(SYS_writev, fd, NULL, 1L), "writev(%ld, NULL, 1)", fd);
	line(call(SYS_pwritev, fd, vec, 2L, 200L, 0L),
	     "pwritev(%ld, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"cde\", iov_len=3}], 2, 200)", fd);
	line(call(SYS_pwritev2, fd, vec, 1L, 200L, 0L, JUNK(RWF_DSYNC)),
	     "pwritev2(%ld, [{iov_base=\"ab\", iov_len=2}], 1, 200, RWF_DSYNC)", fd);
	line(call(SYS_preadv, fd, vec, 2L, 200L, 0L),
	     "preadv(%ld, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"cde\", iov_len=3}], 2, 200)", fd);
	/* What was read ends inside the second element. */
	line(call(SYS_preadv, fd, vec, 2L, 202L, 0L),
	     "preadv(%ld, [{iov_base=\"cd\", iov_len=2}, {iov_base=\"e\", iov_len=3}], 2, 202)", fd);
	line(call(SYS_preadv2, fd, vec, 2L, 204L, 0L, 0L),
	     "preadv2(%ld, [{iov_base=\"e\", iov_len=2}, {iov_base=\"\", iov_len=3}], 2, 204, 0)", fd);
	line(call(SYS_preadv2, fd, vec, 1L, 0L, 0L, JUNK(0x80000000)),
	     "preadv2(%ld, [{iov_base=%s, iov_len=2}], 1, 0, 0x80000000 /* RWF_??? */)", fd, ptr(v[0].iov_base));
	line(call(SYS_readv, JUNK(-1), vec, 2L), "readv(-1, [{iov_base=%s, iov_len=2}, {iov_base=%s, iov_len=3}], 2)",
	     ptr(v[0].iov_base), ptr(v[1].iov_base));

	line(call(SYS_dup, JUNK(fd)), "dup(%ld)", fd);
	line(call(SYS_dup2, JUNK(fd), JUNK(40)), "dup2(%ld, 40)", fd);
	line(call(SYS_dup3, fd, 41L, JUNK(O_CLOEXEC)), "dup3(%ld, 41, O_CLOEXEC)", fd);
	line(call(SYS_dup3, JUNK(-100), 41L, 0L), "dup3(-100, 41, 0)");
	line(call(SYS_close, JUNK(40)), "close(40)");
	line(call(SYS_close, JUNK(999)), "close(999)");
	line(call(SYS_close_range, JUNK(40), JUNK(41), JUNK(0)), "close_range(40, 41, 0)");
	line(call(SYS_close_range, 5000L, JUNK(-1), 4L), "close_range(5000, 4294967295, CLOSE_RANGE_CLOEXEC)");
	line(call(SYS_close_range, 9L, 8L, 6L), "close_range(9, 8, CLOSE_RANGE_UNSHARE|CLOSE_RANGE_CLOEXEC)");

	line(call(SYS_fsync, JUNK(fd)), "fsync(%ld)", fd);
	line(call(SYS_fdatasync, JUNK(fd)), "fdatasync(%ld)", fd);
	line(call(SYS_syncfs, JUNK(-1)), "syncfs(-1)");
	line(call(SYS_sync_file_range, fd, 1L, 2L, JUNK(7)),
	     "sync_file_range(%ld, 1, 2, SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE|SYNC_FILE_RANGE_WAIT_AFTER)",
	     fd);
	line(call(SYS_fallocate, JUNK(-1), JUNK(3), 4096L, 8192L),
	     "fallocate(-1, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 4096, 8192)");
	line(call(SYS_ftruncate, fd, 1000L), "ftruncate(%ld, 1000)", fd);
	line(call(SYS_truncate, tail_str("data"), 77L), "truncate(\"data\", 77)");
	line(call(SYS_truncate, NULL, 77L), "truncate(NULL, 77)");
	line(call(SYS_fadvise64, fd, 0L, 0L, JUNK(POSIX_FADV_SEQUENTIAL)),
	     "fadvise64(%ld, 0, 0, POSIX_FADV_SEQUENTIAL)", fd);
	line(call(SYS_readahead, JUNK(-1), 1L, 2L), "readahead(-1, 1, 2)");
	line(call(SYS_flock, JUNK(fd), JUNK(6)), "flock(%ld, LOCK_EX|LOCK_NB)", fd);
	line(call(SYS_flock, JUNK(-1), JUNK(8)), "flock(-1, LOCK_UN)");

	int *p = tail_alloc(8);
	long r = call(SYS_pipe, p);
	line(r, "pipe([%d, %d])", p[0], p[1]);
	r = call(SYS_pipe2, p, JUNK(O_NONBLOCK | O_CLOEXEC));
	line(r, "pipe2([%d, %d], O_NONBLOCK|O_CLOEXEC)", p[0], p[1]);
	line(call(SYS_pipe2, p, JUNK(1 << 30)), "pipe2(%s, 0x40000000 /* O_??? */)", ptr(p));
	line(call(SYS_pipe, NULL), "pipe(NULL)");

	long *off = tail_alloc(8);
	line(call(SYS_sendfile, JUNK(p[1]), JUNK(fd), off, 10L), "sendfile(%d, %ld, [0 => 10], 10)", p[1], fd);
	line(call(SYS_sendfile, JUNK(-1), JUNK(fd), off, 10L), "sendfile(-1, %ld, [10], 10)", fd);
	line(call(SYS_sendfile, p[1], fd, NULL, 4L), "sendfile(%d, %ld, NULL, 4)", p[1], fd);
	line(call(SYS_splice, JUNK(-1), NULL, JUNK(-2), off, 4096L, JUNK(3)),
	     "splice(-1, NULL, -2, [10], 4096, SPLICE_F_MOVE|SPLICE_F_NONBLOCK)");
	line(call(SYS_tee, JUNK(-1), JUNK(-1), 5L, JUNK(2)), "tee(-1, -1, 5, SPLICE_F_NONBLOCK)");
	line(call(SYS_vmsplice, JUNK(p[1]), vec, 1L, JUNK(0)), "vmsplice(%d, [{iov_base=\"ed\", iov_len=2}], 1, 0)",
	     p[1]);
	line(call(SYS_copy_file_range, JUNK(-1), NULL, JUNK(fd), off, 7L, JUNK(0)),
	     "copy_file_range(-1, NULL, %ld, [10], 7, 0)", fd);
	unlink("data");
	return 0;
}
