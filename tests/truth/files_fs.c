/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names, owners, modes, times, directories. */
#include "truth.h"
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	umask(022);

	line(call(SYS_open, tail_str("f"), JUNK(O_WRONLY | O_CREAT), JUNK(0600)),
	     "open(\"f\", O_WRONLY|O_CREAT, 0600)");
	line(call(SYS_creat, tail_str("g"), JUNK(0600)), "creat(\"g\", 0600)");
	line(call(SYS_openat, JUNK(-5), tail_str("f"), JUNK(O_RDONLY | O_CLOEXEC)),
	     "openat(-5, \"f\", O_RDONLY|O_CLOEXEC)");
	line(call(SYS_openat, JUNK(AT_FDCWD), NULL, JUNK(O_ACCMODE)), "openat(AT_FDCWD, NULL, O_ACCMODE)");
	char *bad = tail_copy("xyz", 3); /* no NUL before the end of the memory */
	line(call(SYS_openat, JUNK(AT_FDCWD), bad, 0L), "openat(AT_FDCWD, %s, O_RDONLY)", ptr(bad));
	line(call(SYS_openat, JUNK(AT_FDCWD), tail_str("a\nb\177\001"), JUNK(O_PATH | O_DIRECTORY)),
	     "openat(AT_FDCWD, \"a\\nb\\177\\1\", O_RDONLY|O_PATH|O_DIRECTORY)");
	line(call(SYS_openat, JUNK(AT_FDCWD), tail_str("/dev/null/x"), JUNK(O_RDWR | O_TMPFILE), JUNK(0)),
	     "openat(AT_FDCWD, \"/dev/null/x\", O_RDWR|O_TMPFILE, 000)");

	struct open_how how = { .flags = O_RDWR | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
	line(call(SYS_openat2, JUNK(AT_FDCWD), tail_str("nope"), tail_copy(&how, sizeof(how)), sizeof(how)),
	     "openat2(AT_FDCWD, \"nope\", {flags=O_RDWR|O_CLOEXEC, resolve=RESOLVE_BENEATH}, 24)");
	how.flags = O_RDWR | O_CREAT | O_EXCL;
	how.mode = 0666;
	how.resolve = 0;
	line(call(SYS_openat2, JUNK(AT_FDCWD), tail_str("f"), tail_copy(&how, sizeof(how)), sizeof(how)),
	     "openat2(AT_FDCWD, \"f\", {flags=O_RDWR|O_CREAT|O_EXCL, mode=0666, resolve=0}, 24)");
	line(call(SYS_openat2, JUNK(AT_FDCWD), tail_str("f"), NULL, 24L), "openat2(AT_FDCWD, \"f\", NULL, 24)");
	void *p = tail_alloc(20);
	line(call(SYS_openat2, JUNK(AT_FDCWD), tail_str("f"), p, 20L), "openat2(AT_FDCWD, \"f\", %s, 20)", ptr(p));

	line(call(SYS_access, tail_str("f"), JUNK(R_OK)), "access(\"f\", R_OK)");
	line(call(SYS_access, tail_str("nope"), JUNK(F_OK)), "access(\"nope\", F_OK)");
	line(call(SYS_access, tail_str("f"), JUNK(0x18)), "access(\"f\", 0x18 /* ?_OK */)");
	line(call(SYS_faccessat, JUNK(AT_FDCWD), tail_str("f"), JUNK(R_OK | W_OK)),
	     "faccessat(AT_FDCWD, \"f\", R_OK|W_OK)");
	line(call(SYS_faccessat2, JUNK(-1), tail_str("f"), JUNK(F_OK), JUNK(AT_EACCESS | AT_SYMLINK_NOFOLLOW)),
	     "faccessat2(-1, \"f\", F_OK, AT_SYMLINK_NOFOLLOW|AT_EACCESS)");

	text("umask(027) = 022");
	call(SYS_umask, JUNK(027));
	line(call(SYS_chmod, tail_str("f"), JUNK(04755)), "chmod(\"f\", 04755)");
	line(call(SYS_chmod, NULL, JUNK(0)), "chmod(NULL, 000)");
	line(call(SYS_fchmod, JUNK(-1), JUNK(07)), "fchmod(-1, 007)");
	line(call(SYS_fchmodat, JUNK(AT_FDCWD), tail_str("nope"), JUNK(0644)), "fchmodat(AT_FDCWD, \"nope\", 0644)");
	line(call(SYS_chown, tail_str("nope"), JUNK(-1), JUNK(7)), "chown(\"nope\", -1, 7)");
	line(call(SYS_lchown, tail_str("nope"), JUNK(8), JUNK(-1)), "lchown(\"nope\", 8, -1)");
	line(call(SYS_fchown, JUNK(-1), JUNK(-1), JUNK(-1)), "fchown(-1, -1, -1)");
	line(call(SYS_fchownat, JUNK(-1), tail_str("nope"), JUNK(0), JUNK(0), JUNK(AT_SYMLINK_NOFOLLOW)),
	     "fchownat(-1, \"nope\", 0, 0, AT_SYMLINK_NOFOLLOW)");

	struct timespec ts[2] = { { 1, 999999999 }, { 5, UTIME_OMIT } };
	setenv("TZ", "UTC", 1);
	line(call(SYS_utimensat, JUNK(-1), tail_str("f"), tail_copy(ts, sizeof(ts)), JUNK(0)),
	     "utimensat(-1, \"f\", [{tv_sec=1, tv_nsec=999999999} /* 1970-01-01T00:00:01.999999999+0000 */, "
	     "UTIME_OMIT], 0)");
	line(call(SYS_utimensat, JUNK(-1), tail_str("f"), NULL, JUNK(AT_SYMLINK_NOFOLLOW)),
	     "utimensat(-1, \"f\", NULL, AT_SYMLINK_NOFOLLOW)");
	long tv[4] = { 3, 4, 0, 0 };
	line(call(SYS_utimes, tail_str("nope"), tail_copy(tv, sizeof(tv))),
	     "utimes(\"nope\", [{tv_sec=3, tv_usec=4} /* 1970-01-01T00:00:03.000004+0000 */, {tv_sec=0, tv_usec=0}])");
	line(call(SYS_futimesat, JUNK(-1), tail_str("nope"), NULL), "futimesat(-1, \"nope\", NULL)");
	line(call(SYS_utime, tail_str("nope"), tail_copy(tv, 16)),
	     "utime(\"nope\", {actime=3 /* 1970-01-01T00:00:03+0000 */, modtime=4 /* 1970-01-01T00:00:04+0000 */})");

	line(call(SYS_link, tail_str("f"), tail_str("h")), "link(\"f\", \"h\")");
	line(call(SYS_linkat, JUNK(-1), tail_str("f"), JUNK(AT_FDCWD), tail_str("i"), JUNK(AT_SYMLINK_FOLLOW)),
	     "linkat(-1, \"f\", AT_FDCWD, \"i\", AT_SYMLINK_FOLLOW)");
	line(call(SYS_symlink, tail_str("target of the link"), tail_str("s")),
	     "symlink(\"target of the link\", \"s\")");
	line(call(SYS_symlinkat, tail_str("t"), JUNK(-1), tail_str("s2")), "symlinkat(\"t\", -1, \"s2\")");
	char *buf = tail_alloc(6);
	line(call(SYS_readlink, tail_str("s"), buf, 6L), "readlink(\"s\", \"target\", 6)");
	line(call(SYS_readlinkat, JUNK(AT_FDCWD), tail_str("s"), tail_alloc(18), 100L),
	     "readlinkat(AT_FDCWD, \"s\", \"target of the link\", 100)");
	line(call(SYS_readlink, tail_str("f"), buf, 6L), "readlink(\"f\", %s, 6)", ptr(buf));
	line(call(SYS_rename, tail_str("h"), tail_str("j")), "rename(\"h\", \"j\")");
	line(call(SYS_renameat, JUNK(AT_FDCWD), tail_str("j"), JUNK(AT_FDCWD), tail_str("k")),
	     "renameat(AT_FDCWD, \"j\", AT_FDCWD, \"k\")");
	line(call(SYS_renameat2, JUNK(AT_FDCWD), tail_str("k"), JUNK(-1), tail_str("f"), JUNK(3)),
	     "renameat2(AT_FDCWD, \"k\", -1, \"f\", RENAME_NOREPLACE|RENAME_EXCHANGE)");
	line(call(SYS_mknod, tail_str("fifo"), JUNK(S_IFIFO | 0600), JUNK(0)), "mknod(\"fifo\", S_IFIFO|0600)");
	line(call(SYS_mknodat, JUNK(-1), tail_str("dev"), JUNK(S_IFCHR | 0600), JUNK(0x103)),
	     "mknodat(-1, \"dev\", S_IFCHR|0600, makedev(0x1, 0x3))");
	line(call(SYS_mkdir, tail_str("d"), JUNK(0755)), "mkdir(\"d\", 0755)");
	line(call(SYS_mkdirat, JUNK(AT_FDCWD), tail_str("d"), JUNK(0700)), "mkdirat(AT_FDCWD, \"d\", 0700)");
	line(call(SYS_chdir, tail_str("d")), "chdir(\"d\")");
	line(call(SYS_chdir, tail_str("..")), "chdir(\"..\")");
	line(call(SYS_fchdir, JUNK(-1)), "fchdir(-1)");
	line(call(SYS_rmdir, tail_str("d")), "rmdir(\"d\")");
	line(call(SYS_unlink, tail_str("fifo")), "unlink(\"fifo\")");
	line(call(SYS_unlinkat, JUNK(AT_FDCWD), tail_str("nope"), JUNK(AT_REMOVEDIR)),
	     "unlinkat(AT_FDCWD, \"nope\", AT_REMOVEDIR)");
	line(call(SYS_chroot, tail_str("nope")), "chroot(\"nope\")");
	char *cwd = tail_alloc(1);
	line(call(SYS_getcwd, cwd, 1L), "getcwd(%s, 1)", ptr(cwd));

	static const char *const LEFT[] = { "f", "g", "k", "s" };
	for (unsigned i = 0; i < sizeof(LEFT) / sizeof(LEFT[0]); i++)
		unlink(LEFT[i]);
	return 0;
}
