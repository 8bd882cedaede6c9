/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * In the order in which they are made; arguments as they will be, as far as that is known before. What agent/ calls
 * must stand here: tests/markers/outside/seccomp.sh lets a filter kill a thread that makes another call.
 */
#include "source/agent/seccomp_requirements.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/memfd.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

/* The thread that makes it, and when. */
enum {
	LOAD = 1,    /* the thread that is made to call dlopen() */
	START = 2,   /* the thread that starts the agent's own: that one, and after a fork the child */
	AGENT = 4,   /* the agent's thread */
	HIT = 8,     /* a thread that meets a mark */
	FORKED = 16, /* a forked child, which then makes START and AGENT */
	MEMFD = 32,  /* LOAD, if the library comes as a descriptor */
	OLDER = 64,  /* LOAD, by a libc before glibc 2.39; NEWER: by a later one */
	NEWER = 128,
};

/* How much of an argument is known. */
enum known {
	ALL = 1,
	LOW, /* an int: what is in the register's upper half is up to the compiler */
	FD,  /* some descriptor */
	PID, /* its own */
	BELL,
	/* 0: nothing */
};

struct needed {
	uint16_t nr;
	uint8_t who;
	bool may_fail; /* an error does no harm; being killed does */
	const char *name;
	struct {
		enum known known;
		uint64_t value;
	} args[6];
	const char *what;	      /* where the name alone does not say it */
	const struct needed *instead; /* what libc calls if this is said not to exist */
};

/* clang-format off */
#define CALL(name, who, may_fail, ...) { SYS_##name, who, may_fail, #name, __VA_ARGS__ }
#define IS(value) { ALL, (uint64_t)(value) }
#define INT(value) { LOW, (uint32_t)(value) }
#define ANY { 0, 0 }
#define F { FD, 0 }

#define NOBODYS (MAP_PRIVATE | MAP_ANONYMOUS)
#define OF_FILE (MAP_PRIVATE | MAP_DENYWRITE)
#define RW (PROT_READ | PROT_WRITE)
#define NEW_THREAD                                                                                                     \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |             \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static const struct needed clone_thread = CALL(clone, 0, false, { INT(NEW_THREAD) });

static const struct needed needed[] = {
	/* A stack, if need be; the agent's library, if it has to be brought. */
	CALL(memfd_create, MEMFD, false, { ANY, IS(MFD_CLOEXEC) }),
	CALL(mmap, LOAD, false, { IS(0), ANY, IS(RW), IS(NOBODYS), IS(-1), IS(0) }),
	/* dlopen() */
	CALL(getrandom, LOAD, true, { ANY }),
	CALL(brk, LOAD, false, { ANY }),
	CALL(mmap, LOAD, false, { IS(0), ANY, INT(PROT_NONE), INT(NOBODYS | MAP_NORESERVE), INT(-1), IS(0) }),
	CALL(sched_getaffinity, LOAD, true, { ANY }),
	CALL(openat, LOAD, false, { INT(AT_FDCWD), ANY, INT(O_RDONLY | O_CLOEXEC) }),
	CALL(read, LOAD | AGENT, false, { F }),
	CALL(fstat, NEWER, false, { F }),
	CALL(newfstatat, OLDER, false, { F, ANY, ANY, INT(AT_EMPTY_PATH) }),
	CALL(mmap, LOAD, false, { IS(0), ANY, INT(PROT_READ), INT(OF_FILE), F, IS(0) }),
	CALL(mmap, LOAD, false, { ANY, ANY, INT(PROT_READ | PROT_EXEC), INT(OF_FILE | MAP_FIXED), F }, "of code"),
	CALL(mmap, LOAD, false, { ANY, ANY, INT(PROT_READ), INT(OF_FILE | MAP_FIXED), F }),
	CALL(mmap, LOAD, false, { ANY, ANY, INT(RW), INT(OF_FILE | MAP_FIXED), F }),
	CALL(mmap, LOAD, false, { ANY, ANY, INT(RW), INT(NOBODYS | MAP_FIXED), INT(-1), IS(0) }),
	CALL(close, LOAD, false, { F }),
	CALL(mprotect, LOAD, false, { ANY, ANY, INT(PROT_READ) }),
	CALL(mprotect, LOAD | START, false, { ANY, ANY, INT(RW) }),
	/* The agent's constructor, and of its calls those that the agent's thread makes, too */
	CALL(getpid, LOAD | AGENT | HIT, false, { ANY }),
	CALL(futex, LOAD | START | AGENT, false, { ANY, INT(FUTEX_WAIT_PRIVATE) }),
	CALL(futex, LOAD | START | AGENT, false, { ANY, INT(FUTEX_WAKE_PRIVATE) }),
	CALL(membarrier, LOAD | AGENT, false, { IS(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE), IS(0) }),
	CALL(membarrier, LOAD | AGENT, false, { IS(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), IS(0) }),
	/* Its thread is made */
	CALL(getppid, FORKED, true, { ANY }),
	CALL(rt_sigprocmask, LOAD | START | AGENT, false, { INT(SIG_SETMASK), ANY, ANY, IS(8) }),
	CALL(rt_sigprocmask, LOAD | START, false, { INT(SIG_BLOCK), ANY, ANY, IS(8) }),
	CALL(rt_sigprocmask, LOAD | START, false, { INT(SIG_UNBLOCK), ANY, ANY, IS(8) }),
	CALL(rt_sigaction, LOAD | START, true, { ANY }),
	CALL(mmap, LOAD | START, false, { IS(0), ANY, INT(PROT_NONE), INT(NOBODYS | MAP_STACK), INT(-1), IS(0) }),
	CALL(clone3, LOAD | START, false, { ANY }, .instead = &clone_thread),
	/* and the call of dlopen() is over */
	CALL(gettid, LOAD | AGENT | HIT, false, { ANY }),
	CALL(tgkill, LOAD, false, { { PID, 0 }, ANY, { BELL, 0 } }),
	CALL(munmap, LOAD | AGENT, false, { ANY }),
	CALL(rt_sigreturn, LOAD, false, { ANY }),
	/* The agent's thread begins */
	CALL(rseq, AGENT, false, { ANY }), /* libc ends the process if it fails for one thread only */
	CALL(set_robust_list, AGENT, true, { ANY }),
	CALL(close_range, AGENT, true, { IS(0), IS(~0u), IS(CLOSE_RANGE_UNSHARE) }),
	CALL(prctl, AGENT, false, { INT(PR_SET_NAME) }),
	CALL(mmap, AGENT, false, { IS(0), ANY, INT(RW), INT(NOBODYS | MAP_NORESERVE), INT(-1), IS(0) }),
	CALL(madvise, AGENT, false, { ANY, ANY, INT(MADV_WIPEONFORK) }),
	CALL(prctl, AGENT, true, { INT(PR_GET_TSC) }),
	CALL(openat, AGENT, true, { IS(AT_FDCWD), ANY, IS(O_RDONLY | O_CLOEXEC), IS(0) }),
	CALL(memfd_create, AGENT, false, { ANY, IS(MFD_CLOEXEC | MFD_ALLOW_SEALING) }),
	CALL(ftruncate, AGENT, false, { F }),
	CALL(fcntl, AGENT, false, { F, IS(F_ADD_SEALS), IS(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) }),
	CALL(mmap, AGENT, false, { IS(0), ANY, INT(RW), INT(MAP_SHARED), F, IS(0) }),
	CALL(madvise, AGENT, true, { ANY, ANY, INT(MADV_DONTFORK) }),
	/* and serves sessions */
	CALL(clock_gettime, AGENT | HIT, false, { INT(CLOCK_MONOTONIC) }), /* not always in the kernel's own library */
	CALL(mmap, AGENT, false, { IS(0), ANY, INT(RW), INT(MAP_SHARED | MAP_POPULATE), F, IS(0) }),
	CALL(mprotect, AGENT, false, { ANY, ANY, INT(RW | PROT_EXEC) }, "of code, to write"),
	CALL(mprotect, AGENT, false, { ANY, ANY, INT(PROT_READ | PROT_EXEC) }, "of code"),
	CALL(membarrier, AGENT, false, { IS(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE), IS(0) }),
	CALL(membarrier, AGENT, false, { IS(MEMBARRIER_CMD_PRIVATE_EXPEDITED), IS(0) }),
	CALL(fcntl, AGENT, true, { F, IS(F_OFD_GETLK) }),
	CALL(tgkill, AGENT, false, { { PID, 0 }, ANY, IS(0) }),
	CALL(clock_nanosleep, AGENT, false, { INT(CLOCK_MONOTONIC), INT(0), ANY, IS(0) }),
	CALL(futex, AGENT, false, { ANY, IS(FUTEX_WAIT) }),
	CALL(futex, AGENT | HIT, false, { ANY, IS(FUTEX_WAKE) }),
	CALL(close, AGENT, false, { F }),
	/* if it could not begin */
	CALL(madvise, AGENT, true, { ANY, ANY, INT(MADV_DONTNEED) }),
	CALL(exit, AGENT, false, { INT(0) }),
};

/* What a fork is. */
static const struct needed forks[] = {
	CALL(clone, 0, false, { INT(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD) }),
	CALL(clone, 0, false, { INT(SIGCHLD) }),
	CALL(fork, 0, false, { ANY }),
};
static const struct needed fork_lock = /* pthread_mutex_timedlock() */
	CALL(futex, 0, true, { ANY, INT(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME) });
static const struct needed restart = CALL(restart_syscall, 0, false, { ANY });
/* clang-format on */

static void make_call(const struct espy_seccomp_requirements *n, const struct needed *d, struct espy_seccomp_call *c)
{
	*c = (struct espy_seccomp_call){ .nr = d->nr };
	for (size_t i = 0; i < 6; i++) {
		c->args[i] = d->args[i].value;
		switch (d->args[i].known) {
		case ALL:
			break;
		case LOW:
			c->unknown[i] = 0xffffffff00000000ull;
			break;
		case FD:
			c->unknown[i] = 0x7fffffff;
			break;
		case PID:
			c->args[i] = (uint64_t)n->own_pid;
			c->unknown[i] = 0xffffffff00000000ull;
			break;
		case BELL:
			c->args[i] = (uint64_t)n->bell;
			c->unknown[i] = 0xffffffff00000000ull;
			break;
		default:
			c->unknown[i] = ~0ull;
		}
	}
}

static uint32_t ask(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s, const struct needed *d)
{
	struct espy_seccomp_call c;

	make_call(n, d, &c);
	return espy_seccomp__verdict(s, &c);
}

static bool fails(uint32_t verdict)
{
	return (verdict & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

static int forbids(const struct needed *d, uint32_t verdict, char *why, size_t why_sz)
{
	const int e = (int)(verdict & SECCOMP_RET_DATA);
	const char *then = "it would be killed";

	switch (verdict & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ERRNO:
		then = e ? strerror(e) : "it would fail";
		break;
	case SECCOMP_RET_TRAP:
		then = "it would get a SIGSYS";
		break;
	case SECCOMP_RET_TRACE:
	case SECCOMP_RET_USER_NOTIF:
		then = "another process decides about it";
		break;
	}
	snprintf(why, why_sz, "%s%s%s (%s)", d->name, d->what ? " " : "", d->what ? d->what : "", then);
	return -EPERM;
}

/* lenient: an error does no harm whatever the call. */
static int check(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s, unsigned who, bool lenient,
		 char *why, size_t why_sz)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const struct needed *d = &needed[i];
		uint32_t verdict;

		if (!(d->who & who))
			continue;
		verdict = ask(n, s, d);
		if (d->instead && fails(verdict) && (verdict & SECCOMP_RET_DATA) == ENOSYS) {
			d = d->instead;
			verdict = ask(n, s, d);
		}
		if (!espy_seccomp__allows(verdict) && !(fails(verdict) && (lenient || d->may_fail)))
			return forbids(d, verdict, why, why_sz);
	}
	return 0;
}

int espy_seccomp_requirements__to_load(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s,
				       char *why, size_t why_sz)
{
	return check(n, s, LOAD | START | AGENT | (n->libc_fstat ? NEWER : OLDER) | (n->by_memfd ? MEMFD : 0), false,
		     why, why_sz);
}

int espy_seccomp_requirements__to_hit(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s,
				      char *why, size_t why_sz)
{
	return check(n, s, HIT, false, why, why_sz);
}

int espy_seccomp_requirements__to_fork(const struct espy_seccomp_requirements *n, const struct espy_seccomp *s,
				       char *why, size_t why_sz)
{
	for (size_t i = 0; i < sizeof(forks) / sizeof(forks[0]); i++) {
		uint32_t verdict;

		if (!espy_seccomp__allows(ask(n, s, &forks[i])))
			continue;
		verdict = ask(n, s, &fork_lock);
		if (!espy_seccomp__allows(verdict) && !fails(verdict))
			return forbids(&fork_lock, verdict, why, why_sz);
		return check(n, s, FORKED | START | AGENT, true, why, why_sz);
	}
	return 0;
}

bool espy_seccomp_requirements__restart(const struct espy_seccomp *s)
{
	return espy_seccomp__allows(ask(&(struct espy_seccomp_requirements){ 0 }, s, &restart));
}
