/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parts of the comparison of two traces: see compare.c. */
#ifndef ORACLE_COMPARE_H
#define ORACLE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct lines {
	char **v;
	size_t n, cap;
};

struct task {
	unsigned pid;
	char id[64]; /* "T", "T.1", "T.1.2": place in the tree of clones; empty: not placed */
	char *pending; /* first half of a call */
	unsigned children;
	struct lines calls, signals;
};

struct trace {
	struct task *task;
	size_t n, cap;
};

/* A growing string */
struct out {
	char *s;
	size_t n, cap;
};
void put(struct out *o, const char *s, size_t n);

/* End with a message: a test has nothing to clean up. */
_Noreturn void die(const char *what, const char *arg);
void *need(void *p); /* p, or the end if it is NULL */

static inline bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* normal.c: what differs between any two runs is made equal; the shape of a normalised line */
char *normalise(const struct trace *t, const char *line);
char *shape(const char *line);

/* rules.c: the file of differences. side 0 is strace, 1 is espy. */
void load_rules(const char *path, bool with_bpf);
char *rewrite(char *s, int side); /* takes s, returns it or another */
bool explained_pair(const char *a, const char *b);
bool explained_only(const char *s, int side);

#endif
