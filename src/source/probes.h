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
struct espy_kernel_function; /* source/kernel_functions.h */
struct espy_jump_place;	     /* symbols/jump_place.h */

/* ---- rules */

enum espy_probe_where {
	ESPY_PROBE_AT_SYMBOL,	  /* `symbol`, a name or a pattern of `*` and `?`, and `offset` behind it */
	ESPY_PROBE_AT_OFFSET,	  /* `offset` in the file */
	ESPY_PROBE_AT_LINE,	  /* `symbol` is SOURCE:LINE, `offset` the line */
	ESPY_PROBE_AT_ADDRESS,	  /* `offset` is an address in the memory of process `pid` */
	ESPY_PROBE_AT_TRACEPOINT, /* kernel tracepoints: `file` is a pattern of the system, `symbol` one of the name */
	ESPY_PROBE_AT_KERNEL,	  /* functions of the kernel: as AT_SYMBOL; `file` is ESPY_PROBE_KERNEL */
};

/* The FILE of the kernel, and the provider of its functions. */
#define ESPY_PROBE_KERNEL "kernel"

/* How an argument is shown. */
#define ESPY_PROBE_NAME_MAX 64u
struct espy_probe_arg {
	char name[ESPY_PROBE_NAME_MAX];
	char letter; /* of a number: d u x c g, p for an address; of text: s; 0: as its type says, which is to be found
		      */
	/* What the debug information adds (record/mark_def.h): */
	uint8_t low, bits; /* of the fetched number the value is `bits` bits, from `low` on; bits 0: all of it */
	bool is_array;	   /* a text lies in an array of as many characters as are fetched */
	char *words;	   /* constants by name, "A=1|B=2"; NULL: none */
	char *before;	   /* structs that end and begin in front of it: "} {req "; NULL: none */
};

/* The src of a fetch of a variable: `value` is its place in the expressions of the rule. No source gets to see it. */
#define ESPY_PROBE_NAMED 0xffu

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
	/*
	 * Variables, which the debug information of the file resolves at each place: expressions of the user's words,
	 * and names of the condition that no argument has. An argument with letter 0 is $retval with the type of the
	 * function.
	 */
	char **vars, **condition_vars;
	unsigned var_cnt, condition_var_cnt;
	bool has_types;			  /* an argument gets its type from the function, if that is known */
	char *behind;			  /* structs that end behind the last argument; NULL: none */
	struct espy_condition *condition; /* NULL: none. The session tests the whole of it behind the source */
	bool tested;			  /* the plan tests all of it, too */
};

struct espy_probe_rules {
	struct espy_probe_rule *v;
	size_t cnt;
};

/* Gives the kinds and the format that the definitions of a rule's places have. */
void espy_probe_kinds(const struct espy_probe_rule *rule, uint8_t kinds[ESPY_MARK_MAX_ARGS]);
/* The caller frees it. NULL: no memory. */
char *espy_probe_format(const struct espy_probe_rule *rule);
/* Tells whether debug information has to tell a part of the rule. */
static inline bool espy_probe_rule__has_names(const struct espy_probe_rule *rule)
{
	return rule->var_cnt || rule->condition_var_cnt || rule->has_types;
}

/* ---- places */

struct espy_probe_place {
	int fd;		 /* of the file; many places may share one descriptor. -1: the place is the kernel's */
	uint64_t offset; /* in the file, or behind the beginning of `function`; of a tracepoint its number */
	const struct espy_kernel_function *function; /* of the kernel; NULL: the place is none in it */
	uint32_t function_id; /* in the kernel's types, if a parameter or a result is named; 0: not known */
	uint8_t kind;	   /* enum espy_probe_kind */
	uint32_t plan;	   /* index in espy_probes.plans */
	const struct espy_probe_rule *rule;
	const struct espy_rec_probe_def *def; /* the record that a stream holds before the first hit of the place */
	/* The agent puts a jump there, and the kernel has no probe there; NULL: the kernel has one. */
	const struct espy_jump_place *jump;
	bool agent_only; /* the kernel cannot probe the instruction there */
};

/* Places of one file are neighbours. The definition of place i has the number ESPY_PROBE_FIRST_DEF + i. */
struct espy_probes {
	struct espy_probe_place *places;
	size_t place_cnt;
	const struct espy_probe_plan *plans;
	size_t plan_cnt;
};

/* Do the agents have all places, or any? */
static inline bool espy_probes__all_by_agent(const struct espy_probes *p)
{
	size_t cnt = 0;

	for (size_t i = 0; i < p->place_cnt; i++)
		cnt += p->places[i].jump != NULL;
	return cnt == p->place_cnt;
}
static inline bool espy_probes__any_by_agent(const struct espy_probes *p)
{
	bool any = false;

	for (size_t i = 0; i < p->place_cnt && !any; i++)
		any = p->places[i].jump != NULL;
	return any;
}

/* ---- from rules to places: source/probe/ */

struct espy_probe_places;

/* Where the resolver looks for names, and how much a probe fetches. */
struct espy_probe_targets {
	const pid_t *pids; /* files that these processes map go before files on the disk */
	size_t pid_cnt;
	const char *command; /* the file of the program that espy is about to start; NULL: none */
	bool by_agent;	     /* the agent gets the places of files that it can take */
	bool say_kernel;     /* with by_agent: say which places it cannot take, and why */
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
