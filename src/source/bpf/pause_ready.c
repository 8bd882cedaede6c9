/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holding tasks: is it wanted, can it be done here, and making all ready for it: the programs of pause.bpf.c, the pages
 * that tasks sleep on, the helper process that has them.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include "object.h"
#include "pause_impl.h"

#define NEXT_PAUSE 2 /* in the rows of programs, see espy.bpf.c */
/* Room above the mark for what tasks have on their way when they are told to wait. */
#define HEAD_ROOM (8u << 20)
#define NO_FUNCTIONS "the kernel cannot hold a task on its way out of a call (Linux 6.18 can)"

static bool wants_lossless(const struct bpf_source *s)
{
	return s->opts.lossless != ESPY_LOSSLESS_NEVER && !s->opts.count_only && !s->opts.flight_bytes;
}

static bool wants_hand(const struct bpf_source *s)
{
	for (size_t i = 0; i < s->opts.trigger_cnt; i++)
		if (s->opts.triggers[i].action == ESPY_TRIGGER_PAUSE)
			return true;
	return false;
}

uint64_t bpf_pause__high(const struct bpf_source *s, uint64_t size)
{
	if (!wants_lossless(s))
		return 0;
	return size > 2 * HEAD_ROOM ? size - HEAD_ROOM : size / 2;
}

static int load_programs(struct bpf_source *s, bool by_signal)
{
	struct bpf_pause *p = s->pause;
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "espy", /* by it, too, shared memory is found */
		    .btf_custom_path = *s->types.path ? s->types.path : NULL);
	const unsigned char *from = s->rings.cnt ? espy_bpf_pause_rings_object : espy_bpf_pause_object;
	const unsigned char *end = s->rings.cnt ? espy_bpf_pause_rings_object_end : espy_bpf_pause_object_end;
	struct bpf_program *prog;
	struct bpf_map *map;
	int err;

	p->obj = bpf_object__open_mem(from, (size_t)(end - from), &opts);
	if (!p->obj)
		return -errno;
	bpf_object__for_each_map(map, p->obj) {
		struct bpf_map *own = bpf_object__find_map_by_name(s->obj, bpf_map__name(map));

		err = own ? bpf_map__reuse_fd(map, bpf_map__fd(own)) : 0;
		if (err)
			return err;
	}
	bpf_object__for_each_program(prog, p->obj) {
		const char *name = bpf_program__name(prog);

		bpf_program__set_autoload(prog, by_signal == !!strstr(name, "_stop"));
	}
	err = bpf_object__load(p->obj);
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

static int link_row(struct bpf_source *s, const char *row, const char *program)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(s->pause->obj, program);
	struct bpf_map *array = bpf_object__find_map_by_name(s->obj, row);
	uint32_t key = NEXT_PAUSE, fd;

	if (!prog || !array)
		return -ENOENT;
	fd = (uint32_t)bpf_program__fd(prog);
	return bpf_map_update_elem(bpf_map__fd(array), &key, &fd, BPF_ANY) ? -errno : 0;
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

/* The helper, when espy is gone: whoever is stopped by a signal would stay so. The programs may last a little longer. */
static void continue_all(void *ctx)
{
	const struct bpf_pause *p = ((const struct bpf_source *)ctx)->pause;

	for (int i = 0; i < 50; i++) {
		struct timespec t = { .tv_nsec = 10000000 };

		for (size_t k = 0; k < ESPY_BPF_HOLDS; k++)
			if (p->holds[k].tid)
				kill((pid_t)p->holds[k].tgid, SIGCONT);
		nanosleep(&t, NULL);
	}
}

static int make_ready_as(struct bpf_source *s, bool by_signal)
{
	struct bpf_pause *p = s->pause;
	struct espy_bpf_pausing *pausing = &s->shared->pausing;
	const char *kind = by_signal ? "stop" : "hold";
	char name[32];
	int err;

	err = load_programs(s, by_signal);
	if (err)
		snprintf(p->why, sizeof(p->why), "%s",
			 by_signal ? "the kernel refuses the programs" :
				     NO_FUNCTIONS);
	p->duty = (struct bpf_helper_duty){
		.orphaned = by_signal ? continue_all : NULL,
		.deserted = by_signal ? NULL : bpf_pause__deserted,
		.ctx = s,
		.wake = p->poke,
		.keeper = &pausing->keeper,
		.beat = &pausing->beat,
	};
	if (!err)
		err = by_signal ? bpf_pages__open_helper(&p->pages, &p->duty) :
				  bpf_pages__open(&p->pages, ESPY_BPF_HOLDS, &p->duty, p->why, sizeof(p->why));
	if (err) {
		bpf_pause__drop_programs(p);
		return err;
	}
	p->by_signal = by_signal;
	pausing->helper = (uint32_t)p->pages.helper;
	pausing->base = (uint64_t)(uintptr_t)p->pages.base;
	pausing->low = bpf_pause__high(s, bpf_source_room(s)) / 2;
	snprintf(name, sizeof(name), "espy_raw_%s", kind);
	err = link_row(s, "espy_raw_next", name);
	snprintf(name, sizeof(name), "espy_one_%s", kind);
	err = err ? err : link_row(s, "espy_one_next", name);
	if (err) {
		snprintf(p->why, sizeof(p->why), "the programs do not fit together: %s", strerror(-err));
		return err;
	}
	__atomic_store_n(&pausing->on, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->ready, true, __ATOMIC_RELEASE);
	return 0;
}

int bpf_pause__make_ready(struct bpf_source *s)
{
	int err = make_ready_as(s, false);

	/* A stop is not what "without anyone noticing" means: only for who insists. */
	if (err && (s->opts.lossless == ESPY_LOSSLESS_ALWAYS || wants_hand(s)))
		err = make_ready_as(s, true);
	if (err)
		__atomic_store_n(&s->pause->failed, true, __ATOMIC_RELEASE);
	return err;
}

int bpf_pause__probe(char *why, size_t why_sz)
{
	static const char *const functions[] = { "bpf_task_work_schedule_resume_impl", "bpf_task_from_pid" };
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_pages pages;
	int err = 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && !err; i++)
		if (!btf || btf__find_by_name_kind(btf, functions[i], BTF_KIND_FUNC) < 0)
			err = -EOPNOTSUPP;
	btf__free(btf);
	if (err) {
		snprintf(why, why_sz, NO_FUNCTIONS);
		return err;
	}
	err = bpf_pages__open(&pages, 1, NULL, why, why_sz);
	if (!err)
		bpf_pages__close(&pages);
	return err;
}

int bpf_pause__begin(struct bpf_source *s)
{
	bool must = s->opts.lossless == ESPY_LOSSLESS_ALWAYS || wants_hand(s);
	struct bpf_pause *p;
	int err = 0;

	if (!wants_lossless(s) && !wants_hand(s))
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->poke < 0) {
		err = -errno;
		free(p);
		return err;
	}
	pthread_mutex_init(&p->lock, NULL);
	s->pause = p;
	if (must || bpf_source_room(s) <= SMALL_RING)
		err = bpf_pause__make_ready(s);
	if (err && must) {
		bpf_source_report(s, ESPY_REPORT_ERROR, "tasks cannot be held here: %s", p->why);
		return err;
	}
	if (p->by_signal)
		bpf_source_report(s, ESPY_REPORT_WARN,
				  "tasks are held by SIGSTOP, which their parents can see, because %s", p->why);
	else if (!err && bpf_pause__start_thread(s) && must)
		return -EAGAIN;
	return 0;
}
