/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A program for another architecture, without a library: it sleeps until it is killed. */
#ifdef __x86_64__
#define PAUSE (0x40000000 + 34) /* x32 */
#define CALL "syscall"
#define LOST , "rcx", "r11"
#else
#define PAUSE 29
#define CALL "int $0x80"
#define LOST
#endif

void _start(void)
{
	for (;;) {
		long ret = PAUSE;

		__asm__ volatile(CALL : "+a"(ret) : : "memory" LOST);
	}
}
