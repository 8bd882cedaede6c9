/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a BPF program smaller before the kernel sees it, by what the session's configuration decides. The kernel's
 * verifier would decide the same branches, but it takes unreachable instructions out range by range, each time looking
 * at all jumps of the program, and it leaves the loads of the configuration on the hot path.
 */
#ifndef ESPY_BPF_FOLD_H
#define ESPY_BPF_FOLD_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program as bpf(BPF_PROG_LOAD) takes it. Both arrays are the caller's; they become shorter. */
struct bpf_code {
	struct bpf_insn *insns;
	size_t cnt;
	struct bpf_func_info *funcs; /* NULL: there are none */
	size_t func_cnt;
};

/* Memory that never changes: the map under this descriptor has these bytes. */
struct bpf_constants {
	int fd;
	const void *bytes;
	size_t size;
};

/*
 * Replaces loads from constants by their values, decides branches, and takes out what is then unreachable or unused.
 * Returns 0; or -errno, and the program is as it was: -EOPNOTSUPP for an instruction that it does not know.
 */
int bpf_code__fold(struct bpf_code *code, const struct bpf_constants *constants);

/* ---- between fold.c and dead_code.c */

/* Of each instruction. The second half of an instruction of two is BPF_FOLD_HALF and nothing else. */
enum {
	BPF_FOLD_HALF = 1,
	BPF_FOLD_GONE = 2, /* taken out */
	BPF_FOLD_PURE = 4, /* a load that may go if nobody uses its register */
};

bool bpf_code__is_jump(const struct bpf_insn *insn); /* conditional or not; no call, no exit */
bool bpf_code__is_goto(const struct bpf_insn *insn); /* an unconditional jump */
bool bpf_code__is_exit(const struct bpf_insn *insn);
bool bpf_code__is_call(const struct bpf_insn *insn); /* of a function of the program */
bool bpf_code__names_function(const struct bpf_insn *insn);
/* Marks what no way from the first instruction leads to, and what makes a value for nobody. */
int bpf_dead_code__mark(const struct bpf_code *code, uint8_t *marks);
/* Closes the gaps. */
int bpf_dead_code__take_out(struct bpf_code *code, const uint8_t *marks);

#endif
