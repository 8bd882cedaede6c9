/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: the bytes are the records of a trace file, of every type, and go through a session that shows it in one of
 * several styles. Whatever they claim, nothing but printable text comes out, in whole lines, and nothing is kept afterwards.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "describe/builtin.h"
#include "json_syntax.h"
#include "lib/session_impl.h"
#include "trace/trace.h"

static struct espy_filter *one_task;
static char trace_path[64], text_path[64];
static int text_fd;

/* A trace with descriptions and no records. */
static void write_empty_trace(const char *path)
{
	const struct espy_trace_write_opts o = { .path = path, .force = true };
	struct espy_trace_meta *m = espy_trace_meta__new();
	struct espy_trace_writer *w;
	size_t size;

	if (!m || espy_trace_writer__open(&w, &o) || espy_trace_meta__add_number(m, "target.follow", 1))
		abort();
	const void *bytes = espy_trace_meta__bytes(m, &size);
	int err = espy_trace_writer__section(w, ESPY_SECTION_META, 0, bytes, size);
	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++) {
		bytes = espy_builtin_image((enum espy_abi)abi, &size);
		err = espy_trace_writer__section(w, ESPY_SECTION_IMAGE, abi, bytes, size);
	}
	if (err || espy_trace_writer__close(w))
		abort();
	espy_trace_meta__free(m);
}

/* Files without names: the trace, and what a session makes of it. */
static void begin(void)
{
	char path[] = "/tmp/espy-fuzz-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		abort();
	close(fd);
	write_empty_trace(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	text_fd = memfd_create("text", MFD_CLOEXEC);
	if (fd < 0 || text_fd < 0)
		abort();
	snprintf(trace_path, sizeof(trace_path), "/proc/self/fd/%d", fd);
	snprintf(text_path, sizeof(text_path), "/proc/self/fd/%d", text_fd);
	if (espy_filter_new(&one_task) || espy_filter_task(one_task, 1))
		abort();
}

/* Every value that an event has, by the paths that it is said to have, in all ways. What is said must hold. */
static void ask_values(const struct espy_event *e, const char *path, unsigned depth)
{
	struct espy_value v = { .size = sizeof(v) };
	const char *names[2];
	char member[512], text[64];
	uint64_t rest;
	int64_t n;

	for (unsigned i = 0; i < 20 && depth < 4 && espy_event_member(e, path, i, member, sizeof(member)) >= 0; i++)
		ask_values(e, member, depth + 1);
	if (*path && !espy_event_value(e, path, &v)) {
		const volatile uint8_t *bytes = v.bytes;
		const bool number = v.kind == ESPY_KIND_SIGNED || v.kind == ESPY_KIND_UNSIGNED;

		if (v.length && (bytes[0] ^ bytes[v.length - 1]) > 255) /* they can be read */
			abort();
		if (number != (espy_event_number_at(e, path, &n) == 0) && v.kind != ESPY_KIND_ADDRESS)
			abort();
	}
	espy_event_string_at(e, path, text, sizeof(text));
	espy_event_names(e, path, names, 2, &rest);
	espy_event_value_text(e, path, text, sizeof(text));
}

static void ask(void *ctx, const struct espy_event *e)
{
	char text[256];
	uint64_t u;
	int n;

	ask_values(e, "", 0);
	ask_values(e, ctx, 0); /* a path that the fuzzer makes */
	n = espy_event_text(e, text, sizeof(text));
	if (n >= 0 && strlen(text) != ((size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1))
		abort();
	espy_event_fd_path(e, 3);
	espy_event_task_name(e);
	espy_event_duration(e, &u);
	espy_event_register(e, 1, &u);
	espy_event_error(e);
	espy_event_child(e);
	espy_event_loss(e, &u, NULL);
	espy_event_status(e, &n);
}

/* A session that shows the trace in a style. */
static struct espy_session *open_session(const uint8_t *style, struct espy_trace *trace)
{
	struct espy_text_options text = {
		.size = sizeof(text),
		.fds = (enum espy_fd_text)(style[0] % 3),
		.task_names = style[0] & 4,
		.time = (enum espy_time_text)((style[0] >> 3) % 3),
		.time_precision = style[0] & 0x20 ? 9 : 0,
		.relative_time = style[0] & 0x40,
		.call_time = style[0] & 0x80,
		.call_number = style[1] & 1,
		.instruction_pointer = style[1] & 2,
		.task_always = style[1] & 32,
	};
	const bool json = style[1] & 64;
	struct espy_summary_options table = { .size = sizeof(table), .json = json };
	struct espy_sink_options sink = {
		.size = sizeof(sink), .name = "json", .fd_details = style[0] & 1, .task_names = style[0] & 4, .hang_ms = style[0] & 8
	};
	struct espy_engine_options e = { .size = sizeof(e), .filter = style[1] & 4 ? one_task : NULL };
	const struct espy_session_options so = {
		.size = sizeof(so),
		.trace = trace,
		.from = { .kind = style[1] & 8 ? ESPY_MOMENT_SINCE_START : ESPY_MOMENT_NONE, .ns = 1000 },
		.to = { .kind = style[1] & 16 ? ESPY_MOMENT_SINCE_START : ESPY_MOMENT_NONE, .ns = 100000 },
	};
	struct espy_output *out;
	struct espy_session *s;

	if (espy_output_open(&out, text_path, false) || espy_session_open(&s, &so))
		abort();
	text.output = table.output = sink.output = out;
	if (style[1] & 128) {
		e.summary = &table;
		if (espy_engine_add(s, &e, NULL))
			abort();
		e.summary = NULL;
	}
	if (style[1] & 64) {
		static char path[7];

		memcpy(path, style + 2, 6);
		e.event = ask;
		e.ctx = path;
		if (espy_engine_add(s, &e, NULL))
			abort();
		e.event = NULL;
	}
	e.text = json ? NULL : &text;
	e.sink = json ? &sink : NULL;
	if (espy_engine_add(s, &e, NULL) || espy_session_start(s) || espy_output_close(out))
		abort();
	return s;
}

/* Each line is an object. */
static void check_objects(const char *text, const char *end)
{
	while (text < end) {
		const char *const line_end = memchr(text, '\n', (size_t)(end - text));

		if (!line_end || *text != '{' || !fuzz_json_is_value(text, (size_t)(line_end - text)))
			abort();
		text = line_end + 1;
	}
}

/* Nothing but whole lines of printable text; or of JSON. */
static void check_text(bool json)
{
	const off_t size = lseek(text_fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1);

	if (!text || pread(text_fd, text, (size_t)size, 0) != size)
		abort();
	if (size && text[size - 1] != '\n')
		abort();
	if (json)
		check_objects(text, text + size);
	for (off_t i = 0; i < size && !json; i++) {
		const unsigned char c = (unsigned char)text[i];

		if ((c < 0x20 || c >= 0x7f) && c != '\n')
			abort();
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 8 || size > 65536)
		return 0;
	if (!text_fd)
		begin();
	struct espy_trace *trace;

	if (espy_trace_open(&trace, trace_path, false, NULL, NULL))
		abort();
	struct espy_session *session = open_session(data, trace);
	size_t n = (size - 2) & ~(size_t)7;

	for (size_t at = 0; at + 24 <= n;) {
		struct espy_rec head;

		memcpy(&head, data + 2 + at, sizeof(head));
		/* what the fuzzer cannot know: few tasks, few types, a size that may be right */
		head.type %= 24;
		head.tid %= 8;
		head.tgid %= 8;
		head.abi %= ESPY_ABI_CNT; /* a reader refuses others */
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
	espy_session_run(session); /* there is nothing more: what is unfinished, and the table */
	espy_session_close(session);
	espy_trace_close(trace);
	check_text(data[1] & 64);
	return 0;
}
