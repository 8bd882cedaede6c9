/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bpf(BPF_OBJ_GET_INFO_BY_FD): what is told of an object depends on what it is. */
#include "truth.h"
#include <fcntl.h>

#ifndef SYS_bpf
#define SYS_bpf 321
#endif

struct map_info {
	uint32_t type, id, key_size, value_size, max_entries, map_flags;
	char name[16];
	uint32_t ifindex, vmlinux_value_type_id;
	uint64_t netns_dev, netns_ino;
	uint32_t btf_id, btf_key_type_id, btf_value_type_id, pad;
	uint64_t map_extra;
};

struct get_info {
	uint32_t bpf_fd, info_len;
	uint64_t info;
};

/* The text of what the kernel has told, up to so many bytes. */
static const char *told(const struct map_info *i, uint32_t len)
{
	static char to[512];
	int n = sprintf(to, "{type=BPF_MAP_TYPE_ARRAY, id=%u, key_size=%u, value_size=%u, max_entries=%u, map_flags=0",
			i->id, i->key_size, i->value_size, i->max_entries);

	if (len > 24)
		n += sprintf(to + n, ", name=\"%s\"", i->name);
	if (len > 40)
		n += sprintf(
			to + n,
			", ifindex=0, btf_vmlinux_value_type_id=0, netns_dev=makedev(0, 0), netns_ino=0, btf_id=0, "
			"btf_key_type_id=0, btf_value_type_id=0, map_extra=0");
	sprintf(to + n, "}");
	return to;
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-v -y -e trace=bpf");
	uint32_t make[12] = { 2, 4, 8, 1 }; /* BPF_MAP_TYPE_ARRAY */

	memcpy((char *)make + 28, "truth_map", 10);
	const int fd = (int)syscall(SYS_bpf, 0, make, 48);

	if (fd < 0)
		truth_skip("no map can be made");
	struct map_info *info = tail_alloc(sizeof(*info));
	struct get_info *attr = tail_alloc(sizeof(*attr));
	long ret;

	*attr = (struct get_info){ (uint32_t)fd, sizeof(*info), (uint64_t)(uintptr_t)info };
	ret = call(SYS_bpf, JUNK(15), attr, JUNK(sizeof(*attr)));
	line(ret, "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=%d<anon_inode:bpf-map>, info_len=88, info=%s}}, 16)", fd,
	     told(info, 88));
	attr->info_len = 40;
	ret = call(SYS_bpf, JUNK(15), attr, JUNK(sizeof(*attr)));
	line(ret, "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=%d<anon_inode:bpf-map>, info_len=40, info=%s}}, 16)", fd,
	     told(info, 40));

	/* more than the kernel knows: it says so, if the rest is zeros */
	char *large = tail_alloc(200);
	memset(large, 0, 200);
	*attr = (struct get_info){ (uint32_t)fd, 200, (uint64_t)(uintptr_t)large };
	ret = call(SYS_bpf, JUNK(15), attr, JUNK(sizeof(*attr)));
	line(ret,
	     "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=%d<anon_inode:bpf-map>, info_len=200 => %u, info=%s}}, 16)", fd,
	     attr->info_len, told((struct map_info *)large, 88));

	/* another file, and no room */
	const int other = open("/dev/null", O_RDONLY);
	*attr = (struct get_info){ (uint32_t)other, 88, (uint64_t)(uintptr_t)info };
	ret = call(SYS_bpf, JUNK(15), attr, JUNK(sizeof(*attr)));
	line(ret, "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=%d</dev/null>, info_len=88, info=%s}}, 16)", other,
	     ptr(info));
	*attr = (struct get_info){ (uint32_t)fd, 88, 0 };
	ret = call(SYS_bpf, JUNK(15), attr, JUNK(sizeof(*attr)));
	line(ret, "bpf(BPF_OBJ_GET_INFO_BY_FD, {info={bpf_fd=%d<anon_inode:bpf-map>, info_len=88, info=NULL}}, 16)",
	     fd);
	return 0;
}
