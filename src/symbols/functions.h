/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of a file: their beginnings, their names, and the beginnings of instructions in them. */
#ifndef ESPY_SYMBOLS_FUNCTIONS_H
#define ESPY_SYMBOLS_FUNCTIONS_H

#include <stdbool.h>
#include "symbols/elf_file.h"

struct espy_function {
	uint64_t addr, size; /* as the file numbers its memory; size 0: not known */
	uint8_t type;	     /* STT_* */
	const char *name;
};
/* Is it a name, or a pattern of names, as programmers of C++ and Rust write them? */
bool espy_function_name__is_scoped(const char *name);

struct espy_functions {
	struct espy_function *v; /* symbols of functions and of data, by address; of one address the plainest name first */
	size_t cnt;
	uint64_t *starts; /* where code begins that the unwind table knows; by address */
	size_t start_cnt;
	char *names;
	size_t names_sz, names_cap;
	size_t cap;
};

/*
 * Of .symtab, .dynsym, .gnu_debugdata and a separate debug file; and what .eh_frame_hdr says of stripped ones. path: for the
 * search of debug files. -ENOMEM, or what is wrong with the file.
 */
int espy_functions__read(struct espy_functions *f, const struct espy_elf *e, const char *path);
void espy_functions__free(struct espy_functions *f);

/*
 * The next symbol at or behind *at that the pattern of `*` and `?` fits; *at is then behind it. A pattern with "::" is one of
 * names of C++ and Rust, without types. NULL: there is none.
 */
const struct espy_function *espy_functions__match(const struct espy_functions *f, const char *pattern, size_t *at);
/* The function that addr lies in; NULL: none is known. */
const struct espy_function *espy_functions__around(const struct espy_functions *f, uint64_t addr);
/* *start: the nearest address at or before addr where code is known to begin. false: there is none. */
bool espy_functions__start(const struct espy_functions *f, uint64_t addr, uint64_t *start);
/*
 * Does an instruction begin at addr? 0; -EACCES: there is no code; -ENOENT: no function is known around it, so that cannot be
 * told; -EILSEQ: it is in the middle of one, *begin is where that begins.
 */
int espy_functions__check(const struct espy_functions *f, const struct espy_elf *e, uint64_t addr, uint64_t *begin);

/* ---- near_names.c */

#define ESPY_NEAR_NAMES 3u
/*
 * Names of functions that are like `name`, the nearest first; returns how many. For a name with "::" they are names of
 * C++ and Rust. The caller frees each.
 */
size_t espy_functions__near(const struct espy_functions *f, const char *name, char *near[ESPY_NEAR_NAMES]);

#endif
