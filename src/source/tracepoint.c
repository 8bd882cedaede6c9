/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/tracepoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/pattern.h"

#define FORMAT_MAX 32768u
#define RECORD_MAX 8192u /* PERF_MAX_TRACE_SIZE */

static bool is_name_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Parses the declaration [at, end) of a field, `char comm[16]`: its name and its form. Returns false if it has none. */
static bool parse_declaration(struct espy_tracepoint_field *f, const char *at, const char *end)
{
	static const char loc[] = "__data_loc ", relative[] = "__rel_loc ";
	const bool elsewhere = !strncmp(at, loc, sizeof(loc) - 1);
	const char *array = memchr(at, '[', (size_t)(end - at)), *name_end = end, *name;

	if (!strncmp(at, relative, sizeof(relative) - 1))
		return false;
	/* The brackets stand behind the name; the brackets of a __data_loc stand in front of it. */
	if (array && !elsewhere)
		name_end = array;
	for (name = name_end; name > at && is_name_byte(name[-1]);)
		name--;
	if (name == name_end)
		return false;
	snprintf(f->name, sizeof(f->name), "%.*s", (int)(name_end - name), name);
	const size_t type = (size_t)(name - at);
	char text[128];

	snprintf(text, sizeof(text), "%.*s", (int)type, at);
	const bool is_text = strstr(text, "char") && !strstr(text, "unsigned char") && !strchr(text, '*');

	if (elsewhere)
		f->kind = is_text ? ESPY_FIELD_TEXT_ELSEWHERE : ESPY_FIELD_BYTES_ELSEWHERE;
	else if (array)
		f->kind = is_text ? ESPY_FIELD_TEXT : ESPY_FIELD_BYTES;
	else
		f->kind = strchr(text, '*') ? ESPY_FIELD_POINTER : ESPY_FIELD_NUMBER;
	return true;
}

/* Parses a line `field:DECLARATION; offset:N; size:N; signed:N;`. Returns false if espy cannot show such a field. */
static bool parse_field(struct espy_tracepoint_field *f, const char *at)
{
	const char *end = at + strcspn(at, ";\n");
	unsigned offset, size, is_signed = 0;

	if (*end != ';' || sscanf(end, "; offset:%u; size:%u; signed:%u;", &offset, &size, &is_signed) < 2)
		return false;
	if (offset > RECORD_MAX || size > RECORD_MAX - offset || !size || !parse_declaration(f, at, end))
		return false;
	f->offset = (uint16_t)offset;
	f->size = (uint16_t)size;
	f->is_signed = is_signed;
	if (f->kind == ESPY_FIELD_TEXT_ELSEWHERE || f->kind == ESPY_FIELD_BYTES_ELSEWHERE)
		return size == 4;
	if (f->kind == ESPY_FIELD_NUMBER && size != 1 && size != 2 && size != 4 && size != 8)
		f->kind = ESPY_FIELD_BYTES; /* a struct */
	return f->kind != ESPY_FIELD_POINTER || size == 8;
}

bool espy_tracepoint__parse(struct espy_tracepoint *t, const char *format)
{
	static const char before[] = "field:", common[] = "common_";
	unsigned long long id;
	const char *at;

	memset(t, 0, sizeof(*t));
	at = strstr(format, "\nID:");
	if (!at || sscanf(at, "\nID:%llu", &id) != 1)
		return false;
	t->id = id;
	for (; (at = strstr(at, before)); at += sizeof(before) - 1) {
		struct espy_tracepoint_field f = { .kind = ESPY_FIELD_NUMBER };

		/* It is a line of its own: the format of the text, behind the fields, may have the word, too. */
		if (at[-1] != '\t')
			continue;
		if (!parse_field(&f, at + sizeof(before) - 1))
			t->left_out++;
		else if (strncmp(f.name, common, sizeof(common) - 1) && t->field_cnt == ESPY_TRACEPOINT_FIELDS)
			t->left_out++;
		else if (strncmp(f.name, common, sizeof(common) - 1))
			t->fields[t->field_cnt++] = f;
	}
	at = strstr(format, "\nprint fmt:");
	t->print_fmt = at ? at : "";
	return true;
}

/* Reads all of a format file: the kernel gives a page of it at a time. Returns its length or -errno. */
static ssize_t read_format(int tracefs, const char *path, char text[FORMAT_MAX])
{
	const int fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = 0, n = fd < 0 ? -errno : 1;

	while (n > 0 && (size_t)len < FORMAT_MAX - 1) {
		n = read(fd, text + len, FORMAT_MAX - 1 - (size_t)len);
		n = n < 0 ? -errno : n;
		len += n > 0 ? n : 0;
	}
	if (fd >= 0)
		close(fd);
	text[len] = '\0';
	return n < 0 ? n : len;
}

int espy_tracepoint__read(struct espy_tracepoint *t, int tracefs, const char *system, const char *name)
{
	char path[320], *text;
	int err = 0;

	if ((size_t)snprintf(path, sizeof(path), "events/%s/%s/format", system, name) >= sizeof(path))
		return -ENAMETOOLONG;
	text = malloc(FORMAT_MAX);
	if (!text)
		return -ENOMEM;
	const ssize_t n = read_format(tracefs, path, text);

	if (n < 0)
		err = (int)n;
	else if (!espy_tracepoint__parse(t, text))
		err = -EBADMSG;
	if (err)
		free(text);
	else
		t->format = text;
	return err;
}

void espy_tracepoint__free(struct espy_tracepoint *t)
{
	free(t->format);
	t->format = NULL;
}

static int is_no_dot(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Lists the names below a directory, in order. Returns their number or -errno. */
static int names_below(int tracefs, const char *path, struct dirent ***names)
{
	const int n = scandirat(tracefs, path, names, is_no_dot, alphasort);

	return n < 0 ? -errno : n;
}

int espy_tracepoint__each(int tracefs, const char *system, const char *name,
			  int (*fn)(void *ctx, const char *system, const char *name), void *ctx)
{
	struct dirent **systems = NULL, **names = NULL;
	const int system_cnt = names_below(tracefs, "events", &systems);
	int done = system_cnt < 0 ? system_cnt : 0;

	for (int i = 0; i < system_cnt; i++) {
		const char *of = systems[i]->d_name;
		char path[300];

		snprintf(path, sizeof(path), "events/%s", of);
		/* Files stand beside the directories: they have no names below them. */
		const int cnt = !done && espy_fits(system, of) ? names_below(tracefs, path, &names) : 0;

		for (int k = 0; k < cnt; k++) {
			char id[600];

			snprintf(id, sizeof(id), "%s/%s/id", path, names[k]->d_name);
			if (!done && espy_fits(name, names[k]->d_name) && !faccessat(tracefs, id, R_OK, 0))
				done = fn(ctx, of, names[k]->d_name);
			free(names[k]);
		}
		if (cnt >= 0 && names)
			free(names);
		names = NULL;
		free(systems[i]);
	}
	free(systems);
	return done;
}
