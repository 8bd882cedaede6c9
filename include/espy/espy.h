/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: see what programs do, without stopping them. The espy command is its first user. espy(3) begins its manual.
 *
 *	struct espy_text_options text = { .size = sizeof(text) };
 *	struct espy_session_options so = { .size = sizeof(so), .pids = &pid, .pid_count = 1 };
 *	struct espy_engine_options eo = { .size = sizeof(eo), .text = &text };
 *
 *	int err = espy_session_open(&session, &so);
 *	err = err ? err : espy_engine_add(session, &eo, NULL);
 *	err = err ? err : espy_session_run(session);
 *	espy_session_close(session);
 *
 * A **session** has targets (a command, processes, a cgroup, the whole system, or a trace file). It takes events from a source.
 * **Engines** use the events. An engine has a mask of events, a filter, and a callback or a ready-made sink. The source
 * captures nothing that no engine wants.
 *
 * Errors: functions return 0 or a negative errno. The log callback gets the error in words: the attempt, its object,
 * and what the user can do. The library never prints, never ends the process, installs no signal handlers, and changes no
 * limits of its host.
 * Structs of options: the caller sets `size` to sizeof, and every member that it does not use to zero. -E2BIG: a member that
 * only a later version of the library knows is set. The library copies strings, arrays and structs; a comment says so where it
 * keeps a pointer instead.
 * Threads: only one thread at a time may call the functions of a session. The comment of a function says if any thread may call
 * it. -EBUSY: another thread, or the caller of a callback, is in run or dispatch. With the source ptrace, only the thread that
 * has started the session may call these functions, else -EPERM. That thread also closes the session.
 * Times: unsigned ns of CLOCK_MONOTONIC unless their name says otherwise.
 */
#ifndef ESPY_PUBLIC_H
#define ESPY_PUBLIC_H

#include <espy/event.h>
#include <espy/sinks.h>
#include <espy/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library: "1.2.3". */
ESPY_API const char *espy_version(void);

struct espy_session;
struct espy_engine;
struct espy_filter;

/* ---- messages of the log */

enum espy_log_level { ESPY_LOG_NOTE, ESPY_LOG_WARNING, ESPY_LOG_ERROR };
/* The subject of a message. A program may leave out messages by their topic. */
enum espy_log_topic {
	ESPY_TOPIC_GENERAL, /* errors, and every message about something that happens at that moment */
	ESPY_TOPIC_TASKS,   /* "Process 1 attached", "Detached unknown pid 1" */
	ESPY_TOPIC_SOURCE,  /* why the session did not take the best source */
	ESPY_TOPIC_HELD,    /* a session holds a task, and how the user ends the hold */
	ESPY_TOPIC_END,	    /* figures at the end: marks */
	ESPY_TOPIC_LOSS,    /* figures at the end: lost events, held tasks */
	ESPY_TOPIC_STATS,   /* figures at the end: the work of the source */
	ESPY_TOPIC_TRACE,   /* a sink has written a trace */
	ESPY_TOPIC_DAMAGE,  /* the reader cannot read a part of a trace */
	ESPY_TOPIC_DESCRIBE, /* a file of descriptions has an error: FILE:LINE:COLUMN: ... */
	/* what cannot be watched: "attach: bpf(1): No such process", "exec: /etc/passwd: Permission denied" */
	ESPY_TOPIC_TARGET,
};
/*
 * Gets a message. text: one line, without newline; it may hold names of foreign programs, escaped. The library calls it on the
 * thread that called the library. The callback must not call functions of the session.
 */
typedef void (*espy_log_fn)(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text);

/*
 * ---- filters: the wanted system calls, signals, files and marks. Two threads must not use a filter at the same time.
 *
 * Engines share the filter that the caller gives them. From then on the caller cannot change it: every function that would
 * change it returns -EBUSY.
 */

/* Makes a filter that wants everything but marks and probes. Returns 0 or -ENOMEM. */
ESPY_API int espy_filter_new(struct espy_filter **out);
/* Gives up the caller's reference to the filter. Engines that have the filter keep it. Does nothing if f is NULL. */
ESPY_API void espy_filter_free(struct espy_filter *f);
/*
 * Adds an expression to the filter, as strace takes it after -e: "trace=open,%file", "openat", "!read", "/^epoll",
 * "signal=SIGTERM", "trace-fds=3". For text it also takes "abbrev=", "verbose=", "raw=", "read=", "write=", "status=". Of
 * several expressions about calls, signals or descriptors the last counts.
 * "inject=" and "fault=" change calls. Of the filters of a session, only one may change a certain call.
 * Returns 0 or a negative errno. -EINVAL: why[] gets one line about the error.
 */
ESPY_API int espy_filter_select(struct espy_filter *f, const char *expression, char *why, size_t why_size);
/* Selects only calls that touch one of these files (-P). The filter compares paths as they stand; the caller resolves links. */
ESPY_API int espy_filter_path(struct espy_filter *f, const char *path);
/*
 * Has path arguments compared as the program writes them, and results left out, as strace does. Without it a relative path counts
 * from its directory.
 */
ESPY_API int espy_filter_paths_as_written(struct espy_filter *f);
/*
 * Adds a condition on system calls (--where), espy-where(7). A call is selected if all conditions hold. The session reads the
 * condition when it starts, or when the engine is added to a session that runs. The session reports errors in the condition to
 * the log.
 */
ESPY_API int espy_filter_where(struct espy_filter *f, const char *condition);
/* Selects marks (-m): "app:request_*", "app:* if size > 100". -EINVAL: *at is the place of the error in the text. */
ESPY_API int espy_filter_mark(struct espy_filter *f, const char *rule, size_t *at, char *why, size_t why_size);
/*
 * Selects probes (-u), espy-probes(7): "libc:malloc(size=%di) if size > 4096". The session looks for the probed places when it
 * starts, and reports errors about them to the log. Of a trace, the filter selects only hits of probes of this name. -EINVAL:
 * *at is the place of the error in the text.
 */
ESPY_API int espy_filter_probe(struct espy_filter *f, const char *probe, size_t *at, char *why, size_t why_size);
/*
 * Selects tracepoints of the kernel (-K), espy-probes(7): "sched:sched_switch if prev_prio < 100", with `*` and `?` in the names. Their
 * events are of the kind ESPY_EVENT_PROBE. Errors are those of espy_filter_probe().
 */
ESPY_API int espy_filter_tracepoint(struct espy_filter *f, const char *tracepoint, size_t *at, char *why, size_t why_size);
/* Selects only events of this task, or of the tasks of this process. */
ESPY_API int espy_filter_task(struct espy_filter *f, pid_t pid);
/* How a call has ended, as bits. */
enum espy_status {
	ESPY_STATUS_SUCCESSFUL = 1,
	ESPY_STATUS_FAILED = 2,
	ESPY_STATUS_UNFINISHED = 4,
	ESPY_STATUS_UNAVAILABLE = 8,
	ESPY_STATUS_DETACHED = 16,
	ESPY_STATUS_ALL = 31,
};
ESPY_API int espy_filter_status(struct espy_filter *f, unsigned status);
/* Parts of a filter, as bits, for espy_filter_has. */
enum espy_filter_part {
	ESPY_FILTER_CALLS = 1, /* selections of calls, paths, descriptors */
	ESPY_FILTER_MARKS = 2,
	ESPY_FILTER_DUMPS = 4, /* bytes that the text sink dumps: "read=", "write=" */
	ESPY_FILTER_PROBES = 8,
};
ESPY_API bool espy_filter_has(const struct espy_filter *f, enum espy_filter_part part);

/* ---- sessions */

/* A program that the session starts and watches. */
struct espy_program {
	size_t size;
	const char *path; /* a file; the session does not search PATH: use espy_find_program */
	char *const *argv;
	char *const *envp; /* NULL: the environment of this process */
	/*
	 * Runs in the child just before execve, in a forked process. It may call only async-signal-safe functions. If it does
	 * not return 0, the child does not execute the program. May be NULL.
	 */
	int (*child_setup)(void *ctx);
	void *child_ctx; /* the session keeps this pointer */
};

/*
 * Finds a program as execvp(3) does: a name with a slash is a file; the function looks for any other name in PATH. Writes the
 * path of the program to path. Returns 0 or a negative errno. -ENOENT: no such program; another errno: why the function cannot
 * look at the file. -ENAMETOOLONG: the path does not fit. -EINVAL: an argument is NULL, or size is 0.
 */
ESPY_API int espy_find_program(const char *name, char *path, size_t size);

/* The ways of a session with a task that writes faster than this process reads. */
enum espy_overrun {
	/* hold tasks of a program that the session has started, if they can notice only the time that this takes; else LOSE */
	ESPY_OVERRUN_AUTO,
	ESPY_OVERRUN_LOSE, /* lose events; the session counts them and tells of them at their place in the stream */
	ESPY_OVERRUN_HOLD, /* hold the task; a session that cannot hold tasks fails */
};

/* How the session reaches marks. PRELOAD: the agent is in the program before the program begins. */
enum espy_mark_way { ESPY_MARKS_BY_AGENT, ESPY_MARKS_BY_KERNEL, ESPY_MARKS_BY_PRELOAD };

/*
 * How the session reaches probes in files. AUTO: by the agent where it is in the program anyway, because of marks, else
 * by the kernel. AGENT: the agent is loaded; places that it cannot take are the kernel's, and the log says which.
 */
enum espy_probe_way { ESPY_PROBES_BY_AUTO, ESPY_PROBES_BY_KERNEL, ESPY_PROBES_BY_AGENT };

/* ---- traces */

struct espy_trace;
/*
 * Opens a trace: a file, the name given to a rotated set, or "-" for standard input. follow: the trace still grows, and the
 * reader waits for bytes that are not there yet. log gets the errors of the trace, here and while a session reads it. Returns 0
 * or a negative errno. -EINVAL: the file is no trace, or a trace of a newer version. A trace is for one session, and stays open
 * until that session is closed.
 */
ESPY_API int espy_trace_open(struct espy_trace **out, const char *path, bool follow, espy_log_fn log, void *log_ctx);
ESPY_API void espy_trace_close(struct espy_trace *t);

struct espy_trace_info {
	size_t size; /* the caller sets it before the call */
	/* From the head of the trace. */
	const char *words; /* espy_trace_options.words: each ends with NUL, words_size bytes in all; valid until the trace is closed */
	size_t words_size;
	bool program, wide; /* the recorder started a program; the recorder watched a cgroup or the whole system */
	unsigned pids;	    /* how many processes or tasks the recorder was given by number */
	bool follow;
	/* The figures that the reader knows by now. They are complete when a session has come to the end of the trace. */
	bool finished; /* the recorder ended in order */
	uint64_t offset, records, damaged, unknown_sections, unknown_records;
};
ESPY_API int espy_trace_info(struct espy_trace *t, struct espy_trace_info *info);

#define ESPY_LOSS_REASONS 16
/* Returns the text of a reason of loss. reason: an index of `lost`. */
ESPY_API const char *espy_lost_text(unsigned reason);

/* The description of a trace by itself, and its contents. All text is foreign: it may hold any byte but NUL. */
struct espy_trace_contents {
	size_t size; /* the caller sets it before the call */
	/* From the head of the trace. Texts are valid until the trace is closed; a text that the head does not have is "". */
	const char *espy_version, *host, *kernel, *machine; /* the recorder's version, and the machine that it ran on */
	const char *source;				     /* the source of the events: "bpf", "ptrace" */
	bool passive;					     /* the source stops no task */
	unsigned cpus;
	const char *command; /* the program and its arguments: each ends with NUL, command_size bytes in all */
	size_t command_size;
	uint64_t start_unix_ns; /* CLOCK_REALTIME */
	int32_t utc_offset_s;	/* of the recorder's time zone, east of Greenwich */
	/* From the records of the trace, as far as the reader can read them. */
	uint64_t duration_ns; /* from the start to the last moment in the trace */
	bool program_ended;   /* the started program has ended; program_status is its status as wait(2) gives it */
	int program_status;
	bool detached; /* tasks went on when the recorder ended */
	uint64_t calls, signals, marks, tasks, records;
	uint64_t lost[ESPY_LOSS_REASONS]; /* events, by reason: espy_lost_text */
	uint64_t overwritten;		  /* records that a flight recorder overwrote for want of room */
	uint64_t pauses, paused_ns, longest_pause_ns; /* holds of tasks: their number, total time and longest time */
	unsigned files;
	uint64_t file_bytes;
};
/*
 * Reads a trace from its current position to its end; a trace that was just opened is read as a whole. No session can show the
 * trace afterwards. espy_trace_info tells what the trace lacks. Returns 0 or -errno.
 */
ESPY_API int espy_trace_contents(struct espy_trace *t, struct espy_trace_contents *contents);
/*
 * Makes one JSON object (one line without newline) of *contents and of espy_trace_info, with the keys that espy-info(1) names.
 * The caller frees *json with free(). Returns 0 or -errno.
 */
ESPY_API int espy_trace_contents_json(struct espy_trace *t, const struct espy_trace_contents *contents, char **json);

enum espy_moment_kind { ESPY_MOMENT_NONE, ESPY_MOMENT_SINCE_START, ESPY_MOMENT_UNIX, ESPY_MOMENT_OF_DAY };
/* A moment in a trace. */
struct espy_moment {
	enum espy_moment_kind kind;
	uint64_t ns; /* since the start; since 1970; since midnight in the time zone of the recorder */
};

struct espy_session_options {
	size_t size;
	espy_log_fn log; /* NULL: the session drops its messages */
	void *log_ctx;

	/* Targets. The caller may set pids together with program; each other target stands alone. */
	const struct espy_program *program;
	const pid_t *pids;
	size_t pid_count;
	bool single_task;   /* pids are tasks: the session does not watch the other tasks of their process, unless follow is set */
	const char *cgroup; /* a directory of the cgroup v2 tree */
	bool all;	    /* the whole system */
	/*
	 * With all and cgroup: at most 8 processes that the session does not watch. Above all the caller names processes that
	 * carry the output of this process.
	 */
	const pid_t *without;
	size_t without_count;
	bool follow;	    /* watch children and threads of the targets, too */

	/* A trace in place of targets and source. */
	struct espy_trace *trace; /* the session keeps this pointer */
	struct espy_moment from, to;

	/* How. */
	const char *source; /* NULL or "auto": the best source that works; "bpf", "ptrace" */
	bool no_calls;	    /* the session opens no source of system calls: marks alone. Probes need a source all the same */
	enum espy_mark_way marks_by;
	enum espy_overrun overrun;
	bool can_pause;	     /* the caller will call espy_pause: the session prepares to hold tasks, and fails if it cannot */
	uint64_t max_hold_ns; /* the longest time, each time, that a task is held because of overrun; 0: as overrun says */
	size_t ring_bytes;   /* bytes of the buffers between source and reader; 0: a sensible size */
	unsigned rings;	     /* 0: the session chooses; 1: one ring for all CPUs; more: one ring for each CPU */
	/*
	 * not 0: a flight recorder: so much memory keeps the newest events. Engines get nothing before a snapshot
	 * (espy_session_snapshot)
	 */
	size_t flight_bytes;
	unsigned hang_ms;    /* engines are told of a call that a task sits in for so long (CALL_BEGIN); 0: never */
	bool instruction_pointer;
	unsigned stack_frames; /* capture the call stack of each call, of so many frames at most; 0: none. Only some sources can */
	const char *const *describe; /* files of descriptions that the session uses besides the built-in ones */
	size_t describe_count;
	/* conditions: the session holds a task after a call that meets one, as `espy trace --pause-on` has it */
	const char *const *pause_on;
	size_t pause_on_count;
	const char *const *snapshot_on; /* conditions, with flight_bytes: a call that meets one asks for a snapshot */
	size_t snapshot_on_count;
	uint64_t snapshot_after_ns; /* from the request to the snapshot */
	/*
	 * The caller adds all engines before the session starts. The source does not capture what none of them needs (times,
	 * more calls); a later engine cannot have it. This is cheaper, and the only way to count calls in the kernel.
	 */
	bool engines_fixed;
	bool explain; /* tell the log which tests of calls, paths and conditions the kernel makes, and which the library makes */
	bool raise_file_limit; /* raise RLIMIT_NOFILE of this process where sources need more; started programs get the old limit */

	/* For sources that stop tasks only. */
	bool seccomp, kill_on_exit, detach_on_execve;
	unsigned interruptible; /* as -I of strace; 0: 2 */
	enum espy_probe_way probes_by;
	/*
	 * Capture the operations that programs submit through the rings of io_uring, too. They are calls of the ABI "io_uring".
	 * Only the source bpf can.
	 */
	bool io_uring;
};

/*
 * Makes a session. espy_session_start, or the first call that needs it, opens the source and begins to watch the targets.
 * Returns 0 or a negative errno. -EINVAL: the options contradict each other.
 */
ESPY_API int espy_session_open(struct espy_session **out, const struct espy_session_options *options);
/*
 * Closes the session: removes its engines, closes their sinks, and ends all its holds. Nothing of the session runs any more
 * when the function returns. Called from a callback, it takes effect when the call returns that runs the callback; that call
 * then returns -ECANCELED. The caller must not use the handle afterwards. Does nothing if s is NULL.
 */
ESPY_API void espy_session_close(struct espy_session *s);

/*
 * Opens the source, and starts the program or attaches to the targets. Returns when the program has executed: 0 or a negative errno.
 * -EALREADY: the session has begun. -EINTR: a signal handler has called espy_session_stop meanwhile; the program was killed.
 */
ESPY_API int espy_session_start(struct espy_session *s);
/*
 * Runs the session until the targets are gone, the trace is at its end, or espy_session_stop is called. Then detaches from the
 * targets. Returns 0, or a negative errno of the source, or of an engine whose sink could not write.
 */
ESPY_API int espy_session_run(struct espy_session *s);
/*
 * Returns a descriptor for a loop of the caller's own. It is readable (POLLIN) when espy_session_dispatch has something to do.
 * The descriptor belongs to the session. Starts the session if it has not begun.
 */
ESPY_API int espy_session_fd(struct espy_session *s);
/*
 * Delivers the records that have come. If there are none, waits for at most timeout_ms (-1: without limit) until records come.
 * Returns the number of records that it has delivered, 0 if none.
 * -ESRCH: no target is left, or the session was stopped; all records are delivered, also those that were on their way.
 * -ECANCELED: a callback has closed the session. -EINTR: a signal came.
 */
ESPY_API int espy_session_dispatch(struct espy_session *s, int timeout_ms);
/* Makes run and dispatch return soon. For any thread, and for signal handlers. */
ESPY_API void espy_session_stop(struct espy_session *s);
/*
 * Gives the sinks their figures and last lines (summaries), once no more records come. espy_session_run does it itself. Returns
 * 0, or an error as espy_session_run does.
 */
ESPY_API int espy_session_finish(struct espy_session *s);

/* Adds or removes a target while the session runs. */
ESPY_API int espy_session_add_pid(struct espy_session *s, pid_t pid, bool single_task);
ESPY_API int espy_session_remove_pid(struct espy_session *s, pid_t pid);
/*
 * Of the started program: returns its process number, or -ESRCH. Writes its status as wait(2) gives it, or returns -EAGAIN
 * while it runs; -ESRCH, too, once it has been let go of (detach_on_execve).
 */
ESPY_API pid_t espy_session_program(struct espy_session *s);
ESPY_API int espy_session_program_status(struct espy_session *s, int *status);
/* Returns the name of the source: "bpf", "ptrace", "trace file"; NULL: the session has not begun. */
ESPY_API const char *espy_session_source(struct espy_session *s);
/*
 * Asks a flight recorder for its records: run or dispatch then delivers them to the engines of the session. For any thread, and
 * for signal handlers.
 */
ESPY_API void espy_session_snapshot(struct espy_session *s);

struct espy_session_stats {
	size_t size; /* the caller sets it before the call */
	uint64_t records, bytes;
	uint64_t lost[ESPY_LOSS_REASONS]; /* by reason: espy_lost_text */
	uint64_t tasks;			  /* tasks that the session has seen */
	uint64_t pauses, paused_ns, longest_pause_ns;
	uint64_t overwritten; /* of a flight recorder, at the last snapshot */
	uint64_t undescribed; /* calls that a sink showed with raw arguments, for want of a description */
	uint64_t damaged;     /* records that the session could not read */
	uint64_t hangs;	      /* calls that the session told of while they hung */
};
ESPY_API int espy_session_stats(struct espy_session *s, struct espy_session_stats *stats);

/* ---- engines */

/*
 * Gets an event, on the thread that runs or dispatches. The callback may add, change and remove engines, its own included, and
 * stop or close the session. It must return.
 */
typedef void (*espy_event_fn)(void *ctx, const struct espy_event *e);

struct espy_engine_options {
	size_t size;
	unsigned events; /* enum espy_event_type; 0: all that the sink uses. A callback gets exactly these */
	const struct espy_filter *filter; /* NULL: everything but marks */
	uint64_t call_limit;		  /* after so many calls the engine gets no more events; 0: no limit */
	bool ends_session;		  /* the session ends when the engine reaches call_limit, or its sink cannot write */
	/* The caller sets exactly one of the following five, or tally. */
	espy_event_fn event;
	const struct espy_text_options *text;
	const struct espy_sink_options *sink;
	const struct espy_summary_options *summary;
	const struct espy_trace_options *trace;
	void *ctx; /* of event; the engine keeps this pointer */
	bool no_values; /* event asks for no arguments: the session decodes none for it */
	/* Called once when the engine is gone; no callback of the engine runs then, or later. May be NULL. */
	void (*removed)(void *ctx);
	const struct espy_tally_options *tally; /* espy_engine_add reports errors in the texts to the log */
};

/*
 * Any thread may add, change and remove engines at any time. Other engines miss no event and get no event twice by it. A new
 * engine or a wider mask takes effect after at most a millisecond; the call waits for that.
 */
/*
 * Adds an engine. If out is not NULL, *out gets the engine, for changing or removing it. The pointer is valid until the
 * engine is removed, or the session closed.
 */
ESPY_API int espy_engine_add(struct espy_session *s, const struct espy_engine_options *options, struct espy_engine **out);
/*
 * Removes an engine. No callback of the engine runs after the function has returned. Called from a callback of this engine, it
 * takes effect when that callback has returned.
 */
ESPY_API int espy_engine_remove(struct espy_engine *engine);
/*
 * Changes which events the engine is given: a set of ESPY_EVENT_*. Of an engine with a sink, the events that the sink has no use for stay
 * out. Returns 0 or a negative errno. -EINVAL: no event, or an unknown one.
 */
ESPY_API int espy_engine_set_events(struct espy_engine *engine, unsigned events);
/*
 * Gives the engine another filter; the engine keeps its own reference. Returns 0 or a negative errno. -EINVAL: the engine writes
 * lines or a trace, whose sinks keep what the first filter says. -EOPNOTSUPP: the session runs, and the filter changes calls
 * (a rule "inject=" or "fault="), or asks for more than a session with engines_fixed captures.
 */
ESPY_API int espy_engine_set_filter(struct espy_engine *engine, const struct espy_filter *filter);

struct espy_engine_stats {
	size_t size; /* the caller sets it before the call */
	uint64_t events, calls; /* events that the filter of the engine let through; of them calls that have ended */
	int error;		/* 0, or the negative errno with which its sink failed; the sink gets no more events then */
	uint64_t file_bytes;	/* of a trace: bytes written so far to all its files, records in them, number of files */
	uint64_t records;
	unsigned files;
};
ESPY_API int espy_engine_stats(struct espy_engine *engine, struct espy_engine_stats *stats);

/*
 * ---- holding a task: espy_hold(3)
 *
 * A hold keeps a task from its next instruction in user space. A held task is neither stopped nor signalled. The library counts
 * the holds of each holder (a session). The task runs on when the last hold of the last holder is gone. A hold ends by
 * espy_resume, when its lease has run out, when the session is closed, or when the process that holds the task dies. A session
 * also holds tasks by its options overrun and pause_on.
 */
/*
 * Adds a hold of this session on a watched task, until lease_ns from now. A further hold may only make the end of the lease
 * later. When the lease has run out, all holds of the session on the task are gone. The function returns at once. A task in
 * user space is held within microseconds; a task that sleeps in a call is held when the call returns. The session must have
 * can_pause. For any thread.
 * Returns 0 or a negative errno. -EINVAL: no lease. -EOPNOTSUPP: no can_pause, or the source is not bpf. -ESRCH: the session
 * does not watch the task, or does not run. -EAGAIN: the session cannot hold a task for now: it holds too many, or the process
 * that holds tasks (espy-hold) did not run for a while. -ENOMEM.
 */
ESPY_API int espy_pause(struct espy_session *s, pid_t task, uint64_t lease_ns);
/*
 * Takes back one hold of this session on the task; task 0: all holds of this session. Returns 0, or -ESRCH: the session has no
 * hold on the task. For any thread.
 */
ESPY_API int espy_resume(struct espy_session *s, pid_t task);

struct espy_held {
	pid_t task, process;
	const char *call; /* the call after which it is held; "" if it was in no call */
	uint64_t since_ns;
	unsigned holds; /* holds of this session on the task */
};
typedef int (*espy_held_fn)(void *ctx, const struct espy_held *held);
/* Calls fn for each task that this session holds. Returns how many there are, or what fn returned if that is not 0. */
ESPY_API int espy_session_held(struct espy_session *s, espy_held_fn fn, void *ctx);

/* ---- other processes with espy of this user */

struct espy_resumed {
	pid_t espy;	/* an espy process that held tasks */
	unsigned tasks; /* tasks that this espy has let run on */
};
/*
 * Asks every espy, or only `by` if that is not 0, to let the task pid, or all held tasks of the process pid, run on. Fills
 * resumed[0..count) with the espy processes that held tasks. Returns how many did.
 */
ESPY_API size_t espy_ask_resume(pid_t pid, pid_t by, struct espy_resumed *resumed, size_t count);
/*
 * Asks a flight recorder, by its process number, to write its records, and waits until it has. Returns 0: text is the name of
 * the trace. -EIO: the flight recorder could not write; text says why. -ESRCH: no flight recorder with this number listens.
 */
ESPY_API int espy_ask_snapshot(pid_t espy, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
