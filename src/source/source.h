/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A source of events. The session knows sources by this interface only. A source knows records and plans, but no
 * decoder and no text.
 *
 * Life: probe -> open -> set_calls -> (start_command | add_target)* -> poll* -> close.
 * All functions return 0 or a negative errno unless their comment says otherwise. opts->report gets the reason in
 * words. No function prints or exits.
 */
#ifndef ESPY_SOURCE_H
#define ESPY_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "record/record.h"
#include "record/plan.h"
#include "record/tally_spec.h"
#include "record/trigger.h"
#include "describe/image.h"
#include "source/needs.h"

#define ESPY_MAX_SYSCALLS 1024u /* a source records calls of this number and above with raw arguments */

struct espy_source; /* each source embeds its own state behind this */

/* What a source can do; shown by `espy doctor`. */
enum espy_source_caps {
	ESPY_SRC_PASSIVE = 1u << 0,	 /* never stops a task */
	ESPY_SRC_SYSTEM_WIDE = 1u << 1,	 /* --all, --cgroup */
	ESPY_SRC_COUNT = 1u << 2,	 /* counts without events (-c) */
	ESPY_SRC_ENTER = 1u << 3,	 /* sends ENTER records as they happen */
	ESPY_SRC_TAMPER = 1u << 4,	 /* can change results */
	ESPY_SRC_FLIGHT = 1u << 5,	 /* rings.flight_bytes and snapshot() */
	ESPY_SRC_FDS = 1u << 6,		 /* names the descriptors of a call whose text shows them */
	ESPY_SRC_STACKS = 1u << 7,	 /* stops.stack_frames */
	ESPY_SRC_GATES = 1u << 8,	 /* tests the gates of call sets */
	ESPY_SRC_PROBES = 1u << 11,	 /* probes */
	ESPY_SRC_ONE_THREAD = 1u << 9,	 /* only the thread that starts or adds the first target may use it */
	ESPY_SRC_IO_URING = 1u << 12,	 /* io_uring */
	ESPY_SRC_PID_NUMBERS = 1u << 10, /* tells the numbers of a new task in pid namespaces, if needs.comms */
};

/* TASK: a note of a task that is watched or not, which is news to the user only while tasks come and go. */
enum espy_report_level { ESPY_REPORT_NOTE, ESPY_REPORT_WARN, ESPY_REPORT_ERROR, ESPY_REPORT_TASK };
typedef void (*espy_report_fn)(void *ctx, enum espy_report_level level, const char *text);

enum espy_target_kind { ESPY_TARGET_PID, ESPY_TARGET_CGROUP, ESPY_TARGET_ALL };
struct espy_target {
	enum espy_target_kind kind;
	pid_t pid;          /* PID: a process (all its threads) or one task, see single_task */
	bool single_task;   /* PID: only this task (strace's -p TID without -f) */
	const char *path;   /* CGROUP: a cgroup v2 directory */
	bool held;          /* PID: it stands at its entry point, traced by the calling thread (source/hold.h) */
};

/* A wake-up of the thread that polls: another thread sets `asked`, then makes `fd` readable. */
struct espy_wake {
	atomic_bool asked;
	int fd;
};
static inline bool espy_wake__is_asked(const struct espy_wake *w)
{
	return w && atomic_load_explicit(&w->asked, memory_order_acquire);
}

struct espy_mark_rules;
struct espy_probes;
struct espy_tamper;
/*
 * Takes a run of MARK records in order of time, which lie one behind the other, `size` bytes in all. Their definitions
 * came before. Takes all of them, whatever it returns; non-zero ends poll as with espy_record_fn.
 */
typedef int (*espy_marks_fn)(void *ctx, const struct espy_rec *first, size_t size);

/* When a source holds a task that outruns the reader, until there is room; else it loses events. */
enum espy_lossless {
	ESPY_LOSSLESS_NEVER = 0,
	ESPY_LOSSLESS_AUTO = 1,   /* if a held task can notice nothing but the time */
	ESPY_LOSSLESS_ALWAYS = 2, /* a source that cannot hold tasks fails */
};

struct espy_source_opts {
	espy_report_fn report;
	void *report_ctx;
	const struct espy_wake *wake; /* poll returns 0 within a millisecond of a wake; NULL: none comes */
	bool follow;        /* -f: watch children and threads, too */
	const pid_t *without; /* with a cgroup or the whole system: unwatched processes; valid until close */
	size_t without_cnt;
	struct espy_needs needs;
	uint32_t most_data; /* bytes of a buffer that are wanted, if more than its record can hold: MORE records have
			       the rest; 0: none */
	bool count_only;    /* -c alone: count in the source, send no calls */
	const struct espy_source_tally *tallies; /* with count_only: in place of the table of -c; valid until close */
	size_t tally_cnt;   /* at most ESPY_SOURCE_TALLIES */
	bool calls_change;  /* want_calls will be called */
	bool io_uring;	    /* send the wanted operations of ESPY_ABI_IO_URING; only with ESPY_SRC_IO_URING */
	unsigned hang_ms;   /* the source tells of a call that lasts longer by an ENTER record; 0: never */
	/* -P, absolute: the source may leave out calls that surely touch none. The caller tests each call again. */
	const char *const *paths;
	size_t path_cnt;
	const struct espy_trigger *triggers; /* valid until close; their calls must be in the call sets */
	size_t trigger_cnt;
	const struct espy_trigger *gates; /* of the call sets, with the action KEEP; valid until close */
	size_t gate_cnt;
	const struct espy_probes *probes; /* source/probes.h; valid until close; only with ESPY_SRC_PROBES; NULL: none */
	struct {
		size_t bytes;  /* of all rings together; 0: the source's default */
		unsigned cnt;  /* 0: the source chooses; 1: one for all CPUs; more: one per CPU, merged by time */
		/*
		 * Not 0: a flight recorder. So many bytes, of all CPUs together, keep the newest records; new records
		 * overwrite the oldest. The source reads them only in snapshot(), and wakes no reader. Records have
		 * time_ns.
		 */
		size_t flight_bytes;
	} rings;
	struct { /* of a source that holds tasks without stopping them */
		enum espy_lossless lossless;
		uint64_t max_ns; /* the longest hold, each time, for lack of room; 0: until there is room */
		bool can_pause;  /* the caller will call pause: a source that cannot hold tasks fails */
	} hold;
	struct { /* of a source that stops tasks */
		bool seccomp;      /* --seccomp-bpf; the source uses it by itself where it is correct */
		bool kill_on_exit; /* --kill-on-exit: the tasks die with espy */
		unsigned stack_frames; /* -k: a STACK record behind each call, of so many frames at most; only with ESPY_SRC_STACKS; 0: none */
		const struct espy_tamper *tampers; /* source/tamper.h; valid until close; only with ESPY_SRC_TAMPER */
		size_t tamper_cnt;
	} stops;
	struct { /* -m */
		const struct espy_mark_rules *rules; /* source/wanted_marks.h, for sources of marks; NULL: none */
		espy_marks_fn fn; /* not NULL: gets runs of marks, with the ctx of poll, in place of the fn of poll */
	} marks;
};

/* Gates of one call: numbers in espy_source_opts.gates, from 1 on; 0: none. */
struct espy_call_gate {
	uint8_t early; /* needs no copy of the program's memory */
	uint8_t late;
};

/* The wanted calls, and how the source captures them. Arrays are valid until close. */
struct espy_call_set {
	const struct espy_image *image; /* of the ABI in image->abi */
	const struct espy_op *ops;      /* image->op_cnt, with caps by the user's limits; an op with cap 0 is not run */
	uint64_t wanted[ESPY_MAX_SYSCALLS / 64]; /* calls to record */
	uint64_t raw[ESPY_MAX_SYSCALLS / 64];    /* of these, calls whose memory no engine looks at */
	bool all_wanted; /* also numbers beyond the table */
	/*
	 * By number; NULL: none. A source with ESPY_SRC_GATES drops calls that fail their gates; another sends them. A
	 * call that fails `early` costs the tracee no more than an unwanted one.
	 */
	const struct espy_call_gate *gates;
};

#define ESPY_PAUSED_TASKS 8u
struct espy_paused_task {
	uint32_t tid, tgid;
	uint64_t pauses, ns, longest_ns;
};

/* A task that a PAUSE trigger holds. */
struct espy_held_task {
	uint32_t tid, tgid;
	uint32_t nr, abi; /* the call after which it is held */
	uint64_t since_ns;
};

struct espy_source_stats {
	uint64_t records, bytes;
	uint64_t lost[ESPY_LOST_REASONS];
	uint64_t reread; /* items that faulted at entry and that the source read again at exit */
	uint64_t tasks;  /* seen */
	uint64_t hangs;  /* calls shown while they hung */
	uint64_t wakeups;
	uint64_t ring_bytes; /* of the kernel's rings; may grow if opts.rings.bytes is 0 and no task is held */
	/* Of a flight recorder, at the last snapshot: records + overwritten + lost = events up to the request. */
	uint64_t overwritten;
	uint64_t whole_since_ns; /* from this moment on the snapshot is complete; 0: no record was overwritten */
	uint64_t triggers;       /* times that a trigger in the source has asked for a snapshot */
	uint64_t pauses, paused_ns, longest_pause_ns; /* tasks held because they outran the reader, or as asked */
	const char *lossless;  /* the effect of opts.hold.lossless in words; NULL: NEVER. Valid until close */
	bool lossless_failed;  /* the source cannot hold tasks; `lossless` is the reason */
	uint64_t not_paused;   /* tasks that the source could not hold though the ring was full */
	uint64_t cut_pauses;   /* holds that ended before there was room: opts.hold.max_ns */
	uint32_t unheld;       /* times that holding was off for a while, because the reader did not run */
	uint32_t paused_tasks; /* different ones */
	struct espy_paused_task paused[ESPY_PAUSED_TASKS]; /* tasks with the longest holds in all; pauses 0: no more */
	uint64_t trigger_ns;     /* time of the last request of a trigger (CLOCK_MONOTONIC) */
	char tracepoints[160]; /* calls at which the source has programs, and why not at fewer; empty: no choice */
	bool tests_paths;   /* the source tests opts.paths */
	uint64_t off_paths; /* calls that it has left out for that */
	uint64_t agents, marked; /* watched processes with an agent; of them, processes that have sent a mark */
};

struct espy_count { /* count_only: one per call number and ABI */
	uint64_t calls, errors;
	uint64_t time_ns, min_ns, max_ns; /* system time in calls (wall clock if needs.enter_ns was set) */
	uint64_t timed; /* of hits of a probe: those whose time is known; 0 of calls */
};

/* A tally of calls, by number. The last entry is that of all numbers beyond the tables. */
#define ESPY_TALLY_CALLS (ESPY_MAX_SYSCALLS + 1)
struct espy_source_tally {
	bool is_hist;
	struct espy_tally_spec calls[ESPY_ABI_CNT][ESPY_TALLY_CALLS];
	const struct espy_tally_spec *places; /* by place of `probes`: hits are counted, and no calls; of all tallies or none */
};
/* One count of a tally. */
struct espy_tallied {
	uint32_t tally;
	bool is_slot;	/* of a slot; else of a value */
	uint32_t slot;	/* ESPY_TALLIED_* */
	uint32_t abi, nr; /* of a value: its call; nr beyond the tables: any call beyond them */
	uint32_t place;	  /* of a value of probes: their place */
	uint64_t value, count;
};
typedef void (*espy_tallied_fn)(void *ctx, const struct espy_tallied *t);

typedef int (*espy_record_fn)(void *ctx, const struct espy_rec *rec); /* rec is valid until return; non-zero ends poll with that value */

struct espy_command {
	const char *path;       /* resolved file */
	char *const *argv;
	char *const *envp;
	/* Runs in the forked child just before execve: only async-signal-safe. Non-zero: the child does not exec. */
	int (*child_setup)(void *ctx);
	void *child_ctx;
	/* Once it is true, start_command kills a child that has not executed yet and returns -EINTR. NULL: it waits. */
	const atomic_bool *stop;
};

/*
 * The additional functions of a source that puts a thread of espy's into processes. The merged source
 * (source/merged_source.h) calls them: it starts the commands, and it sees the calls of the other source.
 */
struct espy_inside_ops {
	/* Returns whether another source's record is of espy's own thread, or of espy's call in a foreign thread. */
	bool (*hides)(const struct espy_source *s, const struct espy_rec *rec);
	/* Looks at a record of another source, which may tell of a child. */
	void (*saw)(struct espy_source *s, const struct espy_rec *rec);
	/* Writes the path of the library that goes into processes. -ENOENT: there is none. */
	int (*library)(char *path, size_t size);
	/*
	 * Writes the word of environment ("NAME=VALUE") by which a command (if ptrace traces it) and the programs that
	 * it starts call espy. Returns false if there is none.
	 */
	bool (*call_word)(struct espy_source *s, bool traced, char *word, size_t size);
	/* Expects an agent in the process soon: it was started with the library. */
	void (*expect)(struct espy_source *s, pid_t pid);
	/* Sets a function that the source calls again and again while it waits for an agent. */
	void (*meanwhile)(struct espy_source *s, void (*fn)(void *ctx), void *ctx);
};

struct espy_source_ops {
	const char *name; /* "bpf", "ptrace" */
	unsigned caps;    /* enum espy_source_caps */
	/* Returns 0 if the source can run here, or -errno; why[] gets the reason and a way forward. No side effects. */
	int (*probe)(char *why, size_t why_sz);
	int (*open)(struct espy_source **out, const struct espy_source_opts *opts);
	/* Sets the calls of an ABI, before targets. The source records calls of an ABI without a set raw. */
	int (*set_calls)(struct espy_source *s, enum espy_abi abi, const struct espy_call_set *set);
	/*
	 * Narrows the ABI's set to these calls from now on; calls wanted before and after have no gap. Only with
	 * opts.calls_change. NULL: the source sends the whole set.
	 */
	int (*want_calls)(struct espy_source *s, enum espy_abi abi, const uint64_t wanted[ESPY_MAX_SYSCALLS / 64]);
	/* Starts a command, watched from its execve on. *pid: its number. Returns -errno of a failed execve. */
	int (*start_command)(struct espy_source *s, const struct espy_command *cmd, pid_t *pid);
	int (*add_target)(struct espy_source *s, const struct espy_target *t);
	/* Lets go of a task; of all tasks of a process, by its pid; of everything, by 0. */
	int (*remove_target)(struct espy_source *s, pid_t pid);
	/*
	 * Delivers the records that have come. Waits at most timeout_ms for some (-1: without limit). Returns their
	 * number, 0 at a time-out, -EINTR after a signal, -ESRCH when no target is left and all is delivered, or the
	 * value of fn that ended it. Flight recorder: delivers nothing; returns 0 at once when stats.triggers has risen
	 * since the last call, -ESRCH when no target is left. A snapshot is still possible then.
	 */
	int (*poll)(struct espy_source *s, espy_record_fn fn, void *ctx, int timeout_ms);
	void (*stats)(struct espy_source *s, struct espy_source_stats *st);
	/*
	 * Flight recorder: delivers all records in the rings, in order of time, and goes on recording. The records stay
	 * there: the next snapshot begins with those of them that are not overwritten. Events go on meanwhile, and
	 * belong to the next one. Returns the number of records, -errno, or the value of fn that ended it. NULL: no
	 * flight recorder.
	 */
	int (*snapshot)(struct espy_source *s, espy_record_fn fn, void *ctx);
	/* count_only: fills counts[0..n) by call number. NULL: the source cannot. */
	int (*counts)(struct espy_source *s, enum espy_abi abi, struct espy_count *counts, size_t n);
	/* count_only with probes, and no calls: fills counts[0..n) by place. NULL: the source cannot. */
	int (*hits)(struct espy_source *s, struct espy_count *counts, size_t n);
	/* tally_cnt: gives all counts that are not 0. Returns 0 or -errno. NULL: the source cannot. */
	int (*tallies)(struct espy_source *s, espy_tallied_fn fn, void *ctx);
	/* Returns 0, and the wait status of the command in *status; -EAGAIN: the command has not ended. */
	int (*command_status)(struct espy_source *s, int *status);
	/* Fills held[0..n) with the tasks that PAUSE triggers hold now. Returns their number. NULL: no triggers. */
	int (*held)(struct espy_source *s, struct espy_held_task *held, size_t n);
	/*
	 * Holds a watched task before its next instruction, at the latest until until_ns, or until resume. Any thread
	 * may call it, and held and resume. Only with opts.hold.can_pause. -ESRCH: the task is not watched. NULL: the
	 * source cannot.
	 */
	int (*pause)(struct espy_source *s, pid_t tid, uint64_t until_ns);
	/* Lets a held task run on; 0: all of them. -ESRCH: it is not held. NULL if `held` is. */
	int (*resume)(struct espy_source *s, pid_t tid);
	/* Returns 0 if tasks can be held without a stop, or -errno with why[]. NULL: never, nor is it needed. */
	int (*probe_lossless)(char *why, size_t why_sz);
	void (*close)(struct espy_source *s); /* lets every task go on; none stays stopped */
	const struct espy_inside_ops *inside; /* NULL: it puts nothing into processes */
};

struct espy_source {
	const struct espy_source_ops *ops;
};

extern const struct espy_source_ops espy_source_bpf;
extern const struct espy_source_ops espy_source_ptrace;
/* Marks only, behind the merged source (source/merged_source.h): without set_calls, start_command and command_status. */
extern const struct espy_source_ops espy_source_agent;
extern const struct espy_source_ops espy_source_usdt;

#endif
