/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which hits of probes are wanted. Near the place the kernel tests what it can of a rule's condition (espy_probe_lower); behind the
 * source the whole of it is tested here, and rules are told apart.
 */
#ifndef ESPY_FILTER_PROBE_FILTER_H
#define ESPY_FILTER_PROBE_FILTER_H

#include "filter/condition.h"
#include "source/probes.h"

/*
 * Puts into the plan of the rule what of its condition can be tested near the place. -EINVAL with *e filled: the condition names
 * what the probe does not have.
 */
int espy_probe_lower(struct espy_probe_rule *rule, struct espy_condition_error *e);

struct espy_probe_filter;
/*
 * places: those that the rules of all engines were resolved to; NULL: of a trace, whose probes are found by name. Both must
 * stay. NULL: no memory.
 */
struct espy_probe_filter *espy_probe_filter__new(const struct espy_probe_rules *rules, const struct espy_probes *places);
void espy_probe_filter__free(struct espy_probe_filter *f);
/* A record of any type, which is not trusted: PROBE_DEF is taken in. As a function of records it returns 0. */
int espy_probe_filter__define_rec(void *f, const struct espy_rec *rec);
/* Does a rule want this PROBE record? One without a definition is not wanted. */
bool espy_probe_filter__wants(struct espy_probe_filter *f, const struct espy_rec_probe *rec);

#endif
