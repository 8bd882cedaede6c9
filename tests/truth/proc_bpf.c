/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bpf and io_uring: sizes that end before the first fields of a command, in the middle and behind the known
 * ones, and memory of which a part cannot be read. Nothing of it does anything: descriptors are -1.
 */
#include "truth.h"

#define BPF(cmd, bytes, size, ...) line(call(SYS_bpf, JUNK(cmd), tail_copy(bytes, size), JUNK(size)), __VA_ARGS__)

static void bpf(void)
{
	uint32_t w[1025] = { -1u };
	uint8_t *most = tail_copy(w, 4096), *cut = tail_copy(w, 20);

	BPF(1, w, 4, "bpf(BPF_MAP_LOOKUP_ELEM, {map_fd=-1, key=NULL, value=NULL}, 4)");
	BPF(2, w, 8, "bpf(BPF_MAP_UPDATE_ELEM, {map_fd=-1, key=NULL, value=NULL, flags=BPF_ANY}, 8)");
	BPF(3, w, 4, "bpf(BPF_MAP_DELETE_ELEM, {map_fd=-1, key=NULL}, 4)");
	BPF(4, w, 16, "bpf(BPF_MAP_GET_NEXT_KEY, {map_fd=-1, key=NULL, next_key=NULL}, 16)");
	BPF(9, w, 4, "bpf(BPF_PROG_DETACH, {target_fd=-1, attach_bpf_fd=0, attach_type=BPF_CGROUP_INET_INGRESS, attach_flags=0}, 4)");
	BPF(6, w, 8, "bpf(BPF_OBJ_PIN, {pathname=0xffffffff, bpf_fd=0}, 8)");
	BPF(8, w, 4, "bpf(BPF_PROG_ATTACH, {target_fd=-1, attach_bpf_fd=0, attach_type=BPF_CGROUP_INET_INGRESS, attach_flags=0}, 4)");
	BPF(13, w, 4, "bpf(BPF_PROG_GET_FD_BY_ID, {prog_id=4294967295}, 4)");
	BPF(18, w, 8, "bpf(BPF_BTF_LOAD, {btf=\"\", btf_log_buf=NULL, btf_size=0, btf_log_size=0, btf_log_level=0}, 8)");
	w[2] = 0xdeadbeef;
	w[4] = 0xbadc0ded;
	w[6] = 28;
	BPF(1, w, 32, "bpf(BPF_MAP_LOOKUP_ELEM, {map_fd=-1, key=0xdeadbeef, value=0xbadc0ded, "
		      "flags=BPF_F_ALL_CPUS|BPF_F_CPU|BPF_F_LOCK}, 32)");
	BPF(1, w, 40, "bpf(BPF_MAP_LOOKUP_ELEM, {map_fd=-1, key=0xdeadbeef, value=0xbadc0ded, "
		      "flags=BPF_F_ALL_CPUS|BPF_F_CPU|BPF_F_LOCK}, 40)");
	BPF(3, w, 32, "bpf(BPF_MAP_DELETE_ELEM, {map_fd=-1, key=0xdeadbeef, ...}, 32)");
	line(call(SYS_bpf, JUNK(3), cut, JUNK(21)), "bpf(BPF_MAP_DELETE_ELEM, %s, 21)", ptr(cut));
	line(call(SYS_bpf, JUNK(3), most, JUNK(4097)), "bpf(BPF_MAP_DELETE_ELEM, %s, 4097)", ptr(most));
	w[0] = 35;
	w[1] = 0;
	BPF(0, w, 4, "bpf(BPF_MAP_CREATE, {map_type=BPF_MAP_TYPE_RHASH, key_size=0, value_size=0, max_entries=0}, 4)");
}

#define RING(op, words, n, ...) \
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(op), tail_copy(words, sizeof(words)), JUNK(n)), __VA_ARGS__)

static void rings(void)
{
	const uint32_t restriction[] = { 0x11 << 16 | 9, 0, 1, 0 }, fds[] = { 7, 1, -1u, 0 }, index[] = { 7, 0, 3, 0 };
	const uint32_t workers[] = { 3, 4 }, ring[] = { 0x1000, 0, 8, 5 | 1 << 16, 0, 0, 6, 0, 0, 0 }, short_one[] = { 1, 0 };
	const void *p = tail_copy(short_one, 8);

	RING(11, restriction, 1, "io_uring_register(-1, IORING_REGISTER_RESTRICTIONS, "
				 "[{opcode=0x9 /* IORING_RESTRICTION_??? */ /* op: 0x11 */, resv2=[0, 0x1, 0]}], 1)");
	RING(20, fds, 1, "io_uring_register(-1, IORING_REGISTER_RING_FDS, [{offset=7, resv=0x1, data=-1}], 1)");
	RING(21, index, 1, "io_uring_register(-1, IORING_UNREGISTER_RING_FDS, [{offset=7, data=0x3}], 1)");
	const void *limits = tail_copy(workers, sizeof(workers));
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(19), limits, JUNK(2)),
	     "io_uring_register(-1, IORING_REGISTER_IOWQ_MAX_WORKERS, [[IO_WQ_BOUND]=3, [IO_WQ_UNBOUND]=4] => %s, 2)", ptr(limits));
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(19), 8L, JUNK(2)), "io_uring_register(-1, IORING_REGISTER_IOWQ_MAX_WORKERS, 0x8, 2)");
	RING(22, ring, 1, "io_uring_register(-1, IORING_REGISTER_PBUF_RING, {ring_addr=0x1000, ring_entries=8, bgid=5, "
			  "flags=0x1, min_left=0, resv=[0, 0x6, 0, 0, 0]}, 1)");
	line(call(SYS_io_uring_enter, JUNK(-1), JUNK(1), JUNK(2), JUNK(1), p, 16L),
	     "io_uring_enter(-1, 1, 2, IORING_ENTER_GETEVENTS, %s, 16)", ptr(p));
	line(call(SYS_io_uring_enter, JUNK(-1), JUNK(1), JUNK(2), JUNK(1), p, 8L),
	     "io_uring_enter(-1, 1, 2, IORING_ENTER_GETEVENTS, [HUP], 8)");
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(0x80000000 | 13), p, JUNK(8)),
	     "io_uring_register(4294967295, IORING_REGISTER_FILES2|IORING_REGISTER_USE_REGISTERED_RING, %s, 8)", ptr(p));
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "-e trace=bpf,io_uring_register,io_uring_enter");
	bpf();
	rings();
	return 0;
}
