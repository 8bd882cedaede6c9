/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/functions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "arch/insn.h"
#include "base/array.h"
#include "base/pattern.h"
#include "base/search.h"
#include "symbols/lines.h"
#include "symbols/demangle.h"

#define FUNCTIONS_MAX (4u << 20)
#define NAMES_MAX (512u << 20)
#define STARTS_MAX (8u << 20)
#define CODE_MAX (16u << 20) /* bytes of a function to look at */

/* ---- symbols */

/* Adds a symbol. Its name is an offset in names until all are read. */
static int add_symbol(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type)
{
	struct espy_functions *f = ctx;
	const size_t len = strcspn(name, "@"); /* a version follows */

	if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE) || !len || !addr ||
	    f->cnt >= FUNCTIONS_MAX || f->names_sz + len >= NAMES_MAX)
		return 0;
	if (!espy_array__grow(f->v, f->cnt, f->cap) ||
	    !espy_array__room(&f->names, f->names_sz, &f->names_cap, 1, len + 1))
		return -ENOMEM;
	memcpy(f->names + f->names_sz, name, len);
	f->names[f->names_sz + len] = 0;
	f->v[f->cnt++] = (struct espy_function){ addr, size, type, (const char *)(uintptr_t)f->names_sz };
	f->names_sz += len + 1;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct espy_function *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	/* The plainest of several names of one function comes first. */
	const size_t xs = strspn(x->name, "_"), ys = strspn(y->name, "_");

	return xs != ys ? (xs < ys ? -1 : 1) : strcmp(x->name, y->name);
}

static bool is_code(const struct espy_elf *e, uint64_t addr)
{
	const struct espy_elf_segment *s = espy_elf__segment_at(e, addr);

	return s && s->flags & PF_X;
}

/* Makes pointers of names, and drops symbols that two tables have. Labels without type count where code is. */
static void settle(struct espy_functions *f, const struct espy_elf *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->cnt; i++)
		f->v[i].name = f->names + (uintptr_t)f->v[i].name;
	if (f->cnt)
		qsort(f->v, f->cnt, sizeof(*f->v), by_address);
	for (size_t i = 0; i < f->cnt; i++) {
		const struct espy_function *x = &f->v[i];

		if (x->type == STT_NOTYPE && !is_code(e, x->addr))
			continue;
		if (kept && f->v[kept - 1].addr == x->addr && !strcmp(f->v[kept - 1].name, x->name))
			continue;
		f->v[kept++] = *x;
	}
	f->cnt = kept;
}

/* ---- .eh_frame_hdr: a table of the beginnings of functions, in stripped files too */

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Reads the beginnings, in the one encoding that linkers write: pairs of 4-byte numbers relative to the table. */
static int read_starts(struct espy_functions *f, const struct espy_elf *e)
{
	enum { OMIT = 0xff, UDATA4 = 0x03, SDATA4_OF_TABLE = 0x3b, SDATA4_OF_PLACE = 0x1b };

	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];
		uint8_t head[12];
		uint32_t cnt;

		if (s->type != PT_GNU_EH_FRAME || s->file_sz < sizeof(head) || espy_elf__read(e, s->offset, head, sizeof(head)))
			continue;
		memcpy(&cnt, head + 8, sizeof(cnt));
		if (head[0] != 1 || head[1] != SDATA4_OF_PLACE || head[2] != UDATA4 || head[3] != SDATA4_OF_TABLE ||
		    cnt > STARTS_MAX || cnt > (s->file_sz - sizeof(head)) / 8)
			continue;
		int32_t *table = malloc((size_t)cnt * 8 + 1);

		f->starts = malloc((size_t)cnt * sizeof(*f->starts) + 1);
		if (!table || !f->starts) {
			free(table);
			return -ENOMEM;
		}
		if (!espy_elf__read(e, s->offset + sizeof(head), table, (size_t)cnt * 8))
			for (f->start_cnt = 0; f->start_cnt < cnt; f->start_cnt++)
				f->starts[f->start_cnt] = s->vaddr + (uint64_t)(int64_t)table[2 * f->start_cnt];
		free(table);
		qsort(f->starts, f->start_cnt, sizeof(*f->starts), by_number);
		return 0;
	}
	return 0;
}

int espy_functions__read(struct espy_functions *f, const struct espy_elf *e, const char *path)
{
	struct espy_lines_of *lines = espy_lines_of__possible() ? espy_lines_of__open_fd(e->fd, path) : NULL;
	int err = 0;

	*f = (struct espy_functions){ 0 };
	if (lines)
		err = espy_lines_of__each_symbol(lines, add_symbol, f);
	espy_lines_of__close(lines);
	if (!err && !f->cnt)
		err = espy_elf__each_symbol(e, add_symbol, f);
	if (!err) {
		settle(f, e);
		err = read_starts(f, e);
	}
	if (err)
		espy_functions__free(f);
	return err;
}

void espy_functions__free(struct espy_functions *f)
{
	free(f->v);
	free(f->starts);
	free(f->names);
	*f = (struct espy_functions){ 0 };
}

/* ---- questions */

bool espy_function_name__is_scoped(const char *name)
{
	return strstr(name, "::");
}

const struct espy_function *espy_functions__match(const struct espy_functions *f, const char *pattern, size_t *at)
{
	const bool scoped = espy_function_name__is_scoped(pattern);

	while (*at < f->cnt) {
		const struct espy_function *x = &f->v[(*at)++];
		char *name = scoped ? espy_demangle_name(x->name) : NULL;
		const bool found = espy_fits(pattern, name ? name : x->name);

		free(name);
		if (found)
			return x;
	}
	return NULL;
}

/* Returns the last symbol of code at or before addr. */
static const struct espy_function *symbol_before(const struct espy_functions *f, uint64_t addr)
{
	size_t at;

	ESPY_SEARCH(at, f->cnt, f->v[at].addr > addr);
	while (at-- > 0)
		if (f->v[at].type != STT_OBJECT)
			return &f->v[at];
	return NULL;
}

const struct espy_function *espy_functions__around(const struct espy_functions *f, uint64_t addr)
{
	const struct espy_function *x = symbol_before(f, addr);

	return x && (addr == x->addr || addr - x->addr < x->size) ? x : NULL;
}

bool espy_functions__start(const struct espy_functions *f, uint64_t addr, uint64_t *start)
{
	const struct espy_function *x = symbol_before(f, addr);
	size_t at;

	ESPY_SEARCH(at, f->start_cnt, f->starts[at] > addr);
	if (!x && !at)
		return false;
	*start = x && (!at || x->addr > f->starts[at - 1]) ? x->addr : f->starts[at - 1];
	return true;
}

int espy_functions__check(const struct espy_functions *f, const struct espy_elf *e, uint64_t addr, uint64_t *begin)
{
	uint64_t at;
	uint8_t *code;
	size_t len;
	int err;

	if (!is_code(e, addr))
		return -EACCES;
	if (!espy_functions__start(f, addr, &at) || !is_code(e, at) || addr - at > CODE_MAX)
		return -ENOENT;
	*begin = at;
	if (at == addr)
		return 0;
	len = addr - at;
	code = calloc(1, len + ESPY_INSN_MAX);
	if (!code)
		return -ENOMEM;
	/* Bytes behind addr do not matter: it is enough to know that an instruction reaches beyond it. */
	err = espy_elf__read_vaddr(e, at, code, len);
	if (!err && espy_elf__read_vaddr(e, at, code, len + ESPY_INSN_MAX))
		err = espy_elf__read_vaddr(e, at, code, len);
	for (size_t i = 0; !err && i < len;) {
		const size_t n = espy_insn_length(code + i, len + ESPY_INSN_MAX - i);

		*begin = at + i;
		if (!n || i + n > len)
			err = n ? -EILSEQ : -ENOENT;
		i += n;
	}
	free(code);
	return err;
}
