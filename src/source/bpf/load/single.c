/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tracepoints of single system calls. They cost unwanted calls less than the tracepoints of all calls, but the kernel
 * takes tens of milliseconds to let go of each. So a session starts with the tracepoints of all calls. It changes over
 * once it has lasted so long that this pays.
 *
 * No call may be lost or recorded twice on the way. While both programs are attached, the general one runs first,
 * records and leaves a mark for the task; the other one takes the mark away (shared.h, ESPY_MARK_*). So does the
 * general one at the task's next call. Only one kind of mark can mislead: a call left it that began before the other
 * program was attached, and the task has made no call since. espy finds these marks in three steps. It asks
 * (QUESTIONED). It waits until every call that was on its way has ended: a grace period of the kernel, which a small
 * process waits out. It looks which marks are unchanged.
 *
 * 32-bit calls have no such tracepoints. A task can make them if its program is a 32-bit one, as exec tells, or /proc
 * for a program that runs already. Then espy attaches the general program again, for such calls alone. A quick reader
 * does so before the new program's first instruction; else espy reports missing calls. A 64-bit program that uses int
 * 0x80 cannot be known beforehand. espy finds it when it forks, gets a signal or ends by such a call, and then reports
 * it. If functions of the kernel can be probed, a probe that only 32-bit calls meet finds it at once and counts the
 * missing calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "base/clock.h"
#include "source/quiet_libbpf.h"
#include "source/tracefs.h"
#include "source/bpf/bpf_source.h"

#define SETTLED_NS 1000000000ull
#define TASKS_ASKED 512u /* running tasks whose programs espy looks at; with more there is no change */

/* Opens the event of one call, disabled. Returns a descriptor. */
static int open_event(const struct bpf_source *s, int tracefs, uint32_t nr, bool at_exit)
{
	const struct espy_image *img = s->sets[ESPY_ABI_NATIVE].image;
	char name[128];

	if (nr >= img->syscall_cnt)
		return -ENOENT;
	if ((size_t)snprintf(name, sizeof(name), "syscalls/sys_%s_%s", at_exit ? "exit" : "enter",
			     espy_image__event_name(img, nr)) >= sizeof(name))
		return -ENAMETOOLONG;
	return espy_tracefs__open_event(tracefs, name);
}

static int attach_event(struct bpf_source *s, int tracefs, uint32_t nr, bool at_exit)
{
	struct bpf_program *prog =
		bpf_object__find_program_by_name(s->single, at_exit ? "espy_one_exit" : "espy_one_enter");
	int fd = open_event(s, tracefs, nr, at_exit), err;

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(prog)) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		err = -errno;
		close(fd);
		return err;
	}
	s->events[s->event_cnt++] = fd;
	return 0;
}

/* Loads the programs for single tracepoints, on the maps of the session. */
static int load_programs(struct bpf_source *s, bool enters, bool exits)
{
	/* The kernel can probe its functions if it has this kind of event. */
	bool guard = exits && s->tables.compat && !access("/sys/bus/event_source/devices/kprobe/type", F_OK);
	struct bpf_verify verify = { .source = s, .obj = &s->single };
	struct bpf_program *prog;
	int err = bpf_source_open_again(&s->single, s);

	if (err)
		return err;
	bpf_object__for_each_program(prog, s->single) {
		const char *name = bpf_program__name(prog);

		bpf_program__set_autoload(prog, (enters && !strcmp(name, "espy_one_enter")) ||
							(exits && !strncmp(name, "espy_one_exit", 13)) ||
							(exits && s->tables.tell_fds && !strcmp(name, "espy_one_fdname")) ||
							(guard && !strcmp(name, "espy_compat_call")));
	}
	err = bpf_verify__begin(&verify);
	if (err)
		return err;
	err = bpf_verify__end(&verify, NULL, bpf_object__load(s->single));
	if (!err && exits)
		err = bpf_source_link_next(s->single, "espy_one_next", ESPY_NEXT_GENERAL, s->single,
					   "espy_one_exit_general");
	if (!err && exits && s->tables.tell_fds)
		err = bpf_source_link_next(s->single, "espy_one_next", ESPY_NEXT_FDNAME, s->single, "espy_one_fdname");
	if (!err && guard) {
		s->guard = bpf_program__attach_kprobe(bpf_object__find_program_by_name(s->single, "espy_compat_call"),
						      false, "ia32_sys_call");
		__atomic_store_n(&s->shared->guarded, s->guard != NULL, __ATOMIC_SEQ_CST);
	}
	return err;
}

/* A thread does it: loading takes tens of milliseconds, and attaching waits for processes that let go of events. */
struct bpf_change {
	struct bpf_job job;
	struct bpf_source *s;
	bool enters, exits;
	int tracefs;
	int probe; /* the event opened first; closing it takes the grace period */
	int err;
	const char *failed; /* the call at which the change failed, or NULL */
	bool done;
	bool stop; /* the session ends: no more is worth while */
};

/* Makes one call that does nothing, and tells which programs have seen it, in order. */
static uint32_t probe_call(struct espy_bpf_shared *shared, int which)
{
	shared->probe_order = 0;
	__atomic_store_n(&shared->probe_tid, (uint32_t)gettid(), __ATOMIC_SEQ_CST);
	if (which == 0)
		syscall(SYS_getppid);
	else if (which == 1)
		syscall(SYS_getuid);
	else
		syscall(SYS_getgid);
	__atomic_store_n(&shared->probe_tid, 0, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&shared->probe_order, __ATOMIC_SEQ_CST);
}

/*
 * Returns whether the program of all calls runs first, as the marks need it. It does not if another tool watched single
 * calls before espy: the kernel has one place for all of them. A call of our own tells, before a call of a watched task
 * matters.
 */
static int probe_order(struct bpf_change *c)
{
	struct bpf_source *s = c->s;
	int err;

	for (int i = 0; i < 3; i++) {
		if (probe_call(s->shared, i) != 01 || s->shared->probe_nr >= ESPY_BPF_NRS)
			return -EBUSY;
		if (!(s->tables.calls[s->shared->probe_nr].flags & ESPY_CALL_WANTED)) {
			err = attach_event(s, c->tracefs, s->shared->probe_nr, true);
			if (err)
				return err;
			c->probe = s->events[--s->event_cnt];
			return probe_call(s->shared, i) == 012 ? 0 : -EBUSY;
		}
	}
	return -EBUSY;
}

static int attach_programs(struct bpf_change *c)
{
	struct bpf_source *s = c->s;
	const struct bpf_tables *t = &s->tables;
	int err;

	espy_quiet_libbpf__begin();
	err = load_programs(s, c->enters, c->exits);
	espy_quiet_libbpf__end();
	if (err)
		return err;
	s->events = calloc(2 * ESPY_BPF_NRS, sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	err = c->exits ? probe_order(c) : 0;
	if (err)
		return err;
	for (uint32_t nr = 0; nr < ESPY_BPF_NRS; nr++) {
		if (c->enters && s->shared->enters[nr / 64] >> (nr % 64) & 1)
			err = attach_event(s, c->tracefs, nr, false);
		/* An unknown number fails at once and overwrites nothing: its exit tells all. */
		if (err == -ENOENT)
			err = 0;
		if (!err && c->exits && t->calls[nr].flags & ESPY_CALL_WANTED)
			err = attach_event(s, c->tracefs, nr, true);
		if (!err && __atomic_load_n(&c->stop, __ATOMIC_RELAXED))
			err = -ECANCELED;
		if (err) {
			c->failed = espy_image__event_name(s->sets[ESPY_ABI_NATIVE].image, nr);
			return err;
		}
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

/*
 * Begins to wait until all calls that are on their way through the tracepoints have left them. The kernel waits for
 * that before it lets go of an event, so this function opens one that hardly another tool has open. s->grace is
 * readable when the wait is over.
 */
static int begin_grace(struct bpf_source *s, int tracefs)
{
	const struct espy_image *img = s->sets[ESPY_ABI_NATIVE].image;
	uint32_t nr = (uint32_t)getpid() % (img->syscall_cnt ? img->syscall_cnt : 1);
	int event = -ENOENT;

	for (uint32_t i = 0; i < img->syscall_cnt && event < 0; i++, nr = (nr + 1) % img->syscall_cnt)
		if (nr < ESPY_BPF_NRS && !(s->tables.calls[nr].flags & ESPY_CALL_WANTED))
			event = open_event(s, tracefs, nr, true);
	return event < 0 ? event : bpf_release(&event, 1, &s->grace);
}

/* Takes away marks that were asked and are unchanged, and asks the others. Returns the number of the latter. */
static size_t settle_marks(struct bpf_source *s)
{
	size_t asked = 0;

	for (size_t i = 0; i < s->mark_cnt * ESPY_BPF_MARKS; i += 8) {
		uint64_t eight;

		memcpy(&eight, s->marks + i, 8);
		for (size_t k = i; eight && k < i + 8; k++) {
			uint8_t was = ESPY_MARK_QUESTIONED;

			if (__atomic_compare_exchange_n(&s->marks[k], &was, ESPY_MARK_NONE, false, __ATOMIC_SEQ_CST,
							__ATOMIC_SEQ_CST))
				continue;
			if (was == ESPY_MARK_RECORDED &&
			    __atomic_compare_exchange_n(&s->marks[k], &was, ESPY_MARK_QUESTIONED, false,
							__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
				asked++;
		}
	}
	return asked;
}

static bool compat_seen(const struct bpf_source *s)
{
	return __atomic_load_n(&s->shared->compat_seen, __ATOMIC_SEQ_CST);
}

/* Returns whether a running task belongs to a 32-bit program, or there are too many tasks to look at. */
static bool compat_running(const struct bpf_source *s)
{
	if (s->tasks.cnt > TASKS_ASKED)
		return true;
	for (size_t i = 0; i < s->tasks.cnt; i++)
		if (bpf_task_is_32bit(s->tasks.tids[i]))
			return true;
	return false;
}

static int map_marks(struct bpf_source *s)
{
	void *at = mmap(NULL, s->mark_cnt * ESPY_BPF_MARKS, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_marks")), 0);

	if (at == MAP_FAILED)
		return -errno;
	s->marks = at;
	return 0;
}

static void do_change(struct bpf_job *job)
{
	struct bpf_change *c = (struct bpf_change *)job;

	c->err = attach_programs(c);
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
}

/* Keeps the reason why there is no change, or why it ended early, for bpf_source_tell_single(). */
static void refuse(struct bpf_source *s, const char *call, int err)
{
	if (err == -ECANCELED)
		return;
	if (err == -EBUSY)
		snprintf(s->unchanged, sizeof(s->unchanged), "another tracer watches single calls");
	else
		snprintf(s->unchanged, sizeof(s->unchanged), "%s%.80s: %s", call ? "tracepoint of " : "", call ? call : "tracefs",
			 strerror(-err));
}

void bpf_source_use_single(struct bpf_source *s)
{
	bool enters = s->raw_enter != NULL, exits = s->tables.narrow;
	struct bpf_change *c;
	int err;

	if (s->switched || !s->set[ESPY_ABI_NATIVE])
		return;
	s->switched = true;
	if (!enters && !exits)
		return;
	if (s->tables.compat && (compat_seen(s) || compat_running(s))) {
		snprintf(s->unchanged, sizeof(s->unchanged), "32-bit programs run, or too many tasks to be asked");
		return;
	}
	c = calloc(1, sizeof(*c));
	err = !c ? -ENOMEM : exits ? map_marks(s) : 0;
	if (!err) {
		*c = (struct bpf_change){ .s = s, .enters = enters, .exits = exits, .tracefs = espy_tracefs__open(), .probe = -1 };
		err = c->tracefs < 0 ? c->tracefs : 0;
	}
	if (err) {
		refuse(s, NULL, err);
		free(c);
		return;
	}
	s->change = c;
	bpf_job__start(&c->job, do_change);
}

/* Takes over the attached programs; if they could not be attached, all stays as it was. */
static void end_change(struct bpf_source *s)
{
	struct bpf_change *c = s->change;
	int err;

	bpf_job__wait(&c->job);
	s->change = NULL;
	err = c->err;
	if (!err && c->exits) {
		settle_marks(s);
		err = bpf_release(&c->probe, 1, &s->grace);
		c->probe = -1;
	}
	if (c->probe >= 0)
		bpf_release(&c->probe, 1, NULL);
	if (err) {
		refuse(s, c->failed, err);
		bpf_source_drop_events(s);
	} else {
		s->single_cnt = s->event_cnt;
	}
	if (!err && c->enters && s->raw_enter) {
		drop_link(s, &s->raw_enter);
		s->enters_over = true;
	}
	close(c->tracefs);
	free(c);
}

/* Changes exits over when the grace period is over; begins another one if a call was just on its way. */
static void go_on(struct bpf_source *s)
{
	struct pollfd end = { .fd = s->grace, .events = POLLIN };
	bool over;
	char c;

	if (!compat_seen(s) && poll(&end, 1, 0) <= 0)
		return;
	over = end.revents && read(s->grace, &c, 1) == 1;
	close(s->grace);
	s->grace = -1;
	if (!over || compat_seen(s)) {
		bpf_source_drop_events(s);
		return;
	}
	if (settle_marks(s)) {
		int tracefs = espy_tracefs__open();

		if (tracefs < 0 || begin_grace(s, tracefs))
			bpf_source_drop_events(s);
		if (tracefs >= 0)
			close(tracefs);
		return;
	}
	__atomic_store_n(&s->shared->handed, 1, __ATOMIC_SEQ_CST);
	s->exits_over = true;
	/* The program at exec writes and reads in the other order: one of the two sees the other's value. */
	if (compat_seen(s))
		__atomic_store_n(&s->shared->all_back, 1, __ATOMIC_SEQ_CST);
	else
		drop_link(s, &s->raw_exit);
}

/* Attaches the programs of all calls again, because a task makes 32-bit calls; at exits they serve only such calls. */
static void come_back(struct bpf_source *s)
{
	if (s->exits_over && !s->raw_exit && bpf_source_attach(s, "espy_raw_exit", NULL, &s->raw_exit))
		bpf_source_report(s, ESPY_REPORT_WARN, "32-bit calls are not seen: %s", strerror(errno));
	if (s->enters_over && !s->raw_enter)
		bpf_source_attach(s, "espy_raw_enter", "sys_enter", &s->raw_enter);
	__atomic_store_n(&s->shared->all_back, 1, __ATOMIC_SEQ_CST);
	s->back_ns = espy_now_ns();
}

void bpf_source_tend_single(struct bpf_source *s)
{
	if (s->change && __atomic_load_n(&s->change->done, __ATOMIC_ACQUIRE))
		end_change(s);
	if (s->grace >= 0)
		go_on(s);
	if (!s->tables.compat || !(s->enters_over || s->exits_over))
		return;
	if (compat_seen(s) && !s->shared->all_back)
		come_back(s);
	bpf_source_say_missed(s, false);
}

void bpf_source_tell_single(const struct bpf_source *s, char *text, size_t size)
{
	const bool back = s->shared && s->shared->all_back;

	if (s->loaded && s->tables.none)
		snprintf(text, size, "no program runs at calls");
	else if (!s->loaded || s->opts.count_only)
		snprintf(text, size, "%s", "");
	else if (s->opts.needs.enter_ns)
		snprintf(text, size, "programs run at all calls: the times of entries are wanted (-T, record)");
	else if (*s->unchanged || back)
		snprintf(text, size, "programs run at all calls: %s", back ? "32-bit calls are made" : s->unchanged);
	else if (s->exits_over)
		snprintf(text, size, "programs run at %zu calls only", s->single_cnt);
	else if (s->enters_over)
		snprintf(text, size, "programs run at the exits of all calls, and at the entries of %zu", s->single_cnt);
	else if (s->reads_enters)
		snprintf(text, size, "programs run at all calls: single ones come later");
	else
		snprintf(text, size, "programs run at the exits of all calls, and at no entry");
}

void bpf_source_say_missed(struct bpf_source *s, bool at_end)
{
	uint32_t missed, calls;

	if (!s->shared || !s->exits_over)
		return;
	missed = __atomic_exchange_n(&s->shared->missed, 0, __ATOMIC_SEQ_CST);
	if (missed)
		bpf_source_report(s, ESPY_REPORT_WARN,
				  "process %u made 32-bit calls before they could be watched: "
				  "some of them may be missing%s",
				  s->shared->missed_tid, missed > 1 ? " (and of other processes)" : "");
	/* Not while a program may still see a counted call end. */
	if (!at_end && (!s->back_ns || espy_now_ns() - s->back_ns < SETTLED_NS))
		return;
	calls = __atomic_exchange_n(&s->shared->missed_calls, 0, __ATOMIC_SEQ_CST);
	if (calls)
		bpf_source_report(s, ESPY_REPORT_WARN,
				  "%u 32-bit calls (of process %u) began before they could be watched: lost", calls,
				  s->shared->missed_tid);
}

void bpf_source_check_compat(struct bpf_source *s, uint32_t tid)
{
	if (!s->switched || !s->tables.compat || compat_seen(s) || !bpf_task_is_32bit(tid))
		return;
	__atomic_store_n(&s->shared->compat_seen, 1, __ATOMIC_SEQ_CST);
	bpf_source_tend_single(s);
}

void bpf_source_drop_events(struct bpf_source *s)
{
	struct bpf_change *c = s->change;

	s->change = NULL;
	if (c) {
		__atomic_store_n(&c->stop, true, __ATOMIC_RELAXED);
		bpf_job__wait(&c->job);
		if (c->probe >= 0)
			bpf_release(&c->probe, 1, NULL);
		close(c->tracefs);
		free(c);
	}
	if (s->event_cnt)
		bpf_release(s->events, s->event_cnt, NULL);
	free(s->events);
	s->events = NULL;
	s->event_cnt = 0;
}
