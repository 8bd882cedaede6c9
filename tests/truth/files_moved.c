/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* -y shows what a file is called now, though the calls that rename and remove it are not shown. */
#include "truth.h"
#include <fcntl.h>
#include <sys/stat.h>

#define GONE "(deleted)"

static char top[4096];

static int made(const char *name)
{
	return open(name, O_CREAT | O_RDWR, 0600);
}

/* The call and the line of a descriptor; after: what stands behind the name. */
static void shown(int fd, const char *name, const char *after)
{
	line(call(SYS_fchdir, JUNK(fd)), "fchdir(%d<%s/%s>%s)", fd, top, name, after);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-y -e trace=fchdir,lseek,faccessat");
	if (!getcwd(top, sizeof(top)) || mkdir("d", 0700) || mkdir("d/e", 0700) || symlink("d", "l"))
		return 2;

	int a = made("a");
	shown(a, "a", "");
	unlink("a");
	shown(a, "a", GONE);
	int again = made("a");
	unlinkat(AT_FDCWD, ".//a", 0);
	shown(again, "a", GONE);

	int b = made("b"), over = made("over"), d = open("d", O_RDONLY);
	rename("b", "over");
	shown(b, "over", "");
	shown(over, "over", GONE);
	renameat(AT_FDCWD, "over", d, "e/../b");
	shown(b, "d/b", "");
	renameat2(d, "b", d, "../c", RENAME_NOREPLACE);
	shown(b, "c", "");
	rename("l/none", "c");
	shown(b, "c", "");

	int f = made("l/e/f"), e = open("d/e", O_RDONLY);
	line(call(SYS_lseek, e, 0, JUNK(SEEK_CUR)), "lseek(%d<%s/d/e>, 0, SEEK_CUR)", e, top);
	rename("d/e", "g");
	shown(f, "g/f", "");
	line(call(SYS_lseek, e, 0, JUNK(SEEK_CUR)), "lseek(%d<%s/g>, 0, SEEK_CUR)", e, top);

	int x = made("x"), y = made("y");
	if (!renameat2(AT_FDCWD, "x", AT_FDCWD, "y", RENAME_EXCHANGE)) {
		shown(x, "y", "");
		shown(y, "x", "");
		unlink("y");
		shown(x, "y", GONE);
	}

	mkdir("w", 0700);
	int w = open("w", O_RDONLY);
	shown(w, "w", "");
	rmdir("../w");
	line(call(SYS_lseek, w, 0, JUNK(SEEK_CUR)), "lseek(%d<%s/w>" GONE ", 0, SEEK_CUR)", w, top);
	line(call(SYS_faccessat, JUNK(AT_FDCWD), "x", JUNK(F_OK)), "faccessat(AT_FDCWD<%s/w (deleted)>, \"x\", F_OK)",
	     top);
	return 0;
}
