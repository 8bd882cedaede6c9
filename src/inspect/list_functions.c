/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists the functions of a program or library, one line for each: its offset in the file, as -u names places; its
 * size; the place of a probe in it and its cost; its name; its line. Names are foreign, so they are shown escaped.
 */
#include "inspect/list_functions.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "arch/insn.h"
#include "base/pattern.h"
#include "base/num.h"
#include "base/quote.h"
#include "inspect/list_kernel.h"
#include "source/probes.h"
#include "symbols/demangle.h"
#include "symbols/find_file.h"
#include "symbols/entry_place.h"
#include "symbols/jump_place.h"
#include "symbols/source_lines.h"
#include "symbols/variables.h"

struct listed {
	struct espy_elf elf;
	struct espy_functions functions;
	struct espy_branches branches;
	struct espy_lines_of *lines; /* NULL: none can be told */
	bool variables;		     /* show what -u can name where a function begins, and what the agent makes of it */
};

/* Tells whether the name fits: the pattern may be a part of a C++ name, or the name without types, as -u has it. */
static bool fits(const char *pattern, const char *symbol, const char *plain)
{
	bool fits = !pattern || espy_fits(pattern, symbol) || (plain && espy_fits(pattern, plain));
	char *name = fits || !plain ? NULL : strdup(plain);

	fits = fits || (name && espy_demangled__cut(name) && espy_fits(pattern, name));
	free(name);
	return fits;
}

/* Writes how far behind the beginning a probe that fetches arguments lies, or that the kernel steps over it there. */
static void say_place(struct listed *l, const struct espy_function *f, char text[24])
{
	enum espy_entry_cost cost = ESPY_ENTRY_REFUSED;
	uint64_t place = f->addr;

	if (f->type != STT_GNU_IFUNC)
		place = espy_entry_place(&l->functions, &l->elf, &l->branches, f, ESPY_INSN_ARGS, &cost);
	if (cost == ESPY_ENTRY_EMULATED)
		snprintf(text, 24, "+%#" PRIx64, place - f->addr);
	else
		snprintf(text, 24, "%s", cost == ESPY_ENTRY_STEPPED ? "stepped" : "refused");
}

/* Puts where the function begins in its source, as -u takes it: (SOURCE:LINE). */
static void put_line(struct listed *l, const struct espy_function *f, struct espy_buf *b)
{
	const char *path, *slash;
	unsigned line;

	if (!espy_lines_of__begin(l->lines, f->addr, &path, &line))
		return;
	slash = strrchr(path, '/');
	espy_buf__puts(b, "  (");
	espy_buf__escaped(b, slash ? slash + 1 : path);
	espy_buf__putc(b, ':');
	espy_buf__dec(b, line);
	espy_buf__putc(b, ')');
}

void espy_list_put_variable(void *ctx, const char *name, const char *type, const char *why)
{
	struct espy_buf *b = ctx;

	b->len = 0;
	espy_buf__puts(b, "    ");
	espy_buf__escaped(b, type);
	if (type[strlen(type) - 1] != '*')
		espy_buf__putc(b, ' ');
	espy_buf__escaped(b, name);
	if (why) {
		espy_buf__puts(b, "  (it ");
		espy_buf__puts(b, why);
		espy_buf__putc(b, ')');
	}
	printf("%.*s\n", (int)b->len, b->data ? b->data : "");
}

static void put_variables(struct listed *l, const struct espy_function *f, struct espy_buf *b)
{
	struct espy_variables *v;

	if (espy_variables__open(&v, l->lines, f->addr, 0))
		return;
	espy_variables__each(v, espy_list_put_variable, b);
	espy_variables__close(v);
}

/* Says whether the agent (--via agent) can take a probe, and how far behind the beginning; or why not. */
static void put_agent(struct listed *l, const struct espy_function *f)
{
	struct espy_jump_place place;
	const char *why, *unless = "";

	if (f->type == STT_GNU_IFUNC)
		return;
	why = espy_jump_place(&l->functions, &l->elf, &l->branches, f, f->addr, ESPY_INSN_ARGS, &place);
	if (why && !espy_jump_place(&l->functions, &l->elf, &l->branches, f, f->addr, 0, &place)) {
		why = NULL;
		unless = ", without arguments";
	}
	if (why)
		printf("    --via agent: not here, %s\n", why);
	else
		printf("    --via agent: +%#x%s\n", (unsigned)place.behind, unless);
}

/* Puts a wanted function. Returns whether it was wanted. */
static bool put_function(struct listed *l, const struct espy_function *f, const char *pattern, struct espy_buf *b)
{
	char *plain = espy_demangle(f->name);
	const bool wanted = fits(pattern, f->name, plain);
	uint64_t offset;
	char place[24];

	b->len = 0;
	if (wanted && espy_elf__offset_of(&l->elf, f->addr, &offset)) {
		say_place(l, f, place);
		espy_buf__escaped(b, f->name);
		if (plain) {
			espy_buf__puts(b, "  ");
			espy_buf__escaped(b, plain);
		}
		put_line(l, f, b);
		printf("0x%-10" PRIx64 " %6" PRIu64 "  %-7s  %.*s\n", offset, f->size, place, (int)b->len, b->data ? b->data : "");
		if (l->variables) {
			put_agent(l, f);
			put_variables(l, f, b);
		}
	}
	free(plain);
	return wanted;
}

static int list_file(const struct espy_cli *cli, const char *path, const char *pattern, bool variables)
{
	struct listed l = { .variables = variables };
	struct espy_buf b = { 0 };
	size_t found = 0;
	int err = espy_elf__open_path(&l.elf, path);

	if (err) {
		espy_cli__say(cli, "%s: %s", path, err == -ENOEXEC ? "not a program or library (ELF)" : strerror(-err));
		return 1;
	}
	err = espy_functions__read(&l.functions, &l.elf, path);
	l.lines = espy_lines_of__open_fd(l.elf.fd, path);
	for (size_t i = 0; !err && i < l.functions.cnt; i++)
		if (l.functions.v[i].type != STT_OBJECT)
			found += put_function(&l, &l.functions.v[i], pattern, &b);
	if (err)
		espy_cli__say(cli, "%s: %s", path, err == -EBADMSG ? "its symbols are damaged" : strerror(-err));
	else if (!found && l.functions.cnt)
		espy_cli__say(cli, "%s: no function matches '%s'", path, pattern ? pattern : "*");
	else if (!found)
		espy_cli__say(cli, "%s: it has no symbols; -u takes offsets: FILE:0xOFFSET", path);
	espy_buf__free(&b);
	espy_functions__free(&l.functions);
	espy_branches__free(&l.branches);
	espy_lines_of__close(l.lines);
	espy_elf__close(&l.elf);
	return err || !found;
}

int espy_list_functions(const struct espy_cli *cli, const char *file, const char *pattern, bool variables)
{
	char path[PATH_MAX], word[PATH_MAX];
	const char *colon = pattern ? NULL : strchr(file, ':');

	/* -u takes FILE:PATTERN. */
	if (colon && colon > file && access(file, F_OK)) {
		snprintf(word, sizeof(word), "%.*s", (int)(colon - file), file);
		return espy_list_functions(cli, word, colon + 1, variables);
	}
	if (!strcmp(file, ESPY_PROBE_KERNEL))
		return espy_list_kernel(cli, pattern, variables);
	/* As -u finds it: a path, a program, or a library by its short name. */
	if (strchr(file, '/'))
		return list_file(cli, file, pattern, variables);
	const int err = espy_find_file(file, path, sizeof(path));

	if (err) {
		espy_cli__say(cli, "%s: neither a program on PATH nor a library is called so", file);
		return 1;
	}
	return list_file(cli, path, pattern, variables);
}
