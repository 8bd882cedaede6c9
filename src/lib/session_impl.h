/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session: the struct and the functions that its files share. Private to src/lib/. */
#ifndef ESPY_LIB_SESSION_IMPL_H
#define ESPY_LIB_SESSION_IMPL_H

#include <espy/espy.h>
#include <pthread.h>
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
#include "state/long_items.h"
#include "state/resolver.h"
#include "state/state.h"

struct espy_event_answers;
struct espy_flight;
struct espy_control;
struct espy_trace_reader;

/* A trace that is open for a session. */
struct espy_trace {
	struct espy_trace_reader *reader;
	char *path;
	bool follow;
	uint64_t damaged; /* places of the trace that the reader could not read */
	unsigned users;	  /* the caller, and a session */
	bool taken;	  /* a session reads the trace, or has read it */
	struct espy_log log;
	espy_log_fn log_fn;
	void *log_ctx;
};

/* The parts that make an event of a record: the descriptions, the state, and the decoder between them. One record is at work at a time. */
struct pipeline {
	struct espy_image images[ESPY_ABI_CNT];
	struct espy_state *state;
	struct espy_resolver resolver; /* the answers of the state */
	struct espy_decoder decoder;
	struct espy_stream stream;
	struct espy_call_view view; /* large */
	struct espy_long_items long_items; /* of the calls of all tasks */
	char cwd[4096];		    /* working directory of the current event: struct espy_event */
	struct espy_prefetch prefetch;
	/*
	 * No engine makes lines of text, but an engine writes a trace. The session asks the state every question that text would
	 * ask, so that the trace has the answers.
	 */
	bool gathers;
};

/* The memory of the descriptions, for each ABI. */
struct session_images {
	void *own[ESPY_ABI_CNT]; /* images made at run time (from files; of a trace: joined); NULL: the built-in image */
	size_t own_size[ESPY_ABI_CNT];
	uint64_t changes[ESPY_ABI_CNT]; /* of a trace: the count of changes to its sections when the image was made */
	bool lacks[ESPY_ABI_CNT];	/* of a trace: the log was told that the trace has no description of a call */
};

/* The part of a trace that a session on it shows. */
struct session_window {
	uint64_t recorded[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS / 64]; /* calls that the recorder wanted */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; 0: from the start, to the end */
	uint32_t command;	 /* the number of the command's task; 0: the session has not met it yet */
};

struct session_targets {
	struct espy_command command; /* path NULL: no command */
	pid_t command_pid;
	bool command_execed; /* the command's own first execve is done */
	bool command_let_go; /* the program runs on unwatched, as the user wished: nothing waits for it */
	uint32_t detach_tid; /* the task that the session drops after this poll; 0: none */
	struct rlimit user_files; /* RLIMIT_NOFILE before the session raised it */
	bool files_raised;
};

/* The engines, and requests to change them, from threads that do not run the session. */
struct session_engines {
	struct espy_engine **v;
	unsigned cnt;
	size_t room;
	unsigned record_sinks; /* number of sinks that take records */
	unsigned depth;	       /* number of events that the session gives to the engines now, nested */
	bool any_gone;
	uint64_t serial;       /* of the current event */
	pthread_mutex_t lock;	 /* of the following members */
	pthread_cond_t changed;
	struct engine_request *requests;
	pthread_t reader; /* the thread in run or dispatch, if reading is set */
	bool reading;
	bool brief;	       /* the reader only changes engines, and is about to leave */
	struct espy_wake wake; /* for requests, and to stop the session */
};

/*
 * The condition (--where) of the first engine's filter, and the part of it that the source tests. The session tests the
 * conditions of other filters.
 */
struct session_condition {
	struct espy_where *where; /* NULL: no condition */
	bool times;		  /* the condition, or the condition of another engine, asks how long calls took */
	bool several;		  /* an engine has another filter: the source may have tested a call for that filter */
	struct espy_trigger *gates; /* the tests that the source makes; NULL: none */
	size_t gate_cnt;
	struct espy_call_gate (*call_gates)[ESPY_MAX_SYSCALLS]; /* one table for each ABI */
};

/* The holds that espy_pause added. The lease of a hold may have run out already. */
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
	pthread_t starter; /* the thread that has started the session */
	_Atomic(enum session_phase) phase;
	atomic_bool stop_asked, snapshot_asked; /* the caller asked, from any thread or a signal handler */
	bool stopping;	/* the session ends, for any reason */
	bool draining;	/* the session ends, but still takes the records that are on their way */
	bool closing;	/* the reader closes the session when the reader leaves run or dispatch */
	bool reported;	/* the source has reported its error */
	bool detached;	/* the session has detached from targets that had not ended */
	int error;	/* the first error, positive errno */
	const char *failed; /* the name of the sink that could not write, for the message */
	uint64_t clock_ns;  /* time of the last clock record for traces; 0: none yet */
	uint64_t undescribed, damaged, bad_definitions; /* calls shown raw; records and definitions of marks that were left out */
};

/* What the source counts, and does not send. */
struct session_counted {
	struct espy_engine *engine; /* for this one; NULL: the source sends all */
	struct espy_source_tally *tallies; /* tally_cnt 0: it counts calls by their numbers */
	size_t tally_cnt;
	struct espy_tally_spec *specs; /* of hits of probes, by tally and place; NULL: the tallies are of calls */
	struct espy_mark_def **defs; /* of the places */
	size_t place_cnt;
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
	struct espy_needs needs;     /* of all engines, when the session was started */
	struct espy_mark_rules marks; /* of all engines; cnt 0: none. The engines' filters own the rules */
	struct espy_probe_places *probes; /* of all engines; NULL: no engine wants probes */
	bool agent_alone; /* the agent has all probes, no calls are wanted, and no source of them runs here */
	struct espy_filter *first_filter; /* of the engine that was added first */
	struct espy_tamper *tampers; /* of all filters, which own the bytes */
	size_t tamper_cnt;
	struct session_counted counted;
	struct pipeline pipe;
	struct session_images descriptions;
	bool follow_fds; /* the state must know the file behind each descriptor */
	struct espy_trace *trace; /* NULL: live */
	struct session_window window;
	struct session_condition condition;
	struct session_targets targets;
	struct session_engines engines;
	struct session_run run;
	struct session_holds holds;
	struct espy_event_answers *answers; /* to questions of callbacks; NULL: no callback has asked yet */
	struct espy_flight *flight; /* NULL: no flight recorder */
	struct espy_control *resume_socket; /* NULL: `espy resume` cannot reach this process */
	struct espy_filter **filters; /* the filters that the source uses; NULL behind the last */
	int wait_fd, timer_fd; /* of espy_session_fd; -1: the caller has not asked for the descriptor */
};

/* The notes of the session about a task. */
struct espy_task_notes {
	bool announced;	     /* the log was told "Process N attached" */
	unsigned args_shown; /* the part of its call that CALL_BEGIN has shown, as espy_decoder__begin returned it */
};
static inline struct espy_task_notes *espy_task_notes(const struct espy_task *task)
{
	return task->slot;
}

/* ---- session_start.c: starts the session. Returns 0; -ESRCH: the session is over; or -errno, which the log was told. */
int espy_session__start_once(struct espy_session *s);
/* ---- session_run.c: the reader leaves the session. Returns n, or -ECANCELED: a callback has closed the session, which is freed now. */
int espy_session__come_out(struct espy_session *s, int n);

/* ---- log_api.c: messages */
void espy_session__open_log(struct espy_session *s);
void espy_session__say(struct espy_session *s, enum espy_log_topic topic, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void espy_session__error(struct espy_session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Gives a message of the source to the log (espy_report_fn). */
void espy_session__report(void *session, enum espy_report_level level, const char *text);

/* ---- session_counts.c */
/* Chooses the engine for which the source counts, and fills in s->counted. */
void espy_session__choose_counting(struct espy_session *s);
/* Adds the source's counts to the engine's sink. */
void espy_session__add_counts(struct espy_session *s);
void espy_session__free_counting(struct espy_session *s);

/* ---- session_probes.c */
/* Resolves the probe rules of all engines to places. Returns 0, or -errno, which the log was told. */
int espy_session__open_probes(struct espy_session *s);
const struct espy_probes *espy_session__probes(const struct espy_session *s); /* NULL: no engine wants probes */
/* Tells whether the agent has a place, or all of them, but for those of the kernel. */
bool espy_session__has_agent_probes(const struct espy_session *s);
bool espy_session__has_kernel_probes(const struct espy_session *s);
/* Tells whether espy_session__open_probes has resolved these rules. */
bool espy_session__has_probes_of(const struct espy_session *s, const struct espy_probe_rules *rules);

/* ---- images.c */
int espy_session__open_images(struct espy_session *s);
/* Of a trace: makes the image of its descriptions that this call needs, before the session uses it. */
void espy_session__need_image(struct espy_session *s, const struct espy_rec *call);

/* ---- source_open.c */
/* Makes the call sets from the engines: the wanted calls, and how much of their data. Returns 0 or -errno. */
int espy_session__open_call_sets(struct espy_session *s);
int espy_session__open_source(struct espy_session *s);
/* Asks the source for the calls that all engines together want, after the engines have changed. */
void espy_session__want_calls(struct espy_session *s);
/* ---- targets.c */
void espy_session__raise_file_limit(struct espy_session *s);
int espy_session__add_targets(struct espy_session *s);
int espy_session__add_pid(struct espy_session *s, pid_t pid, bool single_task);
/* ---- trace_input.c */
void espy_session__open_window(struct espy_session *s);
int espy_session__open_trace(struct espy_session *s);
/* Makes the session a user of the trace. Only one session may read a trace. Returns 0, or -EBUSY: a session has taken it already. */
int espy_session__take_trace(struct espy_session *s, struct espy_trace *t);

/* ---- session_where.c */
/*
 * Opens the condition of the first filter. Called after the images, before the state and the call sets. Returns 0, or -errno,
 * which the log was told.
 */
int espy_session__open_where(struct espy_session *s);
/* Opens the condition of an engine whose filter is not the first filter. Returns as espy_session__open_where does. */
int espy_session__open_own_where(struct espy_session *s, struct espy_engine *e);
/*
 * Gives the source the tests that it can make. Called when the session has chosen the source. The log is told of the tests if
 * the user asked (--explain). Returns 0 or -ENOMEM.
 */
int espy_session__set_gates(struct espy_session *s);
/* Tells whether the call meets the condition. A call that has not ended does only if its end cannot change the answer. */
bool espy_session__where(void *session, const struct espy_call_view *v);
void espy_session__close_where(struct espy_session *s);

/* ---- dispatch.c */
/*
 * Takes a record from the source: applies it to the state first, then gives its event to the engines. Returns 0, or non-zero to
 * end the poll early.
 */
int espy_session__record(void *session, const struct espy_rec *rec);
/* Takes a run of marks from the source (espy_marks_fn). Returns as espy_session__record does. */
int espy_session__marks(void *session, const struct espy_rec *first, size_t size);
/* Notes the first error of a sink that could not write, if its engine ends the session. */
void espy_session__note_errors(struct espy_session *s);
/* Gives DETACH events of all tasks: they go on, and the session no longer watches them. */
void espy_session__detached(struct espy_session *s);
/* Makes a record of the current time by all clocks. */
void espy_session__clock(struct espy_session *s);
/* Drops a task: gives its DETACH event. Later records of the task make no events. */
void espy_session__drop_task(struct espy_session *s, struct espy_task *task);

/* ---- engines.c */
int espy_session__open_engines(struct espy_session *s);
void espy_session__close_engines(struct espy_session *s);
/* Tells the engine's sink that the stream begins. Returns 0, or -errno, which the log was told. */
int espy_session__start_engine(struct espy_session *s, struct espy_engine *e);
void espy_session__event(struct espy_session *s, struct espy_event *e);
/* Wakes the thread that runs or dispatches, so that it looks for requests soon. For any thread, and for signal handlers. */
void espy_session__wake(struct espy_session *s);
/* Serves the requests of other threads. */
void espy_session__serve_requests(struct espy_session *s);
/* Takes in a change of the sinks: the number of sinks of records, and whether the session gathers answers. */
void espy_session__note_sinks(struct espy_session *s);
/*
 * Makes this thread the reader. Returns 0; -EBUSY: this or another thread runs or dispatches the session; -EPERM: its source is
 * only for the thread that has started the session.
 */
int espy_session__enter(struct espy_session *s);
void espy_session__leave(struct espy_session *s);

/* ---- report.c: figures at the end */
void espy_session__report_end(struct espy_session *s);
/* Ends the traces: their files are complete now. status: of the program. */
void espy_session__end_traces(struct espy_session *s, int status);

#endif
