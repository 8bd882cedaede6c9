/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What -v shows in full: structures, arrays, the environment. */
#include "truth.h"
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/utsname.h>
#include <sys/wait.h>

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
	return 0;
}
