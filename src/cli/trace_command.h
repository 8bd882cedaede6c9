/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the command line of `espy trace` (and of strace) says, gathered before anything is started. */
#ifndef ESPY_CLI_TRACE_COMMAND_H
#define ESPY_CLI_TRACE_COMMAND_H

#include <espy/espy.h>
#include <sys/types.h>
#include "cli/options.h"
#include "cli/output_readers.h"

/* A list that grows; the strings are argv's own. */
struct espy_words {
	const char **v;
	size_t cnt;
};

/* Whose command line it is: they share most options. */
enum espy_role { ESPY_ROLE_TRACE, ESPY_ROLE_RECORD, ESPY_ROLE_SHOW };

enum espy_summary { ESPY_SUMMARY_NONE, ESPY_SUMMARY_ONLY /* -c */, ESPY_SUMMARY_TOO /* -C */ };

/* -q, -e quiet=, beside enum espy_quiet */
enum { ESPY_QUIET_ATTACH = 1, ESPY_QUIET_PATH = 4, ESPY_QUIET_ALL = 31 };

/* --tips: not given, given for no tip, or for one. */
enum { ESPY_TIPS_UNASKED, ESPY_TIPS_NONE, ESPY_TIPS_SHOWN };

enum espy_color_when { ESPY_COLOR_AUTO, ESPY_COLOR_NEVER, ESPY_COLOR_ALWAYS };

struct espy_trace_args {
	const struct espy_cli *cli;
	enum espy_role role;
	/* What the library is asked for. */
	struct espy_session_options session;
	struct espy_text_options text;
	struct espy_sink_options sink; /* in place of text, if it has a name */
	struct espy_summary_options table;
	struct espy_tally_options tally; /* tally_count 0: none. Its tallies are allocated */
	struct espy_trace_options record; /* path NULL: no trace is written */
	struct espy_filter *filter;
	unsigned status; /* enum espy_status */
	unsigned follow; /* 0, 1 (-f), 2 (-ff to files) */
	enum espy_summary summary;
	enum espy_summary_column columns[ESPY_COL_COUNT];
	bool sort_given;
	unsigned call_limit;
	unsigned quiet;
	bool stats;
	bool trace_follow; /* -F: wait for more at the end of the trace */
	bool via_given;
	bool probes_alone; /* no calls are shown */
	bool help, version;
	struct {
		const char *name; /* -o: file, "|command", "!command"; NULL: standard error, of a trace standard output */
		bool append, separately;
		enum espy_color_when color;
		bool progress;	  /* a line on standard error, written again and again */
		pid_t readers[ESPY_OUTPUT_READERS]; /* with --all: the processes that carry the output */
	} out;
	struct {
		char *const *command; /* PROG [ARGS] */
		const char *user, *argv0;
		bool user_letter;   /* -u, which is for probes, too */
		unsigned daemonize; /* 1-3 */
	} run;
	/* Words of the command line, before espy_trace_args__check() combines them. */
	pid_t *pids;
	size_t pid_cnt;
	struct {
		struct espy_words env_edits, describe, paths, pause_on, snapshot_on, count_by, hist;
		struct espy_words where;  /* conditions on calls; allocated */
		struct espy_words select; /* options that select events, as typed; allocated */
	} lists;
	/* How often the user has given a letter, and whether its long form: the two exclude each other. */
	struct {
		unsigned t, x, y, q, D, f, T;
		bool F;
	} letters;
	struct {
		bool time, hex, fds, quiet, daemon, fork;
	} longs;
	struct {
		int how; /* ESPY_TIPS_* */
		int id;	 /* -1: any */
	} tips;
	const char *status_word; /* -z or -Z, as typed last */
	bool status_twice;
};

/* Returns whether the command writes lines or objects of events, not tables alone. */
static inline bool espy_trace_has_lines(const struct espy_trace_args *a)
{
	return a->role != ESPY_ROLE_RECORD && (a->summary == ESPY_SUMMARY_TOO || (a->summary == ESPY_SUMMARY_NONE && !a->tally.tally_count));
}

/* Writes the tip that --tips asks for to standard error. */
void espy_tips__show(const struct espy_trace_args *a);

extern const struct espy_opt_group espy_trace_groups[], espy_record_groups[], espy_show_groups[], espy_select_groups[];
extern const size_t espy_trace_group_cnt, espy_record_group_cnt, espy_show_group_cnt, espy_select_group_cnt;

/* A command of this family. */
struct espy_trace_command {
	enum espy_role role;
	const struct espy_opt_group *groups;
	const size_t *group_cnt;
	/* For espy_cli.seen; NULL: the caller's. */
	int (*seen)(void *args, const struct espy_opt_use *use);
	void (*help)(const struct espy_cli *cli);
	/* argv[first] is the first word that is no option. Returns the exit status. */
	int (*run)(struct espy_trace_args *a, int argc, char **argv, int first);
};
/* Reads the words and runs the command, or --help, or --version. Returns the exit status. */
int espy_trace_command(const struct espy_trace_command *c, const struct espy_cli *cli, int argc, char **argv);

/* Sets the defaults. Returns 0, or -errno after a message. */
int espy_trace_args__init(struct espy_trace_args *a, const struct espy_cli *cli);
/* Checks combinations of options, and derives settings from several options. Returns 0, or -EINVAL after a message. */
int espy_trace_args__check(struct espy_trace_args *a);
void espy_trace_args__free(struct espy_trace_args *a);

/* espy_log_fn: prints messages of the library whose topics the user wants. ctx: struct espy_trace_args. */
void espy_trace_log(void *ctx, enum espy_log_level level, enum espy_log_topic topic, const char *text);
/* Runs a session by the command line. Returns the exit status. */
int espy_trace_run(struct espy_trace_args *a);
/* Returns whether the option selects events (a filter), and so stands in a trace. */
bool espy_trace_opt_selects(const struct espy_opt *opt);
/* For espy_cli.seen: keeps such options as they were typed, for `espy show`. */
int espy_trace_keep_selection(void *args, const struct espy_opt_use *use);

/* Tells whether an expression changes calls (inject=, fault=) instead of selecting them. */
bool espy_trace_changes_calls(const char *expr);
/* Takes a -e expression, or that of a long option. Returns 0, or -EINVAL after a message. */
int espy_trace_expr(struct espy_trace_args *a, const char *expr);
/* Reads a set of words given as `name`; *out joins their values in the table. Returns 0, or -EINVAL after a message. */
struct espy_word;
int espy_trace_set(struct espy_trace_args *a, const char *name, const struct espy_word *table, const char *arg,
		   unsigned *out);
int espy_trace_decode_fds(struct espy_trace_args *a, const char *arg);
int espy_trace_decode_pids(struct espy_trace_args *a, const char *arg);
/* Refuses an option of strace that espy knows and does not have. Returns -EINVAL. */
int espy_trace_secontext(struct espy_trace_args *a, const char *arg);

/* Appends a word to a list. The text is the caller's and must outlive the list. Returns 0 or -ENOMEM. */
int espy_words__add(struct espy_words *w, const char *s);
/* Appends an allocated text, which belongs to the list from here on. NULL: there was no memory. Returns 0 or -ENOMEM.
 */
int espy_words__take(struct espy_words *w, char *text);
/* Frees a list whose texts belong to it. */
void espy_words__free(struct espy_words *w);

/* The command: its file, found as the shell finds it, its environment, its user. */
struct espy_launch {
	struct espy_program program;
	char *path;
	char **argv, **envp;
	const struct espy_cli *cli;
	bool switch_user;
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int group_cnt;
	pid_t *shared_pid; /* one page shared with the child: it writes its pid */
};
/* Returns 0, or -errno after a message. */
int espy_launch__init(struct espy_launch *l, const struct espy_trace_args *a);
void espy_launch__free(struct espy_launch *l);

/* Signals of the tracer itself. */
struct espy_session;
void espy_signals__install(unsigned interruptible);
/* Lets SIGUSR1 ask a flight recorder for a snapshot. */
void espy_signals__install_snapshot(void);
/* Lets SIGPIPE end this process in silence, as it does any other that only prints. */
void espy_signals__end_with_reader(void);
/* Restores the signals that a started command shall find. Async-signal-safe. */
void espy_signals__restore(void);
void espy_signals__session(struct espy_session *s);
/*
 * Ends espy, even while another thread sits in a system call that only SIGKILL ends. Returns if the signal does not
 * kill.
 */
void espy_signals__die_of(int sig);
int espy_signals__caught(void);
/* Returns the signal that has stopped the session; 0: none. */
int espy_signals__stopped(void);

/*
 * -D: this process becomes the command, and a grandchild traces it. In the grandchild it returns 0, and *pid is the
 * process to attach to. In the caller it returns only after an error: -errno, after a message.
 */
int espy_daemonize(const struct espy_cli *cli, const struct espy_launch *l, unsigned how, pid_t *pid, int **go);
/* Lets the command run if ok, else ends it. */
void espy_daemonize__go(int *go, bool ok);

#endif
