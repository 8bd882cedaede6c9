/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/unwind.h"

#include <stdlib.h>

#ifdef ESPY_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>
#include "base/served_file.h"

/* More processes than that are not remembered at a time; an older one is looked at anew. */
#define PROCESSES_MAX 256

struct process {
	pid_t tgid;
	Dwfl *dwfl; /* NULL: its program cannot be read */
	UT_hash_handle hh;
};

struct espy_unwinder {
	struct process *by_tgid;
};

struct walk {
	struct process *process;
	struct espy_unwound_frame *frames;
	size_t cnt, max;
	bool more, unknown; /* unknown: an address lies in no file that is known */
};

struct espy_unwinder *espy_unwinder__new(void)
{
	return calloc(1, sizeof(struct espy_unwinder));
}

static void drop(struct espy_unwinder *u, struct process *p)
{
	HASH_DEL(u->by_tgid, p);
	dwfl_end(p->dwfl);
	free(p);
}

void espy_unwinder__free(struct espy_unwinder *u)
{
	struct process *p, *next;

	if (!u)
		return;
	HASH_ITER(hh, u->by_tgid, p, next)
	drop(u, p);
	free(u);
}

void espy_unwinder__forget(struct espy_unwinder *u, pid_t tgid)
{
	struct process *p;

	HASH_FIND_INT(u->by_tgid, &tgid, p);
	if (p)
		drop(u, p);
}

/* Reads what the process has mapped. Returns false if that cannot be had. */
static bool read_maps(struct process *p)
{
	dwfl_report_begin(p->dwfl);
	const bool ok = !dwfl_linux_proc_report(p->dwfl, p->tgid);

	dwfl_report_end(p->dwfl, NULL, NULL);
	return ok;
}

/* Finds the file of a module as libdwfl does, where its server answers. */
static int find_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
	return espy_ask_server(name) ? -1 : dwfl_linux_proc_find_elf(m, data, name, base, path, elf);
}

static struct process *find_process(struct espy_unwinder *u, pid_t tgid)
{
	static char *debug_path; /* NULL: the usual places */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	struct process *p;
	char exe[32];

	HASH_FIND_INT(u->by_tgid, &tgid, p);
	if (p)
		return p->dwfl ? p : NULL;
	if (HASH_COUNT(u->by_tgid) >= PROCESSES_MAX)
		drop(u, u->by_tgid);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	/* libdwfl opens it. Of a program whose server does not answer there are no frames; it is asked once. */
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)tgid);
	if (espy_ask_server(exe)) {
		HASH_ADD_INT(u->by_tgid, tgid, p);
		return NULL;
	}
	p->dwfl = dwfl_begin(&callbacks);
	/* true: its tasks stand in stops of ours; libdwfl must neither attach to them nor let them go. */
	if (!p->dwfl || !read_maps(p) || dwfl_linux_proc_attach(p->dwfl, tgid, true)) {
		if (p->dwfl)
			dwfl_end(p->dwfl);
		free(p);
		return NULL;
	}
	HASH_ADD_INT(u->by_tgid, tgid, p);
	return p;
}

/* Fills in which file the frame lies in. */
static void locate(struct walk *w, struct espy_unwound_frame *f, Dwarf_Addr pc)
{
	Dwfl_Module *m = dwfl_addrmodule(w->process->dwfl, pc);
	const unsigned char *id = NULL;
	GElf_Addr id_addr;
	GElf_Addr bias = 0;

	*f = (struct espy_unwound_frame){ .addr = pc };
	/* The bias is known once the file is open. */
	if (!m || !dwfl_module_getelf(m, &bias)) {
		w->unknown = true;
		return;
	}
	f->addr = pc - bias;
	f->path = dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	const int n = dwfl_module_build_id(m, &id, &id_addr);

	if (n > 0 && (size_t)n <= sizeof(f->build_id)) {
		memcpy(f->build_id, id, (size_t)n);
		f->build_id_sz = (uint8_t)n;
	}
}

static int on_frame(Dwfl_Frame *frame, void *ctx)
{
	struct walk *w = ctx;
	bool is_activation;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, &is_activation))
		return DWARF_CB_ABORT;
	if (w->cnt == w->max) {
		w->more = true;
		return DWARF_CB_ABORT;
	}
	/* A return address may lie behind the function that called: it belongs to the call before it. */
	locate(w, &w->frames[w->cnt++], is_activation ? pc : pc - 1);
	return DWARF_CB_OK;
}

size_t espy_unwinder__frames(struct espy_unwinder *u, pid_t tgid, pid_t tid, struct espy_unwound_frame *frames, size_t max,
			     bool *more)
{
	struct walk w = { .process = find_process(u, tgid), .frames = frames, .max = max };

	*more = false;
	if (!w.process)
		return 0;
	dwfl_getthread_frames(w.process->dwfl, tid, on_frame, &w);
	/* A file that was mapped since the last look. What lies in no file at all costs a second look each time. */
	if (w.unknown && read_maps(w.process)) {
		w = (struct walk){ .process = w.process, .frames = frames, .max = max };
		dwfl_getthread_frames(w.process->dwfl, tid, on_frame, &w);
	}
	*more = w.more;
	return w.cnt;
}

#else

struct espy_unwinder *espy_unwinder__new(void)
{
	return NULL;
}

void espy_unwinder__free(struct espy_unwinder *u)
{
	(void)u;
}

size_t espy_unwinder__frames(struct espy_unwinder *u, pid_t tgid, pid_t tid, struct espy_unwound_frame *frames, size_t max,
			     bool *more)
{
	(void)u;
	(void)tgid;
	(void)tid;
	(void)frames;
	(void)max;
	*more = false;
	return 0;
}

void espy_unwinder__forget(struct espy_unwinder *u, pid_t tgid)
{
	(void)u;
	(void)tgid;
}

#endif
