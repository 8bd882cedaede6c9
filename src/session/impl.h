/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the session share: its state. Private to src/session/. */
#ifndef ESPY_SESSION_IMPL_H
#define ESPY_SESSION_IMPL_H

#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include "session/call_set.h"
#include "session/dump.h"
#include "session/gather.h"
#include "session/hold.h"
#include "session/lines.h"
#include "session/resolve.h"
#include "session/session.h"
#include "session/sink.h"
#include "session/summary.h"
#include "session/tasks.h"
#include "session/touches.h"
#include "session/trigger.h"

struct espy_marks_seen;
struct espy_recording;

/* What the session watches, of opts or of the trace that is shown. */
struct espy_targets {
	bool command, wide; /* wide: --all, --cgroup */
	uint32_t pids;	    /* of -p */
};

struct espy_session {
	struct espy_session_opts o;
	struct espy_image images[ESPY_ABI_CNT];
	void *own_images[ESPY_ABI_CNT]; /* made at run time (--describe, of a trace: joined); NULL: the built-in one */
	size_t own_image_sizes[ESPY_ABI_CNT];
	struct espy_call_set sets[ESPY_ABI_CNT];
	const struct espy_source_ops *src_ops;
	struct espy_source *src;
	struct espy_tasks tasks;
	struct espy_resolve resolve;
	struct espy_sink sink; /* not used with -ff -o */
	bool follow_fds;       /* -y, -P: what each descriptor is must be known */
	bool per_task_sinks;
	struct espy_lines lines;
	struct espy_summary_table *summary; /* NULL unless -c, -C */
	bool counted_by_source;		    /* -c: the source counts, no calls come as records */
	struct espy_call_view view;	    /* large; one at a time */
	struct espy_marks_seen *marks;	    /* made with the first definition */
	struct espy_targets targets;
	bool no_lines;	 /* -c, or a recording alone: no text is made of records */
	bool passive;	 /* the source tells of entries only when a call hangs */
	struct espy_recording *recording;   /* NULL: no trace is written */
	struct espy_gather gather;
	bool gathers;			    /* no text is made: what it would ask is asked nevertheless */
	const struct espy_show_opts *show;  /* NULL: live */
	uint64_t recorded[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64]; /* of a trace that is shown: calls that were wanted */
	uint64_t from_ns, to_ns;	    /* of a trace: what is shown, CLOCK_MONOTONIC; 0: from the start, to the end */
	bool outside;			    /* what is at work is not between them */
	struct espy_trigger triggers[ESPY_TRIGGER_MAX];
	size_t trigger_cnt;
	struct espy_hold *hold; /* NULL unless --pause-on */
	uint64_t image_changes[ESPY_ABI_CNT]; /* of a trace: of its sections, when images[] was made of them */
	bool image_lacks[ESPY_ABI_CNT];	    /* of a trace: it was said that it has no description of a call */
	struct espy_zone zone;		    /* of a trace: of the place where it was made */
	pid_t command_pid;
	uint32_t shown_command;		   /* of a trace: the command's number; 0: not met yet */
	bool reported;		  /* the source has said what went wrong */
	struct rlimit user_files; /* RLIMIT_NOFILE as the user gave it */
	bool files_raised;
	uint64_t printed;		   /* calls, for --syscall-limit */
	uint32_t detach_tid;		   /* to be let go of after this poll; 0: none */
	bool command_execed;		   /* the command's own first execve is behind us */
	uint64_t undescribed;		   /* calls shown raw */
	uint64_t damaged_records;
	struct espy_budget budget;	   /* of a trace: for what it claims */
	uint64_t open_since_ns;		   /* when the open line was begun */
	bool trace_error;		   /* write_error is of the trace, not of the text */
	int write_error;		   /* first one, positive errno */
	unsigned snapshots;		   /* number of the flight recorder's last trace */
	volatile sig_atomic_t snapshot_wanted;
	volatile sig_atomic_t stop_signal; /* 0: go on */
	volatile sig_atomic_t stopping;
};

/* Whose call it is, of an ENTER or EXIT record. */
static inline enum espy_abi espy_rec_abi(const struct espy_rec *rec)
{
	if (rec->flags & ESPY_RF_ABI_I386)
		return ESPY_ABI_I386;
	return rec->flags & ESPY_RF_ABI_X32 ? ESPY_ABI_X32 : ESPY_ABI_X86_64;
}
/* Of a trace: its descriptions are about to be used for this call. */
void espy_session__need_image(struct espy_session *s, const struct espy_rec *call);
/* One record from the source: state first, then lines. 0, or non-zero to end the poll early. */
int espy_session__record(void *session, const struct espy_rec *rec);
/* The same of a run of marks (espy_marks_fn). */
int espy_session__marks(void *session, const struct espy_rec *first, size_t size);
/* Lines that are open belong to tasks that go on without us. */
void espy_session__show_detached(struct espy_session *s);
/* So are those of a trace that ends in the middle of a call. */
void espy_session__show_unfinished(struct espy_session *s);
/* How many events each mark had, and how fast they came. */
void espy_session__show_marks(struct espy_session *s);
/* One moment by all clocks, as a record. */
void espy_session__clock(struct espy_session *s);
/* It is let go of: its file is closed, nothing of it is shown any more. */
void espy_session__drop_task(struct espy_session *s, struct espy_task *task);
/* Seconds east of Greenwich, now. */
int32_t espy_session__utc_offset(void);
/* Are tasks that come and go told on stderr? A recording is silent. */
static inline bool espy_session__tells_tasks(const struct espy_session *s)
{
	return !(s->o.quiet & ESPY_QUIET_ATTACH) && !s->gathers;
}

/* A call that stays open on the screen for long is marked, to be told from one that is just being written. */
void espy_session__mark_hanging(struct espy_session *s, uint64_t now_ns);
/* A message on stderr, prefixed by the name of the command. */
void espy_session__say(struct espy_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Tasks of a process that runs already become known (and announced). Returns how many. */
unsigned espy_session__seed(struct espy_session *s, pid_t pid, bool all_threads);

#endif
