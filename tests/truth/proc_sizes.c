/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sizes that the kernel writes back or takes from another argument: scheduling, file handles, mount options, programs.
 */
#include "truth.h"
#include <fcntl.h>
#include <linux/bpf.h>

#ifndef SYS_fsconfig
#define SYS_fsconfig 431
#endif

/* The kernel tells the size that it knows. */
static void scheduling(void)
{
	uint32_t *attr = tail_copy((uint32_t[14]){ 1, 0 }, 56);
	const long ret = call(SYS_sched_setattr, JUNK(0), attr, JUNK(0));

	if (ret != -E2BIG)
		truth_skip("the kernel takes any size");
	line(ret, "sched_setattr(0, {size=1} => {size=%u}, 0)", *attr);
	attr = tail_copy((uint32_t[14]){ 48, 99 }, 56);
	line(call(SYS_sched_setattr, JUNK(0), attr, JUNK(0)),
	     "sched_setattr(0, {size=48, sched_policy=0x63 /* SCHED_??? */, sched_flags=0, sched_nice=0, "
	     "sched_priority=0, "
	     "sched_runtime=0, sched_deadline=0, sched_period=0}, 0)");
}

/* The handle is as long as the kernel says after the call. */
static void handles(void)
{
	struct {
		uint32_t bytes;
		int32_t type;
		uint8_t handle[128];
	} *h = tail_alloc(sizeof(*h));
	int *mount = tail_alloc(sizeof(*mount));
	char hex[4 * 128 + 1] = "";

	h->bytes = 128;
	const long ret = call(SYS_name_to_handle_at, JUNK(AT_FDCWD), tail_str("/"), h, mount, JUNK(0));
	if (ret)
		return;
	for (uint32_t i = 0; i < h->bytes && i < 128; i++)
		sprintf(hex + 4 * i, "\\x%02x", h->handle[i]);
	line(ret,
	     "name_to_handle_at(AT_FDCWD, \"/\", {handle_bytes=128 => %u, handle_type=%d, f_handle=\"%s\"}, [%d], 0)",
	     h->bytes, h->type, hex, *mount);
}

static void mount_options(void)
{
	const char *key = tail_str("k"), *blob = tail_copy("ab", 2);
	char longest[258], shown[258];

	line(call(SYS_fsconfig, JUNK(-1), JUNK(2), key, blob, JUNK(2)),
	     "fsconfig(-1, FSCONFIG_SET_BINARY, \"k\", \"\\x61\\x62\", 2)");
	line(call(SYS_fsconfig, JUNK(-1), JUNK(2), key, blob, JUNK(-2)),
	     "fsconfig(-1, FSCONFIG_SET_BINARY, \"k\", %s, -2)", ptr(blob));
	line(call(SYS_fsconfig, JUNK(-1), JUNK(2), key, blob, JUNK(1048577)),
	     "fsconfig(-1, FSCONFIG_SET_BINARY, \"k\", %s, 1048577)", ptr(blob));
	memset(longest, 'x', 257);
	longest[257] = 0;
	memcpy(shown, longest, 257);
	shown[256] = 0;
	line(call(SYS_fsconfig, JUNK(-1), JUNK(0), tail_str(longest), NULL, JUNK(0)),
	     "fsconfig(-1, FSCONFIG_SET_FLAG, \"%s\"..., NULL, 0)", shown);
}

static void logs(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.log_size = 16;
	attr.log_buf = (uintptr_t)tail_copy("as it was\0......", 16);
	line(call(SYS_bpf, JUNK(BPF_PROG_LOAD), tail_copy(&attr, 40), JUNK(40)),
	     "bpf(BPF_PROG_LOAD, {prog_type=BPF_PROG_TYPE_UNSPEC, insn_cnt=0, insns=NULL, license=NULL, log_level=0, "
	     "log_size=16, log_buf=\"as it was\"}, 40)");
}

/* The kernel takes zeros for what the size leaves out. */
static void cut_fields(void)
{
	const uint8_t bytes[76] = { 1, 0, 0, 0, 4 };

	line(call(SYS_bpf, JUNK(BPF_MAP_CREATE), tail_copy(bytes, 5), JUNK(5)),
	     "bpf(BPF_MAP_CREATE, {map_type=BPF_MAP_TYPE_HASH, key_size=4, value_size=0, max_entries=0}, 5)");
	line(call(SYS_bpf, JUNK(BPF_MAP_LOOKUP_ELEM), tail_copy("\377\377\377\377\0\0\0\0\7\1", 10), JUNK(10)),
	     "bpf(BPF_MAP_LOOKUP_ELEM, {map_fd=-1, key=0x107, value=NULL}, 10)");
	line(call(SYS_bpf, JUNK(BPF_PROG_TEST_RUN), tail_copy("\377\377\377\377", 4), JUNK(4)),
	     "bpf(BPF_PROG_TEST_RUN, {test={prog_fd=-1, retval=0, data_size_in=0, data_size_out=0, data_in=NULL, "
	     "data_out=NULL, "
	     "repeat=0, duration=0}}, 4)");
	line(call(SYS_bpf, JUNK(BPF_TASK_FD_QUERY), tail_copy(bytes, 1), JUNK(1)),
	     "bpf(BPF_TASK_FD_QUERY, {task_fd_query={pid=1, fd=0, flags=0, buf_len=0, buf=NULL, prog_id=0, "
	     "fd_type=BPF_FD_TYPE_RAW_TRACEPOINT, probe_offset=0, probe_addr=0}}, 1)");
}

/* A page that is not there has no node: its status is the error. */
static void pages(void)
{
	const void **page = tail_copy((const void *[1]){ (void *)4096 }, sizeof(void *));
	int *status = tail_alloc(sizeof(*status));
	const long ret = call(SYS_move_pages, JUNK(0), 1L, page, NULL, status, JUNK(0));

	if (!ret && *status < 0)
		line(ret, "move_pages(0, 1, [0x1000], NULL, [-%s], 0)", strerrorname_np(-*status));
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-s300");
	scheduling();
	handles();
	mount_options();
	logs();
	cut_fields();
	pages();
	return 0;
}
