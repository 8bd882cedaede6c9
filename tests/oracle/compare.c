/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compares two traces of the same program: `strace -f -o A` with `espy trace -f -o B`, or espy's two
 * sources with each other. What differs between any two runs (addresses, pids, times, inode
 * numbers, ephemeral ports) is made equal first; calls that were printed in two halves are joined;
 * each task is compared with its counterpart, found by its place in the tree of clones.
 *
 * What then differs must be explained by an entry of the file `differences`; the rest is printed as
 * a diff and makes the exit status 1.
 *
 *      compare [-s] [-n NAME-A] [-m NAME-B] DIFFERENCES A B
 *      -s: as sets of line shapes (for programs that take another course each time)
 *      -d: only print A, normalised
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compare.h"

static const char *side_name[2] = { "strace", "espy" };

_Noreturn void die(const char *what, const char *arg)
{
	fprintf(stderr, "compare: %s%s%s\n", what, arg ? ": " : "", arg ? arg : "");
	exit(2);
}

void *need(void *p)
{
	if (!p)
		die("out of memory", NULL);
	return p;
}

static void push(struct lines *l, char *s)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->v = need(realloc(l->v, l->cap * sizeof(*l->v)));
	}
	l->v[l->n++] = s;
}

void put(struct out *o, const char *s, size_t n)
{
	if (o->n + n + 1 > o->cap) {
		o->cap = (o->n + n + 1) * 2;
		o->s = need(realloc(o->s, o->cap));
	}
	memcpy(o->s + o->n, s, n);
	o->n += n;
	o->s[o->n] = 0;
}

static struct task *task_of(struct trace *t, unsigned pid)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->task[i].pid == pid)
			return &t->task[i];
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 16;
		t->task = need(realloc(t->task, t->cap * sizeof(*t->task)));
	}
	t->task[t->n] = (struct task){ .pid = pid };
	return &t->task[t->n++];
}

/* "gettid( <unfinished ...>" and "<... gettid resumed>) = 1" are one call, whoever came in between. */
static char *join(const char *first, const char *second)
{
	size_t n = strlen(first);
	while (n && first[n - 1] == ' ')
		n--;
	char *s;
	char last = n ? first[n - 1] : 0;
	if (last == ',' || last == '(')
		while (*second == ' ')
			second++;
	if (asprintf(&s, "%.*s%s%s", (int)n, first, last == ',' ? " " : "", second) < 0)
		die("out of memory", NULL);
	return s;
}

static void load(struct trace *t, const char *path)
{
	FILE *f = fopen(path, "r");
	if (!f)
		die(strerror(errno), path);
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	while ((len = getline(&line, &cap, f)) > 0) {
		if (line[len - 1] == '\n')
			line[--len] = 0;
		char *p = line;
		unsigned pid = 0;
		if (isdigit((unsigned char)*p)) {
			pid = strtoul(p, &p, 10);
			while (*p == ' ')
				p++;
		}
		struct task *k = task_of(t, pid);
		if (!strncmp(p, "<... ", 5)) {
			char *r = strstr(p, " resumed>");
			if (!r)
				continue;
			r += strlen(" resumed>");
			char *s = k->pending ? join(k->pending, r) : need(strdup(p));
			free(k->pending);
			k->pending = NULL;
			push(&k->calls, s);
			continue;
		}
		char *u = strstr(p, " <unfinished ...>");
		if (u && !strcmp(u, " <unfinished ...>")) {
			*u = 0;
			free(k->pending);
			k->pending = need(strdup(p));
			continue;
		}
		if (!strncmp(p, "--- ", 4) || !strncmp(p, "+++ ", 4))
			push(&k->signals, need(strdup(p)));
		else
			push(&k->calls, need(strdup(p)));
	}
	/* a call that never came back */
	for (size_t i = 0; i < t->n; i++)
		if (t->task[i].pending) {
			push(&t->task[i].calls, join(t->task[i].pending, ") = ?"));
			free(t->task[i].pending);
			t->task[i].pending = NULL;
		}
	free(line);
	fclose(f);
}

static long result_of(const char *line)
{
	const char *p = line, *eq = NULL;
	while ((p = strstr(p, " = "))) {
		eq = p;
		p += 3;
	}
	return eq && isdigit((unsigned char)eq[3]) ? strtol(eq + 3, NULL, 10) : -1;
}

/* Give each task its place in the tree of clones, breadth first from the first task. */
static void place(struct trace *t)
{
	if (!t->n)
		return;
	strcpy(t->task[0].id, "T");
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < t->n; i++) {
			struct task *k = &t->task[i];
			if (!*k->id || k->children)
				continue;
			for (size_t j = 0; j < k->calls.n; j++) {
				const char *l = k->calls.v[j];
				if (strncmp(l, "clone", 5) && strncmp(l, "fork(", 5) && strncmp(l, "vfork(", 6))
					continue;
				long pid = result_of(l);
				if (pid <= 0)
					continue;
				k->children++;
				for (size_t c = 0; c < t->n; c++)
					if (t->task[c].pid == (unsigned long)pid && !*t->task[c].id) {
						snprintf(t->task[c].id, sizeof(t->task[c].id), "%.50s.%u", k->id,
							 k->children);
						again = true;
					}
			}
		}
	}
}

/* ---- comparing */

static unsigned bad; /* lines that nothing explains */
static const unsigned max_shown = 60;

static void show(const char *where, char sign, const char *s)
{
	if (bad++ < max_shown)
		printf("%s %c %s\n", where, sign, s);
}

/* What stands on one side against what stands on the other: pair up what an entry explains, show the rest. */
static void hunk(const char *where, char **a, size_t na, char **b, size_t nb)
{
	bool *done = need(calloc(nb + 1, 1));
	for (size_t i = 0; i < na; i++) {
		bool ok = false;
		for (size_t j = 0; j < nb && !ok; j++)
			if (!done[j] && explained_pair(a[i], b[j]))
				ok = done[j] = true;
		if (!ok && !explained_only(a[i], 0))
			show(where, '-', a[i]);
	}
	for (size_t j = 0; j < nb; j++)
		if (!done[j] && !explained_only(b[j], 1))
			show(where, '+', b[j]);
	free(done);
}

static void diff(const char *where, struct lines *x, struct lines *y)
{
	char **a = x->v, **b = y->v;
	size_t i = 0, j = 0;
	while (i < x->n && j < y->n) {
		if (!strcmp(a[i], b[j])) {
			i++, j++;
			continue;
		}
		/* the nearest place where two lines in a row agree again */
		size_t di = x->n - i, dj = y->n - j, best = di + dj;
		for (size_t sum = 1; sum < best && sum < 800; sum++)
			for (size_t d = 0; d <= sum; d++) {
				size_t p = i + d, q = j + (sum - d);
				if (p >= x->n || q >= y->n || strcmp(a[p], b[q]))
					continue;
				if (p + 1 < x->n && q + 1 < y->n && strcmp(a[p + 1], b[q + 1]) && sum > 2)
					continue;
				di = d, dj = sum - d, best = sum;
				break;
			}
		hunk(where, a + i, di, b + j, dj);
		i += di, j += dj;
	}
	hunk(where, a + i, x->n - i, b + j, y->n - j);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void make_set(struct lines *l)
{
	size_t n = 0;
	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof(*l->v), by_text);
	for (size_t i = 0; i < l->n; i++)
		if (!n || strcmp(l->v[n - 1], l->v[i]))
			l->v[n++] = l->v[i];
	l->n = n;
}

static void prepare(struct trace *t, const char *path, int side)
{
	load(t, path);
	place(t);
	for (size_t i = 0; i < t->n; i++)
		for (int k = 0; k < 2; k++) {
			struct lines *l = k ? &t->task[i].signals : &t->task[i].calls;
			for (size_t j = 0; j < l->n; j++) {
				char *s = normalise(t, l->v[j]);
				free(l->v[j]);
				l->v[j] = rewrite(s, side);
			}
		}
}

int main(int argc, char **argv)
{
	bool sets = false, dump = false;
	int c;
	while ((c = getopt(argc, argv, "sdn:m:")) != -1) {
		if (c == 's')
			sets = true;
		else if (c == 'd')
			dump = true;
		else if (c == 'n')
			side_name[0] = optarg;
		else if (c == 'm')
			side_name[1] = optarg;
		else
			return 2;
	}
	if (argc - optind < (dump ? 2 : 3))
		die("usage: compare [-s] [-n NAME] [-m NAME] DIFFERENCES A B", NULL);
	load_rules(argv[optind], !strcmp(side_name[0], "bpf") || !strcmp(side_name[1], "bpf"));
	static struct trace t[2];
	int sides = dump ? 1 : 2;
	for (int s = 0; s < sides; s++)
		prepare(&t[s], argv[optind + 1 + s], !strcmp(side_name[s], "strace") ? 0 : 1);
	if (dump) {
		for (size_t i = 0; i < t[0].n; i++)
			for (size_t j = 0; j < t[0].task[i].calls.n; j++)
				printf("%s %s\n", t[0].task[i].id, t[0].task[i].calls.v[j]);
		return 0;
	}
	if (!t[0].n || !t[1].n) {
		printf("%s recorded nothing\n", side_name[t[0].n ? 1 : 0]);
		return 1;
	}
	if (sets) {
		struct lines all[2] = { 0 };
		for (int s = 0; s < 2; s++) {
			for (size_t i = 0; i < t[s].n; i++)
				for (int k = 0; k < 2; k++) {
					struct lines *l = k ? &t[s].task[i].signals : &t[s].task[i].calls;
					for (size_t j = 0; j < l->n; j++)
						push(&all[s], shape(l->v[j]));
				}
			make_set(&all[s]);
		}
		diff("set", &all[0], &all[1]);
	} else {
		for (size_t i = 0; i < t[0].n; i++) {
			struct task *a = &t[0].task[i], *b = NULL;
			for (size_t j = 0; j < t[1].n; j++)
				if (!strcmp(a->id, t[1].task[j].id))
					b = &t[1].task[j];
			if (!b) {
				printf("%s has no task %s\n", side_name[1], *a->id ? a->id : "?");
				bad++;
				continue;
			}
			diff(a->id, &a->calls, &b->calls);
			diff(a->id, &a->signals, &b->signals);
		}
		if (t[1].n > t[0].n) {
			printf("%s has %zu tasks more\n", side_name[1], t[1].n - t[0].n);
			bad++;
		}
	}
	if (bad) {
		printf("%u lines differ (- %s, + %s)%s\n", bad, side_name[0], side_name[1],
		       bad > max_shown ? ", the first are shown" : "");
		return 1;
	}
	return 0;
}
