/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiled BPF objects, as bytes in the program: the macros name their files, given by the build. */
#include "bpf_objects.h"

#define BYTES(name, file)                    \
	__asm__(".pushsection .rodata\n"     \
		".balign 16\n"               \
		".global " name "\n"         \
		".hidden " name "\n"         \
		name ":\n"                   \
		".incbin \"" file "\"\n"     \
		".global " name "_end\n"     \
		".hidden " name "_end\n"     \
		name "_end:\n"               \
		".byte 0\n"                  \
		".popsection\n")

BYTES("espy_bpf_object", ESPY_BPF_OBJECT);
BYTES("espy_bpf_rings_object", ESPY_BPF_RINGS_OBJECT);
BYTES("espy_bpf_pause_object", ESPY_BPF_PAUSE_OBJECT);
BYTES("espy_bpf_pause_rings_object", ESPY_BPF_PAUSE_RINGS_OBJECT);
BYTES("espy_bpf_probe_object", ESPY_BPF_PROBE_OBJECT);
BYTES("espy_bpf_probe_rings_object", ESPY_BPF_PROBE_RINGS_OBJECT);
BYTES("espy_bpf_uring_object", ESPY_BPF_URING_OBJECT);
BYTES("espy_bpf_uring_rings_object", ESPY_BPF_URING_RINGS_OBJECT);
