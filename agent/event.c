// SPDX-License-Identifier: LGPL-2.1-or-later
// The event path. It runs in the program's threads, anywhere: in signal handlers, in a vfork child, inside malloc. So
// it calls nothing outside the agent, takes no lock, uses general registers only (see meson.build), and at SIGKILL
// leaves at most one torn record behind. Shared memory is espy's to write, too: what is read of it never is an address.
#include "inside.h"
#include "event_room.h"
#include "event_text.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

__thread struct thread *self __attribute__((tls_model("initial-exec"), visibility("hidden")));
struct live *live;

// Not inline: the stack may be misaligned for libc (trampoline.S), so it is aligned here.
__attribute__((noinline, force_align_arg_pointer)) uint64_t event_monotonic(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// Returns the number of bytes that `*` or a precision asks for.
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

// Returns the part of a string or of bytes that goes into the record, as a span (event_text.h).
static inline uint64_t measure(const struct arg *a, const uint64_t *words, uint32_t max)
{
	const char *s = (const char *)words[a->word];
	uint32_t limit = ~0u, n;

	if (a->copy == COPY_STRING && !a->has_len)
		return text_span(s, max);
	if (unlikely((uintptr_t)s < TEXT_PAGE))
		return SPAN(0, ESPY_ITEM_FAULT);
	if (a->has_len)
		limit = asked_len(a, words);
	n = limit < max ? limit : max;
	if (a->copy == COPY_STRING)
		n = text_len_from(s, 0, n);
	if (n == max && limit > max && (a->copy == COPY_BYTES || s[max]))
		return SPAN(n, ESPY_ITEM_TRUNCATED);
	return n;
}

static inline uint64_t narrowed(const struct arg *a, uint64_t v)
{
	v <<= a->shift;
	return a->copy == COPY_SIGNED ? (uint64_t)((int64_t)v >> a->shift) : v >> a->shift;
}

static inline uint64_t value_of(const struct arg *a, const uint64_t *words)
{
	return a->copy == COPY_WORD ? words[a->word] : narrowed(a, words[a->word]);
}

// The size of the record. spans: of those arguments that have one.
static uint32_t measure_all(const struct hooks *h, const uint64_t *words, uint32_t max, uint64_t *spans)
{
	uint32_t size = h->flat_sz;

	for (uint32_t i = 0; i < h->nargs; i++) {
		if (h->args[i].copy < COPY_STRING)
			continue;
		spans[i] = measure(&h->args[i], words, max);
		size += SPAN_PAD(spans[i]);
	}
	return size;
}

static inline void write_args(const struct hooks *h, const uint64_t *words, const uint64_t *spans, uint64_t *p)
{
	for (uint32_t i = 0; i < h->nargs; i++) {
		const struct arg *a = &h->args[i];

		if (a->copy < COPY_STRING) {
			*p++ = value_of(a, words);
			continue;
		}
		*p++ = spans[i];
		text_copy(p, (const char *)words[a->word], SPAN_LEN(spans[i]));
		p += SPAN_PAD(spans[i]) / 8;
	}
}

// The same into a shared chunk. There a record is begun anew if it is interrupted, so first it is only described.
static __attribute__((noinline)) void share_any(struct thread *me, const struct hooks *h, const struct ring *ring,
						const uint64_t *words, uint64_t *time)
{
	struct piece pieces[2 * ESPY_FORMAT_ARGS];
	uint64_t spans[ESPY_FORMAT_ARGS];
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
			pieces[n++] = (struct piece){ (const void *)words[a->word], SPAN_LEN(spans[i]) };
		} else {
			values[i] = value_of(a, words);
			pieces[n++] = (struct piece){ &values[i], 8 };
		}
	}
	share_write(me, ring, h->def, size, pieces, n, time);
}

// One whole string: never half a chunk (agent_sessions.c limits it to an eighth).
static __attribute__((noinline)) void share_text(struct thread *me, const struct hooks *h, const struct ring *ring,
						 const uint64_t *words, uint64_t *time)
{
	const uint64_t *string = words + h->string_off / 8, *end = words + h->nargs;
	uint64_t span = text_span((const char *)*string, ring->string_max);
	struct piece pieces[4] = { { words, (uint64_t)(string - words) * 8 },
				   { &span, 8 },
				   { (const char *)*string, SPAN_LEN(span) },
				   { string + 1, (uint64_t)(end - string - 1) * 8 } };

	share_write(me, ring, h->def, h->flat_sz + SPAN_PAD(span), pieces, pieces[3].len ? 4 : 3, time);
}

static __attribute__((noinline)) void share_words(struct thread *me, const struct hooks *h, const struct ring *ring,
						  const uint64_t *words, uint64_t *time)
{
	const struct piece all = { words, 8u * h->nargs };

	share_write(me, ring, h->def, h->flat_sz, &all, 1, time);
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
	uint64_t span = measure(a, words, p->str_len + 1u);
	int equal = SPAN_LEN(span) >= p->str_len;

	if (span == SPAN(0, ESPY_ITEM_FAULT))
		return 0; // what is missing fails each test, also !=
	for (uint32_t i = 0; equal && i < p->str_len; i++)
		equal = s[i] == p->str[i];
	if (p->cmp == ESPY_CMP_PREFIX)
		return equal;
	equal = equal && SPAN_LEN(span) == p->str_len;
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

// NULL also in a child in which no agent runs.
struct thread *event_claim(void)
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

static __attribute__((noinline)) void event_calls(struct thread *me, const struct hooks *h, const uint64_t *words)
{
	me->calls++;
	leave(me);
	espy_agent_keep_fpu(call_back, h, words);
	barrier();
	if (--me->calls == 0)
		me->calls_seq++;
}

static inline void finish(struct thread *me, const struct hooks *h, const uint64_t *words)
{
	if (unlikely(h->ncalls) && !me->calls) // a callback's own marks do not call back
		event_calls(me, h, words);
	else
		leave(me);
}

// Whatever the arguments, the sessions and the rings are, from one session on. time: that of the event, 0: none yet.
static __attribute__((noinline)) void event_any(struct thread *me, const struct hooks *h, const uint64_t *words,
						const struct wanted *w, uint64_t time)
{
	uint64_t spans[ESPY_FORMAT_ARGS];
	uint32_t size = h->flat_sz, max = 0;

	for (; w->ring; w++) {
		const struct ring *ring = w->ring;
		struct espy_mark_record *r;

		if (w->nrules && !pass(h, w, words))
			continue;
		if (unlikely(share_wanted(me, ring))) {
			if (h->args_layout == LAYOUT_WORDS)
				share_words(me, h, ring, words, &time);
			else if (h->args_layout == LAYOUT_TEXT)
				share_text(me, h, ring, words, &time);
			else
				share_any(me, h, ring, words, &time);
			continue;
		}
		if (h->args_layout != LAYOUT_WORDS && max != ring->string_max) { // laid out alike: once is enough
			max = ring->string_max;
			size = measure_all(h, words, max, spans);
		}
		if (unlikely(size > ring->chunk_sz / 2)) {
			lose(me, ring, &ring->shared->lost_big);
			continue;
		}
		r = reserve(me, w, size, w->room - (size - h->flat_sz), &time);
		if (unlikely(!r)) {
			lose(me, ring, &ring->shared->lost_full);
			continue;
		}
		begin(r, (uint64_t)h->def << 32 | size, time);
		write_args(h, words, spans, (uint64_t *)(r + 1));
		commit(r, size);
	}
	finish(me, h, words);
}

// Numbers only, no filter: the way that is worth nanoseconds. It needs no register that it would have to save: barriers
// keep the compiler from holding values in others that are at hand in memory. event_any() does what this function
// leaves.
static inline __attribute__((always_inline)) int write_words(struct thread *me, const struct hooks *h,
							     const uint64_t *words, const struct wanted *w,
							     enum clock clock, uint64_t *time)
{
	struct espy_mark_record *r;

	if (unlikely(!try_reserve(me, w, h->flat_sz, w->room, clock, time, &r)))
		return 0;
	begin(r, h->size_def, *time);
	barrier();
	copy_pairs(r, (const uint8_t *)words - sizeof(*r), sizeof(*r), h->flat_sz);
	barrier();
	commit(r, h->flat_sz);
	return 1;
}

static inline __attribute__((always_inline)) void event_words(struct thread *me, const struct hooks *h,
							      const uint64_t *words)
{
	uint64_t time = 0;

	if (unlikely(!write_words(me, h, words, h->wanted, CLOCK_TSC, &time)))
		event_any(me, h, words, h->wanted, 0);
	else
		finish(me, h, words);
}

// For several sessions: the first two are written at once.
static __attribute__((noinline)) void event_words_several(struct thread *me, const struct hooks *h,
							  const uint64_t *words)
{
	const struct wanted *w = h->wanted;
	struct espy_mark_record *r, *s;
	uint64_t time = 0;

	if (unlikely(!try_reserve(me, w, h->flat_sz, w->room, CLOCK_TSC, &time, &r))) {
		event_any(me, h, words, w, 0);
		return;
	}
	begin(r, h->size_def, time);
	w++;
	if (unlikely(!try_reserve(me, w, h->flat_sz, w->room, CLOCK_KNOWN, &time, &s))) {
		copy_pairs(r, (const uint8_t *)words - sizeof(*r), sizeof(*r), h->flat_sz);
		commit(r, h->flat_sz);
		event_any(me, h, words, w, time);
		return;
	}
	begin(s, h->size_def, time);
	barrier();
	for (uint64_t i = sizeof(*r), size = h->flat_sz; i < size; i += 8) {
		uint64_t word = *(const uint64_t *)((const uint8_t *)words - sizeof(*r) + i);

		*(uint64_t *)((uint8_t *)r + i) = word;
		*(uint64_t *)((uint8_t *)s + i) = word;
	}
	barrier();
	commit(r, h->flat_sz);
	commit(s, h->flat_sz);
	while ((++w)->ring)
		if (unlikely(!write_words(me, h, words, w, CLOCK_KNOWN, &time))) {
			event_any(me, h, words, w, time);
			return;
		}
	finish(me, h, words);
}

// The same with one whole string. It is measured once, and copied for each session: to copy the first one's record
// would be to trust in memory that espy may write.
static inline __attribute__((always_inline)) int write_text(struct thread *me, const struct hooks *h,
							    const uint64_t *words, const struct wanted *w,
							    uint64_t span, enum clock clock, uint64_t *time)
{
	uint32_t pad = SPAN_PAD(span);
	uint64_t before = h->string_off;
	struct espy_mark_record *r;
	uint8_t *to;

	if (unlikely(!try_reserve(me, w, h->flat_sz + pad, w->room - pad, clock, time, &r)))
		return 0;
	begin(r, h->size_def + pad, *time);
	to = (uint8_t *)(r + 1);
	copy_words(to, words, 0, before);
	*(uint64_t *)(to + before) = span;
	text_copy((uint64_t *)(to + before + 8), *(const char **)((const uint8_t *)words + before), SPAN_LEN(span));
	copy_words(to + pad, words, before + 8, h->flat_sz - sizeof(*r));
	barrier();
	commit(r, h->flat_sz + pad);
	return 1;
}

static __attribute__((noinline)) void event_text_more(struct thread *me, const struct hooks *h, const uint64_t *words,
						      const struct wanted *w, uint64_t span, uint64_t time)
{
	for (; w->ring; w++)
		if (unlikely(w->string_max != h->wanted->string_max ||
			     !write_text(me, h, words, w, span, CLOCK_KNOWN, &time))) {
			event_any(me, h, words, w, time);
			return;
		}
	finish(me, h, words);
}

static __attribute__((noinline)) void event_text(struct thread *me, const struct hooks *h, const uint64_t *words)
{
	const struct wanted *w = h->wanted;
	uint64_t span, time = 0;

	// shared chunks are for event_any
	if (unlikely(!CUR_OFF(*(const uint64_t *)((const uint8_t *)me + w->cur_off)))) {
		event_any(me, h, words, w, 0);
		return;
	}
	span = text_span(*(const char **)((const uint8_t *)words + h->string_off), w->string_max);
	if (unlikely(!write_text(me, h, words, w, span, CLOCK_TSC, &time)))
		event_any(me, h, words, w, 0);
	else if (h->more)
		event_text_more(me, h, words, w + 1, span, time);
	else
		leave(me);
}

static inline __attribute__((always_inline)) void record(struct thread *me, const struct hooks *h,
							 const uint64_t *words)
{
	if (likely(h->layout == LAYOUT_WORDS))
		event_words(me, h, words);
	else if (h->layout == LAYOUT_WORDS_SEVERAL)
		event_words_several(me, h, words);
	else if (h->layout == LAYOUT_TEXT)
		event_text(me, h, words);
	else
		event_any(me, h, words, h->wanted, 0);
}

// In a thread that is known.
static inline __attribute__((always_inline)) void event_of(struct thread *me, const uint64_t *words,
							   struct espy_mark *mark)
{
	const struct hooks *h;

	me->depth++;
	barrier(); // the helper's membarrier does the rest: it publishes, then looks whether we are in here
	h = (const void *)__atomic_load_n(&mark->state, __ATOMIC_ACQUIRE);
	if (unlikely(!h))
		leave(me);
	else
		record(me, h, words);
}

// A probe's numbers. The thread leaves what it has entered for this record.
void event_numbers(struct thread *me, const struct hooks *h, const uint64_t *words)
{
	if (likely(h->layout == LAYOUT_WORDS))
		event_words(me, h, words);
	else
		event_any(me, h, words, h->wanted, 0);
}

// The same of words that are laid out already: `size` bytes of arguments, for the only session.
void event_block(struct thread *me, const struct hooks *h, const uint64_t *words, uint32_t size)
{
	const struct ring *ring = h->wanted->ring;
	const uint32_t whole = (uint32_t)sizeof(struct espy_mark_record) + size;
	const struct piece all = { words, size };
	struct espy_mark_record *r;
	uint64_t time = 0;

	if (unlikely(whole > ring->chunk_sz / 2)) {
		lose(me, ring, &ring->shared->lost_big);
	} else if (unlikely(share_wanted(me, ring))) {
		share_write(me, ring, h->def, whole, &all, 1, &time);
	} else if (unlikely(!(r = reserve(me, h->wanted, whole, ring->limit - whole, &time)))) {
		lose(me, ring, &ring->shared->lost_full);
	} else {
		begin(r, (uint64_t)h->def << 32 | whole, time);
		copy_words(r + 1, words, 0, size);
		commit(r, whole);
	}
	leave(me);
}

static __attribute__((noinline)) void event_first(const uint64_t *words, struct espy_mark *mark)
{
	struct thread *me = event_claim();
	const struct hooks *h;

	if (me) {
		event_of(me, words, mark);
		return;
	}
	if (!__atomic_load_n(&live->on, __ATOMIC_ACQUIRE)) // before the mark is looked at: see helper() in start.c
		return;
	h = (const void *)__atomic_load_n(&mark->state, __ATOMIC_ACQUIRE);
	if (h)
		lose_all(h, words);
}

void espy_agent_event(const uint64_t *words, struct espy_mark *mark)
{
	struct thread *me = self;

	if (likely(me && me->tid))
		event_of(me, words, mark);
	else
		event_first(words, mark);
}
