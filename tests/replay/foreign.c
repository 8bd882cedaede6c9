/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes traces that lie: foreign WHAT FILE. `select WORD...` as what they were selected by; `text`: control characters
 * wherever a text may stand; `many`: more tasks, descriptors and open calls than anything has (ROUNDS million tasks).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe/builtin.h"
#include "trace/trace.h"

static struct espy_trace_writer *w;

static void check(int err)
{
	if (err) {
		fprintf(stderr, "%s\n", strerror(-err));
		exit(1);
	}
}

static void put(const void *rec)
{
	check(espy_trace_writer__record(w, rec));
}

static void fact(uint32_t kind, uint32_t tid, int32_t arg, const char *text)
{
	struct {
		struct espy_rec_fact f;
		char text[64];
	} r = { .f = { .rec = { .size = sizeof(r), .type = ESPY_REC_FACT, .tid = tid, .tgid = tid, .time_ns = 1 },
		       .kind = kind,
		       .arg = arg,
		       .len = (uint32_t)strlen(text) } };

	memcpy(r.text, text, strlen(text));
	put(&r);
}

/* read(fd, NULL, 1) = 0 */
static void call(unsigned type, uint32_t tid, int fd, unsigned size)
{
	uint64_t buf[4096] = { 0 };
	struct espy_rec_call *c = (struct espy_rec_call *)buf;

	c->rec = (struct espy_rec){
		.size = size, .type = (uint8_t)type, .flags = 3, .tid = tid, .tgid = tid, .time_ns = 2
	};
	buf[4] = (uint64_t)fd;
	buf[6] = 1;
	put(c);
}

static void put_texts(void)
{
	static const char bad[] = "\033]0;x\007\033[31m\n\r\x9b"
				  "end";

	fact(ESPY_FACT_COMM, 1, 0, bad);
	fact(ESPY_FACT_FD_LINK, 1, 3, bad);
	fact(ESPY_FACT_FD_LINK, 1, 4, "/dev/x");
	fact(ESPY_FACT_FD_DETAIL, 1, 4, bad);
	fact(ESPY_FACT_IFNAME, 0, 1, bad);
	fact(ESPY_FACT_GENL, 0, 20, bad);
	call(ESPY_REC_EXIT, 1, 3, 56);
	call(ESPY_REC_EXIT, 1, 4, 56);
}

static void put_many(void)
{
	const char *rounds = getenv("ROUNDS");
	const uint32_t tasks = 1000000u * (rounds ? (uint32_t)atoi(rounds) : 1);

	for (uint32_t i = 1; i < tasks; i++) {
		struct espy_rec_fork f = {
			.rec = { .size = sizeof(f), .type = ESPY_REC_FORK, .tid = 1, .tgid = 1, .time_ns = 1 },
			.child_tid = i,
			.child_tgid = i
		};
		put(&f);
		if (i < tasks / 40)
			call(ESPY_REC_ENTER, i, 3, 32768 - 8 * (i & 7)); /* its items are nonsense, its size is not */
		if (i < 300000)
			fact(ESPY_FACT_FD_LINK, i, (int32_t)i, "/a/file/with/a/name/that/is/not/short");
	}
	call(ESPY_REC_EXIT, 1, 3, 56);
}

int main(int argc, char **argv)
{
	const struct espy_trace_write_opts o = { .path = argv[2], .force = true, .level = 1 };
	struct espy_trace_meta *m = espy_trace_meta__new();
	char select[4096];
	size_t size = 0;

	if (argc < 3 || !m)
		return 2;
	check(espy_trace_writer__open(&w, &o));
	for (int i = 3; i < argc; i++) {
		memcpy(select + size, argv[i], strlen(argv[i]) + 1);
		size += strlen(argv[i]) + 1;
	}
	if (size)
		check(espy_trace_meta__add(m, "select", select, size));
	const void *bytes = espy_trace_meta__bytes(m, &size);
	check(espy_trace_writer__section(w, ESPY_SECTION_META, 0, bytes, size));
	bytes = espy_builtin_image(ESPY_ABI_X86_64, &size);
	check(espy_trace_writer__section(w, ESPY_SECTION_IMAGE, ESPY_ABI_X86_64, bytes, size));
	if (!strcmp(argv[1], "many"))
		put_many();
	else
		put_texts();
	check(espy_trace_writer__close(w));
	espy_trace_meta__free(m);
	return 0;
}
