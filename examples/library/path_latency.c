/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * path_latency PROGRAM [ARGUMENTS]: how long reads and writes take, as a histogram for each file. A line for each file:
 * its path, how many calls, and how many of them took less than 2, 4, 8, ... microseconds.
 */
#include <espy/espy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 24

struct file {
	struct file *next;
	unsigned long calls, bucket[BUCKETS];
	char path[];
};

static struct file *find(struct file **files, const char *path)
{
	struct file *f = *files;

	while (f && strcmp(f->path, path))
		f = f->next;
	if (f)
		return f;
	f = calloc(1, sizeof(*f) + strlen(path) + 1);
	if (!f)
		return NULL;
	strcpy(f->path, path);
	f->next = *files;
	return *files = f;
}

static void on_call(void *ctx, const struct espy_event *e)
{
	unsigned bucket = 0;
	struct file *f;
	char path[4096];
	uint64_t ns;

	/* Of a call on a descriptor "path" is the file behind it, as it was then. */
	if (espy_event_duration(e, &ns) || espy_event_string_at(e, "path", path, sizeof(path)) < 0)
		return;
	while (bucket < BUCKETS - 1 && ns >= 2000ull << bucket)
		bucket++;
	f = find(ctx, path);
	if (!f)
		return;
	f->calls++;
	f->bucket[bucket]++;
}

static void on_log(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text)
{
	(void)topic;
	if (level == ESPY_LOG_ERROR)
		fprintf(stderr, "%s: %s\n", (const char *)ctx, text);
}

int main(int argc, char **argv)
{
	struct file *files = NULL;
	char program_path[4096];
	struct espy_program program = { .size = sizeof(program), .path = program_path, .argv = argv + 1 };
	struct espy_session_options so = { .size = sizeof(so), .program = &program, .follow = true, .engines_fixed = true, .log = on_log,
					   .log_ctx = argv[0] };
	struct espy_engine_options eo = { .size = sizeof(eo), .events = ESPY_EVENT_CALL_END, .event = on_call, .ctx = &files };
	struct espy_filter *filter = NULL;
	struct espy_session *session = NULL;
	int err = argc < 2 ? -EINVAL : espy_find_program(argv[1], program_path, sizeof(program_path));

	err = err ? err : espy_filter_new(&filter);
	err = err ? err : espy_filter_select(filter, "read,pread64,readv,write,pwrite64,writev,fsync,fdatasync", NULL, 0);
	err = err ? err : espy_session_open(&session, &so);
	eo.filter = filter;
	err = err ? err : espy_engine_add(session, &eo, NULL);
	err = err ? err : espy_session_run(session);
	espy_session_close(session);
	espy_filter_free(filter);
	if (err)
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-err));
	while (files) {
		struct file *f = files;

		printf("%s %lu", f->path, f->calls);
		for (unsigned i = 0; i < BUCKETS; i++)
			if (f->bucket[i])
				printf(" <%gus:%lu", (double)(2u << i), f->bucket[i]);
		putchar('\n');
		files = f->next;
		free(f);
	}
	return err ? 2 : 0;
}
