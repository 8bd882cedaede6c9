/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The BPF source behind source.h: opening, reading, counting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/clock.h"
#include "base/small_file.h"
#include "bpf_source.h"
#include "source/probes.h"
#include "source/bpf/hold/pause.h"
#include "source/bpf/ring/spare.h"
#include "source/bpf/stacks.h"

#define INIT_PID_NS 0xEFFFFFFCu
#define INIT_USER_NS 0xEFFFFFFDu
#define CAP_BITS_NEEDED (1ull << 38 /* CAP_PERFMON */ | 1ull << 39 /* CAP_BPF */)
#define CAP_BIT_ADMIN (1ull << 21 /* CAP_SYS_ADMIN */)
/* While records keep coming, the reader sleeps so long between two looks: no program has to wake it. */
#define NAP_NS 1000000l
#define BUSY_FOR_NS 4000000ull
#define LONGEST_SLEEP_MS 100
/* Nothing depends on it: a request to a flight recorder wakes it. */
#define FLIGHT_SLEEP_MS 1000
#define FLIGHT_SETTLE_MS 100 /* while it is not known yet whether calls are many */
#define SHORT_SLEEP_MS 5 /* while something is to be done in time */
/* From here on the change to tracepoints of single calls pays. */
#define MANY_RECORDS 20000u
/* Few calls of many are wanted: records do not tell how many there are. Most programs end before this. */
#define NARROW_AFTER_NS 15000000ull

static uint64_t effective_caps(void)
{
	char text[32];

	return espy_read_status(0, "CapEff", text, sizeof(text)) > 0 ? strtoull(text, NULL, 16) : 0;
}

bool bpf_kernel_is(unsigned major, unsigned minor)
{
	struct utsname u;
	unsigned there = 0, there_minor = 0;

	return !uname(&u) && sscanf(u.release, "%u.%u", &there, &there_minor) == 2 &&
	       (there > major || (there == major && there_minor >= minor));
}

static int bpf_probe(char *why, size_t why_sz)
{
	struct stat st;
	uint64_t caps;

	if (!bpf_kernel_is(5, 15)) {
		snprintf(why, why_sz, "the kernel is older than 5.15");
		return -EOPNOTSUPP;
	}
	if (stat("/proc/self/ns/pid", &st)) {
		int err = -errno;

		snprintf(why, why_sz, "/proc/self/ns/pid: %s; mount /proc", strerror(-err));
		return err;
	}
	if (st.st_ino != INIT_PID_NS) {
		snprintf(why, why_sz, "espy runs in a pid namespace of its own (a container?), where the kernel's task "
				      "numbers mean something else; run it outside");
		return -EXDEV;
	}
	/* Without user namespaces in the kernel there is no such file, and this is the first one. */
	if (!stat("/proc/self/ns/user", &st) && st.st_ino != INIT_USER_NS) {
		snprintf(why, why_sz, "espy runs in a user namespace of its own (a container?), where capabilities do not "
				      "reach the kernel's BPF; run it outside");
		return -EPERM;
	}
	caps = effective_caps();
	if (!(caps & CAP_BIT_ADMIN) && (caps & CAP_BITS_NEEDED) != CAP_BITS_NEEDED) {
		snprintf(why, why_sz, "no privilege for BPF; run as root or give the command CAP_BPF and CAP_PERFMON");
		return -EPERM;
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK)) {
		int err = -errno;

		snprintf(why, why_sz, "/sys/kernel/btf/vmlinux: %s; the kernel must be built with "
				      "CONFIG_DEBUG_INFO_BTF",
			 strerror(-err));
		return err;
	}
	/* Capabilities are not all: the seccomp filter of a container or service, or the kernel's lockdown, may refuse the call. */
	const int map = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), sizeof(uint32_t), 1, NULL);

	if (map < 0) {
		snprintf(why, why_sz, "bpf(2): %s, though the capabilities are there (a seccomp filter?)", strerror(-map));
		return map;
	}
	close(map);
	return 0;
}

/* Tells whether a trigger is well formed. The programs run tests in order: none may lead back, or beyond the last. */
static bool trigger_fits(const struct espy_trigger *t)
{
	if (t->abi >= ESPY_BPF_ABIS || t->nr >= ESPY_BPF_NRS || t->test_cnt > ESPY_TRIGGER_TESTS)
		return false;
	for (uint32_t i = 0; i < t->test_cnt; i++) {
		const uint8_t next[2] = { t->tests[i].yes, t->tests[i].no };

		for (unsigned k = 0; k < 2; k++)
			if (next[k] < ESPY_TRIGGER_HOLDS && (next[k] <= i || next[k] >= t->test_cnt))
				return false;
	}
	return true;
}

static bool triggers_fit(const struct espy_source_opts *o)
{
	if (o->tally_cnt > ESPY_SOURCE_TALLIES || o->trigger_cnt > ESPY_TRIGGER_MAX || o->gate_cnt > ESPY_GATE_MAX ||
	    ((o->trigger_cnt || o->gate_cnt) && o->count_only))
		return false;
	for (size_t i = 0; i < o->gate_cnt; i++)
		if (!trigger_fits(&o->gates[i]) || o->gates[i].action != ESPY_TRIGGER_KEEP)
			return false;
	for (size_t i = 0; i < o->trigger_cnt; i++)
		if (!trigger_fits(&o->triggers[i]))
			return false;
	return true;
}

static int bpf_open(struct espy_source **out, const struct espy_source_opts *opts)
{
	struct bpf_source *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->opts = *opts;
	if (opts->probes && espy_probes__all_by_agent(opts->probes))
		s->opts.probes = NULL;
	s->base.ops = &espy_source_bpf;
	if (!triggers_fit(&s->opts)) {
		free(s);
		return -EINVAL;
	}
	s->grace = -1;
	err = bpf_tasks__init(&s->tasks, ESPY_BPF_PID_LIMIT);
	if (err) {
		free(s);
		return err;
	}
	*out = &s->base;
	return 0;
}

static int bpf_set_calls(struct espy_source *src, enum espy_abi abi, const struct espy_call_set *set)
{
	struct bpf_source *s = to_bpf(src);

	if ((unsigned)abi >= ESPY_ABI_CNT)
		return -EINVAL;
	if (s->loaded)
		return -EBUSY;
	s->sets[abi] = *set;
	s->set[abi] = true;
	return 0;
}

/*
 * Mutes a call, or not. The programs look at the shape of an x86-64 call, and at the flags of its entry in the general
 * path. An unwanted call may still make descriptors to be named.
 */
static int mute_call(struct bpf_source *s, uint32_t id, bool wanted)
{
	struct espy_bpf_call call = s->tables.calls[id];
	const int fd = bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_calls"));

	if (!wanted)
		call.flags &= ~(uint32_t)ESPY_CALL_WANTED;
	if (bpf_map_update_elem(fd, &id, &call, BPF_ANY))
		return -errno;
	if (id < ESPY_BPF_NRS)
		__atomic_store_n(&s->shared->fast[id].shape,
				 wanted ? s->tables.fast[id].shape
					: call.flags & (ESPY_CALL_RET_FD | ESPY_CALL_FDS) ? ESPY_SHAPE_GENERAL : ESPY_SHAPE_SKIP,
				 __ATOMIC_RELEASE);
	return 0;
}

/* Tells the programs call by call which calls are wanted, while they run. The tables are for the whole sets. */
static int say_wanted(struct bpf_source *s, uint32_t abi)
{
	int err = 0;

	for (uint32_t nr = 0; nr < ESPY_BPF_NRS && !err; nr++) {
		const uint32_t id = abi * ESPY_BPF_NRS + nr;
		const bool wanted = s->wanted[abi][nr / 64] >> (nr % 64) & 1, muted = s->muted[abi][nr / 64] >> (nr % 64) & 1;

		if (!(s->tables.calls[id].flags & ESPY_CALL_WANTED) || wanted == !muted)
			continue;
		err = mute_call(s, id, wanted);
		s->muted[abi][nr / 64] ^= 1ull << (nr % 64);
	}
	return err;
}

int bpf_source_say_wanted(struct bpf_source *s)
{
	int err = 0;

	for (uint32_t abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = s->has_wanted[abi] ? say_wanted(s, abi) : 0;
	return err;
}

static int bpf_want_calls(struct espy_source *src, enum espy_abi abi, const uint64_t wanted[ESPY_MAX_SYSCALLS / 64])
{
	struct bpf_source *s = to_bpf(src);

	if ((unsigned)abi >= ESPY_ABI_CNT || !s->opts.calls_change)
		return -EINVAL;
	memcpy(s->wanted[abi], wanted, sizeof(s->wanted[abi]));
	s->has_wanted[abi] = true;
	return s->loaded ? say_wanted(s, abi) : 0;
}

struct delivery {
	struct bpf_source *s;
	espy_record_fn fn;
	void *ctx;
	uint32_t now_ms;
};

/* Gives a call, a hit, or the end of a task in a call, and behind it its stack. */
static int deliver_with_stack(struct delivery *d, const struct espy_rec *rec)
{
	const struct espy_rec *stack = d->s->stacks ? bpf_stacks__of(d->s, rec) : NULL;

	if (rec->type == ESPY_REC_TASK_EXIT)
		bpf_stacks__forget(d->s, rec);
	const int stop = d->fn(d->ctx, rec), after = stack ? d->fn(d->ctx, stack) : 0;

	return stop ? stop : after;
}

/* Gives a hit, with its definition in front of the first one. */
static int deliver_probe(struct delivery *d, const struct espy_rec_probe *rec)
{
	const struct espy_rec *def = bpf_probes__definition(d->s, rec);
	const int stop = def ? d->fn(d->ctx, def) : 0, after = deliver_with_stack(d, &rec->rec);

	return stop ? stop : after;
}

static int deliver(void *ctx, const void *data, size_t size)
{
	struct delivery *d = ctx;
	struct bpf_source *s = d->s;
	const struct espy_rec *rec = data;

	if (size < sizeof(*rec) || rec->size > size) {
		__atomic_fetch_add(&s->shared->lost[ESPY_LOST_TOO_BIG], 1,
				   __ATOMIC_RELAXED); /* told when the ring is empty */
		return 0;
	}
	s->stats.records++;
	s->stats.bytes += rec->size;
	if (!(s->stats.records & 255))
		bpf_pause__progress(s);
	switch (rec->type) {
	case ESPY_REC_EXIT:
		bpf_tasks__hear(&s->tasks, rec->tid & (ESPY_BPF_PID_LIMIT - 1), d->now_ms);
		return deliver_with_stack(d, rec);
	case ESPY_BPF_REC_STACK:
		bpf_stacks__keep(s, data, size);
		return 0;
	case ESPY_REC_FORK:
		s->stats.tasks++;
		bpf_tasks__add(&s->tasks, ((const struct espy_rec_fork *)rec)->child_tid, d->now_ms);
		break;
	case ESPY_REC_EXEC:
		if (((const struct espy_rec_exec *)rec)->old_tid)
			bpf_tasks__remove(&s->tasks, ((const struct espy_rec_exec *)rec)->old_tid);
		bpf_tasks__add(&s->tasks, rec->tid, d->now_ms);
		bpf_stacks__forget(s, rec);
		break;
	case ESPY_REC_TASK_EXIT:
		bpf_tasks__remove(&s->tasks, rec->tid);
		return deliver_with_stack(d, rec);
	case ESPY_REC_LOST:
		if (rec->nr < ESPY_LOST_REASONS)
			s->stats.lost[rec->nr] += ((const struct espy_rec_lost *)rec)->count;
		break;
	case ESPY_REC_PAUSE:
		bpf_pause__count(s, (const struct espy_rec_pause *)rec);
		break;
	case ESPY_REC_PROBE:
		return deliver_probe(d, (const struct espy_rec_probe *)rec);
	}
	return d->fn(d->ctx, rec);
}

/* Delivers losses that no later record could tell. The ring is empty, so their place is here. */
static int deliver_lost(struct delivery *d, int *stop)
{
	int cnt = 0;

	for (uint16_t i = 0; i < ESPY_LOST_REASONS && !*stop; i++) {
		struct espy_rec_lost lost = { .rec = { .size = sizeof(lost), .type = ESPY_REC_LOST, .nr = i } };

		if (!__atomic_load_n(&d->s->shared->lost[i], __ATOMIC_RELAXED))
			continue;
		lost.count = __atomic_exchange_n(&d->s->shared->lost[i], 0, __ATOMIC_SEQ_CST);
		if (!lost.count)
			continue;
		cnt++;
		*stop = deliver(d, &lost, sizeof(lost));
	}
	return cnt;
}

static int sleep_for_data(struct bpf_source *s, int left_ms)
{
	struct epoll_event ev;
	bool soon = bpf_pause__is_late(s) || (s->tables.narrow && !s->switched) || s->change || s->grace >= 0 || bpf_tasks__asked(&s->tasks);
	int longest = soon ? SHORT_SLEEP_MS : LONGEST_SLEEP_MS;
	int n, ms = left_ms < 0 || left_ms > longest ? longest : left_ms;

	bpf_stacks__tend(s);
	if (espy_now_ns() - s->quiet_since_ns < BUSY_FOR_NS) {
		struct timespec nap = { .tv_nsec = bpf_source_room(s) >= 1u << 20 ? NAP_NS : NAP_NS / 10 };

		return nanosleep(&nap, NULL) ? -errno : 0;
	}
	/* The exchange orders the flag before the last look at the ring. */
	__atomic_exchange_n(&s->shared->want, 1, __ATOMIC_SEQ_CST);
	if (!bpf_source_all_read(s)) {
		__atomic_store_n(&s->shared->want, 0, __ATOMIC_RELAXED);
		return 0;
	}
	n = epoll_wait(s->ring.epoll, &ev, 1, ms);
	if (n < 0)
		return -errno;
	if (n)
		s->stats.wakeups++;
	__atomic_store_n(&s->shared->want, 0, __ATOMIC_RELAXED);
	if (s->rings.cnt)
		bpf_ring__skip(&s->ring);
	return 0;
}

static bool nobody_left(const struct bpf_source *s)
{
	return s->mode == ESPY_BPF_MODE_BITS && !__atomic_load_n(&s->shared->live, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&s->shared->start_pid, __ATOMIC_ACQUIRE);
}

/*
 * Polls a flight recorder: only the end of the last task and a trigger wake it. It forgets the wake-ups so far before
 * it looks at their results, so it misses none.
 */
static int flight_poll(struct bpf_source *s, int timeout_ms)
{
	uint64_t start = espy_now_ns();

	for (;;) {
		uint64_t gone_ms = (espy_now_ns() - start) / 1000000;
		int left_ms = s->switched ? FLIGHT_SLEEP_MS : FLIGHT_SETTLE_MS;
		struct epoll_event ev;
		uint32_t triggers;
		int n;

		bpf_ring__skip(&s->ring);
		triggers = __atomic_load_n(&s->shared->triggers, __ATOMIC_SEQ_CST);
		if (triggers != s->triggers) {
			s->triggers = triggers;
			return 0;
		}
		if (nobody_left(s))
			return -ESRCH;
		if (espy_wake__is_asked(s->opts.wake))
			return 0;
		if (!s->switched && bpf_flight__events(s) > MANY_RECORDS)
			bpf_source_use_single(s);
		bpf_source_tend_single(s);
		if (s->change || s->grace >= 0)
			left_ms = SHORT_SLEEP_MS;
		if (timeout_ms >= 0) {
			if (gone_ms >= (uint64_t)timeout_ms)
				return 0;
			left_ms = timeout_ms - (int)gone_ms < left_ms ? timeout_ms - (int)gone_ms : left_ms;
		}
		n = epoll_wait(s->ring.epoll, &ev, 1, left_ms);
		if (n < 0)
			return -errno;
		s->stats.wakeups += n > 0;
	}
}

static int bpf_poll(struct espy_source *src, espy_record_fn fn, void *ctx, int timeout_ms)
{
	struct bpf_source *s = to_bpf(src);
	struct delivery d = { .s = s, .fn = fn, .ctx = ctx };
	uint64_t start = espy_now_ns();

	if (!s->loaded)
		return -ESRCH;
	if (s->opts.rings.flight_bytes)
		return flight_poll(s, timeout_ms);
	for (;;) {
		uint64_t now = espy_now_ns(), gone_ms = (now - start) / 1000000;
		bool over = nobody_left(s);
		int stop, cnt, err;

		d.now_ms = (uint32_t)(now / 1000000);
		if (bpf_pause__is_late(s))
			bpf_pause__tend(s, now);
		if (!s->switched && bpf_pause__calm(s) &&
		    (s->tables.narrow ? now - s->loaded_ns > NARROW_AFTER_NS : s->stats.records > MANY_RECORDS))
			bpf_source_use_single(s);
		bpf_source_tend_single(s);
		bpf_spare__tend(s);
		cnt = s->rings.cnt ? bpf_rings__drain(&s->rings, now, deliver, &d, &stop)
				   : bpf_ring__drain(s, deliver, &d, &stop);
		bpf_pause__progress(s);
		if (!stop && bpf_source_all_read(s))
			cnt += deliver_lost(&d, &stop);
		if (!stop)
			cnt += bpf_tasks__scan(s, now, deliver, &d, &stop);
		if (stop)
			return stop;
		if (cnt) {
			s->quiet_since_ns = now;
			return cnt;
		}
		if (over && bpf_source_all_read(s))
			return -ESRCH;
		if ((timeout_ms >= 0 && gone_ms >= (uint64_t)timeout_ms) || espy_wake__is_asked(s->opts.wake))
			return 0;
		err = sleep_for_data(s, timeout_ms < 0 ? -1 : timeout_ms - (int)gone_ms);
		if (err)
			return err;
	}
}

/* Delivers again a record that was delivered before. */
static int deliver_again(void *ctx, const void *data, size_t size)
{
	struct delivery *d = ctx;
	const struct espy_rec *rec = data;

	return rec->type == ESPY_REC_PROBE ? deliver_probe(d, data) : d->fn(d->ctx, rec);
}

/*
 * Delivers a record of a flight recorder. Its time is long ago: the task was active then, not now. Records of losses
 * do not count beside the losses.
 */
static int deliver_flight(void *ctx, const void *data, size_t size)
{
	struct delivery *d = ctx;

	if (((const struct espy_rec *)data)->type == ESPY_REC_LOST)
		return deliver_again(ctx, data, size);
	d->now_ms = (uint32_t)(((const struct espy_rec *)data)->time_ns / 1000000);
	return deliver(d, data, size);
}

static int bpf_snapshot(struct espy_source *src, espy_record_fn fn, void *ctx)
{
	struct bpf_source *s = to_bpf(src);
	struct delivery d = { .s = s, .fn = fn, .ctx = ctx };
	int cnt, stop;

	if (!s->opts.rings.flight_bytes)
		return -EOPNOTSUPP;
	if (!s->loaded)
		return -ESRCH;
	bpf_probes__tell_again(s);
	cnt = bpf_flight__snapshot(s, deliver_flight, deliver_again, &d, &stop);
	/* Calls that hang now: told in each snapshot anew, and no event of the rings. */
	if (cnt >= 0 && !stop)
		cnt += bpf_tasks__scan_all(s, deliver_again, &d, &stop);
	return stop ? stop : cnt;
}

static void bpf_stats(struct espy_source *src, struct espy_source_stats *st)
{
	struct bpf_source *s = to_bpf(src);

	*st = s->stats;
	st->ring_bytes = s->rings.cnt ? bpf_rings__bytes(&s->rings) : s->ring.size + bpf_spare__size(s);
	bpf_pause__stats(s, st);
	bpf_source_tell_single(s, st->tracepoints, sizeof(st->tracepoints));
	st->tests_paths = bpf_tests_paths(s);
	if (!s->shared)
		return;
	st->off_paths = __atomic_load_n(&s->shared->off_paths, __ATOMIC_RELAXED);
	st->trigger_ns = __atomic_load_n(&s->shared->trigger_ns, __ATOMIC_RELAXED);
	st->reread = __atomic_load_n(&s->shared->reread, __ATOMIC_RELAXED);
	st->triggers = __atomic_load_n(&s->shared->triggers, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < ESPY_LOST_REASONS; i++) {
		/* A flight recorder may have overwritten the record of it. */
		if (s->opts.rings.flight_bytes)
			st->lost[i] = __atomic_load_n(&s->shared->lost_ever[i], __ATOMIC_RELAXED);
		else
			st->lost[i] += __atomic_load_n(&s->shared->lost[i], __ATOMIC_RELAXED);
	}
}

static int bpf_counts(struct espy_source *src, enum espy_abi abi, struct espy_count *counts, size_t n)
{
	struct bpf_source *s = to_bpf(src);
	int cpus = libbpf_num_possible_cpus(), fd;
	struct espy_bpf_count *each;

	if (!s->loaded || !s->opts.count_only || s->opts.tally_cnt)
		return -EOPNOTSUPP;
	if (cpus < 1 || (unsigned)abi >= ESPY_BPF_ABIS)
		return -EINVAL;
	each = calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	fd = bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_counts"));
	memset(counts, 0, n * sizeof(*counts));
	for (uint32_t nr = 0; nr < n && nr < ESPY_BPF_NRS; nr++) {
		uint32_t key = (uint32_t)abi * ESPY_BPF_NRS + nr;

		if (bpf_map_lookup_elem(fd, &key, each))
			break;
		for (int cpu = 0; cpu < cpus; cpu++) {
			const struct espy_bpf_count *c = &each[cpu];

			if (!c->calls)
				continue;
			if (!counts[nr].calls || c->min_ns < counts[nr].min_ns)
				counts[nr].min_ns = c->min_ns;
			if (c->max_ns > counts[nr].max_ns)
				counts[nr].max_ns = c->max_ns;
			counts[nr].calls += c->calls;
			counts[nr].errors += c->errors;
			counts[nr].time_ns += c->time_ns;
		}
	}
	free(each);
	return 0;
}

static int bpf_held(struct espy_source *src, struct espy_held_task *held, size_t n)
{
	return bpf_pause__held(to_bpf(src), held, n);
}

static int bpf_pause(struct espy_source *src, pid_t tid, uint64_t until_ns)
{
	return bpf_pause__pause(to_bpf(src), tid, until_ns);
}

static int bpf_resume(struct espy_source *src, pid_t tid)
{
	return bpf_pause__resume(to_bpf(src), tid);
}

static void bpf_close(struct espy_source *src)
{
	struct bpf_source *s = to_bpf(src);

	bpf_source_unload(s);
	bpf_tables__free(&s->tables);
	bpf_tasks__free(&s->tasks);
	bpf_stacks__free(s);
	free(s);
}

const struct espy_source_ops espy_source_bpf = {
	.name = "bpf",
	.caps = ESPY_SRC_PASSIVE | ESPY_SRC_SYSTEM_WIDE | ESPY_SRC_COUNT | ESPY_SRC_FLIGHT | ESPY_SRC_FDS |
		ESPY_SRC_GATES | ESPY_SRC_IO_URING | ESPY_SRC_PID_NUMBERS | ESPY_SRC_PROBES | ESPY_SRC_STACKS,
	.probe = bpf_probe,
	.open = bpf_open,
	.set_calls = bpf_set_calls,
	.want_calls = bpf_want_calls,
	.start_command = bpf_source_start_command,
	.add_target = bpf_source_add_target,
	.remove_target = bpf_source_remove_target,
	.poll = bpf_poll,
	.stats = bpf_stats,
	.snapshot = bpf_snapshot,
	.counts = bpf_counts,
	.hits = bpf_probes__hits,
	.tallies = bpf_tallies,
	.command_status = bpf_source_command_status,
	.held = bpf_held,
	.pause = bpf_pause,
	.resume = bpf_resume,
	.probe_lossless = bpf_pause__probe,
	.close = bpf_close,
};
