/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses a probe as users write it: the place, and the parts around the arguments. */
#include "filter/probe_select.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define RULES_MAX 1024u

int espy_rule_parser__expected(struct espy_rule_parser *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->why_sz, fmt, ap);
	va_end(ap);
	if (!p->bad)
		p->bad = p->at;
	return -EINVAL;
}

static int keep(char **to, const char *from, size_t len)
{
	*to = strndup(from, len);
	return *to ? 0 : -ENOMEM;
}

static bool skip_word(struct espy_rule_parser *p, const char *word)
{
	const size_t len = strlen(word);

	if (strncmp(p->at, word, len))
		return false;
	p->at += len;
	return true;
}

/* Returns the length of a symbol: it ends where the next part begins. */
static size_t symbol_len(const char *at)
{
	return strcspn(at, " \t\n+%(,@");
}

/* Returns the line of SOURCE:LINE; 0: the symbol is none. C++ has two colons. */
static uint64_t line_of(const char *symbol, size_t len)
{
	size_t at = len;

	while (at && isdigit((unsigned char)symbol[at - 1]))
		at--;
	if (at == len || len - at > 9 || at < 2 || symbol[at - 1] != ':' || symbol[at - 2] == ':')
		return 0;
	return strtoull(symbol + at, NULL, 10);
}

/* Returns the length of the name of a function of the kernel, with +OFFSET behind it or %return; 0: there is none. */
static size_t kernel_len(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '.')
		n++;
	return isdigit((unsigned char)*at) || *at == '.' || !strchr(" \t\n+%(", at[n]) ? 0 : n;
}

static int parse_plus(struct espy_rule_parser *p)
{
	if (*p->at != '+')
		return 0;
	p->at++;
	return espy_rule_parser__number(p, &p->rule->offset);
}

/* Parses SYMBOL[+OFFSET], OFFSET or an address; and %return. */
static int parse_place(struct espy_rule_parser *p)
{
	struct espy_probe_rule *r = p->rule;
	const bool kernel = r->file && !strcmp(r->file, ESPY_PROBE_KERNEL);
	const char *begin = p->at;
	int err;

	if (kernel && (isdigit((unsigned char)*p->at) || line_of(p->at, symbol_len(p->at))))
		return espy_rule_parser__expected(
			p, "the name of a function of the kernel is expected, such as kernel:vfs_read");
	if (isdigit((unsigned char)*p->at)) {
		r->where = r->pid ? ESPY_PROBE_AT_ADDRESS : ESPY_PROBE_AT_OFFSET;
		err = espy_rule_parser__number(p, &r->offset);
	} else {
		const size_t len = symbol_len(p->at);

		if (!len || r->pid)
			return espy_rule_parser__expected(p, r->pid ? "an address is expected: pid N:0xADDRESS" :
								       "the name of a function, or 0xOFFSET is expected");
		err = keep(&r->symbol, p->at, len);
		r->offset = line_of(p->at, len);
		r->where = kernel ? ESPY_PROBE_AT_KERNEL : r->offset ? ESPY_PROBE_AT_LINE : ESPY_PROBE_AT_SYMBOL;
		p->at += len;
		if (!err && r->where != ESPY_PROBE_AT_LINE)
			err = parse_plus(p);
	}
	r->returns = !err && skip_word(p, "%return");
	if (r->returns && r->where == ESPY_PROBE_AT_LINE) {
		p->bad = begin;
		return espy_rule_parser__expected(p, "a function returns, a line does not: FILE:FUNCTION%%return");
	}
	if (!err && r->returns && r->symbol && r->offset) {
		p->bad = begin;
		return espy_rule_parser__expected(p, "a function returns from its beginning: leave +OFFSET out");
	}
	return err;
}

static int parse_args(struct espy_rule_parser *p)
{
	int err;

	espy_rule_parser__skip_blanks(p);
	if (*p->at != '(')
		return 0;
	p->at++;
	espy_rule_parser__skip_blanks(p);
	while (*p->at != ')') {
		err = espy_rule_parser__arg(p);
		if (err)
			return err;
		espy_rule_parser__skip_blanks(p);
		if (*p->at != ',' && *p->at != ')')
			return espy_rule_parser__expected(p, "',' or ')' is expected");
		if (*p->at == ',') {
			p->at++;
			espy_rule_parser__skip_blanks(p);
		}
	}
	p->at++;
	return 0;
}

/* Refuses text behind a place that is neither arguments nor a condition. */
static int refuse_rest(struct espy_rule_parser *p)
{
	const size_t len = strcspn(p->at, " \t\n(");

	if (*p->at != '%')
		return espy_rule_parser__expected(p, "'(', 'if' or the end is expected");
	if (len == strlen("%return") && !strncmp(p->at, "%return", len))
		return espy_rule_parser__expected(p, "%%return stands before the arguments: PLACE%%return(...)");
	return espy_rule_parser__expected(p, "there is no '%.*s'; did you mean '%%return'?", (int)len, p->at);
}

static bool is_if(const char *at)
{
	return !strncmp(at, "if", 2) && isspace((unsigned char)at[2]);
}

static int parse_condition(struct espy_rule_parser *p)
{
	struct espy_condition_error e;
	int err;

	espy_rule_parser__skip_blanks(p);
	if (!*p->at)
		return 0;
	if (!is_if(p->at))
		return refuse_rest(p);
	p->at += 2;
	p->rule->condition = malloc(sizeof(*p->rule->condition));
	if (!p->rule->condition)
		return -ENOMEM;
	err = espy_condition__parse(p->rule->condition, p->at, &e);
	if (err != -EINVAL)
		return err;
	p->at += e.at;
	return espy_rule_parser__expected(p, "%s", e.text);
}

/* Parses FILE:PLACE, or PLACE of the kernel. */
static int parse_own(struct espy_rule_parser *p)
{
	struct espy_probe_rule *r = p->rule;
	const size_t len = strcspn(p->at, ":(");
	uint64_t pid;
	int err;

	if (!strncmp(p->at, "pid ", 4)) {
		p->at += 4;
		espy_rule_parser__skip_blanks(p);
		err = espy_rule_parser__number(p, &pid);
		if (err || !pid || pid > INT32_MAX)
			return err ? err : espy_rule_parser__expected(p, "the number of a process is expected");
		r->pid = (pid_t)pid;
	} else if (kernel_len(p->at)) {
		err = keep(&r->file, ESPY_PROBE_KERNEL, strlen(ESPY_PROBE_KERNEL));
		return err ? err : parse_place(p);
	} else {
		if (!len || p->at[len] != ':')
			return espy_rule_parser__expected(
				p, "FILE:SYMBOL is expected, such as libc:malloc or kernel:vfs_read");
		err = keep(&r->file, p->at, len);
		p->at += len;
	}
	if (err)
		return err;
	if (*p->at != ':')
		return espy_rule_parser__expected(p, "':' is expected");
	p->at++;
	return parse_place(p);
}

/* Parses PLACE@FILE. */
static int parse_perf(struct espy_rule_parser *p)
{
	int err = parse_place(p);

	if (err)
		return err;
	if (*p->at != '@')
		return espy_rule_parser__expected(p, "'@' is expected");
	const size_t len = strcspn(++p->at, " \t\n(");

	if (!len)
		return espy_rule_parser__expected(p, "the name of a file is expected");
	err = keep(&p->rule->file, p->at, len);
	p->at += len;
	return err;
}

/* Returns the length of the text before FILE in `p:NAME FILE:OFFSET ARG ...`, which the kernel's functions have none
 * of; 0: another form. */
static size_t ftrace_head(const char *text)
{
	size_t n = 1;

	if (*text != 'p' && *text != 'r')
		return 0;
	n += strspn(text + n, "0123456789");
	if (text[n] == ':')
		n += 1 + strspn(text + n + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-");
	const size_t blanks = strspn(text + n, " \t");

	if (!blanks || is_if(text + n + blanks) ||
	    (!memchr(text + n + blanks, ':', strcspn(text + n + blanks, " \t")) && !kernel_len(text + n + blanks)))
		return 0;
	return n + blanks;
}

static int parse_ftrace(struct espy_rule_parser *p, size_t head)
{
	struct espy_probe_rule *r = p->rule;
	const char *name = memchr(p->at, ':', head);
	const bool returns = *p->at == 'r';
	size_t len = name ? strcspn(name + 1, " \t") : 0;
	int err = len ? keep(&r->event, name + 1, len) : 0;

	if (err)
		return err;
	p->at += head;
	len = strcspn(p->at, " \t");
	while (len && p->at[len] != ':')
		len--;
	err = len ? keep(&r->file, p->at, len) : keep(&r->file, ESPY_PROBE_KERNEL, strlen(ESPY_PROBE_KERNEL));
	p->at += len + (len > 0);
	r->returns = returns;
	err = err ? err : parse_place(p);
	r->returns |= returns;
	for (;;) {
		espy_rule_parser__skip_blanks(p);
		if (err || !*p->at || is_if(p->at))
			return err;
		err = espy_rule_parser__arg(p);
		if (!err && *p->at && !isspace((unsigned char)*p->at))
			err = espy_rule_parser__expected(p, "a blank or the end is expected");
	}
}

/* Puts fetches that only tell the length of others behind the arguments. */
static int place_lengths(struct espy_rule_parser *p)
{
	struct espy_probe_plan *plan = &p->rule->plan;

	plan->fetch_cnt = plan->arg_cnt + p->length_cnt;
	if (plan->fetch_cnt > ESPY_MARK_MAX_ARGS)
		return espy_rule_parser__expected(p, "a probe has at most %u arguments, and lengths of bytes count, too",
						   ESPY_MARK_MAX_ARGS);
	for (unsigned i = 0; i < plan->arg_cnt; i++)
		if (plan->fetches[i].len_arg != ESPY_PROBE_NO_ARG)
			plan->fetches[i].len_arg = (uint8_t)(plan->fetches[i].len_arg + plan->arg_cnt);
	memcpy(plan->fetches + plan->arg_cnt, p->lengths, p->length_cnt * sizeof(*p->lengths));
	return 0;
}

static int parse(struct espy_rule_parser *p)
{
	size_t head;
	int err;

	espy_rule_parser__skip_blanks(p);
	head = ftrace_head(p->at);
	if (head)
		err = parse_ftrace(p, head);
	else if (p->at[strcspn(p->at, ":@( ")] == '@')
		err = parse_perf(p);
	else
		err = parse_own(p);
	if (!err && !head)
		err = parse_args(p);
	err = err ? err : place_lengths(p);
	err = err ? err : parse_condition(p);
	if (!err && p->rule->condition)
		err = espy_condition__each_name(p->rule->condition, espy_rule_parser__condition_name, p);
	return err;
}

/* Parses SYSTEM:NAME of tracepoints. */
static int parse_tracepoint(struct espy_rule_parser *p)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*?";
	int err;

	espy_rule_parser__skip_blanks(p);
	p->rule->where = ESPY_PROBE_AT_TRACEPOINT;
	size_t len = strspn(p->at, bytes);

	if (!len || p->at[len] != ':')
		return espy_rule_parser__expected(p, "a tracepoint of the kernel is expected, SYSTEM:NAME (espy list tracepoints)");
	err = keep(&p->rule->file, p->at, len);
	p->at += len + 1;
	len = strspn(p->at, bytes);
	if (!len)
		return espy_rule_parser__expected(p, "the name of a tracepoint is expected, or '*'");
	err = err ? err : keep(&p->rule->symbol, p->at, len);
	p->at += len;
	if (!err && *p->at && !isspace((unsigned char)*p->at))
		err = espy_rule_parser__expected(p, "'if' or the end is expected: a tracepoint has the fields that the kernel gives it");
	return err ? err : parse_condition(p);
}

static void free_rule(struct espy_probe_rule *r)
{
	free(r->file);
	free(r->symbol);
	free(r->event);
	free(r->condition);
	for (unsigned i = 0; i < r->var_cnt; i++)
		free(r->vars[i]);
	for (unsigned i = 0; i < r->condition_var_cnt; i++)
		free(r->condition_vars[i]);
	free(r->vars);
	free(r->condition_vars);
}

static int add(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz,
	       int (*parse_rule)(struct espy_rule_parser *p))
{
	struct espy_probe_rule *v = reallocarray(r->v, r->cnt + 1, sizeof(*v));
	struct espy_rule_parser *p = calloc(1, sizeof(*p));
	int err;

	*at = 0;
	if (v)
		r->v = v;
	if (!v || !p) {
		free(p);
		return -ENOMEM;
	}
	v[r->cnt] = (struct espy_probe_rule){ .where = ESPY_PROBE_AT_SYMBOL };
	*p = (struct espy_rule_parser){ .at = text, .why = why, .why_sz = why_sz, .rule = &v[r->cnt] };
	err = r->cnt < RULES_MAX ? parse_rule(p) : espy_rule_parser__expected(p, "at most %u probes can be given", RULES_MAX);
	*at = (size_t)((p->bad ? p->bad : p->at) - text);
	free(p);
	if (err)
		free_rule(&v[r->cnt]);
	else
		r->cnt++;
	return err;
}

int espy_probe_select__add(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz)
{
	return add(r, text, at, why, why_sz, parse);
}

int espy_probe_select__add_tracepoint(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz)
{
	return add(r, text, at, why, why_sz, parse_tracepoint);
}

void espy_probe_select__free(struct espy_probe_rules *r)
{
	for (size_t i = 0; i < r->cnt; i++)
		free_rule(&r->v[i]);
	free(r->v);
	*r = (struct espy_probe_rules){ 0 };
}
