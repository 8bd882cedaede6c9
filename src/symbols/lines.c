/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/lines.h"

#include <stdlib.h>

#ifdef ESPY_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <unistd.h>

struct espy_lines_of {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf_Addr bias;
};

struct espy_lines_of *espy_lines_of__open_fd(int fd, const char *path)
{
	static char *debug_path; /* NULL: beside the file, .debug under it, /usr/lib/debug */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};
	struct espy_lines_of *l = calloc(1, sizeof(*l));
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	Elf *elf;

	if (!l || own < 0)
		goto fail;
	l->dwfl = dwfl_begin(&callbacks);
	if (!l->dwfl)
		goto fail;
	dwfl_report_begin(l->dwfl);
	l->module = dwfl_report_offline(l->dwfl, path, path, own);
	if (!l->module)
		goto fail;
	own = -1; /* it is the module's now */
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
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct espy_lines_of *l = fd < 0 ? NULL : espy_lines_of__open_fd(fd, path);

	if (fd >= 0)
		close(fd);
	return l;
}

bool espy_lines_of__at(struct espy_lines_of *l, uint64_t addr, const char **file, unsigned *line)
{
	Dwfl_Line *at = l ? dwfl_module_getsrc(l->module, addr + l->bias) : NULL;
	int number = 0;

	*file = at ? dwfl_lineinfo(at, NULL, &number, NULL, NULL, NULL) : NULL;
	*line = number > 0 ? (unsigned)number : 0;
	return *file && *line;
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

void espy_lines_of__close(struct espy_lines_of *l)
{
	(void)l;
}

bool espy_lines_of__possible(void)
{
	return false;
}

#endif
