/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program whose functions begin in different ways. entries FUNCTION COUNT: calls it so often, with 1, 2, ... as the
 * first argument. Prints where in the function the kernel has put a breakpoint, and the nanoseconds of a call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTION_IN(section, name, code)                                                                               \
	void name(long i, const char *text);                                                                           \
	asm(".pushsection " section ", \"ax\"\n.type " #name ", @function\n.p2align 4\n" #name ": " code                 \
	    "\n.size " #name ", . - " #name "\n.popsection\n")
#define FUNCTION(name, code) FUNCTION_IN(".text", name, code)

FUNCTION(pushes, "push %rbx\npop %rbx\nret");
/* Behind a first instruction that the kernel steps over comes one that it emulates. */
FUNCTION(leads, "lea 1(%rdi), %rax\npush %rbx\nxor %edi, %edi\npop %rbx\nret");
FUNCTION(marked, "endbr64\nsub $8, %rsp\ntest %rdi, %rdi\nje 1f\nmov %rdi, %rax\n1: add $8, %rsp\nret");
FUNCTION(loads, "mov 1f(%rip), %rax\nmov 8(%rsp), %r10d\npush %rbx\npop %rbx\nret\n1: .quad 0");
/* The first argument, or the second, is another one there. */
FUNCTION(changes, "lea 1(%rdi), %rdi\npush %rbx\npop %rbx\nret");
FUNCTION(changes_second, "xor %esi, %esi\npush %rbx\npop %rbx\nret");
FUNCTION(changes_byte, "mov $7, %dil\npush %rbx\npop %rbx\nret");
FUNCTION(changes_stack, "sub $8, %rsp\npush %rbx\npop %rbx\nadd $8, %rsp\nret");
/* Memory is, or may be no memory at all. */
FUNCTION(writes, "movb $'x', -1(%rsi)\npush %rbx\npop %rbx\nret");
FUNCTION(faults, "mov (%rdi), %eax\npush %rbx\npop %rbx\nret");
/* The place behind is come to more than once a call: from below, from another function, near and far, by a table. */
FUNCTION(loops, "mov $3, %eax\n1: push %rbx\npop %rbx\ndec %eax\njnz 1b\nret");
FUNCTION(loops_far, "mov $3, %eax\n.Linto: push %rbx\npop %rbx\ndec %eax\njmp .Laway\n.Lback: ret");
FUNCTION(out_of_line, ".fill 200, 1, 0x90\n.Laway: jnz .Linto\njmp .Lback");
FUNCTION(near_before, "push %rbx\npop %rbx\n.Lnear: dec %eax\njnz .Lnext\nret");
FUNCTION(loops_next, "mov $3, %eax\n.Lnext: push %rbx\npop %rbx\njmp .Lnear");
FUNCTION(chooses, "mov $3, %eax\n1: nop\nlea 1b(%rip), %rdx\ndec %eax\njz 2f\njmp *%rdx\n2: ret");
/* Another function begins there. */
FUNCTION(outer,
	 "mov $3, %eax\n.globl inner\n.type inner, @function\ninner: push %rbx\npop %rbx\nret\n.size inner, . - inner");
FUNCTION(locks, "lock incl (%rsp)\nlock decl (%rsp)\nret");
FUNCTION(steps, "lea 1(%rdi), %rax\nret");
/* Behind it the code ends. */
FUNCTION_IN("code_of_last", last, "lea 1(%rdi), %rax\npush %rbx\npop %rbx\nret");
void inner(long i, const char *text);

static const struct {
	const char *name;
	void (*call)(long i, const char *text);
} functions[] = {
#define ENTRY(name)                                                                                                    \
	{                                                                                                              \
#name, name                                                                                            \
	}
	ENTRY(pushes),	       ENTRY(leads),	    ENTRY(marked),	  ENTRY(loads),	      ENTRY(changes),
	ENTRY(changes_second), ENTRY(changes_byte), ENTRY(changes_stack), ENTRY(writes),      ENTRY(faults),
	ENTRY(loops),	       ENTRY(loops_far),    ENTRY(loops_next),	  ENTRY(chooses),     ENTRY(outer),
	ENTRY(inner),	       ENTRY(steps),	    ENTRY(near_before),	  ENTRY(out_of_line), ENTRY(locks),
	ENTRY(last),
};

/* How far behind its beginning a function has a breakpoint (int3), which none of them has by itself; -1: it has none.
 */
static int breakpoint_of(void (*call)(long i, const char *text))
{
	const volatile unsigned char *code = (const unsigned char *)(size_t)call;

	for (int at = 0; at < 16; at++)
		if (code[at] == 0xcc)
			return at;
	return -1;
}

int main(int argc, char **argv)
{
	const long cnt = argc > 2 ? atol(argv[2]) : 0;
	char text[] = "-text";
	struct timespec begin, end;

	for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
		if (argc < 2 || strcmp(argv[1], functions[k].name))
			continue;
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (long i = 1; i <= cnt; i++)
			functions[k].call(i, text + 1);
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("%d %.0f\n", breakpoint_of(functions[k].call),
		       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
			       (double)cnt);
		return 0;
	}
	return 2;
}
