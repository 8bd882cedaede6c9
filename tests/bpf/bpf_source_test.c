/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The BPF source alone, with plans made by hand: what it records of programs that make a known number of known calls.
 * Needs the privilege to load BPF programs; else it is skipped and says why. Built twice: TEST_RINGS 1 for the ring of the
 * kernel's, 2 for one of our own per CPU.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "programs.h"
#include "small_image.h"
#include "tests/wait.h"

#define TIDS 32768

struct item {
	unsigned op, status, index, len;
	const uint8_t *bytes;
};

/* What came of one run. */
struct run {
	uint64_t records, exits[512], no_return[512], lost, forks, execs, task_exits, signals[65], ignored[65], enters;
	uint64_t bad; /* records that contradict themselves or those before */
	uint8_t born[TIDS]; /* 1: FORK seen, 2: EXIT seen, 3: TASK_EXIT seen */
	struct espy_source *slow; /* read slowly, and nothing before this source has lost something */
	uint32_t last_status, exec_old_tid;
	/* copies of the records of one call number, and of more */
	uint32_t keep_nr;
	const uint32_t *more;
	size_t more_cnt;
	struct espy_rec *kept[64];
	size_t kept_cnt;
	char names[16][64]; /* "FD NAME" */
	size_t name_cnt;
	struct espy_source_stats stats;
	int status;
	pid_t pid;
};

static struct espy_image image;
/* The calls to watch; all if there are none. */
static uint32_t only[4];
static size_t only_cnt;

static bool is_to_be_kept(const struct run *r, uint32_t nr)
{
	for (size_t i = 0; i < r->more_cnt; i++)
		if (r->more[i] == nr)
			return true;
	return r->keep_nr == nr;
}

/* Sets of[] to the records of that call among those that were kept. Returns how many there are. */
static struct espy_rec *of[64];

static size_t kept_of(const struct run *r, uint32_t nr)
{
	size_t cnt = 0;

	for (size_t i = 0; i < r->kept_cnt; i++)
		if (r->kept[i]->nr == nr)
			of[cnt++] = r->kept[i];
	return cnt;
}

static const uint8_t *items_of(const struct espy_rec *rec)
{
	return (const uint8_t *)rec + sizeof(struct espy_rec_call) + (rec->flags & ESPY_RF_ENTER_NS ? 8 : 0) +
	       (rec->flags & ESPY_RF_IP ? 8 : 0) + 8 * ESPY_REC_NARGS(rec->flags);
}

static uint64_t arg_of(const struct espy_rec *rec, unsigned i)
{
	uint64_t v;

	memcpy(&v, items_of(rec) - 8 * ESPY_REC_NARGS(rec->flags) + 8 * i, 8);
	return v;
}

/* The n-th item of a record; false if there are fewer, or if lengths do not add up. */
static bool item_at(const struct espy_rec *rec, size_t n, struct item *it)
{
	const uint8_t *at = items_of(rec), *end = (const uint8_t *)rec + rec->size;

	while (at + sizeof(struct espy_item) <= end) {
		struct espy_item h;

		memcpy(&h, at, sizeof(h));
		if (h.len > (size_t)(end - at) - sizeof(h))
			return false;
		*it = (struct item){ h.op, h.status, h.index, h.len, at + sizeof(h) };
		if (!n--)
			return true;
		at += sizeof(h) + ((h.len + 7) & ~7u);
	}
	return false;
}

static size_t item_cnt(const struct espy_rec *rec)
{
	struct item it;
	size_t n = 0;

	while (item_at(rec, n, &it))
		n++;
	return n;
}

#define assert_item(rec, n, op_, status_, index_, text)                             \
	do {                                                                        \
		struct item it_;                                                    \
		assert_true(item_at(rec, n, &it_));                                 \
		assert_int_equal(it_.op, op_);                                      \
		assert_int_equal(it_.status, status_);                              \
		assert_int_equal(it_.index, index_);                                \
		assert_int_equal(it_.len, sizeof(text) - 1);                        \
		assert_memory_equal(it_.bytes, text, sizeof(text) - 1);             \
	} while (0)

static bool has_lost(struct espy_source *s)
{
	struct espy_source_stats st;
	uint64_t n = 0;

	s->ops->stats(s, &st);
	for (size_t i = 0; i < ESPY_LOST_REASONS; i++)
		n += st.lost[i];
	return n > 0;
}

static int take(void *ctx, const struct espy_rec *rec)
{
	struct run *r = ctx;
	uint32_t tid = rec->tid % TIDS;

	if (rec->size % 8 || rec->size < sizeof(*rec))
		r->bad++;
	if (rec->type != ESPY_REC_LOST)
		r->records++;
	switch (rec->type) {
	case ESPY_REC_EXIT:
		if (rec->nr < 512) {
			r->exits[rec->nr]++;
			if (rec->flags & ESPY_RF_NO_RETURN)
				r->no_return[rec->nr]++;
		}
		if (is_to_be_kept(r, rec->nr) && r->kept_cnt < 64) {
			r->kept[r->kept_cnt] = malloc(rec->size);
			memcpy(r->kept[r->kept_cnt++], rec, rec->size);
		}
		if (r->born[tid] == 1)
			r->born[tid] = 2;
		if (r->born[tid] == 3)
			r->bad++;
		break;
	case ESPY_REC_ENTER:
		r->enters++;
		break;
	case ESPY_REC_FORK:
		r->forks++;
		r->born[((const struct espy_rec_fork *)rec)->child_tid % TIDS] = 1;
		break;
	case ESPY_REC_EXEC:
		r->execs++;
		r->exec_old_tid = ((const struct espy_rec_exec *)rec)->old_tid;
		r->born[tid] = 0;
		break;
	case ESPY_REC_TASK_EXIT:
		r->task_exits++;
		r->last_status = ((const struct espy_rec_task_exit *)rec)->status;
		if (r->born[tid] == 1 && !r->slow)
			r->bad++; /* not even its exit was seen, and nothing is meant to be lost */
		if (r->slow && !r->born[tid] && rec->tid != (uint32_t)r->pid)
			r->bad++; /* before its birth */
		r->born[tid] = 3;
		break;
	case ESPY_REC_SIGNAL:
		if (rec->flags & ESPY_SIG_IGNORED)
			r->ignored[rec->nr % 65]++;
		else
			r->signals[rec->nr % 65]++;
		break;
	case ESPY_REC_FDNAME:
		if (r->name_cnt < 16)
			snprintf(r->names[r->name_cnt++], sizeof(r->names[0]), "%d %s",
				 ((const struct espy_rec_fdname *)rec)->fd, (const char *)(rec + 1) + 8);
		break;
	case ESPY_REC_LOST:
		r->lost += ((const struct espy_rec_lost *)rec)->count;
		break;
	}
	if (r->slow && r->records == 1)
		assert_true(WAIT_UNTIL(has_lost(r->slow)));
	if (r->slow && !(r->records % 64))
		usleep(1000); /* sleeps: a reader that dawdles, so that there is room now and then */
	return 0;
}

static void watch(struct run *r, const char *program, const struct espy_source_opts *with)
{
	struct espy_source_opts opts = *with;
	struct espy_call_set set;
	struct espy_source *s;
	char *argv[] = { "/proc/self/exe", (char *)program, NULL }, *envp[] = { program_rounds_word(), NULL };
	struct espy_command cmd = { .path = "/proc/self/exe", .argv = argv, .envp = envp };
	int err;

	opts.follow = true;
	opts.rings.cnt = TEST_RINGS;
	small_image__want_all(&set, &image);
	if (only_cnt) {
		memset(set.wanted, 0, sizeof(set.wanted));
		set.all_wanted = false;
	}
	assert_int_equal(espy_source_bpf.open(&s, &opts), 0);
	if (opts.rings.bytes && opts.rings.bytes < 1u << 20)
		r->slow = s;
	if (only_cnt) {
		struct espy_call_set none = set;

		assert_int_equal(s->ops->set_calls(s, ESPY_ABI_I386, &none), 0);
		assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X32, &none), 0);
		for (size_t i = 0; i < only_cnt; i++)
			small_image__want(&set, only[i]);
	}
	assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X86_64, &set), 0);
	assert_int_equal(s->ops->start_command(s, &cmd, &r->pid), 0);
	do {
		err = s->ops->poll(s, take, r, (int)WAIT_LIMIT_MS);
		if (opts.hang_ms && r->enters) {
			kill(r->pid, SIGKILL);
			opts.hang_ms = 0;
		}
	} while (err > 0 || err == -EINTR);
	assert_int_equal(err, -ESRCH);
	assert_int_equal(s->ops->command_status(s, &r->status), 0);
	s->ops->stats(s, &r->stats);
	s->ops->close(s);
	assert_int_equal(r->bad, 0);
	assert_int_equal(r->stats.lost[0] + r->stats.lost[1] + r->stats.lost[2] + r->stats.lost[3], r->lost);
}

static struct run *new_run(uint32_t keep_nr)
{
	struct run *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->keep_nr = keep_nr;
	return r;
}

static void free_run(struct run *r)
{
	for (size_t i = 0; i < r->kept_cnt; i++)
		free(r->kept[i]);
	free(r);
}

static void every_call_once(void **state)
{
	struct run *r = new_run(SYS_writev);

	(void)state;
	watch(r, "calls", &(struct espy_source_opts){ .needs.times = true });
	assert_int_equal(r->lost, 0);
	assert_int_equal(r->exits[SYS_getppid], CALLS_EACH);
	assert_int_equal(r->exits[SYS_writev], CALLS_EACH);
	assert_true(r->exits[SYS_write] >= CALLS_EACH);
	assert_true(r->exits[SYS_openat] >= CALLS_EACH);
	assert_int_equal(r->exits[SYS_exit_group], 1);
	assert_int_equal(r->no_return[SYS_exit_group], 1);
	assert_int_equal(r->exits[SYS_execve], 1);
	assert_int_equal(r->execs, 1);
	assert_int_equal(r->task_exits, 1);
	assert_true(WIFEXITED(r->status) && !WEXITSTATUS(r->status));
	assert_int_equal(item_cnt(r->kept[0]), 4);
	assert_item(r->kept[0], 1, 1, ESPY_ITEM_OK, 0, "ab");
	assert_item(r->kept[0], 2, 1, ESPY_ITEM_OK, 1, "cde");
	assert_item(r->kept[0], 3, 1, ESPY_ITEM_OK, 2, "f");
	free_run(r);
}

/* Entry times, instruction pointers: the same calls with a longer head. */
static void longer_head(void **state)
{
	struct run *r = new_run(SYS_writev);
	uint64_t enter_ns, ip;

	(void)state;
	watch(r, "calls", &(struct espy_source_opts){ .needs.times = true, .needs.enter_ns = true, .needs.ip = true });
	assert_int_equal(r->exits[SYS_getppid], CALLS_EACH);
	assert_true(r->kept[0]->flags & ESPY_RF_ENTER_NS && r->kept[0]->flags & ESPY_RF_IP);
	memcpy(&enter_ns, (uint8_t *)r->kept[0] + 32, 8);
	memcpy(&ip, (uint8_t *)r->kept[0] + 40, 8);
	assert_true(enter_ns && enter_ns <= r->kept[0]->time_ns && r->kept[0]->time_ns - enter_ns < WAIT_LIMIT_MS * UINT64_C(1000000)); /* of one clock */
	assert_true(ip);
	assert_item(r->kept[0], 3, 1, ESPY_ITEM_OK, 2, "f");
	free_run(r);
}

/* With a tiny ring and a reader that dawdles: what was seen and what was lost is what happened. */
static void losses_are_counted(void **state)
{
	struct run *all = new_run(~0u), *some = new_run(~0u);

	(void)state;
	watch(all, "calls", &(struct espy_source_opts){ .needs.times = false });
	assert_int_equal(all->lost, 0);
	watch(some, "calls", &(struct espy_source_opts){ .rings.bytes = 65536 });
	assert_true(some->lost > 0);
	assert_int_equal(some->records + some->lost, all->records);
	free_run(all);
	free_run(some);
}

static void fork_storm(void **state)
{
	struct run *r = new_run(~0u);
	unsigned ended = 0;

	(void)state;
	watch(r, "storm", &(struct espy_source_opts){ .needs.times = false });
	assert_int_equal(r->lost, 0);
	assert_int_equal(r->forks, STORM_CHILDREN);
	assert_int_equal(r->task_exits, STORM_CHILDREN + 1);
	assert_int_equal(r->exits[SYS_getppid], STORM_CHILDREN);
	assert_int_equal(r->no_return[SYS_exit_group], STORM_CHILDREN + 1);
	for (size_t i = 0; i < TIDS; i++)
		ended += r->born[i] == 3;
	assert_int_equal(ended, STORM_CHILDREN + 1);
	free_run(r);
}

/* Calls find no room; births and deaths do, and come in their place: before and after all else of the task. */
static void life_is_not_lost(void **state)
{
	struct run *r = new_run(~0u);

	(void)state;
	watch(r, "storm", &(struct espy_source_opts){ .rings.bytes = 4096 });
	assert_true(r->lost > 0);
	assert_int_equal(r->forks, STORM_CHILDREN);
	assert_int_equal(r->execs, 1);
	assert_int_equal(r->task_exits, STORM_CHILDREN + 1);
	free_run(r);
}

static void edges_of_memory(void **state)
{
	static const uint32_t more[] = { SYS_write, SYS_writev, SYS_read };
	struct run *r = new_run(SYS_openat);
	size_t n;

	(void)state;
	r->more = more;
	r->more_cnt = sizeof(more) / sizeof(more[0]);
	watch(r, "edge", &(struct espy_source_opts){ .needs.times = false });
	n = kept_of(r, SYS_openat);
	assert_true(n >= 4);
	assert_item(of[n - 3], 0, 0, ESPY_ITEM_OK, 0, "/no/way\0");
	assert_item(of[n - 2], 0, 0, ESPY_ITEM_FAULT, 0, "cutoff");
	assert_item(of[n - 1], 0, 0, ESPY_ITEM_FAULT, 0, "");

	assert_int_equal(kept_of(r, SYS_write), 2);
	assert_item(of[0], 0, 0, ESPY_ITEM_OK, 0, "cutoff");
	assert_item(of[1], 0, 0, ESPY_ITEM_FAULT, 0, "cutoff");

	assert_int_equal(kept_of(r, SYS_writev), 1);
	assert_item(of[0], 1, 1, ESPY_ITEM_OK, 0, "cutoff");
	assert_item(of[0], 2, 1, ESPY_ITEM_FAULT, 1, "");

	n = kept_of(r, SYS_read);
	assert_true(n >= 1);
	assert_int_equal(arg_of(of[n - 1], 0) >> 32, 0xdeadbeef);
	assert_item(of[n - 1], 0, 0, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, "cuto");
	assert_true(r->kept_cnt < 64);
	free_run(r);
}

static void signals_and_deaths(void **state)
{
	struct run *r = new_run(SYS_rt_sigreturn);

	(void)state;
	watch(r, "signals", &(struct espy_source_opts){ .needs.times = false });
	assert_int_equal(r->signals[SIGUSR1], 1);
	assert_int_equal(r->ignored[SIGUSR1], 1);
	assert_int_equal(r->ignored[SIGCHLD], 1);
	assert_int_equal(r->signals[SIGTERM], 1);
	assert_int_equal(r->signals[SIGKILL], 0);
	assert_int_equal(r->no_return[SYS_kill], 1);
	assert_int_equal(r->kept_cnt, 1);
	assert_item(r->kept[0], 0, 0, ESPY_ITEM_OK, 0, "\0\x08\0\0\0\0\0\0");
	assert_true(WIFSIGNALED(r->status) && WTERMSIG(r->status) == SIGTERM);
	assert_int_equal(r->last_status, SIGTERM);
	free_run(r);
}

static void exec_by_a_thread(void **state)
{
	struct run *r = new_run(SYS_execve);

	(void)state;
	watch(r, "thread_exec", &(struct espy_source_opts){ .needs.times = false });
	assert_int_equal(r->execs, 2);
	assert_true(r->exec_old_tid && r->exec_old_tid != (uint32_t)r->pid);
	assert_int_equal(r->kept_cnt, 2);
	assert_int_equal(r->kept[1]->tid, r->pid);
	assert_item(r->kept[1], 0, 0, ESPY_ITEM_OK, 0, "/proc/self/exe\0");
	assert_item(r->kept[1], 3, 2, ESPY_ITEM_OK, 1, "nothing\0");
	assert_true(WIFEXITED(r->status) && !WEXITSTATUS(r->status));
	free_run(r);
}

static void nested_data(void **state)
{
	static const uint32_t more[] = { SYS_readv, SYS_ioctl, SYS_getsockname, SYS_sendmmsg };
	struct run *r = new_run(SYS_poll);
	size_t n;

	(void)state;
	r->more = more;
	r->more_cnt = sizeof(more) / sizeof(more[0]);
	watch(r, "nested", &(struct espy_source_opts){ .needs.times = false });
	assert_int_equal(kept_of(r, SYS_poll), 1);
	assert_item(of[0], 0, 0, ESPY_ITEM_OK, 0, "\3\0\0\0\1\0\0\0");
	assert_item(of[0], 1, 0, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, "\3\0\0\0\1\0\1\0");

	assert_true(kept_of(r, SYS_readv) >= 1);
	assert_item(of[0], 1, 1, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, "he");
	assert_item(of[0], 2, 1, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 1, "llo");
	assert_item(of[0], 3, 1, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 2, " world");

	n = kept_of(r, SYS_ioctl);
	assert_true(n >= 1);
	assert_item(of[n - 1], 0, 0, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, "\x0b\0\0\0");

	assert_true(kept_of(r, SYS_getsockname) >= 1);
	assert_item(of[0], 0, 0, ESPY_ITEM_OK, 0, "\x80\0\0\0");
	assert_item(of[0], 1, 0, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, "\2\0\0\0");
	assert_item(of[0], 2, 1, ESPY_ITEM_OK | ESPY_ITEM_AT_EXIT, 0, "\1\0");

	assert_true(kept_of(r, SYS_sendmmsg) >= 1);
	assert_int_equal(item_cnt(of[0]), 8);
	assert_item(of[0], 3, 2, ESPY_ITEM_OK, 0, "ab");
	assert_item(of[0], 5, 2, ESPY_ITEM_OK, 2, "f");
	assert_item(of[0], 6, 2, ESPY_ITEM_OK, 3, "cde");
	assert_item(of[0], 7, 2, ESPY_ITEM_OK, 4, "f");
	assert_true(r->kept_cnt < 64);
	free_run(r);
}

static void hanging_call(void **state)
{
	struct run *r = new_run(SYS_read);

	(void)state;
	watch(r, "hang", &(struct espy_source_opts){ .hang_ms = 200 });
	assert_true(r->enters >= 1);
	assert_int_equal(r->stats.hangs, r->enters);
	assert_int_equal(r->no_return[SYS_read], 1);
	assert_int_equal(r->last_status, SIGKILL);
	free_run(r);
}

static void counts_only(void **state)
{
	struct espy_source_opts opts = { .count_only = true, .follow = true };
	struct espy_call_set set;
	struct espy_count *counts = calloc(ESPY_MAX_SYSCALLS, sizeof(*counts));
	struct espy_source *s;
	struct run *r = new_run(~0u);
	char *argv[] = { "/proc/self/exe", "calls", NULL }, *envp[] = { program_rounds_word(), NULL };
	struct espy_command cmd = { .path = "/proc/self/exe", .argv = argv, .envp = envp };
	int err;

	(void)state;
	small_image__want_all(&set, &image);
	assert_int_equal(espy_source_bpf.open(&s, &opts), 0);
	assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X86_64, &set), 0);
	assert_int_equal(s->ops->start_command(s, &cmd, &r->pid), 0);
	while ((err = s->ops->poll(s, take, r, (int)WAIT_LIMIT_MS)) > 0 || err == -EINTR)
		;
	assert_int_equal(s->ops->counts(s, ESPY_ABI_X86_64, counts, ESPY_MAX_SYSCALLS), 0);
	assert_int_equal(counts[SYS_getppid].calls, CALLS_EACH);
	assert_int_equal(counts[SYS_getppid].errors, 0);
	assert_int_equal(counts[SYS_writev].calls, CALLS_EACH);
	assert_true(counts[SYS_openat].errors >= CALLS_EACH);
	assert_true(counts[SYS_openat].time_ns > counts[SYS_openat].max_ns);
	assert_int_equal(r->exits[SYS_getppid], 0);
	assert_int_equal(r->task_exits, 1);
	s->ops->close(s);
	free(counts);
	free_run(r);
}

/* A few calls of many: the change to their own tracepoints loses none and records none twice. */
static void few_calls_wanted(void **state)
{
	struct run *r = new_run(~0u);

	(void)state;
	only[0] = SYS_getppid;
	only[1] = SYS_poll;
	only_cnt = 2;
	watch(r, "many", &(struct espy_source_opts){ .rings.bytes = 64u << 20 }); /* for all of them: nobody has to be quick */
	only_cnt = 0;
	assert_int_equal(r->lost, 0);
	assert_int_equal(r->exits[SYS_getppid], MANY_CALLS);
	assert_int_equal(r->exits[SYS_getuid], 0);
	assert_int_equal(r->execs, 1);
	free_run(r);
}

static void change_over_with_all(void **state)
{
	struct run *r = new_run(~0u);

	(void)state;
	watch(r, "many", &(struct espy_source_opts){ .rings.bytes = 64u << 20 });
	assert_int_equal(r->lost, 0);
	assert_int_equal(r->exits[SYS_getppid], MANY_CALLS);
	assert_int_equal(r->exits[SYS_getuid], MANY_CALLS);
	free_run(r);
}

/* A process that runs already, with a thread; nobody stops it. */
static void running_process(void **state)
{
	struct espy_source_opts opts = { .follow = true };
	struct espy_target target = { .kind = ESPY_TARGET_PID };
	struct espy_call_set set;
	struct espy_source *s;
	struct run *r = new_run(~0u);
	int go[2], err;

	(void)state;
	assert_int_equal(pipe(go), 0);
	r->pid = fork();
	if (!r->pid) {
		dup2(go[0], STDIN_FILENO);
		close(go[0]);
		close(go[1]);
		execl("/proc/self/exe", "/proc/self/exe", "running", NULL);
		_exit(1);
	}
	close(go[0]);
	assert_true(WAIT_UNTIL(program_sleeps_in(r->pid, 2, SYS_read)));
	target.pid = r->pid;
	small_image__want_all(&set, &image);
	assert_int_equal(espy_source_bpf.open(&s, &opts), 0);
	assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X86_64, &set), 0);
	assert_int_equal(s->ops->add_target(s, &target), 0);
	assert_int_equal(write(go[1], "go", 2), 2);
	while ((err = s->ops->poll(s, take, r, (int)WAIT_LIMIT_MS)) > 0 || err == -EINTR)
		;
	assert_int_equal(err, -ESRCH);
	s->ops->close(s);
	assert_int_equal(waitpid(r->pid, &r->status, 0), r->pid);
	close(go[1]);
	assert_int_equal(r->exits[SYS_getppid], 2 * CALLS_EACH);
	assert_int_equal(r->task_exits, 2);
	assert_int_equal(r->bad, 0);
	free_run(r);
}

static void names_of_descriptors(void **state)
{
	struct run *r = new_run(~0u);

	(void)state;
	watch(r, "descriptors", &(struct espy_source_opts){ .needs.fds = true });
	assert_true(r->name_cnt >= 3);
	assert_string_equal(strchr(r->names[r->name_cnt - 3], ' '), " /dev/null");
	assert_string_equal(strchr(r->names[r->name_cnt - 2], ' '), " /dev/null");
	assert_string_equal(strchr(r->names[r->name_cnt - 1], ' '), " /");
	free_run(r);
}

static int nothing(void *ctx, const struct espy_rec *rec)
{
	(void)ctx;
	(void)rec;
	return 0;
}

static void errors_are_told(void **state)
{
	struct espy_source_opts opts = { 0 };
	struct espy_call_set set;
	struct espy_source *s;
	char *argv[] = { "nothing", NULL };
	struct espy_command cmd = { .path = "/no/such/program", .argv = argv, .envp = argv + 1 };
	struct espy_target none = { .kind = ESPY_TARGET_PID, .pid = 0x3ffffffe };
	pid_t pid;

	(void)state;
	small_image__want_all(&set, &image);
	assert_int_equal(espy_source_bpf.open(&s, &opts), 0);
	assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X86_64, &set), 0);
	assert_int_equal(s->ops->start_command(s, &cmd, &pid), -ENOENT);
	assert_int_equal(s->ops->add_target(s, &none), -ESRCH);
	assert_int_equal(s->ops->poll(s, nothing, NULL, 0), -ESRCH);
	s->ops->close(s);
}

int main(int argc, char **argv)
{
	/* Where the number of rings counts: order, losses, the life of tasks. */
	const struct CMUnitTest about_rings[] = {
		cmocka_unit_test(every_call_once),    cmocka_unit_test(longer_head),
		cmocka_unit_test(losses_are_counted), cmocka_unit_test(fork_storm),
		cmocka_unit_test(life_is_not_lost),   cmocka_unit_test(signals_and_deaths),
		cmocka_unit_test(exec_by_a_thread),   cmocka_unit_test(hanging_call),
	};
	/* Where it does not: the short run has these with one ring alone. */
	const struct CMUnitTest others[] = {
		cmocka_unit_test(edges_of_memory),	cmocka_unit_test(nested_data),
		cmocka_unit_test(counts_only),		cmocka_unit_test(few_calls_wanted),
		cmocka_unit_test(change_over_with_all), cmocka_unit_test(running_process),
		cmocka_unit_test(names_of_descriptors), cmocka_unit_test(errors_are_told),
	};
	char why[256];
	int failed;

	if (argc > 1)
		_exit(run_program(argv[1], argc, argv)); /* what a sanitizer does at an exit is not to be seen */
	if (espy_source_bpf.probe(why, sizeof(why))) {
		printf("skipped: %s\n", why);
		return 77;
	}
	small_image__make(&image, 32);
	failed = cmocka_run_group_tests(about_rings, NULL, NULL);
	if (TEST_RINGS == 1 || getenv("ROUNDS"))
		failed += cmocka_run_group_tests(others, NULL, NULL);
	return failed;
}
