/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A ring that grows: a program writes more than the first ring holds while nobody reads. All of it is read afterwards, in
 * the order in which it was written, births and deaths at their places. Skipped without the privilege to load BPF programs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "small_image.h"
#include "tests/wait.h"

/* Numbered calls: most of the first ring, then more than it has. A record of one takes 300 bytes at least. */
#define FIRST 40000u
#define ALL 260000u
#define TEXT 256u
/* Each so many calls a child makes one of them. */
#define CHILD_EACH 1000u
#define LIMIT_MS ((int)WAIT_LIMIT_MS)

static struct espy_image image;

static void tell(int fd)
{
	const uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		_exit(2);
}

static bool told(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n;

	return poll(&p, 1, LIMIT_MS) == 1 && read(fd, &n, sizeof(n)) == sizeof(n);
}

static void numbered(uint32_t i)
{
	char text[TEXT] = { 0 };

	memcpy(text, &i, sizeof(i));
	syscall(SYS_write, -1, text, sizeof(text));
}

/* What is watched. Writes as much as it is to write, tells so, and goes on when it is told to. */
static int program(int done, int go)
{
	for (uint32_t i = 0; i < ALL; i++) {
		if (i == FIRST) {
			tell(done);
			if (!told(go))
				return 1;
		}
		if (i % CHILD_EACH) {
			numbered(i);
			continue;
		}
		const pid_t pid = fork();

		if (!pid) {
			numbered(i);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	tell(done);
	return 0;
}

struct seen {
	uint32_t next, forks, ends, bad;
	uint64_t lost;
	uint32_t child; /* born, and not ended */
};

static int take(void *ctx, const struct espy_rec *rec)
{
	struct seen *s = ctx;
	uint32_t i;

	switch (rec->type) {
	case ESPY_REC_EXIT:
		if (rec->nr != SYS_write || rec->size < TEXT)
			break;
		memcpy(&i, (const uint8_t *)rec + rec->size - TEXT, sizeof(i));
		s->bad += i != s->next;
		s->bad += i % CHILD_EACH == 0 && rec->tid != s->child;
		s->next = i + 1;
		break;
	case ESPY_REC_FORK:
		s->bad += s->next % CHILD_EACH != 0;
		s->child = ((const struct espy_rec_fork *)rec)->child_tid;
		s->forks++;
		break;
	case ESPY_REC_TASK_EXIT:
		s->bad += rec->tid == s->child && s->next % CHILD_EACH != 1;
		s->ends++;
		break;
	case ESPY_REC_LOST:
		s->lost += ((const struct espy_rec_lost *)rec)->count;
		break;
	}
	return 0;
}

static int take_none(void *ctx, const struct espy_rec *rec)
{
	(void)ctx;
	(void)rec;
	return 1;
}

static uint64_t ring_bytes(struct espy_source *s)
{
	struct espy_source_stats st;

	s->ops->stats(s, &st);
	return st.ring_bytes;
}

static void all_is_read_in_order(void **state)
{
	const int done = eventfd(0, 0), go = eventfd(0, 0);
	struct espy_source_opts opts = { .rings.cnt = 1, .follow = true };
	struct espy_call_set set;
	struct espy_source *s;
	struct seen seen = { 0 };
	char done_text[16], go_text[16];
	char *argv[] = { "/proc/self/exe", done_text, go_text, NULL }, *envp[] = { NULL };
	struct espy_command cmd = { .path = "/proc/self/exe", .argv = argv, .envp = envp };
	pid_t pid;
	int err;

	(void)state;
	assert_true(done >= 0 && go >= 0);
	snprintf(done_text, sizeof(done_text), "%d", done);
	snprintf(go_text, sizeof(go_text), "%d", go);
	small_image__want_all(&set, &image);
	assert_int_equal(espy_source_bpf.open(&s, &opts), 0);
	assert_int_equal(s->ops->set_calls(s, ESPY_ABI_X86_64, &set), 0);
	assert_int_equal(s->ops->start_command(s, &cmd, &pid), 0);
	assert_true(told(done));
	const uint64_t before = ring_bytes(s);

	assert_true(before > 0 && before < ALL * TEXT);
	/* One look, which reads nothing: the ring is more than half full. */
	assert_int_equal(s->ops->poll(s, take_none, NULL, 0), 1);
	if (!WAIT_UNTIL(ring_bytes(s) != before))
		print_message("SKIP: no memory for a larger ring\n");
	else
		assert_true(ring_bytes(s) > ALL * TEXT);
	const bool grown = ring_bytes(s) > before;

	tell(go);
	assert_true(told(done));
	do {
		err = s->ops->poll(s, take, &seen, LIMIT_MS);
	} while (err > 0 || err == -EINTR);
	assert_int_equal(err, -ESRCH);
	s->ops->close(s);
	close(done);
	close(go);
	if (!grown) {
		assert_true(seen.lost > 0);
		return;
	}
	assert_int_equal(seen.lost, 0);
	assert_int_equal(seen.bad, 0);
	assert_int_equal(seen.next, ALL);
	assert_int_equal(seen.forks, ALL / CHILD_EACH);
	assert_int_equal(seen.ends, ALL / CHILD_EACH + 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_is_read_in_order) };
	char why[256];

	if (argc > 2)
		_exit(program(atoi(argv[1]), atoi(argv[2]))); /* what a sanitizer does at an exit is not to be seen */
	if (espy_source_bpf.probe(why, sizeof(why))) {
		printf("SKIP: %s\n", why);
		return 77;
	}
	small_image__make(&image, TEXT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
