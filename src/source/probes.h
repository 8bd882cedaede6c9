/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which probes a session wants: rules as the user gave them (filter/probe_select.h makes them), and the places that they
 * were resolved to, which sources are given. A place is a file and an offset in it, so it is found in every process that maps the
 * file, now or later.
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
	ESPY_PROBE_AT_ADDRESS, /* `offset` is an address in the memory of process `pid` */
	ESPY_PROBE_AT_TRACEPOINT, /* tracepoints of the kernel whose system fits `file`, and whose name fits `symbol` */
};

/* How an argument is shown. */
struct espy_probe_arg {
	char name[32];
	char letter; /* of a number: d u x c, p for an address; of text: s */
};

struct espy_probe_rule {
	char *file;   /* a path; or a name to be looked for, without '/'; NULL: AT_ADDRESS */
	char *symbol; /* NULL: none */
	char *event;  /* a name of its own; NULL: that of the place */
	enum espy_probe_where where;
	uint64_t offset;
	pid_t pid;
	bool returns;	 /* where the function returns, not where it begins */
	uint8_t result;	 /* the argument that is shown behind `=`, from 1 on; 0: none */
	struct espy_probe_arg args[ESPY_MARK_MAX_ARGS];
	struct espy_probe_plan plan;
	struct espy_condition *condition; /* NULL: none. The whole of it is tested behind the source */
};

struct espy_probe_rules {
	struct espy_probe_rule *v;
	size_t cnt;
};

/* The kinds and the format that the definitions of a rule's places have. */
void espy_probe_kinds(const struct espy_probe_rule *rule, uint8_t kinds[ESPY_MARK_MAX_ARGS]);
#define ESPY_PROBE_FORMAT_MAX 1024u /* enough for all names */
void espy_probe_format(const struct espy_probe_rule *rule, char format[ESPY_PROBE_FORMAT_MAX]);

/* ---- places */

struct espy_probe_place {
	int fd;		   /* of the file; one descriptor may be that of many places. -1: it is a tracepoint */
	uint64_t offset;   /* in it; of a tracepoint its number */
	uint8_t kind;	   /* enum espy_probe_kind */
	uint32_t plan;	   /* index in espy_probes.plans */
	const struct espy_probe_rule *rule;
	const struct espy_rec_probe_def *def; /* what a stream is told of it before its first hit */
};

/* The number of the definition of a place: those of marks are others. */
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

/* Where names are looked for, and how much is fetched. */
struct espy_probe_targets {
	const pid_t *pids; /* what these processes have mapped goes before what lies on the disk */
	size_t pid_cnt;
	const char *command; /* the file of a program that is about to be started; NULL: none */
	unsigned string_max; /* bytes of a text that are fetched */
	void (*say)(void *ctx, bool error, const char *text); /* what cannot be, and why; what is worth knowing */
	/* Puts into the plan of a rule whose arguments are known what can be tested there. Returns 0 or -EINVAL, with a message in why. */
	int (*lower)(struct espy_probe_rule *rule, char *why, size_t why_sz);
	void *ctx;
};

/* -ENOMEM; -EINVAL: a rule has no place, which was said. Rules must stay. */
int espy_probe_places__open(struct espy_probe_places **out, struct espy_probe_rule *const *rules, size_t rule_cnt,
			    const struct espy_probe_targets *t);
const struct espy_probes *espy_probe_places__get(const struct espy_probe_places *p);
void espy_probe_places__free(struct espy_probe_places *p);

#endif
