/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Command line options as data. A sub-command has one table of rows; parsing, --help, `--list-options`
 * (from which shell completion lives) are made from it. The language is getopt_long's: grouped letters,
 * `-s40`, `--name=value`, unambiguous abbreviations, stop at the first word that is no option.
 */
#ifndef ESPY_CLI_OPTIONS_H
#define ESPY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* How the command speaks: under which name, and where to read on. */
struct espy_opt_use;
struct espy_cli {
	const char *name;     /* prefix of messages: the name under which the command was called */
	const char *opt_name; /* prefix of messages about options: "espy trace" */
	const char *try_help; /* "espy trace --help", "strace -h" */
	bool strace_mode;     /* called through a link named strace */
	/* Gets each option before its handler runs; may be NULL. Returns 0 or -errno. */
	int (*seen)(void *ctx, const struct espy_opt_use *use);
};

enum espy_opt_arg {
	ESPY_OPT_NONE,
	ESPY_OPT_REQUIRED,
	ESPY_OPT_OPTIONAL, /* long form only: --name[=VALUE]; the letter takes none */
};

struct espy_opt {
	char letter;	  /* 0: none */
	const char *name; /* without --; NULL: none */
	enum espy_opt_arg arg;
	const char *arg_name; /* in --help */
	const char *help;     /* NULL: an alias, not listed */
	/* 0, or -EINVAL with all said. */
	int (*handle)(void *ctx, const struct espy_opt_use *use);
	int value;	      /* for the handler */
	const void *with;     /* and so is this */
	const char *complete; /* how a shell completes the argument: "file", "dir", "pid", "user", "syscall", or the
				 words themselves */
};

struct espy_opt_group {
	const char *title;
	const struct espy_opt *opts;
	size_t opt_cnt;
};

struct espy_opt_use {
	const struct espy_opt *opt;
	const char *arg; /* NULL: none */
	const char *as;	 /* "-s" or "--string-limit": for messages */
	bool by_letter;
};

/*
 * Calls the handlers in order. 0 and *first = index of the first word that is no option; -EINVAL if an
 * option is unknown or lacks its argument, with the message said; or what a handler returned.
 */
int espy_opts__parse(const struct espy_cli *cli, const struct espy_opt_group *groups, size_t group_cnt, void *ctx,
		     int argc, char *const *argv, int *first);

/* Handlers that store one value where `value` of the line says, an offset in ctx: true; the argument. They return 0. */
int espy_opts__set(void *ctx, const struct espy_opt_use *use);
int espy_opts__text(void *ctx, const struct espy_opt_use *use);
static inline void *espy_opts__member(void *ctx, const struct espy_opt_use *use)
{
	return (char *)ctx + use->opt->value;
}
/* The line of --help, for a struct with the member `help`. */
#define ESPY_OPT_HELP(type)                                                                                            \
	{                                                                                                              \
		.letter = 'h', .name = "help", .handle = espy_opts__set, .value = offsetof(type, help),                \
		.help = "print this text and exit"                                                                     \
	}

/* The options part of --help. */
void espy_opts__help(FILE *f, const struct espy_opt_group *groups, size_t group_cnt);
/* One option a line, tab-separated: -s, --string-limit, none|required|optional, how to complete, help. "-" for an empty
 * field. */
void espy_opts__list(FILE *f, const struct espy_opt_group *groups, size_t group_cnt);

/* "name: text" on stderr. */
void espy_cli__say(const struct espy_cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same about the command line, and where to read on; returns -EINVAL. */
int espy_cli__usage(const struct espy_cli *cli, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An option's argument that cannot be read; returns -EINVAL. */
int espy_opts__bad_arg(const struct espy_cli *cli, const struct espy_opt_use *use);

/* The word of list nearest to what was typed, NULL if none is near. next() is called with 0, 1, ... until it returns
 * NULL. */
const char *espy_cli__nearest(const char *typed, const char *(*next)(void *ctx, size_t i), void *ctx);

#endif
