/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which marks of a stream are wanted, by the rules of -m: for traces that are shown, and for what the sources of marks cannot
 * test themselves. A rule means the same here as in the agent.
 */
#ifndef ESPY_FILTER_MARK_FILTER_H
#define ESPY_FILTER_MARK_FILTER_H

#include "filter/condition.h"
#include "record/record.h"
#include "source/wanted_marks.h"

/* ---- the condition of a rule, for the arguments of one definition */

struct espy_mark_test;
/*
 * 0, or -ENOENT with *out NULL: no event of this mark can meet it (it has no such argument, or one of another type); -ENOMEM.
 */
int espy_mark_test__new(struct espy_mark_test **out, const struct espy_condition *c, const char *format,
			const uint8_t *kinds, unsigned nargs);
void espy_mark_test__free(struct espy_mark_test *t);
/* args as espy_mark_values__check has found them good. */
bool espy_mark_test__passes(const struct espy_mark_test *t, const void *args, size_t len);

struct espy_filter_value;
/* An argument of a mark, whose arguments have these kinds. -ENOENT: it has fewer; -EFAULT: it could not be read; -EINVAL: damaged. */
int espy_mark_values__get(const void *args, size_t size, const uint8_t *kinds, unsigned nargs, unsigned index,
			  struct espy_filter_value *out);

/* ---- the rules, for a stream */

struct espy_mark_filter;
struct espy_mark_filter *espy_mark_filter__new(const struct espy_mark_rules *rules); /* which must stay; NULL: no memory */
void espy_mark_filter__free(struct espy_mark_filter *f);
/* A MARK_DEF record, which is not trusted. One that comes twice replaces the former. -EBADMSG, -ENOMEM. */
int espy_mark_filter__define(struct espy_mark_filter *f, const struct espy_rec_mark_def *def);
/* The same as a function of records: f is the filter; others than definitions are let be. Returns 0. */
int espy_mark_filter__define_rec(void *f, const struct espy_rec *rec);
/* Does a rule want this MARK record? One without a definition is not wanted. */
bool espy_mark_filter__wants(struct espy_mark_filter *f, const struct espy_rec_mark *rec);
/* How many marks have a name that rule `i` wants, and can never meet its condition. */
unsigned espy_mark_filter__skipped(const struct espy_mark_filter *f, size_t i);

#endif
