/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzz target: any bytes as a file of a program. Each look of espy's ends, and stays inside the file: segments,
 * sections, notes, build-id, marks, USDT probes with their arguments, functions, places of probes, and where jumps go.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "state/maps.h"
#include "symbols/entry_place.h"
#include "symbols/mark_notes.h"
#include "symbols/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_note(void *ctx, const struct espy_elf_note *n)
{
	size_t *sum = ctx;

	*sum += strlen(n->name) + (n->desc_sz ? n->desc[n->desc_sz - 1] : 0);
	return 0;
}

static int take_symbol(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type)
{
	size_t *sum = ctx;

	*sum += strlen(name) + (size_t)(addr + size + type);
	return 0;
}

static void look_at_marks(const struct espy_elf *e)
{
	struct espy_marks marks;
	const char *name;
	size_t len;

	if (espy_marks__read(e, &marks))
		return;
	for (size_t i = 0; i < marks.place_cnt; i++)
		if (marks.places[i].mark >= marks.mark_cnt)
			abort();
	for (size_t i = 0; i < marks.mark_cnt; i++) {
		espy_mark__split(marks.marks[i].name, &len, &name);
		if (len > strlen(marks.marks[i].name))
			abort();
	}
	espy_marks__free(&marks);
}

static void look_at_usdt(const struct espy_elf *e)
{
	struct espy_usdt_arg args[ESPY_USDT_MAX_ARGS];
	struct espy_usdt_list list;

	if (!espy_usdt__list(e, &list))
		for (size_t i = 0; i < list.cnt; i++)
			if (espy_usdt__args(e, list.v[i].addr, list.v[i].args, args) > ESPY_USDT_MAX_ARGS)
				abort();
	espy_usdt__free(&list);
}

static void look_at_functions(const struct espy_elf *e)
{
	struct espy_functions functions = { 0 };
	struct espy_branches branches = { 0 };
	enum espy_entry_cost cost;

	if (!espy_functions__read(&functions, e, "/nonexistent"))
		for (size_t i = 0; i < functions.cnt && i < 64; i++) {
			const struct espy_function *f = &functions.v[i];
			uint64_t begin;

			espy_entry_place(&functions, e, &branches, f, 0xffff, &cost);
			espy_functions__check(&functions, e, f->addr + i % 8, &begin);
			espy_functions__around(&functions, f->addr + f->size);
		}
	espy_branches__free(&branches);
	espy_functions__free(&functions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("elf", MFD_CLOEXEC);
	struct espy_elf e;
	uint8_t id[20];
	size_t sum = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (espy_build_id(fd, id) > sizeof(id))
		abort();
	if (espy_elf__open(&e, fd))
		return 0;
	if (espy_elf__build_id(&e, id) > sizeof(id))
		abort();
	espy_elf__each_note(&e, true, take_note, &sum);
	espy_elf__each_note(&e, false, take_note, &sum);
	espy_elf__each_symbol(&e, take_symbol, &sum);
	look_at_marks(&e);
	look_at_usdt(&e);
	look_at_functions(&e);
	espy_elf__close(&e);
	return 0;
}
