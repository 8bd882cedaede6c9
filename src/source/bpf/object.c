/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiled BPF object, as bytes in the program: ESPY_BPF_OBJECT is its file, given by the build. */
#include "object.h"

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".global espy_bpf_object\n"
	".hidden espy_bpf_object\n"
	"espy_bpf_object:\n"
	".incbin \"" ESPY_BPF_OBJECT "\"\n"
	".global espy_bpf_object_end\n"
	".hidden espy_bpf_object_end\n"
	"espy_bpf_object_end:\n"
	".byte 0\n"
	".popsection\n");
