/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who a process is: user and group numbers, session, names of the host. What would change something is refused. */
#include "truth.h"

static void own(void)
{
	text("getuid() = %ld", call(SYS_getuid));
	text("geteuid() = %ld", call(SYS_geteuid));
	text("getgid() = %ld", call(SYS_getgid));
	text("getegid() = %ld", call(SYS_getegid));
	text("getpgrp() = %ld", call(SYS_getpgrp));
}

static void change(void)
{
	line(call(SYS_setuid, JUNK(-1)), "setuid(-1)");
	line(call(SYS_setgid, JUNK(-1)), "setgid(-1)");
	line(call(SYS_setregid, JUNK(-1), JUNK(-1)), "setregid(-1, -1)");
	line(call(SYS_setreuid, JUNK(-1), JUNK(-1)), "setreuid(-1, -1)");
	line(call(SYS_setresuid, JUNK(-1), JUNK(-1), JUNK(-1)), "setresuid(-1, -1, -1)");
	line(call(SYS_setresgid, JUNK(-1), JUNK(-1), JUNK(-1)), "setresgid(-1, -1, -1)");
	text("setfsuid(-1) = %ld", call(SYS_setfsuid, JUNK(-1)));
	text("setfsgid(-1) = %ld", call(SYS_setfsgid, JUNK(-1)));
}

static void groups(void)
{
	const uint32_t list[3] = { 1, 0xffffffff, 3 };

	/* -1 is refused for everyone: EINVAL for root, EPERM for others. */
	line(call(SYS_setgroups, JUNK(3), tail_copy(list, 12)), "setgroups(3, [1, -1, 3])");
	line(call(SYS_setgroups, JUNK(3), 8L), "setgroups(3, 0x8)");
	line(call(SYS_setgroups, JUNK(65537), NULL), "setgroups(65537, NULL)");
}

static void host(void)
{
	/* A name that is too long is refused unread. */
	const char *name = tail_str("abc");

	line(call(SYS_sethostname, name, JUNK(65)), "sethostname(%s, 65)", ptr(name));
	line(call(SYS_setdomainname, 8L, JUNK(-1)), "setdomainname(0x8, 4294967295)");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	own();
	change();
	groups();
	host();
	return 0;
}
