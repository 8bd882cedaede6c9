/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "hold_harness.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "small_image.h"
#include "tests/wait.h"

struct espy_image image;
const struct espy_trigger on_getpgrp = { .nr = SYS_getpgrp, .action = ESPY_TRIGGER_PAUSE };

static struct rig *rigs[8];

struct rig *make_rig(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	for (size_t i = 0; i < sizeof(rigs) / sizeof(rigs[0]); i++)
		if (!rigs[i]) {
			rigs[i] = r;
			break;
		}
	return r;
}

static void on_report(void *ctx, enum espy_report_level level, const char *text)
{
	struct rig *r = ctx;

	if (level == ESPY_REPORT_NOTE)
		return;
	r->warnings++;
	snprintf(r->warning, sizeof(r->warning), "%s", text);
}

bool sleeps_held(pid_t tid)
{
	char path[64], name[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)tid);
	f = fopen(path, "r");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return !strcmp(name, "request_wait_answer");
}

bool is_outrun(struct rig *r)
{
	struct espy_source_stats st = { 0 };
	char path[64];
	bool held = sleeps_held(r->pid);
	FILE *f;

	r->s->ops->stats(r->s, &st);
	if (held || st.lost[0] + st.lost[1] + st.lost[2] + st.lost[3])
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)r->pid, (int)r->pid);
	f = fopen(path, "r");
	for (int child; f && !held && fscanf(f, "%d", &child) == 1;)
		held = sleeps_held(child);
	if (f)
		fclose(f);
	return held;
}

int take(void *ctx, const struct espy_rec *rec)
{
	struct rig *r = ctx;
	uint64_t fd;

	r->records += rec->type != ESPY_REC_LOST && rec->type != ESPY_REC_PAUSE;
	switch (rec->type) {
	case ESPY_REC_EXIT:
		r->exits[rec->nr & 511]++;
		memcpy(&fd, (const char *)rec + sizeof(struct espy_rec_call), 8);
		if (rec->nr <= SYS_write && fd == rec->nr)
			r->on_fd[fd]++; /* read of 0, write to 1 */
		break;
	case ESPY_REC_LOST:
		r->lost += ((const struct espy_rec_lost *)rec)->count;
		break;
	case ESPY_REC_PAUSE: {
		uint64_t ns = ((const struct espy_rec_pause *)rec)->duration_ns;

		r->pauses++;
		r->asked_pauses += rec->nr == ESPY_PAUSE_ASKED;
		r->paused_ns += ns;
		if (ns > r->longest_ns)
			r->longest_ns = ns;
		break;
	}
	}
	if (r->slow_us && !(r->records % r->slow_every)) {
		if (!r->outran && !WAIT_UNTIL(is_outrun(r)))
			fail_msg("the subject did not outrun a reader that reads nothing");
		r->outran = true;
		wait_moment_us(r->slow_us); /* sleeps: a reader that is slow */
	}
	return 0;
}

void open_source(struct rig *r, const struct espy_source_opts *with)
{
	struct espy_source_opts opts = *with;

	opts.report = on_report;
	opts.report_ctx = r;
	opts.follow = true;
	small_image__want_all(&r->set, &image);
	assert_int_equal(espy_source_bpf.open(&r->s, &opts), 0);
	assert_int_equal(r->s->ops->set_calls(r->s, ESPY_ABI_X86_64, &r->set), 0);
}

void start_subject(struct rig *r, const char *path, char **argv)
{
	char *envp[] = { "PATH=/usr/bin:/bin", NULL };
	struct espy_command cmd = { .path = path, .argv = argv, .envp = envp };

	assert_int_equal(r->s->ops->start_command(r->s, &cmd, &r->pid), 0);
}

/* The counting subject, held at each of its calls. */
struct rig *new_rig(long calls)
{
	struct rig *r = make_rig();
	char n[16], *argv[] = { "/proc/self/exe", "count", r->file, n, "0", NULL };
	int fd;

	snprintf(n, sizeof(n), "%ld", calls);
	strcpy(r->file, "/tmp/espy-hold-XXXXXX");
	fd = mkstemp(r->file);
	assert_true(fd >= 0 && !ftruncate(fd, 4096));
	r->progress = mmap(NULL, sizeof(*r->progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(r->progress != MAP_FAILED);
	close(fd);
	open_source(r, &(struct espy_source_opts){ .triggers = &on_getpgrp, .trigger_cnt = 1 });
	start_subject(r, "/proc/self/exe", argv);
	return r;
}

bool is_held(struct rig *r, pid_t *tid)
{
	struct espy_held_task held[4];
	int n = r->s->ops->held(r->s, held, 4);

	for (int i = 0; i < n && i < 4; i++)
		if (held[i].tgid == (uint32_t)r->pid) {
			assert_int_equal(held[i].nr, SYS_getpgrp);
			*tid = (pid_t)held[i].tid;
			return true;
		}
	return false;
}

/* Each look delivers what is there, too. */
bool comes_to_be_held(struct rig *r, pid_t *tid)
{
	return WAIT_UNTIL(is_held(r, tid) || (r->end = r->s->ops->poll(r->s, take, r, 0)) < 0) && r->end >= 0;
}

pid_t wait_held(struct rig *r)
{
	pid_t tid;

	if (!comes_to_be_held(r, &tid))
		fail_msg("the subject is not held; poll returned %d", r->end);
	return tid;
}

void let_go(struct rig *r, pid_t tid)
{
	/* It may just be leaving one round for the next: asked for, it goes all the same. */
	assert_int_equal(r->s->ops->resume(r->s, tid), 0);
}

/* Lets it run to its end. */
void run_out(struct rig *r)
{
	WAIT_UNTIL((r->s->ops->resume(r->s, 0), r->end = r->s->ops->poll(r->s, take, r, 1)) < 0 && r->end != -EINTR);
	assert_int_equal(r->end, -ESRCH);
}

void free_rig(struct rig *r)
{
	for (size_t i = 0; i < sizeof(rigs) / sizeof(rigs[0]); i++)
		if (rigs[i] == r)
			rigs[i] = NULL;
	if (r->s)
		r->s->ops->close(r->s);
	if (r->progress)
		munmap(r->progress, sizeof(*r->progress));
	if (*r->file)
		unlink(r->file);
	free(r);
}

int end_rigs(void **state)
{
	for (size_t i = 0; i < sizeof(rigs) / sizeof(rigs[0]); i++) {
		struct espy_source_stats st = { 0 };
		struct rig *r = rigs[i];

		if (!r)
			continue;
		if (r->s)
			r->s->ops->stats(r->s, &st);
		*(bool *)*state |= st.unheld > 0; /* what run_again_if_starved gives */
		if (r->pid > 0)
			kill(r->pid, SIGKILL);
		free_rig(r);
	}
	return 0;
}

int run_again_if_starved(const struct CMUnitTest *test)
{
	for (int tries = 0; tries < 10; tries++) {
		bool starved = false;
		struct CMUnitTest one[] = { *test };

		one[0].initial_state = &starved;
		if (!cmocka_run_group_tests_name(test->name, one, NULL, NULL))
			return 0;
		if (!starved)
			return 1;
		print_message("espy did not run for a while and let the task go: %s once more\n", test->name);
	}
	return 1;
}

struct rig *watch(const struct espy_source_opts *opts, const char *path, char **argv, unsigned slow_us,
		  unsigned slow_every)
{
	struct rig *r = make_rig();
	struct espy_source_stats st = { 0 };

	r->slow_us = slow_us;
	r->slow_every = slow_every;
	r->outran = !opts->rings.bytes; /* a default ring: only who polls makes it ready to hold */
	open_source(r, opts);
	start_subject(r, path, argv);
	do
		r->end = r->s->ops->poll(r->s, take, r, 1000);
	while (r->end >= 0 || r->end == -EINTR);
	assert_int_equal(r->end, -ESRCH);
	r->s->ops->stats(r->s, &st);
	assert_int_equal(st.lost[0] + st.lost[1] + st.lost[2] + st.lost[3], r->lost);
	assert_int_equal(st.pauses, r->pauses);
	assert_int_equal(st.paused_ns, r->paused_ns);
	assert_int_equal(st.longest_pause_ns, r->longest_ns);
	return r;
}
