/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs lose what their configuration rules out, and do the same as before (load/dead_code.c). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <bpf/bpf.h>
#include "source/bpf/load/dead_code.h"

#define MOV(r, v) ((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (r), .imm = (v) })
#define ADD(r, v) ((struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (r), .imm = (v) })
#define MOVR(r, from) ((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (r), .src_reg = (from) })
#define LOAD(r, from, offset)                                                                                          \
	((struct bpf_insn){ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = (r), .src_reg = (from), .off = (offset) })
#define CONF_AT(r, fd, offset)                                                                                         \
	((struct bpf_insn){                                                                                            \
		.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = (r), .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = (fd) }),    \
		((struct bpf_insn){ .imm = (offset) })
#define IF(op, r, v, to) ((struct bpf_insn){ .code = BPF_JMP | (op) | BPF_K, .dst_reg = (r), .off = (to), .imm = (v) })
#define JUMP(to) ((struct bpf_insn){ .code = BPF_JMP | BPF_JA, .off = (to) })
#define CALL(to) ((struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = (to) })
#define EXIT ((struct bpf_insn){ .code = BPF_JMP | BPF_EXIT })
#define MAP 77

static const uint32_t values[4] = { 0, 1, 7, 0xffffffff };
static const struct bpf_conf_map conf = { .fd = MAP, .bytes = (const unsigned char *)values, .size = sizeof(values) };

static void assert_shortened(struct bpf_insn *insns, size_t cnt, const struct bpf_insn *want, size_t want_cnt)
{
	struct bpf_code code = { .insns = insns, .insn_cnt = cnt };

	assert_int_equal(bpf_drop_dead_code(&code, &conf), 0);
	assert_int_equal(code.insn_cnt, want_cnt);
	assert_memory_equal(insns, want, want_cnt * sizeof(*want));
}
#define assert_becomes(from, to) assert_shortened(from, sizeof(from) / sizeof(*(from)), to, sizeof(to) / sizeof(*(to)))

static void test_never_and_always(void **state)
{
	/* if (conf[0]) r0 = 1; if (conf[1]) r0 = 2; */
	struct bpf_insn from[] = { MOV(0, 0),	  CONF_AT(1, MAP, 0),
				   LOAD(1, 1, 0), IF(BPF_JEQ, 1, 0, 1),
				   MOV(0, 1),	  CONF_AT(1, MAP, 0),
				   LOAD(1, 1, 4), IF(BPF_JEQ, 1, 0, 1),
				   MOV(0, 2),	  EXIT };
	const struct bpf_insn to[] = { MOV(0, 0),     CONF_AT(1, MAP, 0), LOAD(1, 1, 0), CONF_AT(1, MAP, 0),
				       LOAD(1, 1, 4), MOV(0, 2),	  EXIT };

	(void)state;
	assert_becomes(from, to);
}

static void test_ways_meet(void **state)
{
	/* r6 = unknown ? conf[2] : 7; both are 7 */
	struct bpf_insn same[] = { CONF_AT(6, MAP, 8), LOAD(6, 6, 0), IF(BPF_JEQ, 1, 5, 1),
				   MOV(6, 7),	       MOV(0, 0),     IF(BPF_JEQ, 6, 7, 1),
				   MOV(0, 1),	       EXIT };
	const struct bpf_insn to[] = { CONF_AT(6, MAP, 8), LOAD(6, 6, 0), IF(BPF_JEQ, 1, 5, 1),
				       MOV(6, 7),	   MOV(0, 0),	  EXIT };
	/* the ways differ: all stays */
	struct bpf_insn other[] = { CONF_AT(6, MAP, 8), LOAD(6, 6, 0), IF(BPF_JEQ, 1, 5, 1),
				    MOV(6, 8),		MOV(0, 0),     IF(BPF_JEQ, 6, 7, 1),
				    MOV(0, 1),		EXIT };
	struct bpf_insn kept[sizeof(other) / sizeof(*other)];

	(void)state;
	memcpy(kept, other, sizeof(other));
	assert_becomes(same, to);
	assert_becomes(other, kept);
}

/* What a loop changes is not known at its head, although it is on the way in. */
static void test_loop(void **state)
{
	struct bpf_insn from[] = { MOV(1, 0), ADD(1, 1), IF(BPF_JEQ, 1, 0, 1), IF(BPF_JLT, 1, 9, -3), EXIT };
	struct bpf_insn kept[sizeof(from) / sizeof(*from)];

	(void)state;
	memcpy(kept, from, sizeof(from));
	assert_becomes(from, kept);
}

static void test_functions(void **state)
{
	/* The second function is called only if conf[0]. */
	struct bpf_insn from[] = {
		CONF_AT(1, MAP, 0), LOAD(1, 1, 0), IF(BPF_JEQ, 1, 0, 1), CALL(2), CALL(3), EXIT, MOV(0, 1), EXIT,
		MOV(0, 2),	    EXIT
	};
	const struct bpf_insn to[] = { CONF_AT(1, MAP, 0), LOAD(1, 1, 0), CALL(1), EXIT, MOV(0, 2), EXIT };
	struct bpf_func_info funcs[] = { { 0, 10 }, { 7, 11 }, { 9, 12 } };
	struct bpf_code code = {
		.insns = from, .insn_cnt = sizeof(from) / sizeof(*from), .funcs = funcs, .func_cnt = 3
	};

	(void)state;
	assert_int_equal(bpf_drop_dead_code(&code, &conf), 0);
	assert_int_equal(code.insn_cnt, sizeof(to) / sizeof(*to));
	assert_memory_equal(from, to, sizeof(to));
	assert_int_equal(code.func_cnt, 2);
	assert_int_equal(funcs[1].insn_off, 5);
	assert_int_equal(funcs[1].type_id, 12);
}

/* Loads that are not of the configuration, or reach beyond it, tell nothing. */
static void test_unknown(void **state)
{
	struct bpf_insn from[] = { CONF_AT(1, MAP + 1, 0),
				   LOAD(1, 1, 0),
				   IF(BPF_JEQ, 1, 0, 1),
				   MOV(0, 1),
				   CONF_AT(1, MAP, 14),
				   LOAD(1, 1, 0),
				   IF(BPF_JEQ, 1, 0, 1),
				   MOV(0, 1),
				   EXIT };
	struct bpf_insn kept[sizeof(from) / sizeof(*from)];

	(void)state;
	memcpy(kept, from, sizeof(from));
	assert_becomes(from, kept);
}

static void test_leads_out(void **state)
{
	struct bpf_insn jump[] = { IF(BPF_JEQ, 1, 0, 7), EXIT }, back[] = { JUMP(-2), EXIT },
			call[] = { CALL(9), EXIT };
	struct bpf_insn half[] = { MOV(0, 0), { .code = BPF_LD | BPF_IMM | BPF_DW } };
	struct bpf_insn *const all[] = { jump, back, call, half };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct bpf_insn was[2];
		struct bpf_code code = { .insns = all[i], .insn_cnt = 2 };

		memcpy(was, all[i], sizeof(was));
		assert_int_equal(bpf_drop_dead_code(&code, &conf), -EINVAL);
		assert_int_equal(code.insn_cnt, 2);
		assert_memory_equal(was, all[i], sizeof(was));
	}
}

/* ---- the kernel runs programs before and after, made at random */

#define BODY 60

static struct bpf_insn any_insn(size_t i)
{
	static const uint8_t ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET };
	const uint8_t r = (uint8_t)(6 + rand() % 3), other = (uint8_t)(6 + rand() % 3);
	const int16_t room = (int16_t)(BODY - 1 - i);
	struct bpf_insn in = IF(ops[rand() % 7], r, (int)values[rand() % 4], (int16_t)(room ? rand() % room : 0));

	switch (rand() % 8) {
	case 0:
	case 1:
		return LOAD(r, 9, (int16_t)(4 * (rand() % 4)));
	case 2:
		return MOVR(r, other);
	case 3:
		return MOV(r, (int)values[rand() % 4]);
	case 4:
		return ADD(0, rand() % 100);
	case 5:
		in.code = (uint8_t)((in.code & ~0xf) | BPF_JMP32 | BPF_X);
		in.src_reg = other;
		in.imm = 0;
		return in;
	default:
		return in;
	}
}

static int run(const struct bpf_insn *insns, size_t cnt)
{
	const char data[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = data, .data_size_in = sizeof(data));
	const int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, NULL, "GPL", insns, cnt, NULL);
	const int err = fd < 0 ? -errno : bpf_prog_test_run_opts(fd, &opts);

	if (fd >= 0)
		close(fd);
	assert_int_equal(err, 0);
	return (int)opts.retval;
}

static void test_same_result(void **state)
{
	const uint32_t zero = 0;
	const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "conf", 4, sizeof(values), 1, NULL);
	const struct bpf_conf_map map = { .fd = fd, .bytes = (const unsigned char *)values, .size = sizeof(values) };
	const unsigned seed = (unsigned)getpid();
	size_t shorter = 0;

	(void)state;
	if (fd < 0)
		skip(); /* not root */
	assert_int_equal(bpf_map_update_elem(fd, &zero, values, 0), 0);
	printf("seed %u\n", seed);
	srand(seed);
	for (int round = 0; round < 100; round++) {
		struct bpf_insn insns[BODY + 8] = { MOV(0, 0), LOAD(6, 1, 0), MOV(7, 1), MOV(8, 7), CONF_AT(9, fd, 0) };
		struct bpf_code code = { .insns = insns, .insn_cnt = BODY + 7 };
		int before;

		for (size_t i = 0; i < BODY; i++)
			insns[6 + i] = any_insn(i);
		insns[BODY + 6] = EXIT;
		before = run(insns, code.insn_cnt);
		assert_int_equal(bpf_drop_dead_code(&code, &map), 0);
		assert_int_equal(run(insns, code.insn_cnt), before);
		shorter += code.insn_cnt < BODY + 7;
	}
	assert_true(shorter > 50);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_and_always),
		cmocka_unit_test(test_ways_meet),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_leads_out),
		cmocka_unit_test(test_same_result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
