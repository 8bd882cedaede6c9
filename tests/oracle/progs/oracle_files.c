/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Oracle: files: open, stat, links, attributes, directories, vectors. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

int main(void)
{
	struct open_how how = { .flags = O_RDONLY, .resolve = RESOLVE_NO_SYMLINKS };
	struct iovec v[3] = { { (char *)"one", 3 }, { (char *)"two two", 7 }, { NULL, 0 } };
	struct timespec ut[2] = { { 1600000000, 123 }, { 0, UTIME_OMIT } };
	struct flock lk = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 2 };
	struct statx sx;
	struct statfs sf;
	struct stat st;
	char buf[1000];
	loff_t off = 2;
	int p[2];

	int f = open("file", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	writev(f, v, 2);
	pwritev(f, v, 2, 20);
	pwrite64(f, "at\0\1\377", 5, 3);
	lseek(f, 0, SEEK_SET);
	lseek(f, -1, SEEK_END);
	lseek(f, 0, 99);
	v[0] = (struct iovec){ buf, 4 };
	v[1] = (struct iovec){ buf + 100, 100 };
	preadv(f, v, 2, 0);
	pread64(f, buf, 100, 1);
	read(f, buf, 0);
	read(-1, buf, 10);
	write(-1, (void *)1, 10);
	ftruncate(f, 5);
	fsync(f);
	fdatasync(f);
	fallocate(f, FALLOC_FL_KEEP_SIZE, 0, 4096);
	posix_fadvise(f, 0, 0, POSIX_FADV_SEQUENTIAL);
	fcntl(f, F_GETFL);
	fcntl(f, F_SETFL, O_APPEND | O_NONBLOCK);
	fcntl(f, F_SETFD, FD_CLOEXEC);
	fcntl(f, F_GETFD);
	fcntl(f, F_DUPFD_CLOEXEC, 20);
	fcntl(f, F_SETLK, &lk);
	fcntl(f, F_GETLK, &lk);
	fcntl(f, 99, 5);
	flock(f, LOCK_EX | LOCK_NB);
	dup3(f, 30, O_CLOEXEC);
	dup2(f, 31);
	stat("file", &st);
	lstat("/dev/null", &st);
	fstat(f, &st);
	fstatat(AT_FDCWD, "missing", &st, AT_SYMLINK_NOFOLLOW);
	statx(AT_FDCWD, "file", AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS | STATX_BTIME, &sx);
	statfs("/proc", &sf);
	access("file", R_OK | W_OK);
	faccessat(AT_FDCWD, "missing", X_OK, AT_EACCESS);
	chmod("file", 04755);
	fchmodat(AT_FDCWD, "file", 0, 0);
	fchmod(f, 0600);
	chown("file", -1, -1);
	fchownat(AT_FDCWD, "file", 0, 0, AT_SYMLINK_NOFOLLOW);
	utimensat(AT_FDCWD, "file", ut, 0);
	utimensat(AT_FDCWD, "file", NULL, AT_SYMLINK_NOFOLLOW);
	link("file", "hard");
	symlink("file", "soft");
	readlink("soft", buf, sizeof(buf));
	readlink("file", buf, sizeof(buf));
	rename("hard", "harder");
	syscall(SYS_renameat2, AT_FDCWD, "harder", AT_FDCWD, "soft", 1u /* RENAME_NOREPLACE */);
	unlink("harder");
	unlinkat(AT_FDCWD, "soft", 0);
	mkdir("dir", 0755);
	int d = open("dir", O_RDONLY | O_DIRECTORY);
	syscall(SYS_getdents64, d, buf, sizeof(buf));
	openat(d, "../file", O_RDONLY);
	syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof(how));
	syscall(SYS_openat2, AT_FDCWD, "file", &how, 4L);
	open("tmpdir", O_TMPFILE | O_RDWR, 0600);
	open("x", O_ACCMODE | O_PATH);
	mknod("fifo", S_IFIFO | 0600, 0);
	mknodat(-1, "dev", S_IFCHR | 0600, makedev(1, 3));
	rmdir("dir");
	chdir("/nonexistent");
	getcwd(buf, 1);
	umask(022);
	setxattr("file", "user.a", "value", 5, XATTR_CREATE);
	getxattr("file", "user.a", buf, sizeof(buf));
	listxattr("file", buf, sizeof(buf));
	fgetxattr(f, "user.missing", buf, 10);
	removexattr("file", "user.a");
	pipe2(p, O_CLOEXEC);
	pipe(p);
	fcntl(p[0], F_SETPIPE_SZ, 65536);
	syscall(SYS_splice, f, &off, p[1], NULL, 2L, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	syscall(SYS_tee, p[0], p[1], 10L, SPLICE_F_NONBLOCK);
	off = 0;
	sendfile(p[1], f, &off, 3);
	syscall(SYS_copy_file_range, f, &off, -1, NULL, 10L, 0);
	truncate("missing", 5);
	sync();
	close(f);
	close(-1);
	close_range(50, 60, 0);
	return 0;
}
