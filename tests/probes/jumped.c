/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A program that computes while jumps are put into its functions and taken out, and says if a result is wrong.
 *
 *     jumped run THREADS [signals]   until standard input ends; then "N calls, 0 wrong, text as it was"
 *     jumped once                    each way of going through a function, one after the other, by name
 *     jumped load FILE FUNCTION N    N times: dlopen, FUNCTION(i), dlclose
 *     jumped count N                 N calls of step()
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define PROBED __attribute__((noinline))
#else
#define PROBED __attribute__((noipa))
#endif

#define STACK (64 << 10)

long step(long a, long b);
long push_first(long a, long b);
long relative(long a);
long jumps_first(long a);
long deep(long n);
long leaves(jmp_buf *to, long n);
long many(long a, long b, long c, long d, long e, long f, long g, long h);
double floating(double a, long n);
long flags(long a);
long borrows(long a);
long borrows_exactly(long a);
long no_room(long a);
long keeps_jump(long a);
long keeps_prefix(long a);
long by_memory(long a, char *scratch);
long locked(long a);
long segfaults(const long *at);
int frames(int n);
void fibre(void);

static long counter = 5;
static atomic_ulong calls, wrong;
static atomic_int over;

PROBED long step(long a, long b)
{
	return a * 3 + b;
}

/* A first instruction of one byte: the jump lies behind it. */
PROBED long push_first(long a, long b)
{
	return step(a, b) + step(b, a);
}

/* The displaced instruction names its data by a distance. */
PROBED long relative(long a)
{
	return counter + a;
}

__attribute__((naked, used)) long jumps_first(long a)
{
	__asm__("test %rdi, %rdi\n\tjmp 1f\n\t.p2align 4\n1:\tlea 7(%rdi), %rax\n\tret\n\t.p2align 4");
}

/* The flags that a caller leaves, which no C does: 1 if the carry was set. */
__attribute__((naked, used)) long flags(long a)
{
	__asm__("mov $0x0, %eax\n\tadc $0x0, %eax\n\tret\n\t.p2align 4");
}

/*
 * Functions without padding near them, whose first instruction is shorter than a jump: of four bytes, and of one. The
 * instructions around have no filling between them. What the second one borrows leads far below the program, where its
 * heap is not.
 */
#define FAR_FROM_PADDING "\t.rept 41\n\tlea 0x11111111(%rdi), %rax\n\tret\n\t.endr\n"
__asm__("\t.text\n\t.p2align 4\n" FAR_FROM_PADDING "\t.globl borrows\n\t.type borrows, @function\n"
	"borrows:\tsub $8, %rsp\n\tlea 9(%rdi), %rax\n\tadd $8, %rsp\n\tret\n\t.size borrows, . - "
	"borrows\n" FAR_FROM_PADDING "\t.globl borrows_exactly\n\t.type borrows_exactly, @function\n"
	"borrows_exactly:\tcld\n\tlea 0x401122b3(%rdi), %rax\n\tlea -0x401122a8(%rax), %rax\n\tret\n\t.size "
	"borrows_exactly, . - borrows_exactly\n" FAR_FROM_PADDING
	/* a jump without a longer form */
	"\t.globl no_room\n\t.type no_room, @function\n"
	"no_room:\tjrcxz 1f\n1:\tlea 3(%rdi), %rax\n\tret\n\t.size no_room, . - no_room\n\t.p2align 4\n"
	/* A jump that begins 2 bytes before 8 aligned ones; an instruction of which they take all but a prefix; */
	FAR_FROM_PADDING "\t.rept 6\n\tret\n\t.endr\n"
	"\t.globl keeps_jump\n\t.type keeps_jump, @function\n"
	"keeps_jump:\t.byte 0xe9\n\t.long 1f - . - 4\n\t.size keeps_jump, . - keeps_jump\n" FAR_FROM_PADDING
	"1:\tlea 17(%rdi), %rax\n\t.rept 8\n\tret\n\t.endr\n"
	"\t.globl keeps_prefix\n\t.type keeps_prefix, @function\n"
	"keeps_prefix:\tmov counter(%rip), %rax\n\tlea 19(%rdi), %rax\n\tret\n\t.size keeps_prefix, . - "
	"keeps_prefix\n" FAR_FROM_PADDING "\t.rept 5\n\tret\n\t.endr\n"
	/* and one before so many zeros that all jumps by a distance would lead into the program. */
	"\t.globl by_memory\n\t.type by_memory, @function\n"
	"by_memory:\tmov %rsi, %rax\n\t.rept 5\n\tadd %al, (%rax)\n\t.endr\n\tlea 23(%rdi), %rax\n\tret\n"
	"\t.size by_memory, . - by_memory\n" FAR_FROM_PADDING "\t.p2align 4\n");

/* The kernel probes no instruction with this prefix. */
__attribute__((naked, used)) long locked(long a)
{
	__asm__("lock addq $0x0, counter(%rip)\n\tlea 15(%rdi), %rax\n\tret\n\t.p2align 4");
}

PROBED long deep(long n)
{
	return n ? n + deep(n - 1) : 0;
}

PROBED long leaves(jmp_buf *to, long n)
{
	if (n)
		leaves(to, n - 1);
	longjmp(*to, 1);
}

PROBED long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

PROBED double floating(double a, long n)
{
	return a * (double)n + 0.5;
}

PROBED long segfaults(const long *at)
{
	return *at;
}

PROBED int frames(int n)
{
	void *at[64];

	const int cnt = n ? frames(n - 1) : backtrace(at, 64);

	counter += n == 77; /* so that no call is the last thing here */
	return cnt;
}

static ucontext_t in_main, in_fibre;
static long fibred;

PROBED void fibre(void)
{
	for (long i = 0; i < 3; i++) {
		fibred += step(i, i);
		swapcontext(&in_fibre, &in_main);
	}
}

static void check(int right, const char *what)
{
	atomic_fetch_add(&calls, 1);
	if (right)
		return;
	if (!atomic_fetch_add(&wrong, 1))
		fprintf(stderr, "%s is wrong\n", what);
}

static int carries(void)
{
	long r;

	__asm__ volatile("sub $128, %%rsp\n\tstc\n\tcall flags\n\tlea 128(%%rsp), %%rsp" : "=a"(r)::"cc", "memory");
	return r == 1;
}

static void round_of(long i)
{
	char scratch = 0;
	jmp_buf back;
	volatile long j = i;

	check(step(i, 7) == i * 3 + 7, "step");
	check(push_first(i, 7) == 4 * (i + 7), "push_first");
	check(relative(i) == i + 5, "relative");
	check(jumps_first(i) == i + 7, "jumps_first");
	check(borrows(i) == i + 9, "borrows");
	check(borrows_exactly(i) == i + 11, "borrows_exactly");
	check(keeps_jump(i) == i + 17, "keeps_jump");
	check(keeps_prefix(i) == i + 19, "keeps_prefix");
	check(by_memory(i, &scratch) == i + 23, "by_memory");
	check(locked(i) == i + 15, "locked");
	check(no_room(i) == i + 3, "no_room");
	check(many(i, 1, 1, 1, 1, 1, 1, 1) == i + 35, "many");
	check(floating(1.25, i) == 1.25 * (double)i + 0.5, "floating");
	check(carries(), "flags");
	if (i % 16)
		return;
	check(deep(20) == 210, "deep");
	if (!setjmp(back))
		leaves(&back, 3);
	check(j == i, "longjmp");
	check(atoi("1234") == 1234 && strlen("four") == 4, "libc");
}

static void *thread(void *arg)
{
	for (long i = (long)(intptr_t)arg; !atomic_load(&over); i++) {
		round_of(i);
		if (i % 256 == 0)
			usleep(3000); /* sleeps: a hundred threads leave some time to others */
	}
	return NULL;
}

static void on_alarm(int sig)
{
	static atomic_long alarms;
	const long n = atomic_fetch_add(&alarms, 1);

	(void)sig;
	if (step(n, 1) != n * 3 + 1 || push_first(n, 1) != 4 * (n + 1) || !carries())
		atomic_fetch_add(&wrong, 1);
}

#define LOOKED_AT 5u
/* The first bytes of the functions. Padding is not looked at: a jump that is off leaves its hop there. */
static void (*const functions[])(void) = {
	(void (*)(void))step,
	(void (*)(void))push_first,
	(void (*)(void))relative,
	(void (*)(void))jumps_first,
	(void (*)(void))deep,
	(void (*)(void))leaves,
	(void (*)(void))many,
	(void (*)(void))floating,
	(void (*)(void))flags,
	(void (*)(void))borrows,
	(void (*)(void))borrows_exactly,
	(void (*)(void))keeps_jump,
	(void (*)(void))keeps_prefix,
	(void (*)(void))by_memory,
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
static uint8_t before[FUNCTIONS][LOOKED_AT];

static int text_is_as_before(void)
{
	for (size_t i = 0; i < FUNCTIONS; i++)
		if (memcmp(before[i], (const void *)(uintptr_t)functions[i], sizeof(before[i])))
			return 0;
	return 1;
}

static int run(int threads, int signals)
{
	const struct sigaction act = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t *t = calloc((size_t)threads, sizeof(*t));
	char c;

	for (size_t i = 0; i < FUNCTIONS; i++)
		memcpy(before[i], (const void *)(uintptr_t)functions[i], sizeof(before[i]));
	for (int i = 0; i < threads && t; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)(intptr_t)(i * 1000)))
			return 1;
	sigaction(SIGALRM, &act, NULL);
	if (signals)
		setitimer(ITIMER_REAL, &often, NULL);
	puts("ready");
	fflush(stdout);
	/* Each line is a question: how does the text look now? */
	while (read(STDIN_FILENO, &c, 1) > 0)
		if (c == '\n') {
			puts(text_is_as_before() ? "as it was" : "changed");
			fflush(stdout);
		}
	setitimer(ITIMER_REAL, &never, NULL);
	atomic_store(&over, 1);
	for (int i = 0; i < threads && t; i++)
		pthread_join(t[i], NULL);
	free(t);
	printf("%lu calls, %lu wrong\n", atomic_load(&calls), atomic_load(&wrong));
	return atomic_load(&wrong) != 0;
}

static sigjmp_buf after_fault;
static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(after_fault, 1);
}

static int once(void)
{
	const struct sigaction act = { .sa_handler = on_fault };
	static char stack[STACK];
	int status;
	pid_t pid;

	round_of(16);
	printf("%d frames\n", frames(5) - frames(0));
	sigaction(SIGSEGV, &act, NULL);
	if (!sigsetjmp(after_fault, 1))
		segfaults(NULL);
	printf("a fault, and %ld\n", segfaults(&(long){ 42 }));
	getcontext(&in_fibre);
	in_fibre.uc_stack.ss_sp = stack;
	in_fibre.uc_stack.ss_size = sizeof(stack);
	in_fibre.uc_link = &in_main;
	makecontext(&in_fibre, fibre, 0);
	for (int i = 0; i < 4; i++)
		swapcontext(&in_main, &in_fibre);
	printf("a fibre: %ld\n", fibred);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(step(1, 2) == 5 ? 3 : 4);
	waitpid(pid, &status, 0);
	printf("a child: %d\n", WEXITSTATUS(status));
	fflush(stdout);
	pid = vfork();
	if (!pid)
		_exit(step(1, 3) == 6 ? 5 : 6);
	waitpid(pid, &status, 0);
	printf("a vfork child: %d\n", WEXITSTATUS(status));
	printf("%lu wrong\n", atomic_load(&wrong));
	return 0;
}

/* Waits, for up to a minute, until something else stands where the function begins. */
static int changes(const void *f)
{
	uint8_t first[LOOKED_AT];

	memcpy(first, f, sizeof(first));
	for (int i = 0; i < 6000; i++) {
		if (memcmp(first, f, sizeof(first)))
			return 1;
		usleep(10000); /* sleeps: espy looks for new libraries now and then */
	}
	return 0;
}

static int load(const char *file, const char *name, int n)
{
	for (int i = 0; i < n; i++) {
		void *lib = dlopen(file, RTLD_NOW);
		long (*f)(long) = lib ? (long (*)(long))(uintptr_t)dlsym(lib, name) : NULL;
		long sum = 0;

		if (!f) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		/* Every other time it goes before it can be seen. */
		if (i % 2 == 0)
			printf("%s, ", changes((const void *)(uintptr_t)f) ? "probed" : "not probed");
		for (long k = 0; k < 10; k++)
			sum += f(k);
		printf("%ld\n", sum);
		fflush(stdout);
		dlclose(lib);
	}
	return 0;
}

int main(int argc, char **argv)
{
	long sum = 0;

	if (argc > 2 && !strcmp(argv[1], "run"))
		return run(atoi(argv[2]), argc > 3);
	if (argc > 1 && !strcmp(argv[1], "once"))
		return once();
	if (argc > 4 && !strcmp(argv[1], "load"))
		return load(argv[2], argv[3], atoi(argv[4]));
	if (argc > 2 && !strcmp(argv[1], "count")) {
		for (long i = 0, n = atol(argv[2]); i < n; i++)
			sum += step(i, 1);
		printf("%ld\n", sum);
		return 0;
	}
	return 2;
}
