/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Filters that are run here say what the kernel says: a child puts a filter upon itself and makes calls. And with bits
 * unknown nothing is allowed that some value of them would not be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "source/agent/seccomp_verdict.h"

#define BODY_MAX 24u
#define CALLS 6u
#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t seed = 88172645463325252ull;

static uint64_t any64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(any64() >> 20) % n;
}

/* Few bits are set, so that comparisons come out both ways. */
static uint32_t some_number(void)
{
	static const uint32_t often[] = { 0, 1, 2, 7, 31, 32, 0x80000000u, 0xffffffffu, 0xffff, 64, SYS_getppid };

	return below(2) ? often[below(LEN(often))] : (uint32_t)(any64() & any64() & any64());
}

static const uint32_t results[] = {
	SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW | 5,   SECCOMP_RET_LOG,	      SECCOMP_RET_ERRNO | 1,
	SECCOMP_RET_ERRNO, SECCOMP_RET_ERRNO | 133, SECCOMP_RET_TRAP | 7,     SECCOMP_RET_TRACE,
	0x12340000u,	   SECCOMP_RET_KILL_THREAD, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ERRNO | 38,
};

/* What the kernel takes for a filter, mostly. Returns its length. */
static unsigned random_filter(struct sock_filter *f, unsigned body)
{
	static const uint16_t plain[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LD | BPF_IMM,
		BPF_LDX | BPF_IMM,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM,
		BPF_ST,
		BPF_STX,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
		BPF_ALU | BPF_NEG,
		BPF_ALU | BPF_ADD | BPF_K,
		BPF_ALU | BPF_ADD | BPF_X,
		BPF_ALU | BPF_SUB | BPF_K,
		BPF_ALU | BPF_SUB | BPF_X,
		BPF_ALU | BPF_MUL | BPF_K,
		BPF_ALU | BPF_MUL | BPF_X,
		BPF_ALU | BPF_DIV | BPF_K,
		BPF_ALU | BPF_DIV | BPF_X,
		BPF_ALU | BPF_AND | BPF_K,
		BPF_ALU | BPF_AND | BPF_K,
		BPF_ALU | BPF_AND | BPF_X,
		BPF_ALU | BPF_OR | BPF_K,
		BPF_ALU | BPF_OR | BPF_X,
		BPF_ALU | BPF_XOR | BPF_K,
		BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K,
		BPF_ALU | BPF_LSH | BPF_X,
		BPF_ALU | BPF_RSH | BPF_K,
		BPF_ALU | BPF_RSH | BPF_X,
	};
	static const uint16_t jumps[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET };
	unsigned n = 0;

	/* All memory is set, calls of the test itself are let pass. */
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	for (uint32_t i = 0; i < 4; i++)
		f[n++] = (struct sock_filter)BPF_STMT(BPF_ST, i);
	const unsigned end = n + body, last = end + 2;

	while (n < end) {
		if (below(3)) {
			const uint16_t code = plain[below(LEN(plain))];
			uint32_t k = some_number();

			if (code == (BPF_LD | BPF_W | BPF_ABS))
				k = 4 * below(16);
			else if (BPF_CLASS(code) == BPF_ST || BPF_CLASS(code) == BPF_STX ||
				 (BPF_CLASS(code) <= BPF_LDX && BPF_MODE(code) == BPF_MEM))
				k = below(4);
			else if (BPF_OP(code) == BPF_LSH || BPF_OP(code) == BPF_RSH)
				k = BPF_SRC(code) == BPF_K && BPF_CLASS(code) == BPF_ALU ? k % 32 : k;
			else if (BPF_CLASS(code) == BPF_ALU && BPF_OP(code) == BPF_DIV && !k)
				k = 3;
			f[n] = (struct sock_filter)BPF_STMT(code, k);
		} else if (below(6)) {
			const uint16_t code = BPF_JMP | jumps[below(4)] | (below(3) ? BPF_K : BPF_X);

			f[n] = (struct sock_filter)BPF_JUMP(code, some_number(), (uint8_t)below(last - n),
							    (uint8_t)below(last - n));
		} else {
			f[n] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, results[below(LEN(results))]);
		}
		n++;
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, results[below(LEN(results))]);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, results[below(LEN(results))]);
	f[n++] = (struct sock_filter)BPF_STMT(below(4) ? BPF_RET | BPF_K : BPF_RET | BPF_A, SECCOMP_RET_ALLOW);
	return n;
}

static struct espy_seccomp_call random_call(void)
{
	struct espy_seccomp_call c = { .nr = SYS_getppid };

	for (size_t i = 0; i < 6; i++)
		c.args[i] = (uint64_t)some_number() << 32 | some_number();
	return c;
}

static volatile int trapped;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	trapped = 0x10000 | info->si_errno;
}

/* What the call was answered with, in the words of the filter; the child dies of some. The kernel's limit is 4095. */
static uint32_t answer(const struct espy_seccomp_call *c, long parent)
{
	trapped = 0;
	errno = 0;
	const long got = syscall((long)c->nr, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4], c->args[5]);

	if (trapped)
		return SECCOMP_RET_TRAP | (trapped & 0xffff);
	if (got == -1)
		return SECCOMP_RET_ERRNO | (uint32_t)errno;
	/* An error of 0 skips the call, too. */
	return got == parent ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO;
}

/* What espy_seccomp__run() says, as answer() would. */
static uint32_t seen_as(uint32_t verdict)
{
	const uint32_t action = verdict & SECCOMP_RET_ACTION_FULL;

	if (espy_seccomp__allows(verdict))
		return SECCOMP_RET_ALLOW;
	if (action == SECCOMP_RET_ERRNO || action == SECCOMP_RET_TRAP)
		return verdict;
	if (action == SECCOMP_RET_TRACE)
		return SECCOMP_RET_ERRNO | ENOSYS; /* nobody traces it */
	return SECCOMP_RET_KILL_PROCESS;	   /* and whatever the kernel does not know */
}

/* In a child. 2: the kernel does not take the filters; else it ends by itself, or is killed. */
static void child(const struct sock_fprog *progs, unsigned prog_cnt, const struct espy_seccomp_call *calls, int to)
{
	const struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const long parent = getppid();

	sigaction(SIGSYS, &sa, NULL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* being killed is nothing to keep */
	for (unsigned i = 0; i < prog_cnt; i++)
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &progs[i]))
			_exit(2);
	for (unsigned i = 0; i < CALLS; i++) {
		const uint32_t is = answer(&calls[i], parent);

		if (write(to, &is, sizeof(is)) != sizeof(is))
			_exit(3);
	}
	_exit(0);
}

static void as_the_kernel(void **state)
{
	unsigned taken = 0, killed = 0;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		struct sock_filter insns[2][BODY_MAX + 16];
		struct sock_fprog progs[2];
		struct espy_seccomp_filter filters[2];
		const unsigned cnt = 1 + below(2);
		struct espy_seccomp_call calls[CALLS];
		const struct espy_seccomp s = { filters, cnt };
		int p[2], status;

		for (unsigned i = 0; i < cnt; i++) {
			const unsigned len = random_filter(insns[i], 1 + below(BODY_MAX));

			progs[i] = (struct sock_fprog){ (unsigned short)len, insns[i] };
			filters[i] = (struct espy_seccomp_filter){ insns[i], len };
		}
		for (unsigned i = 0; i < CALLS; i++)
			calls[i] = random_call();
		assert_int_equal(pipe(p), 0);
		pid_t pid = fork();

		if (!pid)
			child(progs, cnt, calls, p[1]);
		close(p[1]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
			close(p[0]);
			continue;
		}
		taken++;
		for (unsigned i = 0; i < CALLS; i++) {
			uint32_t is, want = seen_as(espy_seccomp__verdict(&s, &calls[i]));

			if (read(p[0], &is, sizeof(is)) != sizeof(is)) {
				assert_true(WIFSIGNALED(status));
				assert_int_equal(WTERMSIG(status), SIGSYS);
				assert_int_equal(want, SECCOMP_RET_KILL_PROCESS);
				killed++;
				break;
			}
			/* Of an error the kernel takes at most 4095. */
			if ((want & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && (want & SECCOMP_RET_DATA) > 4095)
				want = SECCOMP_RET_ERRNO | 4095;
			assert_int_equal(is, want);
		}
		close(p[0]);
	}
	/* The test says something only if most filters were good ones. */
	assert_true(taken > 200);
	assert_true(killed > 10);
}

static int strictness(uint32_t verdict)
{
	return (int32_t)(verdict & SECCOMP_RET_ACTION_FULL);
}

static void unknown_bits_are_the_worst(void **state)
{
	unsigned equal = 0, all = 0;

	(void)state;
	for (unsigned round = 0; round < 40000; round++) {
		struct sock_filter insns[BODY_MAX + 16];
		const unsigned len = random_filter(insns, 1 + below(BODY_MAX));
		struct espy_seccomp_call c = random_call(), with;

		for (size_t i = 0; i < 6; i++)
			c.unknown[i] = below(2) ? 0 : any64() & any64();
		const uint32_t verdict = espy_seccomp__run(insns, len, &c);

		for (unsigned i = 0; i < 8; i++) {
			uint32_t one;

			with = c;
			for (size_t k = 0; k < 6; k++) {
				with.args[k] = (c.args[k] & ~c.unknown[k]) | (any64() & c.unknown[k]);
				with.unknown[k] = 0;
			}
			one = espy_seccomp__run(insns, len, &with);
			assert_true(strictness(verdict) <= strictness(one));
			all++;
			if (verdict == one)
				equal++;
			else if (strictness(verdict) == strictness(one))
				assert_int_equal(verdict & SECCOMP_RET_DATA, 0); /* which error, is not known */
		}
	}
	assert_true(equal > all / 4 && equal < all);
}

/* As container engines ask for bits of an argument whose upper half a compiler may leave as it was. */
static void parts_of_arguments(void **state)
{
	static const struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]) + 4),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x7e020000),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct espy_seccomp_call c = { .nr = SYS_clone, .args = { 0x3d0f00 }, .unknown = { 0xffffffff00000000 } };

	(void)state;
	assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_ALLOW);
	c.args[0] |= 0x10000000;
	assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_ERRNO | EPERM);
	c.args[0] = 0x3d0f00;
	c.unknown[0] |= 0x10000000;
	assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_ERRNO | EPERM);
}

/* Two ways that meet with different values in A, X or memory: what comes behind must do for both. */
static void ways_that_meet(void **state)
{
	static const struct sock_filter keep[][2] = {
		{ BPF_STMT(BPF_MISC | BPF_TAX, 0), BPF_STMT(BPF_LD | BPF_IMM, 9) },
		{ BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 9) },
		{ BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0), BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0) },
	};
	static const struct sock_filter back[] = { BPF_STMT(BPF_MISC | BPF_TXA, 0), BPF_STMT(BPF_LD | BPF_MEM, 3),
						   BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0) };
	const struct espy_seccomp_call c = { .nr = SYS_getppid, .unknown = { 1 } };

	(void)state;
	for (size_t i = 0; i < LEN(back); i++) {
		for (uint32_t forbidden = 1; forbidden <= 2; forbidden++) {
			const struct sock_filter f[] = {
				BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4),
				BPF_STMT(BPF_LD | BPF_IMM, 1),
				keep[i][0],
				keep[i][1],
				BPF_JUMP(BPF_JMP | BPF_JA, 3, 0, 0),
				BPF_STMT(BPF_LD | BPF_IMM, 2),
				keep[i][0],
				keep[i][1],
				back[i],
				BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden, 0, 1),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
				BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
			};

			assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_KILL_PROCESS);
		}
	}
}

/* A division by 0 ends a filter with 0, which kills. */
static void division(void **state)
{
	static const struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct espy_seccomp_call c = { .nr = SYS_getppid, .args = { 5 } };

	(void)state;
	assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_ALLOW);
	c.args[0] = 0;
	assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_KILL_THREAD);
	c.unknown[0] = 1;
	assert_int_equal(espy_seccomp__run(f, LEN(f), &c), SECCOMP_RET_KILL_THREAD);
}

/* Nothing that the kernel would not take makes it read or jump anywhere. */
static void garbage(void **state)
{
	struct sock_filter *insns = malloc(64 * sizeof(*insns));
	const struct espy_seccomp_call c = { .nr = SYS_getppid };

	(void)state;
	assert_non_null(insns);
	for (unsigned round = 0; round < 20000; round++) {
		for (unsigned i = 0; i < 64; i++)
			insns[i] = (struct sock_filter){ (uint16_t)(any64() & (below(2) ? 0xff : 0xffff)),
							 (uint8_t)below(70), (uint8_t)below(70),
							 below(2) ? below(20) : (uint32_t)any64() };
		espy_seccomp__run(insns, 64, &c);
	}
	insns[0] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0xffffffff);
	assert_int_equal(espy_seccomp__run(insns, 64, &c), SECCOMP_RET_KILL_PROCESS);
	insns[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, 1);
	assert_int_equal(espy_seccomp__run(insns, 1, &c), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(espy_seccomp__run(insns, 0, &c), SECCOMP_RET_KILL_PROCESS);
	free(insns);
}

/* Two filters of a stopped task are read as they were put there. */
static void read_back(void **state)
{
	static struct sock_filter first[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
					      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
					      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
					      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) },
				  second[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG) };
	const struct sock_fprog progs[] = { { LEN(first), first }, { LEN(second), second } };
	struct espy_seccomp_filter filters[] = { { first, LEN(first) }, { second, LEN(second) } };
	const struct espy_seccomp want = { filters, 2 };
	struct espy_seccomp s;
	int status, err;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		for (size_t i = 0; i < 2; i++)
			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &progs[i]))
				_exit(2);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	err = ptrace(PTRACE_SEIZE, pid, 0, 0) ? -errno : 0;
	if (!err) {
		assert_int_equal(waitpid(pid, &status, __WALL), pid);
		err = espy_seccomp__read(&s, pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (err == -EPERM || err == -EACCES || err == -EIO)
		skip(); /* not root, or the kernel does not show filters */
	assert_int_equal(err, 0);
	assert_true(espy_seccomp__same(&s, &want));
	filters[1].cnt = 0;
	assert_false(espy_seccomp__same(&s, &want));
	espy_seccomp__free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_the_kernel),      cmocka_unit_test(unknown_bits_are_the_worst),
		cmocka_unit_test(parts_of_arguments), cmocka_unit_test(ways_that_meet),
		cmocka_unit_test(division),	      cmocka_unit_test(garbage),
		cmocka_unit_test(read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
