/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Kprobes: by links of BPF at many functions, or by perf events at one place each. */
#include "source/kernel_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/errno_names.h"
#include "base/small_file.h"
#include "source/quiet_libbpf.h"

#define PMU "/sys/bus/event_source/devices/kprobe/"
/* A function that every kernel has and probes, for the question whether fentry is allowed. */
#define ANY_FUNCTION "vfs_read"

static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};
#define NOTHING_CNT (sizeof(nothing) / sizeof(*nothing))

/* Tells whether the kernel knows links at many functions: it then looks at the addresses, which lead nowhere. */
static int find_multi(bool *multi)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = (enum bpf_attach_type)ESPY_ATTACH_KPROBE_MULTI);
	const int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, NOTHING_CNT, &opts);
	const struct espy_kprobe_multi attr = {
		.prog_fd = (uint32_t)prog, .attach_type = ESPY_ATTACH_KPROBE_MULTI, .cnt = 1, .addrs = 1
	};
	int fd;

	*multi = false;
	if (prog < 0)
		return prog == -EPERM || prog == -EACCES ? prog : 0;
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	*multi = fd < 0 && errno == EFAULT;
	if (fd >= 0)
		close(fd);
	close(prog);
	return 0;
}

/* Reads what the kernel says of its perf events of kprobes. */
static void find_pmu(struct espy_kernel_probes *k)
{
	char text[64];

	k->pmu = espy_read_line(PMU "type", text, sizeof(text)) > 0 ? (uint32_t)strtoul(text, NULL, 10) : 0;
	if (k->pmu && espy_read_line(PMU "format/retprobe", text, sizeof(text)) > 0 && !strncmp(text, "config:", 7))
		k->at_return = 1u << (strtoul(text + 7, NULL, 10) & 31);
}

static int try_fentry(void)
{
	const int id = libbpf_find_vmlinux_btf_id(ANY_FUNCTION, BPF_TRACE_FENTRY);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY, .attach_btf_id = (uint32_t)id);
	int prog, link;

	if (id < 0)
		return id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", nothing, NOTHING_CNT, &opts);
	if (prog < 0)
		return prog;
	link = bpf_link_create(prog, 0, BPF_TRACE_FENTRY, NULL);
	close(prog);
	if (link < 0)
		return link;
	close(link);
	return 0;
}

int espy_kernel_probes__try_fentry(void)
{
	espy_quiet_libbpf__begin();
	const int err = try_fentry();

	espy_quiet_libbpf__end();
	return err;
}

int espy_kernel_probes__find(struct espy_kernel_probes *out, char *why, size_t why_sz)
{
	int err, fentry;

	*out = (struct espy_kernel_probes){ .pmu = 0 };
	espy_quiet_libbpf__begin();
	err = find_multi(&out->multi);
	find_pmu(out);
	fentry = err || out->multi || out->pmu ? 0 : try_fentry();
	espy_quiet_libbpf__end();
	if (err) {
		snprintf(why, why_sz, "root, or CAP_BPF and CAP_PERFMON are needed");
		return err;
	}
	if (out->multi || out->pmu)
		return 0;
	const char *name = fentry ? espy_errno_name((unsigned)-fentry) : NULL;

	snprintf(why, why_sz, "this kernel has no kprobes (CONFIG_KPROBES, CONFIG_KPROBE_EVENTS)%s%s",
		 fentry ? " and refuses fentry: " : "",
		 name	  ? name
		 : fentry ? strerror(-fentry)
			  : "");
	return -EOPNOTSUPP;
}

int espy_kernel_probes__open(const struct espy_kernel_probes *k, const char *function, uint64_t addr, uint64_t offset,
			     bool at_return)
{
	struct perf_event_attr attr = {
		.type = k->pmu, .size = sizeof(attr), .config = at_return ? k->at_return : 0, .disabled = 1
	};
	int fd;

	if (!k->pmu)
		return -EOPNOTSUPP;
	attr.kprobe_func = addr ? 0 : (uintptr_t)function;
	attr.kprobe_addr = addr ? addr + offset : offset; /* in one union with the offset behind a function */
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
