/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a thread may be made to call dlopen(): where that cannot meet a lock that the same thread holds. It is outside
 * of libc and of the dynamic loader, or in a system call that is none of those made under such locks, and no function
 * that takes them is on its stack. Locks of other threads do no harm: those run on and let go of them.
 */
#include "source/agent/inject_parts.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "arch/call_abi.h"
#include "arch/machine_calls.h"
#include "arch/machine_code.h"
#include "arch/machine_stopped.h"
#include "source/agent/remote.h"
#include "source/auxv.h"

#define SCAN_BYTES 65536u
#define TEXT_MAX (64u << 20)

/* Functions that take the locks of dlopen(), as far as libraries export them. */
static const char *const locking[] = {
	"malloc",	 "free",	   "calloc",	      "realloc",   "reallocarray", "memalign",
	"aligned_alloc", "posix_memalign", "valloc",	      "pvalloc",   "cfree",	   "malloc_trim",
	"malloc_info",	 "malloc_stats",   "mallinfo",	      "mallinfo2", "mallopt",	   "malloc_usable_size",
	"dlopen",	 "dlsym",	   "dlvsym",	      "dlclose",   "dlerror",	   "dlinfo",
	"dladdr",	 "dladdr1",	   "dl_iterate_phdr", "fork",	   "_Fork",	   "vfork",
	"exit",		 "quick_exit",
};
#define LOCKING_CNT (sizeof(locking) / sizeof(locking[0]))

/* Calls that are made while such a lock is held. */
static const uint16_t locked_calls[] = { ESPY_LOCKED_CALLS };

struct espy_inject_place {
	const struct espy_object *object;
	struct espy_elf_symbol ranges[LOCKING_CNT]; /* in the object's numbering; value 0: not there */
	bool whole;    /* all of it is unsafe: the dynamic loader, an allocator of its own */
	bool locks;    /* it exports some of the functions */
	uint8_t *text; /* its executable part, from the file */
	size_t text_sz;
	uint64_t text_start;
};

/* The code as it stands in the file: what the process may have written over it (probes) does not matter here. */
static int load_text(struct espy_inject_place *p)
{
	const struct espy_elf *e = &p->object->elf;

	for (size_t i = 0; i < e->segment_cnt; i++) {
		const struct espy_elf_segment *s = &e->segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X) || s->file_sz > TEXT_MAX)
			continue;
		p->text = malloc(s->file_sz ? s->file_sz : 1);
		if (!p->text)
			return -ENOMEM;
		p->text_sz = s->file_sz;
		p->text_start = p->object->bias + s->vaddr;
		return espy_elf__read(e, s->offset, p->text, p->text_sz);
	}
	return -ENOENT;
}

static uint64_t find_bytes(const struct espy_inject_place *p, const void *bytes, size_t len)
{
	const uint8_t *at = memmem(p->text, p->text_sz, bytes, len);

	return at ? p->text_start + (uint64_t)(at - p->text) : 0;
}

/* Returns a signal without a handler, which does nothing by default. */
static int choose_bell(const struct espy_inject_status *s)
{
	static const int candidates[] = { SIGURG, SIGWINCH, SIGCHLD };

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
		if (!(s->caught >> (candidates[i] - 1) & 1))
			return candidates[i];
	return 0;
}

static int find_code(struct espy_inject_target *t, const struct espy_inject_status *s)
{
	static const uint8_t syscall_ret[] = ESPY_CODE_SYSCALL_RET, pop_ret[] = ESPY_CODE_POP_RET,
			     sigreturn[] = ESPY_CODE_SIGRETURN;
	static const char *const names[] = { "dlopen", "raise", "pidfd_spawn", "pthread_create" };
	struct espy_elf_symbol found[4];
	int err = espy_elf__dynamic_symbols(&t->libc->object->elf, names, 4, found);

	if (err)
		return err;
	t->dlopen_at = t->libc->object->bias + found[0].value;
	t->libc_fstat = found[2].value; /* both came with 2.39 */
	t->create_at = found[3].value ? t->libc->object->bias + found[3].value : 0;
	t->code = (struct espy_remote_code){
		.syscall_ret = find_bytes(t->libc, syscall_ret, sizeof(syscall_ret)),
		.pop_rdi_ret = find_bytes(t->libc, pop_ret, sizeof(pop_ret)),
		.sigreturn = find_bytes(t->libc, sigreturn, sizeof(sigreturn)),
		.raise = found[1].value ? t->libc->object->bias + found[1].value : 0,
		.bell = choose_bell(s),
	};
	return t->code.syscall_ret && t->code.pop_rdi_ret && t->code.sigreturn && t->code.raise && t->code.bell
		       ? 0
		       : -ENOENT;
}

/* Others export dlopen() and malloc() too, and pass calls on: sanitizers, also from within the program itself. */
static bool is_glibc(const struct espy_elf *e)
{
	static const char *const name[] = { "gnu_get_libc_version" };
	struct espy_elf_symbol found[1];

	return !espy_elf__dynamic_symbols(e, name, 1, found) && found[0].value;
}

static int find_places(struct espy_inject_target *t, uint64_t loader)
{
	t->places = calloc(t->objects.cnt + 1, sizeof(*t->places));
	if (!t->places)
		return -ENOMEM;
	for (size_t i = 0; i < t->objects.cnt; i++) {
		struct espy_inject_place *p = &t->places[i];

		p->object = &t->objects.v[i];
		if (p->object->error || espy_elf__dynamic_symbols(&p->object->elf, locking, LOCKING_CNT, p->ranges))
			continue;
		bool allocates = p->ranges[0].value, opens = false, exec = loader && p->object->start == loader;

		for (size_t k = 0; k < LOCKING_CNT; k++) {
			p->locks |= p->ranges[k].value != 0;
			opens |= p->ranges[k].value && !strcmp(locking[k], "dlopen");
		}
		if (opens && allocates && !t->libc && (exec || is_glibc(&p->object->elf))) {
			t->libc = p;
			t->libc_other = exec;
			t->libc_path = p->object->path;
		}
		/* The loader's own file is all locks, unless it is libc as well (musl). */
		p->whole = (exec && !opens) || (allocates && !opens && p->object->elf.type == ET_DYN && i > 0);
		if (p->locks || p->whole) {
			int err = load_text(p);

			if (err)
				return err;
		}
	}
	return 0;
}

void espy_inject__free(struct espy_inject_target *t)
{
	for (size_t i = 0; t->places && i < t->objects.cnt; i++)
		free(t->places[i].text);
	free(t->places);
	free(t->threads);
	espy_objects__free(&t->objects);
}

static bool in_locking_function(const struct espy_inject_place *p, uint64_t addr)
{
	for (size_t k = 0; k < LOCKING_CNT; k++) {
		uint64_t at = addr - p->object->bias - p->ranges[k].value;

		if (p->ranges[k].value && at < p->ranges[k].size)
			return true;
	}
	return false;
}

/* Could a call have pushed this address? The instruction before it must be one. */
static bool follows_call(const struct espy_inject_place *p, uint64_t addr)
{
	uint64_t at = addr - p->text_start;

	if (at < 7 || at > p->text_sz)
		return false;
	return espy_code_may_be_call(p->text + at);
}

/* Of a word on the stack: does it say that a function with locks is under way, or a signal handler is? */
static bool unsafe_word(const struct espy_inject_target *t, uint64_t word)
{
	if (word == t->code.sigreturn)
		return true;
	for (size_t i = 0; i < t->objects.cnt; i++) {
		const struct espy_inject_place *p = &t->places[i];

		if (!p->text || word < p->object->code_start || word >= p->object->code_end)
			continue;
		return (p->whole || in_locking_function(p, word)) && follows_call(p, word);
	}
	return false;
}

static bool in_locked_call(uint64_t nr)
{
	for (size_t i = 0; i < sizeof(locked_calls) / sizeof(locked_calls[0]); i++)
		if (nr == locked_calls[i])
			return true;
	return false;
}

static const struct espy_inject_place *place_at(const struct espy_inject_target *t, uint64_t addr)
{
	const struct espy_object *o = espy_objects__at(&t->objects, addr);

	return o ? &t->places[o - t->objects.v] : NULL;
}

/*
 * In a leaf function of libc that the program itself has called (memcpy, strlen): its return address is on top of the
 * stack. Nothing in there takes a lock.
 */
static bool in_leaf(const struct espy_inject_target *t, const struct espy_remote *r, const struct espy_inject_place *p)
{
	const struct espy_inject_place *caller;
	uint64_t top;

	if (p->whole || in_locking_function(p, espy_stopped__ip(&r->regs)) ||
	    espy_remote__read(t->late, r->pid, espy_stopped__sp(&r->regs), &top, sizeof(top)) != sizeof(top))
		return false;
	caller = place_at(t, top);
	return caller && !caller->whole && !caller->locks;
}

bool espy_inject__at_safe_point(const struct espy_inject_target *t, const struct espy_remote *r)
{
	const struct espy_inject_place *at = place_at(t, espy_stopped__ip(&r->regs));
	uint64_t stack[1024];
	bool safe_place = true;

	if (espy_stopped__call(&r->regs) >= 0) {
		uint8_t insn[ESPY_CODE_SYSCALL_SZ] = { 0 };

		/* A 32-bit call (int 0x80) from 64-bit code has other numbers. */
		if (in_locked_call((uint64_t)espy_stopped__call(&r->regs)) ||
		    espy_remote__read(t->late, r->pid, espy_stopped__ip(&r->regs) - sizeof(insn), insn, sizeof(insn)) !=
			    sizeof(insn) ||
		    !espy_code_is_syscall(insn))
			return false;
	} else if (at && (at->whole || at->locks)) {
		safe_place = in_leaf(t, r, at);
	}
	if (!safe_place || !espy_stopped__is_native(&r->regs))
		return false;
	for (uint64_t off = 0; off < SCAN_BYTES;) {
		size_t got = espy_remote__read(t->late, r->pid, espy_stopped__sp(&r->regs) + off, stack, sizeof(stack));

		for (size_t i = 0; i < got / 8; i++)
			if (unsafe_word(t, stack[i]))
				return false;
		/* Nothing can be called on a stack that cannot be read. */
		if (!off && !got)
			return false;
		if (got < sizeof(stack))
			break;
		off += got;
	}
	return true;
}

bool espy_inject__still_the_same(const struct espy_inject_target *t)
{
	static const uint8_t want[] = ESPY_CODE_SYSCALL_RET;
	uint8_t is[sizeof(want)];

	return espy_remote__read(t->late, t->pid, t->code.syscall_ret, is, sizeof(is)) == sizeof(is) &&
	       !memcmp(is, want, sizeof(is));
}

int espy_inject__prepare(struct espy_inject_target *t, const struct espy_inject_status *s, struct espy_inject_result *r)
{
	const uint64_t random = espy_auxv(t->pid, AT_RANDOM); /* an address on its stack: another one for each image */
	const uint64_t loader = espy_auxv(t->pid, AT_BASE);   /* of the dynamic loader; 0: there is none */
	int err = espy_objects__of_pid(&t->objects, t->pid);

	/* What was read before and after an execve does not go together. */
	if (espy_auxv(t->pid, AT_RANDOM) != random)
		return espy_inject__refuse(r, -ESTALE, "process %d executes another program at this moment", (int)t->pid);
	if (err)
		return espy_inject__refuse(r, err, "process %d: its mappings cannot be read: %s", (int)t->pid,
					   strerror(-err));
	/* Empty: it executes another program at this very moment. (Kernel threads have no user's memory at all.) */
	if (!t->objects.cnt)
		return espy_inject__refuse(r, -ESTALE, "process %d has no program in it (a kernel thread?)",
					   (int)t->pid);
	if (t->objects.v[0].error == -ENOTSUP ||
	    (!t->objects.v[0].error && t->objects.v[0].elf.machine != ESPY_ARCH_ELF_MACHINE))
		return espy_inject__refuse(r, -EOPNOTSUPP,
					   "process %d is not an " ESPY_ARCH_NAME " program, and the agent is",
					   (int)t->pid);
	if (!random) /* in the middle of an execve: there is nothing yet */
		return espy_inject__refuse(r, -ESTALE, "process %d executes another program at this moment", (int)t->pid);
	err = find_places(t, loader);
	if (err)
		return espy_inject__refuse(r, err, "process %d: its libraries cannot be read: %s", (int)t->pid,
					   strerror(-err));
	/* With a dynamic loader it may be just beginning, and will have one in a moment. */
	if (!t->libc)
		return espy_inject__refuse(
			r, loader ? -ESTALE : -EOPNOTSUPP,
			"process %d has no libc with dlopen (it is linked statically, or against a libc before "
			"glibc 2.34); "
			"link the agent into the program, or use --via kernel",
			(int)t->pid);
	if (find_code(t, s))
		return espy_inject__refuse(r, -EOPNOTSUPP, "process %d: its libc (%s) is not one that espy knows",
					   (int)t->pid, t->libc->object->path);
	return 0;
}
