/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libespy: the sinks that an engine may carry in place of callbacks. Part of <espy/espy.h>.
 *
 * Each has a struct of options whose first member is its size: set it to sizeof, set the rest to zero but what you mean.
 * Strings and arrays are copied. What is zero is the default, and is said at each member if it is not "no" or "none".
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

/* ---- where text goes
 *
 * An output may be given to several engines, whose lines then come one after the other. It is counted: whoever opened it
 * closes it when it has been given to the last engine; it is written and closed when the last engine is gone.
 */
struct espy_output;
/* "FILE" (made, or made empty; with append: written at its end), "|COMMAND" or "!COMMAND" (its standard input). -errno. */
ESPY_API int espy_output_open(struct espy_output **out, const char *name, bool append);
/* A descriptor, which stays the caller's. */
ESPY_API int espy_output_fd(struct espy_output **out, int fd);
/*
 * With -ff of strace: each task has a file NAME.TASK of its own, made with its first line. For one engine of text or JSON.
 */
ESPY_API int espy_output_per_task(struct espy_output **out, const char *name, bool append);
/* Writes what has waited. -errno of the first write that failed, again at each call. */
ESPY_API int espy_output_flush(struct espy_output *o);
/* The caller needs it no longer. -errno of the first write that failed. */
ESPY_API int espy_output_close(struct espy_output *o);

/* ---- text: the lines of `espy trace` */

enum espy_fd_text { ESPY_FD_NONE, ESPY_FD_PATH /* <path> */, ESPY_FD_ALL /* and what sockets are connected to */ };
enum espy_time_text { ESPY_TIME_NONE, ESPY_TIME_OF_DAY /* 13:37:42 */, ESPY_TIME_UNIX /* seconds since 1970 */ };
enum espy_name_text { ESPY_NAMES, ESPY_NAMES_RAW /* numbers alone */, ESPY_NAMES_VERBOSE /* numbers, names as comments */ };
enum espy_string_text {
	ESPY_STRINGS_PLAIN,
	ESPY_STRINGS_HEX_NON_ASCII, /* strings that have such bytes, as a whole */
	ESPY_STRINGS_HEX_NON_ASCII_CHARS,
	ESPY_STRINGS_HEX,
};

/* Lines that are left out. */
enum espy_quiet {
	ESPY_QUIET_EXIT = 2,	     /* "+++ exited with 0 +++" */
	ESPY_QUIET_PERSONALITY = 8,  /* "[ Process PID=1 runs in 32 bit mode. ]" */
	ESPY_QUIET_SUPERSEDED = 16,  /* "+++ superseded by execve in pid 1 +++" */
};

struct espy_text_options {
	size_t size;
	struct espy_output *output; /* NULL: standard error */
	uint32_t string_limit;	    /* bytes of strings, elements of arrays that are shown; see string_limit_given */
	bool string_limit_given;    /* else 32 */
	uint32_t column;	    /* where results begin; see column_given */
	bool column_given;	    /* else 40 */
	enum espy_name_text names;
	enum espy_string_text strings;
	enum espy_fd_text fds;
	enum espy_time_text time;
	unsigned time_precision; /* digits of the fraction: 0, 3, 6 or 9; so all precisions */
	bool relative_time;	 /* since the line before */
	unsigned relative_precision;
	bool call_time; /* <0.000042> behind the result */
	unsigned call_time_precision;
	bool argument_names;
	bool task_names;	  /* <cat> behind numbers of tasks */
	bool task_numbers;	  /* the observer's number of a task behind the one that it has in the caller's pid namespace */
	bool instruction_pointer; /* what it shows must be captured: the session's option of the same name */
	bool call_number;
	bool task_column; /* every line begins with the number of its task; else only [pid N] if there are several */
	bool task_always; /* [pid N] though there is but one */
	bool stacks;	  /* the call stack of each call; the session captures them if it is asked for stack_frames */
	bool stack_source; /* with lines of source */
	unsigned quiet;	  /* enum espy_quiet */
};

/* ---- other sinks, by name
 *
 * "json": an object a line for each event, as docs/json.md says. What changes what is there already changes its version.
 */

#define ESPY_JSON_VERSION 1

struct espy_sink_options {
	size_t size;
	const char *name; /* -ENOENT of espy_engine_add: there is none of this name */
	struct espy_output *output; /* NULL: standard error */
	uint32_t string_limit;	    /* bytes of strings; see string_limit_given */
	bool string_limit_given;    /* else 32 */
	bool fd_details;	    /* of descriptors more than their paths: what sockets are connected to */
	bool task_names;	    /* of the tasks that arguments name; those of events always have one */
	bool instruction_pointer;   /* what it shows must be captured: the session's option of the same name */
	unsigned hang_ms;	    /* a call that has not ended for so long is told of; 0: only if it never ends */
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
	const enum espy_summary_column *columns;   /* column_count of them, each at most once; none: time, calls, errors, name */
	size_t column_count;
	enum espy_summary_column sort_by;	   /* 0: by total time */
	bool unsorted;				   /* by number of the call */
	bool wall_clock;			   /* time between begin and end; else time on the CPU where a source measures it */
	uint64_t overhead_ns;			   /* of each call, that is taken off */
	bool json;				   /* an object for each row, and no columns */
};

/* ---- a trace file, for a session on it later; espy-trace-format(5) */

struct espy_trace_options {
	size_t size;
	const char *path;      /* made with mode 0600; "-": standard output */
	bool replace;	       /* a file that exists; else -EEXIST */
	int level;	       /* of compression, 1-19; see level_given */
	bool level_given;      /* else 3. level 0: not compressed */
	uint64_t rotate_bytes; /* begin a new file (PATH.0, PATH.1, ...) beyond so many bytes; 0: one file */
	unsigned keep;	       /* of rotated files; 0: all */
	uint32_t string_limit; /* of strings that are captured; see text */
	bool string_limit_given;
	bool no_environment;   /* of new programs */
	bool limit_data;       /* of what is read and written capture at most data_limit bytes, 0: none; else string_limit */
	uint32_t data_limit;
	/* Words about how it was selected, kept in the file for whoever shows it: espy_trace_info gives them back. */
	const char *const *words;
	size_t word_count;
};

#ifdef __cplusplus
}
#endif

#endif
