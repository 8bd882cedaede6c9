/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call stacks, by the unwind tables of the files that a process has mapped (.eh_frame suffices): of a task that stands
 * in a stop of ptrace(2), for the thread that traces it, or of a copy of registers and stack.
 */
#ifndef ESPY_SYMBOLS_UNWIND_H
#define ESPY_SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "arch/machine_regs.h"

struct espy_unwound_frame {
	uint64_t addr;	      /* as the file numbers its memory; of a caller: the last byte of its call instruction */
	const char *path;     /* NULL: it lies in no file; valid until the next call of the unwinder */
	uint8_t build_id[20];
	uint8_t build_id_sz;  /* 0: not known */
};

struct espy_unwinder; /* knows the files of the processes that it was asked about */

/* Where else mappings of processes are known from, so that one that has ended can be looked at. */
struct espy_unwinder_maps {
	void *ctx;
	/* Returns a number that changes with each mapping of the process. 0: it is not known, and /proc has to do. */
	uint32_t (*version)(void *ctx, pid_t tgid);
	/* Returns the mappings in the form of /proc/PID/maps, which the unwinder frees; NULL: without memory. */
	char *(*text)(void *ctx, pid_t tgid);
};

/* maps: NULL: /proc alone. It is copied. Returns NULL without memory, or in a build without libdw. */
struct espy_unwinder *espy_unwinder__new(const struct espy_unwinder_maps *maps);
void espy_unwinder__free(struct espy_unwinder *u);
/*
 * The frames of a stopped task, innermost first, max at most; *more: there are more. Returns how many; 0: its stack cannot be
 * unwound.
 */
size_t espy_unwinder__frames(struct espy_unwinder *u, pid_t tgid, pid_t tid, struct espy_unwound_frame *frames, size_t max,
			     bool *more);
/* Registers and stack of a task as they were at one moment. */
struct espy_stack_copy {
	uint64_t regs[ESPY_REG_CNT];
	const uint8_t *bytes; /* of the stack, from the stack pointer on */
	size_t size;
	bool cut; /* the stack goes on behind them */
};
/*
 * The same of a copy. The process runs on; what it has mapped is read now if it was not read before, so of a process
 * that has ended meanwhile frames may be missing. *more: also if the way leads beyond a copy that was cut.
 */
size_t espy_unwinder__frames_of_copy(struct espy_unwinder *u, pid_t tgid, pid_t tid, const struct espy_stack_copy *copy,
				     struct espy_unwound_frame *frames, size_t max, bool *more);
/* Returns how many stacks were followed by rules that were kept, without libdwfl's own walk. */
uint64_t espy_unwinder__by_rules(const struct espy_unwinder *u);
/* Forgets all knowledge of a process: it has another image, or has ended. */
void espy_unwinder__forget(struct espy_unwinder *u, pid_t tgid);

#endif
