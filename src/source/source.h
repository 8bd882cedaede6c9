/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A source: where events come from. The session knows sources by this interface only; a source
 * knows records and plans, no decoder and no text.
 *
 * Life: probe -> open -> set_calls -> (start_command | add_target)* -> poll* -> close.
 * All functions return 0 or a negative errno unless said otherwise; a reason in words goes to
 * opts->report. None prints, none exits.
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

#define ESPY_MAX_SYSCALLS 1024u /* numbers at and above it are recorded with raw arguments */

struct espy_source; /* each source embeds its own state behind this */

/* What a source can do; shown by `espy doctor`. */
enum espy_source_caps {
	ESPY_SRC_PASSIVE = 1u << 0,     /* never stops a task */
	ESPY_SRC_SYSTEM_WIDE = 1u << 1, /* --all, --cgroup */
	ESPY_SRC_COUNT = 1u << 2,       /* counts without events (-c) */
	ESPY_SRC_ENTER = 1u << 3,       /* sends ENTER records as they happen */
	ESPY_SRC_TAMPER = 1u << 4,      /* can change results */
	ESPY_SRC_FLIGHT = 1u << 5,      /* rings.flight_bytes and snapshot() */
	ESPY_SRC_FDS = 1u << 6,         /* tells with a call what its descriptors are, where its text depends on it */
	ESPY_SRC_STACKS = 1u << 7,      /* stops.stack_frames */
	ESPY_SRC_GATES = 1u << 8,       /* tests the gates of call sets */
	ESPY_SRC_PROBES = 1u << 11,     /* probes */
	ESPY_SRC_ONE_THREAD = 1u << 9,  /* only the thread that has started or added the first target may use it */
	ESPY_SRC_PID_NUMBERS = 1u << 10, /* tells the numbers of a new task in pid namespaces, if needs.comms */
};

enum espy_report_level { ESPY_REPORT_NOTE, ESPY_REPORT_WARN, ESPY_REPORT_ERROR };
typedef void (*espy_report_fn)(void *ctx, enum espy_report_level level, const char *text);

enum espy_target_kind { ESPY_TARGET_PID, ESPY_TARGET_CGROUP, ESPY_TARGET_ALL };
struct espy_target {
	enum espy_target_kind kind;
	pid_t pid;          /* PID: a process (all its threads) or one task, see single_task */
	bool single_task;   /* PID: only this task (strace's -p TID without -f) */
	const char *path;   /* CGROUP: a cgroup v2 directory */
	bool held;          /* PID: it stands at its entry point, traced by the calling thread (source/hold.h) */
};

/* Another thread has something for the one that polls: `asked` is set, then `fd` becomes readable. */
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
 * Several records at once, which lie one behind the other, `size` bytes in all: MARK records only, whose definitions
 * came before, in order of time. All of them are taken, whatever is returned; non-zero ends poll as with
 * espy_record_fn.
 */
typedef int (*espy_marks_fn)(void *ctx, const struct espy_rec *first, size_t size);

/* Is a task that writes more than the reader takes held until there is room, instead of losing what it does? */
enum espy_lossless {
	ESPY_LOSSLESS_NEVER = 0,
	ESPY_LOSSLESS_AUTO = 1,   /* where that can be done without anyone noticing but by the time it takes */
	ESPY_LOSSLESS_ALWAYS = 2, /* not being able to is an error */
};

struct espy_source_opts {
	size_t size; /* of this struct, for later growth */
	espy_report_fn report;
	void *report_ctx;
	const struct espy_wake *wake; /* poll returns 0 within a millisecond of a wake; NULL: none comes */
	bool follow;        /* -f: children and threads are watched too */
	const pid_t *without; /* with a cgroup or the whole system: processes that are not watched; valid until close */
	size_t without_cnt;
	struct espy_needs needs;
	bool count_only;    /* -c alone: count in the source, send no calls */
	const struct espy_source_tally *tallies; /* with count_only: these in place of the table of -c; valid until close */
	size_t tally_cnt;   /* at most ESPY_SOURCE_TALLIES */
	bool calls_change;  /* want_calls will be called */
	unsigned hang_ms;   /* a task silent in a call for so long is shown by an ENTER record; 0: never */
	/*
	 * -P: calls that surely touch none of these may be left out; absolute paths. The caller looks at each call again.
	 */
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
		 * Flight recorder, not 0: so many bytes, of all CPUs together, keep the newest records; the oldest are
		 * overwritten. Nothing is read and nobody is woken until snapshot() is called. Records carry time_ns.
		 */
		size_t flight_bytes;
	} rings;
	struct { /* of a source that holds tasks without stopping them */
		enum espy_lossless lossless;
		uint64_t max_ns; /* for lack of room a task is held so long at a time at most; 0: until there is room */
		bool can_pause;  /* pause will be called: not being able to hold tasks is an error */
	} hold;
	struct { /* of a source that stops tasks */
		bool seccomp;      /* --seccomp-bpf; the source uses it by itself where it is correct */
		bool kill_on_exit; /* --kill-on-exit: tasks die with us */
		unsigned stack_frames; /* -k: a STACK record behind each call, of so many frames at most; only with ESPY_SRC_STACKS; 0: none */
		const struct espy_tamper *tampers; /* source/tamper.h; valid until close; only with ESPY_SRC_TAMPER */
		size_t tamper_cnt;
	} stops;
	struct { /* -m */
		const struct espy_mark_rules *rules; /* source/wanted_marks.h: for the sources that serve marks; NULL: none wanted */
		espy_marks_fn fn; /* not NULL: a source may give runs of marks to it, with poll's ctx, instead of each to poll's fn */
	} marks;
};

/* Gates of one call: numbers in espy_source_opts.gates, from 1 on; 0: none. */
struct espy_call_gate {
	uint8_t early; /* asks for nothing that must be copied from memory */
	uint8_t late;
};

/*
 * Which calls, and how they are read. Arrays stay valid until close. `ops` is the image's table
 * with the caps already made from the user's limits (an op with cap 0 is not run).
 */
struct espy_call_set {
	const struct espy_image *image; /* of the ABI in image->abi */
	const struct espy_op *ops;      /* image->op_cnt of them */
	uint64_t wanted[ESPY_MAX_SYSCALLS / 64]; /* calls to record */
	uint64_t raw[ESPY_MAX_SYSCALLS / 64];    /* of these, the ones whose memory nobody will look at */
	bool all_wanted; /* also numbers beyond the table */
	/*
	 * By number; NULL: none. A source that can test drops calls that fail their gates; others send them. What it drops costs
	 * the tracee no more than a call that is not wanted, as far as `early` tells it.
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
	uint64_t reread; /* items that faulted at entry and were read again at exit */
	uint64_t tasks;  /* seen */
	uint64_t hangs;  /* calls shown while they hung */
	uint64_t wakeups;
	uint64_t ring_bytes; /* of all rings that the kernel writes to; grows where opts.rings.bytes is 0 and nobody is held */
	/* Flight recorder; at the last snapshot: records + overwritten + lost = what had happened when it was asked for. */
	uint64_t overwritten;
	uint64_t whole_since_ns; /* from this moment on nothing is missing in it; 0: nothing was overwritten */
	uint64_t triggers;       /* times that a trigger in the source has asked for a snapshot */
	uint64_t pauses, paused_ns, longest_pause_ns; /* tasks held because they outran the reader, or as asked */
	const char *lossless;  /* what became of opts.hold.lossless, in words; NULL: not asked for. Valid until close */
	bool lossless_failed;  /* tasks cannot be held; `lossless` is the reason */
	uint64_t not_paused;   /* tasks that could not be held though the ring was full */
	uint64_t cut_pauses;   /* that ended before there was room: opts.hold.max_ns */
	uint32_t unheld;       /* times that nobody could be held for a while: the reader did not run */
	uint32_t paused_tasks; /* different ones */
	struct espy_paused_task paused[ESPY_PAUSED_TASKS]; /* those that were held longest in all; pauses 0: no more */
	uint64_t trigger_ns;     /* when it last did (CLOCK_MONOTONIC) */
	char tracepoints[160]; /* at which calls the source has programs now, and why not at fewer; empty: it has none, or no choice */
	bool tests_paths;   /* the source tests opts.paths */
	uint64_t off_paths; /* calls that it has left out for that */
	uint64_t agents, marked; /* processes with an agent that were watched; those of which a mark came */
};

struct espy_count { /* count_only: one per call number and ABI */
	uint64_t calls, errors;
	uint64_t time_ns, min_ns, max_ns; /* system time in calls (wall clock if needs.enter_ns was set) */
};

/* What is counted of each call; behind the numbers of the tables stands what is counted of all others. */
#define ESPY_TALLY_CALLS (ESPY_MAX_SYSCALLS + 1)
struct espy_source_tally {
	bool is_hist;
	struct espy_tally_spec calls[ESPY_ABI_CNT][ESPY_TALLY_CALLS];
};
/* A count that came of it. */
struct espy_tallied {
	uint32_t tally;
	bool is_slot;	/* of a slot; else of a value */
	uint32_t slot;	/* ESPY_TALLIED_* */
	uint32_t abi, nr; /* of a value: the call that it is of; nr beyond the tables: any of those */
	uint64_t value, count;
};
typedef void (*espy_tallied_fn)(void *ctx, const struct espy_tallied *t);

typedef int (*espy_record_fn)(void *ctx, const struct espy_rec *rec); /* rec is valid until return; non-zero ends poll with that value */

struct espy_command {
	const char *path;       /* resolved file */
	char *const *argv;
	char *const *envp;
	/* runs in the child just before execve, in a forked process: only async-signal-safe; non-zero: do not exec */
	int (*child_setup)(void *ctx);
	void *child_ctx;
	/* Set: nobody waits for the execve any longer. The child is killed, start_command returns -EINTR. NULL: it is waited for. */
	const atomic_bool *stop;
};

/*
 * What a source does that puts something of ours into processes. The merged source (source/merged_source.h) needs it of
 * the source of marks: it starts the commands, and it sees the calls of the other source.
 */
struct espy_inside_ops {
	/* Is this record of another source about us (our thread, our calls in somebody's thread)? */
	bool (*hides)(const struct espy_source *s, const struct espy_rec *rec);
	/* A record of another source, which may tell of a child. */
	void (*saw)(struct espy_source *s, const struct espy_rec *rec);
	/* Where the library is that goes into processes. -ENOENT */
	int (*library)(char *path, size_t size);
	/*
	 * What a command finds in its environment, so that it (if it is traced by ptrace) and the programs which it
	 * starts call us ("NAME=VALUE"). False: nothing.
	 */
	bool (*call_word)(struct espy_source *s, bool traced, char *word, size_t size);
	/* The process was started with the library, and will have an agent soon. */
	void (*expect)(struct espy_source *s, pid_t pid);
	/* fn is called again and again while an agent is waited for. */
	void (*meanwhile)(struct espy_source *s, void (*fn)(void *ctx), void *ctx);
};

struct espy_source_ops {
	const char *name; /* "bpf", "ptrace" */
	unsigned caps;    /* enum espy_source_caps */
	/* Can it run here? 0, or -errno with the reason and a way forward in why[0..why_sz). Cheap, no side effects. */
	int (*probe)(char *why, size_t why_sz);
	int (*open)(struct espy_source **out, const struct espy_source_opts *opts);
	/* Before targets. abi: each ABI has its own set; an ABI that was not set is recorded raw. */
	int (*set_calls)(struct espy_source *s, enum espy_abi abi, const struct espy_call_set *set);
	/*
	 * From now on these are the calls of the ABI's set that are wanted: a part of those that set_calls has named. Others go on
	 * without a gap. Only with opts.calls_change. NULL: the source sends the whole set.
	 */
	int (*want_calls)(struct espy_source *s, enum espy_abi abi, const uint64_t wanted[ESPY_MAX_SYSCALLS / 64]);
	/* Start a command, watched from its execve on. Returns the pid in *pid. -errno of execve if that failed. */
	int (*start_command)(struct espy_source *s, const struct espy_command *cmd, pid_t *pid);
	int (*add_target)(struct espy_source *s, const struct espy_target *t);
	/* Let go of a task; the pid of a process lets go of all its tasks; 0: of everything. */
	int (*remove_target)(struct espy_source *s, pid_t pid);
	/*
	 * Deliver what has come; waits at most timeout_ms (-1: until something comes). Returns the number of
	 * records delivered, 0 at a time-out, -EINTR after a signal, -ESRCH when no target is left and all
	 * is delivered, or what fn returned.
	 * Flight recorder: delivers nothing; returns 0 at once when stats.triggers has risen since the last call,
	 * -ESRCH when no target is left: a snapshot can still be taken.
	 */
	int (*poll)(struct espy_source *s, espy_record_fn fn, void *ctx, int timeout_ms);
	void (*stats)(struct espy_source *s, struct espy_source_stats *st);
	/*
	 * Flight recorder: delivers everything that the rings hold, in order of time, and goes on recording. What it
	 * delivers stays: the next snapshot begins with as much of it as was not overwritten. What happens meanwhile is
	 * not held up, and belongs to the next one. Returns the number of records, -errno, or what fn returned; NULL if
	 * the source has no flight recorder.
	 */
	int (*snapshot)(struct espy_source *s, espy_record_fn fn, void *ctx);
	/* count_only: fills counts[0..n) by call number; NULL if the source cannot. */
	int (*counts)(struct espy_source *s, enum espy_abi abi, struct espy_count *counts, size_t n);
	/* tally_cnt: gives all counts that are not 0. 0 or -errno; NULL if the source cannot. */
	int (*tallies)(struct espy_source *s, espy_tallied_fn fn, void *ctx);
	/* The wait status of the command once it has ended: 0 and *status, else -EAGAIN. */
	int (*command_status)(struct espy_source *s, int *status);
	/* Tasks that PAUSE triggers hold now: fills held[0..n), returns how many there are. NULL: no triggers here. */
	int (*held)(struct espy_source *s, struct espy_held_task *held, size_t n);
	/*
	 * Hold a watched task before its next instruction, until then at the latest, or until resume. For any thread, as are held and
	 * resume. Only with opts.hold.can_pause. -ESRCH: it is not watched. NULL: the source cannot.
	 */
	int (*pause)(struct espy_source *s, pid_t tid, uint64_t until_ns);
	/* Let one of them run on, or with 0 all. -ESRCH: it is not held. NULL if `held` is. */
	int (*resume)(struct espy_source *s, pid_t tid);
	/* Can tasks be held without stopping them? 0, or -errno with the reason in why. NULL: never, nor need it be. */
	int (*probe_lossless)(char *why, size_t why_sz);
	void (*close)(struct espy_source *s); /* lets everything go on; no task stays stopped */
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
