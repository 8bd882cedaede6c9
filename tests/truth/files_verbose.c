/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What only -v shows: all of stat and statx, directory entries, all control characters, long arrays. */
#include "truth.h"
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

static const char *date(long sec, long nsec)
{
	static char ring[4][64];
	static unsigned next;
	char *s = ring[next++ % 4];
	time_t t = sec;
	struct tm tm;
	size_t n = strftime(s, 64, "%FT%T", gmtime_r(&t, &tm));

	if (nsec)
		n += (size_t)snprintf(s + n, 64 - n, ".%09ld", nsec);
	snprintf(s + n, 64 - n, "+0000");
	return s;
}

static void put_time(const char *name, long sec, long nsec)
{
	printf("%s=%ld /* %s */, %s_nsec=%ld", name, sec, date(sec, nsec), name, nsec);
}

static void put_dev(const char *name, dev_t dev)
{
	printf("%s=makedev(%s%x, %s%x), ", name, major(dev) ? "0x" : "", major(dev), minor(dev) ? "0x" : "",
	       minor(dev));
}

static void put_stamp(const char *name, const struct statx_timestamp *ts)
{
	printf(", %s={tv_sec=%lld, tv_nsec=%u} /* %s */", name, (long long)ts->tv_sec, ts->tv_nsec,
	       date(ts->tv_sec, ts->tv_nsec));
}

static void put_attrs(unsigned long long attrs)
{
	static const struct {
		unsigned long long bit;
		const char *name;
	} NAMES[] = {
		{ 0x4, "COMPRESSED" },	  { 0x10, "IMMUTABLE" },  { 0x20, "APPEND" },
		{ 0x40, "NODUMP" },	  { 0x800, "ENCRYPTED" }, { 0x1000, "AUTOMOUNT" },
		{ 0x2000, "MOUNT_ROOT" }, { 0x100000, "VERITY" }, { 0x200000, "DAX" },
	};
	const char *sep = "";

	for (unsigned i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (attrs & NAMES[i].bit) {
			printf("%sSTATX_ATTR_%s", sep, NAMES[i].name);
			sep = "|";
		}
	if (!*sep)
		putchar('0');
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-v");
	setenv("TZ", "UTC", 1);

	close(open("f", O_CREAT | O_WRONLY | O_TRUNC, 0640));
	if (truncate("f", 4097))
		return 2;
	struct stat *st = tail_alloc(sizeof(*st));
	long r = call(SYS_stat, tail_str("f"), st);
	printf("stat(\"f\", {");
	put_dev("st_dev", st->st_dev);
	printf("st_ino=%lu, st_mode=S_IFREG|0640, st_nlink=1, st_uid=%u, st_gid=%u, st_blksize=%ld, st_blocks=%ld, "
	       "st_size=4097, ",
	       (unsigned long)st->st_ino, st->st_uid, st->st_gid, (long)st->st_blksize, (long)st->st_blocks);
	put_time("st_atime", st->st_atim.tv_sec, st->st_atim.tv_nsec);
	printf(", ");
	put_time("st_mtime", st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	printf(", ");
	put_time("st_ctime", st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
	printf("})");
	truth_end(r);

	struct statx *sx = tail_alloc(sizeof(*sx));
	r = call(SYS_statx, JUNK(AT_FDCWD), tail_str("f"), JUNK(0), JUNK(STATX_MODE | STATX_SIZE | STATX_MTIME), sx);
	if (r == 0 && (sx->stx_mask & ~STATX_BTIME) == (STATX_BASIC_STATS | 0x1000) &&
	    !(sx->stx_attributes_mask & ~0x303874ull)) {
		printf("statx(AT_FDCWD, \"f\", AT_STATX_SYNC_AS_STAT, STATX_MODE|STATX_MTIME|STATX_SIZE, "
		       "{stx_mask=%s|STATX_MNT_ID, "
		       "stx_blksize=%u, stx_attributes=0, stx_nlink=1, stx_uid=%u, stx_gid=%u, stx_mode=S_IFREG|0640, "
		       "stx_ino=%llu, "
		       "stx_size=4097, stx_blocks=%llu, stx_attributes_mask=",
		       sx->stx_mask & STATX_BTIME ? "STATX_ALL" : "STATX_BASIC_STATS", sx->stx_blksize, sx->stx_uid,
		       sx->stx_gid, (unsigned long long)sx->stx_ino, (unsigned long long)sx->stx_blocks);
		put_attrs(sx->stx_attributes_mask);
		put_stamp("stx_atime", &sx->stx_atime);
		if (sx->stx_mask & STATX_BTIME)
			put_stamp("stx_btime", &sx->stx_btime);
		put_stamp("stx_ctime", &sx->stx_ctime);
		put_stamp("stx_mtime", &sx->stx_mtime);
		printf(", stx_rdev_major=0, stx_rdev_minor=0, stx_dev_major=%u, stx_dev_minor=%u, stx_mnt_id=%#llx})",
		       sx->stx_dev_major, sx->stx_dev_minor, (unsigned long long)*(uint64_t *)((char *)sx + 0x90));
		truth_end(r);
	}
	unlink("f");

	if (mkdir("dir", 0700))
		return 2;
	close(open("dir/name", O_CREAT | O_WRONLY, 0600));
	int fd = open("dir", O_RDONLY | O_DIRECTORY);
	for (int old = 0; old < 2; old++) {
		char *buf = tail_alloc(1024);

		lseek(fd, 0, SEEK_SET);
		r = call(old ? SYS_getdents : SYS_getdents64, JUNK(fd), buf, JUNK(1024));
		printf("%s(%d, [", old ? "getdents" : "getdents64", fd);
		for (long at = 0; at < r;) {
			unsigned char *e = (unsigned char *)buf + at;
			uint64_t ino, off;
			uint16_t reclen;
			unsigned type;

			memcpy(&ino, e, 8);
			memcpy(&off, e + 8, 8);
			memcpy(&reclen, e + 16, 2);
			type = old ? e[reclen - 1] : e[18];
			const char *kind = type == 4   ? "DT_DIR"
					   : type == 8 ? "DT_REG"
						       : "DT_UNKNOWN",
				   *name = (char *)e + (old ? 18 : 19);
			printf("%s{d_ino=%llu, d_off=%lld, d_reclen=%u, ", at ? ", " : "", (unsigned long long)ino,
			       (long long)off, reclen);
			if (old)
				printf("d_name=\"%s\", d_type=%s}", name, kind);
			else
				printf("d_type=%s, d_name=\"%s\"}", kind, name);
			at += reclen;
		}
		line(r, "], 1024)");
	}
	unlink("dir/name");
	rmdir("dir");

	/* On a terminal: elsewhere the command has two names. */
	long m = call(SYS_openat, (long)AT_FDCWD, "/dev/ptmx", (long)(O_RDWR | O_NOCTTY)), zero = 0;
	if (m >= 0 && call(SYS_ioctl, m, (long)TIOCSPTLCK, &zero) == 0) {
		long s = call(SYS_ioctl, m, (long)TIOCGPTPEER, (long)(O_RDWR | O_NOCTTY));
		struct termios t = { .c_iflag = ICRNL, .c_cflag = B9600 | CS8, .c_cc = { 3, 28, 127 } };

		line(call(SYS_ioctl, s, (long)TCSETS, tail_copy(&t, sizeof(t))),
		     "ioctl(%ld, TCSETS, {c_iflag=ICRNL, c_oflag=NL0|CR0|TAB0|BS0|VT0|FF0|, c_cflag=B9600|CS8|, "
		     "c_lflag=, c_line=N_TTY, "
		     "c_cc=[[VINTR]=0x3, [VQUIT]=0x1c, [VERASE]=0x7f, [VKILL]=0, [VEOF]=0, [VTIME]=0, [VMIN]=0, "
		     "[VSWTC]=0, [VSTART]=0, "
		     "[VSTOP]=0, [VSUSP]=0, [VEOL]=0, [VREPRINT]=0, [VDISCARD]=0, [VWERASE]=0, [VLNEXT]=0, [VEOL2]=0, "
		     "[17]=0, [18]=0]})",
		     s);
	}

	struct pollfd *pf = tail_alloc(40 * sizeof(*pf));
	for (int i = 0; i < 40; i++)
		pf[i].fd = -1;
	call(SYS_poll, pf, JUNK(40), JUNK(0));
	printf("poll([");
	for (int i = 0; i < 40; i++)
		printf("%s{fd=-1}", i ? ", " : "");
	text("], 40, 0) = 0 (Timeout)");
	return 0;
}
