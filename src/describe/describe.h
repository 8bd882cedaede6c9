/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The description compiler: texts in the language of docs/descriptions.md to an image (image.h).
 *
 * Stages, one file each, run in this order by compile.c:
 *      lex.c       text to tokens
 *      parse*.c    tokens to declarations (ast.h)
 *      consts.c    values of constants, call tables
 *      tables.c    flags, enum, pack
 *      exprs.c     expressions
 *      types.c     types: names resolved, rules checked, records made
 *      layout.c    sizes, alignments and offsets for the ABI
 *      calls.c     calls, variants, results
 *      plan.c      what to copy for each call
 *      write.c     the image as bytes
 */
#ifndef ESPY_DESCRIBE_H
#define ESPY_DESCRIBE_H

#include <stddef.h>
#include "describe/image.h"

/* A piece of text and what to call it in messages. Need not end in NUL. */
struct espy_text_source {
	const char *name;
	const char *text;
	size_t size;
};

/* Names of files and tokens are foreign: a byte that is not printable becomes `?`, so that none reaches a terminal. */
static inline void espy_diag__make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = '?';
}

struct espy_describe_input {
	enum espy_abi abi;
	const struct espy_text_source *sources;
	size_t source_cnt;
	/* "NAME VALUE [header]" lines; a later text replaces what an earlier one says of a name; the value `?`: not
	 * defined */
	const struct espy_text_source *constants;
	size_t constant_cnt;
	/* "NUMBER NAME ARGUMENTS CLASS,CLASS" lines */
	struct espy_text_source syscalls;
};

/* One diagnostic, complete: "file:line:column: error: ...", the line, a caret. No newline at the end. */
typedef void (*espy_diag_fn)(void *ctx, const char *text);

/*
 * Compile. On success 0 and *blob (malloc'ed, for espy_image__open) of *size bytes. -EINVAL: the
 * descriptions are wrong, diag has said how; -ENOMEM. diag may be NULL.
 */
int espy_describe_compile(const struct espy_describe_input *in, espy_diag_fn diag, void *diag_ctx, void **blob,
			  size_t *size);

/* What --list modes and the generated checks need to know about the declarations; called for each. */
struct espy_layout_field {
	const char *name;
	size_t off, size; /* size 0: varies */
};
struct espy_layout {
	const char *name;   /* in the description */
	const char *c_name; /* "struct iovec" */
	const char *header; /* "linux/uio.h" */
	size_t size;	    /* 0: varies */
	const struct espy_layout_field *fields;
	size_t field_cnt;
};
struct espy_describe_listing {
	void *ctx;
	void (*layout)(void *ctx, const struct espy_layout *l); /* structs with `as "struct X" from <header>` */
	void (*constant)(void *ctx, const char *name, const char *header);	  /* constants that were looked up */
	void (*hook)(void *ctx, const char *name);				  /* hooks used; once for each use */
	void (*call)(void *ctx, const char *name, size_t variants, int in_table); /* base forms */
};
/* As espy_describe_compile, and reports what was met. Members of l may be NULL. */
int espy_describe_list(const struct espy_describe_input *in, const struct espy_describe_listing *l, espy_diag_fn diag,
		       void *diag_ctx);

#endif
