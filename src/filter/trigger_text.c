/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/trigger_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "arch/abi_facts.h"
#include "filter/call_names.h"
#include "filter/lower_trigger.h"

#define NAME_MAX_LEN 64

struct parser {
	const char *text;
	char *why;
	size_t why_sz;
};

static int __attribute__((format(printf, 3, 4))) wrong(const struct parser *p, size_t at, const char *fmt, ...)
{
	const int len = snprintf(p->why, p->why_sz, "'%s', column %zu: ", p->text, at + 1);
	va_list ap;

	va_start(ap, fmt);
	if (len > 0 && (size_t)len < p->why_sz)
		vsnprintf(p->why + len, p->why_sz - (size_t)len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Takes the word at *at, and moves *at behind it; "" if there is none. A word longer than any name is cut. */
static void word(const char **at, char *out)
{
	size_t n = 0;

	for (; isalnum((unsigned char)**at) || **at == '_'; ++*at)
		if (n < NAME_MAX_LEN - 1)
			out[n++] = **at;
	out[n] = '\0';
}

static const char *found(const char *at, char *buf, size_t size)
{
	const char *end = at;

	word(&end, (char[NAME_MAX_LEN]){ 0 });
	if (!*at)
		return "the end";
	snprintf(buf, size, "'%.*s'", end > at ? (int)(end - at) : 1, at);
	return buf;
}

/* Parses CALL[@ABI], and moves *at behind it. */
static int parse_call(const struct parser *p, const char **at, struct espy_trigger *t,
		      const struct espy_call_set sets[ESPY_ABI_CNT], struct espy_call_names *names)
{
	char name[NAME_MAX_LEN], abi[NAME_MAX_LEN], why[200];
	const size_t start = (size_t)(*at - p->text);
	const struct espy_image *img;
	int nr;

	word(at, name);
	if (!*name)
		return wrong(p, start, "the name of a system call is expected, not %s", found(*at, abi, sizeof(abi)));
	t->abi = ESPY_ABI_NATIVE;
	if (**at == '@') {
		const size_t abi_at = (size_t)(++*at - p->text);

		word(at, abi);
		const int given = espy_abi_find(abi, strlen(abi));
		if (given < 0 || given == ESPY_ABI_IO_URING)
			return wrong(p, abi_at, ESPY_ABI_WORDS " is expected behind @");
		t->abi = (uint32_t)given;
	}
	img = sets[t->abi].image;
	nr = espy_call_names__find_call(img, name, why, sizeof(why));
	if (nr < 0)
		return wrong(p, start, "%s", why);
	if (nr >= (int)ESPY_MAX_SYSCALLS || img->plans[img->call_plans[nr].plan].flags & ESPY_PLAN_NO_RETURN)
		return wrong(p, start, "%s never returns, and a trigger is looked at when a call has", name);
	t->nr = (uint32_t)nr;
	*names = (struct espy_call_names){ .image = img, .ops = sets[t->abi].ops, .nr = t->nr };
	return 0;
}

struct place {
	const char *name;
	size_t at;
};

static int is_at(void *ctx, const char *name, size_t at)
{
	struct place *p = ctx;

	if (strcmp(name, p->name))
		return 0;
	p->at = at;
	return 1;
}

/* Tells which test the kernel cannot make, and why. Returns the error. */
static int cannot_test(const struct parser *p, size_t base, const struct espy_condition *c, const struct espy_predicate *pr,
		       const struct espy_test *t)
{
	struct place place = { .name = espy_predicate__name(pr, t) };
	const uint8_t what = espy_call_ref(pr->names[t->name].ref).what;

	espy_condition__each_name(c, is_at, &place);
	base += place.at;
	if (t->op == ESPY_TEST_SUFFIX || t->op == ESPY_TEST_CONTAINS || t->op == ESPY_TEST_MATCH)
		return wrong(p, base, "triggers are tested in the kernel, which can compare %s by ==, != and ^= only",
			     place.name);
	if (t->type == ESPY_VALUE_DOUBLE)
		return wrong(p, base, "triggers are tested in the kernel: %s is compared with whole numbers", place.name);
	if (what == ESPY_CALL_TEXT || what == ESPY_CALL_COMM)
		return wrong(p, base, "the text is longer than %u bytes",
			     what == ESPY_CALL_TEXT ? ESPY_TRIGGER_TEXT_MAX - 1 : ESPY_TRIGGER_COMM_MAX - 1);
	return wrong(p, base, "triggers are tested in the kernel, which does not know %s%s", place.name,
		     what == ESPY_CALL_FD_PATH ? " as text" : "");
}

static int parse_condition(const struct parser *p, const char *at, struct espy_trigger *t, struct espy_call_names *call)
{
	const struct espy_names names = espy_call_names(call);
	const size_t base = (size_t)(at - p->text);
	struct espy_condition_error e;
	struct espy_condition c;
	struct espy_predicate pr;
	char list[200];
	uint32_t which;
	int err = espy_condition__parse(&c, at, &e);

	if (err && at[e.at] == '\0' && !strncmp(e.text, "a name", 6))
		return wrong(p, base + e.at, "%s; there are %s", e.text, espy_call_names__list(call, list, sizeof(list)));
	err = err ? err : espy_condition__bind(&c, &names, &pr, NULL, &e);
	if (err)
		return wrong(p, base + e.at, "%s", e.text);
	espy_call_names__fold(call, &pr);
	if (espy_predicate__is_never(&pr))
		return wrong(p, base, "this never holds");
	err = espy_lower_trigger(&pr, t, &which);
	if (err == -E2BIG)
		return wrong(p, base, "there can be at most %u comparisons", ESPY_TRIGGER_TESTS);
	return err ? cannot_test(p, base, &c, &pr, &pr.tests[which]) : 0;
}

int espy_trigger__parse(struct espy_trigger *t, const char *text, enum espy_trigger_action action,
			const struct espy_call_set sets[ESPY_ABI_CNT], char *why, size_t why_sz)
{
	const struct parser p = { .text = text, .why = why, .why_sz = why_sz };
	const char *at = text + strspn(text, " \t");
	struct espy_call_names call;
	char buf[NAME_MAX_LEN];
	int err;

	memset(t, 0, sizeof(*t));
	t->action = action;
	err = parse_call(&p, &at, t, sets, &call);
	if (err)
		return err;
	at += strspn(at, " \t");
	if (!*at)
		return 0;
	if (*at != ':')
		return wrong(&p, (size_t)(at - text), "a colon and a condition are expected behind the call, not %s",
			     found(at, buf, sizeof(buf)));
	return parse_condition(&p, at + 1, t, &call);
}
