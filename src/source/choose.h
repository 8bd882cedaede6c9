/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The choice of a session's source: the source that the user names, or the best one that can run here. */
#ifndef ESPY_SOURCE_CHOOSE_H
#define ESPY_SOURCE_CHOOSE_H

#include "source/source.h"

/* All sources, best first; ends with NULL. For `espy doctor`. */
extern const struct espy_source_ops *const espy_sources[];

/* Finds a source by name ("bpf", "ptrace"). Returns NULL if there is none. */
const struct espy_source_ops *espy_source__find(const char *name);

/*
 * Chooses a source. With a name of NULL or "auto" it takes the first source that has all capabilities of `need` (enum
 * espy_source_caps) and can run here; else the named source and no other. Returns 0 and *out; why then holds one line:
 * the reason for not taking the best source, or "". On error why holds the reason and a way forward. The error comes
 * from the source's probe; -ENOENT: the name is unknown; -EOPNOTSUPP: the source lacks a capability.
 */
int espy_source__choose(const struct espy_source_ops **out, const char *name, unsigned need, char *why, size_t why_sz);

#endif
