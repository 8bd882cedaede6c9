/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/probe_of.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "source/kernel_functions.h"
#include "source/probes.h"
#include "symbols/elf_file.h"
#include "symbols/find_file.h"

static bool has_function(const char *path, const char *name)
{
	struct espy_elf_symbol symbol;
	struct espy_elf e;

	if (espy_elf__open_path(&e, path))
		return false;
	const bool found = !espy_elf__symbol(&e, name, true, &symbol) && symbol.type == STT_FUNC;

	espy_elf__close(&e);
	return found;
}

static bool kernel_has(const char *name)
{
	struct espy_kernel_functions f;
	size_t at = 0;
	const bool found = !espy_kernel_functions__read(&f) && espy_kernel_functions__match(&f, name, &at);

	espy_kernel_functions__free(&f);
	return found;
}

bool espy_probe_of(const char *function, const char *program, char *probe, size_t size)
{
	const char *const files[] = { program, "libc" };
	const size_t len = strcspn(function, "%+( ");
	char path[PATH_MAX], name[256];

	if (len >= sizeof(name))
		return false;
	memcpy(name, function, len);
	name[len] = '\0';

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *file = files[i];

		if (!file || (!strchr(file, '/') && espy_find_file(file, path, sizeof(path))))
			continue;
		if (has_function(strchr(file, '/') ? file : path, name))
			return snprintf(probe, size, "%s:%s", file, function) < (int)size;
	}
	return !strpbrk(name, "*?") && kernel_has(name) &&
	       snprintf(probe, size, "%s:%s", ESPY_PROBE_KERNEL, function) < (int)size;
}
