/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/kernel_functions.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/pattern.h"
#include "base/search.h"
#include "source/tracefs.h"

#define FUNCTIONS_MAX 4000000u
#define PIECE_SIZE 65536u

/*
 * Functions that the kernel passes while it holds a lock of a map or ring of BPF, or that take one. A program there
 * would wait for the lock that its own CPU holds.
 */
static const char *const never[] = {
	"_raw_spin_*", "*queued_spin_*", "*res_spin_*",	     "bpf_ringbuf_*",	    "__bpf_ringbuf_*",
	"htab_*",      "__htab_*",	 "*pcpu_freelist_*", "bpf_local_storage_*", "bpf_selem_*",
};

const char *espy_kernel_function__never(const char *name)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (!fnmatch(never[i], name, 0))
			return "espy's own programs pass it with a lock in their hands, and would wait for themselves";
	return NULL;
}

/* ---- names */

struct reader {
	struct espy_kernel_functions *f;
	size_t cap, text_cap, room; /* room: what is left of the last piece */
	const char *module;	    /* the last one: its functions are neighbours */
};

static const char *keep(struct reader *r, const char *text)
{
	struct espy_kernel_functions *f = r->f;
	const size_t size = strlen(text) + 1;
	char *to;

	if (size > PIECE_SIZE)
		return NULL;
	if (r->room < size) {
		if (!espy_array__grow(f->texts, f->text_cnt, r->text_cap) ||
		    !(f->texts[f->text_cnt] = malloc(PIECE_SIZE)))
			return NULL;
		f->text_cnt++;
		r->room = PIECE_SIZE;
	}
	to = f->texts[f->text_cnt - 1] + PIECE_SIZE - r->room;
	r->room -= size;
	return memcpy(to, text, size);
}

/* Cuts "[NAME]" to NAME. Anything else is no module: "". */
static const char *module_of(char *word)
{
	char *end = word ? strchr(word, ']') : NULL;

	if (!end || *word != '[')
		return "";
	*end = 0;
	return word + 1;
}

/* Code that is no function of the kernel's own: programs of BPF, trampolines. */
static bool is_made_code(const char *name, const char *module)
{
	return !strcmp(module, "bpf") || !strncmp(module, "__builtin__", 11) || !strncmp(name, "__pfx_", 6) ||
	       !strncmp(name, "__SCT__", 7);
}

/* Adds the function of a line of kallsyms: ADDRESS TYPE NAME [MODULE]. */
static int add_line(struct reader *r, char *line)
{
	char *rest, *addr = strtok_r(line, " \t\n", &rest), *type = strtok_r(NULL, " \t\n", &rest),
		    *name = strtok_r(NULL, " \t\n", &rest);
	const char *module = module_of(name ? strtok_r(NULL, " \t\n", &rest) : NULL);
	struct espy_kernel_functions *f = r->f;

	if (!name || !strchr("tTwW", *type) || type[1] || is_made_code(name, module))
		return 0;
	if (f->cnt == FUNCTIONS_MAX)
		return -E2BIG;
	if (!espy_array__grow(f->v, f->cnt, r->cap))
		return -ENOMEM;
	if (!r->module || strcmp(r->module, module))
		r->module = keep(r, module);
	f->v[f->cnt] = (struct espy_kernel_function){ .name = keep(r, name),
						      .module = r->module,
						      .addr = strtoull(addr, NULL, 16) };
	if (!r->module || !f->v[f->cnt].name)
		return -ENOMEM;
	f->cnt++;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct espy_kernel_function *x = a, *y = b;
	const int diff = strcmp(x->name, y->name);

	return diff ? diff : x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Returns the first function that is not before the name. */
static size_t first_from(const struct espy_kernel_functions *f, const char *name)
{
	size_t at;

	ESPY_SEARCH(at, f->cnt, strcmp(f->v[at].name, name) >= 0);
	return at;
}

/* ---- which may be probed */

static void mark(struct espy_kernel_functions *f, const char *name, const char *module)
{
	for (size_t i = first_from(f, name); i < f->cnt && !strcmp(f->v[i].name, name); i++)
		if (!strcmp(f->v[i].module, module))
			f->v[i].is_traced = true;
}

/* Reads the functions that begin with a place for probes. */
static int read_traced(struct espy_kernel_functions *f)
{
	const int tracefs = espy_tracefs__open();
	int fd = tracefs < 0 ? tracefs : openat(tracefs, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	char *line = NULL, *rest;
	size_t size = 0;
	int err = fd >= 0 ? 0 : tracefs < 0 ? tracefs : -errno;
	FILE *in = err ? NULL : fdopen(fd, "r");

	if (tracefs >= 0)
		close(tracefs);
	if (!err && !in) {
		err = -errno;
		close(fd);
	}
	while (!err && getline(&line, &size, in) > 0) {
		const char *name = strtok_r(line, " \t\n", &rest);

		if (name)
			mark(f, name, module_of(strtok_r(NULL, " \t\n", &rest)));
	}
	if (in)
		fclose(in);
	free(line);
	return err;
}

int espy_kernel_functions__read(struct espy_kernel_functions *f)
{
	struct reader r = { .f = f };
	FILE *in = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t size = 0;
	int err = in ? 0 : -errno;

	*f = (struct espy_kernel_functions){ .cnt = 0 };
	while (!err && getline(&line, &size, in) > 0)
		err = add_line(&r, line);
	free(line);
	if (in)
		fclose(in);
	if (err)
		return err;
	if (!f->cnt)
		return -ENODATA;
	qsort(f->v, f->cnt, sizeof(*f->v), by_name);
	f->traced_err = read_traced(f);
	return 0;
}

void espy_kernel_functions__free(struct espy_kernel_functions *f)
{
	for (size_t i = 0; i < f->text_cnt; i++)
		free(f->texts[i]);
	free(f->texts);
	free(f->v);
	*f = (struct espy_kernel_functions){ .cnt = 0 };
}

const struct espy_kernel_function *espy_kernel_functions__match(const struct espy_kernel_functions *f,
								const char *pattern, size_t *at)
{
	const bool glob = strpbrk(pattern, "*?");

	if (!*at && !glob)
		*at = first_from(f, pattern);
	while (*at < f->cnt) {
		const struct espy_kernel_function *x = &f->v[(*at)++];

		if (espy_fits(pattern, x->name))
			return x;
		if (!glob)
			break;
	}
	*at = f->cnt;
	return NULL;
}

const char *espy_kernel_functions__near(const struct espy_kernel_functions *f, const char *name,
					struct espy_nearest *near)
{
	const size_t len = strlen(name);

	for (size_t i = first_from(f, name); i < f->cnt && !strncmp(f->v[i].name, name, len); i++)
		if (f->v[i].name[len] == '.')
			return f->v[i].name;
	espy_nearest__begin(near, name, len);
	for (size_t i = 0; i < f->cnt; i++)
		espy_nearest__offer(near, f->v[i].name);
	return near->word;
}
