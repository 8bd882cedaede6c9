/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* io_uring: the structures of its registrations, each with the number of arguments that the kernel wants and with
 * another one. */
#include "truth.h"

enum {
	FILES_UPDATE = 6,
	RESTRICTIONS = 11,
	FILES2 = 13,
	RING_FDS = 20,
	PBUF_RING = 22,
	SYNC_CANCEL = 24,
	FILE_ALLOC_RANGE = 25,
	PBUF_STATUS = 26,
	NAPI = 27,
	CLOCK = 29,
	CLONE_BUFFERS = 30,
	SEND_MSG_RING = 31,
	ZCRX_IFQ = 32,
	RESIZE_RINGS = 33,
	MEM_REGION = 34,
	QUERY = 35,
	ZCRX_CTRL = 36
};

static void with(unsigned op, const char *name, const void *arg, size_t size, unsigned n, const char *text)
{
	const void *p = tail_copy(arg, size);

	line(call(SYS_io_uring_register, JUNK(-1), JUNK(op), p, JUNK(n)), "io_uring_register(-1, IORING_%s, %s, %u)",
	     name, text, n);
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(op), p, JUNK(7)), "io_uring_register(-1, IORING_%s, %s, 7)",
	     name, ptr(p));
}

static void structures(void)
{
	static const uint32_t buf_reg[10] = { 0x1000, 0, 8, 0x20007, 5, 0, 0, 0, 0, 0 };
	static const uint32_t cancel[16] = { 0, 0, ~0u, 0x41, 1, 0, 2, 0, 0x100 };
	static const uint32_t range[4] = { 1, 2, 3, 0 }, napi[4] = { 5, 0x1, 1, 0 }, clone[8] = { 3, 6, 1, 2, 4 };
	static const uint32_t status[10] = { 10, 11, 12 }, region[8] = { 0x1000, 0, 3, 0, 0, 0, 1, 0 };
	static const uint32_t resize[30] = { 8, 16, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x2000 };
	static const uint32_t ifq[24] = { 1, 2, 4096, 4, 0x1000, 0,    0x2000, 0, 1, 2, 3, 0,
					  0, 0, 0,    0, 7,	 4096, 0,      0, 0, 0, 0, 1 };
	static const uint32_t arm[18] = { 5, 2, 0, 0, 0, 0, 1 }, flush[18] = { 5, 0, 0, 0, 0, 0, 1 },
			      other[18] = { 5, 9 };

	with(PBUF_RING, "REGISTER_PBUF_RING", buf_reg, 40, 1,
	     "{ring_addr=0x1000, ring_entries=8, bgid=7, flags=0x2, min_left=5}");
	with(SYNC_CANCEL, "REGISTER_SYNC_CANCEL", cancel, 64, 1,
	     "{addr=NULL, fd=-1, flags=IORING_ASYNC_CANCEL_ALL|0x40, timeout={tv_sec=1, tv_nsec=2}, "
	     "opcode=IORING_OP_NOP, "
	     "pad=[0x1, 0, 0, 0, 0, 0, 0]}");
	with(FILE_ALLOC_RANGE, "REGISTER_FILE_ALLOC_RANGE", range, 16, 1, "{off=1, len=2, resv=0x3}");
	const void *p = tail_copy(status, 40);
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(PBUF_STATUS), p, JUNK(1)),
	     "io_uring_register(-1, IORING_REGISTER_PBUF_STATUS, %s, 1)", ptr(p));
	with(NAPI, "REGISTER_NAPI", napi, 16, 1,
	     "{busy_poll_to=0x5, prefer_busy_poll=0x1, opcode=IO_URING_NAPI_REGISTER_OP, "
	     "op_param=IO_URING_NAPI_TRACKING_STATIC}");
	with(CLONE_BUFFERS, "REGISTER_CLONE_BUFFERS", clone, 32, 1,
	     "{src_fd=3, flags=IORING_REGISTER_DST_REPLACE|0x4, src_off=1, dst_off=2, nr=4}");
	with(RESIZE_RINGS, "REGISTER_RESIZE_RINGS", resize, 120, 1,
	     "{sq_entries=8, cq_entries=16, flags=IORING_SETUP_CQSIZE, sq_off={user_addr=0x2000}}");
	with(MEM_REGION, "REGISTER_MEM_REGION", region, 32, 1,
	     "{region_uptr=0x1000, flags=IORING_MEM_REGION_REG_WAIT_ARG|0x2, __resv=[0, 0x1]}");
	with(ZCRX_IFQ, "REGISTER_ZCRX_IFQ", ifq, 96, 1,
	     "{if_idx=1, if_rxq=2, rq_entries=4096, flags=0x4 /* ZCRX_REG_??? */, area_ptr=0x1000, region_ptr=0x2000, "
	     "offsets={head=1, tail=2, rqes=3}, zcrx_id=7, rx_buf_len=4096, event_desc=NULL, __resv=[0, 0x100000000]}");
	with(ZCRX_CTRL, "REGISTER_ZCRX_CTRL", arm, 72, 1,
	     "{zcrx_id=5, op=ZCRX_CTRL_ARM_EVENT, zc_arm_event={event_type=ZCRX_EVENT_COPY}}");
	with(ZCRX_CTRL, "REGISTER_ZCRX_CTRL", flush, 72, 1,
	     "{zcrx_id=5, op=ZCRX_CTRL_FLUSH_RQ, zc_flush={__resv=[0x1, 0, 0, 0, 0, 0]}}");
	with(ZCRX_CTRL, "REGISTER_ZCRX_CTRL", other, 72, 1, "{zcrx_id=5, op=0x9 /* ZCRX_CTRL_??? */}");
	with(CLOCK, "REGISTER_CLOCK", (uint32_t[4]){ 1, 0, 5, 0 }, 16, 0,
	     "{clockid=CLOCK_MONOTONIC, __resv=[0, 0x5, 0]}");
}

/* A message to another ring: what some fields are called depends on the operation. */
static void messages(void)
{
	struct {
		uint8_t opcode, flags;
		uint16_t ioprio;
		int32_t fd;
		uint64_t off, addr;
		uint32_t len, op_flags;
		uint64_t data;
		uint16_t index, personality;
		uint32_t file_index;
		uint64_t attr[2];
	} sqe = { 40, 0, 3, -1, 1, 2, 3, 5, 4, 5, 6, 7, { 8, 0 } };

	with(SEND_MSG_RING, "REGISTER_SEND_MSG_RING", &sqe, sizeof(sqe), 1,
	     "{opcode=IORING_OP_MSG_RING, flags=0, ioprio=3, fd=-1, off=0x1, addr=0x2, len=3, "
	     "msg_ring_flags=IORING_MSG_RING_CQE_SKIP|0x4, user_data=0x4, buf_index=0x5, personality=6, "
	     "file_index=0x7, "
	     "optval=0x8}");
	sqe.opcode = 26;
	sqe.attr[0] = 0x1000;
	sqe.attr[1] = 2;
	with(SEND_MSG_RING, "REGISTER_SEND_MSG_RING", &sqe, sizeof(sqe), 1,
	     "{opcode=IORING_OP_SEND, flags=0, ioprio=IORING_RECVSEND_POLL_FIRST|IORING_RECV_MULTISHOT, fd=-1, "
	     "off=0x1, "
	     "addr=0x2, len=3, rw_flags=0x5, user_data=0x4, buf_index=0x5, personality=6, file_index=0x7, "
	     "attr_type_mask=0x2 /* IORING_RW_ATTR_FLAG_??? */, attr_ptr=0x1000}");
	sqe.opcode = 22;
	sqe.attr[0] = (uintptr_t)tail_copy((uint32_t[8]){ 0x20001, 3, 4, 0, 5, 0, 6, 0 }, 32);
	sqe.attr[1] = 1;
	with(SEND_MSG_RING, "REGISTER_SEND_MSG_RING", &sqe, sizeof(sqe), 1,
	     "{opcode=IORING_OP_READ, flags=0, ioprio=3, fd=-1, off=0x1, addr=0x2, len=3, rw_flags=0x5, user_data=0x4, "
	     "buf_index=0x5, personality=6, file_index=0x7, attr_type_mask=IORING_RW_ATTR_FLAG_PI, "
	     "attr_ptr={flags=0x1, "
	     "app_tag=0x2, len=3, addr=0x4, seed=0x5, rsvd=0x6}}");
}

static void arrays(void)
{
	static const int fds[3] = { -1, -2, -3 };
	const struct {
		uint32_t offset, resv;
		const int *fds;
	} update = { 7, 0, tail_copy(fds, 12) };
	static const uint32_t rings[8] = { ~0u, 0, 9, 0, 5, 1, 8, 7 };
	static const uint16_t restriction[8] = { 9, 5 };
	const uint64_t files2[5] = { 3, 0, (uintptr_t)update.fds, 0, 0x41 };

	line(call(SYS_io_uring_register, JUNK(-1), JUNK(FILES_UPDATE), tail_copy(&update, 16), JUNK(3)),
	     "io_uring_register(-1, IORING_REGISTER_FILES_UPDATE, {offset=7, fds=[-1, IORING_REGISTER_FILES_SKIP, "
	     "-3]}, 3)");
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(RING_FDS), tail_copy(rings, 32), JUNK(2)),
	     "io_uring_register(-1, IORING_REGISTER_RING_FDS, [{offset=-1, data=9}, {offset=5, resv=0x1, data=8}], 2)");
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(RESTRICTIONS), tail_copy(restriction, 16), JUNK(1)),
	     "io_uring_register(-1, IORING_REGISTER_RESTRICTIONS, [{opcode=0x9 /* IORING_RESTRICTION_??? */ /* op: 0x5 "
	     "*/}], 1)");
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(FILES2), tail_copy(files2, 40), JUNK(40)),
	     "io_uring_register(-1, IORING_REGISTER_FILES2, {nr=3, flags=0, data=[-1, -2, -3], tags=NULL, /* bytes "
	     "32..39 */ "
	     "\"\\x41\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"}, 40)");
	/* A registered ring is no descriptor. */
	line(call(SYS_io_uring_register, JUNK(-1), JUNK(0x80000001), NULL, JUNK(0)),
	     "io_uring_register(4294967295, IORING_UNREGISTER_BUFFERS|IORING_REGISTER_USE_REGISTERED_RING, NULL, 0)");
}

static void queries(void)
{
	struct {
		uint64_t next, data;
		uint32_t op, size;
		int32_t result;
		uint32_t resv[3];
	} last = { 0, 0, 9, 5, -22, { 0 } }, first = last;
	const void *p = tail_copy((uint64_t[2]){ 1, 2 }, 16), *q;

	/* The kernel would fill in the answer: the number of arguments makes it refuse. */
	first.next = (uintptr_t)tail_copy(&last, 40);
	first.data = (uintptr_t)p;
	first.op = 2;
	first.size = 16;
	q = tail_copy(&first, 40);
	const long ret = call(SYS_io_uring_register, JUNK(-2), JUNK(QUERY), q, JUNK(0));
	line(ret,
	     "io_uring_register(-2, IORING_REGISTER_QUERY, {query_data=%s, query_op=IO_URING_QUERY_SCQ, size=16, "
	     "result=-22, "
	     "query_data={hdr_size=1, hdr_alignment=2}, next_entry={query_data=NULL, query_op=0x9 /* "
	     "IO_URING_QUERY_??? */, "
	     "size=5, result=-22, next_entry=NULL}}, 0)",
	     ptr(p));
	line(call(SYS_io_uring_register, JUNK(-2), JUNK(QUERY), q, JUNK(1)),
	     "io_uring_register(-2, IORING_REGISTER_QUERY, %s, 1)", ptr(q));
}

static void entering(void)
{
	const void *set = tail_copy((uint64_t[1]){ 1 }, 8);
	const uint64_t arg[3] = { (uintptr_t)set, 8 | 5ul << 32, 0 };
	const void *p = tail_copy(arg, 24);

	line(call(SYS_io_uring_enter, JUNK(-1), JUNK(1), JUNK(2), JUNK(8), p, 16L),
	     "io_uring_enter(-1, 1, 2, IORING_ENTER_EXT_ARG, {sigmask=[HUP], sigmask_sz=8, min_wait_usec=5, ts=NULL}, "
	     "16)");
	line(call(SYS_io_uring_enter, JUNK(-1), JUNK(1), JUNK(2), JUNK(0x40), 4096L, 64L),
	     "io_uring_enter(-1, 1, 2, IORING_ENTER_EXT_ARG_REG, 4096, 64)");
	line(call(SYS_io_uring_enter, JUNK(-1), JUNK(1), JUNK(2), JUNK(0), set, 8L),
	     "io_uring_enter(-1, 1, 2, 0, [HUP], 8)");
	line(call(SYS_io_uring_enter, JUNK(-1), JUNK(1), JUNK(2), JUNK(0), set, 7L),
	     "io_uring_enter(-1, 1, 2, 0, %s, 7)", ptr(set));
}

int main(int argc, char **argv)
{
	truth_begin(argc, argv, "");
	structures();
	messages();
	arrays();
	queries();
	entering();
	return 0;
}
