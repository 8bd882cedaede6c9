/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For tests of the plan runner: a memory that is made up and ends somewhere, a run over it, and what its items must be. */
#ifndef ESPY_TESTS_PLAN_RUN_HARNESS_H
#define ESPY_TESTS_PLAN_RUN_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "record/call_record.h"
#include "source/plan_run.h"

/* Memory: from MEM on there are MEM_SZ bytes, then nothing. */
#define MEM 0x10000000ull
#define MEM_SZ 0x4000u
#define MEM_END (MEM + MEM_SZ)

struct fake {
	unsigned char bytes[MEM_SZ];
	unsigned reads;
	uint64_t bytes_read;
};

static inline size_t fake_read(void *ctx, uint64_t addr, void *buf, size_t n)
{
	struct fake *f = ctx;

	f->reads++;
	if (addr < MEM || addr >= MEM_END)
		return 0;
	if (n > MEM_END - addr)
		n = (size_t)(MEM_END - addr);
	memcpy(buf, f->bytes + (addr - MEM), n);
	f->bytes_read += n;
	return n;
}

struct bench {
	struct fake mem;
	struct espy_mem reader;
	struct espy_rec_out out;
	struct espy_plan_run run;
};

static inline int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	b->reader = (struct espy_mem){ .read = fake_read, .ctx = &b->mem };
	b->out = (struct espy_rec_out){ .data = aligned_alloc(8, ESPY_REC_MAX), .max = ESPY_REC_MAX };
	b->run.mem = &b->reader;
	*state = b;
	return b->out.data ? 0 : -1;
}

static inline int teardown(void **state)
{
	struct bench *b = *state;

	free(b->out.data);
	free(b);
	return 0;
}

static inline void poke(struct bench *b, uint64_t addr, const void *p, size_t n)
{
	memcpy(b->mem.bytes + (addr - MEM), p, n);
}

static inline void poke64(struct bench *b, uint64_t addr, uint64_t v)
{
	poke(b, addr, &v, 8);
}

static inline void poke32(struct bench *b, uint64_t addr, uint32_t v)
{
	poke(b, addr, &v, 4);
}

static inline void run_ops(struct bench *b, const struct espy_op *ops, unsigned cnt)
{
	b->run.ops = ops;
	b->run.op_cnt = cnt;
	b->out.size = 0;
	espy_plan_run__items(&b->out, &b->run);
	assert_int_equal(b->out.size % 8, 0);
}

static inline const struct espy_item *nth(const struct bench *b, unsigned n)
{
	const struct espy_item *items = (const void *)b->out.data, *it = espy_item__first(items, b->out.size);

	while (it && n--)
		it = espy_item__next(it, items, b->out.size);
	return it;
}

static inline unsigned count(const struct bench *b)
{
	unsigned n = 0;

	while (nth(b, n))
		n++;
	return n;
}

#define expect_item(b, n, op_, status_, index_, data, len_) expect(b, n, op_, status_, index_, data, len_, __LINE__)
static inline void expect(const struct bench *b, unsigned n, unsigned op, unsigned status, unsigned index, const void *data,
		   size_t len, int line)
{
	const struct espy_item *it = nth(b, n);

	if (!it)
		fail_msg("line %d: there is no item %u", line, n);
	if (it->op != op || it->status != status || it->index != index || it->len != len)
		fail_msg("line %d: item %u is op %u status %#x index %u len %u", line, n, it->op, it->status, it->index,
			 it->len);
	if (data && memcmp(it + 1, data, len))
		fail_msg("line %d: item %u has other bytes", line, n);
}

#define A_ARG(n) .a_kind = ESPY_LEN_ARG, .a_ref = ESPY_REF(n, 3, 0)
#define B_ARG(n) .b_kind = ESPY_LEN_ARG, .b_ref = ESPY_REF(n, 3, 0)
#define IN .when = ESPY_OP_ENTER
#define OUT .when = ESPY_OP_EXIT | ESPY_OP_ON_OK
#define AT_EXIT ESPY_ITEM_AT_EXIT
#define CNT(a) ((unsigned)(sizeof(a) / sizeof((a)[0])))

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
