// SPDX-License-Identifier: LGPL-2.1-or-later
// The event path. It runs in the program's threads, anywhere: in signal handlers, in a vfork child, inside malloc. So
// it calls nothing outside the agent, takes no lock, uses general registers only (see meson.build), and at SIGKILL
// leaves at most one torn record behind. Shared memory is espy's to write, too: what is read of it never is an address.
#include "inside.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

__thread struct thread *self __attribute__((tls_model("initial-exec"), visibility("hidden")));
struct live *live;

uint64_t event_monotonic(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void lose(struct thread *me, const struct ring *ring, __u64 *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	me->lost[ring->slot]++;
}

// Room for a record of at most half a chunk, in the thread's own. NULL: there is none. The time is read between finding
// the place and taking it, so that times rise within a chunk.
static inline __attribute__((always_inline)) struct espy_mark_record *
reserve(struct thread *me, const struct ring *ring, uint32_t size, uint64_t *time)
{
	uint64_t *place = &me->cur[ring->slot];

	for (;;) {
		uint64_t cur = __atomic_load_n(place, __ATOMIC_RELAXED), t = *time;

		// no chunk: head 0, which wraps to above any limit
		if (unlikely(CUR_HEAD(cur) - ESPY_CHUNK_HEAD > ring->chunk_sz - ESPY_CHUNK_HEAD - size)) {
			if (share_wanted(me, ring) || !chunk_next(me, ring, cur))
				return NULL;
			continue;
		}
		if (!t)
			t = read_time();
		if (likely(replace_local(place, cur, cur + size))) {
			struct espy_mark_record *r = (void *)(chunk_at(ring, CUR_CHUNK(cur)) + CUR_HEAD(cur));

			*(volatile uint32_t *)&r->size_busy = size | ESPY_RECORD_BUSY;
			r->time = *time = t;
			return r;
		}
	}
}

// Length of a string of at most max bytes. Eight bytes are read at once where they do not cross into the next page:
// what is behind the end of the string is never looked at for more than that.
static inline uint32_t string_len(const char *s, uint32_t max)
{
	uint32_t n = 0;

	while (n < max) {
		uint64_t v, zero;

		if (unlikely(((uintptr_t)(s + n) & 4095) > 4088)) {
			if (!s[n])
				return n;
			n++;
			continue;
		}
		v = *(const uint64_t *)(s + n);
		zero = (v - 0x0101010101010101ull) & ~v & 0x8080808080808080ull;
		if (zero) {
			n += (uint32_t)__builtin_ctzll(zero) / 8;
			return n < max ? n : max;
		}
		n += 8;
	}
	return max;
}

// The rest of the last word is already 0: the chunk was zeroed.
static inline void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t len)
{
	uint32_t i = 0;

	for (; i + 8 <= len; i += 8)
		*(uint64_t *)(to + i) = *(const uint64_t *)(from + i);
	for (; i < len; i++) {
		to[i] = from[i];
		barrier(); // no memcpy is to be made of this
	}
}

static inline void copy_words(uint64_t *to, const uint64_t *from, uint32_t n)
{
	for (; n >= 2; n -= 2, to += 2, from += 2) {
		uint64_t a = from[0], b = from[1];

		to[0] = a;
		to[1] = b;
	}
	if (n)
		*to = *from;
}

struct span {
	uint32_t len, status;
};

// How much of them `*` or a precision asks for.
static uint32_t asked_len(const struct arg *a, const uint64_t *words)
{
	int64_t asked;

	if (a->len_word == ESPY_FORMAT_NONE)
		return a->precision;
	asked = (int64_t)words[a->len_word];
	if (asked < 0)
		return a->copy == COPY_BYTES ? 0 : ~0u;
	return asked > UINT32_MAX ? UINT32_MAX : (uint32_t)asked;
}

// What of a string or of bytes goes into the record.
static inline struct span measure(const struct arg *a, const uint64_t *words, uint32_t max)
{
	const char *s = (const char *)words[a->word];
	struct span span = { 0, ESPY_ITEM_OK };
	uint32_t limit = ~0u, n;

	if (unlikely((uintptr_t)s < 4096)) {
		span.status = ESPY_ITEM_FAULT;
		return span;
	}
	if (a->has_len)
		limit = asked_len(a, words);
	n = limit < max ? limit : max;
	span.len = a->copy == COPY_STRING ? string_len(s, n) : n;
	if (span.len == max && limit > max && (a->copy == COPY_BYTES || s[max]))
		span.status = ESPY_ITEM_TRUNCATED;
	return span;
}

static inline uint64_t narrowed(const struct arg *a, uint64_t v)
{
	v <<= a->shift;
	return a->copy == COPY_SIGNED ? (uint64_t)((int64_t)v >> a->shift) : v >> a->shift;
}

// The size of the record. spans: of those arguments that have one.
static uint32_t measure_all(const struct hooks *h, const uint64_t *words, uint32_t max, struct span *spans)
{
	uint32_t size = sizeof(struct espy_mark_record);

	for (uint32_t i = 0; i < h->nargs; i++) {
		size += 8;
		if (h->args[i].copy >= COPY_STRING) {
			spans[i] = measure(&h->args[i], words, max);
			size += (spans[i].len + 7) & ~7u;
		}
	}
	return size;
}

static inline uint64_t value_of(const struct arg *a, const uint64_t *words)
{
	return a->copy == COPY_WORD ? words[a->word] : narrowed(a, words[a->word]);
}

static void write_args(const struct hooks *h, const uint64_t *words, const struct span *spans, uint8_t *p)
{
	for (uint32_t i = 0; i < h->nargs; i++) {
		const struct arg *a = &h->args[i];

		if (a->copy >= COPY_STRING) {
			*(struct span *)p = spans[i];
			copy_bytes(p + 8, (const uint8_t *)words[a->word], spans[i].len);
			p += 8 + ((spans[i].len + 7) & ~7u);
		} else {
			*(uint64_t *)p = value_of(a, words);
			p += 8;
		}
	}
}

// The same into a shared chunk. There a record is begun anew if it is interrupted, so first it is only described.
static __attribute__((noinline)) void share_any(struct thread *me, const struct hooks *h, const struct ring *ring,
						const uint64_t *words, uint64_t *time)
{
	struct piece pieces[2 * ESPY_FORMAT_ARGS];
	struct span spans[ESPY_FORMAT_ARGS];
	uint64_t values[ESPY_FORMAT_ARGS];
	uint32_t size = measure_all(h, words, ring->string_max, spans), n = 0;

	if (size > ring->chunk_sz / 2) {
		lose(me, ring, &ring->shared->lost_big);
		return;
	}
	for (uint32_t i = 0; i < h->nargs; i++) {
		const struct arg *a = &h->args[i];

		if (a->copy >= COPY_STRING) {
			pieces[n++] = (struct piece){ &spans[i], 8 };
			pieces[n++] = (struct piece){ (const void *)words[a->word], spans[i].len };
		} else {
			values[i] = value_of(a, words);
			pieces[n++] = (struct piece){ &values[i], 8 };
		}
	}
	share_write(me, ring, h->def, size, pieces, n, time);
}

static __attribute__((noinline)) void share_simple(struct thread *me, const struct hooks *h, const struct ring *ring,
						   const uint64_t *words, uint64_t *time)
{
	const struct piece all = { words, 8u * h->nargs };

	share_write(me, ring, h->def, h->flat_sz, &all, 1, time);
}

static inline void commit(struct espy_mark_record *r, uint32_t def, uint32_t size)
{
	r->def = def;
	__atomic_store_n(&r->size_busy, size, __ATOMIC_RELEASE);
}

#define COMPARE(cmp, a, b)                                                                                             \
	((cmp) == ESPY_CMP_EQ	? (a) == (b)                                                                           \
	 : (cmp) == ESPY_CMP_NE ? (a) != (b)                                                                           \
	 : (cmp) == ESPY_CMP_LT ? (a) < (b)                                                                            \
	 : (cmp) == ESPY_CMP_LE ? (a) <= (b)                                                                           \
	 : (cmp) == ESPY_CMP_GT ? (a) > (b)                                                                            \
				: (a) >= (b))

// A double as an integer that is ordered alike; NaN has been left out by the caller.
static int64_t ordered(uint64_t bits)
{
	return (int64_t)bits < 0 ? (int64_t)(0x8000000000000000ull - bits) : (int64_t)bits;
}

static int pass_string(const struct arg *a, const struct pred *p, const uint64_t *words)
{
	const char *s = (const char *)words[a->word];
	// one byte more than the constant tells whether it goes on
	struct span span = measure(a, words, p->str_len + 1u);
	int equal = span.status != ESPY_ITEM_FAULT && span.len >= p->str_len;

	for (uint32_t i = 0; equal && i < p->str_len; i++)
		equal = s[i] == p->str[i];
	if (p->cmp == ESPY_CMP_PREFIX)
		return equal;
	equal = equal && span.len == p->str_len;
	return p->cmp == ESPY_CMP_EQ ? equal : !equal;
}

static int pass_pred(const struct hooks *h, const struct pred *p, const uint64_t *words)
{
	const struct arg *a = &h->args[p->arg];
	uint64_t v;

	if (a->copy >= COPY_STRING)
		return pass_string(a, p, words);
	v = value_of(a, words);
	if (p->type == ESPY_CONST_DOUBLE) {
		if ((v << 1) > 0xffe0000000000000ull) // NaN
			return p->cmp == ESPY_CMP_NE;
		return COMPARE(p->cmp, ordered(v), ordered(p->u));
	}
	if (p->cmp == ESPY_CMP_AND)
		return (v & p->u) != 0;
	if (p->type == ESPY_CONST_INT)
		return COMPARE(p->cmp, (int64_t)v, p->i);
	return COMPARE(p->cmp, v, p->u);
}

static __attribute__((noinline)) int pass(const struct hooks *h, const struct wanted *w, const uint64_t *words)
{
	for (uint32_t i = 0; i < w->nrules; i++) {
		uint32_t j = 0;

		while (j < w->rules[i].npreds && pass_pred(h, &w->rules[i].preds[j], words))
			j++;
		if (j == w->rules[i].npreds)
			return 1;
	}
	return 0;
}

static __attribute__((noinline)) void lose_all(const struct hooks *h, const uint64_t *words)
{
	for (uint32_t i = 0; i < h->nwanted; i++)
		if (!h->wanted[i].nrules || pass(h, &h->wanted[i], words))
			__atomic_fetch_add(&h->wanted[i].ring->shared->lost_slot, 1, __ATOMIC_RELAXED);
}

// A place in the table for this thread. NULL: there is none, or this is a child in which no agent runs.
static __attribute__((noinline)) struct thread *claim(void)
{
	uint32_t tid, first;

	if (!__atomic_load_n(&live->on, __ATOMIC_ACQUIRE))
		return NULL;
	tid = (uint32_t)sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
	// A vfork child runs on its parent's thread pointer, so the place will be the parent's: it must not be free
	// again when the child has gone.
	if ((uint32_t)sys(SYS_getpid, 0, 0, 0, 0, 0, 0) != live->on)
		tid = live->on;
	first = __atomic_fetch_add(&live->next_thread, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct thread *t = &live->threads[(first + i) % THREADS];
		uint32_t none = 0;

		if (t->tid || !__atomic_compare_exchange_n(&t->tid, &none, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		barrier();
		if (self && self->tid == tid) { // a signal handler was here first
			__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
			return self;
		}
		self = t;
		return t;
	}
	return NULL;
}

static void call_back(const void *hooks, const void *args)
{
	const struct hooks *h = hooks;
	int saved = errno;

	for (uint32_t i = 0; i < h->ncalls; i++)
		h->calls[i].call(h->calls[i].data, args);
	errno = saved;
}

// From outside seq tells that a thread that seems to be always in here was out in between; not when a signal handler in
// the middle of it leaves.
static inline void leave(struct thread *me)
{
	barrier();
	if (--me->depth == 0)
		me->seq++;
}

// Numbers only, no filter: the way that is worth nanoseconds.
static inline __attribute__((always_inline)) void event_simple(struct thread *me, const struct hooks *h,
							       const uint64_t *words)
{
	uint32_t size = h->flat_sz;
	uint64_t time = 0;

	for (const struct wanted *w = h->wanted, *end = w + h->nwanted; w < end; w++) {
		struct espy_mark_record *r = reserve(me, w->ring, size, &time);

		if (unlikely(!r)) {
			if (share_wanted(me, w->ring))
				share_simple(me, h, w->ring, words, &time);
			else
				lose(me, w->ring, &w->ring->shared->lost_full);
			continue;
		}
		copy_words((uint64_t *)(r + 1), words, h->nargs);
		commit(r, h->def, size);
	}
}

static __attribute__((noinline)) void event_any(struct thread *me, const struct hooks *h, const uint64_t *words)
{
	const struct espy_mark_record *first = NULL;
	struct span spans[ESPY_FORMAT_ARGS];
	uint32_t size = 0, first_max = 0;
	uint64_t time = 0;

	for (const struct wanted *w = h->wanted, *end = w + h->nwanted; w < end; w++) {
		const struct ring *ring = w->ring;
		int alike = first && first_max == ring->string_max; // laid out alike: once is enough
		struct espy_mark_record *r;

		if (w->nrules && !pass(h, w, words))
			continue;
		if (unlikely(share_wanted(me, ring))) {
			share_any(me, h, ring, words, &time);
			continue;
		}
		if (!alike)
			size = measure_all(h, words, ring->string_max, spans);
		if (unlikely(size > ring->chunk_sz / 2)) {
			lose(me, ring, &ring->shared->lost_big);
			continue;
		}
		r = reserve(me, ring, size, &time);
		if (unlikely(!r)) {
			lose(me, ring, &ring->shared->lost_full);
			continue;
		}
		if (alike) {
			copy_words((uint64_t *)(r + 1), (const uint64_t *)(first + 1), size / 8 - 2);
		} else {
			write_args(h, words, spans, (uint8_t *)(r + 1));
			first = r;
			first_max = ring->string_max;
		}
		commit(r, h->def, size);
	}
}

static __attribute__((noinline)) void event_calls(struct thread *me, const struct hooks *h, const uint64_t *words)
{
	me->calls++;
	leave(me);
	espy_agent_keep_fpu(call_back, h, words);
	barrier();
	if (--me->calls == 0)
		me->calls_seq++;
}

void espy_agent_event(const uint64_t *words, struct espy_mark *mark)
{
	struct thread *me = self;
	const struct hooks *h;

	if (unlikely(!me || !me->tid)) {
		me = claim();
		if (!me) {
			h = (const void *)__atomic_load_n(&mark->state, __ATOMIC_ACQUIRE);
			if (h && live->on)
				lose_all(h, words);
			return;
		}
	}
	me->depth++;
	barrier(); // the helper's membarrier does the rest: it publishes, then looks whether we are in here
	h = (const void *)__atomic_load_n(&mark->state, __ATOMIC_ACQUIRE);
	if (likely(h)) {
		if (likely(h->simple))
			event_simple(me, h, words);
		else
			event_any(me, h, words);
		if (unlikely(h->ncalls) && !me->calls) { // a callback's own marks do not call back
			event_calls(me, h, words);
			return;
		}
	}
	leave(me);
}
