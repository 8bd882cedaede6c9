/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the captured bytes of one call do not hold: the file behind a descriptor, the name of a
 * process, of an interface. Descriptors come from the stream (FDNAME records, close, fork, exec);
 * what the stream has not told is asked of /proc. Each answer can be kept as a FACT record, so that a
 * session that reads the stream later, elsewhere, knows the same.
 */
#ifndef ESPY_SESSION_RESOLVE_H
#define ESPY_SESSION_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include "decode/decode.h"
#include "record/record.h"
#include "render/text.h"
#include "session/fd_table.h"
#include "session/tasks.h"
#include "source/source.h"

struct espy_numbered_name;
struct fd_news;

struct espy_resolve {
	struct espy_resolver resolver; /* for the renderer: what -y, -Y ask for */
	struct espy_resolver complete; /* for -P: descriptors whatever the text shows */
	struct espy_tasks *tasks;
	struct espy_fd_table fds;
	struct fd_news *news; /* FDNAME records of the call that is coming, and facts that belong behind them */
	size_t news_cnt, news_cap;
	bool news_taken;  /* at this record: what is asked now is asked with their names known */
	bool stream_only; /* /proc is not asked: it shows what the call has changed already */
	bool all;	  /* -yy */
	bool live;	  /* what is not known is asked of the system; else only facts of the stream answer */
	bool gathering;	  /* for a trace alone: what has been asked of a descriptor is not asked again */
	/* Told each answer that differs from the one before, as a FACT record; NULL: nobody keeps them. */
	espy_record_fn note;
	void *note_ctx;
	/*
	 * Number of the record at work. What is asked twice while one record is shown has one answer, as it has when
	 * the record is shown again: a name may change in between.
	 */
	uint32_t record;
	uint32_t nameless, nameless_at; /* a task whose name could not be told, and at which record */
	uint64_t now_ns;			    /* time of the record at work, for the facts that it makes */
	struct espy_numbered_name *comms, *ifnames; /* the answers so far, if they are kept or come from a trace */
	bool netlink; /* one of the descriptors was of netlink */
	uint32_t open_fds_of;			    /* whose descriptors a fact has told, after an exec; 0: none */
	uint64_t open_fds[16];
	uint8_t effects[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS]; /* what a call does to descriptors */
};

/* images: ESPY_ABI_CNT of them. fds, all, comm: -y, -yy, -Y. */
void espy_resolve__init(struct espy_resolve *r, struct espy_tasks *tasks, const struct espy_image *images, bool fds,
			bool all, bool comm);
/* A record begins to be dealt with. */
void espy_resolve__begin(struct espy_resolve *r, uint64_t time_ns);
/* A fact from a trace: what the observer was told at this place of the stream. */
void espy_resolve__fact(struct espy_resolve *r, const struct espy_rec_fact *f);
/* Everything that is known, as records that would make another session know it. */
void espy_resolve__dump(struct espy_resolve *r, espy_record_fn fn, void *ctx);
/* A source tells what a new descriptor is, just before the record of the call that made it. 0 or -ENOMEM. */
int espy_resolve__fdname(struct espy_resolve *r, const struct espy_rec_fdname *rec);
/* Around the text of a call that has ended: its arguments, its result. */
void espy_resolve__before_args(struct espy_resolve *r, const struct espy_call_view *v);
void espy_resolve__before_result(struct espy_resolve *r);
/* What a call that has ended did to the descriptors of its process (close, close_range, socket). */
void espy_resolve__call(struct espy_resolve *r, const struct espy_call_view *v);
/* Must a source send this call even if it is not shown? Else names of closed descriptors would live on. */
bool espy_resolve__needs_call(const char *name);
/* A new task has its parent's name; a new process its descriptors as well. */
void espy_resolve__fork(struct espy_resolve *r, const struct espy_rec_fork *f);
/* Learn what a process has open from /proc; what was known before is dropped, unless it has ended. */
void espy_resolve__seed(struct espy_resolve *r, uint32_t tgid);
/* A new image was started; after its execve is shown. */
void espy_resolve__exec(struct espy_resolve *r, uint32_t tgid);
/* A command of ours begins with what we have open ourselves; a short one has ended before /proc could be asked. */
void espy_resolve__inherit(struct espy_resolve *r, uint32_t tgid);
/* A task has ended, and with it, perhaps, its process. */
void espy_resolve__forget(struct espy_resolve *r, uint32_t tid, uint32_t tgid, bool process);
void espy_resolve__free(struct espy_resolve *r);

#endif
