/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/lines.h"
#include "base/regular_file.h"
#include "base/served_file.h"

#include <stdlib.h>
#include <string.h>

#ifdef ESPY_HAVE_LIBDW
#include <fcntl.h>
#include <unistd.h>
#include "symbols/dwarf_impl.h"

#define KNOWN 512u /* addresses whose symbols a file remembers; a power of two */

struct known_symbol {
	uint64_t addr; /* 0: none */
	const char *name;
	uint64_t offset;
};

struct espy_lines_of {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Addr bias;
	/* libdw looks through all symbols of a file for each address, and stacks have the same ones again and again. */
	struct known_symbol known[KNOWN];
};

struct espy_lines_of *espy_lines_of__open_fd(int fd, const char *path)
{
	/* NULL: beside the file, .debug under it, /usr/lib/debug. A server of the file would be asked for what is
	 * beside it. */
	static char *debug_path, *debug_path_served = "/usr/lib/debug";
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	}, callbacks_served = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path_served,
	};
	struct espy_lines_of *l = calloc(1, sizeof(*l));
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	Elf *elf;

	if (!l || own < 0)
		goto fail;
	l->dwfl = dwfl_begin(espy_is_served(path) ? &callbacks_served : &callbacks);
	if (!l->dwfl)
		goto fail;
	dwfl_report_begin(l->dwfl);
	l->module = dwfl_report_offline(l->dwfl, path, path, own);
	if (!l->module)
		goto fail;
	own = -1; /* the module owns it now */
	dwfl_report_end(l->dwfl, NULL, NULL);
	elf = dwfl_module_getelf(l->module, &l->bias);
	if (elf)
		return l;
fail:
	if (own >= 0)
		close(own);
	espy_lines_of__close(l);
	return NULL;
}

struct espy_lines_of *espy_lines_of__open(const char *path)
{
	struct stat st;
	const int fd = espy_open_contents(path, SIZE_MAX, &st);
	struct espy_lines_of *l = fd < 0 ? NULL : espy_lines_of__open_fd(fd, path);

	if (fd >= 0)
		close(fd);
	return l;
}

Dwfl_Module *espy_lines_of__module(struct espy_lines_of *l, Dwarf_Addr *bias)
{
	*bias = l->bias;
	return l->module;
}

bool espy_lines_of__at(struct espy_lines_of *l, uint64_t addr, const char **file, unsigned *line)
{
	Dwfl_Line *at = l ? dwfl_module_getsrc(l->module, addr + l->bias) : NULL;
	int number = 0;

	*file = at ? dwfl_lineinfo(at, NULL, &number, NULL, NULL, NULL) : NULL;
	*line = number > 0 ? (unsigned)number : 0;
	return *file && *line;
}

const char *espy_lines_of__symbol(struct espy_lines_of *l, uint64_t addr, uint64_t *offset)
{
	struct known_symbol *k;

	*offset = 0;
	if (!l)
		return NULL;
	k = &l->known[(addr ^ addr >> 9) & (KNOWN - 1)];
	if (k->addr != addr || !addr) {
		GElf_Off off = 0;
		GElf_Sym sym;

		k->name = dwfl_module_addrinfo(l->module, addr + l->bias, &off, &sym, NULL, NULL, NULL);
		k->addr = addr;
		k->offset = off;
	}
	*offset = k->offset;
	return k->name;
}

int espy_lines_of__each_symbol(struct espy_lines_of *l,
			       int (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type), void *ctx)
{
	const int cnt = dwfl_module_getsymtab(l->module);

	for (int i = 1; i < cnt; i++) {
		GElf_Word section = SHN_UNDEF;
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name = dwfl_module_getsym_info(l->module, i, &sym, &addr, &section, NULL, NULL);
		int stop = name && section != SHN_UNDEF ?
				   fn(ctx, name, addr - l->bias, sym.st_size, GELF_ST_TYPE(sym.st_info)) : 0;

		if (stop)
			return stop;
	}
	return 0;
}

bool espy_lines_of__has_build_id(struct espy_lines_of *l, const uint8_t *id, size_t size)
{
	const unsigned char *own = NULL;
	GElf_Addr addr;

	return dwfl_module_build_id(l->module, &own, &addr) == (int)size && !memcmp(own, id, size);
}

void espy_lines_of__close(struct espy_lines_of *l)
{
	if (!l)
		return;
	if (l->dwfl)
		dwfl_end(l->dwfl);
	free(l);
}

bool espy_lines_of__possible(void)
{
	return true;
}

#else

struct espy_lines_of *espy_lines_of__open_fd(int fd, const char *path)
{
	(void)fd;
	(void)path;
	return NULL;
}

struct espy_lines_of *espy_lines_of__open(const char *path)
{
	(void)path;
	return NULL;
}

bool espy_lines_of__at(struct espy_lines_of *l, uint64_t addr, const char **file, unsigned *line)
{
	(void)l;
	(void)addr;
	*file = NULL;
	*line = 0;
	return false;
}

const char *espy_lines_of__symbol(struct espy_lines_of *l, uint64_t addr, uint64_t *offset)
{
	(void)l;
	(void)addr;
	*offset = 0;
	return NULL;
}

int espy_lines_of__each_symbol(struct espy_lines_of *l,
			       int (*fn)(void *ctx, const char *name, uint64_t addr, uint64_t size, uint8_t type), void *ctx)
{
	(void)l;
	(void)fn;
	(void)ctx;
	return 0;
}

bool espy_lines_of__has_build_id(struct espy_lines_of *l, const uint8_t *id, size_t size)
{
	(void)l;
	(void)id;
	(void)size;
	return false;
}

void espy_lines_of__close(struct espy_lines_of *l)
{
	(void)l;
}

bool espy_lines_of__possible(void)
{
	return false;
}

#endif
