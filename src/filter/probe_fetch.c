/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses arguments of probes: `name=FETCH:TYPE`. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/pattern.h"
#include "filter/probe_select.h"
#include "record/mark_format.h"

static const struct {
	const char *name;
	uint8_t what, size, is_signed;
	char letter;
} types[] = {
	{ "u8", ESPY_PROBE_NUMBER, 1, 0, 'u' },	 { "u16", ESPY_PROBE_NUMBER, 2, 0, 'u' }, { "u32", ESPY_PROBE_NUMBER, 4, 0, 'u' },
	{ "u64", ESPY_PROBE_NUMBER, 8, 0, 'u' }, { "u", ESPY_PROBE_NUMBER, 8, 0, 'u' },	  { "s8", ESPY_PROBE_NUMBER, 1, 1, 'd' },
	{ "s16", ESPY_PROBE_NUMBER, 2, 1, 'd' }, { "s32", ESPY_PROBE_NUMBER, 4, 1, 'd' }, { "s64", ESPY_PROBE_NUMBER, 8, 1, 'd' },
	{ "d", ESPY_PROBE_NUMBER, 8, 1, 'd' },	 { "x8", ESPY_PROBE_NUMBER, 1, 0, 'x' },  { "x16", ESPY_PROBE_NUMBER, 2, 0, 'x' },
	{ "x32", ESPY_PROBE_NUMBER, 4, 0, 'x' }, { "x64", ESPY_PROBE_NUMBER, 8, 0, 'x' }, { "x", ESPY_PROBE_NUMBER, 8, 0, 'x' },
	{ "p", ESPY_PROBE_NUMBER, 8, 0, 'p' },	 { "char", ESPY_PROBE_NUMBER, 1, 0, 'c' }, { "string", ESPY_PROBE_STRING, 8, 0, 's' },
	{ "ustring", ESPY_PROBE_STRING, 8, 0, 's' }, { "bytes", ESPY_PROBE_BYTES, 8, 0, 's' },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Returns the length of the word at `at`. */
static size_t word_len(const char *at)
{
	size_t n = 0;

	while (isalnum((unsigned char)at[n]) || at[n] == '_')
		n++;
	return n;
}

int espy_rule_parser__number(struct espy_rule_parser *p, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*p->at))
		return espy_rule_parser__expected(p, "a number is expected");
	errno = 0;
	*out = strtoull(p->at, &end, 0);
	if (errno || isalnum((unsigned char)*end))
		return espy_rule_parser__expected(p, "this is no number of 64 bits");
	p->at = end;
	return 0;
}

static int add_step(struct espy_rule_parser *p, struct espy_probe_fetch *f, int64_t offset)
{
	if (f->way_cnt == ESPY_PROBE_WAY_MAX)
		return espy_rule_parser__expected(p, "at most %u pointers can be followed", ESPY_PROBE_WAY_MAX);
	if (offset != (int32_t)offset)
		return espy_rule_parser__expected(p, "the offset is too large");
	f->way[f->way_cnt++] = (int32_t)offset;
	return 0;
}

static int parse_register(struct espy_rule_parser *p, struct espy_probe_fetch *f)
{
	const size_t len = word_len(++p->at);
	struct espy_reg_part part;

	if (!espy_arch__probe_register(p->at, len, &part))
		return espy_rule_parser__expected(p, "there is no register '%.*s'; there are " ESPY_REG_NAMES, (int)len, p->at);
	f->src = ESPY_PROBE_REG;
	f->reg = part.reg;
	f->size = part.size;
	p->at += len;
	return 0;
}

/* Parses the number behind a word: $arg3, $stack2. Returns false if there is none. */
static bool parse_index(struct espy_rule_parser *p, const char *word, uint64_t *index)
{
	const size_t len = strlen(word), all = word_len(p->at);

	if (strncmp(p->at, word, len) || all <= len || all > len + 3 || strspn(p->at + len, "0123456789") != all - len)
		return false;
	*index = strtoull(p->at + len, NULL, 10);
	p->at += all;
	return true;
}

static int parse_function_arg(struct espy_rule_parser *p, struct espy_probe_fetch *f, uint64_t index)
{
	static const uint8_t regs[ESPY_PROBE_SAVED] = ESPY_REG_ARGS;

	if (!index || index > ESPY_PROBE_SAVED)
		return espy_rule_parser__expected(p, "the arguments in registers are $arg1 to $arg%u", ESPY_PROBE_SAVED);
	if (!p->rule->returns && p->rule->offset && p->rule->where != ESPY_PROBE_AT_OFFSET &&
	    p->rule->where != ESPY_PROBE_AT_ADDRESS)
		return espy_rule_parser__expected(p, "arguments are known where a function begins or returns: name a register here");
	f->src = p->rule->returns ? ESPY_PROBE_ENTRY_ARG : ESPY_PROBE_REG;
	f->reg = p->rule->returns ? (uint8_t)(index - 1) : regs[index - 1];
	return 0;
}

static int parse_variable(struct espy_rule_parser *p, struct espy_probe_fetch *f)
{
	const char *begin = p->at++;
	const size_t len = word_len(p->at);
	uint64_t index;

	f->src = ESPY_PROBE_REG;
	if (espy_is_word(p->at, len, "retval")) {
		if (!p->rule->returns) {
			p->bad = begin;
			return espy_rule_parser__expected(p, "$retval is there only where a function returns: FILE:SYMBOL%%return");
		}
		f->reg = ESPY_REG_RESULT;
	} else if (espy_is_word(p->at, len, "stack")) {
		f->reg = ESPY_REG_SP;
	} else if (espy_is_word(p->at, len, "comm")) {
		f->src = ESPY_PROBE_COMM;
		f->what = ESPY_PROBE_STRING;
	} else if (parse_index(p, "stack", &index)) {
		f->reg = ESPY_REG_SP;
		return add_step(p, f, (int64_t)index * 8);
	} else if (parse_index(p, "arg", &index)) {
		return parse_function_arg(p, f, index);
	} else {
		p->bad = begin;
		return espy_rule_parser__expected(p, "there are $retval, $argN, $stack, $stackN and $comm");
	}
	p->at += len;
	return 0;
}

/* Returns the length of a variable: a name, and the members and elements behind it. */
static size_t variable_len(const char *at)
{
	size_t n = strspn(at, "*"), len;

	n += at[n] == '$';
	len = word_len(at + n);
	if (!len || isdigit((unsigned char)at[n]))
		return 0;
	for (n += len;; n += len) {
		const size_t arrow = !strncmp(at + n, "->", 2) ? 2 : at[n] == '.';

		if (arrow)
			len = word_len(at + n + arrow);
		else
			len = at[n] == '[' ? strspn(at + n + 1, "0123456789") : 0;
		if (!len || (!arrow && at[n + 1 + len] != ']'))
			return n;
		len += arrow ? arrow : 2;
	}
}

static int keep_variable(char ***vars, unsigned *cnt, const char *text, size_t len)
{
	char **v = reallocarray(*vars, *cnt + 1, sizeof(*v));

	if (v)
		*vars = v;
	if (!v || !(v[*cnt] = strndup(text, len)))
		return -ENOMEM;
	++*cnt;
	return 0;
}

/* Takes a variable. What it is, the debug information tells. */
static int parse_named(struct espy_rule_parser *p, struct espy_probe_fetch *f)
{
	const size_t len = variable_len(p->at), stars = strspn(p->at, "*");

	if (p->at[stars] == '$' &&
	    !(p->rule->returns && espy_is_word(p->at + stars + 1, word_len(p->at + stars + 1), "retval")))
		return espy_rule_parser__expected(
			p, "of these only $retval has members, and only where a function returns: FILE:SYMBOL%%return");
	f->src = ESPY_PROBE_NAMED;
	f->size = 0;
	f->value = p->rule->var_cnt;
	if (p->rule->var_cnt == 2 * ESPY_MARK_MAX_ARGS)
		return espy_rule_parser__expected(p, "there are too many variables");
	const int err = keep_variable(&p->rule->vars, &p->rule->var_cnt, p->at, len);

	p->at += len;
	return err;
}

/* Writes the name that the argument of a variable has: dots stand between its parts. */
static void name_variable(const char *var, char *name)
{
	for (var += strspn(var, "*"); *var; var++)
		if (*var == '[' || *var == '-')
			*name++ = '.';
		else if (*var != ']' && *var != '>' && *var != '$')
			*name++ = *var;
	*name = 0;
}

static int parse_fetch(struct espy_rule_parser *p, struct espy_probe_fetch *f)
{
	int64_t offsets[ESPY_PROBE_WAY_MAX];
	unsigned depth = 0;
	uint64_t number;
	int err = 0;

	*f = (struct espy_probe_fetch){ .size = 8, .len_arg = ESPY_PROBE_NO_ARG };
	while (!err && (*p->at == '+' || *p->at == '-')) {
		const bool minus = *p->at++ == '-';

		p->at += *p->at == 'u';
		err = espy_rule_parser__number(p, &number);
		if (!err && (*p->at++ != '(' || number > INT32_MAX)) {
			p->at--;
			return espy_rule_parser__expected(p, "OFFSET(FETCH) is expected");
		}
		if (!err && depth == ESPY_PROBE_WAY_MAX)
			return espy_rule_parser__expected(p, "at most %u pointers can be followed", ESPY_PROBE_WAY_MAX);
		if (!err)
			offsets[depth++] = minus ? -(int64_t)number : (int64_t)number;
	}
	if (err)
		return err;
	/* $retval alone is a register, with or without a type. */
	if (strncmp(p->at, "$", 1) ? variable_len(p->at) : variable_len(p->at) > 1 + word_len(p->at + 1))
		err = parse_named(p, f);
	else
		switch (*p->at) {
		case '%':
			err = parse_register(p, f);
			break;
		case '$':
			err = parse_variable(p, f);
			break;
		case '@':
		case '\\': {
			const bool memory = *p->at++ == '@';

			err = espy_rule_parser__number(p, &number);
			f->value = err ? 0 : number;
			if (!err && memory)
				err = add_step(p, f, 0);
			break;
		}
		default:
			return espy_rule_parser__expected(p, "the name of a variable, %%REGISTER, $VARIABLE, @ADDRESS, "
							     "\\NUMBER or +OFFSET(...) is expected");
		}
	while (!err && depth--) {
		if (*p->at++ != ')') {
			p->at--;
			return espy_rule_parser__expected(p, "')' is expected");
		}
		if (f->src == ESPY_PROBE_COMM)
			return espy_rule_parser__expected(p, "$comm is no address");
		f->size = 8;
		err = add_step(p, f, offsets[depth]);
	}
	return err;
}

/* Parses the length in the brackets of bytes[...]. */
static int parse_length(struct espy_rule_parser *p, struct espy_probe_fetch *f)
{
	uint64_t number;
	int err;

	if (*p->at++ != '[') {
		p->at--;
		return espy_rule_parser__expected(p, "bytes[NUMBER] or bytes[%%REGISTER] is expected");
	}
	if (isdigit((unsigned char)*p->at)) {
		err = espy_rule_parser__number(p, &number);
		if (!err && (!number || number > ESPY_PROBE_STRING_MAX))
			return espy_rule_parser__expected(p, "1 to %u bytes can be fetched", ESPY_PROBE_STRING_MAX);
		f->max = (uint32_t)number;
	} else {
		if (p->length_cnt == ESPY_MARK_MAX_ARGS)
			return espy_rule_parser__expected(p, "there are too many arguments");
		err = parse_fetch(p, &p->lengths[p->length_cnt]);
		f->len_arg = (uint8_t)p->length_cnt++; /* for now: among the lengths */
	}
	if (!err && *p->at++ != ']') {
		p->at--;
		return espy_rule_parser__expected(p, "']' is expected");
	}
	return err;
}

static int parse_type(struct espy_rule_parser *p, struct espy_probe_fetch *f, char *letter)
{
	const size_t len = word_len(p->at);

	for (size_t i = 0; i < COUNT(types); i++) {
		if (!espy_is_word(p->at, len, types[i].name))
			continue;
		if (f->src == ESPY_PROBE_COMM && types[i].what != ESPY_PROBE_STRING)
			return espy_rule_parser__expected(p, "$comm is a string");
		p->at += len;
		f->what = types[i].what;
		f->is_signed = types[i].is_signed;
		f->user = types[i].name[0] == 'u' && types[i].what == ESPY_PROBE_STRING;
		/* A type without a size leaves the size of the register. */
		if (types[i].name[1])
			f->size = types[i].size;
		*letter = types[i].letter;
		return f->what == ESPY_PROBE_BYTES ? parse_length(p, f) : 0;
	}
	return espy_rule_parser__expected(p, "there is no type '%.*s'; there are u8-u64, s8-s64, x8-x64, u, d, x, p, char, string, bytes[N]",
					   (int)len, p->at);
}

/* Parses `name=` in front of the fetch. */
static int parse_name(struct espy_rule_parser *p, struct espy_probe_arg *arg)
{
	const size_t len = word_len(p->at);

	if (p->at[len] != '=')
		return 0;
	if (!len) {
		if (p->rule->result || !p->rule->returns)
			return espy_rule_parser__expected(p, "%s", p->rule->result ? "there is a result already" :
									"only where a function returns is there a result: FILE:SYMBOL%return");
		p->rule->result = (uint8_t)(p->rule->plan.arg_cnt + 1);
		strcpy(arg->name, "retval");
	} else if (len >= sizeof(arg->name) || isdigit((unsigned char)*p->at)) {
		return espy_rule_parser__expected(p, "a name begins with a letter and has at most %zu characters", sizeof(arg->name) - 1);
	} else {
		memcpy(arg->name, p->at, len);
	}
	p->at += len + 1;
	return 0;
}

int espy_rule_parser__arg(struct espy_rule_parser *p)
{
	struct espy_probe_plan *plan = &p->rule->plan;
	struct espy_probe_arg *arg = &p->rule->args[plan->arg_cnt];
	struct espy_probe_fetch *f = &plan->fetches[plan->arg_cnt];
	const char *begin;
	int err;

	if (plan->arg_cnt == ESPY_MARK_MAX_ARGS)
		return espy_rule_parser__expected(p, "a probe has at most %u arguments", ESPY_MARK_MAX_ARGS);
	err = parse_name(p, arg);
	begin = p->at;
	err = err ? err : parse_fetch(p, f);
	arg->letter = f->what == ESPY_PROBE_STRING ? 's' : f->src == ESPY_PROBE_NAMED && !f->way_cnt ? 0 : 'x';
	if (!err && *p->at == ':') {
		p->at++;
		err = parse_type(p, f, &arg->letter);
	} else if (!err && p->at == begin + strlen("$retval") && !strncmp(begin, "$retval", strlen("$retval"))) {
		arg->letter = 0; /* the function knows */
		p->rule->has_types = true;
	}
	if (err)
		return err;
	if (f->src == ESPY_PROBE_NAMED && !arg->name[0]) {
		if (strlen(p->rule->vars[f->value]) >= sizeof(arg->name)) {
			p->bad = begin;
			return espy_rule_parser__expected(p, "this is too long for a name: give it one, NAME=%s",
							  "VARIABLE");
		}
		name_variable(p->rule->vars[f->value], arg->name);
	}
	if (!arg->name[0])
		snprintf(arg->name, sizeof(arg->name), "arg%u", plan->arg_cnt + 1);
	plan->memory |= f->what != ESPY_PROBE_NUMBER;
	plan->arg_cnt++;
	return 0;
}

int espy_rule_parser__condition_name(void *parser, const char *name, size_t at)
{
	static const char *const own[] = { "pid", "tid", "duration", "retval" };
	struct espy_rule_parser *p = parser;
	struct espy_probe_rule *r = p->rule;
	char plain[ESPY_CONDITION_NAME_MAX];

	(void)at;
	if (!strncmp(name, "arg.", 4) || espy_mark_arg_number(name, strlen(name), r->plan.arg_cnt) >= 0)
		return 0;
	name_variable(name, plain);
	for (size_t i = 0; i < COUNT(own); i++)
		if (!strcmp(own[i], plain))
			return 0;
	for (unsigned i = 0; i < r->plan.arg_cnt; i++)
		if (!strcmp(r->args[i].name, plain))
			return 0;
	for (unsigned i = 0; i < r->condition_var_cnt; i++)
		if (!strcmp(r->condition_vars[i], plain))
			return 0;
	return keep_variable(&r->condition_vars, &r->condition_var_cnt, plain, strlen(plain));
}
