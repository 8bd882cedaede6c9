/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the session share: its state. Private to src/lib/. */
#ifndef ESPY_LIB_SESSION_IMPL_H
#define ESPY_LIB_SESSION_IMPL_H

#include <espy/espy.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include "event/decoder.h"
#include "filter/trigger_text.h"
#include "filter/where.h"
#include "lib/engine.h"
#include "lib/option_structs.h"
#include "sink/prefetch.h"
#include "source/source.h"
#include "state/resolver.h"
#include "state/state.h"

struct espy_event_answers;
struct espy_flight;
struct espy_resume_socket;
struct espy_trace_reader;

/* A trace file that is open for a session. */
struct espy_trace {
	struct espy_trace_reader *reader;
	char *path;
	bool follow;
	uint64_t damaged; /* places of it that could not be read */
	unsigned users;	  /* the caller, and a session */
	bool taken;	  /* a session has read it, or does */
	struct espy_log log;
	espy_log_fn log_fn;
	void *log_ctx;
};

/* Descriptions, for each ABI. */
struct session_images {
	void *own[ESPY_ABI_CNT]; /* made at run time (from files; of a trace: joined); NULL: the built-in ones */
	size_t own_size[ESPY_ABI_CNT];
	uint64_t changes[ESPY_ABI_CNT]; /* of a trace: of its sections, when they were made of them */
	bool lacks[ESPY_ABI_CNT];	/* of a trace: it was said that it has no description of a call */
};

/* Of a session on a trace: what of it is shown. */
struct session_window {
	uint64_t recorded[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64]; /* calls that were wanted when it was recorded */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; 0: from the start, to the end */
	uint32_t command;	 /* the command's number; 0: not met yet */
};

struct session_targets {
	struct espy_command command; /* path NULL: none */
	pid_t command_pid;
	bool command_execed; /* the command's own first execve is behind us */
	uint32_t detach_tid; /* to be let go of after this poll; 0: none */
	struct rlimit user_files; /* RLIMIT_NOFILE as it was */
	bool files_raised;
};

/* Engines, and requests to change them from threads that do not run the session. */
struct session_engines {
	struct espy_engine **v;
	unsigned cnt;
	size_t room;
	unsigned record_sinks; /* how many sinks of records there are */
	unsigned depth;	       /* events that are being given to them now, one within the other */
	bool any_gone;
	uint64_t serial;       /* of the event at work */
	pthread_mutex_t lock;	 /* of what follows */
	pthread_cond_t changed;
	struct engine_request *requests;
	pthread_t reader; /* the thread in run or dispatch, if reading */
	bool reading;
	bool brief;	       /* that thread changes engines, and is about to leave */
	struct espy_wake wake; /* there are requests, or the session is to stop */
};

/* The condition (--where) of the first engine's filter, and what of it the source tests. Other filters' conditions are tested here. */
struct session_condition {
	struct espy_where *where; /* NULL: there is none */
	bool times;		  /* it asks how long calls took, or that of another engine does */
	bool several;		  /* an engine has another filter: what the source has tested may have been for that one */
	struct espy_trigger *gates; /* what the source tests of it; NULL: nothing */
	size_t gate_cnt;
	struct espy_call_gate (*call_gates)[ESPY_MAX_SYSCALLS]; /* one table for each ABI */
};

/* Holds by espy_pause, of tasks that may have come to the end of their lease. */
struct session_hold {
	pid_t task;
	unsigned holds;
	uint64_t until_ns;
};
struct session_holds {
	struct session_hold *v;
	size_t cnt, room;
	pthread_mutex_t lock;
};

enum session_phase { PHASE_NEW, PHASE_RUNS, PHASE_OVER, PHASE_FINISHED };
struct session_run {
	pthread_t starter; /* the thread that has started it */
	_Atomic(enum session_phase) phase;
	atomic_bool stop_asked, snapshot_asked; /* by the user, from any thread or a signal handler */
	bool stopping;	/* to be ended, for whatever reason */
	bool draining;	/* what was on its way is taken, though it ends */
	bool closing;	/* to be closed when the reader comes out of it */
	bool reported;	/* the source has said what went wrong */
	bool detached;	/* the targets were let go of, and had not ended */
	int error;	/* first one, positive errno */
	const char *failed; /* what could not be written, for the message */
	uint64_t clock_ns;  /* when the clock was taken last for traces; 0: not yet */
	uint64_t undescribed, damaged, bad_definitions; /* calls shown raw; records, definitions of marks left out */
};

struct espy_session {
	struct espy_session_options o; /* pointers into kept */
	struct espy_kept kept;
	struct espy_log log;
	const struct espy_source_ops *src_ops;
	struct espy_source *src;
	struct espy_call_set sets[ESPY_ABI_CNT];
	struct espy_trigger triggers[ESPY_TRIGGER_MAX];
	size_t trigger_cnt;
	struct espy_needs needs;     /* of all engines, when it was started */
	struct espy_mark_rules marks; /* of all engines; cnt 0: none. The rules are their filters' */
	struct espy_probe_places *probes; /* of all engines; NULL: none are wanted */
	struct espy_filter *first_filter; /* of the engine that was added first */
	struct espy_tamper *tampers; /* of all filters; their bytes are the filters' */
	size_t tamper_cnt;
	struct espy_engine *counts_for; /* the source counts for this one, and sends no calls; NULL: it does not */
	struct espy_image images[ESPY_ABI_CNT];
	struct session_images descriptions;
	struct espy_state *state;
	char cwd[4096]; /* of the event at work: struct espy_event */
	struct espy_resolver resolver; /* the answers of the state */
	struct espy_decoder decoder;
	struct espy_stream stream;
	struct espy_call_view view; /* large; one at a time */
	struct espy_prefetch prefetch;
	bool gathers; /* no text is made: what it would ask is asked nevertheless */
	bool follow_fds; /* what each descriptor is must be known */
	struct espy_trace *trace; /* NULL: live */
	struct session_window window;
	struct session_condition condition;
	struct session_targets targets;
	struct session_engines engines;
	struct session_run run;
	struct session_holds holds;
	struct espy_event_answers *answers; /* of questions of callbacks; NULL: nothing was asked yet */
	struct espy_flight *flight; /* NULL: no flight recorder */
	struct espy_resume_socket *resume_socket;
	struct espy_filter **filters; /* that the source uses; NULL behind the last */
	int wait_fd, timer_fd; /* of espy_session_fd; -1: nobody has asked */
};

/* What the session keeps of each task. */
struct espy_task_notes {
	bool announced;	     /* "Process N attached" was said */
	unsigned args_shown; /* of its call, when it was told that it has begun (espy_decoder__begin) */
};
static inline struct espy_task_notes *espy_task_notes(const struct espy_task *task)
{
	return task->slot;
}

/* ---- session_start.c: 0; -ESRCH: it is over; or -errno, which was said. */
int espy_session__start_once(struct espy_session *s);
/* ---- session_run.c: the reader leaves the session. Returns n, or -ECANCELED: a callback has closed the session, which is gone now. */
int espy_session__come_out(struct espy_session *s, int n);

/* ---- log_api.c: what is said */
void espy_session__open_log(struct espy_session *s);
void espy_session__say(struct espy_session *s, enum espy_log_topic topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void espy_session__error(struct espy_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* espy_report_fn */
void espy_session__report(void *session, enum espy_report_level level, const char *text);

/* ---- session_probes.c */
/* From the rules of all engines to places. 0, or -errno that was said. */
int espy_session__open_probes(struct espy_session *s);
const struct espy_probes *espy_session__probes(const struct espy_session *s); /* NULL: none are wanted */
/* Are these rules among those that were resolved? */
bool espy_session__has_probes_of(const struct espy_session *s, const struct espy_probe_rules *rules);

/* ---- images.c */
int espy_session__open_images(struct espy_session *s);
/* Of a trace: its descriptions are about to be used for this call. */
void espy_session__need_image(struct espy_session *s, const struct espy_rec *call);

/* ---- source_open.c */
/* From the engines: which calls, and how much of their data. 0 or -errno. */
int espy_session__open_call_sets(struct espy_session *s);
int espy_session__open_source(struct espy_session *s);
/* The engines have changed: the source is asked for what they want together now. */
void espy_session__want_calls(struct espy_session *s);
/* ---- targets.c */
void espy_session__raise_file_limit(struct espy_session *s);
int espy_session__add_targets(struct espy_session *s);
int espy_session__add_pid(struct espy_session *s, pid_t pid, bool single_task);
/* ---- trace_input.c */
void espy_session__open_window(struct espy_session *s);
int espy_session__open_trace(struct espy_session *s);
/* A trace is read by one session, which is one of its users from then on: 0, or -EBUSY. */
int espy_session__take_trace(struct espy_session *s, struct espy_trace *t);

/* ---- session_where.c */
/* 0, or -errno that was said. After the images, before the state and the call sets. */
int espy_session__open_where(struct espy_session *s);
/* The same of an engine whose filter is not the first one's. */
int espy_session__open_own_where(struct espy_session *s, struct espy_engine *e);
/* The source is chosen: what can be tested there goes there, and is told if the user asked (--explain). 0 or -ENOMEM. */
int espy_session__set_gates(struct espy_session *s);
/* Is the call wanted, by the condition? A call that has not ended is only if that cannot change any more. */
bool espy_session__where(void *session, const struct espy_call_view *v);
void espy_session__close_where(struct espy_session *s);

/* ---- dispatch.c */
/* One record from the source: state first, then engines. 0, or non-zero to end the poll early. */
int espy_session__record(void *session, const struct espy_rec *rec);
/* The same of a run of marks (espy_marks_fn). */
int espy_session__marks(void *session, const struct espy_rec *first, size_t size);
/* Is there a sink that could not be written, and that ends the session? */
void espy_session__note_errors(struct espy_session *s);
/* All tasks go on without us. */
void espy_session__detached(struct espy_session *s);
/* One moment by all clocks, as a record. */
void espy_session__clock(struct espy_session *s);
/* It is let go of: nothing of it is an event any more. */
void espy_session__drop_task(struct espy_session *s, struct espy_task *task);

/* ---- engines.c */
int espy_session__open_engines(struct espy_session *s);
void espy_session__close_engines(struct espy_session *s);
/* The sink is told that the stream begins. 0 or -errno, which was said. */
int espy_session__start_engine(struct espy_session *s, struct espy_engine *e);
void espy_session__event(struct espy_session *s, struct espy_event *e);
/* The thread that runs or dispatches is to look soon. For any thread, and for signal handlers. */
void espy_session__wake(struct espy_session *s);
/* What other threads have asked for. */
void espy_session__serve_requests(struct espy_session *s);
/* What has changed about the sinks is taken in: sinks of records, what is gathered. */
void espy_session__note_sinks(struct espy_session *s);
/* 0; -EBUSY: this or another thread runs or dispatches it; -EPERM: its source is for the thread that has started it. */
int espy_session__enter(struct espy_session *s);
void espy_session__leave(struct espy_session *s);

/* ---- report.c: what there was, at the end */
void espy_session__report_end(struct espy_session *s);
/* Traces are whole from here on. status: of the program. */
void espy_session__end_traces(struct espy_session *s, int status);

#endif
