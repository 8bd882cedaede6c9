// SPDX-License-Identifier: LGPL-2.1-or-later
// Sites that mark.h would not make: across a multiple of 8, of a cache line, of a page. Threads hammer them while they
// are switched on and off; one of them has SIGTRAP blocked, and the program has a handler of its own for it, which is
// not called.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"

// A page begins, and the site AT bytes behind it; nobody runs through what lies between.
#undef ESPY_MARK_SITE_
#define ESPY_MARK_SITE_ ESPY_MARK_NOTE_ \
	"jmp .Lespy_site%=;" \
	".p2align 12, 0xcc;" \
	".fill " ESPY_MARK_STR_(AT) ", 1, 0xcc;" \
	".Lespy_site%=: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00;" \
	".pushsection espy_sites,\"ao?\",@progbits,.Lespy_site%=;" \
	".balign 4;" \
	".long .Lespy_site%=-., %l[espy_on]-., \\espy_r-., 0;" \
	".popsection;"

#define MAX_THREADS 64
static struct {
	unsigned long evaluated, seen;
	char pad[48];
} threads[MAX_THREADS];

static unsigned long next(unsigned long t)
{
	return ++threads[t].evaluated;
}

#define PLACE(name)                                                                                                    \
	static __attribute__((noinline)) unsigned long name(unsigned long t, unsigned long a, unsigned long b)         \
	{                                                                                                              \
		unsigned long c = a * 3 + b;                                                                           \
		MARK(odd_##name, "t=%lu n=%lu c=%lu", t, next(t), ~threads[t].evaluated);                              \
		return c ^ a ^ b;                                                                                      \
	}

#define AT 4
PLACE(at4)
#undef AT
#define AT 5
PLACE(at5)
#undef AT
#define AT 14
PLACE(at14)
#undef AT
#define AT 31
PLACE(at31)
#undef AT
#define AT 60
PLACE(at60)
#undef AT
#define AT 61
PLACE(at61)
#undef AT
#define AT 62
PLACE(at62)
#undef AT
#define AT 63
PLACE(at63)
#undef AT
#define AT 4092
PLACE(at4092)
#undef AT
#define AT 4093
PLACE(at4093)
#undef AT
#define AT 4094
PLACE(at4094)
#undef AT
#define AT 4095
PLACE(at4095)
#undef AT
#define AT 64
PLACE(even)

#define PLACES 13
static unsigned long (*const places[PLACES])(unsigned long, unsigned long, unsigned long) = {
	at4, at5, at14, at31, at60, at61, at62, at63, at4092, at4093, at4094, at4095, even,
};

static int stop;
static volatile int traps;

static void on_trap(int sig)
{
	traps++;
}

static void round_of(unsigned long t)
{
	for (unsigned long i = 0; i < PLACES; i++)
		CHECK(places[i](t, i, t + i) == ((i * 3 + t + i) ^ i ^ (t + i)), "a register was changed");
}

static void *hammer(void *arg)
{
	unsigned long t = (unsigned long)arg;
	sigset_t trap;

	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	if (t == 0)
		pthread_sigmask(SIG_BLOCK, &trap, NULL);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		round_of(t);
	return NULL;
}

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	const uint64_t *a = (const uint64_t *)(r + 1);

	CHECK(a[0] < MAX_THREADS && a[1] == ~a[2], "wrong arguments %lx %lx %lx", a[0], a[1], a[2]);
	threads[a[0]].seen++;
}

static void *reader(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (!control_read(arg, 0, record, NULL))
			usleep(500); /* sleeps: until there is something to read */
	return NULL;
}

static const struct espy_agent_site *site_of(const struct control *c, const char *name)
{
	const struct espy_agent_site *s = (const void *)((const uint8_t *)c->area + ESPY_AGENT_SITES_OFF);

	for (uint32_t i = 0; i < c->area->nsites; i++)
		if (!strcmp(control_name(c, s[i].def), name))
			return &s[i];
	return NULL;
}

static void check_all(struct control *c, int on)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };
	const struct espy_agent_site *s = (const void *)((const uint8_t *)c->area + ESPY_AGENT_SITES_OFF);
	unsigned long before = threads[0].evaluated, crossing = 0;

	for (uint32_t i = 0; i < c->area->nsites; i++) {
		CHECK(s[i].state == (on ? ESPY_SITE_ON : ESPY_SITE_OFF), "site %u is in state %u", i, s[i].state);
		CHECK(on ? *(const uint8_t *)s[i].addr == 0xe9 : !memcmp((const void *)s[i].addr, nop, 5),
		      "wrong bytes at site %u", i);
		crossing += s[i].addr % 8 > 3;
	}
	CHECK(crossing == PLACES - 1, "%lu sites cross a multiple of 8", crossing);
	round_of(0);
	CHECK(threads[0].evaluated - before == (on ? PLACES : 0), "%lu events of a round",
	      threads[0].evaluated - before);
}

// Somebody's breakpoint there: refused, left alone, and switched when it is gone.
static void breakpoint(struct control *c)
{
	static const uint8_t int3 = 0xcc;
	const struct espy_agent_site *s = site_of(c, "odd_at62");
	int fd = open("/proc/self/mem", O_RDWR);
	uint8_t first = 0;

	CHECK(s && fd >= 0 && pread(fd, &first, 1, (off_t)s->addr) == 1 && first == 0x0f, "first byte %x", first);
	CHECK(pwrite(fd, &int3, 1, (off_t)s->addr) == 1, "a breakpoint");
	CHECK(control_on(c, 1, "odd:*", NULL, 0) == PLACES, "on");
	CHECK(control_slot(c)->ruled.refused == 1 && s->state == ESPY_SITE_FOREIGN, "refused %u, state %u",
	      control_slot(c)->ruled.refused, s->state);
	CHECK(*(const uint8_t *)s->addr == 0xcc, "the breakpoint is gone");
	CHECK(pwrite(fd, &first, 1, (off_t)s->addr) == 1, "away with it");
	CHECK(control_on(c, 1, "odd:*", NULL, 0) == PLACES, "on");
	CHECK(s->state == ESPY_SITE_ON, "state %u", s->state);
	CHECK(control_off(c, 0) == 1, "off");
	close(fd);
}

int main(void)
{
	long n = scale("UNALIGNED_THREADS", 8), toggles = scale("UNALIGNED_TOGGLES", 300);
	struct espy_agent_open o = { .nchunks = 1024 };
	struct sigaction sa = { .sa_handler = on_trap };
	unsigned long evaluated = 0, seen = 0, missing, took = 0;
	pthread_t ids[MAX_THREADS], reading;
	struct control c;
	int e = control_attach(&c, getpid());

	CHECK(!e, "%s", strerror(-e));
	CHECK(n > 0 && n <= MAX_THREADS, "%ld threads", n);
	sigaction(SIGTRAP, &sa, NULL);
	CHECK(!control_open(&c, &o), "open");
	CHECK(control_ask(&c, ESPY_AGENT_SCAN) > 0, "scan");
	check_all(&c, 0);
	breakpoint(&c);
	CHECK(control_on(&c, 1, "odd:*", NULL, 0) == PLACES && control_slot(&c)->ruled.refused == 0, "on");
	check_all(&c, 1);
	CHECK(control_off(&c, 0) == 1, "off");
	for (long i = 0; i < n; i++)
		CHECK(!pthread_create(&ids[i], NULL, hammer, (void *)i), "thread %ld", i);
	pthread_create(&reading, NULL, reader, &c);
	for (long i = 0; i < toggles; i++) {
		const char *pattern = i % 3 == 0 ? "odd:*" : i % 3 == 1 ? "odd:at6*" : "odd:at409*";

		CHECK(control_on(&c, 1, pattern, NULL, 0) > 0 && control_slot(&c)->ruled.refused == 0, "on");
		took += control_slot(&c)->took_ns;
		CHECK(control_off(&c, 0) == 1, "off");
		took += control_slot(&c)->took_ns;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (long i = 0; i < n; i++)
		pthread_join(ids[i], NULL);
	pthread_join(reading, NULL);
	check_all(&c, 0);
	control_read(&c, 0, record, NULL);
	for (long i = 0; i < n; i++) {
		evaluated += threads[i].evaluated;
		seen += threads[i].seen;
	}
	missing = evaluated - seen - control_lost(&c);
	printf("%ld threads, %ld times on and off (%lu us each), %lu events: %lu seen, %lu lost, %lu under way when "
	       "switched "
	       "off\n",
	       n, toggles, took / 2000 / (unsigned long)toggles, evaluated, seen, control_lost(&c), missing);
	CHECK(seen > 100, "too few events to tell");
	CHECK(seen + control_lost(&c) <= evaluated && missing <= (unsigned long)(n * toggles), "events are missing");
	CHECK(!traps, "%d traps", traps);
	return 0;
}
