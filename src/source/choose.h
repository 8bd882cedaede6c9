/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which source a session takes: the one that was asked for, or the best one that can run here. */
#ifndef ESPY_SOURCE_CHOOSE_H
#define ESPY_SOURCE_CHOOSE_H

#include "source/source.h"

/* All sources, best first; ends with NULL. For `espy doctor`. */
extern const struct espy_source_ops *const espy_sources[];

/* By name ("bpf", "ptrace"); NULL if there is none. */
const struct espy_source_ops *espy_source__find(const char *name);

/*
 * Choose. name: NULL or "auto" takes the first source that has all of need (enum espy_source_caps) and whose probe
 * says 0; else the one of this name and no other. 0 and *out; why then holds, in one line, why it is not the best one,
 * or "". -errno (that of the probe; -ENOENT for an unknown name; -EOPNOTSUPP if a capability is missing) and the reason
 * with a way forward in why.
 */
int espy_source__choose(const struct espy_source_ops **out, const char *name, unsigned need, char *why, size_t why_sz);

#endif
