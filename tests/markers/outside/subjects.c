/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Programs that something is done to from outside, and that notice if it changes anything for them: each checks its own
 * results for ever (or for argv[2] rounds) and aborts at the first wrong one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "espy/mark.h"

/* A test that waits until it has begun asks for that (start in lib.sh). */
static void say_ready(void)
{
	if (getenv("SAYS_READY") && write(1, "ready\n", 6) != 6)
		_exit(3);
}

/* The test has said that it is to end. */
static int is_over(void)
{
	static const char *file;

	if (!file)
		file = getenv("GOES_UNTIL") ? getenv("GOES_UNTIL") : "";
	return *file && !access(file, F_OK);
}

static void wrong(const char *what)
{
	dprintf(2, "WRONG: %s (errno %d)\n", what, errno);
	abort();
}

static void allocate(unsigned seed)
{
	void *v[24];

	for (unsigned i = 0; i < 24; i++) {
		size_t n = 17 + (seed * 7919u + i * 131071u) % 200000u;

		v[i] = malloc(n);
		if (!v[i])
			wrong("malloc");
		memset(v[i], (int)i, n < 64 ? n : 64);
	}
	for (unsigned i = 0; i < 24; i++) {
		if (((unsigned char *)v[i])[16] != (unsigned char)i)
			wrong("the contents of memory");
		free(v[i]);
	}
}

static void *allocate_forever(void *arg)
{
	for (unsigned n = 0;; n++)
		allocate(n);
	return arg;
}

static void run_malloc(void)
{
	allocate_forever(NULL);
}

static void run_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, allocate_forever, NULL);
	for (;;)
		pause();
}

/* A call that is to last for ever must not come back because somebody looked. */
static void run_sleep(void)
{
	const struct timespec long_time = { .tv_sec = 100000 };

	nanosleep(&long_time, NULL); /* sleeps: for ever, and nothing is to wake it */
	wrong("nanosleep came back");
}

static void run_epoll(void)
{
	struct epoll_event ev;
	int fd = epoll_create1(0);

	/* Never begun again by the kernel after a stop, see signal(7): whoever kills the tracer in that moment leaves
	 * it so. */
	while (epoll_wait(fd, &ev, 1, -1) < 0 && errno == EINTR && getenv("EINTR_IS_FAIR"))
		;
	wrong("epoll_wait came back");
}

static void run_read(void)
{
	int p[2];
	char c;

	if (pipe(p))
		wrong("pipe");
	if (read(p[0], &c, 1) < 1)
		wrong("read came back");
}

/* Registers, those of floating point too, live across any instruction here. */
static void run_spin(void)
{
	volatile double seed = 1.5;
	volatile unsigned long start = 12345;

	for (;;) {
		double a = seed, b = seed * 2, c = seed * 3, d = seed * 4, e = seed * 5, f = seed * 6;
		unsigned long x = start, y = start * 3, z = start * 5;

		for (unsigned i = 0; i < 100000; i++) {
			a += b, b += 1.0, c += d, d += 1.0, e += f, f += 1.0;
			x = x * 3 + y, y ^= x >> 7, z += y;
		}
		double sum = a + b + c + d + e + f;
		unsigned long mix = x ^ y ^ z;
		static double first_sum;
		static unsigned long first_mix;

		if (!first_mix) {
			first_sum = sum;
			first_mix = mix;
		}
		if (sum != first_sum || mix != first_mix)
			wrong("a sum");
	}
}

static void nothing(int sig)
{
	(void)sig;
}

/* Signals with handlers arrive all the time. */
static void run_signals(void)
{
	const struct timespec nap = { .tv_nsec = 200000 };

	signal(SIGUSR1, nothing);
	signal(SIGURG, nothing);
	signal(SIGALRM, nothing);
	for (unsigned n = 0;; n++) {
		kill(getpid(), n % 3 ? SIGUSR1 : SIGURG);
		allocate(n);
		nanosleep(&nap, NULL); /* sleeps: signals are to meet it there, too */
	}
}

static void stay(int sig)
{
	(void)sig;
	for (;;)
		pause();
}

/* In a signal handler for ever: what it has interrupted is nobody's to know. */
static void run_handler(void)
{
	signal(SIGUSR1, stay);
	raise(SIGUSR1);
}

static void *stay_in_handler(void *arg)
{
	(void)arg;
	signal(SIGUSR1, stay);
	raise(SIGUSR1);
	return NULL;
}

/* The first thread waits for a vfork child, the other one is in a signal handler: none of them can be used, for ever. */
static void run_stuck(void)
{
	pthread_t t;

	pthread_create(&t, NULL, stay_in_handler, NULL);
	if (!vfork())
		for (;;)
			pause();
}

static void *crowd_one(void *arg)
{
	const unsigned rounds = *(unsigned *)arg;
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (unsigned i = 0; i < rounds; i++) {
		MARK(app_crowd, "i=%u tid=%d s=%s", i, (int)syscall(SYS_gettid), i % 2 ? "odd" : "even, and longer");
		if (i % 4 == 3)
			nanosleep(&nap, NULL); /* sleeps: others come to run */
	}
	return arg;
}

/* More threads than a small ring has chunks. */
static void run_crowd(unsigned rounds)
{
	pthread_t t[150];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (unsigned i = 0; i < 150; i++)
		if (pthread_create(&t[i], &attr, crowd_one, &rounds))
			wrong("a thread");
	for (unsigned i = 0; i < 150; i++)
		pthread_join(t[i], NULL);
}

static void run_marks(unsigned rounds)
{
	for (unsigned i = 0; (!rounds || i < rounds) && !is_over(); i++) {
		const double took = 0.25 * i;

		MARK(app_req_start, "id=%u", i);
		MARK(app_req_done, "id=%u path=%s took=%g", i, i % 2 ? "/odd" : "/even", took);
		MARK(other_thing, "%#x %c", i, 'a' + (int)(i % 26));
		usleep(5000); /* sleeps: a beat */
	}
}

/* As fast as it can: more than anybody reads. */
static void run_flood(unsigned rounds)
{
	for (unsigned i = 0; !rounds || i < rounds; i++)
		MARK(app_flood, "i=%u n=%u", i, rounds);
}

/* The same, but no more than half a million in a second. */
static void run_paced(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		MARK(app_flood, "i=%u n=%u", i, rounds);
		if (i % 500 == 499)
			usleep(1000); /* sleeps: a beat */
	}
}

/* Marks and calls, strictly in turn. */
static void run_turns(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		int fd = open("/dev/null", O_RDONLY);

		MARK(app_opened, "fd=%d i=%u", fd, i);
		close(fd);
		MARK(app_closed, "i=%u", i);
	}
}

static void run_forks(unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		MARK(app_parent, "i=%u", i);
		if (!fork()) {
			for (unsigned k = 0; k < 10; k++) {
				MARK(app_child, "i=%u k=%u", i, k);
				usleep(20000); /* sleeps: a beat; its siblings live meanwhile */
			}
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* Its first thread ends, the other goes on. */
static void run_headless(void)
{
	pthread_t t;

	pthread_create(&t, NULL, allocate_forever, NULL);
	pthread_exit(NULL);
}

/* It becomes itself again and again, each time after so many milliseconds. */
static void run_execs(unsigned ms)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", ms);
	MARK(app_begun, "ms=%u", ms);
	usleep(ms * 1000); /* sleeps: a beat */
	execl("/proc/self/exe", "subjects", "execs", number, NULL);
	wrong("execl");
}

static void *exec_next(void *round)
{
	execl("/proc/self/exe", "subjects", "churn", (char *)round, NULL);
	wrong("execl");
	return NULL;
}

/*
 * Threads, children and new images all the time: in each round some threads of malloc, sleeps and children that end, then
 * an exec, by the first thread or by another one. argv[2] counts the rounds.
 */
static void run_churn(unsigned round)
{
	const unsigned random = (round * 2654435761u) ^ (unsigned)getpid() * 40503u;
	char next[16];
	pthread_t t;
	int status;

	for (int i = 0; i < 3; i++)
		if (pthread_create(&t, NULL, allocate_forever, NULL))
			wrong("a thread");
	for (unsigned i = 0; i < 3; i++) {
		const struct timespec nap = { .tv_nsec = (random >> 3 * i) % 3000000u };

		if (nanosleep(&nap, NULL)) /* sleeps: a thread that is in a call */
			wrong("nanosleep");
		MARK(app_churned, "round=%u i=%u", round, i);
		const pid_t pid = fork();

		if (!pid)
			_exit(3);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
			wrong("a child");
	}
	snprintf(next, sizeof(next), "%u", round + 1);
	if (round % 2)
		exec_next(next);
	if (pthread_create(&t, NULL, exec_next, next))
		wrong("a thread");
	for (;;)
		allocate(round);
}

static void *allocate_now_and_then(void *arg)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (unsigned n = 0;; n++) {
		allocate(n);
		nanosleep(&nap, NULL); /* sleeps: a beat */
	}
	return arg;
}

/* Children that live in its memory for so many milliseconds, and another thread meanwhile; beside long ones it naps. */
static void run_vforks(unsigned ms)
{
	pthread_t t;
	int status;

	pthread_create(&t, NULL, ms < 1000 ? allocate_forever : allocate_now_and_then, NULL);
	for (unsigned i = 0;; i++) {
		pid_t pid = vfork();

		if (!pid) {
			usleep(ms * 1000); /* sleeps: its parent waits for so long; how long is no matter */
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			wrong("a vfork child");
		MARK(app_vforked, "i=%u", i);
	}
}

/* Sleeps with its stack pointer in a page that nobody brings in; ends at once where there is no such page. */
static void run_late_stack(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int u = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	long call = SYS_pause;

	reg.range.start = (unsigned long)page;
	reg.range.len = 4096;
	if (u < 0 || ioctl(u, UFFDIO_API, &api) || ioctl(u, UFFDIO_REGISTER, &reg))
		_exit(77);
	__asm__ volatile("mov %%rsp, %%r12\n\tmov %1, %%rsp\n\tsyscall\n\tmov %%r12, %%rsp"
			 : "+a"(call)
			 : "r"(page + 2048)
			 : "rcx", "r11", "r12", "memory");
	wrong("pause");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "malloc", run_malloc },   { "threads", run_threads },	  { "sleep", run_sleep },
		{ "epoll", run_epoll },	    { "read", run_read },	  { "spin", run_spin },
		{ "signals", run_signals }, { "headless", run_headless },
		{ "handler", run_handler }, { "stuck", run_stuck },
		{ "late_stack", run_late_stack },
	};
	static const struct {
		const char *name;
		void (*run)(unsigned rounds);
	} counted[] = {
		{ "marks", run_marks }, { "flood", run_flood }, { "paced", run_paced }, { "crowd", run_crowd }, { "turns", run_turns },
		{ "forks", run_forks }, { "execs", run_execs }, { "vforks", run_vforks },
		{ "churn", run_churn },
	};
	const unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	say_ready();
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			modes[i].run();
	for (size_t i = 0; argc > 1 && i < sizeof(counted) / sizeof(counted[0]); i++)
		if (!strcmp(argv[1], counted[i].name)) {
			counted[i].run(rounds);
			return 0;
		}
	return 2;
}
