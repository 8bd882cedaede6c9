/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The stat family, abbreviated and in full, and getdents. */
#include "truth.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

static const char *kind(unsigned mode)
{
	return S_ISREG(mode)	? "S_IFREG"
	       : S_ISDIR(mode)	? "S_IFDIR"
	       : S_ISCHR(mode)	? "S_IFCHR"
	       : S_ISFIFO(mode) ? "S_IFIFO"
				: "?";
}

static const char *brief(const struct stat *st)
{
	static char s[200];

	if (S_ISCHR(st->st_mode))
		snprintf(s, sizeof(s), "{st_mode=%s|%#o, st_rdev=makedev(%#x, %#x), ...}", kind(st->st_mode),
			 st->st_mode & 07777, major(st->st_rdev), minor(st->st_rdev));
	else
		snprintf(s, sizeof(s), "{st_mode=%s|%#o, st_size=%ld, ...}", kind(st->st_mode), st->st_mode & 07777,
			 (long)st->st_size);
	return s;
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");

	struct stat *st = tail_alloc(sizeof(*st));
	long r;

	r = call(SYS_stat, tail_str("."), st);
	line(r, "stat(\".\", %s)", brief(st));
	r = call(SYS_stat, tail_str("/dev/null"), st);
	line(r, "stat(\"/dev/null\", %s)", brief(st));
	r = call(SYS_lstat, tail_str("/proc/self/maps"), st);
	line(r, "lstat(\"/proc/self/maps\", %s)", brief(st));
	r = call(SYS_fstat, JUNK(0), st);
	line(r, "fstat(0, %s)", brief(st));
	line(call(SYS_fstat, JUNK(-1), st), "fstat(-1, %s)", ptr(st));
	line(call(SYS_stat, NULL, st), "stat(NULL, %s)", ptr(st));
	r = call(SYS_newfstatat, JUNK(AT_FDCWD), tail_str("."), st, JUNK(AT_SYMLINK_NOFOLLOW));
	line(r, "newfstatat(AT_FDCWD, \".\", %s, AT_SYMLINK_NOFOLLOW)", brief(st));
	r = call(SYS_newfstatat, JUNK(0), tail_str(""), st, JUNK(AT_EMPTY_PATH));
	line(r, "newfstatat(0, \"\", %s, AT_EMPTY_PATH)", brief(st));
	line(call(SYS_stat, tail_str("."), (char *)st + 1), "stat(\".\", %s)", ptr((char *)st + 1));

	struct statx *sx = tail_alloc(sizeof(*sx));
	r = call(SYS_statx, JUNK(AT_FDCWD), tail_str("/etc/passwd"), JUNK(0), JUNK(STATX_BASIC_STATS), sx);
	if (r == 0 && sx->stx_mask == 0x17ff)
		line(r,
		     "statx(AT_FDCWD, \"/etc/passwd\", AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS, "
		     "{stx_mask=STATX_BASIC_STATS|STATX_MNT_ID, stx_attributes=0, stx_mode=%s|%#o, stx_size=%llu, "
		     "...})",
		     kind(sx->stx_mode), sx->stx_mode & 07777, (unsigned long long)sx->stx_size);
	line(call(SYS_statx, JUNK(-1), tail_str("x"), JUNK(AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW),
		  JUNK(STATX_SIZE | STATX_BTIME), sx),
	     "statx(-1, \"x\", AT_STATX_DONT_SYNC|AT_SYMLINK_NOFOLLOW, STATX_SIZE|STATX_BTIME, %s)", ptr(sx));

	struct statfs *sf = tail_alloc(sizeof(*sf));
	r = call(SYS_statfs, tail_str("/proc"), sf);
	if (r == 0 && sf->f_flags == 0x102e)
		line(r,
		     "statfs(\"/proc\", {f_type=PROC_SUPER_MAGIC, f_bsize=4096, f_blocks=0, f_bfree=0, f_bavail=0, "
		     "f_files=0, f_ffree=0, "
		     "f_fsid={val=[%s%x, %s%x]}, f_namelen=255, f_frsize=4096, "
		     "f_flags=ST_VALID|ST_NOSUID|ST_NODEV|ST_NOEXEC|ST_RELATIME})",
		     sf->f_fsid.__val[0] ? "0x" : "", (unsigned)sf->f_fsid.__val[0], sf->f_fsid.__val[1] ? "0x" : "",
		     (unsigned)sf->f_fsid.__val[1]);
	line(call(SYS_fstatfs, JUNK(-1), sf), "fstatfs(-1, %s)", ptr(sf));
	line(call(SYS_statfs, tail_str("nope"), NULL), "statfs(\"nope\", NULL)");

	/* A directory of its own with three files. */
	if (mkdir("dir", 0700))
		return 2;
	close(open("dir/a", O_CREAT | O_WRONLY, 0600));
	close(open("dir/b", O_CREAT | O_WRONLY, 0600));
	close(open("dir/c", O_CREAT | O_WRONLY, 0600));
	int fd = open("dir", O_RDONLY | O_DIRECTORY);
	char *buf = tail_alloc(32768);
	r = call(SYS_getdents64, JUNK(fd), buf, JUNK(32768));
	line(r, "getdents64(%d, %s /* 5 entries */, 32768)", fd, ptr(buf));
	line(call(SYS_getdents64, JUNK(fd), buf, JUNK(32768)), "getdents64(%d, %s /* 0 entries */, 32768)", fd,
	     ptr(buf));
	lseek(fd, 0, SEEK_SET);
	line(call(SYS_getdents, JUNK(fd), buf, JUNK(32768)), "getdents(%d, %s /* 5 entries */, 32768)", fd, ptr(buf));
	line(call(SYS_getdents64, JUNK(-1), NULL, JUNK(5)), "getdents64(-1, NULL, 5)");
	unlink("dir/a");
	unlink("dir/b");
	unlink("dir/c");
	rmdir("dir");
	return 0;
}
