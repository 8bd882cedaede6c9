/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The probes that a session wants. filter/probe_select.h makes rules of the user's words. source/probe/ resolves the
 * rules to places, which sources take. A place is a file and an offset in it: every process that maps the file, now or
 * later, has the place.
 */
#ifndef ESPY_SOURCE_PROBES_H
#define ESPY_SOURCE_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "record/probe_plan.h"

struct espy_condition; /* filter/condition.h */

/* ---- rules */

enum espy_probe_where {
	ESPY_PROBE_AT_SYMBOL,  /* `symbol`, a name or a pattern of `*` and `?`, and `offset` behind it */
	ESPY_PROBE_AT_OFFSET,  /* `offset` in the file */
	ESPY_PROBE_AT_LINE,    /* `symbol` is SOURCE:LINE, `offset` the line */
	ESPY_PROBE_AT_ADDRESS, /* `offset` is an address in the memory of process `pid` */
	ESPY_PROBE_AT_TRACEPOINT, /* kernel tracepoints: `file` is a pattern of the system, `symbol` one of the name */
};

/* How an argument is shown. */
struct espy_probe_arg {
	char name[32];
	char letter; /* of a number: d u x c, p for an address; of text: s */
};

struct espy_probe_rule {
	char *file;   /* a path, or a name without '/' to look for; NULL: AT_ADDRESS */
	char *symbol; /* NULL: none */
	char *event;  /* a name that the user chose; NULL: the name of the place */
	enum espy_probe_where where;
	uint64_t offset;
	pid_t pid;
	bool returns;	 /* the place is the return of the function, not its beginning */
	uint8_t result;	 /* the argument that is shown behind `=`, from 1 on; 0: none */
	struct espy_probe_arg args[ESPY_MARK_MAX_ARGS];
	struct espy_probe_plan plan;
	struct espy_condition *condition; /* NULL: none. The session tests the whole of it behind the source */
};

struct espy_probe_rules {
	struct espy_probe_rule *v;
	size_t cnt;
};

/* Gives the kinds and the format that the definitions of a rule's places have. */
void espy_probe_kinds(const struct espy_probe_rule *rule, uint8_t kinds[ESPY_MARK_MAX_ARGS]);
#define ESPY_PROBE_FORMAT_MAX 1024u /* enough for all names */
void espy_probe_format(const struct espy_probe_rule *rule, char format[ESPY_PROBE_FORMAT_MAX]);

/* ---- places */

struct espy_probe_place {
	int fd;		   /* of the file; many places may share one descriptor. -1: the place is a tracepoint */
	uint64_t offset;   /* in the file; of a tracepoint its number */
	uint8_t kind;	   /* enum espy_probe_kind */
	uint32_t plan;	   /* index in espy_probes.plans */
	const struct espy_probe_rule *rule;
	const struct espy_rec_probe_def *def; /* the record that a stream holds before the first hit of the place */
};

/* The number of the first definition of a place. Definitions of marks have smaller numbers. */
#define ESPY_PROBE_FIRST_DEF 0x2000000u

/* Places of one file are neighbours. The definition of place i has the number ESPY_PROBE_FIRST_DEF + i. */
struct espy_probes {
	struct espy_probe_place *places;
	size_t place_cnt;
	const struct espy_probe_plan *plans;
	size_t plan_cnt;
};

/* ---- from rules to places: source/probe/ */

struct espy_probe_places;

/* Where the resolver looks for names, and how much a probe fetches. */
struct espy_probe_targets {
	const pid_t *pids; /* files that these processes map go before files on the disk */
	size_t pid_cnt;
	const char *command; /* the file of the program that espy is about to start; NULL: none */
	unsigned string_max; /* a probe fetches at most so many bytes of a text */
	void (*say)(void *ctx, bool error, const char *text); /* reports an error with its reason, or a remark */
	/*
	 * Lowers the condition of a rule into the tests of its plan. The arguments of the rule are known by then.
	 * Returns 0, or -EINVAL with a message in why.
	 */
	int (*lower)(struct espy_probe_rule *rule, char *why, size_t why_sz);
	void *ctx;
};

/* Resolves the rules, which must live as long as *out. Returns 0, -ENOMEM, or -EINVAL (told): a rule has no place. */
int espy_probe_places__open(struct espy_probe_places **out, struct espy_probe_rule *const *rules, size_t rule_cnt,
			    const struct espy_probe_targets *t);
const struct espy_probes *espy_probe_places__get(const struct espy_probe_places *p);
void espy_probe_places__free(struct espy_probe_places *p);

#endif
