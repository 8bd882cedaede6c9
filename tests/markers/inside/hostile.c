// SPDX-License-Identifier: LGPL-2.1-or-later
// An espy that writes garbage: random requests in all slots, random bytes over the whole shared area and ring, while threads pass
// marks. The program must neither crash nor hang, and must work with a sane espy afterwards.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "own_espy.h"
#include "espy/mark.h"
#include "tests/wait.h"

static int stop;
static unsigned long seen;

static void *hammer(void *arg)
{
	unsigned long n = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		MARK(hostile_event, "n=%lu s=%s", ++n, "some text");
		if (n % 64 == 0)
			usleep(50); /* sleeps: others come to run */
	}
	return NULL;
}

static void record(void *ctx, const struct espy_chunk *chunk, const struct espy_mark_record *r)
{
	seen++;
}

static unsigned int random_below(unsigned int n)
{
	return (unsigned int)rand() % n;
}

static void garbage(uint8_t *p, unsigned int size, unsigned int n)
{
	while (n--)
		p[random_below(size)] = (uint8_t)rand();
}

// A request that is nearly right: those reach further.
static void request(struct control *c, unsigned int i)
{
	struct espy_agent_slot *s =
		(void *)((uint8_t *)c->area + ESPY_AGENT_SLOT_OFF + i * ESPY_AGENT_SLOT_SZ);

	s->op = 1 + random_below(7);
	if (s->op == ESPY_AGENT_OPEN) {
		s->payload.open = (struct espy_agent_open){ .nchunks = random_below(200), .flags = random_below(8) };
		s->payload.open.chunk_sz = random_below(3) ? 0 : 1u << random_below(32);
	} else {
		memset(&s->payload.rule, 0, sizeof(s->payload.rule));
		s->payload.rule.id = random_below(40);
		strcpy(s->payload.rule.pattern, random_below(2) ? "hostile:*" : "*");
		s->payload.rule.npreds = random_below(4);
		strcpy(s->payload.rule.preds[0].arg, random_below(2) ? "n" : "s");
		s->payload.rule.preds[0].cmp = (uint8_t)random_below(10);
		s->payload.rule.preds[0].type = (uint8_t)random_below(6);
		s->payload.rule.preds[0].str_len = (uint16_t)random_below(70);
	}
	if (random_below(3) == 0)
		garbage((uint8_t *)s, sizeof(*s), 1 + random_below(20));
	s->asked = s->done + 1;
	__atomic_fetch_add(&c->area->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->area->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int child(pid_t pid)
{
	long rounds = scale("HOSTILE_ROUNDS", 4000);
	struct control c;
	int e = control_attach(&c, pid);

	CHECK(!e, "%s", strerror(-e));
	srand(11);
	// both kinds of chunks
	CHECK(!control_open(&c, &(struct espy_agent_open){ .nchunks = 64, .flags = ESPY_AGENT_SHARE }), "open");
	CHECK(control_on(&c, 1, "hostile:*", NULL, 0) == 1, "on");
	for (long i = 0; i < rounds; i++) {
		request(&c, random_below(ESPY_AGENT_SESSIONS));
		garbage((uint8_t *)c.ring, (unsigned int)c.ring_sz, 50);
		garbage((uint8_t *)c.ring, 8192, 20);
		if (i % 8 == 0)
			garbage((uint8_t *)c.area + 4096, ESPY_AGENT_AREA_SZ - 4096, 30);
		wait_moment_us(random_below(200)); /* sleeps: a moment of chance */
	}
	return 0;
}

static bool opens(struct control *c, int *e)
{
	*e = control_attach(c, getpid());
	CHECK(!*e, "%s", strerror(-*e));
	*e = control_open(c, &(struct espy_agent_open){ .nchunks = 64 });
	if (*e)
		control_detach(c);
	return !*e;
}

int main(void)
{
	pthread_t t[2];
	struct control c;
	int status, e;
	pid_t self_pid = getpid(), pid = fork();

	if (!pid)
		_exit(child(self_pid));
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, hammer, NULL);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0, "the hostile espy: %#x", status);
	CHECK(WAIT_UNTIL(opens(&c, &e)), "no session any more: %s", strerror(-e));
	CHECK(control_on(&c, 1, "hostile:*", NULL, 0) == 1, "on");
	CHECK(WAIT_UNTIL((control_read(&c, 0, record, NULL), seen >= 100)), "%lu events afterwards", seen);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	puts("a hostile espy does no harm");
	return 0;
}
