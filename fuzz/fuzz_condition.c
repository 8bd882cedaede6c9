/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes as a condition, as a trigger and as rules of marks; and any bytes as a predicate. What is made is well formed,
 * its parts and its text mean the same as the whole, and nothing takes longer than its bounds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "describe/builtin.h"
#include "filter/call_names.h"
#include "filter/trigger_text.h"

static int find(void *ctx, const char *name, bool text, struct espy_name_info *out, char *why, size_t why_sz)
{
	/* The first letter is the value. */
	*out = (struct espy_name_info){ .type = text ? ESPY_VALUE_TEXT : name[0] & 1 ? ESPY_VALUE_INT : ESPY_VALUE_UINT,
					.flags = name[0] == 't' ? ESPY_NAME_DURATION : 0,
					.ref = (uint8_t)name[0] };
	if (why_sz)
		why[0] = 0;
	return 0;
}

static int get(void *ctx, uint64_t ref, const char *name, struct espy_filter_value *out)
{
	*out = (struct espy_filter_value){ .type = ref & 1 ? ESPY_VALUE_INT : ESPY_VALUE_UINT, .u = ref & 7 };
	if (ref % 5 == 0)
		*out = (struct espy_filter_value){ .type = ESPY_VALUE_TEXT, .cut = ref & 8, .text = "/etc", .len = 4 };
	return ref % 7 ? 0 : -ENOENT;
}

/* Regular expressions with counts or references take the C library long, which is its user's affair. */
static bool is_dear(const struct espy_predicate *p)
{
	for (uint32_t i = 0; i < p->test_cnt; i++)
		if (p->tests[i].op == ESPY_TEST_MATCH &&
		    (p->tests[i].text_len > 64 || strpbrk(p->text + p->tests[i].text, "{\\*+")))
			return true;
	return false;
}

static int holds(const struct espy_predicate *p)
{
	struct espy_evaluator *e;
	int yes;

	if (espy_evaluator__new(&e, p))
		return -1;
	yes = espy_evaluator__holds(e, get, NULL);
	espy_evaluator__free(e);
	return yes;
}

static bool takes(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end)
{
	return p->tests[first].op & 1;
}

static void check_predicate(const struct espy_predicate *p)
{
	static struct espy_predicate near, rest, folded;
	struct espy_buf b = { 0 };
	int yes;

	if (is_dear(p))
		return;
	yes = holds(p);
	espy_predicate__split(p, takes, NULL, &near, &rest);
	if (yes >= 0 && (holds(&near) && holds(&rest)) != yes)
		abort();
	folded = *p;
	espy_predicate__fold(&folded, NULL, NULL);
	if (yes >= 0 && holds(&folded) != yes)
		abort();
	espy_predicate__print(p, &b);
	espy_buf__free(&b);
}

static void as_predicate(const uint8_t *data, size_t size)
{
	static struct espy_predicate p;

	memset(&p, 0, sizeof(p));
	memcpy(&p, data, size < sizeof(p) ? size : sizeof(p));
	if (!espy_predicate__check(&p))
		check_predicate(&p);
}

static void as_text(const char *text)
{
	const struct espy_names names = { .find = find };
	static struct espy_predicate p;
	static struct espy_condition c;
	struct espy_condition_error e;

	if (strpbrk(text, "{\\*+") && strchr(text, '~'))
		return; /* as in is_dear() */
	if (espy_condition__parse(&c, text, &e)) {
		if (e.at > strlen(text) || !e.text[0])
			abort();
		return;
	}
	if (espy_condition__bind(&c, &names, &p, NULL, &e)) {
		if (e.at > strlen(text) || !e.text[0])
			abort();
		return;
	}
	if (espy_predicate__check(&p))
		abort();
	check_predicate(&p);
}

static void as_trigger(const char *text)
{
	static struct espy_image images[ESPY_ABI_CNT];
	static struct espy_call_set sets[ESPY_ABI_CNT];
	static struct espy_trigger t;
	char why[512];

	for (unsigned abi = 0; abi < ESPY_ABI_CNT && !sets[abi].image; abi++) {
		size_t size;
		const void *data = espy_builtin_image((enum espy_abi)abi, &size);

		if (espy_image__open(&images[abi], data, size, NULL))
			abort();
		sets[abi].image = &images[abi];
		sets[abi].ops = images[abi].ops;
	}
	if (strchr(text, '~'))
		return;
	if (!espy_trigger__parse(&t, text, ESPY_TRIGGER_PAUSE, sets, why, sizeof(why)))
		for (uint32_t i = 0; i < t.test_cnt; i++)
			if (t.tests[i].yes <= i || t.tests[i].no <= i ||
			    (t.tests[i].yes >= t.test_cnt && t.tests[i].yes < ESPY_TRIGGER_HOLDS))
				abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	if (data[0] == 'P') {
		as_predicate(data + 1, size - 1);
		return 0;
	}
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] == 'T')
		as_trigger(text);
	else
		as_text(text);
	free(text);
	return 0;
}
