/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the bytes are the records of a trace file, of every type, and go through a session that shows it.
 * Whatever they claim, nothing but printable text comes out, in whole lines, and nothing is kept afterwards.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "describe/builtin.h"
#include "session/impl.h"
#include "trace/trace.h"

static struct espy_session *session;
static struct espy_session_opts opts;
static struct espy_filter filter;
static struct espy_show_opts show;
static const pid_t one_pid[] = { 1 };
static struct espy_image images[ESPY_ABI_CNT];
static const struct espy_image *image_ptrs[ESPY_ABI_CNT];

/* A trace with descriptions and no records. */
static void write_empty_trace(const char *path)
{
	const struct espy_trace_write_opts o = { .size = sizeof(o), .path = path, .force = true };
	struct espy_trace_meta *m = espy_trace_meta__new();
	struct espy_trace_writer *w;
	size_t size;

	if (!m || espy_trace_writer__open(&w, &o) || espy_trace_meta__add_number(m, "target.follow", 1))
		abort();
	const void *bytes = espy_trace_meta__bytes(m, &size);
	int err = espy_trace_writer__section(w, ESPY_SECTION_META, 0, bytes, size);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++) {
		bytes = espy_builtin_image((enum espy_abi)abi, &size);
		err = espy_image__open(&images[abi], bytes, size, NULL);
		image_ptrs[abi] = &images[abi];
		if (!err)
			err = espy_trace_writer__section(w, ESPY_SECTION_IMAGE, abi, bytes, size);
	}
	if (err || espy_trace_writer__close(w))
		abort();
	espy_trace_meta__free(m);
}

static void open_session(void)
{
	char path[] = "/tmp/espy-fuzz-XXXXXX", why[128];
	const struct espy_trace_read_opts ro = { .size = sizeof(ro) };
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	write_empty_trace(path);
	if (espy_trace_reader__open(&show.reader, path, &ro, why, sizeof(why)))
		abort();
	unlink(path);
	show.path = "fuzz";
	espy_filter__init(&filter, image_ptrs);
	opts = (struct espy_session_opts){
		.progname = "fuzz",
		.show = &show,
		.filter = &filter,
		.output = "/dev/null",
		.status = ESPY_STATUS_ALL,
		.text = { .str_limit = 32, .column = 40 },
		.quiet = ESPY_QUIET_ATTACH,
	};
	if (espy_session__open(&session, &opts))
		abort();
}

/* As if it had just been opened, with other options. */
static void begin(const uint8_t *style)
{
	struct espy_session *s = session;
	struct espy_session_opts *o = &s->o;

	o->fds = (enum espy_fd_decode)(style[0] % 3);
	o->pid_comm = style[0] & 4;
	o->time = (enum espy_time_style)((style[0] >> 3) % 3);
	o->time_precision = style[0] & 0x20 ? 9 : 0;
	o->relative_time = style[0] & 0x40;
	o->call_time = style[0] & 0x80;
	o->show_nr = style[1] & 1;
	o->show_ip = style[1] & 2;
	show.pids = one_pid;
	show.pid_cnt = style[1] & 4 ? 1 : 0;
	s->from_ns = style[1] & 8 ? 1000 : 0;
	s->to_ns = style[1] & 16 ? 100000 : 0;
	s->outside = s->from_ns;
	s->lines.pid_column = style[1] & 32;
	s->passive = style[1] & 64;
	s->stopping = 0;
	s->damaged_records = 1; /* says nothing of the next */
	s->budget = (struct espy_budget){ .max = 1 << 20 };
	espy_resolve__init(&s->resolve, &s->tasks, s->images, o->fds != ESPY_FD_NONE, o->fds == ESPY_FD_ALL,
			   o->pid_comm);
	s->resolve.live = false;
	s->tasks.budget = s->resolve.fds.budget = &s->budget;
	s->summary = style[1] & 128 ? espy_summary__new(o) : NULL;
}

static void end(void)
{
	struct espy_session *s = session;

	espy_session__show_unfinished(s);
	if (s->summary) {
		espy_summary__print(s->summary, &s->sink.buf);
		espy_sink__whole_lines(&s->sink);
		espy_summary__free(s->summary);
		s->summary = NULL;
	}
	if (s->sink.buf.len && s->sink.buf.data[s->sink.buf.len - 1] != '\n')
		abort();
	for (size_t i = 0; i < s->sink.buf.len; i++) {
		const unsigned char c = (unsigned char)s->sink.buf.data[i];

		if ((c < 0x20 || c >= 0x7f) && c != '\n')
			abort();
	}
	espy_sink__flush(&s->sink);
	espy_tasks__free(&s->tasks);
	espy_resolve__free(&s->resolve);
	s->tasks = (struct espy_tasks){ 0 };
	if (s->budget.used) /* what was taken is given back */
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 8 || size > 65536)
		return 0;
	if (!session)
		open_session();
	size_t n = (size - 2) & ~(size_t)7;

	begin(data);
	for (size_t at = 0; at + 24 <= n;) {
		struct espy_rec head;

		memcpy(&head, data + 2 + at, sizeof(head));
		/* what the fuzzer cannot know: few tasks, few types, a size that may be right */
		head.type %= 24;
		head.tid %= 8;
		head.tgid %= 8;
		head.size = (head.size & 0x3f8) + (uint32_t)sizeof(head);
		const size_t least = espy_rec_least_size(&head);

		if (head.size < least)
			head.size = (uint32_t)(least + 7) & ~7u;
		if (head.size > n - at)
			break;
		/* a copy of exactly this size: reads beyond it are found */
		struct espy_rec *rec = malloc(head.size);
		if (!rec)
			break;
		memcpy(rec, data + 2 + at, head.size);
		*rec = head;
		if (head.type == ESPY_REC_FORK) {
			((struct espy_rec_fork *)rec)->child_tid %= 8;
			((struct espy_rec_fork *)rec)->child_tgid %= 8;
		}
		espy_session__record(session, rec);
		at += head.size;
		free(rec);
	}
	end();
	return 0;
}
