/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Descriptions of a session: the built-in ones with files of the user, or a trace's own, which come in parts. */
#include "lib/session_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe/builtin.h"
#include "describe/prune.h"
#include "sink/tally.h"
#include "trace/trace.h"

/* Tells the user of a mistake in a file of descriptions: FILE:LINE:COLUMN: ... */
static void on_diagnostic(void *ctx, const char *text)
{
	espy_session__say(ctx, ESPY_TOPIC_DESCRIBE, "%s", text);
}

/* Opens the built-in descriptions together with files of the user. 0, or -errno that was said. */
static int open_with_files(struct espy_session *s, enum espy_abi abi)
{
	size_t *size = &s->descriptions.own_size[abi], bad;
	int err = espy_describe_with_files(abi, s->o.describe, s->o.describe_count, on_diagnostic, s,
					   &s->descriptions.own[abi], size);

	if (err) {
		if (err != -EINVAL) /* else the diagnostics have said all */
			espy_session__error(s, "--describe: %s", strerror(-err));
		return err;
	}
	err = espy_image__open(&s->pipe.images[abi], s->descriptions.own[abi], *size, &bad);
	if (err)
		espy_session__error(s, "descriptions for ABI %u are damaged at offset %zu", abi, bad);
	return err;
}

static int open_images(struct espy_session *s)
{
	int err = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++) {
		if (s->o.describe_count) {
			err = open_with_files(s, (enum espy_abi)abi);
		} else {
			espy_builtin_image((enum espy_abi)abi, &s->descriptions.own_size[abi]);
			err = espy_builtin_image__open(&s->pipe.images[abi], (enum espy_abi)abi);
		}
	}
	return err;
}

/* The most parts of the descriptions of one ABI that count at a time: parts of two files of a set. */
#define PARTS_MAX 32

/*
 * Opens the descriptions with which the trace was made, as far as they have come. This version's own stand in for calls
 * without one. Numbers of calls mean the same in all of them. 0, or -errno that was said.
 */
static int open_trace_image(struct espy_session *s, enum espy_abi abi)
{
	struct espy_image parts[PARTS_MAX + 1], joined;
	const struct espy_image *list[PARTS_MAX + 1];
	size_t size = 0, bad = 0;
	const void *data;
	unsigned cnt = 0;
	void *bytes = NULL;
	int err = 0;

	s->descriptions.changes[abi] = espy_trace_reader__section_changes(s->trace->reader);
	for (; cnt < PARTS_MAX && !err; cnt += !err) {
		if (espy_trace_reader__section(s->trace->reader, ESPY_SECTION_IMAGE, abi, cnt, &data, &size))
			break;
		list[cnt] = &parts[cnt];
		err = espy_image__open(&parts[cnt], data, size, &bad);
		if (!err && parts[cnt].abi != abi)
			err = -EBADMSG;
	}
	if (err) {
		espy_session__error(s, "%s: its descriptions for ABI %u are damaged at offset %zu", s->trace->path, abi,
				    bad);
		return err;
	}
	list[cnt] = &parts[cnt];
	err = espy_builtin_image__open(&parts[cnt], abi);
	if (!err && cnt)
		err = espy_image__join(list, cnt + 1, &joined, &bytes);
	else
		joined = parts[0];
	if (err) {
		espy_session__error(s, "%s: its descriptions for ABI %u: %s", s->trace->path, abi, strerror(-err));
		return err;
	}
	free(s->descriptions.own[abi]);
	s->descriptions.own[abi] = bytes;
	s->pipe.images[abi] = joined;
	if (s->condition.where)
		espy_where__forget(s->condition.where, abi);
	for (unsigned i = 0; i < s->engines.cnt; i++) {
		if (s->engines.v[i]->own_where)
			espy_where__forget(s->engines.v[i]->own_where, abi);
		if (s->engines.v[i]->tally)
			espy_tally__forget(s->engines.v[i]->tally, abi);
	}
	return 0;
}

static int open_trace_images(struct espy_session *s)
{
	int err = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !err; abi++)
		err = open_trace_image(s, (enum espy_abi)abi);
	return err;
}

void espy_session__need_image(struct espy_session *s, const struct espy_rec *call)
{
	const enum espy_abi abi = call->abi;
	const struct espy_image *img = &s->pipe.images[abi];

	/* They come in parts, before the calls that they describe. */
	if (s->descriptions.changes[abi] != espy_trace_reader__section_changes(s->trace->reader) &&
	    open_trace_image(s, abi))
		return;
	if (call->nr < img->syscall_cnt && !(img->syscalls[call->nr].flags & ESPY_SYSCALL_STAND_IN))
		return;
	if (!s->descriptions.lacks[abi] && call->nr < img->syscall_cnt)
		espy_session__error(s, "%s: not all descriptions for ABI %u are there: those of this version are used",
				    s->trace->path, abi);
	s->descriptions.lacks[abi] = true; /* said once */
}

int espy_session__open_images(struct espy_session *s)
{
	return s->trace ? open_trace_images(s) : open_images(s);
}
