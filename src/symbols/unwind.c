/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "symbols/unwind.h"

#include <stdlib.h>

#ifdef ESPY_HAVE_LIBDW
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <uthash.h>
#include "arch/machine_stopped.h"
#include "base/late_pages.h"
#include "base/proc_pid.h"
#include "base/served_file.h"
#include "symbols/frame_rules.h"

/* The most processes that are remembered at a time; an older one is looked at anew. */
#define PROCESSES_MAX 256
#define PAGE 4096u
#define BEYOND 65536u /* bytes: so far behind a copy of the stack an address is still one of the stack */

struct process {
	pid_t tgid;
	uint32_t version; /* of the mappings in dwfl; 0: of /proc */
	uint64_t maps;	  /* their number in the rules */
	Dwfl *dwfl;
	struct espy_late_pages *late;
	/* Of the task that is looked at: whether it executes 64-bit code, and a page of its memory, mostly of its
	 * stack. */
	bool native;
	uint64_t page_addr; /* 0: none is here */
	uint8_t page[PAGE];
	const struct espy_stack_copy *copy; /* NULL: it stands in a stop */
	bool beyond;			    /* the way of frames leads beyond the copy */
	UT_hash_handle hh;
};

struct espy_unwinder {
	struct espy_unwinder_maps known;
	struct process *by_tgid;
	struct espy_late_pages late;
	struct espy_frame_rules *rules;
	uint64_t maps;	   /* as many mappings have been read */
	uint64_t by_rules; /* as many stacks needed nothing but rules */
};

struct walk {
	struct process *process;
	struct espy_unwound_frame *frames;
	size_t cnt, max;
	bool more, unknown; /* unknown: no known file has an address */
};

struct espy_unwinder *espy_unwinder__new(const struct espy_unwinder_maps *maps)
{
	struct espy_unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	if (maps)
		u->known = *maps;
	u->rules = espy_frame_rules__new();
	if (u->rules)
		return u;
	free(u);
	return NULL;
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
	espy_late_pages__end(&u->late);
	espy_frame_rules__free(u->rules);
	free(u);
}

uint64_t espy_unwinder__by_rules(const struct espy_unwinder *u)
{
	return u->by_rules;
}

void espy_unwinder__forget(struct espy_unwinder *u, pid_t tgid)
{
	struct process *p;

	HASH_FIND_INT(u->by_tgid, &tgid, p);
	if (p)
		drop(u, p);
}

static uint32_t version_of(const struct espy_unwinder *u, pid_t tgid)
{
	return u->known.version ? u->known.version(u->known.ctx, tgid) : 0;
}

static bool report_known(const struct espy_unwinder *u, struct process *p)
{
	char *text = u->known.text(u->known.ctx, p->tgid);
	FILE *f = text && *text ? fmemopen(text, strlen(text), "r") : NULL;
	const bool ok = f && !dwfl_linux_proc_maps_report(p->dwfl, f);

	if (f)
		fclose(f);
	free(text);
	return ok;
}

/* As libdwfl does, which opens the program of the process besides, to find its vDSO; not if that would ask a server. */
static bool report_process(struct process *p)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)espy_proc_pid((pid_t)p->tgid));
	if (!espy_is_served(path))
		return !dwfl_linux_proc_report(p->dwfl, p->tgid);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)espy_proc_pid((pid_t)p->tgid));
	FILE *f = fopen(path, "re");
	const bool ok = f && !dwfl_linux_proc_maps_report(p->dwfl, f);

	if (f)
		fclose(f);
	return ok;
}

/* Learns the mappings of the process. Returns false if it cannot. */
static bool read_maps(struct espy_unwinder *u, struct process *p)
{
	bool ok;

	p->maps = ++u->maps;
	p->version = version_of(u, p->tgid);
	dwfl_report_begin(p->dwfl);
	ok = p->version ? report_known(u, p) : report_process(p);
	dwfl_report_end(p->dwfl, NULL, NULL);
	return ok;
}

/* Finds the file of a module as libdwfl does; of a file with a server, a copy. */
static int find_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **path, Elf **elf)
{
	struct stat st;

	if (!espy_is_served(name))
		return dwfl_linux_proc_find_elf(m, data, name, base, path, elf);
	const int fd = espy_copy_served(name, SIZE_MAX, &st);

	*path = fd >= 0 ? strdup(name) : NULL;
	return fd >= 0 ? fd : -1;
}

/* libdwfl also looks for debug information in the folder of the file, whose server would be asked. */
static int find_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, const char *path,
			  const char *link, GElf_Word crc, char **found)
{
	return path && espy_is_served(path) ? -1
					    : dwfl_standard_find_debuginfo(m, data, name, base, path, link, crc, found);
}

/*
 * How libdwfl sees the stopped task that it is asked for. It has such functions itself, but they open the program of
 * the process, whatever serves it.
 */
static bool get_thread(Dwfl *dwfl, pid_t tid, void *process, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = process;
	return true;
}

static pid_t next_thread(Dwfl *dwfl, void *process, void **thread)
{
	return *thread ? 0 : get_thread(dwfl, dwfl_pid(dwfl), process, thread) ? dwfl_pid(dwfl) : -1;
}

static bool copy_memory(struct espy_late_pages *late, pid_t pid, uint64_t addr, void *to, size_t size)
{
	const struct iovec here = { to, size }, there = { (void *)(uintptr_t)addr, size };

	return espy_late_pages__all_ready(late, pid, addr, size) &&
	       process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Memory outside of the copy may have changed since. */
static bool read_copy(struct process *p, uint64_t addr, Dwarf_Word *word, size_t size)
{
	const struct espy_stack_copy *c = p->copy;
	const uint64_t at = addr - c->regs[ESPY_REG_SP];

	if (at < c->size && size <= c->size - at) {
		memcpy(word, c->bytes + at, size);
		return true;
	}
	p->beyond |= at >= c->size && at < c->size + BEYOND;
	return false;
}

static bool read_word(struct process *p, uint64_t addr, Dwarf_Word *word)
{
	const size_t size = p->native ? 8 : 4;
	const uint64_t page = addr & ~(uint64_t)(PAGE - 1);

	*word = 0;
	if (p->copy)
		return read_copy(p, addr, word, size);
	if (addr - page + size > PAGE)
		return copy_memory(p->late, p->tgid, addr, word, size);
	if (p->page_addr != page || !page) {
		p->page_addr = 0;
		if (!copy_memory(p->late, p->tgid, page, p->page, PAGE))
			return false;
		p->page_addr = page;
	}
	memcpy(word, p->page + (addr - page), size);
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *process)
{
	(void)dwfl;
	return read_word(process, addr, word);
}

/* Reads the registers that the way of frames begins with. Returns how many; 0: they cannot be read. */
static unsigned first_registers(struct process *p, pid_t tid, uint64_t regs[ESPY_DWARF_REGS])
{
	struct user_regs_struct r;

	if (p->copy)
		espy_stopped__of(&r, p->copy->regs);
	else if (espy_stopped__get(tid, &r))
		return 0;
	p->native = espy_stopped__is_native(&r);
	p->page_addr = 0;
	return espy_stopped__by_dwarf(&r, regs);
}

static bool set_registers(Dwfl_Thread *thread, void *process)
{
	uint64_t regs[ESPY_DWARF_REGS];
	const unsigned cnt = first_registers(process, dwfl_thread_tid(thread), regs);

	return cnt && dwfl_thread_state_registers(thread, 0, cnt, regs);
}

static struct process *find_process(struct espy_unwinder *u, pid_t tgid)
{
	static char *debug_path; /* NULL: the usual places */
	static const Dwfl_Callbacks callbacks = {
		.find_elf = find_elf,
		.find_debuginfo = find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	static const Dwfl_Thread_Callbacks stopped = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_memory,
		.set_initial_registers = set_registers,
	};
	struct process *p;

	HASH_FIND_INT(u->by_tgid, &tgid, p);
	if (p)
		return p;
	if (HASH_COUNT(u->by_tgid) >= PROCESSES_MAX)
		drop(u, u->by_tgid);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tgid = tgid;
	p->late = &u->late;
	p->dwfl = dwfl_begin(&callbacks);
	if (!p->dwfl || !read_maps(u, p) || !dwfl_attach_state(p->dwfl, NULL, tgid, &stopped, p)) {
		if (p->dwfl)
			dwfl_end(p->dwfl);
		free(p);
		return NULL;
	}
	HASH_ADD_INT(u->by_tgid, tgid, p);
	return p;
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
	w->unknown |= !espy_frame__locate(w->process->dwfl, is_activation ? pc : pc - 1, &w->frames[w->cnt++]);
	return DWARF_CB_OK;
}

/* The registers of a frame, by their DWARF numbers. */
struct frame_regs {
	uint64_t v[ESPY_DWARF_REGS];
	uint32_t known; /* as bits */
};

/* Goes from a frame to its caller's. Returns false if there is none, or the stack does not say where it is. */
static bool go_to_caller(struct process *p, const struct espy_frame_rule *r, struct frame_regs *f)
{
	if (!(f->known >> r->cfa_reg & 1))
		return false;

	const uint64_t cfa = f->v[r->cfa_reg] + (uint64_t)(int64_t)r->cfa_off;

	f->known &= r->same;
	for (uint32_t left = r->saved; left; left &= left - 1) {
		const unsigned reg = (unsigned)__builtin_ctz(left);

		if (read_word(p, cfa + (uint64_t)(int64_t)r->at[reg], &f->v[reg]))
			f->known |= 1u << reg;
	}
	f->v[ESPY_DWARF_SP] = cfa;
	f->known |= 1u << ESPY_DWARF_SP;
	return f->known >> ESPY_DWARF_RA & 1 && f->v[ESPY_DWARF_RA];
}

/*
 * Follows the frames by their rules, as libdwfl does by the tables. Returns false if one has no simple rule: libdwfl
 * has to follow them then, from the first on.
 */
static bool follow_rules(struct espy_unwinder *u, struct walk *w, pid_t tid)
{
	struct process *p = w->process;
	struct frame_regs f = { .known = (1u << ESPY_DWARF_REGS) - 1 };
	const struct espy_frame_rule *r;
	bool called = false; /* the address is one that a function returns to */

	if (!first_registers(p, tid, f.v) || !p->native)
		return false;
	do {
		/* A return address may lie behind the function that called: it belongs to the call before it. */
		const uint64_t pc = f.v[ESPY_DWARF_RA] - called;

		r = espy_frame_rules__at(u->rules, p->dwfl, p->maps, pc);
		if (!r->simple)
			return false;
		w->more = w->cnt == w->max;
		if (w->more)
			break;
		w->frames[w->cnt++] = r->frame;
		called = true;
	} while (go_to_caller(p, r, &f));
	u->by_rules++;
	return true;
}

static size_t find_frames(struct espy_unwinder *u, struct process *p, pid_t tid, struct espy_unwound_frame *frames,
			  size_t max, bool *more)
{
	struct walk w = { .process = p, .frames = frames, .max = max };

	if (p->version && p->version != version_of(u, p->tgid))
		read_maps(u, p);
	if (follow_rules(u, &w, tid)) {
		*more = w.more;
		return w.cnt;
	}
	w = (struct walk){ .process = p, .frames = frames, .max = max };
	p->beyond = false;
	dwfl_getthread_frames(w.process->dwfl, tid, on_frame, &w);
	/* A file may have been mapped since the last look. An address in no file costs a second look each time. */
	if (w.unknown && !p->version && read_maps(u, p)) {
		w = (struct walk){ .process = w.process, .frames = frames, .max = max };
		dwfl_getthread_frames(w.process->dwfl, tid, on_frame, &w);
	}
	*more = w.more;
	return w.cnt;
}

size_t espy_unwinder__frames(struct espy_unwinder *u, pid_t tgid, pid_t tid, struct espy_unwound_frame *frames,
			     size_t max, bool *more)
{
	struct process *p = find_process(u, tgid);

	*more = false;
	return p ? find_frames(u, p, tid, frames, max, more) : 0;
}

size_t espy_unwinder__frames_of_copy(struct espy_unwinder *u, pid_t tgid, pid_t tid, const struct espy_stack_copy *copy,
				     struct espy_unwound_frame *frames, size_t max, bool *more)
{
	struct process *p = find_process(u, tgid);
	size_t cnt;

	*more = false;
	if (!p)
		return 0;
	p->copy = copy;
	p->beyond = false;
	cnt = find_frames(u, p, tid, frames, max, more);
	p->copy = NULL;
	*more |= copy->cut && p->beyond;
	return cnt;
}

#else

struct espy_unwinder *espy_unwinder__new(const struct espy_unwinder_maps *maps)
{
	(void)maps;
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

size_t espy_unwinder__frames_of_copy(struct espy_unwinder *u, pid_t tgid, pid_t tid, const struct espy_stack_copy *copy,
				     struct espy_unwound_frame *frames, size_t max, bool *more)
{
	(void)copy;
	return espy_unwinder__frames(u, tgid, tid, frames, max, more);
}

uint64_t espy_unwinder__by_rules(const struct espy_unwinder *u)
{
	(void)u;
	return 0;
}

void espy_unwinder__forget(struct espy_unwinder *u, pid_t tgid)
{
	(void)u;
	(void)tgid;
}

#endif
