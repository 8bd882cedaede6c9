/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The compiled BPF object, as bytes in the program: ESPY_BPF_OBJECT is its file, given by the build. */
extern const char espy_usdt_object[], espy_usdt_object_end[];

__asm__(".pushsection .rodata\n"
	".balign 16\n"
	".global espy_usdt_object\n"
	".hidden espy_usdt_object\n"
	"espy_usdt_object:\n"
	".incbin \"" ESPY_BPF_OBJECT "\"\n"
	".global espy_usdt_object_end\n"
	".hidden espy_usdt_object_end\n"
	"espy_usdt_object_end:\n"
	".byte 0\n"
	".popsection\n");
