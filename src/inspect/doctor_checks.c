/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "inspect/doctor_checks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <mntent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include "arch/call_abi.h"
#include "base/small_file.h"
#include "source/kernel_probes.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF 39
#endif
#define PTRACE_GET_SYSCALL_INFO_OP 0x420e
/* Inodes of the first namespaces (include/linux/proc_ns.h of the kernel). */
#define FIRST_USER_NS 0xeffffffdu
#define FIRST_PID_NS 0xeffffffcu

static void __attribute__((format(printf, 3, 4)))
say(struct espy_check_result *r, enum espy_finding state, const char *fmt, ...)
{
	va_list ap;

	r->state = state;
	va_start(ap, fmt);
	vsnprintf(r->detail, sizeof(r->detail), fmt, ap);
	va_end(ap);
}

static void way(struct espy_check_result *r, const char *text)
{
	snprintf(r->way, sizeof(r->way), "%s", text);
}

/* Reads a line "Name:\tvalue" of /proc/self/status as a hexadecimal or decimal number. */
static bool status_number(const char *name, int base, uint64_t *out)
{
	char value[64];

	if (espy_read_status(0, name, value, sizeof(value)) < 0)
		return false;
	*out = strtoull(value, NULL, base);
	return true;
}

static bool has_cap(unsigned cap)
{
	uint64_t caps;

	return status_number("CapEff", 16, &caps) && caps >> cap & 1;
}

/* Tells whether espy is in the first user namespace. Capabilities of others mean nothing to most of the kernel. */
static bool in_first_userns(void)
{
	struct stat st;

	return stat("/proc/self/ns/user", &st) || st.st_ino == FIRST_USER_NS; /* no such file: there is only one */
}

static bool may_bpf(void)
{
	return in_first_userns() && (has_cap(CAP_SYS_ADMIN) || (has_cap(CAP_BPF) && has_cap(CAP_PERFMON)));
}

static void check_kernel(struct espy_check_result *r)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%u.%u", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 15)) {
		say(r, ESPY_FINDING_YES, "Linux %s (bpf: 5.15 or newer, ptrace: 5.3 or newer)", u.release);
	} else if (major == 5 && minor >= 3) {
		say(r, ESPY_FINDING_PARTLY, "Linux %s: ptrace only (bpf: 5.15 or newer)", u.release);
		way(r, "a newer kernel");
	} else {
		say(r, ESPY_FINDING_NO, "Linux %s is too old (ptrace: 5.3 or newer)", u.release);
		way(r, "a newer kernel");
	}
}

static void check_arch(struct espy_check_result *r)
{
	struct utsname u;

	uname(&u);
	if (!strcmp(u.machine, ESPY_ARCH_UNAME))
		say(r, ESPY_FINDING_YES, "%s", u.machine);
	else
		say(r, ESPY_FINDING_NO,
		    "%s: this version knows the system calls of " ESPY_ARCH_UNAME " (and its 32-bit ABIs)", u.machine);
}

static void check_user(struct espy_check_result *r)
{
	static const struct {
		unsigned cap;
		const char *name;
	} caps[] = {
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },	  { CAP_BPF, "CAP_BPF" },
		{ CAP_PERFMON, "CAP_PERFMON" },		  { CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE" },
	};
	char list[160] = "";

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (has_cap(caps[i].cap)) {
			strncat(list, " ", sizeof(list) - strlen(list) - 1);
			strncat(list, caps[i].name, sizeof(list) - strlen(list) - 1);
		}
	say(r, may_bpf() ? ESPY_FINDING_YES : ESPY_FINDING_PARTLY, "uid %u;%s%s", (unsigned)geteuid(),
	    list[0] ? list : " no capabilities", list[0] && !in_first_userns() ? ", inside this user namespace only" : "");
	if (!in_first_userns())
		way(r, "for bpf: run espy as root of the first user namespace, outside of the container");
	else if (!may_bpf())
		way(r, "for bpf: run as root, or give espy CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep): every user may then "
		       "watch programs that ptrace would show that user, and no others");
}

static void check_userns(struct espy_check_result *r)
{
	char line[128];
	unsigned long inside, outside, count;

	if (espy_read_line("/proc/self/uid_map", line, sizeof(line)) < 0 ||
	    sscanf(line, "%lu %lu %lu", &inside, &outside, &count) != 3)
		say(r, ESPY_FINDING_INFO, "cannot be told: no /proc/self/uid_map");
	else if (!inside && !outside && count == 4294967295ul)
		say(r, ESPY_FINDING_YES, "the first one: capabilities count everywhere");
	else {
		say(r, ESPY_FINDING_PARTLY,
		    "not the first one: capabilities count inside it only, bpf is not possible");
		way(r, "for bpf: run espy outside of the container");
	}
}

static void check_pidns(struct espy_check_result *r)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		say(r, ESPY_FINDING_INFO, "cannot be told: %s", strerror(errno));
	else if (st.st_ino == FIRST_PID_NS)
		say(r, ESPY_FINDING_YES, "the first one");
	else {
		say(r, ESPY_FINDING_PARTLY, "not the first one: ptrace works with its process numbers, bpf is not possible");
		way(r, "for bpf: run espy outside of the container, or share its host's pid namespace (--pid=host)");
	}
}

static void check_btf(struct espy_check_result *r)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		say(r, ESPY_FINDING_YES, "/sys/kernel/btf/vmlinux");
		return;
	}
	say(r, ESPY_FINDING_NO, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	way(r, errno == ENOENT ? "a kernel built with CONFIG_DEBUG_INFO_BTF=y, and sysfs on /sys" : "read permission");
}

static void check_bpf_sysctl(struct espy_check_result *r)
{
	char v[32];

	if (espy_read_line("/proc/sys/kernel/unprivileged_bpf_disabled", v, sizeof(v)) < 0)
		say(r, ESPY_FINDING_INFO, "not to be had");
	else
		say(r, ESPY_FINDING_INFO,
		    "%s: bpf(2) without privilege is %s; espy needs CAP_BPF and CAP_PERFMON in any case", v,
		    v[0] == '0' ? "allowed" : "refused");
}

static void check_lockdown(struct espy_check_result *r)
{
	char v[128];

	if (espy_read_line("/sys/kernel/security/lockdown", v, sizeof(v)) < 0) {
		say(r, ESPY_FINDING_YES, "no lockdown");
	} else if (strstr(v, "[confidentiality]")) {
		say(r, ESPY_FINDING_NO, "confidentiality: BPF programs may not read memory");
		way(r, "for bpf: boot with lockdown=integrity or none");
	} else {
		say(r, ESPY_FINDING_YES, "%s", v);
	}
}

static void probed(struct espy_check_result *r, int probe, const char *since)
{
	if (!in_first_userns()) {
		say(r, ESPY_FINDING_INFO, "cannot be asked from inside a user namespace");
	} else if (!may_bpf()) {
		say(r, ESPY_FINDING_INFO, "cannot be asked without CAP_BPF and CAP_PERFMON");
	} else if (probe > 0) {
		say(r, ESPY_FINDING_YES, "Linux %s or newer has it", since);
	} else {
		say(r, ESPY_FINDING_NO, "the kernel refuses it%s%s", probe < 0 ? ": " : "",
		    probe < 0 ? strerror(-probe) : "");
		way(r, "a kernel with CONFIG_BPF_SYSCALL=y and the feature");
	}
}

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static void check_ringbuf(struct espy_check_result *r)
{
	libbpf_set_print(silent);
	probed(r, may_bpf() ? libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) : 0, "5.8");
}

static void check_task_storage(struct espy_check_result *r)
{
	libbpf_set_print(silent);
	probed(r, may_bpf() ? libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) : 0, "5.11");
}

static void check_raw_tp(struct espy_check_result *r)
{
	libbpf_set_print(silent);
	probed(r, may_bpf() ? libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL) : 0, "4.17");
}

/* Finds the mount of a file system of this type. */
static bool find_mount(const char *type, char *path, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;

	do
		m = f ? getmntent(f) : NULL;
	while (m && strcmp(m->mnt_type, type));
	if (m)
		snprintf(path, size, "%s", m->mnt_dir);
	if (f)
		endmntent(f);
	return m;
}

/* Checks tracefs: with it espy watches few calls of many at a lower price. If it is missing, espy mounts its own. */
static void check_tracefs(struct espy_check_result *r)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	char path[320], mounted[256];
	bool denied = false;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/events/syscalls", places[i]);
		if (!faccessat(AT_FDCWD, path, R_OK, AT_EACCESS)) {
			say(r, ESPY_FINDING_YES, "%s", places[i]);
			return;
		}
		denied |= errno == EACCES;
	}
	if (!find_mount("tracefs", mounted, sizeof(mounted))) {
		if (may_bpf() && has_cap(CAP_SYS_ADMIN))
			say(r, ESPY_FINDING_YES, "not mounted; espy opens one for itself");
		else
			say(r, ESPY_FINDING_PARTLY, "not mounted: neither entries of calls nor a narrow -e trace= are made cheaper");
		return;
	}
	if (denied) {
		say(r, ESPY_FINDING_PARTLY, "mounted at %.100s, and this user may not read it: neither entries of calls nor a narrow -e trace= are made cheaper",
		    mounted);
		way(r, in_first_userns() ? "root" : "root of the first user namespace, outside of the container");
		return;
	}
	say(r, ESPY_FINDING_NO, "mounted at %.100s, of a kernel without events of system calls", mounted);
	way(r, "a kernel with CONFIG_FTRACE_SYSCALLS=y");
}

/* Checks whether -u reaches functions of the kernel. */
static void check_kernel_functions(struct espy_check_result *r)
{
	struct espy_kernel_probes k;
	char why[256];
	int err;

	if (!may_bpf()) {
		say(r, ESPY_FINDING_INFO, "cannot be asked without CAP_BPF and CAP_PERFMON");
		return;
	}
	err = espy_kernel_probes__find(&k, why, sizeof(why));
	if (!err) {
		say(r, ESPY_FINDING_YES, "%s%s",
		    k.multi && k.pmu ? "kprobes, of many functions at once"
		    : k.multi ? "kprobes of whole functions (-u kernel:FUNCTION+OFFSET needs CONFIG_KPROBE_EVENTS)"
			      : "kprobes, one by one",
		    espy_kernel_probes__try_fentry() ? "" : "; fentry for parameters by name");
		return;
	}
	say(r, ESPY_FINDING_NO, "%s", why);
	way(r, "for -u kernel:FUNCTION: a kernel with CONFIG_KPROBES=y and CONFIG_KPROBE_EVENTS=y");
}

static void check_paranoid(struct espy_check_result *r)
{
	char v[32];

	if (espy_read_line("/proc/sys/kernel/perf_event_paranoid", v, sizeof(v)) < 0)
		say(r, ESPY_FINDING_INFO, "not to be had: a kernel without perf events");
	else
		say(r, ESPY_FINDING_INFO, "%s: perf events of %s for users without CAP_PERFMON", v,
		    atoi(v) >= 2   ? "user space only, or none,"
		    : atoi(v) == 1 ? "their own processes"
				   : "the system");
}

static void check_yama(struct espy_check_result *r)
{
	char v[32];

	if (espy_read_line("/proc/sys/kernel/yama/ptrace_scope", v, sizeof(v)) < 0) {
		say(r, ESPY_FINDING_YES, "no Yama: -p works on every process of the same user");
		return;
	}
	int scope = atoi(v);
	if (!scope || (scope < 3 && has_cap(CAP_SYS_PTRACE))) {
		say(r, ESPY_FINDING_YES, "%d", scope);
	} else if (scope == 1) {
		say(r, ESPY_FINDING_PARTLY, "1: ptrace reaches commands that espy starts; -p needs CAP_SYS_PTRACE");
		way(r, "for -p: root, or sysctl kernel.yama.ptrace_scope=0");
	} else {
		say(r, ESPY_FINDING_NO, "%d: %s", scope,
		    scope == 2 ? "ptrace needs CAP_SYS_PTRACE" : "nobody may use ptrace until the next boot");
		way(r, scope == 2 ? "root, or sysctl kernel.yama.ptrace_scope=1" : "remove the setting and boot again");
	}
}

static void check_seccomp(struct espy_check_result *r)
{
	char v[256];
	uint64_t mode = 0;

	if (espy_read_line("/proc/sys/kernel/seccomp/actions_avail", v, sizeof(v)) < 0 || !strstr(v, "trace")) {
		say(r, ESPY_FINDING_NO, "no filter that asks a tracer: under ptrace every call stops, wanted or not");
		way(r, "a kernel with CONFIG_SECCOMP_FILTER=y");
		return;
	}
	status_number("Seccomp", 10, &mode);
	say(r, ESPY_FINDING_YES,
	    mode ? "usable; espy itself runs under a filter, which may refuse ptrace or bpf"
		 : "usable: under ptrace only the calls that are wanted stop");
}

/* Traces a child that lets itself be traced: a container's filter may refuse any part of that. */
static void check_ptrace(struct espy_check_result *r)
{
	struct {
		uint64_t words[16];
	} info;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(errno & 0xff);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		say(r, ESPY_FINDING_NO, "fork: %s", strerror(errno));
		return;
	}
	if (!WIFSTOPPED(status)) {
		say(r, ESPY_FINDING_NO, "PTRACE_TRACEME: %s",
		    strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EPERM));
		way(r, "in a container: --cap-add=SYS_PTRACE, or a seccomp profile that allows ptrace");
		return;
	}
	long n = ptrace((enum __ptrace_request)PTRACE_GET_SYSCALL_INFO_OP, pid, sizeof(info), &info);
	int err = errno;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (n > 0) {
		say(r, ESPY_FINDING_YES, "PTRACE_GET_SYSCALL_INFO works");
	} else {
		say(r, ESPY_FINDING_NO, "PTRACE_GET_SYSCALL_INFO: %s", strerror(err));
		way(r, "Linux 5.3 or newer");
	}
}

static void check_vm_readv(struct espy_check_result *r)
{
	char from = 'x', to = 0;
	struct iovec local = { &to, 1 }, remote = { &from, 1 };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1) {
		say(r, ESPY_FINDING_YES, "memory of other processes can be read at once");
	} else {
		say(r, ESPY_FINDING_NO, "%s", strerror(errno));
		way(r,
		    "a kernel with CONFIG_CROSS_MEMORY_ATTACH=y, or a container profile that allows process_vm_readv");
	}
}

const struct espy_check espy_checks[] = {
	{ "kernel", check_kernel },
	{ "architecture", check_arch },
	{ "user and capabilities", check_user },
	{ "user namespace", check_userns },
	{ "pid namespace", check_pidns },
	{ "BTF", check_btf },
	{ "unprivileged_bpf_disabled", check_bpf_sysctl },
	{ "lockdown", check_lockdown },
	{ "BPF ring buffer", check_ringbuf },
	{ "BPF task storage", check_task_storage },
	{ "BPF raw tracepoints", check_raw_tp },
	{ "tracefs", check_tracefs },
	{ "functions of the kernel", check_kernel_functions },
	{ "perf_event_paranoid", check_paranoid },
	{ "yama ptrace_scope", check_yama },
	{ "seccomp filters", check_seccomp },
	{ "ptrace", check_ptrace },
	{ "process_vm_readv", check_vm_readv },
	{ "marks: the agent", espy_check_agent },
	{ "marks: loading it", espy_check_inject },
	{ "marks: USDT probes", espy_check_usdt },
	{ "marks: time stamps", espy_check_mark_clock },
	{ NULL, NULL },
};
