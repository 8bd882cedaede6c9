/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What can be seen of a process from outside, without touching it, that forbids to load a library into it; in words. */
#include "source/agent/inject_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int espy_inject__refuse(struct espy_inject_result *r, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return err;
}

int espy_inject_failed(pid_t pid)
{
	static const char *const name[] = { "espy_agent_failed" };
	struct espy_elf_symbol found[1];
	struct espy_late_pages late = { 0 };
	struct espy_objects o;
	int failed = 0;

	if (espy_objects__of_pid(&o, pid))
		return 0;
	for (size_t i = 0; i < o.cnt; i++) {
		if (o.v[i].error || espy_elf__dynamic_symbols(&o.v[i].elf, name, 1, found) || !found[0].value)
			continue;
		struct iovec to = { &failed, sizeof(failed) };
		struct iovec from = { (void *)(uintptr_t)(o.v[i].bias + found[0].value), sizeof(failed) };

		if (!espy_late_pages__all_ready(&late, pid, (uintptr_t)from.iov_base, sizeof(failed)) ||
		    process_vm_readv(pid, &to, 1, &from, 1, 0) != sizeof(failed) || failed < -4095 || failed > 0)
			failed = 0;
		break;
	}
	espy_late_pages__end(&late);
	espy_objects__free(&o);
	return failed;
}

int espy_inject__read_status(pid_t pid, struct espy_inject_status *s)
{
	char path[64], line[512];

	*s = (struct espy_inject_status){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f)) {
		int pid_field;

		if (sscanf(line, "State: %c", &s->state) == 1)
			continue;
		if (sscanf(line, "Tgid: %d", &pid_field) == 1)
			s->tgid = pid_field;
		else if (sscanf(line, "Threads: %u", &s->threads) == 1)
			continue;
		else if (sscanf(line, "PPid: %d", &pid_field) == 1)
			s->parent = pid_field;
		else if (sscanf(line, "TracerPid: %d", &pid_field) == 1)
			s->tracer = pid_field;
		else if (sscanf(line, "Uid: %u %u %u %u", &s->ruid, &s->euid, &s->suid, &s->fsuid) == 4 ||
			 sscanf(line, "Gid: %u %u %u %u", &s->rgid, &s->egid, &s->sgid, &s->fsgid) == 4 ||
			 sscanf(line, "SigIgn: %" SCNx64, &s->ignored) == 1 ||
			 sscanf(line, "SigCgt: %" SCNx64, &s->caught) == 1 ||
			 sscanf(line, "Seccomp: %d", &s->seccomp) == 1 ||
			 sscanf(line, "Seccomp_filters: %u", &s->filters) == 1)
			continue;
		else if (!strncmp(line, "NStgid:", 7))
			s->own_pid = (pid_t)strtol(strrchr(line, '\t') ? strrchr(line, '\t') + 1 : "0", NULL, 10);
		else if (!strncmp(line, "x86_Thread_features:", 20))
			s->shadow_stack = strstr(line, "shstk") != NULL;
	}
	fclose(f);
	return 0;
}

/* As espy_inject__check_library(), by one look. -ENOENT: neither the file nor /proc. */
static int look_for_library(pid_t pid, const char *library, const struct stat *ours)
{
	char path[4400];
	struct stat theirs;
	struct statfs fs;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, library);
	if (library[0] == '/' && !stat(path, &theirs) && theirs.st_dev == ours->st_dev && theirs.st_ino == ours->st_ino)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root/proc", (int)pid);
	return !statfs(path, &fs) && fs.f_type == PROC_SUPER_MAGIC ? 1 : -ENOENT;
}

int espy_inject__check_library(pid_t pid, const char *library, struct espy_inject_result *r)
{
	struct stat ours;
	int found;

	if (stat(library, &ours))
		return espy_inject__refuse(r, -errno, "%s: %s", library, strerror(errno));
	found = look_for_library(pid, library, &ours);
	/* While one of its threads executes a program there is a moment in which /proc knows nothing of the process. */
	for (unsigned i = 0; found < 0 && i < 3; i++) {
		const struct timespec nap = { .tv_nsec = 2000000 };

		nanosleep(&nap, NULL);
		found = look_for_library(pid, library, &ours);
	}
	if (found >= 0)
		return found;
	return espy_inject__refuse(
		r, -ENOENT,
		"process %d sees another root directory (a container?), where neither %s nor /proc is to be found; "
		"put the agent there and start the program with LD_PRELOAD",
		(int)pid, library);
}

/* A vfork child works in its parent's memory until it has executed its program: what were loaded would be the parent's.
 */
static bool in_parents_memory(pid_t pid, const struct espy_inject_status *s)
{
	return s->parent > 0 && syscall(SYS_kcmp, pid, s->parent, KCMP_VM, 0, 0) == 0;
}

int espy_inject__refuse_traced(pid_t pid, pid_t tracer, struct espy_inject_result *r)
{
	return espy_inject__refuse(r, -EBUSY, "process %d is being traced by process %d (a debugger?)", (int)pid,
				   (int)tracer);
}

int espy_inject__check_status(pid_t pid, bool held, struct espy_inject_status *s, struct espy_inject_result *r)
{
	int err = espy_inject__read_status(pid, s);

	/* The first thread also ends when another one executes a program, and takes its place in a moment. */
	for (unsigned i = 0; !err && s->state == 'Z' && s->threads > 1 && i < 10; i++) {
		const struct timespec nap = { .tv_nsec = 2000000 };

		nanosleep(&nap, NULL);
		err = espy_inject__read_status(pid, s);
	}
	if (err)
		return espy_inject__refuse(r, err, "process %d: %s", (int)pid, strerror(-err));
	if (s->state == 'Z' && s->threads > 1)
		return espy_inject__refuse(
			r, -EOPNOTSUPP,
			"the first thread of process %d has ended, and a library is not loaded through others "
			"then; use --via kernel",
			(int)pid);
	if (s->state == 'Z' || s->state == 'X')
		return espy_inject__refuse(r, -ESRCH, "process %d has ended", (int)pid);
	if (s->state == 'T' && !s->tracer)
		return espy_inject__refuse(r, -EAGAIN,
					   "process %d is stopped; let it go on (kill -CONT %d) and try again",
					   (int)pid, (int)pid);
	if (s->tracer && !held)
		return espy_inject__refuse_traced(pid, s->tracer, r);
	if (s->ruid != s->euid || s->ruid != s->suid || s->rgid != s->egid || s->rgid != s->sgid)
		return espy_inject__refuse(
			r, -EPERM,
			"process %d runs with the rights of another user than the one that started it (set-user-id); "
			"no library is loaded into such a program",
			(int)pid);
	if (geteuid() && s->ruid != geteuid())
		return espy_inject__refuse(
			r, -EPERM, "process %d belongs to user %u; only that user and root may load the agent into it",
			(int)pid, s->ruid);
	if (in_parents_memory(pid, s))
		return espy_inject__refuse(
			r, -ESTALE,
			"process %d works in the memory of its parent %d, and has not executed a program of its own "
			"yet (vfork); try again, or trace the parent",
			(int)pid, (int)s->parent);
	if (s->shadow_stack)
		return espy_inject__refuse(r, -EOPNOTSUPP,
					   "process %d runs with a shadow stack, which forbids calls made for it",
					   (int)pid);
	return 0;
}

int espy_inject__refuse_trace(pid_t pid, struct espy_inject_result *r)
{
	struct espy_inject_status now;

	/* Somebody else was faster: another espy perhaps, which will be done in a moment. */
	if (!espy_inject__read_status(pid, &now) && now.tracer)
		return espy_inject__refuse_traced(pid, now.tracer, r);
	return espy_inject__refuse(r, -EPERM,
				   "process %d: %s (a debugger holds it, or it may not be traced: see "
				   "/proc/sys/kernel/yama/ptrace_scope)",
				   (int)pid, strerror(EPERM));
}
