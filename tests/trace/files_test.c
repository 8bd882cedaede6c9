/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files over time: rotated sets, checkpoints and seeking, files that grow, disks that are full, writers that die. */
#include "trace_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/wait.h"

/* A record with a number, at a time. */
static void give(struct espy_trace_writer *w, uint64_t number, int expected)
{
	const struct espy_rec_lost rec = {
		.rec = { sizeof(rec), 0, ESPY_REC_LOST, 0, 0, 70, 70, 1000 + 10 * number },
		.count = number,
	};

	assert_int_equal(espy_trace_writer__record(w, &rec.rec), expected);
}

#define STATE_NUMBER 0xabcdef00u

struct giver {
	struct espy_trace_writer *w;
	uint64_t next; /* number of the next record */
	unsigned states;
};

/* What a recorder knows: how many records there were. */
static int give_state(void *ctx, struct espy_trace_writer *w)
{
	struct giver *g = ctx;
	const struct espy_rec_lost rec = {
		.rec = { sizeof(rec), 0, ESPY_REC_LOST, 1, 0, 1, 1, 5 },
		.count = STATE_NUMBER + g->next,
	};

	g->states++;
	return espy_trace_writer__record(w, &rec.rec);
}

static struct espy_trace_reader *open_reader(const char *path, struct damages *d, bool follow)
{
	struct espy_trace_read_opts o = { .follow = follow };
	struct espy_trace_reader *r;
	char why[128];

	(void)d;
	assert_int_equal(espy_trace_reader__open(&r, path, &o, why, sizeof(why)), 0);
	return r;
}

static uint64_t number_of(const struct espy_rec *rec)
{
	return ((const struct espy_rec_lost *)rec)->count;
}

/* The rest of the file: numbers `first` to `last`; state_first: state comes first and tells `first`. */
static void check_numbers(struct espy_trace_reader *r, bool state_first, uint64_t first, uint64_t last)
{
	const struct espy_rec *rec;

	if (state_first) {
		assert_int_equal(espy_trace_reader__next(r, &rec), 1);
		assert_int_equal(number_of(rec), STATE_NUMBER + first);
	}
	for (uint64_t i = first; i <= last; i++) {
		assert_int_equal(espy_trace_reader__next(r, &rec), 1);
		assert_int_equal(number_of(rec), i);
	}
	assert_int_equal(espy_trace_reader__next(r, &rec), 0);
}

static void write_set(const char *path, unsigned keep, unsigned records, struct giver *g)
{
	const struct espy_trace_write_opts o = {
		.path = path, .rotate_bytes = 20000, .keep = keep, .block_bytes = 64 << 10, .state = give_state, .state_ctx = g,
	};

	*g = (struct giver){ 0 };
	assert_int_equal(espy_trace_writer__open(&g->w, &o), 0);
	assert_int_equal(espy_trace_writer__section(g->w, ESPY_SECTION_IMAGE, 0, "image", 5), 0);
	for (unsigned i = 0; i < records; i++, g->next++) {
		give(g->w, i, 0);
		if (i % 100 == 99) {
			g->next = i + 1;
			assert_int_equal(espy_trace_writer__flush(g->w), 0);
			g->next = i;
		}
	}
	struct espy_trace_write_stats st;

	espy_trace_writer__stats(g->w, &st);
	assert_int_equal(st.records, records);
	assert_int_equal(st.files, g->states + 1);
	assert_int_equal(espy_trace_writer__close(g->w), 0);
}

static void test_rotation(void **state)
{
	const char *path = test_file("set");
	char name[200];
	struct giver g;
	struct espy_trace_read_stats st;

	write_set(path, 0, 3001, &g);
	assert_in_range(g.states, 3, 6);
	assert_int_not_equal(access(path, F_OK), 0);
	for (unsigned i = 0; i <= g.states; i++) {
		snprintf(name, sizeof(name), "%s.%u", path, i);
		assert_int_equal(access(name, F_OK), 0);
	}
	/* as one stream: state between files is not repeated */
	struct espy_trace_reader *r = open_reader(path, NULL, false);

	check_numbers(r, false, 0, 3000);
	espy_trace_reader__stats(r, &st);
	assert_int_equal(st.damaged, 0);
	assert_true(st.finished);
	/* to a time in the last file, and in the first */
	assert_int_equal(espy_trace_reader__seek(r, 1000 + 10 * 3000), 0);
	const struct espy_rec *rec;

	assert_int_equal(espy_trace_reader__next(r, &rec), 1);
	assert_in_range(number_of(rec), STATE_NUMBER + 1, STATE_NUMBER + 3000);
	check_numbers(r, false, number_of(rec) - STATE_NUMBER, 3000);
	assert_int_equal(espy_trace_reader__seek(r, 1000 + 10 * 5), 0);
	check_numbers(r, false, 0, 3000);
	espy_trace_reader__close(r);
	/* one file alone begins with state, and has the sections */
	snprintf(name, sizeof(name), "%s.2", path);
	r = open_reader(name, NULL, false);
	const void *data;
	size_t size;

	assert_int_equal(espy_trace_reader__section(r, ESPY_SECTION_IMAGE, 0, 0, &data, &size), 0);
	assert_int_equal(espy_trace_reader__next(r, &rec), 1);
	const uint64_t first = number_of(rec) - STATE_NUMBER;

	assert_in_range(first, 500, 2500);
	assert_int_equal(espy_trace_reader__next(r, &rec), 1);
	assert_int_equal(number_of(rec), first);
	espy_trace_reader__close(r);
	/* the set exists: not again, but by force */
	struct espy_trace_writer *w;
	struct espy_trace_write_opts o = { .path = path, .rotate_bytes = 100000 };

	assert_int_equal(espy_trace_writer__open(&w, &o), -EEXIST);
	o.force = true;
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	give(w, 0, 0);
	assert_int_equal(espy_trace_writer__close(w), 0);
	assert_int_not_equal(access(name, F_OK), 0); /* nothing of the old set is left */
	r = open_reader(path, NULL, false);
	check_numbers(r, false, 0, 0);
	espy_trace_reader__close(r);
}

/* A reader beside a writer that rotates and deletes: no record twice, none left out while its file exists. */
static void test_follow_rotation(void **state)
{
	const char *path = test_file("rolling");
	struct giver g = { 0 };
	const struct espy_trace_write_opts o = {
		.path = path, .rotate_bytes = 4000, .keep = 2, .state = give_state, .state_ctx = &g,
	};
	struct espy_trace_read_stats st;
	const struct espy_rec *rec;
	uint64_t seen = 0;

	assert_int_equal(espy_trace_writer__open(&g.w, &o), 0);
	struct espy_trace_reader *r = open_reader(path, NULL, true);

	for (unsigned i = 0; i < 2000; i++) {
		give(g.w, i, 0);
		g.next = i + 1;
		if (i % 10 == 9)
			assert_int_equal(espy_trace_writer__flush(g.w), 0);
		for (unsigned k = 0; i % 50 == 49 && espy_trace_reader__next(r, &rec) == 1; k++)
			assert_int_equal(number_of(rec), seen++);
	}
	assert_int_equal(seen, 2000);
	assert_true(g.states > 8);
	assert_int_equal(espy_trace_writer__close(g.w), 0);
	assert_int_equal(espy_trace_reader__next(r, &rec), 0);
	espy_trace_reader__stats(r, &st);
	assert_int_equal(st.damaged, 0);
	assert_true(st.finished);
	espy_trace_reader__close(r);
}

/* No room for the very first bytes: the file that was there stays, and nothing else. */
static void test_no_beginning(void **state)
{
	char path[192];
	const struct espy_trace_write_opts fresh = { .path = path };
	const struct espy_trace_write_opts force = { .path = path, .force = true };
	struct rlimit old, limit;
	struct espy_trace_writer *w;
	size_t size;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

	snprintf(path, sizeof(path), "%s", test_file("precious"));
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 10;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(espy_trace_writer__open(&w, &fresh), -EFBIG);
	assert_int_not_equal(access(path, F_OK), 0);
	spill(path, "precious", 8);
	assert_int_equal(espy_trace_writer__open(&w, &force), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
	char *bytes = slurp(path, &size);

	assert_int_equal(size, 8);
	assert_memory_equal(bytes, "precious", 8);
	free(bytes);
}

static void test_keep(void **state)
{
	const char *path = test_file("kept");
	char name[200];
	struct giver g;

	write_set(path, 2, 3001, &g);
	for (unsigned i = 0; i <= g.states; i++) {
		snprintf(name, sizeof(name), "%s.%u", path, i);
		assert_int_equal(access(name, F_OK) == 0, i + 2 > g.states);
	}
	/* what is left begins with the state at its front */
	struct espy_trace_reader *r = open_reader(path, NULL, false);
	const struct espy_rec *rec;

	assert_int_equal(espy_trace_reader__next(r, &rec), 1);
	assert_in_range(number_of(rec), STATE_NUMBER + 1000, STATE_NUMBER + 3000);
	check_numbers(r, false, number_of(rec) - STATE_NUMBER, 3000);
	espy_trace_reader__close(r);
}

static void test_missing_file_of_a_set(void **state)
{
	const char *path = test_file("gap");
	char name[200];
	struct giver g;
	struct espy_trace_read_stats st;
	const struct espy_rec *rec;
	uint64_t last = 0, states = 0;

	write_set(path, 0, 3001, &g);
	snprintf(name, sizeof(name), "%s.1", path);
	assert_int_equal(unlink(name), 0);
	struct espy_trace_reader *r = open_reader(path, NULL, false);

	while (espy_trace_reader__next(r, &rec) == 1) {
		if (number_of(rec) >= STATE_NUMBER) { /* behind the gap the state is of use again */
			states++;
			continue;
		}
		assert_true(!last || number_of(rec) > last);
		last = number_of(rec);
	}
	assert_int_equal(last, 3000);
	assert_int_equal(states, 1);
	espy_trace_reader__stats(r, &st);
	assert_int_equal(st.damaged, 1);
	espy_trace_reader__close(r);
}

/* Seeking in one file, with checkpoints, with the index and without. */
static void test_seek(void **state)
{
	const char *path = test_file("seek");
	struct giver g = { 0 };
	const struct espy_trace_write_opts o = {
		.path = path, .level = 1, .checkpoint_bytes = 8000, .state = give_state, .state_ctx = &g,
	};
	size_t size;

	assert_int_equal(espy_trace_writer__open(&g.w, &o), 0);
	for (unsigned i = 0; i < 3000; i++) {
		give(g.w, i, 0);
		g.next = i + 1;
		if (i % 100 == 99)
			assert_int_equal(espy_trace_writer__flush(g.w), 0);
	}
	assert_int_equal(espy_trace_writer__close(g.w), 0);
	assert_in_range(g.states, 8, 12);
	uint8_t *bytes = slurp(path, &size);

	for (unsigned without = 0; without < 2; without++) {
		spill(path, bytes, without ? size - 200 : size);
		struct espy_trace_reader *r = open_reader(path, NULL, false);
		struct espy_trace_read_stats st;
		const struct espy_rec *rec;

		espy_trace_reader__stats(r, &st);
		assert_int_equal(st.finished, !without);
		if (!without) {
			assert_int_equal(st.first_ns, 1000);
			assert_int_equal(st.last_ns, 1000 + 10 * 2999);
		}
		for (unsigned to = 0; to < 3000; to += 171) {
			assert_int_equal(espy_trace_reader__seek(r, 1000 + 10 * to), 0);
			assert_int_equal(espy_trace_reader__next(r, &rec), 1);
			uint64_t first = number_of(rec);

			if (first >= STATE_NUMBER) {
				first -= STATE_NUMBER;
				assert_int_equal(espy_trace_reader__next(r, &rec), 1);
			}
			/* not after it, and not before the last checkpoint */
			assert_int_equal(number_of(rec), first);
			assert_true(first <= to && to - first <= 400);
			check_numbers(r, false, first + 1, 2999);
		}
		/* beyond the end */
		assert_int_equal(espy_trace_reader__seek(r, UINT64_MAX), 0);
		while (espy_trace_reader__next(r, &rec) > 0)
			;
		/* from the front no state is told */
		espy_trace_reader__close(r);
		r = open_reader(path, NULL, false);
		check_numbers(r, false, 0, 2999);
		espy_trace_reader__close(r);
	}
	free(bytes);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A reader beside a writer; then at every cut of the file. */
static void test_follow(void **state)
{
	const char *path = test_file("follow");
	const struct espy_trace_write_opts o = { .path = path, .level = 3, .flush_ms = 50 };
	struct espy_trace_writer *w;
	struct espy_trace_read_stats st;
	const struct espy_rec *rec;

	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	struct espy_trace_reader *r = open_reader(path, NULL, true);

	assert_int_equal(espy_trace_reader__next(r, &rec), 0);
	for (unsigned i = 0; i < 20; i++) {
		/* The writer takes the time of its record between the two. */
		const uint64_t before_ns = clock_ns();

		give(w, i, 0);
		const uint64_t after_ns = clock_ns();

		assert_int_equal(espy_trace_writer__tick(w, before_ns), 0);
		if (i == 0)
			assert_int_equal(espy_trace_reader__next(r, &rec), 0);
		assert_int_equal(espy_trace_writer__tick(w, after_ns + 60000000), 0);
		assert_int_equal(espy_trace_reader__next(r, &rec), 1);
		assert_int_equal(number_of(rec), i);
		assert_int_equal(espy_trace_reader__next(r, &rec), 0);
	}
	assert_int_equal(espy_trace_writer__close(w), 0);
	assert_int_equal(espy_trace_reader__next(r, &rec), 0);
	espy_trace_reader__stats(r, &st);
	assert_true(st.finished);
	assert_int_equal(st.damaged, 0);
	espy_trace_reader__close(r);

	/* byte for byte: a section that is not there as a whole is no damage */
	size_t size;
	uint8_t *bytes = slurp(path, &size);
	uint64_t seen = 0;
	const int fd = open(path, O_WRONLY | O_TRUNC);

	uint32_t head_sz;

	memcpy(&head_sz, bytes + 8, sizeof(head_sz));
	assert_int_equal(write(fd, bytes, head_sz), head_sz);
	r = open_reader(path, NULL, true);
	for (size_t at = head_sz; at < size; at++) {
		assert_int_equal(write(fd, bytes + at, 1), 1);
		while (espy_trace_reader__next(r, &rec) == 1)
			assert_int_equal(number_of(rec), seen++);
	}
	assert_int_equal(seen, 20);
	espy_trace_reader__stats(r, &st);
	assert_true(st.finished);
	assert_int_equal(st.damaged, 0);
	espy_trace_reader__close(r);
	close(fd);
	free(bytes);
}

/* Writes until it fails with `err`, and again; all that was told to be written before the last block reads. */
static void write_until(const char *path, int err)
{
	const struct espy_trace_write_opts o = { .path = path, .level = 0, .force = true };
	struct espy_trace_writer *w;
	struct espy_trace_read_stats st;
	struct giver g = { 0 };
	int got = 0;

	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	for (; !got && g.next < 100000; g.next++) {
		give(w, g.next, 0);
		if (g.next % 100 == 99)
			got = espy_trace_writer__flush(w);
	}
	assert_int_equal(got, err);
	give(w, 1, err);
	assert_int_equal(espy_trace_writer__tick(w, UINT64_MAX / 2), err);
	assert_int_equal(espy_trace_writer__close(w), err);

	struct espy_trace_reader *r = open_reader(path, NULL, false);

	check_numbers(r, false, 0, g.next - 101);
	espy_trace_reader__stats(r, &st);
	assert_int_equal(st.damaged, 0); /* the torn block was cut off */
	assert_false(st.finished);
	espy_trace_reader__close(r);
}

static void test_file_size_limit(void **state)
{
	struct rlimit old, limit;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 50001;
	setrlimit(RLIMIT_FSIZE, &limit);
	write_until(test_file("limited"), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
}

static void test_full_disk(void **state)
{
	char path[200];
	const pid_t pid = fork();

	/* a disk of its own, in a mount namespace of its own */
	if (!pid) {
		snprintf(path, sizeof(path), "%s/disk", test_dir());
		mkdir(path, 0700);
		if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("espy-test", path, "tmpfs", 0, "size=64k"))
			_exit(77);
		strcat(path, "/trace");
		write_until(path, -ENOSPC);
		_exit(0);
	}
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	snprintf(path, sizeof(path), "%s/disk", test_dir());
	rmdir(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no privilege to mount a tmpfs\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void test_closed_pipe(void **state)
{
	const char *path = test_file("fifo");
	const struct espy_trace_write_opts o = { .path = path, .level = 0 };
	void (*handler)(int) = signal(SIGPIPE, SIG_IGN);
	struct espy_trace_writer *w;

	assert_int_equal(mkfifo(path, 0600), 0);
	const int fd = open(path, O_RDONLY | O_NONBLOCK);

	assert_true(fd >= 0);
	assert_int_equal(espy_trace_writer__open(&w, &o), 0);
	give(w, 0, 0);
	assert_int_equal(espy_trace_writer__flush(w), 0);
	close(fd);
	give(w, 1, 0);
	assert_int_equal(espy_trace_writer__flush(w), -EPIPE);
	give(w, 2, -EPIPE);
	assert_int_equal(espy_trace_writer__close(w), -EPIPE);
	signal(SIGPIPE, handler);
}

/* Killed at some moment: the file has all that had been flushed before. */
static void test_kill(void **state)
{
	volatile uint64_t *flushed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *path = test_file("killed");
	const int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 10;
	unsigned seed = 11;

	for (int round = 0; round < rounds; round++) {
		*flushed = 0;
		const pid_t pid = fork();

		if (!pid) {
			const struct espy_trace_write_opts o = { .path = path, .force = true, .level = 1 };
			struct espy_trace_writer *w;

			assert_int_equal(espy_trace_writer__open(&w, &o), 0);
			for (uint64_t i = 0;; i++) {
				give(w, i, 0);
				if (i % 64 == 63) {
					assert_int_equal(espy_trace_writer__flush(w), 0);
					*flushed = i + 1;
				}
			}
		}
		assert_true(WAIT_UNTIL(*flushed));
		wait_moment_us(rnd(&seed) % 3000); /* sleeps: a moment of chance */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);

		struct espy_trace_reader *r = open_reader(path, NULL, false);
		struct espy_trace_read_stats st;
		const struct espy_rec *rec;
		uint64_t n = 0;

		for (; espy_trace_reader__next(r, &rec) == 1; n++)
			assert_int_equal(number_of(rec), n);
		assert_true(n >= *flushed);
		espy_trace_reader__stats(r, &st);
		assert_false(st.finished);
		assert_true(st.damaged <= 1); /* the block that was being written */
		espy_trace_reader__close(r);
	}
	munmap((void *)flushed, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rotation),	     cmocka_unit_test(test_keep),
		cmocka_unit_test(test_missing_file_of_a_set), cmocka_unit_test(test_seek),
		cmocka_unit_test(test_follow),		     cmocka_unit_test(test_file_size_limit),
		cmocka_unit_test(test_full_disk),	     cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(test_kill),		     cmocka_unit_test(test_follow_rotation),
		cmocka_unit_test(test_no_beginning),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	remove_test_dir();
	return failed;
}
