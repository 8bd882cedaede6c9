/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/trigger.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "render/text.h"

#define NAME_MAX_LEN 64
#define ERRNO_MAX 4095

struct parser {
	const char *text, *at;
	const struct espy_call_set *set;
	const struct espy_image *img;
	const struct espy_call *call;
	uint32_t nr;
	char *why;
	size_t why_sz;
};

static int wrong(struct parser *p, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int wrong(struct parser *p, const char *at, const char *fmt, ...)
{
	int len = snprintf(p->why, p->why_sz, "'%s', column %zu: ", p->text, (size_t)(at - p->text) + 1);
	va_list ap;

	va_start(ap, fmt);
	if (len > 0 && (size_t)len < p->why_sz)
		vsnprintf(p->why + len, p->why_sz - (size_t)len, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static void skip_blanks(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\t')
		p->at++;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* The word at hand, "" if there is none; longer ones than any name are cut, and then found nowhere. */
static const char *word(struct parser *p, char *out)
{
	const char *start;
	size_t n = 0;

	skip_blanks(p);
	start = p->at;
	for (; is_word(*p->at); p->at++)
		if (n < NAME_MAX_LEN - 1)
			out[n++] = *p->at;
	out[n] = '\0';
	return start;
}

/* How a thing that was found is shown in a message. */
static const char *found(const char *at, char *buf, size_t size)
{
	if (!*at)
		return "the end";
	snprintf(buf, size, "'%.*s'", is_word(*at) ? (int)strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
								      "0123456789_.") : 1, at);
	return buf;
}

/* ---- the call */

/* Letters to change, add or drop; good enough to find a slip. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_LEN + 1];
	size_t n = strlen(b);

	if (n > NAME_MAX_LEN || strlen(a) > NAME_MAX_LEN)
		return ~0u;
	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			unsigned change = diagonal + (a[i - 1] != b[j - 1]), least = row[j - 1] < row[j] ? row[j - 1] : row[j];

			diagonal = row[j];
			row[j] = change < least + 1 ? change : least + 1;
		}
	}
	return row[n];
}

static int unknown_call(struct parser *p, const char *at, const char *name)
{
	const char *near = NULL;
	unsigned best = 3;

	for (uint32_t nr = 0; nr < p->img->syscall_cnt; nr++) {
		const char *other = espy_image__str(p->img, p->img->syscalls[nr].name);
		unsigned d = *other ? distance(name, other) : best;

		if (d < best) {
			best = d;
			near = other;
		}
	}
	if (near)
		return wrong(p, at, "no system call is named '%s'; did you mean '%s'?", name, near);
	return wrong(p, at, "no system call is named '%s'; `espy list syscalls` names them", name);
}

static int parse_call(struct parser *p, struct espy_trigger *t, const struct espy_call_set *sets)
{
	static const struct {
		const char *name;
		enum espy_abi abi;
	} abis[] = { { "64", ESPY_ABI_X86_64 }, { "32", ESPY_ABI_I386 }, { "x32", ESPY_ABI_X32 } };
	char name[NAME_MAX_LEN], abi[NAME_MAX_LEN], buf[NAME_MAX_LEN];
	const char *at = word(p, name), *abi_at;
	int nr;

	if (!*name)
		return wrong(p, at, "the name of a system call is expected, not %s", found(at, buf, sizeof(buf)));
	t->abi = ESPY_ABI_X86_64;
	if (*p->at == '@') {
		size_t i = 0;

		p->at++;
		abi_at = word(p, abi);
		while (i < 3 && strcmp(abis[i].name, abi))
			i++;
		if (i == 3)
			return wrong(p, abi_at, "64, 32 or x32 is expected behind @");
		t->abi = abis[i].abi;
	}
	p->set = &sets[t->abi];
	p->img = p->set->image;
	nr = espy_image__find_syscall(p->img, name);
	if (nr < 0 || (uint32_t)nr >= ESPY_MAX_SYSCALLS)
		return unknown_call(p, at, name);
	p->nr = t->nr = (uint32_t)nr;
	if (p->img->plans[p->img->call_plans[nr].plan].flags & ESPY_PLAN_NO_RETURN)
		return wrong(p, at, "%s never returns, and a trigger is looked at when a call has", name);
	p->call = p->img->syscalls[nr].call == ESPY_NONE ? NULL : &p->img->calls[p->img->syscalls[nr].call];
	return 0;
}

/* ---- what is compared */

static bool is_path(const struct parser *p, const struct espy_field *f)
{
	const struct espy_type *type = &p->img->types[f->type];

	return type->kind == ESPY_T_PTR && type->elem < p->img->type_cnt && p->img->types[type->elem].flags & ESPY_TF_PATH;
}

/* By its name; the first path also as "path", whatever the manual page calls it. */
static const struct espy_field *find_param(const struct parser *p, const char *name)
{
	for (uint32_t i = 0; p->call && i < p->call->nparam; i++) {
		const struct espy_field *f = &p->img->fields[p->call->first_param + i];

		if (!strcmp(name, espy_image__str(p->img, f->name)) && f->off < ESPY_MAX_ARGS)
			return f;
	}
	for (uint32_t i = 0; p->call && i < p->call->nparam && !strcmp(name, "path"); i++)
		if (is_path(p, &p->img->fields[p->call->first_param + i]))
			return &p->img->fields[p->call->first_param + i];
	return NULL;
}

static int unknown_name(struct parser *p, const char *at, const char *name)
{
	char names[256] = "";
	size_t len = 0;

	for (uint32_t i = 0; p->call && i < p->call->nparam && len < sizeof(names); i++) {
		const struct espy_field *f = &p->img->fields[p->call->first_param + i];

		if (f->off < ESPY_MAX_ARGS)
			len += (size_t)snprintf(names + len, sizeof(names) - len, ", %s", espy_image__str(p->img, f->name));
	}
	if (!*name) {
		char buf[NAME_MAX_LEN];

		return wrong(p, at, "a name is expected, not %s; there are ret, errno, pid, tid%s",
			     found(at, buf, sizeof(buf)), names);
	}
	return wrong(p, at, "%s has no argument '%s'; there are ret, errno, pid, tid%s",
		     espy_image__str(p->img, p->img->syscalls[p->nr].name), name, names);
}

static int parse_name(struct parser *p, struct espy_condition *c, const struct espy_field **param)
{
	static const struct {
		const char *name;
		uint8_t what;
	} own[] = {
		{ "ret", ESPY_TRIGGER_RET }, { "errno", ESPY_TRIGGER_ERRNO }, { "pid", ESPY_TRIGGER_PID },
		{ "tid", ESPY_TRIGGER_TID },
	};
	char name[NAME_MAX_LEN];
	const char *at = word(p, name);

	*param = NULL;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (strcmp(name, own[i].name))
			continue;
		c->what = own[i].what;
		c->is_signed = 1;
		c->width = 8;
		return 0;
	}
	*param = find_param(p, !strncmp(name, "arg.", 4) ? name + 4 : name);
	if (!*param)
		return unknown_name(p, at, name);
	const struct espy_type *type = &p->img->types[(*param)->type];

	c->what = ESPY_TRIGGER_ARG;
	c->arg = (uint8_t)(*param)->off;
	c->width = type->size == 1 || type->size == 2 || type->size == 4 ? (uint8_t)type->size : 8;
	c->is_signed = type->kind == ESPY_T_INT && type->flags & ESPY_TF_SIGNED;
	return 0;
}

static int parse_operator(struct parser *p, struct espy_condition *c)
{
	static const struct {
		const char *text;
		uint8_t compare;
	} ops[] = { /* the longer ones first */
		{ "==", ESPY_COMPARE_EQ }, { "!=", ESPY_COMPARE_NE }, { "<=", ESPY_COMPARE_LE },
		{ ">=", ESPY_COMPARE_GE }, { "<", ESPY_COMPARE_LT }, { ">", ESPY_COMPARE_GT },
	};
	char buf[NAME_MAX_LEN];

	skip_blanks(p);
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		if (strncmp(p->at, ops[i].text, strlen(ops[i].text)))
			continue;
		p->at += strlen(ops[i].text);
		c->compare = ops[i].compare;
		return 0;
	}
	return wrong(p, p->at, "==, !=, <, <=, > or >= is expected, not %s", found(p->at, buf, sizeof(buf)));
}

/* ---- what it is compared with */

/* The operation of the plan that copies what the argument points to; variants of the call must agree. */
static int find_op(struct parser *p, const char *at, const struct espy_field *param, uint32_t *cap, bool *ends)
{
	const struct espy_call_plan *cp = &p->img->call_plans[p->nr];
	const struct espy_plan *plan = &p->img->plans[cp->plan];
	const char *name = espy_image__str(p->img, param->name);
	unsigned k = 0;

	for (; k < plan->op_cnt; k++) {
		const struct espy_op *op = &p->img->ops[plan->first_op + k];

		if (op->src == param->off && (op->kind == ESPY_OP_CSTR || op->kind == ESPY_OP_BYTES))
			break;
	}
	if (k == plan->op_cnt || p->img->types[param->type].kind != ESPY_T_PTR)
		return wrong(p, at, "%s is no text; a number is expected", name);
	const struct espy_op *op = &p->img->ops[plan->first_op + k];
	const uint8_t pointee = p->img->types[p->img->types[param->type].elem].kind;

	if (op->kind == ESPY_OP_BYTES && pointee != ESPY_T_BYTES && pointee != ESPY_T_CHARS && pointee != ESPY_T_STR)
		return wrong(p, at, "%s points to something else than text; a number is expected (its address)", name);
	for (uint32_t v = 0; v < cp->variant_cnt; v++) {
		const struct espy_plan *other = &p->img->plans[p->img->variants[cp->first_variant + v].plan];
		const struct espy_op *same = &p->img->ops[other->first_op + k];

		if (k >= other->op_cnt || same->src != op->src || same->kind != op->kind)
			return wrong(p, at, "%s is not always text; a number is expected (its address)", name);
	}
	*cap = p->set->ops[plan->first_op + k].cap;
	*ends = op->kind == ESPY_OP_CSTR;
	return (int)k;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* One character of a text, with its escapes. *star: an asterisk that stands for itself no more. */
static int character(struct parser *p, bool *star)
{
	char c = *p->at++;

	*star = c == '*';
	if (c != '\\')
		return (unsigned char)c;
	c = *p->at++;
	switch (c) {
	case 'n': return '\n';
	case 't': return '\t';
	case '"': case '\\': case '*': return c;
	case 'x':
		if (hex_digit(p->at[0]) >= 0 && hex_digit(p->at[1]) >= 0) {
			p->at += 2;
			return hex_digit(p->at[-2]) << 4 | hex_digit(p->at[-1]);
		}
		break;
	}
	p->at--;
	return wrong(p, p->at - 1, "\\n, \\t, \\\", \\\\, \\* or \\xHH is expected behind a backslash");
}

static int parse_string(struct parser *p, struct espy_condition *c, const struct espy_field *param)
{
	const char *at = p->at++;
	bool star = false, ends = false;
	uint32_t cap = 0;
	size_t n = 0;
	int op;

	if (!param)
		return wrong(p, at, "a number is expected, not a text");
	op = find_op(p, at, param, &cap, &ends);
	if (op < 0)
		return op;
	if (c->compare != ESPY_COMPARE_EQ && c->compare != ESPY_COMPARE_NE)
		return wrong(p, at, "a text can only be compared by == and !=");
	while (*p->at != '"') {
		int ch;

		if (!*p->at)
			return wrong(p, at, "the text has no end: a \" is missing");
		ch = character(p, &star);
		if (ch < 0)
			return ch;
		if (n == ESPY_TRIGGER_TEXT_MAX - 1)
			return wrong(p, at, "the text is longer than %u bytes", ESPY_TRIGGER_TEXT_MAX - 1);
		c->text[n++] = (uint8_t)ch;
	}
	p->at++;
	c->what = ESPY_TRIGGER_TEXT;
	c->op = (uint8_t)op;
	if (n && star) {
		c->text[--n] = 0;
		c->compare = c->compare == ESPY_COMPARE_EQ ? ESPY_COMPARE_PREFIX : ESPY_COMPARE_NOT_PREFIX;
	}
	if (n + !star > cap)
		return wrong(p, at, "only %u bytes of %s are captured; -s %zu captures enough", cap,
			     espy_image__str(p->img, param->name), n + 1);
	c->text_len = (uint16_t)(n + (ends && !star));
	return 0;
}

static bool errno_by_name(const char *name, int64_t *out)
{
	for (unsigned e = 1; e <= ERRNO_MAX; e++) {
		const char *n = espy_errno_name(e);

		if (n && !strcmp(n, name)) {
			*out = e;
			return true;
		}
	}
	return false;
}

static bool constant_by_name(const struct parser *p, const struct espy_field *param, const char *name, int64_t *out)
{
	uint32_t table = param ? p->img->types[param->type].table : ESPY_NONE;

	if (param && p->img->types[param->type].fmt == ESPY_FMT_DIRFD && !strcmp(name, "AT_FDCWD")) {
		*out = AT_FDCWD;
		return true;
	}
	if (table == ESPY_NONE || table >= p->img->table_cnt)
		return false;
	for (uint32_t i = 0; i < p->img->tables[table].count; i++) {
		const struct espy_entry *e = &p->img->entries[p->img->tables[table].first + i];

		if (strcmp(espy_image__str(p->img, e->name), name))
			continue;
		*out = (int64_t)e->value;
		return true;
	}
	return false;
}

static int parse_number(struct parser *p, struct espy_condition *c, const struct espy_field *param)
{
	char name[NAME_MAX_LEN], buf[NAME_MAX_LEN];
	int64_t all = 0;

	for (;;) {
		bool minus;
		const char *at, *start;
		int64_t v = 0;

		skip_blanks(p);
		start = p->at;
		minus = *p->at == '-';
		if (minus)
			p->at++;
		at = word(p, name);
		if (isdigit((unsigned char)*name)) {
			char *end;
			uint64_t u;

			errno = 0;
			u = strtoull(name, &end, 0);
			if (*end || errno)
				return wrong(p, at, "'%s' is no number of 64 bits", name);
			v = (int64_t)u;
		} else if (!*name) {
			return wrong(p, start, "a value is expected, not %s", found(start, buf, sizeof(buf)));
		} else if (!constant_by_name(p, param, name, &v) && !errno_by_name(name, &v)) {
			return wrong(p, at, "'%s' is neither a number nor an error%s%s", name,
				     param ? ", nor a constant of " : "",
				     param ? espy_image__str(p->img, param->name) : "");
		} else if (c->what == ESPY_TRIGGER_ERRNO && minus) {
			return wrong(p, start, "errno is positive: %s (ret is negative)", name);
		} else if (c->what == ESPY_TRIGGER_RET && !minus && name[0] == 'E') {
			return wrong(p, start, "an error is returned as a negative number: ret %s -%s",
				     c->compare == ESPY_COMPARE_NE ? "!=" : "==", name);
		}
		all |= minus ? -v : v;
		skip_blanks(p);
		if (*p->at != '|')
			break;
		p->at++;
	}
	/* As the argument is cut, so is what it is compared with. */
	if (c->width < 8) {
		unsigned shift = 64 - 8u * c->width;

		all = c->is_signed ? (int64_t)((uint64_t)all << shift) >> shift :
				     (int64_t)((uint64_t)all << shift >> shift);
	}
	c->number = all;
	return 0;
}

static int parse_condition(struct parser *p, struct espy_condition *c)
{
	const struct espy_field *param;
	int err = parse_name(p, c, &param);

	if (!err)
		err = parse_operator(p, c);
	if (err)
		return err;
	skip_blanks(p);
	return *p->at == '"' ? parse_string(p, c, param) : parse_number(p, c, param);
}

int espy_trigger__parse(struct espy_trigger *t, const char *text, enum espy_trigger_action action,
			const struct espy_call_set sets[ESPY_ABI_CNT], char *why, size_t why_sz)
{
	struct parser p = { .text = text, .at = text, .why = why, .why_sz = why_sz };
	char buf[NAME_MAX_LEN];
	int err;

	memset(t, 0, sizeof(*t));
	t->action = action;
	err = parse_call(&p, t, sets);
	if (err)
		return err;
	skip_blanks(&p);
	if (!*p.at)
		return 0;
	if (*p.at != ':')
		return wrong(&p, p.at, "a colon and a comparison are expected behind the call, not %s",
			     found(p.at, buf, sizeof(buf)));
	do {
		p.at += *p.at == ':' ? 1 : 2;
		if (t->cond_cnt == ESPY_TRIGGER_CONDS)
			return wrong(&p, p.at, "there can be at most %u comparisons", ESPY_TRIGGER_CONDS);
		err = parse_condition(&p, &t->conds[t->cond_cnt++]);
		if (err)
			return err;
		skip_blanks(&p);
	} while (!strncmp(p.at, "&&", 2));
	if (*p.at)
		return wrong(&p, p.at, "&& or the end is expected, not %s", found(p.at, buf, sizeof(buf)));
	return 0;
}
