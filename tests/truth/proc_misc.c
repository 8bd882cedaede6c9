/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* prctl, ptrace, names, log, restart, modules, capabilities. */
#include "truth.h"
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>

#define NOBODY 99999999L

static void settings(void)
{
	line(call(SYS_prctl, JUNK(PR_SET_NAME), tail_str("abc")), "prctl(PR_SET_NAME, \"abc\")");
	line(call(SYS_prctl, JUNK(PR_GET_NAME), tail_alloc(16)), "prctl(PR_GET_NAME, \"abc\")");
	line(call(SYS_prctl, JUNK(PR_SET_NAME), tail_str("abcdefghijklmnopqrst")), "prctl(PR_SET_NAME, \"abcdefghijklmno\"...)");
	line(call(SYS_prctl, (long)PR_SET_NAME, 1L), "prctl(PR_SET_NAME, 0x1)");
	text("prctl(PR_GET_DUMPABLE) = %ld (SUID_DUMP_USER)", call(SYS_prctl, JUNK(PR_GET_DUMPABLE)));
	line(call(SYS_prctl, JUNK(PR_SET_DUMPABLE), 5L), "prctl(PR_SET_DUMPABLE, 0x5 /* SUID_DUMP_??? */)");
	line(call(SYS_prctl, JUNK(PR_GET_PDEATHSIG), tail_alloc(4)), "prctl(PR_GET_PDEATHSIG, [0])");
	line(call(SYS_prctl, (long)PR_CAPBSET_READ, 99L), "prctl(PR_CAPBSET_READ, 0x63 /* CAP_??? */)");
	line(call(SYS_prctl, (long)PR_SET_NO_NEW_PRIVS, 0L, 1L, 2L, 3L), "prctl(PR_SET_NO_NEW_PRIVS, 0, 0x1, 0x2, 0x3)");
	line(call(SYS_prctl, (long)PR_CAP_AMBIENT, 9L, 1L, 2L, 3L), "prctl(PR_CAP_AMBIENT, 0x9 /* PR_CAP_AMBIENT_??? */, 0x1, 0x2, 0x3)");
	line(call(SYS_prctl, JUNK(99), 1L, 2L, 3L, 4L), "prctl(0x63 /* PR_??? */, 0x1, 0x2, 0x3, 0x4)");
	line(call(SYS_prctl, (long)PR_GET_CHILD_SUBREAPER, tail_alloc(4)), "prctl(PR_GET_CHILD_SUBREAPER, [0])");
	line(call(SYS_arch_prctl, JUNK(99), 5L), "arch_prctl(0x63 /* ARCH_??? */, 0x5)");
	line(call(SYS_arch_prctl, JUNK(0x1003), 1L), "arch_prctl(ARCH_GET_FS, 0x1)");
	text("personality(0xffffffff) = %s", call(SYS_personality, JUNK(-1)) == 0 ? "0 (PER_LINUX)" : "0x40000 (PER_LINUX|ADDR_NO_RANDOMIZE)");
}

static void tracing(void)
{
	line(call(SYS_ptrace, (long)PTRACE_CONT, NOBODY, 5L, 19L), "ptrace(PTRACE_CONT, %ld, 0x5, SIGSTOP)", NOBODY);
	line(call(SYS_ptrace, (long)PTRACE_ATTACH, NOBODY, 5L, 19L), "ptrace(PTRACE_ATTACH, %ld)", NOBODY);
	line(call(SYS_ptrace, (long)PTRACE_SEIZE, NOBODY, NULL, 0x100001L), "ptrace(PTRACE_SEIZE, %ld, NULL, PTRACE_O_TRACESYSGOOD|PTRACE_O_EXITKILL)", NOBODY);
	line(call(SYS_ptrace, (long)PTRACE_POKEUSER, NOBODY, 8 * 15L, 5L), "ptrace(PTRACE_POKEUSER, %ld, 8*ORIG_RAX, 0x5)", NOBODY);
	line(call(SYS_ptrace, (long)PTRACE_PEEKUSER, NOBODY, 848L, 5L), "ptrace(PTRACE_PEEKUSER, %ld, offsetof(struct user, u_debugreg), 0x5)", NOBODY);
	line(call(SYS_ptrace, (long)PTRACE_GETREGSET, NOBODY, 99L, 5L), "ptrace(PTRACE_GETREGSET, %ld, 0x63 /* NT_??? */, 0x5)", NOBODY);
	line(call(SYS_ptrace, 99L, NOBODY, 1L, 2L), "ptrace(0x63 /* PTRACE_??? */, %ld, 0x1, 0x2)", NOBODY);
}

static void machine(void)
{
	struct utsname *u = tail_alloc(sizeof(*u));
	long ret = call(SYS_uname, u);

	line(ret, "uname({sysname=\"%s\", nodename=\"%s\", ...})", u->sysname, u->nodename);
	line(call(SYS_sysinfo, 1L), "sysinfo(0x1)");
	line(call(SYS_reboot, JUNK(1), JUNK(2), JUNK(3)),
	     "reboot(0x1 /* LINUX_REBOOT_MAGIC1??? */, 0x2 /* LINUX_REBOOT_MAGIC2??? */, 0x3 /* LINUX_REBOOT_CMD_??? */)");
	line(call(SYS_reboot, JUNK(0xfee1dead), JUNK(1), JUNK(0xa1b2c3d4), tail_str("str")),
	     "reboot(LINUX_REBOOT_MAGIC1, 0x1 /* LINUX_REBOOT_MAGIC2??? */, LINUX_REBOOT_CMD_RESTART2, \"str\")");
	line(call(SYS_getcpu, 1L, NULL, NULL), "getcpu(0x1, NULL, NULL)");
	line(call(SYS_delete_module, 1L, JUNK(0x201)), "delete_module(0x1, O_TRUNC|0x1)");
	line(call(SYS_finit_module, JUNK(-1), tail_str("p=1"), JUNK(3)),
	     "finit_module(-1, \"p=1\", MODULE_INIT_IGNORE_MODVERSIONS|MODULE_INIT_IGNORE_VERMAGIC)");
	line(call(SYS_kexec_file_load, JUNK(-1), JUNK(-1), 4L, tail_str("abc"), 4L),
	     "kexec_file_load(-1, -1, 4, \"abc\\0\", KEXEC_FILE_NO_INITRAMFS)");
	line(call(SYS_kcmp, JUNK(NOBODY), JUNK(1), JUNK(0), JUNK(3), JUNK(4)), "kcmp(%ld, 1, KCMP_FILE, 3, 4)", NOBODY);
	line(call(SYS_pidfd_open, JUNK(NOBODY), JUNK(0x80)), "pidfd_open(%ld, PIDFD_THREAD)", NOBODY);
	line(call(SYS_pidfd_getfd, JUNK(-1), JUNK(0), JUNK(5)), "pidfd_getfd(-1, 0, 0x5)");
	line(call(SYS_userfaultfd, JUNK(0xfe)), "userfaultfd(0xfe /* UFFD_??? */)");
	line(call(SYS_acct, 1L), "acct(0x1)");
}

static void capabilities(void)
{
	uint32_t header[2] = { 0x20080522, 0x7fffffff }, data[6] = { 1 << 22 | 1, 3, 5, 1 << 8, 0x100, 0 };

	line(call(SYS_capset, tail_copy(header, 8), tail_copy(data, 24)),
	     "capset({version=_LINUX_CAPABILITY_VERSION_3, pid=2147483647}, {effective=1<<CAP_CHOWN|1<<CAP_SYS_BOOT|1<<CAP_CHECKPOINT_RESTORE, permitted=1<<CAP_CHOWN|1<<CAP_DAC_OVERRIDE|1<<CAP_CHECKPOINT_RESTORE, inheritable=1<<CAP_CHOWN|1<<CAP_DAC_READ_SEARCH})");
	header[0] = 0x19980330;
	line(call(SYS_capset, tail_copy(header, 8), tail_copy(data + 1, 12)),
	     "capset({version=_LINUX_CAPABILITY_VERSION_1, pid=2147483647}, {effective=1<<CAP_CHOWN|1<<CAP_DAC_OVERRIDE, permitted=1<<CAP_CHOWN|1<<CAP_DAC_READ_SEARCH, inheritable=1<<CAP_SETPCAP})");
	line(call(SYS_capget, 1L, 1L), "capget(0x1, 0x1)");
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	settings();
	tracing();
	machine();
	capabilities();
	return 0;
}
