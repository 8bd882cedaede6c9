/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the captured bytes of one call do not hold: the file behind a descriptor, the name of a
 * process, of an interface. Descriptors come from the stream (FDNAME records, close, fork, exec);
 * what the stream has not told is asked of /proc.
 */
#ifndef ESPY_SESSION_RESOLVE_H
#define ESPY_SESSION_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/decode.h"
#include "record/record.h"
#include "render/text.h"
#include "session/tasks.h"
#include "source/source.h"

struct espy_fd_name;
struct fd_news;

struct espy_resolve {
	struct espy_resolver resolver; /* for the renderer: what -y, -Y ask for */
	struct espy_resolver complete; /* for -P: descriptors whatever the text shows */
	struct espy_tasks *tasks;
	struct espy_fd_name *names; /* by (tgid, fd) */
	struct fd_news *news;	    /* FDNAME records of the call that is coming */
	size_t news_cnt;
	bool stream_only; /* /proc is not asked: it shows what the call has changed already */
	bool all;	  /* -yy */
	uint8_t effects[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS]; /* what a call does to descriptors */
};

/* images: ESPY_ABI_CNT of them. fds, all, comm: -y, -yy, -Y. */
void espy_resolve__init(struct espy_resolve *r, struct espy_tasks *tasks, const struct espy_image *images, bool fds,
			bool all, bool comm);
/* A source tells what a new descriptor is, just before the record of the call that made it. 0 or -ENOMEM. */
int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec);
/* Around the text of a call that has ended: its arguments, its result. */
void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v);
void espy_resolve__before_result(struct espy_resolve *r);
/* What a call that has ended did to the descriptors of its process (close, close_range, socket). */
void espy_resolve__call(struct espy_resolve *r, const struct espy_call_view *v);
/* Must a source send this call even if it is not shown? Else names of closed descriptors would live on. */
bool espy_resolve__needs_call(const char *name);
/* A new process has its parent's descriptors. */
void espy_resolve__fork(struct espy_resolve *r, uint32_t parent, uint32_t child);
/* Learn what a process has open from /proc; what was known before is dropped, unless it has ended. */
void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid);
/* A new image was started; after its execve is shown. */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid);
/* A command of ours begins with what we have open ourselves; a short one has ended before /proc could be asked. */
void espy_resolve__inherit(struct espy_resolve *r, uint32_t tgid);
/* A process has ended. */
void espy_resolve__forget(struct espy_resolve *r, uint32_t tgid);
void espy_resolve__free(struct espy_resolve *r);

#endif
