/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What -v shows in full: structures, arrays, the environment. */
#include "truth.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>

/* Each return of a filter has an action; instructions of the extended kind have their names, and what is no jump needs no targets. */
static void filters(void)
{
	const struct sock_filter insns[] = { { BPF_RET | BPF_A, 0, 0, SECCOMP_RET_ERRNO | 5 },
					     { BPF_RET | BPF_X, 0, 0, 0x12345678 },
					     { BPF_LD | 0x18 | 0xc0, 0, 0, 1 },
					     { BPF_ALU | 0xc0 | 0x100, 0, 0, 2 },
					     { BPF_JMP | BPF_JA, 0, 0, 3 },
					     { BPF_JMP | 0xd0, 1, 0, 4 },
					     { BPF_MISC | 0x118, 0, 0, 5 } };
	const struct sock_filter *f = tail_copy(insns, sizeof(insns));
	const struct sock_fprog prog = { 8, (struct sock_filter *)f };

	line(call(SYS_seccomp, JUNK(1), JUNK(0x100), tail_copy(&prog, sizeof(prog))),
	     "seccomp(SECCOMP_SET_MODE_FILTER, 0x100 /* SECCOMP_FILTER_FLAG_??? */, {len=8, filter=["
	     "BPF_STMT(BPF_RET|BPF_A, SECCOMP_RET_ERRNO|0x5), BPF_STMT(BPF_RET|BPF_X, 0x12340000 /* SECCOMP_RET_??? "
	     "*/|0x5678), "
	     "BPF_STMT(BPF_LD|BPF_DW|BPF_XADD, 0x1), BPF_STMT(BPF_ALU|BPF_K|BPF_ARSH, 0x2), "
	     "BPF_STMT(BPF_JMP|BPF_K|BPF_JA, 0x3), "
	     "BPF_JUMP(BPF_JMP|BPF_K|BPF_JSLE, 0x4, 0x1, 0), BPF_STMT(BPF_MISC|0x18 /* BPF_??? */|0x100 /* BPF_??? */, "
	     "0x5), "
	     "... /* %s */]})",
	     ptr(f + 7));
}

/* A filter is shown up to the most instructions that the kernel takes. */
static void long_filter(void)
{
	const unsigned short len = BPF_MAXINSNS + 1;
	static char want[BPF_MAXINSNS * 40];
	char *end = want;
	struct sock_filter *insns = tail_alloc(len * sizeof(*insns));

	for (unsigned i = 0; i < len; i++) {
		insns[i] = (struct sock_filter){ BPF_MISC | BPF_TAX, 0, 0, i };
		if (i < BPF_MAXINSNS)
			end += sprintf(end, i ? "BPF_STMT(BPF_MISC|BPF_TAX, %#x), " : "BPF_STMT(BPF_MISC|BPF_TAX, 0), ", i);
	}
	line(call(SYS_seccomp, JUNK(SECCOMP_SET_MODE_FILTER), 0L, tail_copy(&(struct sock_fprog){ len, insns }, sizeof(struct sock_fprog))),
	     "seccomp(SECCOMP_SET_MODE_FILTER, 0, {len=%u, filter=[%s...]})", len, want);
}

/* The kernel tells how many instructions there are, also where it was given no room for them. */
static void asked_filter(void)
{
	struct sock_filter insn = { BPF_RET | BPF_K, 0, 0, 7 };
	const struct sock_fprog prog = { 1, &insn };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), *len = tail_alloc(sizeof(*len));
	struct sock_filter *room = tail_copy(&insn, sizeof(insn));

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)))
		return;
	line(call(SYS_getsockopt, JUNK(fd), JUNK(SOL_SOCKET), JUNK(SO_GET_FILTER), room, len),
	     "getsockopt(%d, SOL_SOCKET, SO_GET_FILTER, [BPF_STMT(BPF_RET|BPF_K, 0x7)], [0 => 1])", fd);
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-v");

	struct utsname *u = tail_alloc(sizeof(*u));
	long ret = call(SYS_uname, u);
	line(ret, "uname({sysname=\"%s\", nodename=\"%s\", release=\"%s\", version=\"%s\", machine=\"%s\", domainname=\"%s\"})", u->sysname,
	     u->nodename, u->release, u->version, u->machine, u->domainname);

	char *envp[] = { tail_str("A=1"), tail_str("B=two\n"), NULL };
	line(call(SYS_execve, tail_str("/none/x"), NULL, tail_copy(envp, sizeof(envp))), "execve(\"/none/x\", NULL, [\"A=1\", \"B=two\\n\"])");
	char **open_end = tail_copy(envp, 2 * sizeof(envp[0]));
	line(call(SYS_execve, tail_str("/none/x"), NULL, open_end), "execve(\"/none/x\", NULL, [\"A=1\", \"B=two\\n\", ... /* %s */])", ptr(open_end + 2));

	struct sembuf ops[40];
	char want[4096] = "";
	for (int i = 0; i < 40; i++) {
		ops[i] = (struct sembuf){ .sem_num = (unsigned short)i, .sem_op = (short)-i };
		snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s{sem_num=%d, sem_op=%d, sem_flg=0}", i ? ", " : "", i, -i);
	}
	line(call(SYS_semop, JUNK(-1), tail_copy(ops, sizeof(ops)), JUNK(40)), "semop(-1, [%s], 40)", want);

	int pid = fork();
	if (!pid)
		_exit(7);
	int *st = tail_alloc(4);
	struct rusage *r = tail_alloc(sizeof(*r));
	ret = call(SYS_wait4, JUNK(pid), st, JUNK(0), r);
	line(ret,
	     "wait4(%d, [{WIFEXITED(s) && WEXITSTATUS(s) == 7}], 0, {ru_utime={tv_sec=%ld, tv_usec=%ld}, ru_stime={tv_sec=%ld, tv_usec=%ld}, "
	     "ru_maxrss=%ld, ru_ixrss=%ld, ru_idrss=%ld, ru_isrss=%ld, ru_minflt=%ld, ru_majflt=%ld, ru_nswap=%ld, ru_inblock=%ld, "
	     "ru_oublock=%ld, ru_msgsnd=%ld, ru_msgrcv=%ld, ru_nsignals=%ld, ru_nvcsw=%ld, ru_nivcsw=%ld})",
	     pid, r->ru_utime.tv_sec, r->ru_utime.tv_usec, r->ru_stime.tv_sec, r->ru_stime.tv_usec, r->ru_maxrss, r->ru_ixrss, r->ru_idrss,
	     r->ru_isrss, r->ru_minflt, r->ru_majflt, r->ru_nswap, r->ru_inblock, r->ru_oublock, r->ru_msgsnd, r->ru_msgrcv, r->ru_nsignals,
	     r->ru_nvcsw, r->ru_nivcsw);
	filters();
	long_filter();
	asked_filter();
	return 0;
}
