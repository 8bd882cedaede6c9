/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fcntl, and the extended attributes. */
#include "truth.h"
#include <fcntl.h>
#include <signal.h>

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	int p[2];
	long fd = open("locked", O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (pipe(p) || fd < 0)
		return 2;
	line(call(SYS_fcntl, JUNK(fd), JUNK(F_DUPFD), 30L), "fcntl(%ld, F_DUPFD, 30)", fd);
	line(call(SYS_fcntl, JUNK(fd), JUNK(F_DUPFD_CLOEXEC), 30L), "fcntl(%ld, F_DUPFD_CLOEXEC, 30)", fd);
	line(call(SYS_fcntl, JUNK(fd), JUNK(F_GETFD)), "fcntl(%ld, F_GETFD)", fd);
	line(call(SYS_fcntl, JUNK(fd), JUNK(F_SETFD), (long)FD_CLOEXEC), "fcntl(%ld, F_SETFD, FD_CLOEXEC)", fd);
	call(SYS_fcntl, JUNK(fd), JUNK(F_GETFD));
	text("fcntl(%ld, F_GETFD) = 0x1 (flags FD_CLOEXEC)", fd);
	call(SYS_fcntl, JUNK(p[1]), JUNK(F_GETFL));
	text("fcntl(%d, F_GETFL) = 0x1 (flags O_WRONLY)", p[1]);
	call(SYS_fcntl, JUNK(p[0]), JUNK(F_GETFL));
	text("fcntl(%d, F_GETFL) = 0 (flags O_RDONLY)", p[0]);
	line(call(SYS_fcntl, JUNK(p[0]), JUNK(F_SETFL), (long)O_NONBLOCK), "fcntl(%d, F_SETFL, O_RDONLY|O_NONBLOCK)",
	     p[0]);
	line(call(SYS_fcntl, JUNK(-1), JUNK(F_GETFL)), "fcntl(-1, F_GETFL)");
	line(call(SYS_fcntl, JUNK(fd), JUNK(99), 5L), "fcntl(%ld, 0x63 /* F_??? */, 0x5)", fd);

	struct flock lk = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 7 };
	line(call(SYS_fcntl, JUNK(fd), JUNK(F_SETLK), tail_copy(&lk, sizeof(lk))),
	     "fcntl(%ld, F_SETLK, {l_type=F_WRLCK, l_whence=SEEK_SET, l_start=5, l_len=7})", fd);
	line(call(SYS_fcntl, fd, (long)F_GETLK, tail_copy(&lk, sizeof(lk))),
	     "fcntl(%ld, F_GETLK, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=5, l_len=7, l_pid=0})", fd);
	struct flock *bad = tail_copy(&lk, sizeof(lk));
	line(call(SYS_fcntl, JUNK(-1), (long)F_GETLK, bad), "fcntl(-1, F_GETLK, %s)", ptr(bad));
	lk.l_type = F_UNLCK;
	line(call(SYS_fcntl, fd, (long)F_OFD_SETLKW, tail_copy(&lk, sizeof(lk))),
	     "fcntl(%ld, F_OFD_SETLKW, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=5, l_len=7})", fd);
	char *cut = tail_copy(&lk, 5);
	line(call(SYS_fcntl, fd, (long)F_SETLKW, cut), "fcntl(%ld, F_SETLKW, %s)", fd, ptr(cut));

	line(call(SYS_fcntl, fd, (long)F_SETOWN, 0L), "fcntl(%ld, F_SETOWN, 0)", fd);
	line(call(SYS_fcntl, fd, (long)F_GETOWN), "fcntl(%ld, F_GETOWN)", fd);
	struct {
		int type, pid;
	} own = { 1, 0 };
	line(call(SYS_fcntl, fd, (long)F_SETOWN_EX, tail_copy(&own, 8)),
	     "fcntl(%ld, F_SETOWN_EX, {type=F_OWNER_PID, pid=0})", fd);
	line(call(SYS_fcntl, fd, (long)F_GETOWN_EX, tail_alloc(8)),
	     "fcntl(%ld, F_GETOWN_EX, {type=F_OWNER_PID, pid=0})", fd);
	line(call(SYS_fcntl, fd, (long)F_SETSIG, (long)SIGUSR1), "fcntl(%ld, F_SETSIG, SIGUSR1)", fd);
	call(SYS_fcntl, fd, (long)F_GETSIG);
	text("fcntl(%ld, F_GETSIG) = 10 (SIGUSR1)", fd);
	line(call(SYS_fcntl, fd, (long)F_SETLEASE, (long)F_UNLCK), "fcntl(%ld, F_SETLEASE, F_UNLCK)", fd);
	call(SYS_fcntl, fd, (long)F_GETLEASE);
	text("fcntl(%ld, F_GETLEASE) = 0x2 (F_UNLCK)", fd);
	line(call(SYS_fcntl, fd, (long)F_NOTIFY, 0x23L), "fcntl(%ld, F_NOTIFY, DN_ACCESS|DN_MODIFY|DN_ATTRIB)", fd);
	line(call(SYS_fcntl, p[0], (long)F_SETPIPE_SZ, 8192L), "fcntl(%d, F_SETPIPE_SZ, 8192)", p[0]);
	line(call(SYS_fcntl, p[0], (long)F_GETPIPE_SZ), "fcntl(%d, F_GETPIPE_SZ)", p[0]);
	long m = call(SYS_memfd_create, "m", 2L);
	line(call(SYS_fcntl, m, (long)F_GET_SEALS), "fcntl(%ld, F_GET_SEALS)", m);
	line(call(SYS_fcntl, m, (long)F_ADD_SEALS, 6L), "fcntl(%ld, F_ADD_SEALS, F_SEAL_SHRINK|F_SEAL_GROW)", m);
	call(SYS_fcntl, m, (long)F_GET_SEALS);
	text("fcntl(%ld, F_GET_SEALS) = 0x6 (seals F_SEAL_SHRINK|F_SEAL_GROW)", m);

	line(call(SYS_setxattr, tail_str("nope"), tail_str("user.a"), tail_copy("\1\2\3", 3), 3L, JUNK(1)),
	     "setxattr(\"nope\", \"user.a\", \"\\1\\2\\3\", 3, XATTR_CREATE)");
	line(call(SYS_fsetxattr, JUNK(-1), tail_str("user.a"), NULL, 0L, JUNK(2)),
	     "fsetxattr(-1, \"user.a\", NULL, 0, XATTR_REPLACE)");
	line(call(SYS_lsetxattr, tail_str("nope"), NULL, tail_copy("v", 1), 1L, JUNK(4)),
	     "lsetxattr(\"nope\", NULL, \"v\", 1, 0x4 /* XATTR_??? */)");
	char *v = tail_alloc(4);
	line(call(SYS_getxattr, tail_str("nope"), tail_str("user.a"), v, 4L), "getxattr(\"nope\", \"user.a\", %s, 4)",
	     ptr(v));
	line(call(SYS_fgetxattr, JUNK(-1), tail_str("user.a"), v, 4L), "fgetxattr(-1, \"user.a\", %s, 4)", ptr(v));
	line(call(SYS_listxattr, tail_str("locked"), NULL, 0L), "listxattr(\"locked\", NULL, 0)");
	line(call(SYS_flistxattr, JUNK(-1), v, 4L), "flistxattr(-1, %s, 4)", ptr(v));
	line(call(SYS_removexattr, tail_str("nope"), tail_str("user.a")), "removexattr(\"nope\", \"user.a\")");
	line(call(SYS_fremovexattr, JUNK(-1), tail_str("user.a")), "fremovexattr(-1, \"user.a\")");
	unlink("locked");
	return 0;
}
