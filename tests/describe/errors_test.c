/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each diagnostic of the description compiler, in files where the expected message stands behind `#!` on the line that
 * is wrong. A message that is missing, stands elsewhere, or was not expected fails.
 *      errors-test CONSTANTS SYSCALLS FILE...
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe/builtin.h"

#define MAX_EXPECTED 256

struct expected {
	unsigned line;
	char text[256];
	bool met;
};
struct run {
	struct expected exp[MAX_EXPECTED];
	size_t n;
	unsigned unexpected;
};

static void on_diag(void *ctx, const char *text)
{
	struct run *r = ctx;
	const char *at = strchr(text, ':'), *msg;
	unsigned line = at ? (unsigned)strtoul(at + 1, NULL, 10) : 0;
	const char *nl = strchr(text, '\n');
	const char *caret = nl ? strchr(nl + 1, '\n') : NULL;
	char first[1024];

	/* The message is the first line; the second one quotes the file, expectation and all. */
	snprintf(first, sizeof(first), "%.*s", nl ? (int)(nl - text) : 1000, text);
	msg = strstr(first, " error: ");

	for (size_t i = 0; msg && i < r->n; i++) {
		if (!r->exp[i].met && r->exp[i].line == line && strstr(msg, r->exp[i].text)) {
			r->exp[i].met = true;
			/* The line and the caret belong to it. */
			if (!caret || !strchr(caret, '^')) {
				printf("no caret under: %s\n", text);
				r->unexpected++;
			}
			return;
		}
	}
	printf("not expected: %s\n", text);
	r->unexpected++;
}

static void collect(struct run *r, const struct espy_text_source *s)
{
	const char *at = s->text, *end = s->text + s->size;

	for (unsigned line = 1; at < end; line++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at)), *stop = nl ? nl : end;

		for (const char *p = at; p + 1 < stop && r->n < MAX_EXPECTED; p++) {
			if (p[0] != '#' || p[1] != '!')
				continue;
			const char *from = p + 2;

			while (from < stop && *from == ' ')
				from++;
			struct expected *e = &r->exp[r->n++];

			e->line = line;
			snprintf(e->text, sizeof(e->text), "%.*s", (int)(stop - from), from);
			break;
		}
		at = stop + 1;
	}
}

int main(int argc, char **argv)
{
	struct espy_text_source consts[2] = { 0 };
	struct espy_describe_input in = {
		.abi = ESPY_ABI_X86_64, .constants = consts, .constant_cnt = 2, .source_cnt = 1
	};
	/* What no header of the kernel defines, for the tests alone. */
	static const char MORE[] = "SEVERAL_VALUES 1 a/first.h\nSEVERAL_VALUES 2 b/second.h\n";
	int failed = 0;

	if (argc < 4 || espy_text_source__read(&consts[0], argv[1]) || espy_text_source__read(&in.syscalls, argv[2])) {
		fprintf(stderr, "usage: errors-test CONSTANTS SYSCALLS FILE...\n");
		return 2;
	}
	consts[1] = (struct espy_text_source){ .name = "more", .text = MORE, .size = sizeof(MORE) - 1 };
	for (int i = 3; i < argc; i++) {
		struct espy_text_source s;
		struct run *r = calloc(1, sizeof(*r));
		void *blob = NULL;
		size_t size;

		if (!r || espy_text_source__read(&s, argv[i]))
			return 2;
		collect(r, &s);
		in.sources = &s;
		int err = espy_describe_compile(&in, on_diag, r, &blob, &size);

		for (size_t k = 0; k < r->n; k++) {
			if (!r->exp[k].met) {
				printf("%s:%u: missing: %s\n", argv[i], r->exp[k].line, r->exp[k].text);
				failed = 1;
			}
		}
		if (!err || r->unexpected)
			failed = 1;
		printf("%s: %zu messages, result %d\n", argv[i], r->n, err);
		free(blob);
		free(r);
		free((void *)s.text);
	}
	free((void *)consts[0].text);
	free((void *)in.syscalls.text);
	return failed;
}
