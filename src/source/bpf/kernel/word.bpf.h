/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of the kernel's own memory. */
#ifndef ESPY_WORD_BPF_H
#define ESPY_WORD_BPF_H

#include "maps.bpf.h"

static const void *(*const bpf_rdonly_cast)(const void *obj, u32 type) = (void *)(ESPY_KFUNC_BASE + ESPY_KFUNC_CAST);

/*
 * Returns the 8 bytes at an address of the kernel; 0: they are not there. From Linux 6.2 on a load does it, which takes
 * a tenth of the time of a helper. The verifier follows pointers in structs only, and searches all types for each
 * pointer that it loads: so whatever stands there is read as if it were the position in a struct kiocb.
 */
static __always_inline u64 kernel_word(u64 address)
{
	u64 word = 0;

	if (conf.kiocb) {
		const struct kiocb *around = bpf_rdonly_cast(
			(void *)(address - bpf_core_field_offset(struct kiocb, ki_pos)), conf.kiocb);

		return around->ki_pos;
	}
	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* The member of a struct at an address. Of a member with 4 bytes the upper half is what stands behind it. */
#define KERNEL_WORD(address, type, member) kernel_word((u64)(address) + bpf_core_field_offset(type, member))

#endif
