/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/syscall.h>
#include "small_image.h"

#define OP_MAX 8
#define NR_MAX 512

struct row {
	int nr;
	const char *name;
	uint8_t nargs, flags;
	struct espy_op ops[OP_MAX];
};

#define IN ESPY_OP_ENTER
#define OUT (ESPY_OP_EXIT | ESPY_OP_ON_OK)
#define STRUCT(when_, arg, size) { .kind = ESPY_OP_BYTES, .when = when_, .src = arg, .elem = size, .cap = size }
#define PATH(arg) { .kind = ESPY_OP_CSTR, .when = IN, .src = arg, .elem = 1, .cap = 4096 }
#define OF_ARG(n) .b_kind = ESPY_LEN_ARG, .b_ref = ESPY_REF(n, 3, 0)
#define OF_RET .a_kind = ESPY_LEN_RET, .a_ref = ESPY_REF(0, 3, 1)
#define DATA .limit = ESPY_LIMIT_DATA, .elem = 1, .cap = 32
#define STRS(arg, k)                                                                            \
	{ .kind = ESPY_OP_PTRVEC, .when = IN, .src = arg, .elem = 8, .cap = 4096 },             \
	{ .kind = ESPY_OP_CSTR, .when = IN, .src = ESPY_OP_SRC_OP | (k), .flags = ESPY_OPF_EACH, .elem = 1, \
	  .cap = 4096 }

static const struct row rows[] = {
	{ SYS_read, "read", 3, 0, { { .kind = ESPY_OP_BYTES, .when = OUT, .src = 1, OF_RET, OF_ARG(2), DATA } } },
	{ SYS_write, "write", 3, 0, { { .kind = ESPY_OP_BYTES, .when = IN, .src = 1, OF_ARG(2), DATA } } },
	{ SYS_openat, "openat", 4, 0, { PATH(1) } },
	{ SYS_close, "close", 1, 0, { { 0 } } },
	{ SYS_getppid, "getppid", 0, 0, { { 0 } } },
	{ SYS_fstat, "fstat", 2, 0, { STRUCT(OUT, 1, 144) } },
	{ SYS_newfstatat, "newfstatat", 4, 0, { PATH(1), STRUCT(OUT, 2, 144) } },
	{ SYS_statx, "statx", 5, 0, { PATH(1), STRUCT(OUT, 4, 256) } },
	{ SYS_writev, "writev", 3, 0,
	  { { .kind = ESPY_OP_BYTES, .when = IN, .src = 1, OF_ARG(2), .elem = 16, .cap = 16 * 64 },
	    { .kind = ESPY_OP_BYTES, .when = IN, .src = ESPY_OP_SRC_OP | 0, .flags = ESPY_OPF_EACH,
	      .b_kind = ESPY_LEN_FIELD, .b_ref = ESPY_REF(8, 3, 0), DATA } } },
	{ SYS_readv, "readv", 3, 0,
	  { { .kind = ESPY_OP_BYTES, .when = IN, .src = 1, OF_ARG(2), .elem = 16, .cap = 16 * 64 },
	    { .kind = ESPY_OP_BYTES, .when = OUT, .src = ESPY_OP_SRC_OP | 0, .flags = ESPY_OPF_EACH,
	      .a_kind = ESPY_LEN_SPREAD, .a_ref = ESPY_REF(0, 3, 1), .b_kind = ESPY_LEN_FIELD,
	      .b_ref = ESPY_REF(8, 3, 0), DATA } } },
	{ SYS_poll, "poll", 3, ESPY_PLAN_NEEDS_ENTER,
	  { { .kind = ESPY_OP_BYTES, .when = IN | OUT, .src = 0, .a_kind = ESPY_LEN_ARG, .a_ref = ESPY_REF(1, 2, 0),
	      OF_ARG(1), .elem = 8, .cap = 8 * 64 } } },
	{ SYS_execve, "execve", 3, ESPY_PLAN_NEW_IMAGE, { PATH(0), STRS(1, 1), STRS(2, 3) } },
	{ SYS_exit, "exit", 1, ESPY_PLAN_NO_RETURN, { { 0 } } },
	{ SYS_exit_group, "exit_group", 1, ESPY_PLAN_NO_RETURN, { { 0 } } },
	{ SYS_rt_sigreturn, "rt_sigreturn", 1, 0, { STRUCT(IN, 0, 8) } },
	{ SYS_kill, "kill", 2, 0, { { 0 } } },
	{ SYS_wait4, "wait4", 4, 0, { STRUCT(OUT, 1, 4), STRUCT(OUT, 3, 144) } },
	{ SYS_dup, "dup", 1, 0, { { 0 } } },
	{ SYS_pipe2, "pipe2", 2, 0, { STRUCT(OUT, 0, 8) } },
	{ SYS_nanosleep, "nanosleep", 2, 0,
	  { STRUCT(IN, 0, 16), STRUCT((ESPY_OP_EXIT | ESPY_OP_ON_ERR), 1, 16) } },
	/* msghdr: name, iov and control hang on its fields, the buffers on the iov */
	{ SYS_sendmsg, "sendmsg", 3, 0,
	  { STRUCT(IN, 1, 56),
	    { .kind = ESPY_OP_BYTES, .when = IN, .src = ESPY_OP_SRC_OP | 0, .src_off = 16, .b_kind = ESPY_LEN_FIELD,
	      .b_ref = ESPY_REF(24, 3, 0), .elem = 16, .cap = 16 * 64 },
	    { .kind = ESPY_OP_BYTES, .when = IN, .src = ESPY_OP_SRC_OP | 1, .flags = ESPY_OPF_EACH,
	      .b_kind = ESPY_LEN_FIELD, .b_ref = ESPY_REF(8, 3, 0), DATA } } },
	/* an array of msghdr: iovs for each, buffers for each iov of all */
	{ SYS_sendmmsg, "sendmmsg", 4, 0,
	  { { .kind = ESPY_OP_BYTES, .when = IN, .src = 1, OF_ARG(2), .elem = 64, .cap = 64 * 64 },
	    { .kind = ESPY_OP_BYTES, .when = IN, .src = ESPY_OP_SRC_OP | 0, .src_off = 16, .flags = ESPY_OPF_EACH,
	      .b_kind = ESPY_LEN_FIELD, .b_ref = ESPY_REF(24, 3, 0), .elem = 16, .cap = 16 * 64 },
	    { .kind = ESPY_OP_BYTES, .when = IN, .src = ESPY_OP_SRC_OP | 1, .flags = ESPY_OPF_MSG_EACH,
	      .b_kind = ESPY_LEN_FIELD, .b_ref = ESPY_REF(8, 3, 0), DATA } } },
	/* the length is in memory and changed by the call */
	{ SYS_getsockname, "getsockname", 3, ESPY_PLAN_NEEDS_ENTER,
	  { { .kind = ESPY_OP_BYTES, .when = IN | OUT, .src = 2, .elem = 4, .cap = 4 },
	    { .kind = ESPY_OP_BYTES, .when = OUT, .src = 1, .a_kind = ESPY_LEN_OPVAL, .a_ref = ESPY_REF(0, 2, 1),
	      .b_kind = ESPY_LEN_OPVAL, .b_ref = ESPY_REF(0, 2, 1), .elem = 1, .cap = 128 } } },
	/* bits, of a count of bits */
	{ SYS_select, "select", 5, ESPY_PLAN_NEEDS_ENTER,
	  { { .kind = ESPY_OP_BYTES, .when = IN | OUT, .src = 1, .a_kind = ESPY_LEN_ARG,
	      .a_ref = ESPY_REF(0, 2, 1) | ESPY_REF_BITS, .b_kind = ESPY_LEN_ARG,
	      .b_ref = ESPY_REF(0, 2, 1) | ESPY_REF_BITS, .elem = 1, .cap = 128 } } },
	/* variants by the second argument */
	{ SYS_ioctl, "ioctl", 3, 0, { { 0 } } },
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static struct {
	char strings[1024];
	struct espy_syscall syscalls[NR_MAX];
	struct espy_call_plan call_plans[NR_MAX];
	struct espy_variant variants[2];
	struct espy_call calls[ROWS + 2];
	struct espy_type types[1];
	struct espy_plan plans[ROWS + 3];
	struct espy_op ops[(ROWS + 1) * OP_MAX];
} mem;

static size_t ops_of(const struct row *row)
{
	size_t n = 0;

	while (n < OP_MAX && row->ops[n].kind)
		n++;
	return n;
}

void small_image__make(struct espy_image *img, uint32_t limit)
{
	size_t str = 1, op = 0;

	memset(&mem, 0, sizeof(mem));
	for (size_t i = 0; i < ROWS; i++) {
		size_t n = ops_of(&rows[i]);

		strcpy(mem.strings + str, rows[i].name);
		mem.calls[i] = (struct espy_call){ .name = (uint32_t)str, .plan = (uint32_t)i, .ret.type = ESPY_NONE };
		mem.syscalls[rows[i].nr] = (struct espy_syscall){
			.name = (uint32_t)str, .call = (uint32_t)i, .nargs = rows[i].nargs };
		mem.call_plans[rows[i].nr].plan = (uint16_t)i;
		mem.plans[i] = (struct espy_plan){ .first_op = (uint16_t)op, .op_cnt = (uint8_t)n,
			.nargs = rows[i].nargs,
						   .flags = rows[i].flags | ESPY_PLAN_DESCRIBED };
		if (rows[i].nr == SYS_openat || rows[i].nr == SYS_dup)
			mem.plans[i].flags |= ESPY_PLAN_RET_FD;
		if (rows[i].nr == SYS_rt_sigreturn)
			mem.plans[i].effect = ESPY_EFFECT_RESTORES;
		memcpy(mem.ops + op, rows[i].ops, n * sizeof(struct espy_op));
		for (size_t k = op; k < op + n; k++)
			if (mem.ops[k].limit == ESPY_LIMIT_DATA)
				mem.ops[k].cap = limit;
		op += n;
		str += strlen(rows[i].name) + 1;
	}
	/* ioctl FIONREAD: an int; TIOCGWINSZ: 8 bytes */
	for (size_t v = 0; v < 2; v++) {
		mem.ops[op] = (struct espy_op)STRUCT(OUT, 2, 4);
		mem.ops[op].elem = mem.ops[op].cap = v ? 4 : 8;
		mem.plans[ROWS + v] = (struct espy_plan){ .first_op = (uint16_t)op, .op_cnt = 1, .nargs = 3 };
		mem.calls[ROWS + v] = (struct espy_call){ .plan = (uint32_t)(ROWS + v), .ret.type = ESPY_NONE };
		mem.variants[v] = (struct espy_variant){ .key = v ? 0x541b : 0x5413,
			.plan = (uint16_t)(ROWS + v), .call = (uint32_t)(ROWS + v) };
		op++;
	}
	mem.call_plans[SYS_ioctl].variant_cnt = 2;
	mem.call_plans[SYS_ioctl].key_arg0 = 1;
	mem.call_plans[SYS_ioctl].key_arg1 = 0xff;
	mem.call_plans[SYS_ioctl].key_mask0 = 0xffffffff;
	*img = (struct espy_image){
		.abi = ESPY_ABI_X86_64,
		.strings = mem.strings, .strings_sz = sizeof(mem.strings),
		.syscalls = mem.syscalls, .syscall_cnt = NR_MAX, .call_plans = mem.call_plans,
		.variants = mem.variants, .variant_cnt = 2,
		.calls = mem.calls, .call_cnt = ROWS + 2,
		.types = mem.types, .type_cnt = 1,
		.plans = mem.plans, .plan_cnt = ROWS + 2,
		.ops = mem.ops, .op_cnt = (uint32_t)op,
	};
}

void small_image__want(struct espy_call_set *set, uint32_t nr)
{
	set->wanted[nr / 64] |= 1ull << (nr % 64);
}

void small_image__want_all(struct espy_call_set *set, const struct espy_image *img)
{
	memset(set, 0, sizeof(*set));
	set->image = img;
	set->ops = img->ops;
	memset(set->wanted, 0xff, sizeof(set->wanted));
	set->all_wanted = true;
}
