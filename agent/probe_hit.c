// SPDX-License-Identifier: LGPL-2.1-or-later
// A hit of a probe: on the event path, by its rules (event.c). A pointer of the program may lead nowhere, and a read of
// it must not fault here. So the kernel reads for us (process_vm_readv), but for the page of the stack that we have
// just written to.
#include "probe_inside.h"
#include "event_room.h"
#include "record/trigger.h"

#include <linux/prctl.h>
#include <sys/syscall.h>

#define PAGE 4096ull

struct thread probe_quiet;

struct iov {
	const void *base;
	uint64_t len;
};

// Copies as many bytes as are there up to the first page that cannot be read. Returns how many.
static uint64_t read_some(void *to, uint64_t at, uint64_t len)
{
	const uint64_t end = at + len, first = PAGE - at % PAGE;
	struct iov from[2] = { { (const void *)at, len }, { NULL, 0 } }, here = { to, len };
	uint64_t cnt = 1;
	long n;

	if (end < at || unlikely(__atomic_load_n(&live->confined, __ATOMIC_RELAXED)))
		return 0;
	if (first < len) {
		from[0].len = first;
		from[1] = (struct iov){ (const void *)(at + first), len - first };
		cnt = 2;
	}
	n = sys(SYS_process_vm_readv, live->on, (long)&here, 1, (long)from, (long)cnt, 0);
	return n > 0 ? (uint64_t)n : 0;
}

// regs: they stand on the program's stack, in a page that is surely there.
static int read_all(void *to, uint64_t at, uint32_t len, const uint64_t *regs)
{
	const uint64_t page = (uint64_t)regs & ~(PAGE - 1);

	if (likely(at >= page && at + len <= page + PAGE && at + len > at)) {
		switch (len) {
		case 1:
			*(uint8_t *)to = *(const volatile uint8_t *)at;
			return 1;
		case 2:
			*(uint16_t *)to = *(const volatile uint16_t *)at;
			return 1;
		case 4:
			*(uint32_t *)to = *(const volatile uint32_t *)at;
			return 1;
		case 8:
			*(uint64_t *)to = *(const volatile uint64_t *)at;
			return 1;
		default:
			break;
		}
	}
	return read_some(to, at, len) == len;
}

int probe_read(void *to, uint64_t at, uint32_t len)
{
	return read_some(to, at, len) == len;
}

static uint64_t sized(const struct espy_probe_fetch *f, uint64_t v)
{
	const uint32_t shift = (64 - 8u * f->size) & 63;

	return f->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

// Follows the way of a value: to it, or to the beginning of a text. Returns 0 if memory on it cannot be read.
static int follow(const struct espy_probe_fetch *f, uint64_t *v, const uint64_t *regs)
{
	const int number = f->what == ESPY_PROBE_NUMBER;

	for (uint32_t i = 0; i < f->way_cnt && i < ESPY_PROBE_WAY_MAX; i++) {
		const int last = i + 1u == f->way_cnt;
		const uint64_t at = *v + (uint64_t)(int64_t)f->way[i];

		*v = last && !number ? at : 0;
		if (last && !number)
			break;
		if (!read_all(v, at, last ? f->size : 8, regs))
			return 0;
	}
	if (number)
		*v = sized(f, *v);
	return 1;
}

struct hit {
	uint64_t values[ESPY_MARK_MAX_ARGS];
	uint32_t bad; // bit per value that could not be read
};

static void fetch(const struct consumer *c, const uint64_t *regs, const struct entered *e, struct hit *h)
{
	const struct espy_probe_plan *plan = c->plan;

	h->bad = 0;
	for (uint32_t i = 0; i < plan->fetch_cnt; i++) {
		const struct espy_probe_fetch *f = &plan->fetches[i];
		uint64_t v = f->src == ESPY_PROBE_REG ? regs[f->reg] : f->value;

		if (f->src == ESPY_PROBE_REG && f->reg == ESPY_REG_SP)
			v += c->pushed;
		else if (f->src == ESPY_PROBE_ENTRY_ARG)
			v = e->saved[f->reg];
		if ((f->src == ESPY_PROBE_ENTRY_ARG && !e->kept) || !follow(f, &v, regs)) {
			h->bad |= 1u << i;
			v = 0;
		}
		h->values[i] = v;
	}
}

// ---- conditions

// -1: the text cannot be read.
static int text_begins(const struct espy_probe_test *t, uint64_t at)
{
	uint8_t text[ESPY_PROBE_TEXT_MAX];
	const uint64_t n = read_some(text, at, sizeof(text));
	uint64_t len = 0, i = 0;

	while (len < n && text[len])
		len++;
	if (len == n && n < sizeof(text))
		return -1;
	while (i < t->text_len && i <= len && i < sizeof(text) && text[i] == t->text[i])
		i++;
	return i == t->text_len;
}

static int compared(const struct espy_probe_test *t, uint64_t v)
{
	const uint64_t sign = t->is_signed ? 1ull << 63 : 0, a = v ^ sign, b = (uint64_t)t->number ^ sign;

	switch (t->compare) {
	case ESPY_COMPARE_EQ:
		return a == b;
	case ESPY_COMPARE_LT:
		return a < b;
	case ESPY_COMPARE_LE:
		return a <= b;
	case ESPY_COMPARE_GT:
		return a > b;
	case ESPY_COMPARE_GE:
		return a >= b;
	case ESPY_COMPARE_ANY:
		return (v & (uint64_t)t->number) != 0;
	default: // ESPY_COMPARE_BITS
		return (v & t->mask) == (uint64_t)t->number;
	}
}

// Runs one test. Returns the next one.
static uint32_t run_test(const struct espy_probe_test *t, const struct hit *h)
{
	const uint32_t arg = t->arg % ESPY_MARK_MAX_ARGS;
	uint64_t v = h->values[arg];
	int holds;

	if (t->what == ESPY_PROBE_TEST_DURATION) // by another clock: espy makes this test
		return ESPY_PROBE_HOLDS;
	if (t->what == ESPY_PROBE_TEST_PID)
		v = (uint64_t)sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
	else if (t->what == ESPY_PROBE_TEST_TID)
		v = (uint64_t)sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	else if (h->bad >> arg & 1)
		return t->no;
	if (t->what == ESPY_PROBE_TEST_TEXT)
		holds = text_begins(t, v);
	else
		holds = compared(t, v);
	return holds < 0 ? t->no : holds != !!t->negated ? t->yes : t->no;
}

static int meets(const struct espy_probe_plan *plan, const struct hit *h)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < ESPY_PROBE_TESTS && at < plan->test_cnt; i++)
		at = run_test(&plan->tests[at], h);
	return at == ESPY_PROBE_HOLDS;
}

// ---- records

// Copies a text of at most max bytes to `to`, which has room for one more. Returns its length.
static uint32_t copy_text(uint8_t *to, uint64_t at, uint32_t max, uint32_t *status)
{
	const uint64_t n = read_some(to, at, max + 1u);
	uint32_t len = 0;

	while (len < n && to[len])
		len++;
	if (len == n && n <= max)
		*status = ESPY_ITEM_FAULT;
	else if (len > max)
		*status = ESPY_ITEM_TRUNCATED;
	return len > max ? max : len;
}

static uint32_t copy_bytes(uint8_t *to, uint64_t at, const struct espy_probe_fetch *f, const struct hit *h,
			   uint32_t *status)
{
	uint64_t wanted = f->max;
	uint32_t len;

	if (f->len_arg < ESPY_MARK_MAX_ARGS) {
		wanted = h->values[f->len_arg];
		if (h->bad >> f->len_arg & 1 || (int64_t)wanted < 0)
			wanted = 0;
	}
	len = wanted < f->max ? (uint32_t)wanted : f->max;
	if (wanted > f->max)
		*status = ESPY_ITEM_TRUNCATED;
	if (!len || read_some(to, at, len) == len)
		return len;
	*status = ESPY_ITEM_FAULT;
	return 0;
}

static uint32_t copy_comm(uint8_t *to)
{
	uint32_t len = 0;

	sys(SYS_prctl, PR_GET_NAME, (long)to, 0, 0, 0, 0);
	while (len < 15 && to[len])
		len++;
	return len;
}

// Puts text or bytes behind their head. Returns the words that they take.
static uint32_t put_memory(uint64_t *to, const struct espy_probe_fetch *f, const struct hit *h, uint32_t i)
{
	const uint64_t at = h->values[i];
	const int bad = h->bad >> i & 1;
	uint32_t status = ESPY_ITEM_OK, len = 0, words;

	if (bad)
		status = ESPY_ITEM_FAULT;
	else if (f->src == ESPY_PROBE_COMM)
		len = copy_comm((uint8_t *)(to + 1));
	else if (f->what == ESPY_PROBE_STRING)
		len = copy_text((uint8_t *)(to + 1), at, f->max, &status);
	else
		len = copy_bytes((uint8_t *)(to + 1), at, f, h, &status);
	if (status == ESPY_ITEM_FAULT && !bad) {
		to[1] = at;
		status = ESPY_ITEM_ADDRESS;
		len = 8;
	} else if (status == ESPY_ITEM_FAULT) {
		len = 0;
	}
	words = (len + 7) / 8;
	for (uint32_t k = len; k < 8 * words; k++)
		((uint8_t *)(to + 1))[k] = 0;
	to[0] = len | (uint64_t)status << 32;
	return 1 + words;
}

static __attribute__((noinline)) void record_all(struct thread *me, const struct consumer *c, const struct entered *e, struct hit *h)
{
	// A text is read with a byte more than may be kept, and padded.
	uint64_t words[(ESPY_AGENT_PROBE_ROOM + 16) / 8];
	uint32_t n = PROBE_HEAD(e), numbers = 0;

	for (uint32_t i = 0; i < c->plan->arg_cnt; i++) {
		const struct espy_probe_fetch *f = &c->plan->fetches[i];

		if (f->what != ESPY_PROBE_NUMBER) {
			n += put_memory(words + n, f, h, i);
			continue;
		}
		numbers |= 1u << i;
		words[n++] = h->values[i];
	}
	words[0] = h->bad & numbers;
	if (e)
		words[1] = e->time;
	event_block(me, c->hooks, words, 8 * n);
}

// e: of a return; NULL: the hit is none
static __attribute__((noinline)) void hit_any(struct thread *me, const struct consumer *c, const uint64_t *regs, const struct entered *e)
{
	uint64_t words[PROBE_HEAD_MAX + ESPY_MARK_MAX_ARGS];
	struct hit h;

	fetch(c, regs, e, &h);
	if (c->plan->test_cnt && !meets(c->plan, &h)) {
		leave(me);
		return;
	}
	if (c->plan->memory) {
		record_all(me, c, e, &h);
		return;
	}
	words[0] = h.bad & ((1u << c->plan->arg_cnt) - 1);
	if (e)
		words[1] = e->time;
	for (uint32_t i = 0; i < c->plan->arg_cnt; i++)
		words[PROBE_HEAD(e) + i] = h.values[i];
	event_numbers(me, c->hooks, words);
}

static inline __attribute__((always_inline)) void hit_one(struct thread *me, const struct consumer *c, const uint64_t *regs,
							  const struct entered *e)
{
	const struct espy_probe_plan *plan = c->plan;
	uint64_t words[PROBE_HEAD_MAX + PROBE_FAST_ARGS];

	me->depth++;
	barrier();
	if (unlikely(!c->fast)) {
		hit_any(me, c, regs, e);
		return;
	}
	words[0] = 0;
	if (e)
		words[1] = e->time;
	for (uint32_t i = 0; i < plan->arg_cnt; i++)
		words[PROBE_HEAD(e) + i] = regs[plan->fetches[i].reg];
	event_numbers(me, c->hooks, words);
}

// A thread without a place in the table.
void probe_lose_hit(const struct jump *j)
{
	const struct consumers *all;

	if (!__atomic_load_n(&live->on, __ATOMIC_ACQUIRE)) // before the jump is looked at: see helper() in start.c
		return;
	all = __atomic_load_n(&j->now, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; all && i < all->n; i++)
		__atomic_fetch_add(&all->v[i].hooks->wanted->ring->shared->lost_slot, 1, __ATOMIC_RELAXED);
}

int espy_agent_probe(const struct jump *j, uint64_t *regs)
{
	struct thread *me = probe_hitting(j);
	const struct consumers *all;
	int call = 0;

	if (unlikely(!me))
		return 0;
	me->depth++;
	barrier(); // as in event_of()
	all = __atomic_load_n(&j->now, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; all && i < all->n; i++)
		if (likely(!all->v[i].returns))
			hit_one(me, &all->v[i], regs, NULL);
	if (all && all->returns)
		call = probe_enter(me, j, all, regs);
	leave(me);
	return call;
}

// The function returns: the registers are those of its caller.
void probe_returned(struct thread *me, const struct jump *j, uint64_t *regs, const struct entered *e)
{
	const struct consumers *all = __atomic_load_n(&j->now, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; all && i < all->n; i++)
		if (all->v[i].returns)
			hit_one(me, &all->v[i], regs, e);
}
