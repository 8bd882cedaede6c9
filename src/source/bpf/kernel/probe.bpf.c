// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes: the kernel's uprobes run these programs at places of files, in every process that maps them; others run at
 * tracepoints and functions of the kernel. An object of its own, on the maps of the other one: records go into the same
 * ring, and the same bits say which tasks are watched.
 *
 * The cookie of an attachment says which probe was hit: the number of its definition below, of its plan above
 * (record/probe_plan.h).
 *
 * A place may be hit in a task that is preempted there while another one hits a place on the same CPU. So there is no
 * scratch per CPU here: numbers lie on the stack, all else in the task's own storage.
 */
#include "compare.bpf.h"
#include "fetch.bpf.h"
#include "returns.bpf.h"
#define STACK_BYTES ESPY_BPF_HIT_STACK_BYTES
#include "stack.bpf.h"
#include "tallied.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define SMALL_ARGS 4u

/* Sized and filled by user space. */
ESPY_ARRAY(espy_probe_plans, struct espy_probe_plan, BPF_F_MMAPABLE);

/* A record with texts, in the making. */
struct probe_scratch {
	u32 len; /* of args, so far */
	struct espy_rec_probe rec;
	u8 args[ESPY_PROBE_ARGS_MAX + 2 * ESPY_PROBE_STRING_MAX + 16];
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct probe_scratch);
} espy_probe_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack_copy);
} espy_probe_stacks SEC(".maps");

/* The same of functions of the kernel. User space makes them where there are such. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct probe_scratch);
} espy_kernel_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_copy);
} espy_kernel_stack SEC(".maps");

/* ---- conditions */

/* Tells whether the text at `at` begins with that of the test, by whole words: zeros follow the text of the test. */
static __always_inline int text_begins(const struct espy_probe_test *t, const struct hit *h, u64 at)
{
	u64 text[ESPY_PROBE_TEXT_MAX / 8] = {};
	u32 len = t->text_len;

	if (!len || len > ESPY_PROBE_TEXT_MAX)
		return !len;
	if (read_text(h, text, sizeof(text), at) < 0)
		return -1;
	return same_bytes(text, (const u64 *)t->text, len, ESPY_PROBE_TEXT_MAX / 8);
}

/* Runs the test `at` of a plan. Returns the next test. */
__noinline int run_test(const struct espy_probe_plan *plan, u32 at, const struct hit *h)
{
	const u64 sign = 1ull << 63;
	const struct espy_probe_test *t;
	u64 k = at;
	bool holds;
	u32 arg;
	u64 v;

	if (!plan || !h)
		return ESPY_PROBE_FAILS;
	CLAMP(k, ESPY_PROBE_TESTS - 1);
	t = &plan->tests[k];
	arg = t->arg & (ESPY_MARK_MAX_ARGS - 1);
	v = h->values[arg];
	switch (t->what) {
	case ESPY_PROBE_TEST_PID:
		v = bpf_get_current_pid_tgid() >> 32;
		break;
	case ESPY_PROBE_TEST_TID:
		v = (u32)bpf_get_current_pid_tgid();
		break;
	case ESPY_PROBE_TEST_DURATION:
		if (!h->begun)
			return t->no;
		v = h->now_ns - h->begin_ns;
		break;
	default:
		if (h->bad >> arg & 1)
			return t->no;
	}
	if (t->what == ESPY_PROBE_TEST_TEXT) {
		int begins = text_begins(t, h, v);

		if (begins < 0)
			return t->no;
		holds = begins;
	} else if (t->compare == ESPY_COMPARE_ANY) {
		holds = v & (u64)t->number;
	} else if (t->compare == ESPY_COMPARE_BITS) {
		holds = (v & t->mask) == (u64)t->number;
	} else {
		/* Orders signed numbers as unsigned ones. */
		holds = t->is_signed ? compare(t->compare, v ^ sign, (u64)t->number ^ sign) :
				       compare(t->compare, v, t->number);
	}
	return holds != !!t->negated ? t->yes : t->no;
}

static __noinline int meets(const struct espy_probe_plan *plan, const struct hit *h)
{
	u32 at = 0;

	for (u32 i = 0; i < ESPY_PROBE_TESTS && at < ESPY_PROBE_TESTS; i++)
		at = run_test(plan, at, h);
	return at == ESPY_PROBE_HOLDS;
}

/* ---- records */

static __always_inline void put_head(struct espy_rec_probe *rec, struct task_struct *task, const struct hit *h, u32 len)
{
	head_timed(&rec->rec, sizeof(*rec) + len, ESPY_REC_PROBE, task->pid, task->tgid, h->now_ns);
	rec->rec.nr = h->bad;
	rec->def = h->def;
	rec->len = len;
	rec->begin_ns = h->begin_ns;
}

static __always_inline int put_numbers(const struct espy_probe_plan *plan, struct task_struct *task, const struct hit *h)
{
	u32 cnt = plan->arg_cnt, len;
	struct espy_rec_probe *rec;

	if (cnt > ESPY_MARK_MAX_ARGS)
		return 0;
	len = cnt * 8;
	if (cnt <= SMALL_ARGS) {
		rec = OUT_RESERVE(sizeof(*rec) + 8 * SMALL_ARGS, sizeof(*rec) + len);
		if (!rec)
			return ring_full();
		for (u32 i = 0; i < SMALL_ARGS; i++)
			if (i < cnt)
				((u64 *)(rec + 1))[i] = h->values[i];
	} else {
		rec = OUT_RESERVE(sizeof(*rec) + 8 * ESPY_MARK_MAX_ARGS, sizeof(*rec) + len);
		if (!rec)
			return ring_full();
		for (u32 i = 0; i < ESPY_MARK_MAX_ARGS; i++)
			if (i < cnt)
				((u64 *)(rec + 1))[i] = h->values[i];
	}
	put_head(rec, task, h, len);
	out_submit(rec);
	return 1;
}

/* Copies a text at `at` behind its head in the scratch. whole: no byte of it lies behind max. Returns its length. */
static __always_inline u32 copy_text(const struct hit *h, u8 *to, u64 at, u32 max, bool whole, u32 *status)
{
	u8 next = 0;
	long n = read_text(h, to, max + 1, at);

	if (n < 0) {
		*status = ESPY_ITEM_FAULT;
		return 0;
	}
	n = n ? n - 1 : 0;
	/* Full: the text is whole only if it ends here. */
	if (n >= max && !whole && (read_bytes(h, &next, 1, at + max) || next))
		*status = ESPY_ITEM_TRUNCATED;
	return n;
}

/* Puts one argument at `off`. Returns the place of the next one. */
__noinline int put_memory(struct probe_scratch *s, u32 off, const struct espy_probe_fetch *f, const struct hit *h, u32 i)
{
	u32 *head, max, len = 0, status = ESPY_ITEM_OK, len_arg;
	u64 wanted, at;

	if (!s || !f || !h || off > ESPY_PROBE_ARGS_MAX)
		return off;
	max = f->max;
	len_arg = f->len_arg;
	at = h->values[i & (ESPY_MARK_MAX_ARGS - 1)];
	head = (u32 *)(s->args + off);
	if (max > ESPY_PROBE_STRING_MAX)
		max = ESPY_PROBE_STRING_MAX;
	if (h->bad >> i & 1 || (f->user && (s64)at < 0)) {
		status = ESPY_ITEM_FAULT;
	} else if (f->src == ESPY_PROBE_COMM) {
		bpf_get_current_comm(head + 2, 16);
		for (len = 0; len < 16; len++)
			if (!((u8 *)(head + 2))[len])
				break;
	} else if (f->what == ESPY_PROBE_STRING) {
		len = copy_text(h, (u8 *)(head + 2), at, max, f->src == ESPY_PROBE_FIELD, &status);
	} else {
		wanted = max;
		if (len_arg < ESPY_MARK_MAX_ARGS) {
			wanted = h->values[len_arg];
			if (h->bad >> len_arg & 1 || (s64)wanted < 0)
				wanted = 0;
		}
		len = wanted < max ? wanted : max;
		if (wanted > max)
			status = ESPY_ITEM_TRUNCATED;
		CLAMP(len, ESPY_PROBE_STRING_MAX);
		if (len && read_bytes(h, head + 2, len, at)) {
			status = ESPY_ITEM_FAULT;
			len = 0;
		}
	}
	if (status == ESPY_ITEM_FAULT && !(h->bad >> i & 1)) {
		*(u64 *)(head + 2) = at;
		status = ESPY_ITEM_ADDRESS;
		len = 8;
	}
	CLAMP(len, ESPY_PROBE_STRING_MAX);
	head[0] = len;
	head[1] = status;
	return off + 8 + ((len + 7) & ~7u);
}

/* Puts an argument behind those that are there. */
__noinline int put_argument(struct probe_scratch *s, const struct espy_probe_fetch *f, struct hit *h, u32 i)
{
	u32 off, at = i & (ESPY_MARK_MAX_ARGS - 1);

	if (!s || !f || !h)
		return 0;
	off = s->len;
	if (f->what != ESPY_PROBE_NUMBER) {
		s->len = put_memory(s, off, f, h, at);
		h->bad &= ~(1u << at);
	} else if (off <= ESPY_PROBE_ARGS_MAX) {
		*(u64 *)(s->args + off) = h->values[at];
		s->len = off + 8;
	}
	return 0;
}

static __noinline int put_all(const struct espy_probe_plan *plan, struct task_struct *task, struct hit *h,
			      struct probe_scratch *s)
{
	u64 size;

	s->len = 0;
	for (u32 i = 0; i < ESPY_MARK_MAX_ARGS && i < plan->arg_cnt; i++)
		put_argument(s, &plan->fetches[i], h, i);
	put_head(&s->rec, task, h, s->len);
	size = sizeof(s->rec) + s->len;
	CLAMP(size, sizeof(*s) - offsetof(struct probe_scratch, rec) - ESPY_BPF_SPARE_TAIL);
	return out_copy(&s->rec.rec, size) ? ring_full() : 1;
}

/* Begins a hit of the probe that the cookie of ctx names. Returns its plan. NULL: the task is not watched. */
static __always_inline const struct espy_probe_plan *begin_hit(struct task_struct *task, void *ctx, struct hit *h)
{
	u64 cookie;
	u32 nr;

	if (!watched_current(task))
		return NULL;
	cookie = bpf_get_attach_cookie(ctx);
	nr = cookie >> 32;
	h->def = cookie;
	return bpf_map_lookup_elem(&espy_probe_plans, &nr);
}

/*
 * At functions of the kernel no memory is asked for: the task may be in the middle of handing some out. The kernel runs
 * one program of such places at a time on each CPU, so these may be the CPU's.
 */
static __always_inline struct stack_copy *room_for_stack(struct task_struct *task, bool in_kernel)
{
	u32 zero = 0;

	if (in_kernel)
		return bpf_map_lookup_elem(&espy_kernel_stack, &zero);
	return bpf_task_storage_get(&espy_probe_stacks, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline struct probe_scratch *room_for_texts(struct task_struct *task, bool in_kernel)
{
	u32 zero = 0;

	if (in_kernel)
		return bpf_map_lookup_elem(&espy_kernel_scratch, &zero);
	return bpf_task_storage_get(&espy_probe_scratch, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Sends the stack of a task in front of its hit. */
static __always_inline void send_stack_of_hit(struct task_struct *task, bool in_kernel, const struct pt_regs *regs)
{
	struct stack_copy *c = room_for_stack(task, in_kernel);

	if (c)
		send_stack(task, c, regs, 0);
}

/* ---- counts in place of records */

/* By place, and tally. Sized and filled by user space. */
ESPY_ARRAY(espy_place_specs, struct espy_tally_spec, BPF_F_MMAPABLE);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* sized by user space */
	__type(key, u32);
	__type(value, struct espy_bpf_hit_count);
} espy_place_counts SEC(".maps");

/* Another task may do the same on this CPU. It seldom does, and not three times. */
static __always_inline void raise_to(u64 *at, u64 v)
{
	for (u32 i = 0; i < 3; i++) {
		u64 old = *at;

		if (v <= old || __sync_val_compare_and_swap(at, old, v) == old)
			break;
	}
}

/* Counts a hit by its place (-c). */
__noinline int count_hit(const struct hit *h)
{
	struct espy_bpf_hit_count *c;
	u32 place;
	u64 ns;

	if (!h)
		return 0;
	place = h->def - ESPY_PROBE_FIRST_DEF;
	c = bpf_map_lookup_elem(&espy_place_counts, &place);
	if (!c)
		return 0;
	ns = h->now_ns - h->begin_ns;
	__sync_fetch_and_add(&c->hits, 1);
	if (!h->begun)
		return 0;
	__sync_fetch_and_add(&c->timed, 1);
	__sync_fetch_and_add(&c->time_ns, ns);
	raise_to(&c->max_ns, ns);
	raise_to(&c->min_ns, ~ns);
	return 0;
}

/* Counts a hit for one tally. */
__noinline int tally_hit(const struct hit *h, u32 tally)
{
	const u64 ids = bpf_get_current_pid_tgid();
	const struct espy_tally_spec *spec;
	u32 place, id;
	u64 arg;

	if (!h || tally >= ESPY_SOURCE_TALLIES)
		return 0;
	place = h->def - ESPY_PROBE_FIRST_DEF;
	id = place * ESPY_SOURCE_TALLIES + tally;
	spec = bpf_map_lookup_elem(&espy_place_specs, &id);
	if (!spec)
		return 0;
	arg = spec->arg;
	CLAMP(arg, ESPY_MARK_MAX_ARGS - 1);
	switch (spec->what) {
	case ESPY_TALLIED_NOT:
		break;
	case ESPY_TALLIED_PID:
		tally_number(tally, place, ids >> 32, false);
		break;
	case ESPY_TALLIED_TID:
		tally_number(tally, place, (u32)ids, false);
		break;
	case ESPY_TALLIED_DURATION:
		if (h->begun)
			tally_number(tally, place, h->now_ns - h->begin_ns, false);
		else
			tally_slot(tally, ESPY_TALLIED_MISSING);
		break;
	default:
		if (h->bad >> arg & 1)
			tally_slot(tally, ESPY_TALLIED_MISSING);
		else
			tally_number(tally, place, h->values[arg], spec->is_signed);
	}
	return 0;
}

/* Where a hit is. */
enum at {
	AT_FILE,
	AT_FUNCTION, /* of the kernel */
	AT_NUMBERS,  /* there, too, without texts and stacks: others may run such a program on this CPU meanwhile */
};

/* Makes a record of the fetched values, or counts them, if they meet the condition. regs: of the task in its program. */
static __always_inline void record(const struct espy_probe_plan *plan, struct task_struct *task, struct hit *h,
				   bool timed, const struct pt_regs *regs, enum at at)
{
	if (timed || conf.needs.times)
		h->now_ns = bpf_ktime_get_ns();
	if (plan->test_cnt && !meets(plan, h))
		return;
	if (conf.count_hits) {
		count_hit(h);
		return;
	}
	if (conf.hit_tallies) {
		for (u32 i = 0; i < ESPY_SOURCE_TALLIES && i < conf.hit_tallies; i++)
			tally_hit(h, i);
		return;
	}
	if (shared.attention)
		say_lost(task->pid, task->tgid);
	if (conf.stacks && at != AT_NUMBERS)
		send_stack_of_hit(task, at == AT_FUNCTION, regs);
	if (plan->memory && at != AT_NUMBERS) {
		struct probe_scratch *s = room_for_texts(task, at == AT_FUNCTION);

		if (!s) {
			lose(ESPY_LOST_NO_SLOT);
			return;
		}
		put_all(plan, task, h, s);
	} else {
		put_numbers(plan, task, h);
	}
	wake_reader();
}

/* ---- places */

SEC("uprobe")
int espy_probe(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hit h = {};
	const struct espy_probe_plan *plan = begin_hit(task, regs, &h);

	if (!plan)
		return 0;
	fetch_all(regs, plan, &h);
	record(plan, task, &h, false, regs, AT_FILE);
	return 0;
}

#define TAKEN 0 /* the sp of a frame after the hit of its probe; another probe of the call may still want its frame */

/* The entry of a function with a probe at its return: pushes a frame. */
SEC("uprobe")
int espy_probe_begin(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct probe_frames *frames;
	struct probe_frame *f;
	u64 depth;

	if (!watched_current(task))
		return 0;
	frames = bpf_task_storage_get(&espy_probe_frames, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!frames)
		return 0;
	/* Frames that longjmp left stay until there is no room. */
	if (frames->depth >= FRAMES)
		for (u32 i = 0; i < FRAMES; i++) {
			u64 top = frames->depth - 1;

			if (top >= FRAMES)
				break;
			CLAMP(top, FRAMES - 1);
			if (frames->v[top].sp >= regs->sp)
				break;
			frames->depth = top;
		}
	/* Frames of calls that are over lie at the top. */
	for (u32 i = 0; i < FRAMES; i++) {
		depth = frames->depth - 1;
		if (depth >= FRAMES)
			break;
		CLAMP(depth, FRAMES - 1);
		if (frames->v[depth].sp != TAKEN)
			break;
		frames->depth = depth;
	}
	depth = frames->depth;
	if (depth >= FRAMES)
		return 0;
	CLAMP(depth, FRAMES - 1);
	f = &frames->v[depth];
	f->sp = regs->sp;
	if (conf.stacks)
		bpf_probe_read_user(&f->ret, sizeof(f->ret), (void *)f->sp);
	f->def = (u32)bpf_get_attach_cookie(regs);
	for (u32 i = 0; i < ESPY_PROBE_SAVED; i++)
		f->args[i] = function_arg(regs, i);
	frames->depth = depth + 1;
	f->begin_ns = bpf_ktime_get_ns();
	return 0;
}

enum { TRY_NEXT, FRAME_TAKEN, NO_FRAME };

/*
 * Takes the frame of a return if it lies at `at`, and drops the frames of later entries, which ended otherwise. Frames
 * of the same call stay, because other probes of its return come next.
 */
__noinline int try_frame(struct probe_frames *frames, u64 at, u64 sp, struct hit *h)
{
	struct probe_frame *f;

	if (!frames || !h || at >= FRAMES)
		return NO_FRAME;
	CLAMP(at, FRAMES - 1);
	f = &frames->v[at];
	if (f->sp != sp)
		return TRY_NEXT;
	if (f->def != h->def) {
		if (!frames->keep)
			frames->keep = at + 1;
		return TRY_NEXT;
	}
	frames->depth = frames->keep ? frames->keep : at;
	f->sp = TAKEN;
	h->begin_ns = f->begin_ns;
	for (u32 k = 0; k < ESPY_PROBE_SAVED; k++)
		h->saved[k] = f->args[k];
	return FRAME_TAKEN;
}

static __noinline bool take_frame(struct task_struct *task, u64 sp, struct hit *h)
{
	struct probe_frames *frames = bpf_task_storage_get(&espy_probe_frames, task, NULL, 0);
	u64 top;

	if (!frames)
		return false;
	top = frames->depth - 1;
	frames->keep = 0;
	for (u32 i = 0; i < FRAMES; i++) {
		const int tried = try_frame(frames, top - i, sp, h);

		if (tried != TRY_NEXT)
			return tried == FRAME_TAKEN;
	}
	return false;
}

SEC("uprobe")
int espy_probe_end(struct pt_regs *regs)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hit h = {};
	const struct espy_probe_plan *plan = begin_hit(task, regs, &h);

	if (!plan)
		return 0;
	h.begun = take_frame(task, entry_sp(regs), &h);
	fetch_all(regs, plan, &h);
	record(plan, task, &h, true, regs, AT_FILE);
	return 0;
}

/* ---- tracepoints */

SEC("tracepoint")
int espy_tracepoint(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 at = (u64)ctx, begin = 0;
	struct hit h = { .memory = MEMORY_OF_RECORD };
	const struct espy_probe_plan *plan = begin_hit(task, ctx, &h);

	if (!plan || bpf_probe_read_kernel(&begin, sizeof(begin), &at))
		return 0;
	fetch_fields(begin, plan, &h);
	record(plan, task, &h, false, (const struct pt_regs *)bpf_task_pt_regs(task), AT_FILE);
	return 0;
}

#include "probe_kernel.bpf.h"
