/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rules of -m as text:
 *
 *     RULE    = PATTERN { ',' PATTERN } [ 'if' CONDITION ]
 *     PATTERN = NAME [ '(' 'str' ARG { ',' 'str' ARG } ')' ]
 *     NAME    = a name with * and ?: "app:req_*"; without ':' of any subsystem
 *     ARG     = argN: an address; espy reads the string behind it. For probes that do not say what they point to
 *
 * The condition is one of filter/condition.h. Its names are the names of arguments in the mark's format, or argN (arg0 is
 * the first).
 */
#ifndef ESPY_FILTER_MARKS_SELECT_H
#define ESPY_FILTER_MARKS_SELECT_H

#include "source/wanted_marks.h"

/* Adds the rules of one -m. Returns 0; -EINVAL: *at is the place in the text, and why says what was expected there;
 * -E2BIG; -ENOMEM. */
int espy_marks_select__add(struct espy_mark_rules *r, const char *text, size_t *at, char *why, size_t why_sz);
void espy_marks_select__free(struct espy_mark_rules *r);

#endif
