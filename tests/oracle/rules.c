/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file `differences`: known differences, each with its explanation. */
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "compare.h"

/* One rule of the file of differences. */
enum rule_kind { RULE_REWRITE, RULE_PAIR, RULE_ONLY };
struct rule {
	enum rule_kind kind;
	bool on[2];    /* sides that a rewrite or an ONLY applies to */
	regex_t re[2]; /* PAIR: one for each side; else re[0] */
	char *replacement;
	unsigned line, used;
};
static struct rule rules[512];
static size_t rule_cnt;

static void compile(regex_t *re, const char *s, unsigned line)
{
	int e = regcomp(re, s, REG_EXTENDED);
	if (e) {
		char msg[200];
		regerror(e, re, msg, sizeof(msg));
		fprintf(stderr, "differences:%u: %s: %s\n", line, s, msg);
		exit(2);
	}
}

/*
 * Blocks, separated by empty lines. A block begins with its explanation (`# ...`), then rules:
 *      rewrite strace|espy|both|bpf  ERE => TEXT      (\1..\9 as in sed); the rest of the line is compared
 *      pair  ERE of strace's line => ERE of espy's line
 *      only strace|espy|both|bpf  ERE             the other does not have the line
 * `bpf` is `both` where one of the two traces comes from the bpf source, and nothing elsewhere.
 */
void load_rules(const char *path, bool with_bpf)
{
	FILE *f = fopen(path, "r");
	if (!f)
		die(strerror(errno), path);
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;
	bool explained = false;
	for (unsigned nr = 1; (len = getline(&line, &cap, f)) > 0; nr++) {
		if (line[len - 1] == '\n')
			line[--len] = 0;
		if (!len) {
			explained = false;
			continue;
		}
		if (*line == '#') {
			explained = explained || len > 10;
			continue;
		}
		if (!explained || rule_cnt == sizeof(rules) / sizeof(rules[0])) {
			fprintf(stderr, "differences:%u: a rule without an explanation above it\n", nr);
			exit(2);
		}
		struct rule *r = &rules[rule_cnt++];
		*r = (struct rule){ .line = nr };
		char *p = line, *arrow;
		if (starts(p, "pair ")) {
			r->kind = RULE_PAIR;
			p += 5;
			if (!(arrow = strstr(p, " => ")))
				die("pair without =>", line);
			*arrow = 0;
			compile(&r->re[0], p, nr);
			compile(&r->re[1], arrow + 4, nr);
			continue;
		}
		r->kind = starts(p, "rewrite ") ? RULE_REWRITE : RULE_ONLY;
		if (r->kind == RULE_ONLY && !starts(p, "only "))
			die("unknown rule", line);
		p = strchr(p, ' ') + 1;
		bool bpf = starts(p, "bpf ");
		r->on[0] = starts(p, "strace ") || starts(p, "both ") || bpf;
		r->on[1] = starts(p, "espy ") || starts(p, "both ") || bpf;
		p = strchr(p, ' ');
		if (!p || (!r->on[0] && !r->on[1]))
			die("a rule wants strace, espy, both or bpf", line);
		p++;
		if (r->kind == RULE_REWRITE) {
			if (!(arrow = strstr(p, " => ")))
				die("rewrite without =>", line);
			*arrow = 0;
			r->replacement = need(strdup(arrow + 4));
		}
		compile(&r->re[0], p, nr);
		if (bpf && !with_bpf)
			r->on[0] = r->on[1] = false;
	}
	free(line);
	fclose(f);
}

char *rewrite(char *s, int side)
{
	for (size_t i = 0; i < rule_cnt; i++) {
		struct rule *r = &rules[i];
		if (r->kind != RULE_REWRITE || !r->on[side])
			continue;
		struct out o = { 0 };
		const char *p = s;
		regmatch_t m[10];
		unsigned hits = 0;
		while (!regexec(&r->re[0], p, 10, m, p == s ? 0 : REG_NOTBOL)) {
			put(&o, p, m[0].rm_so);
			for (const char *q = r->replacement; *q; q++) {
				if (*q == '\\' && isdigit((unsigned char)q[1])) {
					regmatch_t *g = &m[*++q - '0'];
					if (g->rm_so >= 0)
						put(&o, p + g->rm_so, g->rm_eo - g->rm_so);
				} else {
					put(&o, q, 1);
				}
			}
			hits++;
			if (m[0].rm_eo == m[0].rm_so)
				break;
			p += m[0].rm_eo;
		}
		if (!hits) {
			free(o.s);
			continue;
		}
		r->used++;
		put(&o, p, strlen(p));
		free(s);
		s = o.s;
	}
	return s;
}

static bool matches(const regex_t *re, const char *s)
{
	return !regexec(re, s, 0, NULL, 0);
}

bool explained_pair(const char *a, const char *b)
{
	for (size_t i = 0; i < rule_cnt; i++)
		if (rules[i].kind == RULE_PAIR && matches(&rules[i].re[0], a) && matches(&rules[i].re[1], b)) {
			rules[i].used++;
			return true;
		}
	return false;
}

bool explained_only(const char *s, int side)
{
	for (size_t i = 0; i < rule_cnt; i++)
		if (rules[i].kind == RULE_ONLY && rules[i].on[side] && matches(&rules[i].re[0], s)) {
			rules[i].used++;
			return true;
		}
	return false;
}
