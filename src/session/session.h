/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session: targets + a source + filter + sinks. Keeps the tables of tasks and descriptors from the
 * stream, decides which events are shown, and writes lines. The command line fills struct
 * espy_session_opts; the session knows nothing of argc and argv.
 */
#ifndef ESPY_SESSION_H
#define ESPY_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "source/source.h"
#include "render/text.h"
#include "session/filter.h"

enum espy_fd_decode { ESPY_FD_NONE, ESPY_FD_PATH /* -y */, ESPY_FD_ALL /* -yy */ };
enum espy_time_style { ESPY_TIME_NONE, ESPY_TIME_OF_DAY /* -t */, ESPY_TIME_UNIX /* -ttt */ };
enum espy_summary { ESPY_SUMMARY_NONE, ESPY_SUMMARY_ONLY /* -c */, ESPY_SUMMARY_TOO /* -C */ };
enum espy_source_choice { ESPY_SOURCE_AUTO, ESPY_SOURCE_BPF, ESPY_SOURCE_PTRACE };

/* -U: columns of the summary, in the order given. */
enum espy_summary_col {
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
	ESPY_COL_CNT
};

/* -q, -e quiet= */
enum {
	ESPY_QUIET_ATTACH = 1,
	ESPY_QUIET_EXIT = 2,
	ESPY_QUIET_PATH = 4,
	ESPY_QUIET_PERSONALITY = 8,
	ESPY_QUIET_SUPERSEDED = 16,
	ESPY_QUIET_ALL = 31
};

/* -e status=, -z, -Z */
enum {
	ESPY_STATUS_SUCCESSFUL = 1,
	ESPY_STATUS_FAILED = 2,
	ESPY_STATUS_UNFINISHED = 4,
	ESPY_STATUS_UNAVAILABLE = 8,
	ESPY_STATUS_DETACHED = 16,
	ESPY_STATUS_ALL = 31
};

/* What of the program's data is read, beyond what -s and -v say. */
struct espy_payload {
	bool no_env;	     /* no environments */
	bool limit_data;     /* of buffers at most data_bytes; 0: none */
	unsigned data_bytes;
};

/* A trace file that is written. */
struct espy_record_opts {
	const char *path;
	bool force;		/* replace a file that exists */
	int level;		/* of compression, 0-19 */
	uint64_t rotate_bytes;	/* 0: one file */
	unsigned keep;		/* of rotated files; 0: all */
	bool lines_too;		/* the text goes to the output as well; else no text is made */
	bool progress;		/* a line on stderr, written again and again */
	size_t flight_bytes;	/* not 0: so much memory keeps the newest records; a trace is written when it is wanted */
	uint64_t after_ns;	/* of a trace that is wanted: so long after that */
	/* Words of the command line that say what is shown (-e, -P, ...), for whoever shows the trace. */
	const char *const *select;
	size_t select_cnt;
};

/* A moment in a trace. */
enum espy_when_kind { ESPY_WHEN_NONE, ESPY_WHEN_SINCE_START, ESPY_WHEN_UNIX, ESPY_WHEN_OF_DAY };
struct espy_when {
	enum espy_when_kind kind;
	uint64_t ns; /* since the start; since 1970; since midnight where the trace was made */
};

/* A trace file in place of a source. */
struct espy_trace_reader;
struct espy_show_opts {
	struct espy_trace_reader *reader; /* open; stays the caller's */
	const char *path;		  /* for messages */
	bool follow;			  /* -F: wait for more at the end */
	struct espy_when from, to;
	const pid_t *pids; /* only lines of these tasks and processes */
	size_t pid_cnt;
};

struct espy_session_opts {
	const char *progname; /* prefix of messages: the name under which the command was called */
	bool strace_mode;     /* called as strace: its defaults and wording */

	/* what */
	const struct espy_show_opts *show; /* not NULL: a trace is shown, and all else here that selects targets is not used */
	enum espy_source_choice source;
	const struct espy_command *command; /* NULL: none */
	const pid_t *pids;
	size_t pid_cnt;		    /* -p */
	const char *cgroup;	    /* --cgroup, or NULL */
	bool all;		    /* --all */
	unsigned follow;	    /* 0, 1 (-f), 2 (-ff) */
	struct espy_filter *filter; /* -e ...; owned by the caller */
	const char *const *describe_files;
	size_t describe_file_cnt; /* --describe */
	const struct espy_mark_rules *marks; /* -m (source/marks.h); NULL: none */
	bool marks_only;	  /* no source of system calls is opened */
	size_t ring_bytes;	  /* --buffer; 0: default */
	const char *const *pause_on, *const *snapshot_on;
	size_t pause_on_cnt, snapshot_on_cnt; /* --pause-on, --snapshot-on: triggers as text (session/trigger.h) */
	enum espy_lossless lossless; /* AUTO holds given processes only, never the whole system or a cgroup */
	unsigned rings;		  /* --rings; as in struct espy_source_opts */
	unsigned syscall_limit;	  /* --syscall-limit; 0: none */
	bool detach_on_execve;	  /* -b execve */
	bool kill_on_exit;	  /* --kill-on-exit */
	bool seccomp;		  /* --seccomp-bpf */
	unsigned interruptible;	  /* -I */

	/* how */
	struct espy_text_opts text; /* its per-call sets and resolver are filled by the session */
	enum espy_fd_decode fds;
	bool pid_comm; /* -Y */
	enum espy_time_style time;
	unsigned time_precision; /* digits of the fraction: 0, 3, 6, 9 */
	bool relative_time;
	unsigned relative_precision; /* -r */
	bool call_time;
	unsigned call_time_precision; /* -T */
	bool show_ip;		      /* -i */
	bool show_nr;		      /* -n */
	bool always_pid;	      /* --always-show-pid */
	unsigned quiet;		      /* ESPY_QUIET_* */
	unsigned status;	      /* ESPY_STATUS_* shown; ESPY_STATUS_ALL is everything */
	enum espy_summary summary;
	enum espy_summary_col columns[ESPY_COL_CNT];
	unsigned column_cnt; /* 0: the default ones */
	enum espy_summary_col sort_by;
	bool sort_given;
	bool sort_none;	 /* -S */
	bool wall_clock; /* -w */
	bool have_overhead;
	double overhead_us; /* -O, microseconds a call */
	bool stats;	    /* --stats */
	unsigned hang_ms;   /* 200 */

	struct espy_payload payload;

	/* where */
	const struct espy_record_opts *record; /* NULL: no trace is written */
	const char *output; /* -o: file, "|command", "!command"; NULL: stderr */
	bool append;	    /* -A */
};

struct espy_session;

/* 0, or -errno with all said on stderr. */
int espy_session__open(struct espy_session **out, const struct espy_session_opts *o);
/*
 * Runs until the targets are gone or a signal ends it. Returns the exit status that the command
 * line passes on: the command's (128 + n stands for signal n, see *killed_by), 0 for attached
 * targets, 1 after an error of ours that was reported.
 */
int espy_session__run(struct espy_session *s, int *killed_by);
/* May be called from a signal handler: ask run() to end cleanly. sig: the signal. */
void espy_session__stop(struct espy_session *s, int sig);
/* The same: ask a flight recorder to write what it has. */
void espy_session__snapshot(struct espy_session *s);
void espy_session__close(struct espy_session *s);

#endif
