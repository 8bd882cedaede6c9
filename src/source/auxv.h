/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The auxiliary vector of another process: getauxval(3) from outside. */
#ifndef ESPY_SOURCE_AUXV_H
#define ESPY_SOURCE_AUXV_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "base/proc_pid.h"

/* Returns the value of one AT_* of a 64-bit process. 0: there is none, or the user may not look at the process. */
static inline uint64_t espy_auxv(pid_t pid, uint64_t type)
{
	char path[64];
	Elf64_auxv_t v;
	uint64_t value = 0;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)espy_proc_pid(pid));
	FILE *f = fopen(path, "re");

	while (f && fread(&v, sizeof(v), 1, f) == 1)
		if (v.a_type == type)
			value = v.a_un.a_val;
	if (f)
		fclose(f);
	return value;
}

#endif
