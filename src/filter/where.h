/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * --where: a condition on every system call. A name means another argument in each call, so the condition is bound to each
 * call by itself. In a call without the name the value is missing.
 */
#ifndef ESPY_FILTER_WHERE_H
#define ESPY_FILTER_WHERE_H

#include "filter/call_filter.h"
#include "filter/condition.h"
#include "describe/call_view.h"
#include "record/trigger.h"
#include "source/source.h"

struct espy_where;
struct espy_state;

/*
 * Makes the object. texts: conditions that must all hold. images: ESPY_ABI_CNT of them, which must stay as long as the
 * object; it looks at them when it meets a call for the first time. Returns 0; -ENOMEM; -EINVAL: texts[*which] is wrong as
 * *e says.
 */
int espy_where__new(struct espy_where **out, const char *const *texts, size_t cnt, const struct espy_image *images,
		    size_t *which, struct espy_condition_error *e);
void espy_where__free(struct espy_where *w);
/* Forgets the image of an ABI, which is another one now. */
void espy_where__forget(struct espy_where *w, enum espy_abi abi);

/*
 * Takes the calls out of the set for which no condition can hold. Returns 0; -ENOMEM; -EINVAL: texts[*which] asks for a
 * value that none of the calls has.
 */
int espy_where__restrict(struct espy_where *w, struct espy_syscall_set *set, size_t *which, struct espy_condition_error *e);

/* The things that a session must follow, or ask a source for (bits). */
enum { ESPY_WHERE_FD_PATHS = 1, /* files behind descriptors */ ESPY_WHERE_DURATION = 2 /* times of entry and exit */ };
unsigned espy_where__asks(struct espy_where *w, const struct espy_syscall_set *set);

/*
 * Tells whether the call meets the condition. tested: the source has tested the kernel part of this call (below). A call
 * beyond the tables has only the values that every call has.
 */
bool espy_where__holds(struct espy_where *w, const struct espy_call_view *v, bool tested, struct espy_state *state);
/* Tells whether all values of the condition are known when the call begins. If so, a hanging call may be shown. */
bool espy_where__knows_at_entry(struct espy_where *w, enum espy_abi abi, uint32_t nr);

/*
 * Writes the part of the condition that the kernel can test of a call, in two gates (struct espy_call_gate). A gate with
 * test_cnt 0 is none. Returns false, and no gates, if the part has more tests than a gate.
 */
bool espy_where__kernel_part(struct espy_where *w, enum espy_abi abi, uint32_t nr, struct espy_trigger *early,
			     struct espy_trigger *late);

struct espy_buf;
/*
 * Writes lines that say what the kernel tests, and what espy tests when it reads an event. Calls with other tests have lines
 * of their own. kernel: the source tests gates.
 */
void espy_where__explain(struct espy_where *w, const struct espy_syscall_set *set, bool kernel, struct espy_buf *out);

#endif
