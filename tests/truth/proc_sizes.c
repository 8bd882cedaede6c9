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
	pages();
	return 0;
}
