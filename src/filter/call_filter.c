/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses filter expressions: the kind of a text, and all kinds but sets of calls (filter_calls.c). */
#include "filter/call_filter.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <espy/espy.h>
#include "base/edits.h"
#include "base/pattern.h"
#include "base/signal_names.h"
#include "filter/filter_calls.h"
#include "filter/marks_select.h"
#include "filter/probe_select.h"
#include "filter/tamper_rules.h"

enum what {
	WHAT_TRACE, WHAT_ABBREV, WHAT_VERBOSE, WHAT_RAW, WHAT_SIGNAL, WHAT_READ, WHAT_WRITE, WHAT_FDS, WHAT_INJECT,
	WHAT_FAULT,
};

static const struct {
	const char *name;
	enum what what;
} qualifiers[] = {
	{ "trace", WHAT_TRACE },     { "t", WHAT_TRACE },	 { "abbrev", WHAT_ABBREV }, { "a", WHAT_ABBREV },
	{ "verbose", WHAT_VERBOSE }, { "v", WHAT_VERBOSE },	 { "raw", WHAT_RAW },	    { "x", WHAT_RAW },
	{ "signal", WHAT_SIGNAL },   { "signals", WHAT_SIGNAL }, { "s", WHAT_SIGNAL },	    { "read", WHAT_READ },
	{ "reads", WHAT_READ },	     { "r", WHAT_READ },	 { "write", WHAT_WRITE },   { "writes", WHAT_WRITE },
	{ "w", WHAT_WRITE },	     { "trace-fds", WHAT_FDS },	 { "trace-fd", WHAT_FDS },  { "fds", WHAT_FDS },
	{ "fd", WHAT_FDS },	     { "inject", WHAT_INJECT },	 { "fault", WHAT_FAULT },
};

void espy_filter__init(struct espy_filter *f)
{
	memset(f, 0, sizeof(*f));
	memset(&f->trace, 0xff, sizeof(f->trace));
	memset(&f->abbrev, 0xff, sizeof(f->abbrev));
	memset(&f->verbose, 0xff, sizeof(f->verbose));
	f->trace_unknown = true;
	f->signals = ~0ull;
	f->status = ESPY_STATUS_ALL;
	f->users = 1;
}

/*
 * Finds the next word of a comma list: *s, of *len bytes. Passes over empty words. Returns false if there is no more.
 */
static bool next_word(const char **s, size_t *len)
{
	*s += strspn(*s, ",");
	*len = strcspn(*s, ",");
	return *len > 0;
}

static int bad_word(char *err, size_t err_sz, const char *what, const char *s, size_t len)
{
	snprintf(err, err_sz, "invalid %s '%.*s'", what, (int)len, s);
	return -EINVAL;
}

bool espy_filter_number(const char *s, size_t len, unsigned long max, unsigned long *out)
{
	unsigned long n = 0;

	if (!len)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)s[i]))
			return false;
		n = n * 10 + (unsigned long)(s[i] - '0');
		if (n > max)
			return false;
	}
	*out = n;
	return true;
}

bool espy_filter_signal(const char *s, size_t len, unsigned long *sig)
{
	struct espy_buf b = { 0 };
	bool found = false;

	if (espy_filter_number(s, len, 255, sig))
		return true;
	if (len > 3 && !strncasecmp(s, "SIG", 3)) {
		s += 3;
		len -= 3;
	}
	if (len == 5 && !strncasecmp(s, "RTMIN", 5)) {
		*sig = 32;
		return true;
	}
	for (unsigned n = 1; n <= 64 && !found; n++) {
		b.len = 0;
		espy_buf__signal(&b, n);
		found = b.len == len + 3 && !strncasecmp(b.data + 3, s, len);
		*sig = n;
	}
	espy_buf__free(&b);
	return found;
}

/* Tells a mistake: "invalid signal 'SIGTREM'; did you mean 'SIGTERM'?" */
static int bad_signal(char *err, size_t err_sz, const char *s, size_t len)
{
	char names[ESPY_SIGNAL_MAX][16], hint[ESPY_HINT_MAX];
	struct espy_nearest near;

	espy_nearest__begin(&near, s, len);
	for (unsigned n = 1; n <= ESPY_SIGNAL_MAX; n++) {
		struct espy_buf b = { 0 };

		espy_buf__signal(&b, n);
		snprintf(names[n - 1], sizeof(names[0]), "%.*s", (int)b.len, b.data);
		espy_buf__free(&b);
		espy_nearest__offer(&near, names[n - 1]);
	}
	snprintf(err, err_sz, "invalid signal '%.*s'%s", (int)len, s, espy_nearest__hint(&near, hint));
	return -EINVAL;
}

static int parse_signals(uint64_t *set, const char *s, char *err, size_t err_sz)
{
	const char *whole = s;
	bool negate = false, any = false;
	uint64_t got = 0;
	size_t len;

	for (; *s == '!'; s++)
		negate = !negate;
	if (!strcmp(s, "all")) {
		got = ~0ull;
	} else if (strcmp(s, "none")) {
		for (; next_word(&s, &len); s += len, any = true) {
			unsigned long sig;

			if (!espy_filter_signal(s, len, &sig))
				return bad_signal(err, err_sz, s, len);
			else if (sig >= 1 && sig <= 64)
				got |= 1ull << (sig - 1);
		}
		if (!any)
			return bad_word(err, err_sz, "signal", whole, strlen(whole));
	}
	*set = negate ? ~got : got;
	return 0;
}

static int parse_fds(struct espy_fd_set *set, const char *s, char *err, size_t err_sz)
{
	const char *whole = s;
	struct espy_fd_set got = { .given = true };
	bool any = false;
	size_t len;

	for (; *s == '!'; s++)
		got.negated = !got.negated;
	if (!strcmp(s, "all")) {
		got.negated = !got.negated;
	} else if (strcmp(s, "none")) {
		for (; next_word(&s, &len); s += len, any = true) {
			unsigned long fd;

			if (!espy_filter_number(s, len, 0x7fffffff, &fd)) {
				free(got.fds);
				return bad_word(err, err_sz, "descriptor", s, len);
			}
			int *more = realloc(got.fds, (got.fd_cnt + 1) * sizeof(*more));
			if (!more) {
				free(got.fds);
				return -ENOMEM;
			}
			got.fds = more;
			more[got.fd_cnt++] = (int)fd;
		}
		if (!any)
			return bad_word(err, err_sz, "descriptor", whole, strlen(whole));
	}
	free(set->fds);
	*set = got;
	return 0;
}

/* Drops a set of "none": then no source need capture more bytes than the text shows. */
static void drop_if_empty(struct espy_fd_set *set)
{
	if (!set->fd_cnt && !set->negated)
		set->given = false;
}

/*
 * Finds the kind of an expression. *rest: the text behind "KIND=". Without a kind it selects calls. -EINVAL: a
 * mistyped kind.
 */
static int find_kind(const char *expr, enum what *what, const char **rest, char *err, size_t err_sz)
{
	const size_t len = strcspn(expr, "=");
	struct espy_nearest near;
	char hint[ESPY_HINT_MAX];

	*what = WHAT_TRACE;
	*rest = expr;
	espy_nearest__begin(&near, expr, expr[len] ? len : 0);
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++) {
		if (expr[len] && espy_is_word(expr, len, qualifiers[i].name)) {
			*what = qualifiers[i].what;
			*rest = expr + len + 1;
			return 0;
		}
		espy_nearest__offer(&near, qualifiers[i].name);
	}
	if (!near.word)
		return 0;
	snprintf(err, err_sz, "invalid expression '%s': there is no '%.*s='%s", expr, (int)len, expr, espy_nearest__hint(&near, hint));
	return -EINVAL;
}

int espy_filter__parse(struct espy_filter *f, const struct espy_image *const images[ESPY_ABI_CNT], const char *expr,
		       char *err, size_t err_sz)
{
	enum what what;
	const char *s;
	int ret;

	err[0] = 0;
	ret = find_kind(expr, &what, &s, err, err_sz);
	if (ret)
		return ret;
	switch (what) {
	case WHAT_TRACE:
		ret = espy_filter_calls__parse(&f->trace, &f->trace_unknown, images, s, err, err_sz);
		if (!ret)
			f->trace_given = true;
		f->io_uring |= strstr(s, "@io_uring") != NULL;
		break;
	case WHAT_ABBREV:
		ret = espy_filter_calls__parse(&f->abbrev, NULL, images, s, err, err_sz);
		break;
	case WHAT_VERBOSE:
		ret = espy_filter_calls__parse(&f->verbose, NULL, images, s, err, err_sz);
		break;
	case WHAT_RAW:
		ret = espy_filter_calls__parse(&f->raw, NULL, images, s, err, err_sz);
		break;
	case WHAT_SIGNAL:
		ret = parse_signals(&f->signals, s, err, err_sz);
		break;
	case WHAT_READ:
		ret = parse_fds(&f->read, s, err, err_sz);
		drop_if_empty(&f->read);
		break;
	case WHAT_WRITE:
		ret = parse_fds(&f->write, s, err, err_sz);
		drop_if_empty(&f->write);
		break;
	case WHAT_FDS:
		ret = parse_fds(&f->fds, s, err, err_sz);
		break;
	case WHAT_INJECT:
	case WHAT_FAULT:
		ret = espy_tamper_rules__add(f, images, s, what == WHAT_FAULT, err, err_sz);
		break;
	}
	if (ret == -ENOMEM)
		snprintf(err, err_sz, "out of memory");
	return ret;
}

int espy_filter__add_path(struct espy_filter *f, const char *path)
{
	for (size_t i = 0; i < f->path_cnt; i++)
		if (!strcmp(f->paths[i], path))
			return 0;
	char **paths = realloc(f->paths, (f->path_cnt + 1) * sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	f->paths = paths;
	paths[f->path_cnt] = strdup(path);
	if (!paths[f->path_cnt])
		return -ENOMEM;
	f->path_cnt++;
	return 0;
}

void espy_filter__free(struct espy_filter *f)
{
	for (size_t i = 0; i < f->path_cnt; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->read.fds);
	free(f->write.fds);
	free(f->fds.fds);
	espy_tamper_rules__free(f);
	espy_marks_select__free(&f->marks);
	espy_probe_select__free(&f->probes);
	free(f->tasks);
	for (size_t i = 0; i < f->where_cnt; i++)
		free(f->where[i]);
	free(f->where);
	memset(f, 0, sizeof(*f));
}
