/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The description compiler: layouts per ABI, plans, selection of variants, tables, and that no change of
 * an image's bytes gets past espy_image__open into a reader.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "describe/builtin.h"
#include "describe/image.h"

static void print_diag(void *ctx, const char *text)
{
	(void)ctx;
	print_message("%s\n", text);
}

struct compiled {
	void *blob;
	size_t size;
	struct espy_image img;
};

static const char SYSCALLS[] =
	"0 read 3 desc\n1 write 3 desc\n2 openat 4 desc,file\n3 sendmsg 3 desc,network\n4 execve 3 file,process\n"
	"5 select 5 desc\n6 ioctl 3 desc\n7 setsockopt 5 desc,network\n8 getsockname 3 desc,network\n9 readv 3 desc\n"
	"10 clone3 2 process\n11 futex 6 -\n12 pread64 5 desc\n13 other 2 -\n14 sendmmsg 4 network\n15 mincore 3 -\n"
	"16 mmap 6 memory\n17 wait4 4 process\n18 close 1 desc\n19 dup2 2 desc\n20 stat 2 file\n";
static const char CONSTS[] = "O_CREAT 0x40 a.h\nNEG 0xfffffffffffffff0 a.h\nGONE 1 a.h\n";
static const char I386_CONSTS[] = "GONE ?\n";

static struct compiled compile(const char *text, enum espy_abi abi)
{
	const struct espy_text_source src = { "test", text, strlen(text) };
	const struct espy_text_source consts[2] = { { "const", CONSTS, sizeof(CONSTS) - 1 },
						    { "i386", I386_CONSTS, sizeof(I386_CONSTS) - 1 } };
	const struct espy_describe_input in = {
		.abi = abi,
		.sources = &src,
		.source_cnt = 1,
		.constants = consts,
		.constant_cnt = abi == ESPY_ABI_I386 ? 2 : 1,
		.syscalls = { "syscalls", SYSCALLS, sizeof(SYSCALLS) - 1 },
	};
	struct compiled c = { 0 };

	assert_int_equal(espy_describe_compile(&in, print_diag, NULL, &c.blob, &c.size), 0);
	assert_int_equal(espy_image__open(&c.img, c.blob, c.size, NULL), 0);
	return c;
}

static const struct espy_type *find(const struct compiled *c, const char *name)
{
	uint32_t i = espy_image__find_type(&c->img, name);

	assert_int_not_equal(i, ESPY_NONE);
	return &c->img.types[i];
}

static uint32_t offset_of(const struct compiled *c, const char *type, const char *field)
{
	const struct espy_type *t = find(c, type);

	for (uint32_t i = 0; i < t->count; i++)
		if (!strcmp(espy_image__str(&c->img, c->img.fields[t->first + i].name), field))
			return c->img.fields[t->first + i].off;
	fail_msg("no field %s in %s", field, type);
	return 0;
}

static const struct espy_plan *plan_of(const struct compiled *c, const char *call, const struct espy_op **ops)
{
	int nr = espy_image__find_syscall(&c->img, call);

	assert_true(nr >= 0);
	const struct espy_plan *p = &c->img.plans[c->img.call_plans[nr].plan];

	*ops = &c->img.ops[p->first_op];
	return p;
}

static const char LAYOUTS[] =
	"struct clone_args { flags u64 pidfd out64 fd child_tid addr64 parent_tid out64 tid exit_signal u64 stack "
	"addr64\n"
	"	stack_size u64 tls addr64 set_tid in64 tid[set_tid_size] set_tid_size u64 cgroup fd64 }\n"
	"struct mount_attr { attr_set u64 attr_clr u64 propagation u64 userns_fd fd64 }\n"
	"struct termios { c_iflag u32 c_oflag u32 c_cflag u32 c_lflag u32 c_line u8 c_cc u8[19] }\n"
	"struct msghdr { name addr namelen s32 iov addr iovlen usize control addr controllen usize flags u32 }\n"
	"struct cmsg { len usize level s32 type s32 }\n"
	"struct mixed { a u8 b u64 c u16 d u32 }\n"
	"struct packed_one packed { a u8 b u64 c u16 d u32 }\n"
	"struct timespec { tv_sec long tv_nsec long }\n"
	"union either by a { 1 : u8 2 : u64 }\n"
	"struct with_union { a u32 u either z u8 }\n";

static void test_layout_x86_64(void **state)
{
	struct compiled c = compile(LAYOUTS, ESPY_ABI_X86_64);

	(void)state;
	assert_int_equal(find(&c, "clone_args")->size, 88);
	assert_int_equal(offset_of(&c, "clone_args", "set_tid"), 64);
	assert_int_equal(find(&c, "mount_attr")->size, 32);
	assert_int_equal(find(&c, "termios")->size, 36);
	assert_int_equal(find(&c, "msghdr")->size, 56);
	assert_int_equal(find(&c, "cmsg")->size, 16);
	assert_int_equal(find(&c, "mixed")->size, 24);
	assert_int_equal(offset_of(&c, "mixed", "b"), 8);
	assert_int_equal(find(&c, "packed_one")->size, 15);
	assert_int_equal(offset_of(&c, "packed_one", "d"), 11);
	assert_int_equal(find(&c, "with_union")->size, 24);
	assert_int_equal(offset_of(&c, "with_union", "u"), 8);
	free(c.blob);
}

static void test_layout_i386(void **state)
{
	struct compiled c = compile(LAYOUTS, ESPY_ABI_I386);

	(void)state;
	/* 64-bit integers are aligned to 4 */
	assert_int_equal(find(&c, "clone_args")->size, 88);
	assert_int_equal(find(&c, "mixed")->size, 20);
	assert_int_equal(offset_of(&c, "mixed", "b"), 4);
	assert_int_equal(find(&c, "msghdr")->size, 28);
	assert_int_equal(find(&c, "cmsg")->size, 12);
	assert_int_equal(find(&c, "timespec")->size, 8);
	assert_int_equal(offset_of(&c, "with_union", "u"), 4);
	free(c.blob);
}

static void test_layout_x32(void **state)
{
	struct compiled c = compile(LAYOUTS, ESPY_ABI_X32);

	(void)state;
	assert_int_equal(find(&c, "mixed")->size, 24);
	assert_int_equal(find(&c, "msghdr")->size, 28);
	assert_int_equal(find(&c, "cmsg")->size, 12);
	assert_int_equal(find(&c, "timespec")->size, 16); /* the kernel's long */
	free(c.blob);
}

static const char PLANS[] =
	"read(fd fd, buf out bytes[ret of count], count usize) -> usize\n"
	"openat(dirfd dirfd, pathname in path at dirfd, flags u32, mode u32:perm when flags & O_CREAT) -> fd\n"
	"struct iov_in { iov_base in bytes[iov_len] iov_len usize }\n"
	"struct iov_out { iov_base out bytes[spread of iov_len] iov_len usize }\n"
	"struct sa { family u16 data rest }\n"
	"struct cmsg tlv len align usize { len usize level s32 type s32 data rest }\n"
	"struct msghdr { name in sa sized namelen namelen s32 iov in iov_in[iovlen] iovlen usize control in "
	"cmsg[controllen bytes]\n"
	"	controllen usize flags u32 }\n"
	"sendmsg(fd fd, msg in msghdr, flags u32) -> usize\n"
	"struct mmsghdr { msg_hdr msghdr msg_len u32 }\n"
	"sendmmsg(fd fd, vec inout mmsghdr[vlen], vlen u32, flags u32)\n"
	"execve(pathname in path, argv in (in str)[null], envp in (in str)[null] class env) newimage\n"
	"select(n s32, r inout bits fd[n], w inout bits fd[n], e inout bits fd[n], tv inout iov_in)\n"
	"getsockname(fd fd, addr out sa sized alen of alen, alen inout s32)\n"
	"readv(fd fd, vec in iov_out[vlen] spread ret, vlen usize)\n"
	"clone3(args in clone_args sized size, size usize)\n"
	"struct clone_args { flags u64 pidfd out64 fd x u64 parent_tid out64 tid y u64 set_tid in64 tid[n] n u64 }\n"
	"mincore(a addr, len usize, vec out u8[(len + 4095) / 4096 max 100])\n"
	"pread64(fd fd, buf out bytes[ret of count], count usize, pos s64)\n"
	"mmap(a addr, len usize, prot u32, flags u32, fd fd, off ulong) order(fd, a)\n"
	"wait4(pid pid, status out s32 on pos, options u32, ru out u64 on any)\n";

static void test_plan_read(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_X86_64);
	const struct espy_op *op;
	const struct espy_plan *p = plan_of(&c, "read", &op);

	(void)state;
	assert_int_equal(p->op_cnt, 1);
	assert_int_equal(p->nargs, 3);
	assert_int_equal(p->flags, ESPY_PLAN_DESCRIBED);
	assert_int_equal(op->kind, ESPY_OP_BYTES);
	assert_int_equal(op->when, ESPY_OP_EXIT | ESPY_OP_ON_OK);
	assert_int_equal(op->src, 1);
	assert_int_equal(op->a_kind, ESPY_LEN_RET);
	assert_int_equal(op->b_kind, ESPY_LEN_ARG);
	assert_int_equal(op->b_ref, ESPY_REF(2, 3, 0));
	assert_int_equal(op->limit, ESPY_LIMIT_DATA);
	assert_int_equal(op->elem, 1);
	free(c.blob);
}

static void test_plan_sendmsg(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_X86_64);
	const struct espy_op *op;
	const struct espy_plan *p = plan_of(&c, "sendmsg", &op);

	(void)state;
	assert_int_equal(p->op_cnt, 5);
	assert_int_equal(op[0].elem, 56);
	assert_int_equal(op[0].src, 1);
	assert_int_equal(op[1].src, ESPY_OP_SRC_OP | 0);
	assert_int_equal(op[1].src_off, 0);
	assert_int_equal(op[1].b_kind, ESPY_LEN_FIELD);
	assert_int_equal(op[1].b_ref, ESPY_REF(8, 2, 1));
	assert_int_equal(op[2].src_off, 16);
	assert_int_equal(op[2].b_ref, ESPY_REF(24, 3, 0));
	assert_int_equal(op[2].elem, 16);
	assert_int_equal(op[2].limit, ESPY_LIMIT_ELEMS);
	assert_int_equal(op[3].src, ESPY_OP_SRC_OP | 2);
	assert_int_equal(op[3].flags, ESPY_OPF_EACH);
	assert_int_equal(op[3].b_ref, ESPY_REF(8, 3, 0));
	assert_int_equal(op[3].limit, ESPY_LIMIT_DATA);
	assert_int_equal(op[4].src_off, 32);
	assert_int_equal(op[4].elem, 1);
	assert_int_equal(op[4].b_ref, ESPY_REF(40, 3, 0));
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(op[i].when, ESPY_OP_ENTER);
	/* the same in the 32-bit ABI: 4-byte pointers in the structs */
	free(c.blob);
	c = compile(PLANS, ESPY_ABI_I386);
	p = plan_of(&c, "sendmsg", &op);
	assert_int_equal(op[0].elem, 28);
	assert_int_equal(op[2].src_off, 8);
	assert_int_equal(op[2].flags, ESPY_OPF_PTR32);
	assert_int_equal(op[3].flags, ESPY_OPF_PTR32 | ESPY_OPF_EACH);
	free(c.blob);
}

static void test_plan_sendmmsg(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_X86_64);
	const struct espy_op *op;
	const struct espy_plan *p = plan_of(&c, "sendmmsg", &op);

	(void)state;
	assert_int_equal(p->op_cnt, 5);
	assert_true(p->flags & ESPY_PLAN_NEEDS_ENTER);
	assert_int_equal(op[0].when, ESPY_OP_ENTER | ESPY_OP_EXIT | ESPY_OP_ON_OK);
	assert_int_equal(op[0].elem, 64);
	assert_int_equal(op[1].flags, ESPY_OPF_EACH | ESPY_OPF_LEAST);
	assert_int_equal(op[2].flags, ESPY_OPF_EACH);
	assert_int_equal(op[3].src, ESPY_OP_SRC_OP | 2);
	assert_int_equal(op[3].flags, ESPY_OPF_EACH | ESPY_OPF_MSG_EACH);
	free(c.blob);
}

static void test_plan_openat_execve(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_X86_64);
	const struct espy_op *op;
	const struct espy_plan *p = plan_of(&c, "openat", &op);

	(void)state;
	assert_int_equal(p->op_cnt, 1);
	assert_int_equal(p->nargs, 4);
	assert_int_equal(op->kind, ESPY_OP_CSTR);
	assert_int_equal(op->limit, ESPY_LIMIT_PATH);
	assert_int_equal(op->cap, 4096);
	p = plan_of(&c, "execve", &op);
	assert_int_equal(p->op_cnt, 5);
	assert_int_equal(p->flags, ESPY_PLAN_DESCRIBED | ESPY_PLAN_NEW_IMAGE | ESPY_PLAN_NEEDS_ENTER);
	assert_int_equal(op[1].kind, ESPY_OP_PTRVEC);
	assert_int_equal(op[1].elem, 8);
	assert_int_equal(op[2].kind, ESPY_OP_CSTR);
	assert_int_equal(op[2].flags, ESPY_OPF_EACH);
	assert_int_equal(op[2].limit, ESPY_LIMIT_STRING);
	/* the variables are counted, so their pointers are read whole; the strings under -v only */
	assert_int_equal(op[3].limit, ESPY_LIMIT_FIXED);
	assert_int_equal(op[4].limit, ESPY_LIMIT_ENV);
	free(c.blob);
}

static void test_plan_lengths(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_X86_64);
	const struct espy_op *op;
	const struct espy_plan *p = plan_of(&c, "getsockname", &op);

	(void)state;
	/* the length comes first, though its register is behind */
	assert_int_equal(p->op_cnt, 2);
	assert_int_equal(op[0].src, 2);
	assert_int_equal(op[1].src, 1);
	assert_int_equal(op[1].a_kind, ESPY_LEN_OPVAL);
	assert_int_equal(op[1].b_kind, ESPY_LEN_OPVAL);
	assert_int_equal(op[1].a_ref, ESPY_REF(0, 2, 1));
	assert_int_equal(op[1].flags, ESPY_OPF_LEAST);
	p = plan_of(&c, "readv", &op);
	assert_int_equal(op[1].a_kind, ESPY_LEN_SPREAD);
	assert_int_equal(op[1].b_kind, ESPY_LEN_FIELD);
	assert_int_equal(op[1].when, ESPY_OP_EXIT | ESPY_OP_ON_OK);
	p = plan_of(&c, "select", &op);
	assert_int_equal(op[0].b_ref, ESPY_REF(0, 2, 1) | ESPY_REF_BITS);
	assert_true(p->flags & ESPY_PLAN_NEEDS_ENTER);
	p = plan_of(&c, "clone3", &op);
	assert_int_equal(p->op_cnt, 4);
	assert_int_equal(op[1].when, ESPY_OP_EXIT | ESPY_OP_ON_OK);
	assert_int_equal(op[3].b_kind, ESPY_LEN_FIELD);
	p = plan_of(&c, "mincore", &op);
	assert_int_equal(op[0].b_kind, ESPY_LEN_CONST);
	assert_int_equal(op[0].b_ref, 100);
	p = plan_of(&c, "wait4", &op);
	assert_int_equal(op[1].when, ESPY_OP_EXIT | ESPY_OP_ON_OK | ESPY_OP_ON_ERR);
	p = plan_of(&c, "other", &op);
	assert_int_equal(p->flags, 0);
	assert_int_equal(p->nargs, 2);
	free(c.blob);
}

static void test_registers(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_I386);
	int nr = espy_image__find_syscall(&c.img, "pread64");
	const struct espy_call *call = &c.img.calls[c.img.syscalls[nr].call];
	const struct espy_op *op;

	(void)state;
	/* a 64-bit integer takes two registers there */
	assert_int_equal(call->nparam, 4);
	assert_int_equal(c.img.fields[call->first_param + 3].off, 3);
	assert_int_equal(plan_of(&c, "pread64", &op)->nargs, 5);
	free(c.blob);

	c = compile(PLANS, ESPY_ABI_X86_64);
	call = &c.img.calls[c.img.syscalls[espy_image__find_syscall(&c.img, "mmap")].call];
	assert_string_equal(espy_image__str(&c.img, c.img.fields[call->first_param].name), "fd");
	assert_int_equal(c.img.fields[call->first_param].off, 4);
	assert_string_equal(espy_image__str(&c.img, c.img.fields[call->first_param + 1].name), "a");
	free(c.blob);
}

static const char VARIANTS[] =
	"ioctl(fd fd, op u32, arg addr) switch op\n"
	"ioctl/0x5401,0x5405(fd, op, arg out u32)\n"
	"ioctl/0x5402(fd, op, arg in u64)\n"
	"setsockopt(fd fd, level s32, optname s32, optval in bytes[optlen], optlen s32) switch level, optname\n"
	"setsockopt/1.2,3(fd, level, optname, optval in s32, optlen)\n"
	"setsockopt/NEG.1(fd, level, optname)\n"
	"futex(uaddr addr, op u32, val u32, utime addr, uaddr2 addr, val3 u32) switch op & 0x7f\n"
	"futex/0(uaddr, op, val, timeout in u64)\n"
	"futex/1(uaddr, op)\n";

static const char EFFECTS[] =
	"close(fd fd) closes(fd)\n"
	"mmap(a addr, len usize, prot u32, flags u32, fd fd, off ulong) maps\n"
	"dup2(oldfd fd, newfd fd) -> fd\n"
	"	replaces(newfd, oldfd)\n"
	"ioctl(fd fd, op u32, arg addr) switch op sends(fd)\n"
	"ioctl/1(fd, op) changes_cwd\n"
	"ioctl/2(fd, op) -> fd\n"
	"ioctl/3(fd, op, at out fd[2])\n"
	"stat(name in path, buf out u64) tracepoint newstat\n";

static const struct espy_plan *variant_of(const struct compiled *c, const char *call, uint64_t op, uint32_t *number)
{
	uint32_t plan;

	*number = (uint32_t)espy_image__find_syscall(&c->img, call);
	espy_image__select(&c->img, *number, (uint64_t[6]){ 3, op }, &plan);
	return &c->img.plans[plan];
}

/* What sources and the state take from plans in place of names and types. */
static void test_effects(void **state)
{
	struct compiled c = compile(EFFECTS, ESPY_ABI_X86_64);
	const struct espy_op *op;
	const struct espy_plan *p = plan_of(&c, "dup2", &op);
	uint32_t nr;

	(void)state;
	assert_int_equal(p->effect, ESPY_EFFECT_REPLACES);
	assert_int_equal(ESPY_EFFECT_A(p->effect_args), 1);
	assert_int_equal(ESPY_EFFECT_B(p->effect_args), 0);
	assert_int_equal(p->fd_args, 3);
	assert_true(p->flags & ESPY_PLAN_RET_FD);
	p = plan_of(&c, "close", &op);
	assert_int_equal(p->effect, ESPY_EFFECT_CLOSES);
	assert_int_equal(ESPY_EFFECT_B(p->effect_args), ESPY_NO_ARG);
	assert_false(p->flags & ESPY_PLAN_RET_FD);
	p = plan_of(&c, "mmap", &op);
	assert_int_equal(p->effect, ESPY_EFFECT_MAPS);
	assert_int_equal(p->fd_args, 1 << 4);
	assert_int_equal(variant_of(&c, "ioctl", 1, &nr)->effect, ESPY_EFFECT_CHANGES_CWD);
	p = variant_of(&c, "ioctl", 2, &nr);
	assert_int_equal(p->effect, ESPY_EFFECT_SENDS); /* of the base form */
	assert_true(p->flags & ESPY_PLAN_RET_FD);
	p = variant_of(&c, "ioctl", 3, &nr);
	assert_int_equal(c.img.ops[p->first_op].holds, ESPY_HOLDS_FDS | ESPY_HOLDS_SOME_FDS);
	assert_string_equal(espy_image__event_name(&c.img, nr), "ioctl");
	plan_of(&c, "stat", &op);
	assert_int_equal(op[0].holds, ESPY_HOLDS_PATH);
	assert_int_equal(op[1].holds, 0);
	assert_string_equal(espy_image__event_name(&c.img, (uint32_t)espy_image__find_syscall(&c.img, "stat")), "newstat");
	/* A number that is no argument: the image may come with a trace. */
	((struct espy_plan *)p)->effect_args = 0x71;
	assert_int_equal(espy_image__open(&c.img, c.blob, c.size, NULL), -EBADMSG);
	free(c.blob);
}

static void test_select(void **state)
{
	struct compiled c = compile(VARIANTS, ESPY_ABI_X86_64);
	uint32_t plan, ioctl = (uint32_t)espy_image__find_syscall(&c.img, "ioctl");
	uint32_t sso = (uint32_t)espy_image__find_syscall(&c.img, "setsockopt");
	uint32_t futex = (uint32_t)espy_image__find_syscall(&c.img, "futex");

	(void)state;
	assert_int_equal(espy_image__find_syscall(&c.img, "nothing"), -ENOENT);
	/* junk in the upper half of a register does not count */
	uint32_t a = espy_image__select(&c.img, ioctl, (uint64_t[6]){ 3, 0xdead000000005401, 0 }, &plan);

	assert_int_equal(c.img.plans[plan].op_cnt, 1);
	assert_int_equal(a, espy_image__select(&c.img, ioctl, (uint64_t[6]){ 3, 0x5405, 0 }, &plan));
	assert_int_not_equal(a, espy_image__select(&c.img, ioctl, (uint64_t[6]){ 3, 0x5402, 0 }, &plan));
	assert_int_equal(espy_image__select(&c.img, ioctl, (uint64_t[6]){ 3, 7, 0 }, &plan),
			 c.img.syscalls[ioctl].call);
	assert_int_equal(c.img.plans[plan].op_cnt, 0);
	a = espy_image__select(&c.img, sso, (uint64_t[6]){ 3, 1, 2 }, &plan);
	assert_int_not_equal(a, c.img.syscalls[sso].call);
	assert_int_equal(a, espy_image__select(&c.img, sso, (uint64_t[6]){ 3, 1, 3 }, &plan));
	assert_int_equal(c.img.calls[espy_image__select(&c.img, sso, (uint64_t[6]){ 3, 0xfffffff0, 1 }, &plan)].nparam,
			 3);
	assert_int_equal(espy_image__select(&c.img, sso, (uint64_t[6]){ 3, 2, 2 }, &plan), c.img.syscalls[sso].call);
	assert_int_equal(c.img.calls[espy_image__select(&c.img, futex, (uint64_t[6]){ 0, 0x81 }, &plan)].nparam, 2);
	assert_int_equal(espy_image__select(&c.img, 5000, (uint64_t[6]){ 0 }, &plan), ESPY_NONE);
	free(c.blob);
}

static const char TABLES[] = "enum e s32 \"E_???\" { B = 2 A = 1 ALSO_A = 1 NEG }\n"
			     "flags f u32 { M = { X = 1 Y = 2 } \"M_???\" F = 0x10 GONE HUGE << 31..26 }\n"
			     "flags M0 u8 { M = 3 }\n"
			     "pack p u32 { op 31..28:e arg 11..0 }\n"
			     "struct s { a s32:e b u32:f c p }\n";

static void test_tables(void **state)
{
	struct compiled c = compile(TABLES, ESPY_ABI_X86_64);
	const struct espy_table *t = &c.img.tables[espy_image__find_table(&c.img, "e")];
	const struct espy_entry *e = &c.img.entries[t->first];

	(void)state;
	assert_int_equal(t->count, 3);
	assert_string_equal(espy_image__str(&c.img, t->unknown), "E_???");
	assert_string_equal(espy_image__str(&c.img, e[0].name), "A"); /* the first of two names */
	assert_int_equal(e[2].value, (uint64_t)-16);
	t = &c.img.tables[espy_image__find_table(&c.img, "f")];
	e = &c.img.entries[t->first];
	assert_int_equal(t->count, 6);
	assert_int_equal(e[0].value, 3);
	assert_int_equal(e[0].group_cnt, 2);
	assert_string_equal(espy_image__str(&c.img, c.img.tables[e[0].table].unknown), "M_???");
	assert_int_equal(e[5].is_shift, 1);
	assert_int_equal(e[5].value, 0xfc000000);
	t = &c.img.tables[espy_image__find_table(&c.img, "p")];
	assert_int_equal(c.img.entries[t->first].shift, 28);
	assert_int_equal(c.img.entries[t->first].value, 0xf0000000);
	assert_int_equal(espy_image__find_table(&c.img, "none"), ESPY_NONE);
	free(c.blob);
	/* not defined for this ABI: left out */
	c = compile(TABLES, ESPY_ABI_I386);
	assert_int_equal(c.img.tables[espy_image__find_table(&c.img, "f")].count, 5);
	free(c.blob);
}

/* Every truncation is refused; what survives a changed byte has references in range only (ASan watches the walk). */
static void test_hostile_images(void **state)
{
	struct compiled c = compile(PLANS, ESPY_ABI_X86_64);
	char *copy = malloc(c.size);
	struct espy_image img;
	size_t bad, survived = 0;

	(void)state;
	for (size_t n = 0; n < c.size; n += 7)
		assert_int_equal(espy_image__open(&img, c.blob, n, &bad), -EBADMSG);
	for (size_t i = 0; i < c.size; i++) {
		memcpy(copy, c.blob, c.size);
		copy[i] = (char)(copy[i] ^ (i % 3 ? 0xff : 1 << i % 8));
		if (espy_image__open(&img, copy, c.size, &bad)) {
			assert_true(bad <= c.size);
			continue;
		}
		survived++;
		for (uint32_t nr = 0; nr < img.syscall_cnt; nr++) {
			uint32_t plan, call = espy_image__select(&img, nr, (uint64_t[6]){ i, i, i }, &plan);

			assert_true(plan < img.plan_cnt);
			assert_true(call == ESPY_NONE || call < img.call_cnt);
		}
		espy_image__find_type(&img, "msghdr");
	}
	print_message("%zu of %zu changes were harmless\n", survived, c.size);
	assert_int_equal(espy_image__open(&img, (char *)c.blob + 4, c.size - 4, &bad), -EBADMSG);
	free(copy);
	free(c.blob);
}

/* Names go to terminals as they are: an image whose names hold an escape sequence or a newline is refused. */
static void test_names_are_printable(void **state)
{
	static const unsigned char foreign[] = { '\033', '\n', 0x7f, 0x80, 0xff };
	struct compiled c = compile(TABLES, ESPY_ABI_X86_64);
	char *name = (char *)c.img.strings + 1;
	struct espy_image img;
	size_t bad;

	(void)state;
	for (size_t i = 0; i < sizeof(foreign); i++) {
		const char was = *name;

		*name = (char)foreign[i];
		assert_int_equal(espy_image__open(&img, c.blob, c.size, &bad), -EBADMSG);
		assert_ptr_equal((char *)c.blob + bad, name);
		*name = was;
	}
	assert_int_equal(espy_image__open(&img, c.blob, c.size, &bad), 0);
	free(c.blob);
}

static void test_builtin(void **state)
{
	(void)state;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		struct espy_image img;
		size_t size;
		const void *data = espy_builtin_image(abi, &size);

		assert_int_equal(espy_image__open(&img, data, size, NULL), 0);
		assert_int_equal(img.abi, abi);
		int nr = espy_image__find_syscall(&img, "openat");

		assert_true(nr >= 0);
		assert_int_not_equal(img.syscalls[nr].call, ESPY_NONE);
		assert_true(img.syscalls[nr].classes & (1ull << ESPY_CLASS_FILE));
	}
}

static unsigned diag_cnt;

static void count_diag(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
	diag_cnt++;
}

static void test_with_files(void **state)
{
	char name[] = "/tmp/espy-describe-XXXXXX";
	int fd = mkstemp(name);
	FILE *f = fdopen(fd, "w");
	void *blob = NULL;
	size_t size;
	const char *files[] = { name };

	(void)state;
	fputs("enum my_cmds u32 { MY_RESET = 0x4d00 }\nioctl/MY_RESET(fd, op, argp in u64)\n", f);
	fclose(f);
	assert_int_equal(espy_describe_with_files(ESPY_ABI_X86_64, files, 1, print_diag, NULL, &blob, &size), 0);
	struct espy_image img;
	uint32_t plan;

	assert_int_equal(espy_image__open(&img, blob, size, NULL), 0);
	uint32_t nr = (uint32_t)espy_image__find_syscall(&img, "ioctl");
	uint32_t call = espy_image__select(&img, nr, (uint64_t[6]){ 3, 0x4d00, 0 }, &plan);

	assert_int_not_equal(call, img.syscalls[nr].call);
	assert_int_equal(img.plans[plan].op_cnt, 1);
	free(blob);
	remove(name);
	diag_cnt = 0;
	assert_int_equal(espy_describe_with_files(ESPY_ABI_X86_64, files, 1, count_diag, NULL, &blob, &size), -EINVAL);
	assert_int_equal(diag_cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout_x86_64),
		cmocka_unit_test(test_layout_i386),
		cmocka_unit_test(test_layout_x32),
		cmocka_unit_test(test_plan_read),
		cmocka_unit_test(test_plan_sendmsg),
		cmocka_unit_test(test_plan_sendmmsg),
		cmocka_unit_test(test_plan_openat_execve),
		cmocka_unit_test(test_plan_lengths),
		cmocka_unit_test(test_registers),
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_select),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_hostile_images), cmocka_unit_test(test_names_are_printable),
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_with_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
