/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gives a rule to the agent before the marks and their arguments are known. So names and types stay open: the agent
 * looks them up for each mark. There a mark without the argument, or with one of another type, does not match the
 * rule. A missing value means the same in a test that no ! turns round, and the agent gets only such tests.
 */
#include "filter/lower_agent.h"

#include <string.h>

static int find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	(void)ctx, (void)name, (void)why, (void)why_sz;
	*out = (struct espy_name_info){ .type = text ? ESPY_VALUE_TEXT : ESPY_VALUE_INT };
	return 0;
}

static const uint8_t compares[] = {
	[ESPY_TEST_EQ] = ESPY_CMP_EQ, [ESPY_TEST_LT] = ESPY_CMP_LT, [ESPY_TEST_LE] = ESPY_CMP_LE,
	[ESPY_TEST_GT] = ESPY_CMP_GT, [ESPY_TEST_GE] = ESPY_CMP_GE, [ESPY_TEST_ANY] = ESPY_CMP_AND,
	[ESPY_TEST_BITS] = ESPY_CMP_AND, [ESPY_TEST_PREFIX] = ESPY_CMP_PREFIX,
};

/* Makes the agent's part of one test. Returns false if the agent cannot make the test. */
static bool lower(const struct espy_predicate *p, const struct espy_test *t, struct espy_agent_pred *out)
{
	const char *name = espy_predicate__name(p, t);

	name += !strncmp(name, "arg.", 4) ? 4 : 0;
	memset(out, 0, sizeof(*out));
	if (t->op >= sizeof(compares) || !compares[t->op] || (t->negated && t->op != ESPY_TEST_EQ) ||
	    t->no != ESPY_TEST_FAILS || strlen(name) >= sizeof(out->arg) || strpbrk(name, ".["))
		return false;
	/* "All bits" and "one bit" of a set are the same only if the set has just one. */
	if (t->op == ESPY_TEST_BITS && (t->mask != t->u || t->u & (t->u - 1)))
		return false;
	out->cmp = t->negated ? ESPY_CMP_NE : compares[t->op];
	memcpy(out->arg, name, strlen(name));
	switch (t->type) {
	case ESPY_VALUE_INT:
		out->type = ESPY_CONST_INT;
		break;
	case ESPY_VALUE_UINT:
		out->type = ESPY_CONST_UINT;
		break;
	case ESPY_VALUE_DOUBLE:
		out->type = ESPY_CONST_DOUBLE;
		break;
	default:
		if (t->text_len >= sizeof(out->str))
			return false;
		out->type = ESPY_CONST_STRING;
		out->str_len = (uint16_t)t->text_len;
		memcpy(out->str, p->text + t->text, t->text_len);
		return true;
	}
	out->u = t->u;
	return true;
}

int espy_lower_agent(const struct espy_condition *c, struct espy_agent_rule *rule, bool *rest,
		     struct espy_condition_error *e)
{
	const struct espy_names names = { .find = find };
	struct espy_predicate p;
	int err = espy_condition__bind(c, &names, &p, NULL, e);

	rule->npreds = 0;
	*rest = false;
	for (uint32_t first = 0, end; !err && first < p.test_cnt; first = end) {
		end = espy_predicate__part(&p, first);
		if (end - first == 1 && rule->npreds < ESPY_AGENT_PREDS &&
		    lower(&p, &p.tests[first], &rule->preds[rule->npreds]))
			rule->npreds++;
		else
			*rest = true;
	}
	return err;
}
