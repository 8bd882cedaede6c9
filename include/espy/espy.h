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
 * A **session** has targets (a command, processes, a cgroup, the whole system, or a trace file), and takes events from a
 * source. **Engines** are what events are for: each has a mask of events, a filter, and callbacks or a ready-made sink. What no
 * engine wants is not captured.
 *
 * Errors: 0 or a negative errno. In words the log callback gets what was tried, on what, and what the user can do. The library
 * never prints, never ends the process, installs no signal handlers, and changes no limits of its host.
 * Structs of options: set `size` to sizeof, and what you do not mean to zero. -E2BIG: a struct of a later version has something
 * set that this one does not know. Strings, arrays and structs are copied, unless it is said that they are kept.
 * Threads: what is called of one session is called by one thread at a time, except what is said to be for any thread. -EBUSY:
 * another thread, or a callback's caller, is in run or dispatch. With the source ptrace it must be the thread that has started the
 * session, else -EPERM; that thread closes it, too.
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

/* "1.2.3" */
ESPY_API const char *espy_version(void);

struct espy_session;
struct espy_engine;
struct espy_filter;

/* ---- what is said in words */

enum espy_log_level { ESPY_LOG_NOTE, ESPY_LOG_WARNING, ESPY_LOG_ERROR };
/* What it is about, so that a user may be spared it. */
enum espy_log_topic {
	ESPY_TOPIC_GENERAL, /* what went wrong, and everything that is told when it happens */
	ESPY_TOPIC_TASKS,   /* "Process 1 attached" */
	ESPY_TOPIC_SOURCE,  /* why not the best source was taken */
	ESPY_TOPIC_HELD,    /* a task is held, and how it is let go */
	ESPY_TOPIC_END,	    /* figures at the end: marks */
	ESPY_TOPIC_LOSS,    /* figures at the end: what was lost, what was held */
	ESPY_TOPIC_STATS,   /* figures at the end: what the source did */
	ESPY_TOPIC_TRACE,   /* a trace was written */
	ESPY_TOPIC_DAMAGE,  /* part of a trace cannot be read */
	ESPY_TOPIC_DESCRIBE, /* a file of descriptions is wrong: FILE:LINE:COLUMN: ... */
};
/*
 * text: one line, without newline; it may hold names of foreign programs, escaped. Called on the thread that calls the library;
 * it must not call functions of the session.
 */
typedef void (*espy_log_fn)(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text);

/* ---- filters: which system calls, signals, files, marks. Not for two threads at a time.
 *
 * Engines share the filter that they are given, so it cannot be changed any more: all that would change it give -EBUSY.
 */

/* A filter that wants everything but marks and probes. -ENOMEM. */
ESPY_API int espy_filter_new(struct espy_filter **out);
/* Engines that have it keep it. NULL is let be. */
ESPY_API void espy_filter_free(struct espy_filter *f);
/*
 * What strace takes after -e: "trace=open,%file", "openat", "!read", "/^epoll", "signal=SIGTERM", "trace-fds=3", and for text
 * "abbrev=", "verbose=", "raw=", "read=", "write=", "status=". Calls, signals and descriptors: the last word counts.
 * "inject=" and "fault=" change calls; of the filters of a session only one may change a certain call.
 * -EINVAL: why[] is one line about it.
 */
ESPY_API int espy_filter_select(struct espy_filter *f, const char *expression, char *why, size_t why_size);
/* Only calls that touch one of these files (-P); compared as it stands: links are the caller's affair. */
ESPY_API int espy_filter_path(struct espy_filter *f, const char *path);
/*
 * A condition on system calls (--where), espy-where(7). All conditions must hold. It is read when the session starts, or the
 * engine is added to one that runs: what is wrong with it goes to the log.
 */
ESPY_API int espy_filter_where(struct espy_filter *f, const char *condition);
/* Marks (-m): "app:request_*", "app:* if size > 100". -EINVAL: *at is where in the text. */
ESPY_API int espy_filter_mark(struct espy_filter *f, const char *rule, size_t *at, char *why, size_t why_size);
/*
 * Probes (-u), espy-probes(7): "libc:malloc(size=%di) if size > 4096". Places are looked for when the session starts: what is wrong
 * with them goes to the log. Of a trace: only hits of probes that are called so. -EINVAL as above.
 */
ESPY_API int espy_filter_probe(struct espy_filter *f, const char *probe, size_t *at, char *why, size_t why_size);
/* Only events of this task, or of the tasks of this process. */
ESPY_API int espy_filter_task(struct espy_filter *f, pid_t pid);
/* How calls may have ended. */
enum espy_status {
	ESPY_STATUS_SUCCESSFUL = 1,
	ESPY_STATUS_FAILED = 2,
	ESPY_STATUS_UNFINISHED = 4,
	ESPY_STATUS_UNAVAILABLE = 8,
	ESPY_STATUS_DETACHED = 16,
	ESPY_STATUS_ALL = 31,
};
ESPY_API int espy_filter_status(struct espy_filter *f, unsigned status);
/* Has the caller said anything about these? */
enum espy_filter_part {
	ESPY_FILTER_CALLS = 1, /* which calls, paths, descriptors */
	ESPY_FILTER_MARKS = 2,
	ESPY_FILTER_DUMPS = 4, /* bytes that text dumps: "read=", "write=" */
	ESPY_FILTER_PROBES = 8,
};
ESPY_API bool espy_filter_has(const struct espy_filter *f, enum espy_filter_part part);

/* ---- sessions */

/* A program to start and watch. */
struct espy_program {
	size_t size;
	const char *path; /* a file; PATH is not searched: espy_find_program */
	char *const *argv;
	char *const *envp; /* NULL: that of this process */
	/*
	 * Runs in the child just before execve, in a forked process: only what is async-signal-safe. Not 0: the program is not
	 * executed. May be NULL.
	 */
	int (*child_setup)(void *ctx);
	void *child_ctx; /* kept */
};

/*
 * Finds a program as execvp(3) does: a name with a slash is a file, another one is looked for in PATH. Writes its path. -ENOENT, or
 * why the file cannot be looked at; -ENAMETOOLONG: the path does not fit.
 */
ESPY_API int espy_find_program(const char *name, char *path, size_t size);

/* A task writes faster than this process reads. */
enum espy_overrun {
	ESPY_OVERRUN_AUTO, /* it is held until there is room, where nobody notices but by the time it takes; else LOSE */
	ESPY_OVERRUN_LOSE, /* events are lost, counted, and told in place */
	ESPY_OVERRUN_HOLD, /* it is held; not being able to is an error */
};

/* How marks are reached; PRELOAD: the agent is there before the program begins. */
enum espy_mark_way { ESPY_MARKS_BY_AGENT, ESPY_MARKS_BY_KERNEL, ESPY_MARKS_BY_PRELOAD };

/* ---- traces */

struct espy_trace;
/*
 * Opens a trace: a file, the name given to a rotated set, or "-" for standard input. follow: it still grows; what is not there
 * yet is waited for. log gets what is wrong with it, here and while it is read. -EINVAL: it is no trace, or needs a newer
 * version. A trace is for one session, and stays open until that is closed.
 */
ESPY_API int espy_trace_open(struct espy_trace **out, const char *path, bool follow, espy_log_fn log, void *log_ctx);
ESPY_API void espy_trace_close(struct espy_trace *t);

struct espy_trace_info {
	size_t size; /* set it before the call */
	/* What its head says. */
	const char *words; /* espy_trace_options.words: each ended by NUL, words_size bytes; valid until the trace is closed */
	size_t words_size;
	bool program, wide; /* a program was started; a cgroup or the whole system was watched */
	unsigned pids;	    /* so many processes or tasks by number */
	bool follow;
	/* What is known by now: all of it when a session has come to its end. */
	bool finished; /* the recorder ended in order */
	uint64_t offset, records, damaged, unknown_sections, unknown_records;
};
ESPY_API int espy_trace_info(struct espy_trace *t, struct espy_trace_info *info);

#define ESPY_LOSS_REASONS 16
/* Returns the words for a reason of loss, an index of `lost`. */
ESPY_API const char *espy_lost_text(unsigned reason);

/* What a trace says of itself, and what is in it. All text is foreign: it may hold any byte but NUL. */
struct espy_trace_contents {
	size_t size; /* set it before the call */
	/* What its head says; texts are valid until the trace is closed, and "" if it says nothing. */
	const char *espy_version, *host, *kernel, *machine; /* of the recorder, and where it ran */
	const char *source;				     /* where events came from: "bpf", "ptrace" */
	bool passive;					     /* that source stops no task */
	unsigned cpus;
	const char *command; /* the program and its arguments: each ended by NUL, command_size bytes */
	size_t command_size;
	uint64_t start_unix_ns; /* CLOCK_REALTIME */
	int32_t utc_offset_s;	/* of the time zone there, east of Greenwich */
	/* What its records say, as far as they can be read. */
	uint64_t duration_ns; /* from the start to the last moment in it */
	bool program_ended;   /* the started program: program_status as wait(2) gives it */
	int program_status;
	bool detached; /* tasks went on when the recorder ended */
	uint64_t calls, signals, marks, tasks, records;
	uint64_t lost[ESPY_LOSS_REASONS]; /* events, by reason: espy_lost_text */
	uint64_t overwritten;		  /* records that a flight recorder had no more room for */
	uint64_t pauses, paused_ns, longest_pause_ns; /* tasks that were held */
	unsigned files;
	uint64_t file_bytes;
};
/*
 * Reads a trace from where it stands to its end: of a trace that was just opened, all of it. The trace cannot be shown after;
 * what it lacks is in espy_trace_info. 0 or -errno.
 */
ESPY_API int espy_trace_contents(struct espy_trace *t, struct espy_trace_contents *contents);
/*
 * Makes one JSON object (one line without newline) of it and of espy_trace_info, the keys as espy-info(1) names them. *json is
 * the caller's to free(). 0 or -errno.
 */
ESPY_API int espy_trace_contents_json(struct espy_trace *t, const struct espy_trace_contents *contents, char **json);

enum espy_moment_kind { ESPY_MOMENT_NONE, ESPY_MOMENT_SINCE_START, ESPY_MOMENT_UNIX, ESPY_MOMENT_OF_DAY };
/* A moment in a trace. */
struct espy_moment {
	enum espy_moment_kind kind;
	uint64_t ns; /* since the start; since 1970; since midnight where the trace was made */
};

struct espy_session_options {
	size_t size;
	espy_log_fn log; /* NULL: nobody is told */
	void *log_ctx;

	/* Targets. pids may go together with program; the others stand alone. */
	const struct espy_program *program;
	const pid_t *pids;
	size_t pid_count;
	bool single_task;   /* pids are of tasks: the others of their process are not watched, unless follow */
	const char *cgroup; /* a directory of the cgroup v2 tree */
	bool all;	    /* the whole system */
	/* With all and cgroup: at most 8 processes that are not watched: those that carry what this one writes, above all. */
	const pid_t *without;
	size_t without_count;
	bool follow;	    /* children and threads of the targets, too */

	/* A trace in place of targets and source. */
	struct espy_trace *trace; /* kept */
	struct espy_moment from, to;

	/* How. */
	const char *source; /* NULL or "auto": the best that works; "bpf", "ptrace" */
	bool no_calls;	    /* no source of system calls is opened: marks alone. Probes need one all the same */
	enum espy_mark_way marks_by;
	enum espy_overrun overrun;
	bool can_pause;	     /* espy_pause will be called: holding tasks is made ready; not being able to is an error */
	uint64_t max_hold_ns; /* so long at most a task is held because of that, at a time; 0: as overrun says */
	size_t ring_bytes;   /* between source and reader; 0: a sensible size */
	unsigned rings;	     /* 0: as is best; 1: one for all CPUs; more: one for each */
	size_t flight_bytes; /* not 0: so much memory keeps the newest events and nothing is delivered: espy_session_snapshot */
	unsigned hang_ms;    /* a call that a task sits in for so long is told of (CALL_BEGIN); 0: never */
	bool instruction_pointer;
	unsigned stack_frames; /* the call stack of each call, of so many frames at most; 0: none. Only some sources can */
	const char *const *describe; /* files of descriptions that are used besides the built-in ones */
	size_t describe_count;
	const char *const *pause_on; /* tasks are held after calls of which this holds, as `espy trace --pause-on` has it */
	size_t pause_on_count;
	const char *const *snapshot_on; /* with flight_bytes: they ask for a snapshot */
	size_t snapshot_on_count;
	uint64_t snapshot_after_ns; /* so long after it was asked for */
	/*
	 * All engines are there when it starts: what none of them needs (times, more calls) is not captured, and cannot be had
	 * later. Cheaper, and the only way to have calls counted in the kernel.
	 */
	bool engines_fixed;
	bool explain; /* the log is told what the kernel tests of calls, paths and conditions, and what is tested here */
	bool raise_file_limit; /* RLIMIT_NOFILE of this process, where sources need more; programs are started with the old one */

	/* Only sources that stop tasks. */
	bool seccomp, kill_on_exit, detach_on_execve;
	unsigned interruptible; /* as -I of strace; 0: 2 */
};

/*
 * Makes a session; its source is opened and its targets are watched from espy_session_start on, or from the first call that
 * needs it. -EINVAL: options that contradict each other.
 */
ESPY_API int espy_session_open(struct espy_session **out, const struct espy_session_options *options);
/*
 * Lets go of everything: engines are removed, their sinks closed, no task is held, nothing of the session runs any more when it
 * returns. From a callback: it takes effect when the call returns in which the callback runs, which gives -ECANCELED; the
 * handle is not to be used after. NULL is let be.
 */
ESPY_API void espy_session_close(struct espy_session *s);

/* Opens the source, and starts or attaches to the targets. -EALREADY: it has begun. */
ESPY_API int espy_session_start(struct espy_session *s);
/*
 * Runs until the targets are gone, the trace is at its end, or somebody stops it, and then lets go of the targets. 0; or a
 * negative errno: of the source, or of an engine whose sink could not be written.
 */
ESPY_API int espy_session_run(struct espy_session *s);
/*
 * For a loop of the caller's own: a descriptor that is readable (POLLIN) when espy_session_dispatch has something to do. It
 * belongs to the session. Starts it if it has not begun.
 */
ESPY_API int espy_session_fd(struct espy_session *s);
/*
 * Delivers what has come, and waits for at most timeout_ms (-1: until something comes) if there is nothing. Returns how many
 * records it has dealt with; 0: none; -ESRCH: no target is left, and all is delivered; -ECANCELED: the session was stopped
 * (call it again until -ESRCH for what is on its way) or closed; -EINTR.
 */
ESPY_API int espy_session_dispatch(struct espy_session *s, int timeout_ms);
/* Ends run and dispatch soon. For any thread, and for signal handlers. */
ESPY_API void espy_session_stop(struct espy_session *s);
/* Figures and last words for the sinks (summaries), once nothing more comes; run does it itself. 0 or as run. */
ESPY_API int espy_session_finish(struct espy_session *s);

/* More targets, fewer targets, while it runs. */
ESPY_API int espy_session_add_pid(struct espy_session *s, pid_t pid, bool single_task);
ESPY_API int espy_session_remove_pid(struct espy_session *s, pid_t pid);
/* The started program: its process number, or -ESRCH; its end as wait(2) gives it, or -EAGAIN while it runs. */
ESPY_API pid_t espy_session_program(struct espy_session *s);
ESPY_API int espy_session_program_status(struct espy_session *s, int *status);
/* "bpf", "ptrace", "trace file"; NULL: not begun. */
ESPY_API const char *espy_session_source(struct espy_session *s);
/* Asks a flight recorder for what it has: its engines get it. Done by run or dispatch. For any thread, and signal handlers. */
ESPY_API void espy_session_snapshot(struct espy_session *s);

struct espy_session_stats {
	size_t size; /* set it before the call */
	uint64_t records, bytes;
	uint64_t lost[ESPY_LOSS_REASONS]; /* by reason: espy_lost_text */
	uint64_t tasks;			  /* seen */
	uint64_t pauses, paused_ns, longest_pause_ns;
	uint64_t overwritten; /* flight recorder: at the last snapshot */
	uint64_t undescribed; /* calls that were shown with raw arguments, for want of a description */
	uint64_t damaged;     /* records that could not be read */
	uint64_t hangs;	      /* calls that were told of while they hung */
};
ESPY_API int espy_session_stats(struct espy_session *s, struct espy_session_stats *stats);

/* ---- engines */

/*
 * Called on the thread that runs or dispatches. It may add, change and remove engines, its own included, and stop or close the
 * session; it must return.
 */
typedef void (*espy_event_fn)(void *ctx, const struct espy_event *e);

struct espy_engine_options {
	size_t size;
	unsigned events; /* enum espy_event_type; 0: all that the sink makes use of. Callbacks: those alone */
	const struct espy_filter *filter; /* NULL: everything but marks */
	uint64_t call_limit;		  /* after so many calls the engine gets no more; 0: none */
	bool ends_session;		  /* when that is reached, or its sink cannot be written */
	/* Exactly one of these. */
	espy_event_fn event;
	const struct espy_text_options *text;
	const struct espy_sink_options *sink;
	const struct espy_summary_options *summary;
	const struct espy_trace_options *trace;
	void *ctx; /* of event; kept */
	bool no_values; /* event asks for no arguments: none are decoded for it */
	/* Called once when the engine is gone, and no callback of it runs or will run. May be NULL. */
	void (*removed)(void *ctx);
};

/*
 * Engines may be added, changed and removed at any time, on any thread; other engines miss nothing and get nothing twice by
 * it. What a new engine or a wider mask asks for holds after at most a millisecond; the call waits for it.
 */
/* *out may be asked for (not NULL), to change or remove it; it is valid until it is removed, or the session closed. */
ESPY_API int espy_engine_add(struct espy_session *s, const struct espy_engine_options *options, struct espy_engine **out);
/* After it returns no callback of the engine runs; from a callback of its own: after that has returned. */
ESPY_API int espy_engine_remove(struct espy_engine *engine);
ESPY_API int espy_engine_set_events(struct espy_engine *engine, unsigned events);
ESPY_API int espy_engine_set_filter(struct espy_engine *engine, const struct espy_filter *filter);

struct espy_engine_stats {
	size_t size; /* set it before the call */
	uint64_t events, calls; /* that it was given */
	int error;		/* 0, or the negative errno by which its sink failed; nothing is given to it any more */
	uint64_t file_bytes;	/* trace: written so far, of all its files; records in them; how many files */
	uint64_t records;
	unsigned files;
};
ESPY_API int espy_engine_stats(struct espy_engine *engine, struct espy_engine_stats *stats);

/* ---- holding a task: espy_hold(3)
 *
 * A task is held before its next instruction in user space: neither stopped nor signalled. Each holder (a session) counts; it
 * runs on when the last hold of the last holder is gone: by espy_resume, when its lease has run out, when the session is closed, when
 * the process that holds it dies. A session also holds tasks by the options of its overrun and of its calls.
 */
/*
 * Adds a hold of this session on a watched task, until lease_ns from now; a further hold may only make that later. When the lease has run
 * out, all holds of the session on the task are gone. Returns at once: a task that is in user space is held within microseconds, one
 * that sleeps in a call when that returns. The session must have can_pause. For any thread.
 * -EINVAL: no lease; -EOPNOTSUPP: no can_pause, or the source is not bpf; -ESRCH: the task is not watched, or the session does not run;
 * -EAGAIN: nobody can be held for now: too many are held, or the process that tasks are held by (espy-hold) did not run for a while.
 */
ESPY_API int espy_pause(struct espy_session *s, pid_t task, uint64_t lease_ns);
/* Takes back one hold of this session; task 0: all of them. -ESRCH: it has none on that task. For any thread. */
ESPY_API int espy_resume(struct espy_session *s, pid_t task);

struct espy_held {
	pid_t task, process;
	const char *call; /* after which it is held; "" if it was not in one */
	uint64_t since_ns;
	unsigned holds; /* of this session */
};
typedef int (*espy_held_fn)(void *ctx, const struct espy_held *held);
/* fn for each task that this session holds; returns how many, or what fn returned if that is not 0. */
ESPY_API int espy_session_held(struct espy_session *s, espy_held_fn fn, void *ctx);

/* ---- other processes with espy of this user */

struct espy_resumed {
	pid_t espy;	/* a process that held some */
	unsigned tasks; /* that it has let go of */
};
/*
 * Asks every espy, or only `by` if that is not 0, to let a held task, or all held tasks of a process, run on. Fills
 * resumed[0..count) of those that held some; returns how many did.
 */
ESPY_API size_t espy_ask_resume(pid_t pid, pid_t by, struct espy_resumed *resumed, size_t count);
/*
 * Asks a flight recorder, by its process number, to write what it has, and waits until it has. 0: text is the name of the
 * trace; -EIO: it could not, text says why; -ESRCH: there is none that would listen.
 */
ESPY_API int espy_ask_snapshot(pid_t espy, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
