/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Predicates on a system call (filter/call_names.h) in the form that the kernel's programs test (record/trigger.h). */
#ifndef ESPY_FILTER_LOWER_TRIGGER_H
#define ESPY_FILTER_LOWER_TRIGGER_H

#include "filter/predicate.h"
#include "record/trigger.h"

/* Returns the kernel's comparison for a test (enum espy_trigger_compare); 0: it has none. */
uint8_t espy_lower_compare(const struct espy_test *t);
/* Tells whether the kernel can make these tests. For espy_predicate__split. */
bool espy_lower_trigger__takes(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end);
/*
 * Fills the tests of *t. 0; -EOPNOTSUPP: the kernel cannot do test *which; -E2BIG: there are more than ESPY_TRIGGER_TESTS.
 */
int espy_lower_trigger(const struct espy_predicate *p, struct espy_trigger *t, uint32_t *which);

#endif
