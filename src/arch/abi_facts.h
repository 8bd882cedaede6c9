/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What is told of an ABI besides its table of calls. A trace may hold the ABIs of another machine, so all are here. */
#ifndef ESPY_ARCH_ABI_FACTS_H
#define ESPY_ARCH_ABI_FACTS_H

#include <stddef.h>
#include <stdint.h>
#include "arch/call_abi.h"

struct espy_abi_facts {
	const char *name;   /* in JSON, and of the files of its descriptions */
	const char *mode;   /* of its programs, in messages */
	const char *word;   /* as users choose it: behind @, and with --abi */
	enum espy_abi base; /* whose constants and layouts count here, too */
	/* Bytes. An argument of 8 bytes takes two registers of 4, the low half first. `long` is that of the kernel's
	 * structs. */
	uint8_t reg_sz, long_sz, ptr_sz, u64_align;
};
extern const struct espy_abi_facts espy_abis[ESPY_ABI_CNT];

#define ESPY_ABI_WORDS "64, 32 or x32" /* of those that have system calls, in messages */
/* Finds an ABI by its word. Returns its number, or -1. */
int espy_abi_find(const char *word, size_t len);

#endif
