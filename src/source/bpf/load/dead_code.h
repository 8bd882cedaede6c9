/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Leaves out of a program what its configuration rules out, before the kernel sees it. */
#ifndef ESPY_BPF_DEAD_CODE_H
#define ESPY_BPF_DEAD_CODE_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* A program as it would be loaded; its functions by their first instructions, in that order. */
struct bpf_code {
	struct bpf_insn *insns;
	size_t insn_cnt;
	struct bpf_func_info *funcs;
	size_t func_cnt;
};

/* The map that holds the configuration, which nothing changes once programs run. */
struct bpf_conf_map {
	int fd;
	const unsigned char *bytes;
	size_t size;
};

/*
 * Shortens the program in place. -EINVAL: it leads out of itself or has instructions that are not known here; -ENOMEM.
 * The program is then as it was.
 */
int bpf_drop_dead_code(struct bpf_code *code, const struct bpf_conf_map *conf);

#endif
