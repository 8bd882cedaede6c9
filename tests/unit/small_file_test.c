/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Small files and what is read of /proc: names that pretend to be fields, long lines, files that are not there. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/served_file.h"
#include "base/small_file.h"

static char path[] = "/tmp/espy-small-XXXXXX";

static void put(const char *text, size_t pad)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fprintf(f, "Groups:\t");
	for (size_t i = 0; i < pad; i++)
		fputc('7', f);
	fprintf(f, "\n%s", text);
	fclose(f);
}

static void test_small(void **state)
{
	char text[12];

	(void)state;
	put("second", 1);
	assert_int_equal(espy_read_small(path, text, sizeof(text)), 11);
	assert_string_equal(text, "Groups:\t7\ns");
	assert_int_equal(espy_read_line(path, text, sizeof(text)), 9);
	assert_string_equal(text, "Groups:\t7");
	assert_int_equal(espy_read_small("/nowhere/at/all", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	assert_int_equal(espy_read_small("/tmp", text, sizeof(text)), -EISDIR);
}

static void test_field(void **state)
{
	char value[8];

	(void)state;
	/* at each place of a part that is read at once */
	for (size_t pad = 990; pad < 1040; pad++) {
		put("VmRSSx:\t1\nxVmRSS:\t2\nVmRSS:\t \t345 kB\nVmRSS:\t6\n", pad);
		assert_int_equal(espy_read_field(path, "VmRSS", value, sizeof(value)), 6);
		assert_string_equal(value, "345 kB");
	}
	assert_int_equal(espy_read_field(path, "Groups", value, sizeof(value)), 7);
	assert_string_equal(value, "7777777");
	assert_int_equal(espy_read_field(path, "VmRS", value, sizeof(value)), -ENOENT);
	assert_int_equal(espy_read_field("/nowhere/at/all", "VmRSS", value, sizeof(value)), -ENOENT);
	put("Last:\t9", 1);
	assert_int_equal(espy_read_field(path, "Last", value, sizeof(value)), 1);
	assert_string_equal(value, "9");
}

static void test_proc(void **state)
{
	struct espy_proc_stat stat;
	char comm[32];

	(void)state;
	prctl(PR_SET_NAME, ") Z 1 2 (x");
	assert_true(espy_read_proc_stat(getpid(), &stat));
	assert_int_equal(stat.state, 'R');
	assert_true(stat.start_stack > 1);
	assert_true(espy_read_proc(0, "comm", comm, sizeof(comm)) > 0);
	assert_string_equal(comm, ") Z 1 2 (x\n");
	assert_int_equal(espy_status_field(0, "Tgid"), getpid());
	assert_int_equal(espy_status_field(getpid(), "PPid"), getppid());
	assert_int_equal(espy_status_field(0, "NoSuchField"), -1);
	assert_int_equal(espy_status_field(1 << 30, "Tgid"), -1);
	assert_false(espy_read_proc_stat(1 << 30, &stat));
}

/* A file system whose server answers nothing, not even the first request: a file of it, or -1 where there can be none. */
static int mount_silent(const char *dir)
{
	char options[96];
	const int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (server < 0)
		return -1;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", server);
	if (!mount("silent", dir, "fuse", 0, options))
		return server;
	close(server);
	return -1;
}

/* The mounts are read once; one that is made later is seen, and one that is gone is forgotten. */
static void test_server(void **state)
{
	char dir[] = "/tmp/espy-served-XXXXXX", file[64];

	(void)state;
	if (!mkdtemp(dir))
		fail();
	snprintf(file, sizeof(file), "%s/file", dir);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL)) {
		rmdir(dir);
		skip();
	}
	assert_int_equal(espy_ask_server(file), 0);
	const int server = mount_silent(dir);

	if (server < 0) {
		rmdir(dir);
		skip();
	}
	const int asked = espy_ask_server(file), again = espy_ask_server(file);

	close(server); /* with it the requests end */
	umount2(dir, MNT_DETACH);
	const int gone = espy_ask_server(file);

	rmdir(dir);
	assert_int_equal(asked, -ETIMEDOUT);
	assert_int_equal(again, -ETIMEDOUT);
	assert_int_equal(gone, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_field),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_server),
	};
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
