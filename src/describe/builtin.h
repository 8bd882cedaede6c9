/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The descriptions that come with the command: compiled, and as texts for compiling anew with a user's files. */
#ifndef ESPY_DESCRIBE_BUILTIN_H
#define ESPY_DESCRIBE_BUILTIN_H

#include <stddef.h>
#include "base/packed.h"
#include "describe/describe.h"
#include "describe/image.h"

/* The built-in image of an ABI, aligned to 8, for espy_image__open; lives as long as the program. */
const void *espy_builtin_image(enum espy_abi abi, size_t *size);

/* Opens it. The build has checked it: to check it again would take a tenth of the time in which espy starts. */
static inline int espy_builtin_image__open(struct espy_image *img, enum espy_abi abi)
{
	size_t size;
	const void *data = espy_builtin_image(abi, &size);

	return espy_image__open_checked(img, data, size);
}

/*
 * The texts that the images were made from, packed: one behind the other. First the descriptions, then what each ABI
 * has of constants beyond its base, then the table of calls of each ABI. `text` of each is NULL.
 */
extern const struct espy_packed espy_builtin_texts;
extern const struct espy_text_source espy_builtin_text_heads[];
extern const size_t espy_builtin_source_cnt; /* descriptions */

/*
 * Compile the built-in descriptions together with n files. 0 and a malloc'ed *blob of *size bytes; -EINVAL:
 * the files are wrong or one cannot be read, and diag has said how; -ENOMEM.
 */
int espy_describe_with_files(enum espy_abi abi, const char *const *files, size_t n, espy_diag_fn diag, void *ctx,
			     void **blob, size_t *size);

/*
 * Reads a regular file whole, as a source of that name; the caller frees text. Returns 0, -errno, or -EMEDIUMTYPE for a file whose reads
 * may never end (a FIFO, a terminal, a file of /proc).
 */
int espy_text_source__read(struct espy_text_source *s, const char *name);

#endif
