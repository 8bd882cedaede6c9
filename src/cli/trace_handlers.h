/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the options of trace, record and show do. */
#ifndef ESPY_CLI_TRACE_HANDLERS_H
#define ESPY_CLI_TRACE_HANDLERS_H

#include "cli/trace_command.h"

/* What espy_do_flag() does besides setting one member. */
enum espy_trace_flag { F_FORK, F_OLD_FORK, F_VERBOSE, F_COMM, F_COUNT, F_COUNT_TOO, F_JSON };

struct espy_range {
	unsigned long min, max;
};

/*
 * Each is the handler of lines in the option table (trace_options.c), ctx is struct espy_trace_args. 0, -ENOMEM, or
 * -EINVAL with all said.
 */
int espy_do_probe(void *ctx, const struct espy_opt_use *use);
int espy_do_functions(void *ctx, const struct espy_opt_use *use);
int espy_do_tracepoint(void *ctx, const struct espy_opt_use *use);
/*
 * These store one value as espy_opts__set() does: the argument, at the end of a list; a number in the range `with`; a number of bytes; the
 * value that the table of words `with` gives it; a moment.
 */
int espy_do_list(void *ctx, const struct espy_opt_use *use);
int espy_do_number(void *ctx, const struct espy_opt_use *use);
int espy_do_bytes(void *ctx, const struct espy_opt_use *use);
int espy_do_word(void *ctx, const struct espy_opt_use *use);
int espy_do_moment(void *ctx, const struct espy_opt_use *use);
/* Says that this version does not have the option; `with` says why. */
int espy_do_secontext(void *ctx, const struct espy_opt_use *use);
int espy_do_expr(void *ctx, const struct espy_opt_use *use);
int espy_do_qualifier(void *ctx, const struct espy_opt_use *use);
int espy_do_successful(void *ctx, const struct espy_opt_use *use);
int espy_do_flag(void *ctx, const struct espy_opt_use *use);
int espy_do_time(void *ctx, const struct espy_opt_use *use);
int espy_do_sink(void *ctx, const struct espy_opt_use *use);
int espy_do_shown_time(void *ctx, const struct espy_opt_use *use);
int espy_do_hex(void *ctx, const struct espy_opt_use *use);
int espy_do_fds(void *ctx, const struct espy_opt_use *use);
int espy_do_pids(void *ctx, const struct espy_opt_use *use);
int espy_do_quiet(void *ctx, const struct espy_opt_use *use);
int espy_do_daemonize(void *ctx, const struct espy_opt_use *use);
int espy_do_source(void *ctx, const struct espy_opt_use *use);
int espy_do_color(void *ctx, const struct espy_opt_use *use);
int espy_do_max_hold(void *ctx, const struct espy_opt_use *use);
int espy_do_span(void *ctx, const struct espy_opt_use *use); /* microseconds, or with a unit; the value is a uint64_t of ns */
int espy_do_sort(void *ctx, const struct espy_opt_use *use);
int espy_do_summary_columns(void *ctx, const struct espy_opt_use *use);
int espy_do_pid(void *ctx, const struct espy_opt_use *use);
int espy_do_detach_on(void *ctx, const struct espy_opt_use *use);
int espy_do_user(void *ctx, const struct espy_opt_use *use);
int espy_do_env(void *ctx, const struct espy_opt_use *use);
int espy_do_where(void *ctx, const struct espy_opt_use *use);
int espy_do_comm(void *ctx, const struct espy_opt_use *use);
int espy_do_uid(void *ctx, const struct espy_opt_use *use);
int espy_do_duration(void *ctx, const struct espy_opt_use *use);
/* The number of a user by name or number; false: there is no such user. */
bool espy_trace_uid(const char *arg, unsigned long *uid);
int espy_do_stack(void *ctx, const struct espy_opt_use *use);
int espy_do_tips(void *ctx, const struct espy_opt_use *use);
int espy_do_compress(void *ctx, const struct espy_opt_use *use);
int espy_do_after(void *ctx, const struct espy_opt_use *use);
int espy_do_data(void *ctx, const struct espy_opt_use *use);
int espy_do_show_pid(void *ctx, const struct espy_opt_use *use);
int espy_do_mark(void *ctx, const struct espy_opt_use *use);
int espy_do_via(void *ctx, const struct espy_opt_use *use);

/* -u names a user (NAME, UID:GID) or a probe. */
bool espy_looks_like_probe(const char *arg);

#endif
