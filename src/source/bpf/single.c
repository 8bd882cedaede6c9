/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tracepoints of single system calls. They cost the calls that are not wanted less than the tracepoints of all calls,
 * but the kernel takes tens of milliseconds to let go of each. So a session starts with those of all calls, and
 * changes over once it has seen enough calls for that to pay.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "bpf_source.h"

static int attach_event(struct bpf_source *s, int tracefs, uint32_t nr, bool at_exit)
{
	struct bpf_program *prog =
		bpf_object__find_program_by_name(s->single, at_exit ? "espy_one_exit" : "espy_one_enter");
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .sample_period = 1 };
	const struct espy_image *img = s->sets[ESPY_ABI_X86_64].image;
	int id, fd, err;

	if (nr >= img->syscall_cnt)
		return -ENOENT;
	id = bpf_tracefs_event_id(tracefs, espy_image__str(img, img->syscalls[nr].name), at_exit);
	if (id < 0)
		return id;
	attr.config = (uint64_t)id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		err = -errno;
		close(fd);
		return err;
	}
	s->events[s->event_cnt++] = fd;
	return 0;
}

/* The programs for single tracepoints, on the maps that the session already has. */
static int load_programs(struct bpf_source *s, bool enters, bool exits)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	int err;

	err = bpf_source_open_object(&s->single, s);
	if (err)
		return err;
	bpf_object__for_each_map(map, s->single) {
		struct bpf_map *own = bpf_object__find_map_by_name(s->obj, bpf_map__name(map));

		err = own ? bpf_map__reuse_fd(map, bpf_map__fd(own)) : -ENOENT;
		if (err)
			return err;
	}
	bpf_object__for_each_program(prog, s->single) {
		const char *name = bpf_program__name(prog);

		bpf_program__set_autoload(prog, (enters && !strcmp(name, "espy_one_enter")) ||
							(exits && !strncmp(name, "espy_one_exit", 13)));
	}
	err = bpf_object__load(s->single);
	if (!err && exits)
		err = bpf_source_link_next(s->single, "espy_one_next", 0, "espy_one_exit_general");
	return err;
}

static int change_over(struct bpf_source *s, int tracefs, bool enters, bool exits)
{
	const struct bpf_tables *t = &s->tables;
	int err;

	err = load_programs(s, enters, exits);
	if (err)
		return err;
	s->events = calloc(2 * ESPY_BPF_NRS, sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	for (uint32_t nr = 0; nr < ESPY_BPF_NRS; nr++) {
		if (enters && s->shared->enters[nr / 64] >> (nr % 64) & 1)
			err = attach_event(s, tracefs, nr, false);
		if (!err && exits && t->calls[nr].flags & ESPY_CALL_WANTED)
			err = attach_event(s, tracefs, nr, true);
		if (err)
			return err;
	}
	return 0;
}

static void drop_link(struct bpf_source *s, struct bpf_link **which)
{
	for (size_t i = 0; i < s->link_cnt; i++) {
		if (s->links[i] != *which)
			continue;
		bpf_link__destroy(*which);
		s->links[i] = s->links[--s->link_cnt];
		break;
	}
	*which = NULL;
}

void bpf_source_use_single(struct bpf_source *s)
{
	/* The calls of 32-bit tasks have no such tracepoints: who wants their entries keeps the program for all. */
	bool enters = s->raw_enter != NULL, exits = s->tables.narrow;
	int tracefs;

	if (s->switched || !s->set[ESPY_ABI_X86_64])
		return;
	s->switched = true;
	if (!enters && !exits)
		return;
	tracefs = bpf_tracefs_open();
	if (tracefs < 0)
		return;
	if (!change_over(s, tracefs, enters, exits)) {
		if (exits)
			__atomic_store_n(&s->shared->take_over, 1, __ATOMIC_SEQ_CST);
		if (enters)
			drop_link(s, &s->raw_enter);
	} else {
		bpf_source_drop_events(s);
	}
	close(tracefs);
}

/*
 * Letting go of the events takes long, inside the kernel and under a lock: left to a process of its own that has
 * nothing else open and ends as soon as it is done, so that neither the caller nor a reader of its output waits for it.
 */
void bpf_source_drop_events(struct bpf_source *s)
{
	pid_t pid = s->event_cnt ? fork() : -1;

	if (!pid) {
		if (!fork()) {
			unsigned first = 0;

			/* Events were opened one after the other: ascending. */
			for (size_t i = 0; i < s->event_cnt; i++) {
				if ((unsigned)s->events[i] > first)
					syscall(SYS_close_range, first, (unsigned)s->events[i] - 1, 0);
				first = (unsigned)s->events[i] + 1;
			}
			syscall(SYS_close_range, first, ~0u, 0);
		}
		_exit(0);
	}
	for (size_t i = 0; i < s->event_cnt; i++)
		close(s->events[i]);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(s->events);
	s->events = NULL;
	s->event_cnt = 0;
}
