/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The filter of marks and of hits of probes, by the rules of -m or of -u. In a live stream the agent or the kernel may have
 * tested a part of a rule's condition. In a trace no part of it is tested. This filter tests the whole condition, and tells
 * the rules apart.
 */
#ifndef ESPY_FILTER_DEF_FILTER_H
#define ESPY_FILTER_DEF_FILTER_H

#include "source/probes.h"
#include "source/wanted_marks.h"

struct espy_filter_value;
struct espy_mark_def;
/* Gets an argument of a mark or a hit. -ENOENT: it has fewer; -EFAULT: it could not be read; -EINVAL: damaged. */
int espy_mark_values__get(const void *args, size_t size, const struct espy_mark_def *def, unsigned index,
			  struct espy_filter_value *out);

struct espy_def_filter;
/*
 * Return a filter, or NULL: no memory. places: the places of the probes of all engines; NULL: a trace, in which the filter
 * finds probes by name. Rules and places must stay.
 */
struct espy_def_filter *espy_def_filter__of_marks(const struct espy_mark_rules *rules);
struct espy_def_filter *espy_def_filter__of_probes(const struct espy_probe_rules *rules,
						   const struct espy_probes *places);
void espy_def_filter__free(struct espy_def_filter *f);
/* Takes in a definition of its kind, which is not trusted; one that comes twice replaces the former. As a function of
 * records it returns 0. */
int espy_def_filter__define(void *f, const struct espy_rec *rec);
/* Tells whether a rule wants this MARK or PROBE record. One without a definition is not wanted. */
bool espy_def_filter__wants(const struct espy_def_filter *f, const struct espy_rec *rec);
/* Returns how many definitions have a name that rule `i` wants, and can never meet its condition. */
unsigned espy_def_filter__skipped(const struct espy_def_filter *f, size_t i);

#endif
