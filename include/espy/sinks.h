/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: the sinks that an engine may have in place of a callback. Part of <espy/espy.h>.
 *
 * Each sink has a struct of options whose first member is its size. The caller sets size to sizeof, and every member that it
 * does not use to zero. The library copies strings and arrays. Zero means the default. The comment of a member names its
 * default if that is not "no" or "none".
 */
#ifndef ESPY_SINKS_PUBLIC_H
#define ESPY_SINKS_PUBLIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ESPY_API
#define ESPY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- outputs: where sinks write
 *
 * Several engines may share an output; their lines then come one after the other. The library counts the users of an output.
 * The caller that opened it closes it when it has given it to the last engine. The output is written and closed when the last
 * engine is gone.
 */
struct espy_output;
/*
 * Opens "FILE" (made, or made empty; with append: written at its end), "|COMMAND" or "!COMMAND" (its standard input). Returns 0
 * or -errno.
 */
ESPY_API int espy_output_open(struct espy_output **out, const char *name, bool append);
/* Makes an output of a descriptor, which stays the caller's. Returns 0 or -errno. */
ESPY_API int espy_output_fd(struct espy_output **out, int fd);
/*
 * Makes an output as with -ff of strace: each task has a file NAME.TASK of its own, made with its first line. For one engine,
 * of text or JSON. Returns 0 or -errno, also if no file can be made in that folder.
 */
ESPY_API int espy_output_per_task(struct espy_output **out, const char *name, bool append);
/*
 * Colours the lines of text that are written to the output from now on, for a terminal. spec: `key=SGR:key=SGR...` in place of the
 * defaults (espy-trace(1) names the keys), NULL: the defaults. Returns 0 or -ENOMEM; -EINVAL: o is NULL.
 */
ESPY_API int espy_output_colors(struct espy_output *o, const char *spec);
/*
 * Writes the bytes that wait in the output. Returns 0, or -errno of the first write that failed; each further call returns that
 * error again. -EINVAL: o is NULL, or has a file for each task.
 */
ESPY_API int espy_output_flush(struct espy_output *o);
/* Gives up the caller's use of the output. Returns 0, or -errno of the first write that failed. */
ESPY_API int espy_output_close(struct espy_output *o);

/* ---- text: the lines of `espy trace` */

/* Bits: what is told of a descriptor. ESPY_FD_ALL stands for all of them. */
enum espy_fd_text {
	ESPY_FD_NONE = 0,
	ESPY_FD_PATH = 1 << 0,	 /* <path> */
	ESPY_FD_ALL = 1 << 1,
	ESPY_FD_SOCKET = 1 << 2, /* protocol, addresses, peer */
	ESPY_FD_DEV = 1 << 3,	 /* <path<char 1:3>> */
	ESPY_FD_PIDFD = 1 << 4,
	ESPY_FD_SIGNALFD = 1 << 5,
	ESPY_FD_EVENTFD = 1 << 6,
};
enum espy_time_text { ESPY_TIME_NONE, ESPY_TIME_OF_DAY /* 13:37:42 */, ESPY_TIME_UNIX /* seconds since 1970 */ };
enum espy_name_text { ESPY_NAMES, ESPY_NAMES_RAW /* numbers alone */, ESPY_NAMES_VERBOSE /* numbers, names as comments */ };
enum espy_string_text {
	ESPY_STRINGS_PLAIN,
	ESPY_STRINGS_HEX_NON_ASCII, /* whole strings that have non-ASCII bytes */
	ESPY_STRINGS_HEX_NON_ASCII_CHARS,
	ESPY_STRINGS_HEX,
};

/* Security contexts of SELinux, as bits. */
enum espy_context_text {
	ESPY_CONTEXTS_NONE = 0,
	ESPY_CONTEXTS = 1 << 0,	      /* [bin_t]: the type alone */
	ESPY_CONTEXTS_FULL = 1 << 1,  /* [system_u:object_r:bin_t:s0] */
	ESPY_CONTEXTS_EXPECTED = 1 << 2, /* [tmp_t!!bin_t]: behind it what the policy has for the file, if that is another one */
};

/* Lines that the text sink leaves out, as bits. */
enum espy_quiet {
	ESPY_QUIET_EXIT = 2,	     /* "+++ exited with 0 +++" */
	ESPY_QUIET_PERSONALITY = 8,  /* "[ Process PID=1 runs in 32 bit mode. ]" */
	ESPY_QUIET_SUPERSEDED = 16,  /* "+++ superseded by execve in pid 1 +++" */
};

struct espy_text_options {
	size_t size;
	struct espy_output *output; /* NULL: standard error */
	uint32_t string_limit;	    /* how many bytes of strings and elements of arrays are shown; see string_limit_given */
	bool string_limit_given;    /* else 32 */
	uint32_t column;	    /* the column where results begin; see column_given */
	bool column_given;	    /* else 40 */
	enum espy_name_text names;
	enum espy_string_text strings;
	enum espy_fd_text fds;
	enum espy_time_text time;
	unsigned time_precision; /* digits of the fraction: 0, 3, 6 or 9; the same for the other precisions */
	bool relative_time;	 /* the time since the line before */
	unsigned relative_precision;
	bool call_time; /* <0.000042> behind the result */
	unsigned call_time_precision;
	bool argument_names;
	bool task_names;	  /* <cat> behind the numbers of tasks */
	bool task_numbers;	  /* the observer's number of a task, behind its number in the caller's pid namespace */
	bool instruction_pointer; /* the session must capture the pointer: its option of the same name */
	bool call_number;
	bool task_column; /* every line begins with the number of its task; else [pid N], only if there are several tasks */
	bool task_always; /* [pid N] even if there is only one task */
	bool stacks;	  /* the call stack of each call; the session captures stacks if its option stack_frames is set */
	bool stack_source; /* stacks with file and line of the source */
	unsigned quiet;	  /* enum espy_quiet */
	bool functions;	  /* probes where functions begin and return make a tree of calls, and what happens in a function is indented */
	unsigned function_depth;  /* so many functions in each other have lines; 0: all */
	uint64_t function_min_ns; /* a function that took less has no line, unless something that is shown happens in it; ns */
	bool namespaces; /* (uts:[4026532178]) behind the results of calls that have changed namespaces of a task */
	bool vcpus; /* (KVM_EXIT_IO) behind the result of KVM_RUN; surely the right one if the source stops the task */
	/*
	 * Contexts in front of lines (of the task), and behind descriptors and paths. They are asked for when the call is shown, so
	 * the source should stop the task. A trace holds none.
	 */
	enum espy_context_text contexts;
};

/*
 * ---- other sinks, by name
 *
 * "json": one object on a line for each event, as docs/json.md says. A change to existing members changes its version.
 */

#define ESPY_JSON_VERSION 1

struct espy_sink_options {
	size_t size;
	const char *name; /* the sink's name; espy_engine_add returns -ENOENT if no sink has it */
	struct espy_output *output; /* NULL: standard error */
	uint32_t string_limit;	    /* how many bytes of strings are shown; see string_limit_given */
	bool string_limit_given;    /* else 32 */
	bool fd_details;	    /* more of descriptors than their paths: the peers of sockets */
	bool task_names;	    /* names of the tasks that arguments name; the tasks of events always have a name */
	bool instruction_pointer;   /* the session must capture the pointer: its option of the same name */
	unsigned hang_ms;	    /* the sink tells of a call that has not ended for so long; 0: only of a call that never ends */
};

/* ---- the table of -c */

enum espy_summary_column {
	ESPY_COL_TIME_PERCENT,
	ESPY_COL_TOTAL_TIME,
	ESPY_COL_MIN_TIME,
	ESPY_COL_MAX_TIME,
	ESPY_COL_AVG_TIME,
	ESPY_COL_CALLS,
	ESPY_COL_ERRORS,
	ESPY_COL_NAME,
	ESPY_COL_WALL_TOTAL,
	ESPY_COL_WALL_MIN,
	ESPY_COL_WALL_MAX,
	ESPY_COL_WALL_AVG,
	ESPY_COL_COUNT
};

struct espy_summary_options {
	size_t size;
	struct espy_output *output;		   /* NULL: standard error */
	const enum espy_summary_column *columns;   /* column_count columns, each at most once; none: time, calls, errors, name */
	size_t column_count;
	enum espy_summary_column sort_by;	   /* 0: by total time */
	bool unsorted;				   /* rows by the number of the call */
	/* show the time between begin and end; else time on the CPU where a source measures it */
	bool wall_clock;
	uint64_t overhead_ns;			   /* the sink subtracts so much from the time of each call */
	bool json;				   /* one JSON object for each row, and no columns */
	bool every_status;			   /* count calls of every status, also where the filter wants fewer */
};

/*
 * ---- counts by value and histograms: --count-by and --hist of espy-trace(1)
 *
 * The sink counts what the events of its engine say, and writes a table for each tally at the end.
 */

enum espy_tally_kind {
	ESPY_TALLY_COUNT, /* how often each value came */
	ESPY_TALLY_HIST,  /* how often numbers of each power of two came */
};
/* text: "[EVENTS:] VALUE" as espy-trace(1) has it: "duration", "openat: path", "shop:order_done: id". */
struct espy_tally {
	enum espy_tally_kind kind;
	const char *text;
};

struct espy_tally_options {
	size_t size;
	struct espy_output *output;	  /* NULL: standard error */
	const struct espy_tally *tallies; /* at most 64 */
	size_t tally_count;
	unsigned top; /* a table of counts shows so many values, the most frequent first; 0: 20 */
	bool json;    /* one JSON object for each row */
};

/* ---- a trace file, for a later session on it; espy-trace-format(5) */

struct espy_trace_options {
	size_t size;
	const char *path;      /* the sink makes it with mode 0600; "-": standard output */
	bool replace;	       /* replace a file that exists; else -EEXIST */
	int level;	       /* of compression, 1-19; see level_given */
	bool level_given;      /* else 3. level 0: not compressed */
	uint64_t rotate_bytes; /* begin a new file (PATH.0, PATH.1, ...) beyond so many bytes; 0: one file */
	unsigned keep;	       /* keep so many rotated files; 0: all */
	uint32_t string_limit; /* how many bytes of strings are captured; see struct espy_text_options */
	bool string_limit_given;
	bool no_environment;   /* capture no environment of new programs */
	bool limit_data;       /* of data that calls read and write, capture at most data_limit bytes, 0: none; else string_limit */
	uint32_t data_limit;
	/* Words about how the trace was selected, for a later reader. The trace keeps them; espy_trace_info returns them. */
	const char *const *words;
	size_t word_count;
};

#ifdef __cplusplus
}
#endif

#endif
