/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the calls of a file and prints the lines that the file has for them. No call is ever made in earnest unless the
 * file says so: a filter of the program's own answers it. The file is named by $CASES:
 *
 *      # options: -v
 *      f 16 -1 0x5401 0x10000ff8 10000ff8:0102*4
 *      ioctl(-1, ...)
 *
 * f: the call fails with EBADF, z: it gives 0, r: the kernel carries it out; F, Z and R: the same for a call of the
 * 32-bit table. Then the number, up to six arguments, and
 * bytes (`*N`: N times) for the memory, 64 KiB from 0x10000000 on, with nothing behind it. All other bytes are 0.
 * The next line is the text without the result, or with it if a note is behind it; `-` where a case has no line to
 * show.
 */
#include "truth.h"
#include <err.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#define MEMORY 0x10000000ul
#define MEMORY_SIZE 0x10000ul
#define STUBS 0x20000000ul
#define LINE_MOST (1 << 18)

typedef long stub_fn(long nr, const long *args);

/* A call from a page of its own: the filter knows it by the address. */
extern const char stub_begin[], stub_end[], stub32_begin[], stub32_end[];
__asm__(".pushsection .rodata\n"
	"stub_begin:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %r11\n"
	"	mov (%r11), %rdi\n"
	"	mov 8(%r11), %rsi\n"
	"	mov 16(%r11), %rdx\n"
	"	mov 24(%r11), %r10\n"
	"	mov 32(%r11), %r8\n"
	"	mov 40(%r11), %r9\n"
	"	syscall\n"
	"	ret\n"
	"stub_end:\n"
	"stub32_begin:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %r11\n"
	"	mov (%r11), %rbx\n"
	"	mov 8(%r11), %rcx\n"
	"	mov 16(%r11), %rdx\n"
	"	mov 24(%r11), %rsi\n"
	"	mov 32(%r11), %rdi\n"
	"	mov 40(%r11), %rbp\n"
	"	int $0x80\n"
	"	movslq %eax, %rax\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"stub32_end:\n"
	".popsection\n");

static void refused(int sig)
{
	truth_skip("no 32-bit calls here");
}

/* Two pages for each answer: one for the calls of 64-bit programs, one for those of 32-bit programs. */
static void make_stubs(void)
{
	for (unsigned i = 0; i < 6; i++) {
		const char *code = i & 1 ? stub32_begin : stub_begin;
		const size_t size = (size_t)(i & 1 ? stub32_end - stub32_begin : stub_end - stub_begin);
		void *p = mmap((void *)(STUBS + i * 4096), 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (p == MAP_FAILED)
			truth_skip("the place of the calls is taken");
		memcpy(p, code, size);
		mprotect(p, 4096, PROT_READ | PROT_EXEC);
	}
	if (mmap((void *)MEMORY, MEMORY_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		 -1, 0) == MAP_FAILED)
		truth_skip("the place of the memory is taken");
	memset((void *)MEMORY, 0, MEMORY_SIZE);
}

static void answer_calls(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (uint32_t)-8192),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUBS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EBADF),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STUBS + 8192, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(rules) / sizeof(*rules), rules };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		truth_skip("no seccomp filters here");
}

/* "ADDRESS:HEX[*N]": the number of bytes that it covers, 0 if it is none. */
static size_t poke(const char *s, unsigned long *at)
{
	static uint8_t bytes[MEMORY_SIZE];
	char *end;
	unsigned long n = 0, times = 1;

	*at = strtoul(s, &end, 16);
	if (*end++ != ':')
		return 0;
	for (; n < sizeof(bytes) && sscanf(end, "%2hhx", &bytes[n]) == 1; n++)
		end += 2;
	if (*end == '*')
		times = strtoul(end + 1, NULL, 0);
	if (*at < MEMORY || *at + n * times > MEMORY + MEMORY_SIZE)
		return 0;
	for (unsigned long i = 0; i < times; i++)
		memcpy((char *)*at + i * n, bytes, n);
	return n * times;
}

/* Makes the call of a line of the file; a word that is no case fails the test, so that no case is left out unseen. */
static long make_call(char *text)
{
	const char kind = *text;
	long args[7] = { 0 };
	size_t n = 0, sizes[64], pokes = 0;
	unsigned long ats[64];
	char *word, *rest = text + 1;

	while ((word = strsep(&rest, " \n"))) {
		if (!*word)
			continue;
		if (!strchr(word, ':'))
			args[n++ < 7 ? n - 1 : 6] =
				word[0] == '-' ? strtol(word, NULL, 0) : (long)strtoul(word, NULL, 0);
		else if (pokes < 64 && (sizes[pokes] = poke(word, &ats[pokes])))
			pokes++;
		else
			errx(1, "no number and no bytes of the memory: %s", word);
	}
	const unsigned long answer = kind == 'f' || kind == 'F' ? 0 : kind == 'z' || kind == 'Z' ? 8192 : 16384;
	stub_fn *stub = (stub_fn *)(STUBS + answer + (kind < 'a' ? 4096 : 0)); /* NOLINT(performance-no-int-to-ptr) */
	const long ret = stub(args[0], args + 1);
	while (pokes--)
		memset((void *)ats[pokes], 0, sizes[pokes]); /* NOLINT(performance-no-int-to-ptr) */
	return ret;
}

int main(int argc, char **argv)
{
	static char given[LINE_MOST], want[LINE_MOST], options[256], whole[1 << 24];
	const char *path = getenv("CASES");
	FILE *cases = path ? fopen(path, "re") : NULL;

	if (!cases)
		truth_skip("$CASES names no file");
	setvbuf(cases, whole, _IOFBF, sizeof(whole)); /* one read, and in front of all cases */
	if (fscanf(cases, "# options: %255[^\n] ", options) != 1)
		truth_skip("the file names no options");
	truth_begin(argc, argv, options);
	make_stubs();
	signal(SIGSEGV, refused);
	answer_calls();
	while (fgets(given, sizeof(given), cases)) {
		if (!strchr("fzrFZR", *given))
			continue;
		if (!fgets(want, sizeof(want), cases))
			break;
		const long ret = make_call(given);
		want[strcspn(want, "\n")] = 0;
		if (strstr(want, ") = "))
			text("%s", want);
		else if (strcmp(want, "-"))
			line(ret, "%s", want);
	}
	fclose(cases);
	return 0;
}
