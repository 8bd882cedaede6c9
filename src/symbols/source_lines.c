/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/source_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/edits.h"
#include "symbols/dwarf_impl.h"

#define ROWS_MAX (64u << 20) /* of the tables of lines that are looked at */

/* An address that begins a statement of the line. */
struct row {
	Dwarf_Die unit;
	Dwarf_Addr pc;
	uint64_t scope; /* the function around it, by the place of its entry */
};

struct search {
	const char *source;
	unsigned wanted;
	struct espy_line_places *out;
	struct row *rows; /* of out->line */
	size_t cnt, cap;
	unsigned seen;	  /* rows of tables */
	bool found;	  /* the source */
	const char *last; /* the last name that was compared, and whether it fits */
	bool last_fits;
	struct espy_nearest near;
};

static bool ends_with(const char *path, const char *end)
{
	const size_t len = strlen(path), end_len = strlen(end);

	return len >= end_len && !strcmp(path + len - end_len, end) &&
	       (len == end_len || path[len - end_len - 1] == '/');
}

/* Tells whether the name is one of the wanted source. The names in a table are the same pointers again and again. */
static bool fits(struct search *s, const char *name)
{
	const char *slash = strrchr(name, '/');

	if (name == s->last)
		return s->last_fits;
	s->last = name;
	s->last_fits = ends_with(name, s->source);
	s->near.word = NULL;
	espy_nearest__offer(&s->near, slash ? slash + 1 : name);
	if (s->near.word)
		snprintf(s->out->near, sizeof(s->out->near), "%s", s->near.word);
	return s->last_fits;
}

static int take_row(struct search *s, Dwarf_Die *unit, Dwarf_Line *row)
{
	struct espy_line_places *out = s->out;
	bool statement = false, end = false;
	const char *name = dwarf_linesrc(row, NULL, NULL);
	Dwarf_Addr pc;
	int line;

	if (!name || !fits(s, name))
		return 0;
	s->found = true;
	if (dwarf_lineno(row, &line) || line <= 0 || dwarf_linebeginstatement(row, &statement) || !statement ||
	    dwarf_lineendsequence(row, &end) || end || dwarf_lineaddr(row, &pc))
		return 0;
	if ((unsigned)line > out->last)
		out->last = (unsigned)line;
	if ((unsigned)line < s->wanted || (s->cnt && (unsigned)line > out->line))
		return 0;
	if ((unsigned)line != out->line)
		s->cnt = 0;
	out->line = (unsigned)line;
	if (!espy_array__grow(s->rows, s->cnt, s->cap))
		return -ENOMEM;
	s->rows[s->cnt++] = (struct row){ .unit = *unit, .pc = pc };
	return 0;
}

static int take_unit(struct search *s, Dwarf_Die *unit)
{
	Dwarf_Lines *lines;
	size_t cnt;
	int err = 0;

	if (dwarf_getsrclines(unit, &lines, &cnt))
		return 0;
	s->last = NULL;
	for (size_t i = 0; i < cnt && !err && s->seen++ < ROWS_MAX; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);

		err = row ? take_row(s, unit, row) : 0;
	}
	return err;
}

static int by_scope(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->scope != y->scope)
		return x->scope < y->scope ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Keeps the first row of each function, and makes addresses of them. Code in no function is one of its own. */
static int take_firsts(struct search *s, Dwarf_Addr bias)
{
	struct espy_line_places *out = s->out;
	struct espy_scopes scopes;

	for (size_t i = 0; i < s->cnt; i++) {
		espy_scopes__of_unit(&scopes, &s->rows[i].unit, s->rows[i].pc);
		s->rows[i].scope = dwarf_dieoffset(&scopes.v[espy_scopes__function(&scopes)]);
	}
	qsort(s->rows, s->cnt, sizeof(*s->rows), by_scope);
	out->addrs = calloc(s->cnt, sizeof(*out->addrs));
	if (!out->addrs)
		return -ENOMEM;
	for (size_t i = 0; i < s->cnt; i++)
		if (!i || s->rows[i].scope != s->rows[i - 1].scope)
			out->addrs[out->cnt++] = s->rows[i].pc - bias;
	qsort(out->addrs, out->cnt, sizeof(*out->addrs), by_number);
	return out->cnt > ESPY_LINE_PLACES_MAX ? -E2BIG : 0;
}

int espy_lines_of__places(struct espy_lines_of *l, const char *source, unsigned line, struct espy_line_places *out)
{
	struct search s = { .source = source, .wanted = line, .out = out };
	unsigned units = ESPY_DWARF_STEPS;
	Dwarf_Addr bias, unit_bias = 0;
	Dwarf_Die *unit = NULL;
	Dwfl_Module *module;
	int err = 0;

	*out = (struct espy_line_places){ 0 };
	if (!l)
		return -ENODATA;
	module = espy_lines_of__module(l, &bias);
	espy_nearest__begin(&s.near, source, strlen(source));
	while (!err && units-- && (unit = dwfl_module_nextcu(module, unit, &unit_bias)))
		err = take_unit(&s, unit);
	if (!err && !s.seen)
		err = -ENODATA;
	if (!err && !s.cnt)
		err = s.found ? -ERANGE : -ENOENT;
	err = err ? err : take_firsts(&s, bias - unit_bias);
	free(s.rows);
	if (err) {
		free(out->addrs);
		out->addrs = NULL;
	}
	return err;
}

/* Returns the line in which the function around the address is declared; 0: it is not known. */
static unsigned declared_at(Dwarf_Die *unit, Dwarf_Addr pc)
{
	struct espy_scopes scopes;
	int number = 0;

	espy_scopes__of_unit(&scopes, unit, pc);
	for (size_t i = 1; i < scopes.cnt; i++)
		if (dwarf_tag(&scopes.v[i]) == DW_TAG_subprogram)
			return !dwarf_decl_line(&scopes.v[i], &number) && number > 0 ? (unsigned)number : 0;
	return 0;
}

/*
 * Takes the first row of this address, from `at` on, whose line is not above the declaration. Rows of the code before,
 * and of functions that were inlined, may have the same address.
 */
static bool take_begin(Dwarf_Lines *lines, size_t at, size_t cnt, Dwarf_Addr pc, unsigned declared, const char **source,
		       unsigned *line)
{
	bool found = false;

	for (; at < cnt; at++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, at);
		const char *name = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
		bool end = true;
		Dwarf_Addr addr;
		int number;

		if (!row || dwarf_lineaddr(row, &addr) || addr != pc)
			break;
		if (dwarf_lineendsequence(row, &end) || end || !name || dwarf_lineno(row, &number) || number <= 0 ||
		    (found && (unsigned)number < declared))
			continue;
		if (!found || *line < declared) {
			*source = name;
			*line = (unsigned)number;
		}
		found = true;
		if ((unsigned)number >= declared)
			break;
	}
	return found;
}

bool espy_lines_of__begin(struct espy_lines_of *l, uint64_t addr, const char **source, unsigned *line)
{
	size_t low = 0, high, cnt;
	Dwarf_Lines *lines;
	Dwarf_Addr pc, at;
	Dwarf_Die unit;

	if (!l || !espy_unit__find(&unit, l, addr, &pc) || dwarf_getsrclines(&unit, &lines, &cnt))
		return false;
	high = cnt;
	while (low < high) {
		const size_t mid = (low + high) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, mid), &at))
			return false;
		if (at < pc)
			low = mid + 1;
		else
			high = mid;
	}
	return take_begin(lines, low, cnt, pc, declared_at(&unit, pc), source, line);
}
