/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tampering: what a stopping source changes about calls (-e inject=, -e fault=). One rule holds for a set of calls; of
 * several rules for one call the last counts. Each task counts for itself how often it has made calls of a rule.
 */
#ifndef ESPY_SOURCE_TAMPER_H
#define ESPY_SOURCE_TAMPER_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/call_abi.h"

#define ESPY_TAMPER_CALLS 1024u /* numbers of calls that a rule can name: ESPY_MAX_SYSCALLS */
#define ESPY_TAMPER_ARGS 6u

/* Bytes written to where an argument points. */
struct espy_poke {
	uint8_t *bytes; /* NULL: none for this argument */
	uint32_t len;
};

struct espy_tamper {
	uint64_t calls[ESPY_ABI_CNT][ESPY_TAMPER_CALLS / 64];

	bool has_result;    /* the call is not made, and returns `result` */
	bool is_error;	    /* `result` is a negative errno; else a value, whatever its bits are */
	int64_t result;
	bool has_call;	    /* with has_result: this call is made in its place */
	uint32_t call[ESPY_ABI_CNT]; /* its number; UINT32_MAX: there is none in that ABI */
	int signal;	    /* sent when the call begins; 0: none */
	uint64_t delay_enter_ns, delay_exit_ns; /* before the call, after it; 0: none */
	struct espy_poke poke_enter[ESPY_TAMPER_ARGS], poke_exit[ESPY_TAMPER_ARGS];

	/* Which of a task's calls, counted from 1: first, first + step, ... up to last. */
	uint32_t first, last, step;
};

#endif
