/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses the language of -m (marks.h): a word of the command line to rules, or to a message with the place. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "filter/lower_agent.h"
#include "filter/marks_select.h"
#include "filter/probe_select.h"
#include "record/mark_format.h"

static bool is_pattern_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.*?:-$@", c));
}

/* Parses one pattern into `out`. */
static int parse_pattern(struct espy_rule_parser *p, char out[ESPY_AGENT_PATTERN_MAX])
{
	const char *start = p->at;
	size_t len, colons = 0;

	while (is_pattern_char(*p->at))
		colons += *p->at++ == ':';
	len = (size_t)(p->at - start);
	if (!len)
		return espy_rule_parser__expected(p, "the name of a mark is expected (app:req_done, app:*)");
	if (len >= ESPY_AGENT_PATTERN_MAX) {
		p->bad = start;
		return espy_rule_parser__expected(p, "a name is at most %u characters long",
						  ESPY_AGENT_PATTERN_MAX - 1);
	}
	if (colons > 1 || start[0] == ':' || start[len - 1] == ':') {
		p->bad = strchr(start, ':');
		return espy_rule_parser__expected(p, "SUBSYSTEM:NAME is expected, with one colon");
	}
	memcpy(out, start, len);
	out[len] = 0;
	return 0;
}

/* Steps over a word at the cursor. Returns false if another one stands there. */
static bool eat_word(struct espy_rule_parser *p, const char *word)
{
	const size_t len = strlen(word);

	if (strncmp(p->at, word, len) || isalnum((unsigned char)p->at[len]) || p->at[len] == '_')
		return false;
	p->at += len;
	espy_rule_parser__skip_blanks(p);
	return true;
}

/* Parses "(str arg0, str arg2)" behind a pattern to bits in *strings. */
static int parse_strings(struct espy_rule_parser *p, uint32_t *strings)
{
	*strings = 0;
	espy_rule_parser__skip_blanks(p);
	if (*p->at != '(')
		return 0;
	do {
		p->at++;
		espy_rule_parser__skip_blanks(p);
		if (!eat_word(p, "str"))
			return espy_rule_parser__expected(p, "'str' and an argument are expected: (str arg0)");
		const size_t len = strcspn(p->at, " \t\n,)");
		const int arg = espy_mark_arg_number(p->at, len, ESPY_MARK_MAX_ARGS);

		if (arg < 0)
			return espy_rule_parser__expected(p, "an argument by its number is expected: arg0 to arg%u",
							  ESPY_MARK_MAX_ARGS - 1);
		*strings |= 1u << arg;
		p->at += len;
		espy_rule_parser__skip_blanks(p);
	} while (*p->at == ',');
	if (*p->at != ')')
		return espy_rule_parser__expected(p, "',' or ')' is expected");
	p->at++;
	return 0;
}

/* Parses the condition behind `if`. */
static int parse_condition(struct espy_rule_parser *p, struct espy_mark_rule *rule)
{
	struct espy_condition *c = malloc(sizeof(*c));
	struct espy_condition_error e;
	int err;

	if (!c)
		return -ENOMEM;
	rule->condition = c;
	err = espy_condition__parse(c, p->at, &e);
	err = err ? err : espy_lower_agent(c, &rule->agent, &rule->rest, &e);
	if (err != -EINVAL)
		return err;
	p->at += e.at;
	return espy_rule_parser__expected(p, "%s", e.text);
}

struct pattern {
	char name[ESPY_AGENT_PATTERN_MAX];
	uint32_t strings;
};

/* Makes room for cnt more rules and fills them; each owns a copy of the condition. */
static int add_rules(struct espy_mark_rules *r, const struct espy_mark_rule *rule, const struct pattern *patterns, size_t cnt)
{
	struct espy_mark_rule *v = realloc(r->v, (r->cnt + cnt) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	r->v = v;
	for (size_t i = 0; i < cnt; i++) {
		struct espy_mark_rule *to = &r->v[r->cnt];
		struct espy_condition *c = NULL;

		if (rule->condition) {
			c = malloc(sizeof(*c));
			if (!c)
				return -ENOMEM;
			*c = *rule->condition;
		}
		r->cnt++;
		*to = *rule;
		to->condition = c;
		to->agent.id = (uint32_t)r->cnt;
		to->strings = patterns[i].strings;
		memcpy(to->agent.pattern, patterns[i].name, sizeof(to->agent.pattern));
	}
	return 0;
}

int espy_marks_select__add(struct espy_mark_rules *r, const char *text, size_t *at, char *why, size_t why_sz)
{
	struct espy_rule_parser p = { .at = text, .why = why, .why_sz = why_sz };
	struct pattern patterns[ESPY_AGENT_RULES];
	struct espy_mark_rule rule = { 0 };
	size_t cnt = 0;
	int err = 0;

	for (;;) {
		espy_rule_parser__skip_blanks(&p);
		if (r->cnt + cnt >= ESPY_AGENT_RULES) {
			err = espy_rule_parser__expected(&p, "at most %u names of marks can be given",
							 ESPY_AGENT_RULES);
			break;
		}
		err = parse_pattern(&p, patterns[cnt].name);
		err = err ? err : parse_strings(&p, &patterns[cnt].strings);
		if (err)
			break;
		cnt++;
		espy_rule_parser__skip_blanks(&p);
		if (*p.at != ',')
			break;
		p.at++;
	}
	if (!err && *p.at) {
		if (strncmp(p.at, "if", 2) || !isspace((unsigned char)p.at[2])) {
			err = espy_rule_parser__expected(&p, "',', 'if' or the end is expected");
		} else {
			p.at += 2;
			err = parse_condition(&p, &rule);
		}
	}
	*at = (size_t)((p.bad ? p.bad : p.at) - text);
	err = err ? err : add_rules(r, &rule, patterns, cnt);
	free((void *)rule.condition);
	return err;
}

void espy_marks_select__free(struct espy_mark_rules *r)
{
	for (size_t i = 0; i < r->cnt; i++)
		free((void *)r->v[i].condition);
	free(r->v);
	*r = (struct espy_mark_rules){ 0 };
}
