/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From rules to places, inside. Private to this folder. */
#ifndef ESPY_SOURCE_PROBE_IMPL_H
#define ESPY_SOURCE_PROBE_IMPL_H

#include "source/kernel_functions.h"
#include "source/kernel_types.h"
#include "source/probes.h"
#include "symbols/branches.h"
#include "symbols/functions.h"
#include "symbols/lines.h"
#include "symbols/objects.h"
#include "symbols/variables.h"

/* A file with places in it. */
struct espy_probe_file {
	char *path; /* as it is called, or was when a process mapped it */
	struct espy_elf elf;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint8_t build_id[20];
	size_t build_id_sz;
	struct espy_functions functions;
	bool functions_read;
	bool exceptions_told; /* that they end the program where a return is probed */
	struct espy_branches branches;
	struct espy_lines_of *lines; /* NULL: nobody has asked for its debug information yet */
};

struct espy_probe_places {
	struct espy_probes probes;
	struct espy_probe_file **files;
	size_t file_cnt;
	size_t place_cap;
	struct espy_probe_plan *plans; /* those of probes */
	size_t plan_cap;
	/* Of a pattern: how many places lack variables, why the first one does, and whether any place has some. */
	size_t unnamed;
	bool agent_only; /* the place that is added now is none of the kernel's */
	size_t unprobed; /* places that neither the kernel can probe nor the agent */
	bool named;
	char unnamed_why[ESPY_VAR_WHY];
	struct espy_kernel_functions kernel;	/* its functions; cnt 0: no rule has named one yet */
	struct espy_kernel_types *kernel_types; /* NULL: not opened, or kernel_types_err says why there are none */
	int kernel_types_err;
	/* Of a rule: how many places it has, how many of them the agent cannot take, and why not the first one. */
	size_t taken, refused;
	char refused_why[320];
	bool several;  /* the rule names several places: not all of them need to have its variables */
	unsigned line; /* of the place that is added, if its rule names a line */
	const struct espy_probe_targets *targets; /* while they are resolved */
};

/* ---- files.c */
#define ESPY_PROBE_FILES_MAX 64u /* that one name may mean */
/*
 * The files that a rule means: found[0..n), n returned. -ENOENT: none, which was said; -ENOMEM. *addr: of a rule with an address, that
 * address as the file numbers it.
 */
int espy_probe_files__find(struct espy_probe_places *p, const struct espy_probe_rule *rule,
			   struct espy_probe_file *found[ESPY_PROBE_FILES_MAX], uint64_t *addr);
/* Is this path one of a mapping (/proc/PID/map_files/START-END)? Then it says nothing of how the file is called. */
bool espy_probe_is_mapping(const char *path);
void espy_probe_files__free(struct espy_probe_places *p);

/* ---- rule.c */
struct espy_rec_probe_def *espy_probe_def__new(const struct espy_probe_rule *rule, const struct espy_probe_file *file, uint8_t kind,
					       const char *provider, const char *name, uint64_t offset);

/* ---- tracepoints.c */
/* Places of all tracepoints that the rule names. -EINVAL: there are none, or none can meet its condition, which was said; -ENOMEM. */
int espy_probe_places__add_tracepoints(struct espy_probe_places *p, const struct espy_probe_rule *rule);

/* ---- kernel.c */
/* Places of all functions of the kernel that the rule names. -EINVAL: there are none, which was said; -ENOMEM. */
int espy_probe_places__add_kernel(struct espy_probe_places *p, const struct espy_probe_rule *rule);

/* ---- by_name.c */
/*
 * Makes the rule that holds at one place, whose variables are fetches. Returns 0; -EINVAL with a message: a name means
 * nothing there, or a value that no probe reaches; -ENOMEM. lenient: arguments that are not there are left out. It then
 * returns 1 if there are such, with a message, which may be "".
 */
int espy_probe_bind(struct espy_probe_places *p, const struct espy_probe_rule *rule, struct espy_probe_file *file,
		    uint64_t addr, bool lenient, struct espy_probe_rule **out, char why[ESPY_VAR_WHY]);
/* The same of a function of the kernel. v: what can be named there, which the function closes; NULL: nothing is known.
 */
int espy_probe_bind_kernel(struct espy_probe_places *p, const struct espy_probe_rule *rule, struct espy_variables *v,
			   bool lenient, struct espy_probe_rule **out, char why[ESPY_VAR_WHY]);
void espy_probe_bound__free(struct espy_probe_rule *r);

/* ---- by_line.c */
/* Places of the line that the rule names. -EINVAL: there is no code of it, which was said; -ENOMEM. */
int espy_probe_places__add_line(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan,
				struct espy_probe_file *file);
/* Returns how long SOURCE of a rule with SOURCE:LINE is. */
size_t espy_probe_source_len(const struct espy_probe_rule *rule);
/* Opens the debug information of a file, if it is not open. NULL: it cannot be opened. */
struct espy_lines_of *espy_probe_file__lines(struct espy_probe_file *file);

/* ---- by_agent.c */
/*
 * Plans the jump of a place at addr, if the agent may have it and can take it. f: the function around it; moves: it may
 * lie behind the function's first instructions. Returns 0 or -ENOMEM.
 */
int espy_probe_place__plan_jump(struct espy_probe_places *p, struct espy_probe_place *place,
				struct espy_probe_file *file, const struct espy_function *f, bool moves, uint64_t addr,
				uint32_t keep);
/* Stand around the places of a rule. The second one says which of them the agent cannot take. */
void espy_probe_places__begin_jumps(struct espy_probe_places *p);
void espy_probe_places__end_jumps(struct espy_probe_places *p, const struct espy_probe_rule *rule);
/* Shares the hops among all places that want some of them, and says which places get none. Returns 0 or -ENOMEM. */
int espy_probe_places__share_hops(struct espy_probe_places *p);

/* ---- places.c */
/*
 * Stand around the places of a rule. The second one says how many of cnt places lack variables, and what they are
 * places of. Returns 0, or -EINVAL: no place has any.
 */
void espy_probe_places__begin_names(struct espy_probe_places *p, bool several);
int espy_probe_places__end_names(struct espy_probe_places *p, size_t cnt, const char *what, const char *of);
/* Adds the place at an address as the file has it, if the kernel can probe it. -EINVAL: it cannot, which was said; -ENOMEM. */
int espy_probe_places__add_address(struct espy_probe_places *p, const struct espy_probe_rule *rule, uint32_t plan,
				   struct espy_probe_file *file, uint64_t addr);
/* Adds a place, and takes over its definition, also where it fails. NULL for that: -ENOMEM. -EINVAL: too many, which was said. */
int espy_probe_places__add(struct espy_probe_places *p, const struct espy_probe_place *place);
/* Adds a plan. *index: its number for places. Returns 0 or -ENOMEM. */
int espy_probe_places__add_plan(struct espy_probe_places *p, const struct espy_probe_plan *plan, uint32_t *index);
void espy_probe_say(const struct espy_probe_places *p, bool error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
