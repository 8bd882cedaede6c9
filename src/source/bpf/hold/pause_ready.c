/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holding tasks: is it wanted, can it be done here, and making all ready for it: the programs of pause.bpf.c, the pages
 * that tasks sleep on, the helper process that has them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "source/quiet_libbpf.h"
#include "pause_impl.h"

/* Most commands end before, or do not fill so much of the ring until then. They need not wait for the preparation. */
#define LATE_AFTER_NS 30000000ull
#define LATE_ABOVE(room) ((room) / 16)
#define NO_FUNCTIONS "the kernel cannot hold a task on its way out of a call (Linux 6.18 can)"

static bool wants_hand(const struct bpf_source *s)
{
	if (s->opts.hold.can_pause)
		return true;
	for (size_t i = 0; i < s->opts.trigger_cnt; i++)
		if (s->opts.triggers[i].action == ESPY_TRIGGER_PAUSE)
			return true;
	return false;
}

bool bpf_pause__wants_lossless(const struct bpf_source *s)
{
	return s->opts.hold.lossless != ESPY_LOSSLESS_NEVER && !s->opts.count_only && !s->opts.rings.flight_bytes;
}

static int open_object(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	const int err = bpf_source_open_beside(&p->obj, s, s->types.path, BPF_OBJECT_PAUSE);

	if (err)
		return err;
	bpf_program__set_autoload(bpf_object__find_program_by_name(p->obj, "espy_hold_task"), s->opts.hold.can_pause);
	/* Only a narrow session may go over to the tracepoints of single calls (single.c). */
	bpf_program__set_autoload(bpf_object__find_program_by_name(p->obj, "espy_one_hold"), s->tables.narrow);
	return 0;
}

/* Tells whether the user has asked for holds, so that failing is an error. */
static bool must_hold(const struct bpf_source *s)
{
	return s->opts.hold.lossless == ESPY_LOSSLESS_ALWAYS || wants_hand(s);
}

static int load_programs(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	struct bpf_verify verify = { .source = s, .obj = &p->obj };
	int err;

	for (size_t i = 0; i < ESPY_KFUNC_CNT; i++)
		if (!s->types.ids.kfuncs[i])
			return -EOPNOTSUPP;
	err = bpf_verify__begin(&verify);
	if (err)
		return err;
	err = open_object(s);
	err = err ? err : bpf_object__load(p->obj);
	err = bpf_verify__end(&verify, must_hold(s) ? s : NULL, err);
	if (err)
		return err;
	p->holds = mmap(NULL, ESPY_BPF_HOLDS * sizeof(*p->holds), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(bpf_object__find_map_by_name(p->obj, "espy_holds")), 0);
	if (p->holds == MAP_FAILED) {
		p->holds = NULL;
		return -errno;
	}
	return 0;
}

void bpf_pause__drop_programs(struct bpf_pause *p)
{
	if (p->holds)
		munmap(p->holds, ESPY_BPF_HOLDS * sizeof(*p->holds));
	if (p->obj)
		bpf_object__close(p->obj);
	p->holds = NULL;
	p->obj = NULL;
}

static int start_helper(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	struct espy_bpf_pausing *pausing = &s->shared->pausing;
	struct bpf_helper helper;
	int err;

	p->duty = (struct bpf_helper_duty){ .pausing = pausing, .holds = p->holds, .wake = p->wake };
	err = bpf_helper__start(&helper, &p->duty, p->why, sizeof(p->why));
	if (err)
		return err;
	pthread_mutex_lock(&p->lock);
	p->helper = helper;
	pthread_mutex_unlock(&p->lock);
	s->shared->own_tgid[ESPY_OWN_HOLD] = (uint32_t)helper.pid;
	pausing->helper = (uint32_t)helper.mapper;
	pausing->base = helper.base;
	return 0;
}

static void switch_on(struct bpf_source *s)
{
	__atomic_store_n(&s->shared->pausing.on, 1, __ATOMIC_SEQ_CST);
}

static int load_and_link(struct bpf_source *s)
{
	struct bpf_pause *p = s->pause;
	struct espy_bpf_pausing *pausing = &s->shared->pausing;
	int err;

	espy_quiet_libbpf__begin();
	err = load_programs(s);
	espy_quiet_libbpf__end();
	if (err)
		snprintf(p->why, sizeof(p->why), NO_FUNCTIONS);
	err = err ? err : start_helper(s);
	if (err)
		return err;
	pausing->longest_ns[ESPY_PAUSE_RING_FULL] = s->opts.hold.max_ns;
	err = bpf_source_link_next(s->obj, "espy_raw_next", ESPY_NEXT_PAUSE, s->pause->obj, "espy_raw_hold");
	if (!err && s->tables.narrow)
		err = bpf_source_link_next(s->obj, "espy_one_next", ESPY_NEXT_PAUSE, s->pause->obj, "espy_one_hold");
	if (err) {
		snprintf(p->why, sizeof(p->why), "the programs do not fit together: %s", strerror(-err));
		return err;
	}
	switch_on(s);
	__atomic_store_n(&p->ready, true, __ATOMIC_RELEASE);
	return 0;
}

/* Programs and helper. -errno, then p->failed is set and p->why says it. */
static int make_ready(struct bpf_source *s)
{
	int err = load_and_link(s);

	if (err) {
		bpf_helper__end(&s->pause->helper);
		bpf_pause__drop_programs(s->pause);
		__atomic_store_n(&s->pause->failed, true, __ATOMIC_RELEASE);
	}
	return err;
}

int bpf_pause__new_helper(struct bpf_source *s)
{
	int err = start_helper(s);

	if (err)
		__atomic_store_n(&s->pause->failed, true, __ATOMIC_RELEASE);
	else
		switch_on(s);
	return err;
}

int bpf_pause__probe(char *why, size_t why_sz)
{
	static const char *const functions[] = { "bpf_task_work_schedule_resume_impl", "bpf_task_from_pid" };
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_helper helper;
	int err = 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && !err; i++)
		if (!btf || btf__find_by_name_kind(btf, functions[i], BTF_KIND_FUNC) < 0)
			err = -EOPNOTSUPP;
	btf__free(btf);
	if (err) {
		snprintf(why, why_sz, NO_FUNCTIONS);
		return err;
	}
	err = bpf_helper__start(&helper, NULL, why, why_sz);
	if (!err)
		bpf_helper__end(&helper);
	return err;
}

/* Makes programs, helper and thread ready. */
static int make_all_ready(struct bpf_source *s)
{
	int err = make_ready(s);

	if (err && must_hold(s))
		bpf_source_report(s, ESPY_REPORT_ERROR, "tasks cannot be held here: %s", s->pause->why);
	return err ? err : bpf_pause__start_thread(s);
}

bool bpf_pause__is_late(const struct bpf_source *s)
{
	return s->pause && s->pause->late;
}

static void make_later(struct bpf_job *job)
{
	struct bpf_pause_later *later = (struct bpf_pause_later *)job;

	make_all_ready(later->s);
	__atomic_store_n(&later->done, true, __ATOMIC_RELEASE);
}

/* Tells whether it is time to get ready for holds. */
static bool is_time(const struct bpf_source *s, uint64_t now_ns)
{
	return now_ns - s->loaded_ns > LATE_AFTER_NS || bpf_source_unread(s) > LATE_ABOVE(bpf_source_room(s));
}

void bpf_pause__tend(struct bpf_source *s, uint64_t now_ns)
{
	struct bpf_pause_later *later = &s->pause->later;

	/* Not after the end, which would not wait for the thread: it works on memory that is freed then. */
	if (!later->begun && !s->pause->ending && is_time(s, now_ns)) {
		later->s = s;
		later->begun = true;
		bpf_job__start(&later->job, make_later);
	}
	if (__atomic_load_n(&later->done, __ATOMIC_ACQUIRE)) {
		bpf_job__wait(&later->job);
		s->pause->late = false;
	}
}

int bpf_pause__begin(struct bpf_source *s)
{
	struct bpf_pause *p;
	int err = 0;

	if (!bpf_pause__wants_lossless(s) && !wants_hand(s))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->wake < 0) {
		err = -errno;
		free(p);
		return err;
	}
	p->helper = (struct bpf_helper){ .alive = -1, .pidfd = -1, .poke = -1 };
	pthread_mutex_init(&p->lock, NULL);
	s->pause = p;
	p->late = s->for_command && !must_hold(s) && !s->opts.rings.bytes;
	err = p->late ? 0 : make_all_ready(s);
	return must_hold(s) ? err : 0;
}
