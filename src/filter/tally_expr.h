/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What --count-by and --hist count: a value of certain events.
 *
 *	TALLY  = [ EVENTS ':' ] NAME
 *	EVENTS = a set of calls as of -e trace= | PROVIDER ':' MARK | FILE ':' SYMBOL [ '%return' ]
 *	NAME   = a name of the condition language (condition.h)
 *
 * Without EVENTS all events count that have the value. Calls, marks and probes have the names that conditions on them
 *may use. Marks have pid, tid, comm and name besides, probes comm and name.
 */
#ifndef ESPY_FILTER_TALLY_EXPR_H
#define ESPY_FILTER_TALLY_EXPR_H

#include "filter/call_filter.h"
#include "filter/condition.h"
#include "describe/call_view.h"

struct espy_mark_arg_def;
struct espy_mark_def;
struct espy_state;
struct espy_event;

struct espy_tally_expr;
/* numbers: only a number is counted. Returns 0; -ENOMEM; -EINVAL: the text is wrong as *e says. */
int espy_tally_expr__new(struct espy_tally_expr **out, const char *text, bool numbers, struct espy_condition_error *e);
void espy_tally_expr__free(struct espy_tally_expr *x);
/* Returns the text as it was given, and the name in it. */
const char *espy_tally_expr__text(const struct espy_tally_expr *x);
const char *espy_tally_expr__name(const struct espy_tally_expr *x);
/* Tells whether the expression names calls, and so counts neither marks nor probes. */
bool espy_tally_expr__is_of_calls(const struct espy_tally_expr *x);

/*
 * Adds to *wanted the calls of *watched that count. images: ESPY_ABI_CNT of them, which must stay as long as the
 * object. hits: marks or probes are selected, too. Returns 0 or -EINVAL: no event can have the value, as *e says.
 */
int espy_tally_expr__choose(struct espy_tally_expr *x, const struct espy_image *images,
			    const struct espy_syscall_set *watched, bool hits, struct espy_syscall_set *wanted,
			    struct espy_condition_error *e);
/* What the chosen calls must be asked for (bits). */
enum {
	ESPY_TALLY_FD_PATHS = 1, /* files behind descriptors */
	ESPY_TALLY_DATA = 2,	 /* memory that arguments point to */
};
unsigned espy_tally_expr__asks(const struct espy_tally_expr *x);
/* Forgets the image of an ABI, which is another one now. */
void espy_tally_expr__forget(struct espy_tally_expr *x, enum espy_abi abi);

/* How a number is to be shown. */
enum espy_tally_look {
	ESPY_TALLY_PLAIN,
	ESPY_TALLY_ERROR,    /* negative: an error; else by its type */
	ESPY_TALLY_ERRNO,    /* positive: an error */
	ESPY_TALLY_DURATION, /* ns */
	ESPY_TALLY_TYPED,    /* by its type */
	ESPY_TALLY_OF_MARK,  /* as the definition of the mark says */
};
struct espy_tally_value {
	struct espy_filter_value v; /* a text is valid until the next event */
	uint8_t look;		    /* enum espy_tally_look, of numbers */
	bool failed;		    /* the result of a call that failed */
	const struct espy_image *image;
	uint32_t type; /* in image->types; ESPY_NONE: none */
	const struct espy_mark_arg_def *arg;
};
/*
 * Gets the value of an event: CALL_BEGIN, CALL_END, MARK or PROBE. Of a call the state must be the one before the call.
 * Returns 1; 0: the event does not count; or a negative errno: the event counts, and its value is missing.
 */
int espy_tally_expr__get(struct espy_tally_expr *x, const struct espy_event *event, struct espy_state *state,
			 struct espy_tally_value *out);

/*
 * Fills in how a source is to count the calls that espy_tally_expr__choose has chosen. chosen: the user has chosen
 * calls, not all count. Returns false if a source cannot, because the value is none of registers, times and numbers of
 * tasks.
 */
bool espy_tally_expr__lower(struct espy_tally_expr *x, bool chosen, struct espy_source_tally *out);
/* The same of hits of a probe. Returns false if a source cannot count them. */
bool espy_tally_expr__lower_hit(struct espy_tally_expr *x, const struct espy_mark_def *def, struct espy_tally_spec *out);
/* Makes a value of a number that a source has counted of hits. Returns 1, or as espy_tally_expr__get. */
int espy_tally_expr__hit_value(struct espy_tally_expr *x, const struct espy_mark_def *def, uint64_t number,
			       struct espy_tally_value *out);
/* Makes a value of a number that a source has counted. nr beyond the tables: of any such call. Returns false if the
 * call has none. */
bool espy_tally_expr__value(struct espy_tally_expr *x, unsigned abi, uint32_t nr, uint64_t number,
			    struct espy_tally_value *out);

#endif
