// SPDX-License-Identifier: LGPL-2.1-or-later
// Start, the agent's one thread, fork.
//
// The thread is an ordinary one of the program's threads library: setuid(2) of the program must reach it, too. It
// blocks all signals. It leaves the program's table of descriptors, so that the program neither sees nor closes its
// own.
#include "inside.h"
#include "probe_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define STACK_SZ (256u * 1024u)

struct agent agent; // all zero, its mutex too: there is nothing to be read from the file
uint32_t espy_agent_xsave_sz;
uint32_t espy_agent_xsave_mask[2];

EXPORT int espy_agent_start(void);
// The reason, -errno, why the agent does not run. espy, which has loaded it and waits, reads it from outside by this
// name.
EXPORT int espy_agent_failed;

// The time stamp counter serves if the kernel itself tells the time by it, and lets the program read it.
static uint32_t choose_clock(void)
{
	char name[8] = "";
	int mode = PR_TSC_ENABLE, fd;

	if (!ticks_are_steady())
		return ESPY_AGENT_CLOCK_MONOTONIC;
	if (!prctl(PR_GET_TSC, &mode, 0, 0, 0) && mode != PR_TSC_ENABLE)
		return ESPY_AGENT_CLOCK_MONOTONIC;
	fd = (int)sys(SYS_openat, AT_FDCWD, (long)"/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return ESPY_AGENT_CLOCK_MONOTONIC;
	sys(SYS_read, fd, (long)name, sizeof(name) - 1, 0, 0, 0);
	sys(SYS_close, fd, 0, 0, 0, 0, 0);
	return name[0] == 't' && name[1] == 's' && name[2] == 'c' ? ESPY_AGENT_CLOCK_TSC : ESPY_AGENT_CLOCK_MONOTONIC;
}

// glibc 2.35 and later register struct rseq for each thread, unless they are told not to (then the size is 0).
extern const ptrdiff_t __rseq_offset __attribute__((weak, visibility("default")));
extern const unsigned int __rseq_size __attribute__((weak, visibility("default")));

// How many CPUs there can be ("0-7,16-23": 24), if threads know on which they are; else 0.
static uint32_t count_cpus(void)
{
	char text[256];
	uint32_t last = 0, in_number = 0;
	long n;
	int fd;

	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return 0;
	fd = (int)sys(SYS_openat, AT_FDCWD, (long)"/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return 0;
	n = sys(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0);
	sys(SYS_close, fd, 0, 0, 0, 0, 0);
	for (long i = 0; i < n; i++) {
		uint32_t digit = (uint32_t)text[i] - '0';

		if (digit < 10 && last <= CPUS)
			last = in_number ? last * 10 + digit : digit;
		in_number = digit < 10;
	}
	return n > 0 && last < CPUS ? last + 1 : 0;
}

static void take_clockpair(void)
{
	struct espy_agent_clockpair *p = &agent.area->clockpair;
	uint64_t before, after, ns;

	for (int i = 0; i < 5; i++) { // one that was not interrupted
		before = espy_code_ticks();
		ns = now_ns();
		after = espy_code_ticks();
		if (after - before < 2000)
			break;
	}
	p->seq++;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	p->tsc = before + (after - before) / 2;
	p->mono_ns = ns;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	p->seq++;
}

static int make_area(void)
{
	int fd;
	struct espy_agent *area = mem_share(ESPY_AGENT_MEMFD, ESPY_AGENT_AREA_SZ, 0, &fd);

	if (!area)
		return fd;
	agent.area_fd = fd;
	agent.shared_defs = (void *)((uint8_t *)area + ESPY_AGENT_DEFS_OFF);
	agent.shared_sites = (void *)((uint8_t *)area + ESPY_AGENT_SITES_OFF);
	agent.shared_text = (char *)area + ESPY_AGENT_TEXT_OFF;
	agent.area = area;
	area->abi = ESPY_AGENT_ABI;
	area->area_sz = ESPY_AGENT_AREA_SZ;
	area->pid = (uint32_t)getpid();
	area->parent_pid = agent.parent_pid;
	area->forks = agent.early_forks;
	area->clock = agent.clock;
	area->features = ESPY_AGENT_CAN_SHARE | ESPY_AGENT_CAN_CALL | ESPY_AGENT_CAN_KEEP | ESPY_AGENT_CAN_PROBE |
			 ESPY_AGENT_CAN_BORROW | ESPY_AGENT_CAN_MIX;
	area->text_sz = 1;
	for (unsigned int i = 0; i < sizeof(area->version) - 1 && ESPY_VERSION[i]; i++)
		area->version[i] = ESPY_VERSION[i];
	area->magic = ESPY_AGENT_MAGIC;
	return 0;
}

// One look at everything; returns how long the thread may sleep, NULL: until it is rung for.
static const struct timespec *work(struct timespec *pause)
{
	int open, watched;

	pthread_mutex_lock(&agent.lock);
	session_requests();
	open = session_check() || probe_any();
	if (open && sites_scan(0))
		defs_apply();
	if (open)
		probe_apply(0);
	watched = !agent.blind && usdt_look();
	if (open || watched)
		mem_sweep_threads();
	__atomic_store_n(&agent.looked, 1, __ATOMIC_RELEASE);
	mem_reclaim();
	take_clockpair();
	pthread_mutex_unlock(&agent.lock);
	if (open || mem_is_retired())
		*pause = (struct timespec){ .tv_nsec = ESPY_AGENT_POLL_MS * 1000000 };
	else
		*pause = (struct timespec){ .tv_sec = ESPY_AGENT_USDT_MS / 1000 };
	return pause->tv_sec && agent.blind ? NULL : pause;
}

// Runs in the agent's thread, since it takes time and the lock of the memory map: the thread that loads the library
// waits.
static int init_tables(void)
{
	struct live *l;
	int e;

	if (live)
		return 0;
	l = mem_map(sizeof(*l));
	if (!l)
		return -ENOMEM;
	if (madvise(l, sizeof(*l), MADV_WIPEONFORK)) {
		e = -errno;
		munmap(l, sizeof(*l));
		return e;
	}
	e = defs_init();
	if (!e)
		e = sites_init();
	if (e)
		return e;
	espy_agent_xsave_sz = measure_fpu(espy_agent_xsave_mask);
	agent.clock = choose_clock();
	agent.ncpus = count_cpus();
	__atomic_store_n(&live, l, __ATOMIC_RELEASE);
	return 0;
}

static void *helper(void *arg)
{
	uint32_t *ready = arg, bell;
	struct timespec pause;
	const struct timespec *wait;
	int e;

	// a table of our own, without copying the program's: a copy would keep its pipes open
	sys(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE, 0, 0, 0);
	// after the new table: espy finds us by the name and looks at our descriptors; the program may have those of
	// another agent
	prctl(PR_SET_NAME, ESPY_AGENT_COMM, 0, 0, 0);
	self = &probe_quiet;
	sites_register();
	pthread_mutex_lock(&agent.lock);
	agent.helper_tid = (uint32_t)sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	e = init_tables();
	if (!e)
		e = make_area();
	if (e) {
		espy_agent_failed = e;
		agent.started = 0;
		agent.helper_of = 0;
		pthread_mutex_unlock(&agent.lock);
		__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
		sys(SYS_futex, (long)ready, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
		return NULL;
	}
	take_clockpair();
	defs_publish_all();
	sites_publish_all();
	live->clock = agent.clock;
	if (agent.ncpus)
		live->rseq_off = (uint64_t)__rseq_offset;
	// In a forked child the hooks of marks lead to the parent's rings, which are not mapped here: no thread may
	// follow them before they are replaced.
	session_after_fork();
	__atomic_store_n(&live->on, (uint32_t)getpid(), __ATOMIC_RELEASE);
	__atomic_store_n(&agent.area->ready, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&agent.lock);
	__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
	sys(SYS_futex, (long)ready, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
	for (;;) {
		bell = __atomic_load_n(&agent.area->bell, __ATOMIC_ACQUIRE);
		wait = work(&pause);
		sys(SYS_futex, (long)&agent.area->bell, FUTEX_WAIT, bell, (long)wait, 0, 0);
	}
	return NULL;
}

// wait: until the thread has made everything ready.
static int start_helper(int wait)
{
	static uint32_t ready;
	pthread_attr_t attr;
	sigset_t all, old;
	int e;

	ready = 0;
	sigfillset(&all);
	e = pthread_attr_init(&attr);
	if (e)
		return -e;
	pthread_attr_setstacksize(&attr, STACK_SZ);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e = pthread_create(&agent.helper, &attr, helper, &ready);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	while (!e && wait && !__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		sys(SYS_futex, (long)&ready, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
	return -e;
}

void agent_ring(void)
{
	__atomic_fetch_add(&agent.area->bell, 1, __ATOMIC_RELEASE);
	sys(SYS_futex, (long)&agent.area->bell, FUTEX_WAKE, 1, 0, 0, 0);
}

// 0 when the agent of this process is ready, -ENOTSUP: it does not run.
int agent_wait_ready(void)
{
	struct timespec pause = { .tv_nsec = 100000 };

	for (int i = 0; i < 20000; i++) {
		const struct live *l = __atomic_load_n(&live, __ATOMIC_ACQUIRE);

		if (l && __atomic_load_n(&l->on, __ATOMIC_ACQUIRE))
			return 0;
		if (!agent.started)
			return -ENOTSUP;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return -ENOTSUP;
}

// ---- fork ----

// Nothing may be half done in the child. The helper holds the lock for milliseconds at most; if it does not give it up
// (this very thread may be inside dl_iterate_phdr), the child goes without an agent.
static void before_fork(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	agent.dirty_fork = pthread_mutex_timedlock(&agent.lock, &until) != 0;
	if (agent.area)
		__atomic_fetch_add(&agent.area->forks, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_add(&agent.early_forks, 1, __ATOMIC_RELAXED);
}

static void after_fork_parent(void)
{
	if (!agent.dirty_fork)
		pthread_mutex_unlock(&agent.lock);
}

// espy finds a child that has not called by looking, every 20 ms. One that is gone by then would not have been seen.
static void wait_for_holder(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 50 && session_awaits_holder(); i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static void after_fork_child(void)
{
	int saved = errno;

	agent.area = NULL;
	agent.early_forks = 0;
	agent.area_fd = -1;
	agent.helper_tid = 0;
	self = NULL;
	if (agent.dirty_fork) {
		agent.started = 0;
		return;
	}
	pthread_mutex_unlock(&agent.lock);
	if (!agent.started)
		return;
	agent.parent_pid = session_any(0) ? (uint32_t)getppid() : 0;
	if (agent.resident || session_any(0) || probe_any()) {
		agent.helper_of = (uint32_t)getpid();
		if (start_helper(session_any(ESPY_AGENT_FOLLOW) || probe_any()))
			agent.started = 0;
		else
			wait_for_holder();
	} else {
		agent.started = 0;
	}
	errno = saved;
}

// ---- start ----

// What must not come later: after a fork, or when there are other threads, for which registering would have to wait.
static int init_once(void)
{
	static int done;
	int e;

	if (done)
		return 0;
	e = -pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	if (e)
		return e;
	if (__libc_single_threaded)
		sites_register();
	done = 1;
	return 0;
}

int espy_agent_start(void)
{
	const uint32_t pid = (uint32_t)getpid();
	int saved = errno, e = 0;

	pthread_mutex_lock(&agent.lock);
	if (agent.started && agent.helper_of == pid) {
		pthread_mutex_unlock(&agent.lock);
		return 0;
	}
	espy_agent_failed = 0;
	e = init_once();
	agent.started = !e;
	agent.helper_of = e ? 0 : pid;
	pthread_mutex_unlock(&agent.lock);
	if (!e) {
		e = start_helper(0);
		if (e)
			agent.helper_of = agent.started = 0;
	}
	if (e)
		espy_agent_failed = e;
	errno = saved;
	return e;
}

static void wait_for(const uint32_t *flag, uint64_t ms)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t end = now_ns() + ms * 1000000u;

	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && now_ns() < end)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static int is_off(const char *value)
{
	return value && value[0] == 'o' && value[1] == 'f' && value[2] == 'f' && !value[3];
}

// Starts the agent, but not in a set-user-ID program: the user who has started it may not look into it.
static __attribute__((constructor)) void loaded(void)
{
	const char *call = getenv(ESPY_AGENT_CALL_ENV);
	int raised;

	espy_agent_failed = getauxval(AT_SECURE) ? -EPERM : is_off(getenv("ESPY_AGENT")) ? -ECANCELED : 0;
	if (espy_agent_failed)
		return;
	agent.resident = 1;
	agent.blind = (uint8_t)is_off(getenv("ESPY_AGENT_USDT"));
	// before the helper is there, which does the same
	raised = !agent.blind && usdt_raised();
	if (espy_agent_start())
		return;
	if (call)
		call_started(call);
	if (raised) // another tool wants it
		wait_for(&agent.looked, ESPY_AGENT_USDT_MS);
}
