/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Call stacks of tasks that stand in a stop of ptrace(2), by the unwind tables of the files that their process has mapped
 * (.eh_frame suffices). Used by the thread that traces them.
 */
#ifndef ESPY_SYMBOLS_UNWIND_H
#define ESPY_SYMBOLS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct espy_unwound_frame {
	uint64_t addr;	      /* as the file numbers its memory; of a caller: the last byte of its call instruction */
	const char *path;     /* NULL: it lies in no file; valid until the next call of the unwinder */
	uint8_t build_id[20];
	uint8_t build_id_sz;  /* 0: not known */
};

struct espy_unwinder; /* knows the files of the processes that it was asked about */

/* Returns NULL without memory, or in a build without libdw. */
struct espy_unwinder *espy_unwinder__new(void);
void espy_unwinder__free(struct espy_unwinder *u);
/*
 * The frames of a stopped task, innermost first, max at most; *more: there are more. Returns how many; 0: its stack cannot be
 * unwound.
 */
size_t espy_unwinder__frames(struct espy_unwinder *u, pid_t tgid, pid_t tid, struct espy_unwound_frame *frames, size_t max,
			     bool *more);
/* Forgets all knowledge of a process: it has another image, or has ended. */
void espy_unwinder__forget(struct espy_unwinder *u, pid_t tgid);

#endif
