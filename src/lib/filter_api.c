/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Filters of the public interface. A filter that an engine has is not changed any more: the engine shares it. */
#include <errno.h>
#include <espy/espy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/pattern.h"
#include "base/status_words.h"
#include "describe/builtin.h"
#include "filter/call_filter.h"
#include "filter/marks_select.h"
#include "filter/probe_select.h"

/* The built-in descriptions, which know the names of calls. */
struct names {
	struct espy_image images[ESPY_ABI_CNT];
	const struct espy_image *of[ESPY_ABI_CNT];
};

static int open_names(struct names *n)
{
	for (unsigned abi = 0; abi < ESPY_ABI_CNT; abi++) {
		int err = espy_builtin_image__open(&n->images[abi], (enum espy_abi)abi);

		if (err)
			return err;
		n->of[abi] = &n->images[abi];
	}
	return 0;
}

int espy_filter_new(struct espy_filter **out)
{
	struct espy_filter *f = out ? malloc(sizeof(*f)) : NULL;

	if (!out)
		return -EINVAL;
	if (!f)
		return -ENOMEM;
	espy_filter__init(f);
	*out = f;
	return 0;
}

void espy_filter_free(struct espy_filter *f)
{
	if (!f || __atomic_sub_fetch(&f->users, 1, __ATOMIC_ACQ_REL))
		return;
	espy_filter__free(f);
	free(f);
}

static int may_change(const struct espy_filter *f)
{
	if (!f)
		return -EINVAL;
	return __atomic_load_n(&f->users, __ATOMIC_ACQUIRE) > 1 ? -EBUSY : 0;
}

static void set_why(char *why, size_t why_size, const char *text)
{
	if (why_size)
		snprintf(why, why_size, "%s", text);
}

/* status=successful,failed */
static int select_status(struct espy_filter *f, const char *words, char *why, size_t why_size)
{
	static const struct {
		const char *word;
		unsigned status;
	} table[] = {
		ESPY_STATUS_WORDS,
		{ "all", ESPY_STATUS_ALL },
		{ "none", 0 },
	};
	const bool negated = words[0] == '!';
	unsigned status = 0;

	for (const char *w = words + negated;; w++) {
		const size_t len = strcspn(w, ",");
		size_t i = 0;

		while (i < sizeof(table) / sizeof(table[0]) && !espy_is_word(w, len, table[i].word))
			i++;
		if (i == sizeof(table) / sizeof(table[0])) {
			if (why_size)
				snprintf(why, why_size, "invalid status '%.*s'", (int)len, w);
			return -EINVAL;
		}
		status |= table[i].status;
		w += len;
		if (!*w)
			break;
	}
	f->status = negated ? ESPY_STATUS_ALL & ~status : status;
	return 0;
}

int espy_filter_select(struct espy_filter *f, const char *expression, char *why, size_t why_size)
{
	char unread[1];
	struct names *n;
	int err = may_change(f);

	if (err || !expression)
		return err ? err : -EINVAL;
	set_why(why, why_size, "");
	if (!strncmp(expression, "status=", 7))
		return select_status(f, expression + 7, why, why_size);
	n = malloc(sizeof(*n));
	if (!n)
		return -ENOMEM;
	err = open_names(n);
	if (err)
		set_why(why, why_size, "the built-in descriptions are damaged");
	else
		err = espy_filter__parse(f, n->of, expression, why_size ? why : unread, why_size ? why_size : 1);
	free(n);
	return err;
}

int espy_filter_path(struct espy_filter *f, const char *path)
{
	int err = may_change(f);

	return err ? err : path ? espy_filter__add_path(f, path) : -EINVAL;
}

int espy_filter_paths_as_written(struct espy_filter *f)
{
	int err = may_change(f);

	if (!err)
		f->paths_as_written = true;
	return err;
}

int espy_filter_where(struct espy_filter *f, const char *condition)
{
	int err = may_change(f);
	char **more, *text;

	if (err || !condition)
		return err ? err : -EINVAL;
	text = strdup(condition);
	more = text ? reallocarray(f->where, f->where_cnt + 1, sizeof(*more)) : NULL;
	if (!more) {
		free(text);
		return -ENOMEM;
	}
	f->where = more;
	more[f->where_cnt++] = text;
	return 0;
}

int espy_filter_mark(struct espy_filter *f, const char *rule, size_t *at, char *why, size_t why_size)
{
	char unread[1];
	size_t nowhere;
	int err = may_change(f);

	if (err || !rule)
		return err ? err : -EINVAL;
	set_why(why, why_size, "");
	return espy_marks_select__add(&f->marks, rule, at ? at : &nowhere, why_size ? why : unread,
				      why_size ? why_size : 1);
}

static int add_probe(struct espy_filter *f, const char *text, size_t *at, char *why, size_t why_size,
		     int (*add)(struct espy_probe_rules *r, const char *text, size_t *at, char *why, size_t why_sz))
{
	char unread[1];
	size_t nowhere;
	int err = may_change(f);

	if (err || !text)
		return err ? err : -EINVAL;
	set_why(why, why_size, "");
	return add(&f->probes, text, at ? at : &nowhere, why_size ? why : unread, why_size ? why_size : 1);
}

int espy_filter_probe(struct espy_filter *f, const char *probe, size_t *at, char *why, size_t why_size)
{
	return add_probe(f, probe, at, why, why_size, espy_probe_select__add);
}

int espy_filter_tracepoint(struct espy_filter *f, const char *tracepoint, size_t *at, char *why, size_t why_size)
{
	return add_probe(f, tracepoint, at, why, why_size, espy_probe_select__add_tracepoint);
}

int espy_filter_task(struct espy_filter *f, pid_t pid)
{
	int err = may_change(f);
	pid_t *more;

	if (err || pid <= 0)
		return err ? err : -EINVAL;
	more = reallocarray(f->tasks, f->task_cnt + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	f->tasks = more;
	more[f->task_cnt++] = pid;
	return 0;
}

int espy_filter_status(struct espy_filter *f, unsigned status)
{
	int err = may_change(f);

	if (err || status & ~(unsigned)ESPY_STATUS_ALL)
		return err ? err : -EINVAL;
	f->status = status;
	return 0;
}

bool espy_filter_has(const struct espy_filter *f, enum espy_filter_part part)
{
	if (!f)
		return false;
	if (part == ESPY_FILTER_CALLS)
		return f->trace_given || f->path_cnt || f->fds.given;
	if (part == ESPY_FILTER_DUMPS)
		return f->read.given || f->write.given;
	return part == ESPY_FILTER_MARKS ? f->marks.cnt : part == ESPY_FILTER_PROBES && f->probes.cnt;
}
