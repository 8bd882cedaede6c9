/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of the watched world: applied to, told as records, made again from them, reset, bounded. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/align.h"
#include "describe/builtin.h"
#include "describe/call_view.h"
#include "state/fd_detail.h"
#include "state/fd_table.h"
#include "state/clocks.h"
#include "state/state.h"

static struct espy_image images[ESPY_ABI_CNT];
static unsigned asked; /* questions to the lookups below */

/* Answers that show who was asked, and how often. */
static size_t ask_fd_link(uint32_t tid, int fd, char *to, size_t size)
{
	asked++;
	return fd < 100 ? (size_t)snprintf(to, size, "/live/%u/%d", tid, fd) : 0;
}

static size_t ask_comm(uint32_t tid, char *to, size_t size)
{
	asked++;
	return (size_t)snprintf(to, size, "task%u", tid);
}

static const struct espy_lookups counting = { .fd_link = ask_fd_link, .comm = ask_comm };

struct stream {
	unsigned char bytes[65536];
	size_t size;
};

static int put(void *ctx, const struct espy_rec *rec)
{
	struct stream *s = ctx;

	assert_true(rec->size % 8 == 0 && rec->size <= sizeof(s->bytes) - s->size);
	memcpy(s->bytes + s->size, rec, rec->size);
	s->size += rec->size;
	return 0;
}

static void apply(struct espy_state *s, const struct espy_rec *rec)
{
	struct espy_task *task;

	espy_state__apply(s, rec, &task);
	espy_state__applied(s, rec, NULL);
}

static void apply_all(struct espy_state *s, const struct stream *from)
{
	for (size_t at = 0; at < from->size;) {
		const struct espy_rec *rec = (const void *)(from->bytes + at);

		apply(s, rec);
		at += rec->size;
	}
}

static struct espy_state *make(const struct espy_lookups *lookups, size_t max_bytes)
{
	const struct espy_state_opts o = { .lookups = lookups, .follow_fds = true,
					   .max_bytes = max_bytes, .slot_sz = 40 };
	struct espy_state *s;

	assert_int_equal(espy_state__new(&s, &o), 0);
	return s;
}

static void attach(struct espy_state *s, uint32_t tid, uint32_t tgid)
{
	apply(s, &(const struct espy_rec){ .size = sizeof(struct espy_rec), .type = ESPY_REC_ATTACHED, .tid = tid,
					   .tgid = tgid, .time_ns = 1000 });
}

static void fork_task(struct espy_state *s, uint32_t tid, uint32_t child)
{
	const struct espy_rec_fork f = { .rec = { .size = sizeof(f), .type = ESPY_REC_FORK, .tid = tid, .tgid = tid,
						  .time_ns = 1001 },
					 .child_tid = child, .child_tgid = child };

	apply(s, &f.rec);
}

static void end_task(struct espy_state *s, uint32_t tid)
{
	const struct espy_rec_task_exit x = { .rec = { .size = sizeof(x), .type = ESPY_REC_TASK_EXIT, .tid = tid,
						       .tgid = tid, .time_ns = 1002 },
					      .group_dead = 1 };

	apply(s, &x.rec);
}

static void name_fd(struct espy_state *s, uint32_t tgid, int fd, const char *name)
{
	struct {
		struct espy_rec_fdname f;
		char name[64];
	} rec = { .f = { .rec = { .type = ESPY_REC_FDNAME, .flags = ESPY_FDNAME_ALONE, .tid = tgid, .tgid = tgid,
				  .time_ns = 1003 },
			 .fd = fd, .name_sz = (uint32_t)strlen(name) + 1 } };

	strcpy(rec.name, name);
	rec.f.rec.size = (uint32_t)espy_pad8(sizeof(rec.f) + strlen(name) + 1);
	apply(s, &rec.f.rec);
}

static const char *fd_name(struct espy_state *s, uint32_t tid, int fd)
{
	const struct espy_fd_name *n = espy_state__fd(s, tid, fd);

	return n ? n->name : NULL;
}

/* What is known, told as records, makes another state that tells the same, without a question to anybody. */
static void test_dump_makes_an_equal_state(void **unused)
{
	struct espy_state *a = make(&counting, 0), *b = make(&espy_lookups_trace, 1 << 20);
	static struct stream first, second;
	const struct espy_rec_clock clock = { .rec = { .size = sizeof(clock), .type = ESPY_REC_CLOCK, .time_ns = 5 },
					      .realtime_ns = 105 };

	(void)unused;
	apply(a, &clock.rec);
	attach(a, 10, 10);
	attach(a, 11, 10);
	name_fd(a, 10, 3, "/etc/passwd");
	name_fd(a, 10, 5000, "pipe:[7]");
	fork_task(a, 10, 20);
	name_fd(a, 20, 3, "/etc/group");
	assert_string_equal(espy_state__comm(a, 11), "task11");
	assert_int_equal(espy_state__dump(a, put, &first), 0);
	asked = 0;
	apply_all(b, &first);
	assert_int_equal(espy_state__dump(b, put, &second), 0);
	assert_int_equal(second.size, first.size);
	assert_memory_equal(second.bytes, first.bytes, first.size);
	assert_int_equal(asked, 0);
	assert_string_equal(fd_name(b, 11, 3), "/etc/passwd");
	assert_string_equal(fd_name(b, 20, 3), "/etc/group");
	assert_string_equal(fd_name(b, 20, 5000), "pipe:[7]");
	assert_null(fd_name(b, 20, 4));
	assert_string_equal(espy_state__comm(b, 11), "task11");
	assert_int_equal(*espy_state__live_tasks(b), 3);
	assert_int_equal(espy_state__realtime_offset_ns(b, 5), 100);
	espy_state__free(a);
	espy_state__free(b);
}

static void tell_clock(struct espy_state *s, uint64_t at_ns, int64_t offset_ns)
{
	const struct espy_rec_clock clock = { .rec = { .size = sizeof(clock), .type = ESPY_REC_CLOCK, .time_ns = at_ns },
					      .realtime_ns = at_ns + (uint64_t)offset_ns };

	apply(s, &clock.rec);
}

/* The time of day of a call is that of its moment: clocks that come before it is shown do not move it. */
static void test_a_moment_keeps_its_time_of_day(void **unused)
{
	struct espy_state *a = make(&espy_lookups_trace, 0), *b = make(&espy_lookups_trace, 0);
	static struct stream dump;

	(void)unused;
	espy_state__set_realtime_offset(a, 7);
	assert_int_equal(espy_state__realtime_offset_ns(a, 999), 7);
	tell_clock(a, 1000, 500);
	tell_clock(a, 2000, 501);
	assert_int_equal(espy_state__realtime_offset_ns(a, 999), 500);
	assert_int_equal(espy_state__realtime_offset_ns(a, 1000), 500);
	assert_int_equal(espy_state__realtime_offset_ns(a, 1999), 500);
	assert_int_equal(espy_state__realtime_offset_ns(a, 5000), 501);
	/* so it is in a file of its own, which begins with what the one before knew */
	assert_int_equal(espy_state__dump(a, put, &dump), 0);
	apply_all(b, &dump);
	assert_int_equal(espy_state__realtime_offset_ns(b, 1999), 500);
	/* of very many the newest are kept */
	for (unsigned i = 3; i < 100; i++)
		tell_clock(a, i * 1000, 500 + i);
	assert_int_equal(espy_state__realtime_offset_ns(a, 98000), 598);
	assert_int_equal(espy_state__realtime_offset_ns(a, 1500), 500 + 100 - ESPY_CLOCKS_MAX);
	espy_state__free(a);
	espy_state__free(b);
}

static void drop_slot(void *ctx, struct espy_task *task)
{
	unsigned *dropped = ctx;

	*dropped += *(unsigned *)task->slot;
}

static void test_reset_gives_everything_back(void **unused)
{
	unsigned dropped = 0;
	const struct espy_state_opts o = { .lookups = &espy_lookups_trace,
					   .max_bytes = 1 << 20, .slot_sz = sizeof(unsigned),
					   .drop_slot = drop_slot, .slot_ctx = &dropped };
	static struct stream nothing;
	struct espy_state *s;

	(void)unused;
	assert_int_equal(espy_state__new(&s, &o), 0);
	for (uint32_t tid = 1; tid <= 3; tid++) {
		attach(s, tid, tid);
		assert_int_equal(*(unsigned *)espy_state__task(s, tid)->slot, 0);
		*(unsigned *)espy_state__task(s, tid)->slot = tid * 10;
		name_fd(s, tid, 3, "/tmp/x");
	}
	assert_true(espy_state__budget(s)->used > 0);
	end_task(s, 2);
	assert_int_equal(dropped, 20);
	espy_state__reset(s);
	assert_int_equal(dropped, 60);
	assert_int_equal(espy_state__budget(s)->used, 0);
	assert_null(espy_state__task(s, 1));
	assert_int_equal(*espy_state__live_tasks(s), 0);
	assert_int_equal(espy_state__dump(s, put, &nothing), 0);
	assert_int_equal(nothing.size, 0);
	attach(s, 1, 1);
	assert_null(fd_name(s, 1, 3));
	espy_state__free(s);
}

/* What a trace claims is bounded: what finds no room is not known, and that is counted. */
static void test_bounded(void **unused)
{
	struct espy_state *s = make(&espy_lookups_trace, 20000);

	(void)unused;
	for (uint32_t tid = 1; tid < 1000; tid++)
		attach(s, tid, tid);
	assert_true(espy_state__budget(s)->refused > 0);
	assert_true(espy_state__budget(s)->used <= 20000);
	assert_non_null(espy_state__task(s, 1));
	assert_null(espy_state__task(s, 999));
	espy_state__free(s);
}

/* What was let go of is no part of the stream; its number may come again. */
static void test_detached(void **unused)
{
	struct espy_state *s = make(&espy_lookups_trace, 0);
	const struct espy_rec r = { .size = sizeof(r), .type = ESPY_REC_STOPPED, .nr = 19, .tid = 7, .tgid = 7 };
	struct espy_task *task;

	(void)unused;
	attach(s, 7, 7);
	attach(s, 6, 6);
	espy_state__detach(s, espy_state__task(s, 7));
	assert_int_equal(*espy_state__live_tasks(s), 1);
	assert_false(espy_state__apply(s, &r, &task));
	assert_null(task);
	fork_task(s, 6, 7);
	assert_int_equal(*espy_state__live_tasks(s), 2);
	assert_true(espy_state__apply(s, &r, &task));
	assert_int_equal(task->tid, 7);
	espy_state__free(s);
}

/* A descriptor of a device is closed, and its number is another file's, before anyone asks what the device is. */
static void test_device_of_a_number_used_again(void **unused)
{
	struct espy_buf b = { 0 };
	char path[64];
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)unused;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(espy_fd_detail(&b, "/dev/null", path, (uint32_t)getpid()));
	assert_int_equal(b.len, strlen("/dev/null<char 1:3>"));
	assert_memory_equal(b.data, "/dev/null<char 1:3>", b.len);
	b.len = 0;
	close(fd);
	assert_true(espy_fd_detail(&b, "/dev/null", path, (uint32_t)getpid()));
	assert_memory_equal(b.data, "/dev/null<char 1:3>", b.len);
	espy_buf__free(&b);
}

static int open_images(void **unused)
{
	(void)unused;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		size_t size;
		const void *bytes = espy_builtin_image((enum espy_abi)abi, &size);

		if (espy_image__open(&images[abi], bytes, size, NULL))
			return -1;
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dump_makes_an_equal_state),
		cmocka_unit_test(test_a_moment_keeps_its_time_of_day),
		cmocka_unit_test(test_reset_gives_everything_back),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_device_of_a_number_used_again),
	};

	return cmocka_run_group_tests(tests, open_images, NULL);
}
