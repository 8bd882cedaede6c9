/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "filter/tamper_rules.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/edits.h"
#include "base/errno_names.h"
#include "filter/filter_calls.h"
#include "source/tamper.h"

#define ERRNO_MAX 4095
#define WHEN_MAX 65535u
#define POKE_MOST 1024u /* bytes for one argument, as strace takes */

/* A rule in the making, and the kinds of words that it has had. */
struct rule {
	struct espy_tamper t;
	const struct espy_image *const *images;
	bool fault;
	bool when_given, poke_enter_given, poke_exit_given, delay_enter_given, delay_exit_given;
	char why[192]; /* its mistake, in words */
};

static bool read_unsigned(const char *s, uint64_t max, uint64_t *n)
{
	char *end;

	if (!isdigit((unsigned char)s[0]))
		return false;
	errno = 0;
	*n = strtoull(s, &end, 0);
	return !errno && !*end && *n <= max;
}

/* Reads the number of an error: ENOENT or 2. */
static bool read_errno(const char *s, int64_t *err)
{
	uint64_t n;

	if (read_unsigned(s, ERRNO_MAX, &n)) {
		*err = -(int64_t)n;
		return n > 0;
	}
	for (unsigned e = 1; e <= ERRNO_MAX; e++) {
		const char *name = espy_errno_name(e);

		if (name && !strcasecmp(name, s)) {
			*err = -(int64_t)e;
			return true;
		}
	}
	return false;
}

static bool set_error(struct rule *r, const char *value)
{
	if (r->t.has_result || !read_errno(value, &r->t.result))
		return false;
	r->t.has_result = r->t.is_error = true;
	return true;
}

/* Reads the value of a register: 42, 0x2a, -1. */
static bool set_retval(struct rule *r, const char *value)
{
	char *end;

	if (r->t.has_result || r->fault || (!isdigit((unsigned char)value[0]) && value[0] != '-'))
		return false;
	errno = 0;
	const uint64_t n = strtoull(value, &end, 0);

	if (errno || *end || !value[strspn(value, "-")])
		return false;
	r->t.result = (int64_t)n;
	r->t.has_result = true;
	return true;
}

static bool set_signal(struct rule *r, const char *value)
{
	unsigned long n;

	if (r->t.signal || r->fault || !espy_filter_signal(value, strlen(value), &n) || n < 1 || n > 64)
		return false;
	r->t.signal = (int)n;
	return true;
}

/* Reads the call that the task makes in place of the suppressed one: it reads and changes nothing. */
static bool set_call(struct rule *r, const char *value)
{
	bool any = false;

	if (r->t.has_call)
		return false;
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		const struct espy_image *img = r->images[abi];

		r->t.call[abi] = UINT32_MAX;
		for (uint32_t nr = 0; img && nr < img->syscall_cnt; nr++)
			if (img->syscalls[nr].classes & 1ull << ESPY_CLASS_PURE &&
			    !strcmp(espy_image__str(img, img->syscalls[nr].name), value)) {
				r->t.call[abi] = nr;
				any = true;
			}
	}
	r->t.has_call = any;
	return any;
}

/* Reads a delay: 1s, 2ms, 3us, 4ns; 5: microseconds. */
static bool read_delay(const char *s, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "", 1e3 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 } };
	char *end;

	s += *s == '+';
	/* strtod() knows words and hexadecimal numbers, too */
	if ((!isdigit((unsigned char)s[0]) && s[0] != '.') || !strncasecmp(s, "0x", 2))
		return false;
	const double n = strtod(s, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != s && !strcmp(end, units[i].unit) && n * units[i].ns < 1e18) {
			*ns = (uint64_t)(n * units[i].ns);
			return true;
		}
	return false;
}

static bool set_delay(struct rule *r, const char *value, uint64_t *ns, bool *given)
{
	if (*given || r->fault || !read_delay(value, ns))
		return false;
	*given = true;
	return true;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Reads @arg2=414243,@arg3=00: bytes for the memory of some arguments. Returns 0, -EINVAL, -ENOMEM. */
static int set_poke(struct rule *r, const char *value, struct espy_poke *poke, bool *given)
{
	if (*given || r->fault)
		return -EINVAL;
	*given = true;
	for (;;) {
		if (strncmp(value, "@arg", 4) || value[4] < '1' || value[4] > '6' || value[5] != '=')
			return -EINVAL;
		struct espy_poke *p = &poke[value[4] - '1'];
		const char *hex = value + 6;
		const size_t digits = strcspn(hex, ",");

		if (p->bytes || !digits || digits % 2 || digits / 2 > POKE_MOST)
			return -EINVAL;
		p->bytes = malloc(digits / 2);
		if (!p->bytes)
			return -ENOMEM;
		p->len = (uint32_t)(digits / 2);
		for (size_t i = 0; i < digits; i++) {
			const int d = hex_digit(hex[i]);

			if (d < 0)
				return -EINVAL;
			p->bytes[i / 2] = (uint8_t)(i % 2 ? p->bytes[i / 2] << 4 | d : d);
		}
		if (!hex[digits])
			return 0;
		value = hex + digits + 1;
	}
}

static bool read_count(const char **s, uint32_t *n)
{
	uint64_t x = 0;

	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); ++*s) {
		x = x * 10 + (uint64_t)(**s - '0');
		if (x > WHEN_MAX)
			return false;
	}
	*n = (uint32_t)x;
	return x > 0;
}

/* Reads FIRST, FIRST+, FIRST+STEP, FIRST..LAST, FIRST..LAST+STEP. */
static bool set_when(struct rule *r, const char *s)
{
	struct espy_tamper *t = &r->t;

	if (r->when_given || !read_count(&s, &t->first))
		return false;
	r->when_given = true;
	t->last = t->first;
	t->step = 1;
	if (!strncmp(s, "..", 2)) {
		s += 2;
		if (!read_count(&s, &t->last) || t->last < t->first || t->last == WHEN_MAX)
			return false;
	} else if (*s == '+') {
		t->last = UINT32_MAX;
	}
	if (*s == '+') {
		s++;
		if (*s && !read_count(&s, &t->step))
			return false;
	}
	return !*s;
}

static bool set_delay_enter(struct rule *r, const char *value)
{
	return set_delay(r, value, &r->t.delay_enter_ns, &r->delay_enter_given);
}

static bool set_delay_exit(struct rule *r, const char *value)
{
	return set_delay(r, value, &r->t.delay_exit_ns, &r->delay_exit_given);
}

/* The words behind the calls. */
static const struct word {
	const char *name;
	bool (*set)(struct rule *r, const char *value); /* NULL: bytes, see set_word() */
	bool of_fault;
	const char *takes;
} words[] = {
	{ "error", set_error, true, "an error (ENOENT, 2)" },
	{ "retval", set_retval, false, "a number (42, 0x2a, -1), and not beside error=" },
	{ "signal", set_signal, false, "a signal (USR1, 10)" },
	{ "syscall", set_call, true, "a call that changes nothing (getpid)" },
	{ "delay_enter", set_delay_enter, false, "a time (5ms; without a unit, microseconds)" },
	{ "delay_exit", set_delay_exit, false, "a time (5ms; without a unit, microseconds)" },
	{ "poke_enter", NULL, false, "bytes for arguments (@arg2=414243)" },
	{ "poke_exit", NULL, false, "bytes for arguments (@arg2=414243)" },
	{ "when", set_when, true, "which calls (3, 2+, 1..9, 1+2), counted from 1" },
};
#define WORD_CNT (sizeof(words) / sizeof(words[0]))

static void say_unknown(struct rule *r, const char *word, size_t len)
{
	struct espy_nearest near;
	char hint[ESPY_HINT_MAX];

	espy_nearest__begin(&near, word, len);
	for (size_t i = 0; i < WORD_CNT; i++)
		if (words[i].of_fault || !r->fault)
			espy_nearest__offer(&near, words[i].name);
	espy_nearest__hint(&near, hint);
	snprintf(r->why, sizeof(r->why), "there is no '%.*s='%s", (int)len, word,
		 *hint ? hint : r->fault ? "; there are error= and when=" : "; there are error=, retval=, signal=, delay_enter= and others");
}

static void say_value(struct rule *r, const struct word *w, const char *value)
{
	struct espy_nearest near;
	char hint[ESPY_HINT_MAX];

	espy_nearest__begin(&near, value, strlen(value));
	for (unsigned e = 1; w->set == set_error && e <= ERRNO_MAX; e++)
		if (espy_errno_name(e))
			espy_nearest__offer(&near, espy_errno_name(e));
	espy_nearest__hint(&near, hint);
	snprintf(r->why, sizeof(r->why), "%s= takes %s, once%s", w->name, w->takes, hint);
}

/* Takes a word behind the calls. Returns 0, -EINVAL, -ENOMEM. */
static int set_word(struct rule *r, const char *word)
{
	const size_t len = strcspn(word, "=");
	const char *value = word[len] ? word + len + 1 : "";
	const struct word *w = words;
	int err;

	while (w < words + WORD_CNT && (strlen(w->name) != len || strncmp(w->name, word, len)))
		w++;
	if (w == words + WORD_CNT || (r->fault && !w->of_fault)) {
		say_unknown(r, word, len);
		return -EINVAL;
	}
	if (w->set)
		err = w->set(r, value) ? 0 : -EINVAL;
	else if (!strcmp(w->name, "poke_enter"))
		err = set_poke(r, value, r->t.poke_enter, &r->poke_enter_given);
	else
		err = set_poke(r, value, r->t.poke_exit, &r->poke_exit_given);
	if (err == -EINVAL)
		say_value(r, w, value);
	return err;
}

static void free_pokes(struct espy_tamper *t)
{
	for (unsigned i = 0; i < ESPY_TAMPER_ARGS; i++) {
		free(t->poke_enter[i].bytes);
		free(t->poke_exit[i].bytes);
	}
}

static int refuse(struct rule *r, const char *why)
{
	snprintf(r->why, sizeof(r->why), "%s", why);
	return -EINVAL;
}

/* Takes the words of a rule, and cuts `text` at the colons. Returns 0, -EINVAL, -ENOMEM. */
static int read_words(struct rule *r, char *text)
{
	struct espy_tamper *t = &r->t;
	int err = 0;

	for (char *word; !err && (word = strsep(&text, ":"));)
		if (*word)
			err = set_word(r, word);
	if (!err && r->fault && !t->has_result) {
		t->has_result = t->is_error = true;
		t->result = -ENOSYS;
	}
	const bool does = t->has_result || t->signal || r->delay_enter_given || r->delay_exit_given || r->poke_enter_given ||
			  r->poke_exit_given;

	if (!err && t->has_call && !does)
		err = refuse(r, "syscall= needs retval= or error=, which the program sees");
	else if (!err && !does)
		err = refuse(r, "it does not say what is changed (error=ENOENT, retval=0, signal=USR1, delay_enter=5ms, ...)");
	return err;
}

int espy_tamper_rules__add(struct espy_filter *f, const struct espy_image *const images[ESPY_ABI_CNT], const char *text,
			   bool fault, char *err, size_t err_sz)
{
	struct rule r = { .t = { .first = 1, .last = UINT32_MAX, .step = 1 }, .images = images, .fault = fault };
	struct espy_syscall_set calls = { 0 };
	char *copy = strdup(text), *rest = copy;
	int ret = copy ? 0 : -ENOMEM;

	_Static_assert(sizeof(calls.bits) == sizeof(r.t.calls), "both hold a bit for each call");
	if (!ret) {
		char *names = strsep(&rest, ":");

		if (names[strspn(names, "!,")])
			ret = espy_filter_calls__parse(&calls, NULL, images, names, err, err_sz);
		else
			ret = -EINVAL;
		if (ret == -EINVAL && !names[strspn(names, "!,")])
			snprintf(err, err_sz,
				 "invalid system call '%s': the names of calls stand in front (CALLS:error=ENOENT)",
				 names);
		if (!ret)
			ret = read_words(&r, rest ? rest : names + strlen(names));
		if (ret == -EINVAL && *r.why)
			snprintf(err, err_sz, "invalid %s argument '%s': %s", fault ? "fault" : "inject", text, r.why);
	}
	memcpy(r.t.calls, calls.bits, sizeof(r.t.calls));
	struct espy_tamper *more = ret ? NULL : realloc(f->tampers, (f->tamper_cnt + 1) * sizeof(*more));

	if (more) {
		f->tampers = more;
		f->tampers[f->tamper_cnt++] = r.t;
	} else {
		ret = ret ? ret : -ENOMEM;
		free_pokes(&r.t);
	}
	free(copy);
	return ret;
}

void espy_tamper_rules__free(struct espy_filter *f)
{
	for (size_t i = 0; i < f->tamper_cnt; i++)
		free_pokes(&f->tampers[i]);
	free(f->tampers);
	f->tampers = NULL;
	f->tamper_cnt = 0;
}
