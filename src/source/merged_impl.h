/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The struct of the merged source, and the functions that its files share. Private to src/source/. */
#ifndef ESPY_SOURCE_MERGED_IMPL_H
#define ESPY_SOURCE_MERGED_IMPL_H

#include "record/merge.h"
#include "source/merged_source.h"

#define INPUTS_MAX 4

struct input {
	const struct espy_source_ops *ops;
	struct espy_source *src;
	struct merged *of;
	uint8_t *buf;
	size_t head, tail, cap;
	uint64_t last_ns;    /* time of the newest record that came */
	uint64_t given_ns;   /* time of the record that was given out last */
	uint64_t promise_ns; /* no older record will come */
	bool over;
	bool all;  /* a snapshot: there is no limit but its own */
	int error; /* of memory */
};

struct merged {
	struct espy_source base;
	struct espy_source_ops ops;
	char name[64];
	struct espy_source_opts opts;
	struct input in[INPUTS_MAX];
	size_t cnt;
	struct input *lead;  /* starts commands, and sees their calls; NULL: none does */
	struct input *guest; /* loads the agent into processes; NULL: none does */
	struct espy_merge merge;
	bool merge_ready;
	bool closing;  /* the session ends: all records that are there go out */
	int error;     /* of the calls, while an agent was waited for */
	pid_t command; /* started here; 0: none */
	bool reaped, told_exit;
	int status;
};

static inline struct merged *to_merged(struct espy_source *s)
{
	return (struct merged *)s;
}

/* The input behind `in` that does not lead; NULL: the first one. NULL behind the last. */
static inline struct input *follower(struct merged *m, const struct input *in)
{
	for (size_t i = in ? (size_t)(in - m->in) + 1 : 0; i < m->cnt; i++)
		if (&m->in[i] != m->lead)
			return &m->in[i];
	return NULL;
}

/* ---- merged_targets.c */
int merged_start_command(struct espy_source *src, const struct espy_command *cmd, pid_t *pid);
int merged_add_target(struct espy_source *src, const struct espy_target *t);
int merged_remove_target(struct espy_source *src, pid_t pid);

#endif
