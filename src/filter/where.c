/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/where.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "filter/call_names.h"
#include "filter/call_values.h"
#include "filter/lower_trigger.h"

#define TEXTS_MAX 16u
#define FORMS_MAX 4096u
#define UNBOUND 0xffffu
#define OTHER_CALLS ESPY_MAX_SYSCALLS /* the place of all numbers beyond the tables */

/* The condition for a call. Many calls have the same form. */
struct form {
	struct espy_predicate whole, near, rest; /* near: the kernel can test it */
	struct espy_evaluator *all, *behind;	 /* of whole, of rest */
	bool never;
};

struct espy_where {
	struct espy_condition *conditions[TEXTS_MAX];
	size_t condition_cnt;
	const struct espy_image *images;
	struct form **forms;
	size_t form_cnt;
	uint16_t by_call[ESPY_ABI_CNT][ESPY_MAX_SYSCALLS + 1];
	struct espy_decoder decoder;
};

/* ---- binding */

/* Joins the tests of `more` behind those of p: both must hold. Returns false if there is no room. */
static bool join(struct espy_predicate *p, const struct espy_predicate *more)
{
	const uint32_t base = p->test_cnt, text = p->text_len, names = p->name_cnt;

	if (base + more->test_cnt > ESPY_PREDICATE_TESTS || names + more->name_cnt > ESPY_PREDICATE_NAMES ||
	    text + more->text_len > ESPY_PREDICATE_TEXT)
		return false;
	memcpy(p->text + text, more->text, more->text_len);
	p->text_len += more->text_len;
	for (uint32_t i = 0; i < more->name_cnt; i++) {
		p->names[names + i] = more->names[i];
		p->names[names + i].text += text;
	}
	p->name_cnt += more->name_cnt;
	for (uint32_t i = 0; more->test_cnt && i < base; i++) {
		p->tests[i].yes = p->tests[i].yes == ESPY_TEST_HOLDS ? (uint16_t)base : p->tests[i].yes;
		p->tests[i].no = p->tests[i].no == ESPY_TEST_HOLDS ? (uint16_t)base : p->tests[i].no;
	}
	for (uint32_t i = 0; i < more->test_cnt; i++) {
		struct espy_test *t = &p->tests[base + i];

		*t = more->tests[i];
		t->name = (uint8_t)(t->name + names);
		t->text += t->type == ESPY_VALUE_TEXT ? text : 0;
		t->yes = t->yes >= ESPY_TEST_HOLDS ? t->yes : (uint16_t)(t->yes + base);
		t->no = t->no >= ESPY_TEST_HOLDS ? t->no : (uint16_t)(t->no + base);
	}
	p->test_cnt += more->test_cnt;
	return true;
}

/* Binds one condition to one call. bound and e as in espy_condition__bind. */
static int bind_one(const struct espy_where *w, size_t which, struct espy_call_names *call, struct espy_predicate *p,
		    uint8_t *bound, struct espy_condition_error *e)
{
	struct espy_names names = espy_call_names(call);

	names.lenient = true;
	return espy_condition__bind(w->conditions[which], &names, p, bound, e);
}

static void free_form(struct form *f)
{
	if (!f)
		return;
	espy_evaluator__free(f->all);
	espy_evaluator__free(f->behind);
	free(f);
}

static int new_form(struct espy_where *w, const struct espy_predicate *p, uint16_t *place)
{
	struct form *f, **forms;

	for (size_t i = 0; i < w->form_cnt; i++)
		if (espy_predicate__same(&w->forms[i]->whole, p)) {
			*place = (uint16_t)i;
			return 0;
		}
	if (w->form_cnt == FORMS_MAX)
		return -ENOMEM;
	f = calloc(1, sizeof(*f));
	forms = realloc(w->forms, (w->form_cnt + 1) * sizeof(*forms));
	if (forms)
		w->forms = forms;
	if (!f || !forms) {
		free(f);
		return -ENOMEM;
	}
	f->whole = *p;
	f->never = espy_predicate__is_never(p);
	espy_predicate__split(p, espy_lower_trigger__takes, NULL, &f->near, &f->rest);
	if (espy_evaluator__new(&f->all, &f->whole) || espy_evaluator__new(&f->behind, &f->rest)) {
		free_form(f);
		return -ENOMEM;
	}
	*place = (uint16_t)w->form_cnt;
	w->forms[w->form_cnt++] = f;
	return 0;
}

/* Binds the conditions to a call that is met for the first time; NULL: no memory. */
static __attribute__((noinline)) struct form *bind_form(struct espy_where *w, enum espy_abi abi, uint32_t nr, uint16_t *place)
{
	struct espy_call_names call = { .image = &w->images[abi], .nr = nr };
	struct espy_predicate all = { .test_cnt = 0 }, one;
	struct espy_condition_error e = { .at = 0 };

	for (size_t i = 0; i < w->condition_cnt; i++) {
		if (bind_one(w, i, &call, &one, NULL, &e))
			return NULL;
		espy_call_names__fold(&call, &one);
		/* espy_where__new has checked that they fit together. */
		if (!join(&all, &one))
			return NULL;
	}
	espy_predicate__fold(&all, NULL, NULL);
	return new_form(w, &all, place) ? NULL : w->forms[*place];
}

/* Returns the form for a call; NULL: no memory. It runs for each record, so bind_form has the large stack. */
static struct form *form_of(struct espy_where *w, enum espy_abi abi, uint32_t nr)
{
	uint16_t *place = &w->by_call[abi][nr < ESPY_MAX_SYSCALLS ? nr : OTHER_CALLS];

	return *place != UNBOUND ? w->forms[*place] : bind_form(w, abi, nr, place);
}

/* ---- the object */

static void forget_all(struct espy_where *w)
{
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		espy_where__forget(w, (enum espy_abi)abi);
}

void espy_where__forget(struct espy_where *w, enum espy_abi abi)
{
	memset(w->by_call[abi], 0xff, sizeof(w->by_call[abi]));
}

/* Checks that all conditions together fit into one predicate. 0, or -errno. */
static int try_join(struct espy_where *w, size_t *which, struct espy_condition_error *e)
{
	struct espy_call_names call = { .image = &w->images[0], .nr = ~0u };
	struct espy_predicate all = { .test_cnt = 0 }, one;

	for (*which = 0; *which < w->condition_cnt; ++*which) {
		int err = bind_one(w, *which, &call, &one, NULL, e);

		if (err)
			return err;
		if (!join(&all, &one)) {
			*e = (struct espy_condition_error){ .text = "with the conditions before it this is too long" };
			return -EINVAL;
		}
	}
	return 0;
}

int espy_where__new(struct espy_where **out, const char *const *texts, size_t cnt, const struct espy_image *images,
		    size_t *which, struct espy_condition_error *e)
{
	struct espy_where *w = calloc(1, sizeof(*w));
	int err = 0;

	*out = NULL;
	*which = 0;
	if (!w)
		return -ENOMEM;
	w->images = images;
	forget_all(w);
	for (; *which < cnt && !err; ++*which) {
		if (*which == TEXTS_MAX) {
			*e = (struct espy_condition_error){ .text = "there are too many conditions; && joins them" };
			err = -EINVAL;
			break;
		}
		w->conditions[*which] = malloc(sizeof(*w->conditions[0]));
		if (!w->conditions[*which]) {
			err = -ENOMEM;
			break;
		}
		w->condition_cnt++;
		err = espy_condition__parse(w->conditions[*which], texts[*which], e);
		if (err)
			break;
	}
	err = err ? err : try_join(w, which, e);
	if (err) {
		espy_where__free(w);
		return err;
	}
	*out = w;
	return 0;
}

void espy_where__free(struct espy_where *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->condition_cnt; i++)
		free(w->conditions[i]);
	for (size_t i = 0; i < w->form_cnt; i++)
		free_form(w->forms[i]);
	free(w->forms);
	espy_decoder__free(&w->decoder);
	free(w);
}

/* ---- values of the calls */

struct found {
	uint8_t bound[ESPY_CONDITION_TERMS];
	struct espy_condition_error errors[16]; /* of names that a call has, but that cannot be compared so */
	size_t error_cnt;
};

static void keep_error(struct found *f, const struct espy_condition_error *e)
{
	for (size_t i = 0; i < f->error_cnt; i++)
		if (f->errors[i].at == e->at)
			return;
	if (f->error_cnt < sizeof(f->errors) / sizeof(f->errors[0]))
		f->errors[f->error_cnt++] = *e;
}

/* Finds the first value that no call has, or that no call's value can be compared with. Returns 0: there is none. */
static int judge(const struct espy_condition *c, const struct found *f, struct espy_condition_error *e)
{
	for (uint32_t i = 0; i < c->node_cnt; i++) {
		const struct espy_condition_node *n = &c->nodes[i];

		for (uint32_t t = n->a; n->kind == ESPY_CONDITION_TEST && t < (uint32_t)n->a + n->b; t++) {
			if ((t > n->a && c->terms[t - 1].joined) || f->bound[t] & ESPY_BOUND_ALL)
				continue;
			if (!(f->bound[t] & ESPY_BOUND_NAME)) {
				e->at = n->at;
				snprintf(e->text, sizeof(e->text), "no system call that is watched has '%s'", c->text + n->name);
				return -EINVAL;
			}
			for (size_t k = 0; k < f->error_cnt; k++)
				if (f->errors[k].at == c->terms[t].at || f->errors[k].at == n->op_at) {
					*e = f->errors[k];
					return -EINVAL;
				}
			e->at = c->terms[t].at;
			snprintf(e->text, sizeof(e->text), "%s cannot be compared with this in any system call",
				 c->text + n->name);
			return -EINVAL;
		}
	}
	return 0;
}

/* Checks one condition against all watched calls. */
static int look_at(struct espy_where *w, size_t which, const struct espy_syscall_set *set, struct espy_condition_error *e)
{
	struct found f = { .error_cnt = 0 };
	struct espy_predicate p;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < w->images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			struct espy_call_names call = { .image = &w->images[abi], .nr = nr };
			struct espy_condition_error own = { .at = 0 };

			if (!espy_syscall_set__has(set, (enum espy_abi)abi, nr) ||
			    !*espy_image__str(call.image, call.image->syscalls[nr].name))
				continue;
			if (bind_one(w, which, &call, &p, f.bound, &own)) {
				*e = own;
				return -EINVAL;
			}
			if (*own.text)
				keep_error(&f, &own);
		}
	return judge(w->conditions[which], &f, e);
}

int espy_where__restrict(struct espy_where *w, struct espy_syscall_set *set, size_t *which, struct espy_condition_error *e)
{
	bool any = false;

	for (*which = 0; *which < w->condition_cnt; ++*which) {
		int err = look_at(w, *which, set, e);

		if (err)
			return err;
	}
	*which = 0;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < ESPY_MAX_SYSCALLS; nr++) {
			const struct form *f;

			if (!espy_syscall_set__has(set, (enum espy_abi)abi, nr))
				continue;
			f = form_of(w, (enum espy_abi)abi, nr);
			if (!f)
				return -ENOMEM;
			if (f->never)
				set->bits[abi][nr / 64] &= ~(1ull << (nr % 64));
			any |= !f->never && nr < w->images[abi].syscall_cnt &&
			       *espy_image__str(&w->images[abi], w->images[abi].syscalls[nr].name);
		}
	if (any)
		return 0;
	*e = (struct espy_condition_error){ .text = "this holds for no system call that is watched" };
	return -EINVAL;
}

static uint8_t what_of(const struct espy_predicate *p, const struct espy_test *t)
{
	return espy_call_ref(p->names[t->name].ref).what;
}

static unsigned asks(const struct espy_predicate *p)
{
	unsigned bits = 0;

	for (uint32_t i = 0; i < p->test_cnt; i++) {
		const uint8_t what = what_of(p, &p->tests[i]);

		bits |= what == ESPY_CALL_FD_PATH ? ESPY_WHERE_FD_PATHS :
			what == ESPY_CALL_DURATION ? ESPY_WHERE_DURATION : 0;
	}
	return bits;
}

unsigned espy_where__asks(struct espy_where *w, const struct espy_syscall_set *set)
{
	unsigned bits = 0;

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < ESPY_MAX_SYSCALLS; nr++) {
			const struct form *f = espy_syscall_set__has(set, (enum espy_abi)abi, nr) ?
						       form_of(w, (enum espy_abi)abi, nr) : NULL;

			bits |= f && !f->never ? asks(&f->whole) : 0;
		}
	return bits;
}

/* ---- events */

bool espy_where__holds(struct espy_where *w, const struct espy_call_view *v, bool tested, struct espy_state *state)
{
	struct espy_call_values values = { .view = v, .state = state, .decoder = &w->decoder };
	const struct form *f = form_of(w, (enum espy_abi)v->image->abi, v->nr);

	/* Without a result the kernel has tested nothing. */
	return f && espy_evaluator__holds(tested && v->has_exit && !v->no_return ? f->behind : f->all,
					  espy_call_values__get, &values);
}

bool espy_where__knows_at_entry(struct espy_where *w, enum espy_abi abi, uint32_t nr)
{
	const struct form *f = form_of(w, abi, nr);

	for (uint32_t i = 0; f && i < f->whole.test_cnt; i++)
		switch (what_of(&f->whole, &f->whole.tests[i])) {
		case ESPY_CALL_PID:
		case ESPY_CALL_TID:
		case ESPY_CALL_COMM:
		case ESPY_CALL_UID:
		case ESPY_CALL_CGROUP:
		case ESPY_CALL_NAME:
		case ESPY_CALL_ARG:
		case ESPY_CALL_FD_PATH:
			break;
		default:
			return false;
		}
	return f;
}

/* ---- the kernel */

static bool is_early(void *ctx, const struct espy_predicate *p, uint32_t first, uint32_t end)
{
	(void)ctx;
	for (uint32_t i = first; i < end; i++)
		if (what_of(p, &p->tests[i]) == ESPY_CALL_TEXT)
			return false;
	return true;
}

bool espy_where__kernel_part(struct espy_where *w, enum espy_abi abi, uint32_t nr, struct espy_trigger *early,
			     struct espy_trigger *late)
{
	const struct form *f = form_of(w, abi, nr);
	struct espy_predicate before, after;
	uint32_t which;

	early->test_cnt = late->test_cnt = 0;
	if (!f)
		return false;
	espy_predicate__split(&f->near, is_early, NULL, &before, &after);
	if (espy_lower_trigger(&before, early, &which) || espy_lower_trigger(&after, late, &which)) {
		early->test_cnt = late->test_cnt = 0;
		return false;
	}
	return true;
}

/* ---- as text */

#define NAMES_SHOWN 8u

/* Prints the tests of the kernel and those of espy, for one form. */
static void print_form(const struct form *f, bool split, struct espy_buf *out)
{
	espy_buf__puts(out, ": the kernel tests ");
	if (split && f->near.test_cnt)
		espy_predicate__print(&f->near, out);
	else
		espy_buf__puts(out, f->whole.test_cnt ? "nothing" : "nothing, all are wanted");
	if (split ? f->rest.test_cnt : f->whole.test_cnt) {
		espy_buf__puts(out, "; espy tests ");
		espy_predicate__print(split ? &f->rest : &f->whole, out);
	}
}

/* Prints the names of the calls of the set with the same text, and takes them out of `left`. */
static void print_calls(struct espy_where *w, struct espy_syscall_set *left, const struct espy_buf *texts, uint16_t form,
			struct espy_buf *out)
{
	static const char *const suffix[ESPY_ABI_CNT] = { "", "@32", "@x32", "@io_uring" };
	unsigned cnt = 0;
	char more[32];

	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < w->images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			const char *name = espy_image__str(&w->images[abi], w->images[abi].syscalls[nr].name);
			const uint16_t other = w->by_call[abi][nr];

			if (!espy_syscall_set__has(left, (enum espy_abi)abi, nr) || other == UNBOUND ||
			    texts[other].len != texts[form].len ||
			    memcmp(texts[other].data, texts[form].data, texts[form].len))
				continue;
			left->bits[abi][nr / 64] &= ~(1ull << (nr % 64));
			if (*name && ++cnt <= NAMES_SHOWN) {
				espy_buf__puts(out, cnt > 1 ? ", " : "");
				espy_buf__puts(out, name);
				espy_buf__puts(out, suffix[abi]);
			}
		}
	if (cnt > NAMES_SHOWN) {
		snprintf(more, sizeof(more), " and %u more", cnt - NAMES_SHOWN);
		espy_buf__puts(out, more);
	}
}

void espy_where__explain(struct espy_where *w, const struct espy_syscall_set *set, bool kernel, struct espy_buf *out)
{
	struct espy_syscall_set left = *set;
	struct espy_buf *texts = calloc(w->form_cnt + 1, sizeof(*texts));

	for (unsigned abi = 0; texts && abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < w->images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			const uint16_t form = w->by_call[abi][nr];
			struct espy_trigger early, late;

			/* espy_where__restrict has bound every call of the set. */
			if (espy_syscall_set__has(&left, (enum espy_abi)abi, nr) && form != UNBOUND && !texts[form].len)
				print_form(w->forms[form],
					   kernel && abi != ESPY_ABI_IO_URING &&
						   espy_where__kernel_part(w, (enum espy_abi)abi, nr, &early, &late),
					   &texts[form]);
		}
	for (unsigned abi = 0; texts && abi < ESPY_ABI_CNT; abi++)
		for (uint32_t nr = 0; nr < w->images[abi].syscall_cnt && nr < ESPY_MAX_SYSCALLS; nr++) {
			const uint16_t form = w->by_call[abi][nr];

			if (!espy_syscall_set__has(&left, (enum espy_abi)abi, nr) || form == UNBOUND ||
			    !*espy_image__str(&w->images[abi], w->images[abi].syscalls[nr].name))
				continue;
			print_calls(w, &left, texts, form, out);
			espy_buf__put(out, texts[form].data, texts[form].len);
			espy_buf__putc(out, '\n');
		}
	for (size_t i = 0; texts && i < w->form_cnt; i++)
		espy_buf__free(&texts[i]);
	free(texts);
}
