// SPDX-License-Identifier: LGPL-2.1-or-later
// Returns of probed functions: a stub (return_stubs.S) calls the function, or its address is exchanged for the return
// address. The stub's frame keeps the true one. On the event path, by its rules (event.c).
#include "probe_inside.h"
#include "event_room.h"

#include <stddef.h>
#include <sys/syscall.h>

// As return_stubs.S has them.
#define RETURNS 8192u
#define STUB_SZ 32u
#define STUB_CALL_SZ 7u // of a stub's first instruction: its call of the function

// A call that is not over.
struct frame {
	uint64_t addr;	// the true return address
	uint64_t body;	// for the stub: what the jump has displaced; 0: it makes no call
	uint32_t owner; // tid; 0: free
	uint32_t next;	// of the free ones, from 1 on
	uint64_t sp;	// where the return address stands
	const struct jump *jump;
	struct entered entered;
} __attribute__((aligned(64))); // without arguments it takes one line of the cache
_Static_assert(sizeof(struct frame) == 128 && offsetof(struct frame, body) == 8, "as in return_stubs.S");

struct frame espy_agent_frames[RETURNS] __attribute__((visibility("hidden")));
static uint64_t free_top; // number of the first free one, from 1 on; above it a tag that changes with each change
static uint32_t used;	  // the first so many were ever taken
static uint32_t hand;	  // where the search for abandoned ones goes on

// Addresses behind calls: those that were looked at lately.
#define KNOWN 4096u
static uint64_t known[KNOWN];

static uint64_t stub_at(uint32_t i)
{
	return (uint64_t)&espy_agent_stubs + i * (uint64_t)STUB_SZ;
}

// A frame that a thread has just freed, for its next call: by the thread's place in the table; number + 1, 0: none.
// A signal handler that has interrupted its thread in here (depth is above 1) takes another one, so that no bus lock or
// comparison is needed.
static uint32_t spare[THREADS];

static uint32_t *spare_of(const struct thread *me)
{
	return &spare[(uint64_t)(me - live->threads) % THREADS];
}

static void give(uint32_t i)
{
	uint64_t top = __atomic_load_n(&free_top, __ATOMIC_RELAXED);

	do
		espy_agent_frames[i].next = (uint32_t)top;
	while (!__atomic_compare_exchange_n(&free_top, &top, ((top >> 32) + 1) << 32 | (i + 1), 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED));
}

// me: NULL if it is unknown
static inline void give_by(const struct thread *me, uint32_t i)
{
	__atomic_store_n(&espy_agent_frames[i].owner, 0, __ATOMIC_RELAXED);
	if (likely(me && me->depth == 1 && !*spare_of(me)))
		*(volatile uint32_t *)spare_of(me) = i + 1;
	else
		give(i);
}

static int take_free(void)
{
	uint64_t top = __atomic_load_n(&free_top, __ATOMIC_ACQUIRE), next;

	while ((uint32_t)top) {
		next = ((top >> 32) + 1) << 32 |
		       __atomic_load_n(&espy_agent_frames[(uint32_t)top - 1].next, __ATOMIC_RELAXED);
		if (__atomic_compare_exchange_n(&free_top, &top, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return (int)((uint32_t)top - 1);
	}
	return -1;
}

// Frees frames of this thread that it has left behind without a return: the stack is higher now, and something else than
// the stub stands there. Looks at a few. Returns whether it has freed one.
static __attribute__((noinline)) int reclaim(const struct thread *me, uint64_t sp)
{
	int freed = 0;

	for (uint32_t n = 0; n < 64 && !freed; n++) {
		const uint32_t i = __atomic_fetch_add(&hand, 1, __ATOMIC_RELAXED) % RETURNS;
		uint64_t there = stub_at(i);

		if (__atomic_load_n(&espy_agent_frames[i].owner, __ATOMIC_RELAXED) != me->tid ||
		    espy_agent_frames[i].sp >= sp)
			continue;
		if (probe_read(&there, espy_agent_frames[i].sp, sizeof(there)) && there - stub_at(i) < STUB_SZ)
			continue;
		__atomic_store_n(&espy_agent_frames[i].owner, 0, __ATOMIC_RELAXED);
		give(i);
		freed = 1;
	}
	return freed;
}

static __attribute__((noinline)) int take_other(const struct thread *me, uint64_t sp)
{
	int i = take_free();

	if (i >= 0)
		return i;
	if (__atomic_load_n(&used, __ATOMIC_RELAXED) < RETURNS) {
		const uint32_t fresh = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);

		if (fresh < RETURNS)
			return (int)fresh;
		__atomic_store_n(&used, RETURNS, __ATOMIC_RELAXED);
	}
	return reclaim(me, sp) ? take_free() : -1;
}

static inline int take_frame(const struct thread *me, uint64_t sp)
{
	volatile uint32_t *mine = spare_of(me);
	const uint32_t i = *mine;

	if (unlikely(me->depth != 1 || !i))
		return take_other(me, sp);
	*mine = 0;
	return (int)(i - 1);
}

// Is it an address behind a call? At the beginning of a part that a function jumps to (NAME.cold), of what the dynamic
// linker pushes arguments for, or of a program, something else stands on the stack.
static int is_return_address(uint64_t addr)
{
	uint64_t *place = &known[(addr ^ addr >> 12) % KNOWN];
	uint8_t before[8];

	if (likely(__atomic_load_n(place, __ATOMIC_RELAXED) == addr))
		return 1;
	if (addr - stub_at(0) >= RETURNS * (uint64_t)STUB_SZ &&
	    (!probe_read(before, addr - 7, 7) || !espy_code_may_be_call(before + 7)))
		return 0;
	__atomic_store_n(place, addr, __ATOMIC_RELAXED);
	return 1;
}

static __attribute__((noinline)) void lose_return(const struct jump *j)
{
	const struct consumers *all = __atomic_load_n(&j->now, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; all && i < all->n; i++)
		if (all->v[i].returns)
			__atomic_fetch_add(&all->v[i].hooks->wanted->ring->shared->lost_slot, 1, __ATOMIC_RELAXED);
}

int probe_enter(struct thread *me, const struct jump *j, const struct consumers *all, const uint64_t *regs)
{
	static const uint8_t args[ESPY_PROBE_SAVED] = ESPY_REG_ARGS;
	const uint64_t sp = regs[ESPY_REG_SP] + j->plan.pushed, addr = *(const uint64_t *)sp;
	const int call = !j->plan.pushed;
	struct frame *f;
	int i;

	if (unlikely(!is_return_address(addr)))
		return 0;
	i = take_frame(me, sp);
	if (unlikely(i < 0)) {
		lose_return(j);
		return 0;
	}
	f = &espy_agent_frames[i];
	f->addr = addr;
	f->body = call ? (uint64_t)j->trampoline + ESPY_CODE_TRAMPOLINE_SZ : 0;
	f->sp = sp;
	f->jump = j;
	f->entered.kept = all->keeps;
	if (all->keeps)
		for (uint32_t k = 0; k < ESPY_PROBE_SAVED; k++)
			f->entered.saved[k] = regs[args[k]];
	f->entered.time = read_time();
	// The call will put there where it returns to.
	*(volatile uint64_t *)sp = stub_at((uint32_t)i) + (call ? 0 : STUB_CALL_SZ);
	// From now on a signal handler that reclaims finds the stub there.
	__atomic_store_n(&f->owner, me->tid, __ATOMIC_RELEASE);
	return call;
}

struct back espy_agent_return(uint32_t i, uint64_t *regs)
{
	const struct frame *f = &espy_agent_frames[i];
	const struct back back = { f->addr, !f->body };
	struct thread *me = probe_hitting(f->jump);

	if (unlikely(!me)) {
		give_by(NULL, i);
		return back;
	}
	regs[ESPY_REG_IP] = back.addr;
	me->depth++;
	barrier(); // as in event_of()
	probe_returned(me, f->jump, regs, &f->entered);
	give_by(me, i);
	leave(me);
	return back;
}

void probe_sweep_frames(uint32_t tid)
{
	const uint32_t n = __atomic_load_n(&used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < n && i < RETURNS; i++)
		if (__atomic_load_n(&espy_agent_frames[i].owner, __ATOMIC_RELAXED) == tid)
			give_by(NULL, i);
}
