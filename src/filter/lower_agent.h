/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Conditions on the arguments of a mark in the form that the agent in the program tests (agent/abi.h). */
#ifndef ESPY_FILTER_LOWER_AGENT_H
#define ESPY_FILTER_LOWER_AGENT_H

#include "agent/abi.h"
#include "filter/condition.h"

/*
 * Fills npreds and preds of the rule with the parts of the condition that the agent can test. Any event for which the
 * condition holds passes them. *rest: the condition has other parts, which the session tests. Returns 0, or -EINVAL with
 * *e filled: the condition is wrong whatever arguments a mark has.
 */
int espy_lower_agent(const struct espy_condition *c, struct espy_agent_rule *rule, bool *rest,
		     struct espy_condition_error *e);

#endif
