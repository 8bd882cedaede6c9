/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * damaged_test PROGRAM...: debug information with changed bytes. Lines and variables are asked for as probes do. There
 * are answers or errors, within their bounds; a build with sanitizers looks at each access.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "symbols/elf_file.h"
#include "symbols/source_lines.h"
#include "symbols/variables.h"

static char **programs;
static int program_cnt;

static const char *const functions[] = { "handle", "by_value", "mixed", "many", "find", "loop", "state_of" };
static const char *const expressions[] = {
	"req",
	"*req",
	"req->next->next->name[3]",
	"req->at.x",
	"req->delta",
	"req->values[2]",
	"at",
	"at.y",
	"n",
	"h",
	"sum",
	"i",
	"weight",
	"total",
	"served",
	"state",
	"$retval",
	"$retval->ratio",
	"req->values.1",
	"first.next->letter",
	"no_such_name",
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct tally {
	unsigned found, refused, members;
};

static int take_constant(void *ctx, const char *name, int64_t value)
{
	struct tally *t = ctx;

	(void)value;
	t->members += strlen(name) > 0;
	return 0;
}

static int take_member(void *ctx, const char *name, const struct espy_variable *member)
{
	struct tally *t = ctx;

	assert_true(member->way.loads <= ESPY_VAR_LOADS);
	assert_true(member->low + member->bits <= 64);
	t->members += strlen(name) > 0;
	return 0;
}

static void take_name(void *ctx, const char *name, const char *type, const char *why)
{
	struct tally *t = ctx;

	t->members += strlen(name) && strlen(type) && (!why || strlen(why));
}

static void ask_at(struct espy_lines_of *l, uint64_t addr, unsigned how, struct tally *t)
{
	struct espy_variables *v;

	if (espy_variables__open(&v, l, addr, how))
		return;
	for (size_t i = 0; i < COUNT(expressions); i++) {
		char why[ESPY_VAR_WHY];
		struct espy_variable x;
		const int err = espy_variables__find(v, expressions[i], &x, why);

		assert_non_null(memchr(why, 0, sizeof(why)));
		if (err) {
			assert_true(err == -ENOENT || err == -EINVAL);
			assert_true(why[0]);
			t->refused++;
			continue;
		}
		take_member(t, expressions[i], &x);
		t->found++;
		espy_variables__members(v, &x, take_member, t);
		espy_variables__constants(v, &x, take_constant, t);
	}
	espy_variables__each(v, take_name, t);
	espy_variables__close(v);
}

/* Asks everything of one file. */
static struct tally ask(int fd)
{
	struct espy_lines_of *l = espy_lines_of__open_fd(fd, "/nonexistent/debugged");
	struct espy_elf e;
	struct tally t = { 0 };

	if (!l)
		return t;
	if (!espy_elf__open(&e, fcntl(fd, F_DUPFD_CLOEXEC, 3))) {
		for (size_t i = 0; i < COUNT(functions); i++) {
			struct espy_line_places places;
			struct espy_elf_symbol s;
			const char *source;
			unsigned line;

			if (espy_elf__symbol(&e, functions[i], true, &s))
				continue;
			for (unsigned how = 0; how < 4; how++)
				ask_at(l, s.value, how, &t);
			ask_at(l, s.value + s.size / 2, 0, &t);
			if (espy_lines_of__begin(l, s.value, &source, &line) &&
			    !espy_lines_of__places(l, "debugged.c", line + 2, &places)) {
				assert_true(places.cnt && places.cnt <= ESPY_LINE_PLACES_MAX);
				free(places.addrs);
			}
		}
		espy_elf__close(&e);
	}
	espy_lines_of__close(l);
	return t;
}

struct file {
	uint8_t *bytes;
	size_t size;
	struct espy_elf elf;
};

static void read_file(struct file *f, const char *path)
{
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && !fstat(fd, &st));
	f->size = (size_t)st.st_size;
	f->bytes = malloc(f->size);
	assert_non_null(f->bytes);
	assert_int_equal(read(fd, f->bytes, f->size), f->size);
	assert_int_equal(espy_elf__open(&f->elf, fd), 0);
}

static int write_file(const struct file *f)
{
	const int fd = memfd_create("debugged", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, f->bytes, f->size), f->size);
	return fd;
}

static bool tells_something(const char *name)
{
	return !strncmp(name, ".debug_", strlen(".debug_")) || !strcmp(name, ".eh_frame");
}

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 8;
}

/* Changes some bytes of one section, asks, and puts them back. */
static struct tally ask_damaged(struct file *f, const struct espy_elf_section *s, unsigned seed)
{
	const unsigned cnt = 1 + next_random(&seed) % 8;
	size_t at[8];
	uint8_t old[8];
	struct tally t;

	for (unsigned i = 0; i < cnt; i++) {
		const unsigned how = next_random(&seed) % 3;

		at[i] = s->offset + next_random(&seed) % s->size;
		old[i] = f->bytes[at[i]];
		f->bytes[at[i]] = how == 0   ? (uint8_t)next_random(&seed)
				  : how == 1 ? (uint8_t)(old[i] ^ 1u << next_random(&seed) % 8)
					     : 0xff;
	}
	const int fd = write_file(f);

	t = ask(fd);
	close(fd);
	for (unsigned i = cnt; i--;)
		f->bytes[at[i]] = old[i];
	return t;
}

static void test_damaged(void **state)
{
	const char *rounds = getenv("ROUNDS");
	const unsigned max = rounds ? (unsigned)atoi(rounds) : 60;

	(void)state;
	for (int p = 0; p < program_cnt; p++) {
		unsigned same = 0, other = 0;
		struct file f;

		read_file(&f, programs[p]);
		const int fd = write_file(&f);
		const struct tally whole = ask(fd);

		close(fd);
		assert_true(whole.found > 50 && whole.refused > 20 && whole.members > 200);
		for (size_t i = 0; i < f.elf.section_cnt; i++) {
			const struct espy_elf_section *s = &f.elf.sections[i];

			if (!tells_something(s->name) || !s->size)
				continue;
			for (unsigned seed = 0; seed < max; seed++) {
				const struct tally t = ask_damaged(&f, s, seed * 7919u + (unsigned)i);

				memcmp(&t, &whole, sizeof(t)) ? other++ : same++;
			}
		}
		assert_true(other > same / 8); /* the changes reach what is read */
		espy_elf__close(&f.elf);
		free(f.bytes);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_damaged) };

	programs = argv + 1;
	program_cnt = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
