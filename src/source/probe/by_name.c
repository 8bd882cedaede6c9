/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes fetches of the variables that a rule names: at each place a variable may lie somewhere else, and have another
 * type. So each place gets a rule of its own, whose plan has fetches only that sources know.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/num.h"
#include "source/probe/probe_impl.h"
#include "symbols/variables.h"

#define DEPTH_MAX 2u	/* of structs in a struct that is shown */
#define WORDS_MAX 8192u /* bytes of the constants of an enumeration */

struct binder {
	const struct espy_probe_file *file; /* NULL: the place is the kernel's */
	uint64_t addr;
	struct espy_variables *v;
	struct espy_probe_rule *rule; /* the one that is made */
	unsigned room;		      /* arguments that members of structs may become */
	unsigned lengths;	      /* fetches of lengths that come behind the arguments */
	struct espy_buf pending;      /* structs that begin or end in front of the next argument */
	const char *expr;	      /* the variable that was found last */
	char why[ESPY_VAR_WHY];
	bool lenient;		    /* leave out arguments that are not there */
	bool lacks;		    /* one is left out */
	char missing[ESPY_VAR_WHY]; /* why; "": the place has no debug information */
	char absent[ESPY_VAR_WHY]; /* of a variable that the condition names and that is not there; "": none */
};

static int refuse(struct binder *b, const char *text)
{
	snprintf(b->why, sizeof(b->why), "%s", text);
	return -EINVAL;
}

/* ---- the way to a value */

/* Fills in where a fetch begins, and adds to *off what the way from there has more. */
static int begin(struct binder *b, const struct espy_var_way *w, struct espy_probe_fetch *f, int64_t *off)
{
	static const uint8_t args[ESPY_PROBE_SAVED] = ESPY_REG_ARGS;

	f->src = ESPY_PROBE_REG;
	switch (w->base) {
	case ESPY_VAR_NUMBER:
		f->src = ESPY_PROBE_CONST;
		f->value = w->number;
		return 0;
	case ESPY_VAR_ADDRESS:
		if (b->file && b->file->elf.type == ET_EXEC) {
			f->src = ESPY_PROBE_CONST;
			f->value = w->number;
			return 0;
		}
		/* The instruction that is probed has an address in the same file. */
		if (b->rule->returns)
			return refuse(b, "a global of a file that may lie anywhere in memory is found where a function "
					 "begins, not where it "
					 "returns");
		f->reg = ESPY_REG_IP;
		*off = (int64_t)((uint64_t)*off + w->number - b->addr);
		return 0;
	case ESPY_VAR_RESULT:
		f->reg = w->reg;
		return 0;
	default:
		f->reg = w->is_in_halves && w->bit >= 64 ? w->second : w->reg;
		break;
	}
	if (f->reg == ESPY_VAR_NO_REG)
		return refuse(b, "it is in a vector register, which no probe reads");
	if (!b->rule->returns)
		return 0;
	for (unsigned i = 0; i < ESPY_PROBE_SAVED; i++)
		if (args[i] == f->reg) {
			f->src = ESPY_PROBE_ENTRY_ARG;
			f->reg = (uint8_t)i;
			return 0;
		}
	return refuse(b, "it lies on the stack, and is not kept until the function returns");
}

/* Fills in the way of a fetch. It leads to memory, or to the number itself. */
static int to_way(struct binder *b, const struct espy_var_way *w, struct espy_probe_fetch *f)
{
	const unsigned cnt = w->loads + (w->is_memory || f->what != ESPY_PROBE_NUMBER);
	int64_t off[ESPY_VAR_LOADS + 1];
	int err;

	memcpy(off, w->off, sizeof(off));
	err = begin(b, w, f, &off[0]);
	if (err)
		return err;
	if (cnt > ESPY_PROBE_WAY_MAX)
		return refuse(b, "at most 6 pointers can be followed");
	if (cnt == w->loads && off[cnt]) {
		if (f->src != ESPY_PROBE_CONST || cnt)
			return refuse(b, "it is computed at this place: a probe does no arithmetic");
		f->value += (uint64_t)off[0];
	}
	f->way_cnt = (uint8_t)cnt;
	for (unsigned i = 0; i < cnt; i++) {
		if (off[i] != (int32_t)off[i])
			return refuse(b, "it is too far away");
		f->way[i] = (int32_t)off[i];
	}
	return 0;
}

/* ---- values as arguments */

static int add_word(void *words, const char *name, int64_t value)
{
	struct espy_buf *b = words;

	/* The characters that the format of a probe uses itself. */
	if (b->len > WORDS_MAX || strpbrk(name, "%{}|= "))
		return 0;
	if (b->len)
		espy_buf__putc(b, '|');
	espy_buf__puts(b, name);
	espy_buf__putc(b, '=');
	espy_buf__sdec(b, value);
	return 0;
}

static int take_words(struct binder *b, const struct espy_variable *x, struct espy_probe_arg *arg)
{
	struct espy_buf words = { 0 };

	if (x->kind == ESPY_VAR_BOOL)
		espy_buf__puts(&words, "false=0|true=1");
	else
		espy_variables__constants(b->v, x, add_word, &words);
	if (!words.len)
		return 0;
	arg->words = espy_buf__string(&words);
	return arg->words ? 0 : -ENOMEM;
}

/* Makes a number of the fetch: of a bit field, or in a part of a register, the number around it. */
static void to_number(const struct espy_variable *x, struct espy_probe_fetch *f, struct espy_probe_arg *arg)
{
	const unsigned low = x->low + (x->way.is_memory || !x->way.is_in_halves ? 0 : x->way.bit % 64);

	f->what = ESPY_PROBE_NUMBER;
	f->size = (uint8_t)x->size;
	f->is_signed = x->is_signed;
	if (!low && !x->bits)
		return;
	arg->low = (uint8_t)low;
	arg->bits = x->bits ? x->bits : (uint8_t)(x->size * 8);
	f->size = x->way.is_memory ? (uint8_t)x->size : 8;
	f->is_signed = false;
}

/* Fills in fetch and look of a value as its type says. */
static int to_argument(struct binder *b, struct espy_variable *x, struct espy_probe_fetch *f,
		       struct espy_probe_arg *arg)
{
	*f = (struct espy_probe_fetch){ .size = 8, .len_arg = ESPY_PROBE_NO_ARG };
	switch (x->kind) {
	case ESPY_VAR_STRING:
		f->what = ESPY_PROBE_STRING;
		arg->letter = 's';
		if (!espy_var_way__follow(&x->way))
			return refuse(b, "it is behind too many pointers");
		break;
	case ESPY_VAR_TEXT:
	case ESPY_VAR_BYTES:
		if (!x->way.is_memory)
			return refuse(b, "it lies in registers, and not in memory");
		arg->letter = 's';
		arg->is_array = x->kind == ESPY_VAR_TEXT;
		f->what = arg->is_array ? ESPY_PROBE_STRING : ESPY_PROBE_BYTES;
		f->max = x->size < ESPY_PROBE_STRING_MAX ? x->size : ESPY_PROBE_STRING_MAX - 1;
		break;
	case ESPY_VAR_INT:
	case ESPY_VAR_ENUM:
	case ESPY_VAR_BOOL:
	case ESPY_VAR_CHAR:
	case ESPY_VAR_FLOAT:
	case ESPY_VAR_POINTER:
		arg->letter = x->kind == ESPY_VAR_CHAR	    ? 'c'
			      : x->kind == ESPY_VAR_FLOAT   ? 'g'
			      : x->kind == ESPY_VAR_POINTER ? 'p'
			      : x->is_signed		    ? 'd'
							    : 'u';
		to_number(x, f, arg);
		if (x->kind == ESPY_VAR_ENUM || x->kind == ESPY_VAR_BOOL) {
			const int err = take_words(b, x, arg);

			if (err)
				return err;
		}
		break;
	case ESPY_VAR_ARRAY:
		return refuse(b, "it is an array: name an element, as in x[0]");
	default:
		return refuse(b, "espy knows no way to show a value of its type");
	}
	return to_way(b, &x->way, f);
}

/* Fills in a fetch of the type that the user has chosen. The fetch has the steps that the user wants behind the value.
 */
static int to_chosen(struct binder *b, struct espy_variable *x, const struct espy_probe_fetch *chosen,
		     struct espy_probe_fetch *f)
{
	const bool number = chosen->what == ESPY_PROBE_NUMBER;
	const bool is_address = x->kind == ESPY_VAR_POINTER || x->kind == ESPY_VAR_STRING || x->kind == ESPY_VAR_INT;

	if (x->bits || (!x->way.is_memory && x->way.bit % 64))
		return refuse(b, "it lies in some bits of a number: leave its type out");
	if ((chosen->way_cnt || !number) && is_address && !espy_var_way__follow(&x->way))
		return refuse(b, "it is behind too many pointers");
	if ((chosen->way_cnt || !number) && !x->way.is_memory)
		return refuse(b, "it lies in registers, and not in memory");
	for (unsigned i = 0; i < chosen->way_cnt; i++) {
		if (i && !espy_var_way__follow(&x->way))
			return refuse(b, "it is behind too many pointers");
		espy_var_way__add(&x->way, (uint64_t)(int64_t)chosen->way[i]);
	}
	*f = *chosen;
	f->way_cnt = 0;
	f->value = 0;
	if (!f->size)
		f->size = number && !chosen->way_cnt && (x->size == 1 || x->size == 2 || x->size == 4)
				  ? (uint8_t)x->size
				  : 8;
	return to_way(b, &x->way, f);
}

/* ---- structs */

static int add_variable(struct binder *b, const char *name, struct espy_variable *x, unsigned depth);

struct group {
	struct binder *b;
	const char *name;
	unsigned depth;
	bool more; /* a member is left out */
};

static int add_member(void *ctx, const char *name, const struct espy_variable *member)
{
	struct group *g = ctx;
	char text[ESPY_PROBE_NAME_MAX];
	struct espy_variable x = *member;

	if (!g->b->room || (x.kind == ESPY_VAR_STRUCT && g->depth == DEPTH_MAX) ||
	    (size_t)snprintf(text, sizeof(text), "%s.%s", g->name, name) >= sizeof(text)) {
		g->more = true;
		return 0;
	}
	const int err = add_variable(g->b, text, &x, g->depth + 1);

	g->more |= err == -EINVAL;
	return err == -ENOMEM ? err : 0;
}

static int add_struct(struct binder *b, const char *name, const struct espy_variable *x, unsigned depth)
{
	struct group g = { .b = b, .name = name, .depth = depth };
	int err;

	espy_buf__putc(&b->pending, '{');
	espy_buf__puts(&b->pending, name);
	espy_buf__putc(&b->pending, ' ');
	err = espy_variables__members(b->v, x, add_member, &g);
	espy_buf__puts(&b->pending, g.more ? "... } " : "} ");
	return err;
}

/* Takes the next argument. What begins and ends in front of it is put there. */
static struct espy_probe_arg *next_argument(struct binder *b, const char *name)
{
	struct espy_probe_arg *arg = &b->rule->args[b->rule->plan.arg_cnt];

	*arg = (struct espy_probe_arg){ 0 };
	snprintf(arg->name, sizeof(arg->name), "%s", name);
	return arg;
}

static int keep_argument(struct binder *b, struct espy_probe_arg *arg)
{
	struct espy_probe_plan *plan = &b->rule->plan;

	if (b->pending.len) {
		arg->before = strndup(b->pending.data, b->pending.len);
		if (!arg->before)
			return -ENOMEM;
		b->pending.len = 0;
	}
	plan->memory |= plan->fetches[plan->arg_cnt].what != ESPY_PROBE_NUMBER;
	plan->arg_cnt++;
	return 0;
}

static int add_variable(struct binder *b, const char *name, struct espy_variable *x, unsigned depth)
{
	struct espy_probe_arg *arg;
	int err;

	if (x->kind == ESPY_VAR_STRUCT) {
		b->room += !depth; /* the place of the argument itself serves a member */
		return add_struct(b, name, x, depth);
	}
	arg = next_argument(b, name);
	err = to_argument(b, x, &b->rule->plan.fetches[b->rule->plan.arg_cnt], arg);
	if (err) {
		free(arg->words);
		arg->words = NULL;
		return err;
	}
	b->room -= depth > 0;
	return keep_argument(b, arg);
}

/* ---- rules */

/* Finds a variable. Messages about what lies behind its first name begin with all of it. */
static int find(struct binder *b, const char *expr, struct espy_variable *x)
{
	b->expr = b->v ? expr : NULL;
	if (b->v)
		return espy_variables__find(b->v, expr, x, b->why);
	if (!b->file)
		return refuse(b,
			      "the kernel's types (BTF) tell nothing of this function: name a register (%di) or $arg1");
	return refuse(
		b, "it has no debug information of this place, which knows variables: build it with -g, or install its "
		   "debug symbols (a name of a register begins with %)");
}

/* Adds an argument of the rule. */
static int add_argument(struct binder *b, const struct espy_probe_rule *from, unsigned i)
{
	const struct espy_probe_fetch *chosen = &from->plan.fetches[i];
	struct espy_probe_fetch *f = &b->rule->plan.fetches[b->rule->plan.arg_cnt];
	struct espy_probe_arg *arg;
	struct espy_variable x;
	int err = 0;

	if (chosen->src == ESPY_PROBE_NAMED) {
		err = find(b, from->vars[chosen->value], &x);
		if (err)
			return err;
		if (!from->args[i].letter) {
			if (x.kind == ESPY_VAR_STRUCT && from->result == i + 1)
				return refuse(b, "a struct is no result: name a member of it");
			return add_variable(b, from->args[i].name, &x, 0);
		}
		arg = next_argument(b, from->args[i].name);
		arg->letter = from->args[i].letter;
		err = to_chosen(b, &x, chosen, f);
		return err ? err : keep_argument(b, arg);
	}
	if (!from->args[i].letter && b->v && !espy_variables__find(b->v, "$retval", &x, b->why) &&
	    x.kind != ESPY_VAR_STRUCT && !add_variable(b, from->args[i].name, &x, 0))
		return 0;
	arg = next_argument(b, from->args[i].name);
	arg->letter = from->args[i].letter ? from->args[i].letter : 'x';
	*f = *chosen;
	return keep_argument(b, arg);
}

/* Adds the fetches that tell how many bytes others have. */
static int add_lengths(struct binder *b, const struct espy_probe_rule *from)
{
	struct espy_probe_plan *plan = &b->rule->plan;
	const unsigned first = plan->arg_cnt;

	for (unsigned i = from->plan.arg_cnt; i < from->plan.fetch_cnt; i++) {
		struct espy_probe_fetch *f = &plan->fetches[first + i - from->plan.arg_cnt];
		struct espy_probe_arg look = { 0 };
		struct espy_variable x;
		int err;

		*f = from->plan.fetches[i];
		if (f->src != ESPY_PROBE_NAMED)
			continue;
		err = find(b, from->vars[f->value], &x);
		if (!err && x.kind != ESPY_VAR_INT)
			err = refuse(b, "how many bytes there are is told by an integer");
		err = err ? err : to_argument(b, &x, f, &look);
		if (!err && look.bits)
			err = refuse(b, "a bit field tells no number of bytes here");
		if (err)
			return err;
	}
	for (unsigned i = 0; i < first; i++)
		if (plan->fetches[i].len_arg != ESPY_PROBE_NO_ARG)
			plan->fetches[i].len_arg = (uint8_t)(plan->fetches[i].len_arg - from->plan.arg_cnt + first);
	plan->fetch_cnt = first + from->plan.fetch_cnt - from->plan.arg_cnt;
	return 0;
}

/* Tells whether an argument has this name: a struct that is shown has its members as arguments. */
static bool has_argument(const struct espy_probe_rule *r, const char *name)
{
	for (unsigned i = 0; i < r->plan.arg_cnt; i++)
		if (!strcmp(r->args[i].name, name))
			return true;
	return false;
}

/* Makes the message. One about the first name has it; one about what lies behind it has not. */
static void say_why(const struct binder *b, char why[ESPY_VAR_WHY])
{
	char quoted[ESPY_VAR_WHY];

	snprintf(quoted, sizeof(quoted), "'%.200s'", b->expr ? b->expr : "");
	if (b->expr && !strstr(b->why, quoted))
		snprintf(why, ESPY_VAR_WHY, "%.80s: %.400s", b->expr, b->why);
	else
		snprintf(why, ESPY_VAR_WHY, "%s", b->why);
}

static int add_all(struct binder *b, const struct espy_probe_rule *from)
{
	const unsigned own = from->plan.fetch_cnt + from->condition_var_cnt;
	struct espy_variable x;
	int err = 0;

	if (own > ESPY_MARK_MAX_ARGS)
		return refuse(b, "a probe has at most 16 arguments, and the variables of its condition count, too");
	b->room = ESPY_MARK_MAX_ARGS - own;
	for (unsigned i = 0; i < from->plan.arg_cnt && !err; i++) {
		err = add_argument(b, from, i);
		if (err && err != -ENOMEM && b->lenient) {
			/* What the message says of code without debug information is of no use. */
			if (b->v && !b->missing[0])
				say_why(b, b->missing);
			b->lacks = true;
			err = 0;
			continue;
		}
		if (from->result == i + 1)
			b->rule->result = (uint8_t)b->rule->plan.arg_cnt;
	}
	for (unsigned i = 0; i < from->condition_var_cnt && !err; i++) {
		if (has_argument(b->rule, from->condition_vars[i]))
			continue;
		/* If there is no such variable, the condition is refused with the names that there are. */
		err = b->v ? find(b, from->condition_vars[i], &x) : -ENOENT;
		if (err == -ENOENT) {
			snprintf(b->absent, sizeof(b->absent), "%s", b->v ? b->why : "");
			err = 0;
			continue;
		}
		if (err)
			return err;
		if (x.kind == ESPY_VAR_STRUCT)
			return refuse(b, "a condition compares no struct: name a member of it");
		err = add_variable(b, from->condition_vars[i], &x, 0);
	}
	return err ? err : add_lengths(b, from);
}

void espy_probe_bound__free(struct espy_probe_rule *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < ESPY_MARK_MAX_ARGS; i++) {
		free(r->args[i].words);
		free(r->args[i].before);
	}
	free(r->behind);
	free(r);
}

/* Makes the rule, and closes the names. */
static int bind_rule(struct espy_probe_places *p, const struct espy_probe_rule *rule, struct binder *b,
		     struct espy_probe_rule **out, char why[ESPY_VAR_WHY])
{
	struct espy_probe_rule *r = calloc(1, sizeof(*r));
	int err = r ? 0 : -ENOMEM;
	char unmet[256];

	if (!err) {
		r->where = rule->where;
		r->returns = rule->returns;
		r->condition = rule->condition;
		b->rule = r;
		err = add_all(b, rule);
	}
	if (!err && b->pending.len) {
		espy_buf__putc(&b->pending, 0);
		r->behind = b->pending.failed || asprintf(&r->behind, " %s", b->pending.data) < 0 ? NULL : r->behind;
		err = r->behind ? 0 : -ENOMEM;
	}
	if (err == -ENOENT)
		err = -EINVAL;
	if (err)
		say_why(b, why);
	else if (p->targets->lower(r, unmet, sizeof(unmet))) {
		/* What is known of the variable that the condition names says more. */
		snprintf(why, ESPY_VAR_WHY, "the condition of a probe: %s%s%.200s", unmet, b->absent[0] ? "; " : "",
			 b->absent);
		err = -EINVAL;
	} else {
		memcpy(why, b->missing, ESPY_VAR_WHY);
	}
	espy_buf__free(&b->pending);
	espy_variables__close(b->v);
	if (err) {
		espy_probe_bound__free(r);
		return err;
	}
	*out = r;
	return b->lacks;
}

int espy_probe_bind(struct espy_probe_places *p, const struct espy_probe_rule *rule, struct espy_probe_file *file,
		    uint64_t addr, bool lenient, struct espy_probe_rule **out, char why[ESPY_VAR_WHY])
{
	struct binder b = { .file = file, .addr = addr, .lenient = lenient };
	int err;

	*out = NULL;
	why[0] = 0;
	err = espy_variables__open(&b.v, espy_probe_file__lines(file), addr,
				   (rule->returns ? ESPY_VAR_RETURNS : 0) |
					   (rule->where == ESPY_PROBE_AT_LINE ? ESPY_VAR_INLINED : 0));
	/* Without debug information names are refused later. */
	return err && err != -ENODATA ? err : bind_rule(p, rule, &b, out, why);
}

int espy_probe_bind_kernel(struct espy_probe_places *p, const struct espy_probe_rule *rule, struct espy_variables *v,
			   bool lenient, struct espy_probe_rule **out, char why[ESPY_VAR_WHY])
{
	struct binder b = { .v = v, .lenient = lenient };

	*out = NULL;
	why[0] = 0;
	return bind_rule(p, rule, &b, out, why);
}
