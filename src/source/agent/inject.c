/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a process can be given a library, when, and through which thread. A thread may be used where dlopen() cannot
 * meet a lock that the same thread holds: it is outside of libc and of the dynamic loader, or in a system call that
 * is none of those made under such locks, and no function that takes them is on its stack. Locks of other
 * threads do no harm: those run on and let go of them.
 */
#include "source/agent/inject.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "record/clock.h"
#include "source/agent/control.h"
#include "source/agent/remote.h"
#include "symbols/objects.h"

#define TRIES_OF_A_THREAD 12u
#define THREADS_MAX 64u
#define PATIENCE_NS 8000000000ull
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

/* Calls that are made while such a lock is held. Numbers of x86-64. */
static const uint16_t locked_calls[] = {
	9,   /* __NR_mmap */
	10,  /* __NR_mprotect */
	11,  /* __NR_munmap */
	12,  /* __NR_brk */
	25,  /* __NR_mremap */
	28,  /* __NR_madvise */
	56,  /* __NR_clone */
	57,  /* __NR_fork */
	58,  /* __NR_vfork */
	59,  /* __NR_execve */
	15,  /* __NR_rt_sigreturn */
	435, /* __NR_clone3 */
	322, /* __NR_execveat */
};

struct place {
	const struct espy_object *object;
	struct espy_elf_symbol ranges[LOCKING_CNT]; /* in the object's numbering; value 0: not there */
	bool whole;    /* all of it is unsafe: the dynamic loader, an allocator of its own */
	bool locks;    /* it exports some of the functions */
	uint8_t *text; /* its executable part, from the file */
	size_t text_sz;
	uint64_t text_start;
};

struct target {
	pid_t pid;
	struct espy_objects objects;
	struct place *places; /* one per object */
	const struct place *libc;
	uint64_t dlopen_at;
	struct espy_remote_code code;
};

struct status {
	char state;
	pid_t tracer, tgid;
	unsigned ruid, euid, suid, fsuid, rgid, egid, sgid, fsgid;
	uint64_t ignored, caught;
	int seccomp;
	bool shadow_stack;
};

static int refuse(struct espy_inject_result *r, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int refuse(struct espy_inject_result *r, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return err;
}

static int read_status(pid_t pid, struct status *s)
{
	char path[64], line[512];

	*s = (struct status){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), f)) {
		int pid_field;

		if (sscanf(line, "State: %c", &s->state) == 1)
			continue;
		if (sscanf(line, "Tgid: %d", &pid_field) == 1)
			s->tgid = pid_field;
		else if (sscanf(line, "TracerPid: %d", &pid_field) == 1)
			s->tracer = pid_field;
		else if (sscanf(line, "Uid: %u %u %u %u", &s->ruid, &s->euid, &s->suid, &s->fsuid) == 4 ||
			 sscanf(line, "Gid: %u %u %u %u", &s->rgid, &s->egid, &s->sgid, &s->fsgid) == 4 ||
			 sscanf(line, "SigIgn: %" SCNx64, &s->ignored) == 1 ||
			 sscanf(line, "SigCgt: %" SCNx64, &s->caught) == 1 ||
			 sscanf(line, "Seccomp: %d", &s->seccomp) == 1)
			continue;
		else if (!strncmp(line, "x86_Thread_features:", 20))
			s->shadow_stack = strstr(line, "shstk") != NULL;
	}
	fclose(f);
	return 0;
}

/* Is the library there under the same name for the process, as it is for us? */
static int check_library(pid_t pid, const char *library, struct espy_inject_result *r)
{
	char path[4400];
	struct stat ours, theirs;

	if (stat(library, &ours))
		return refuse(r, -errno, "%s: %s", library, strerror(errno));
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, library);
	if (library[0] != '/' || stat(path, &theirs) || theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino)
		return refuse(r, -ENOENT,
			      "process %d sees another root directory (a container?), where %s is not to be found; "
			      "put the agent there and start the program with LD_PRELOAD",
			      (int)pid, library);
	return 0;
}

static int check_status(pid_t pid, bool held, struct status *s, struct espy_inject_result *r)
{
	int err = read_status(pid, s);

	if (err)
		return refuse(r, err, "process %d: %s", (int)pid, strerror(-err));
	if (s->state == 'Z' || s->state == 'X')
		return refuse(r, -ESRCH, "process %d has ended", (int)pid);
	if (s->state == 'T' && !s->tracer)
		return refuse(r, -EAGAIN, "process %d is stopped; let it go on (kill -CONT %d) and try again", (int)pid,
			      (int)pid);
	if (s->tracer && !held)
		return refuse(r, -EBUSY, "process %d is being traced by process %d (a debugger?)", (int)pid,
			      (int)s->tracer);
	if (s->ruid != s->euid || s->ruid != s->suid || s->rgid != s->egid || s->rgid != s->sgid)
		return refuse(
			r, -EPERM,
			"process %d runs with the rights of another user than the one that started it (set-user-id); "
			"no library is loaded into such a program",
			(int)pid);
	if (geteuid() && s->ruid != geteuid())
		return refuse(r, -EPERM,
			      "process %d belongs to user %u; only that user and root may load the agent into it",
			      (int)pid, s->ruid);
	if (s->seccomp == 1)
		return refuse(r, -EPERM, "process %d is in strict seccomp mode, where opening a file kills it",
			      (int)pid);
	if (s->seccomp == 2)
		return refuse(r, -EPERM,
			      "process %d runs under a seccomp filter, which may kill it for the calls that loading "
			      "the agent "
			      "takes; start it with LD_PRELOAD, or use --via kernel",
			      (int)pid);
	if (s->shadow_stack)
		return refuse(r, -EOPNOTSUPP, "process %d runs with a shadow stack, which forbids calls made for it",
			      (int)pid);
	return 0;
}

/* Address of the dynamic loader, from the vector that the kernel gave the program. 0: none, it is static. */
static uint64_t loader_base(pid_t pid)
{
	char path[64];
	Elf64_auxv_t v;
	uint64_t base = 0;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	FILE *f = fopen(path, "re");

	while (f && fread(&v, sizeof(v), 1, f) == 1)
		if (v.a_type == AT_BASE)
			base = v.a_un.a_val;
	if (f)
		fclose(f);
	return base;
}

/* The code as it stands in the file: what the process may have written over it (probes) does not matter here. */
static int load_text(struct place *p)
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

static uint64_t find_bytes(const struct place *p, const void *bytes, size_t len)
{
	const uint8_t *at = memmem(p->text, p->text_sz, bytes, len);

	return at ? p->text_start + (uint64_t)(at - p->text) : 0;
}

/* A signal that nobody has a handler for, and that does nothing by default. */
static int choose_bell(const struct status *s)
{
	static const int candidates[] = { SIGURG, SIGWINCH, SIGCHLD };

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
		if (!(s->caught >> (candidates[i] - 1) & 1))
			return candidates[i];
	return 0;
}

static int find_code(struct target *t, const struct status *s)
{
	static const uint8_t syscall_ret[] = { 0x0f, 0x05, 0xc3 }, pop_ret[] = { 0x5f, 0xc3 },
			     sigreturn[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const char *const names[] = { "dlopen", "raise" };
	struct espy_elf_symbol found[2];
	int err = espy_elf__dynamic_symbols(&t->libc->object->elf, names, 2, found);

	if (err)
		return err;
	t->dlopen_at = t->libc->object->bias + found[0].value;
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

static int find_places(struct target *t, uint64_t loader)
{
	t->places = calloc(t->objects.cnt + 1, sizeof(*t->places));
	if (!t->places)
		return -ENOMEM;
	for (size_t i = 0; i < t->objects.cnt; i++) {
		struct place *p = &t->places[i];

		p->object = &t->objects.v[i];
		if (p->object->error || espy_elf__dynamic_symbols(&p->object->elf, locking, LOCKING_CNT, p->ranges))
			continue;
		bool allocates = p->ranges[0].value, opens = false, exec = loader && p->object->start == loader;

		for (size_t k = 0; k < LOCKING_CNT; k++) {
			p->locks |= p->ranges[k].value != 0;
			opens |= p->ranges[k].value && !strcmp(locking[k], "dlopen");
		}
		if (opens && allocates && !t->libc)
			t->libc = p;
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

static void free_target(struct target *t)
{
	for (size_t i = 0; t->places && i < t->objects.cnt; i++)
		free(t->places[i].text);
	free(t->places);
	espy_objects__free(&t->objects);
}

static bool in_locking_function(const struct place *p, uint64_t addr)
{
	for (size_t k = 0; k < LOCKING_CNT; k++) {
		uint64_t at = addr - p->object->bias - p->ranges[k].value;

		if (p->ranges[k].value && at < p->ranges[k].size)
			return true;
	}
	return false;
}

/* Could a call have pushed this address? The instruction before it must be one. */
static bool follows_call(const struct place *p, uint64_t addr)
{
	uint64_t at = addr - p->text_start;

	if (at < 7 || at > p->text_sz)
		return false;
	const uint8_t *b = p->text + at;
	if (b[-5] == 0xe8)
		return true; /* call rel32 */
	for (unsigned len = 2; len <= 7; len++)
		if (b[-(int)len] == 0xff && (b[-(int)len + 1] >> 3 & 7) == 2)
			return true; /* call *... */
	return false;
}

/* Of a word on the stack: does it say that a function with locks is under way, or a signal handler is? */
static bool unsafe_word(const struct target *t, uint64_t word)
{
	if (word == t->code.sigreturn)
		return true;
	for (size_t i = 0; i < t->objects.cnt; i++) {
		const struct place *p = &t->places[i];

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

static const struct place *place_at(const struct target *t, uint64_t addr)
{
	const struct espy_object *o = espy_objects__at(&t->objects, addr);

	return o ? &t->places[o - t->objects.v] : NULL;
}

/*
 * In a leaf function of libc that the program itself has called (memcpy, strlen): its return address is on top of the
 * stack. Nothing in there takes a lock.
 */
static bool in_leaf(const struct target *t, const struct espy_remote *r, const struct place *p)
{
	const struct place *caller;
	uint64_t top;

	if (p->whole || in_locking_function(p, r->regs.rip) ||
	    espy_remote__read(r->pid, r->regs.rsp, &top, sizeof(top)) != sizeof(top))
		return false;
	caller = place_at(t, top);
	return caller && !caller->whole && !caller->locks;
}

static bool at_safe_point(const struct target *t, const struct espy_remote *r)
{
	static const uint8_t syscall_insn[] = { 0x0f, 0x05 };
	const struct place *at = place_at(t, r->regs.rip);
	uint64_t stack[1024];
	bool safe_place = true;

	if ((int64_t)r->regs.orig_rax >= 0) {
		uint8_t insn[2] = { 0 };

		/* A 32-bit call (int 0x80) from 64-bit code has other numbers. */
		if (espy_remote__read(r->pid, r->regs.rip - 2, insn, 2) != 2 || memcmp(insn, syscall_insn, 2) ||
		    in_locked_call(r->regs.orig_rax))
			return false;
	} else if (at && (at->whole || at->locks)) {
		safe_place = in_leaf(t, r, at);
	}
	if (!safe_place || (r->regs.cs & 0xffff) != 0x33)
		return false;
	for (uint64_t off = 0; off < SCAN_BYTES;) {
		size_t got = espy_remote__read(r->pid, r->regs.rsp + off, stack, sizeof(stack));

		for (size_t i = 0; i < got / 8; i++)
			if (unsafe_word(t, stack[i]))
				return false;
		if (got < sizeof(stack))
			break;
		off += got;
	}
	return true;
}

/* The process may have executed another program since its files were read. */
static bool still_the_same(const struct target *t)
{
	static const uint8_t want[] = { 0x0f, 0x05, 0xc3 };
	uint8_t is[sizeof(want)];

	return espy_remote__read(t->pid, t->code.syscall_ret, is, sizeof(is)) == sizeof(is) &&
	       !memcmp(is, want, sizeof(is));
}

static bool has_library(pid_t pid, const char *library)
{
	struct espy_objects o;
	struct stat st;
	bool found = false;

	if (stat(library, &st) || espy_objects__of_pid(&o, pid))
		return false;
	for (size_t i = 0; i < o.cnt && !found; i++)
		found = o.v[i].inode == st.st_ino && !strcmp(o.v[i].path, library);
	espy_objects__free(&o);
	return found;
}

/* One thread, until it stands at a safe point: 0 and the call made; -EAGAIN: it did not. */
static int try_thread(const struct target *t, pid_t tid, const char *library, struct espy_inject_result *res)
{
	struct espy_remote r;
	int err = espy_remote__attach(&r, t->pid, tid);

	if (err)
		return err;
	for (unsigned i = 0; i < TRIES_OF_A_THREAD && !err; i++) {
		/* Not in step with what the program may do at regular times. */
		const struct timespec gap = { .tv_nsec = 100000 + (long)(espy_now_ns() % 400000) };
		uint64_t since, took;

		res->tries++;
		err = espy_remote__stop(&r);
		if (err)
			break;
		since = espy_now_ns();
		bool safe = at_safe_point(t, &r);

		if (safe && !still_the_same(t))
			err = -ESTALE;
		else if (safe)
			err = espy_remote__call(&r, &t->code, t->dlopen_at, library, RTLD_NOW | RTLD_GLOBAL);
		if (safe || err)
			espy_remote__detach(&r);
		else
			err = espy_remote__resume(&r);
		took = espy_now_ns() - since;
		res->paused_ns += took;
		if (took > res->longest_ns)
			res->longest_ns = took;
		if (safe) {
			res->tid = tid;
			return err;
		}
		if (!err)
			nanosleep(&gap, NULL);
	}
	espy_remote__detach(&r);
	return err ? err : -EAGAIN;
}

static size_t list_threads(pid_t pid, pid_t *tids, size_t max)
{
	char path[64];
	size_t cnt = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);

	for (struct dirent *e; d && cnt < max && (e = readdir(d));) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		/* Not through an agent's own thread: that has work to do. */
		if (tid > 0 && !espy_agent__is_helper(dirfd(d), e->d_name))
			tids[cnt++] = tid;
	}
	if (d)
		closedir(d);
	return cnt;
}

static int try_threads(const struct target *t, const char *library, struct espy_inject_result *r)
{
	const uint64_t until = espy_now_ns() + PATIENCE_NS;
	pid_t tids[THREADS_MAX];
	struct status now;
	int err;

	do {
		size_t cnt = list_threads(t->pid, tids, THREADS_MAX);

		if (!cnt)
			return refuse(r, -ESRCH, "process %d has ended", (int)t->pid);
		for (size_t i = 0; i < cnt; i++) {
			err = try_thread(t, tids[i], library, r);
			switch (err) {
			case 0:
				return 0;
			case -EAGAIN:
			case -ESRCH: /* this thread has ended */
			case -EBUSY:
			case -ETIMEDOUT:
				break;
			case -ESTALE:
				return err;
			case -EPERM:
				/* Somebody else was faster: another espy perhaps, which will be done in a moment. */
				if (!read_status(t->pid, &now) && now.tracer)
					return refuse(r, -EBUSY,
						      "process %d is being traced by process %d (a debugger?)",
						      (int)t->pid, (int)now.tracer);
				return refuse(r, err,
					      "process %d: %s (a debugger holds it, or it may not be traced: see "
					      "/proc/sys/kernel/yama/ptrace_scope)",
					      (int)t->pid, strerror(EPERM));
			case -EFAULT:
				return refuse(r, err, "process %d: the call of dlopen failed; the thread was put back",
					      (int)t->pid);
			default:
				return refuse(r, err, "process %d: %s", (int)t->pid, strerror(-err));
			}
		}
	} while (espy_now_ns() < until);
	return refuse(
		r, -EAGAIN,
		"no thread of process %d came to a point where a library can be loaded safely; try again, or start the "
		"program with LD_PRELOAD",
		(int)t->pid);
}

static int prepare(struct target *t, const struct status *s, struct espy_inject_result *r)
{
	uint64_t loader = loader_base(t->pid);
	int err = espy_objects__of_pid(&t->objects, t->pid);

	if (err)
		return refuse(r, err, "process %d: its mappings cannot be read: %s", (int)t->pid, strerror(-err));
	/* Empty: it executes another program at this very moment. (Kernel threads have no user's memory at all.) */
	if (!t->objects.cnt)
		return refuse(r, -ESTALE, "process %d has no program in it (a kernel thread?)", (int)t->pid);
	if (t->objects.v[0].error == -ENOTSUP || (!t->objects.v[0].error && t->objects.v[0].elf.machine != EM_X86_64))
		return refuse(r, -EOPNOTSUPP, "process %d is not an x86-64 program, and the agent is", (int)t->pid);
	err = find_places(t, loader);
	if (err)
		return refuse(r, err, "process %d: its libraries cannot be read: %s", (int)t->pid, strerror(-err));
	/* With a dynamic loader it may be just beginning, and will have one in a moment. */
	if (!t->libc)
		return refuse(r, loader ? -ESTALE : -EOPNOTSUPP,
			      "process %d has no libc with dlopen (it is linked statically, or against a libc before "
			      "glibc 2.34); "
			      "link the agent into the program, or use --via kernel",
			      (int)t->pid);
	if (find_code(t, s))
		return refuse(r, -EOPNOTSUPP, "process %d: its libc (%s) is not one that espy knows", (int)t->pid,
			      t->libc->object->path);
	return 0;
}

/* Is the library there, but its agent does not live (a child of a bare clone; it was told to stay off)? Then wake it.
 */
static void use_start(struct target *t, const char *library)
{
	struct espy_elf_symbol start;

	for (size_t i = 0; i < t->objects.cnt; i++) {
		const struct espy_object *o = &t->objects.v[i];

		if (!o->error && !strcmp(o->path, library) &&
		    !espy_elf__symbol(&o->elf, "espy_agent_start", false, &start))
			t->dlopen_at = o->bias + start.value;
	}
}

int espy_inject__check(pid_t pid, const char *library, struct espy_inject_result *r)
{
	struct status s;
	struct target t = { .pid = pid };

	*r = (struct espy_inject_result){ 0 };
	int err = check_status(pid, false, &s, r);

	err = err ? err : prepare(&t, &s, r);
	err = err ? err : check_library(pid, library, r);
	free_target(&t);
	return err;
}

/* The thread stands at the entry point: no lock is held, and nobody else of the program is there yet. */
static int call_held(const struct target *t, const char *library, struct espy_inject_result *res)
{
	struct espy_remote r;
	const uint64_t since = espy_now_ns();
	int err = espy_remote__adopt(&r, t->pid);

	err = err ? err : espy_remote__call(&r, &t->code, t->dlopen_at, library, RTLD_NOW | RTLD_GLOBAL);
	res->tid = t->pid;
	res->tries = 1;
	res->paused_ns = res->longest_ns = espy_now_ns() - since;
	if (err)
		return refuse(res, err, "process %d: the call of dlopen failed: %s", (int)t->pid, strerror(-err));
	return 0;
}

int espy_inject(pid_t pid, const char *library, bool held, struct espy_inject_result *r)
{
	struct status s;
	struct target t = { .pid = pid };

	*r = (struct espy_inject_result){ 0 };
	int err = check_status(pid, held, &s, r);

	/* For the moment of the pause: or else whoever is next in the queue for the processor prolongs it. */
	const int priority = getpriority(PRIO_PROCESS, 0);
	const bool raised = !setpriority(PRIO_PROCESS, 0, -20);

	for (unsigned i = 0; !err && i < 50; i++) {
		const struct timespec nap = { .tv_nsec = 2000000 };

		err = prepare(&t, &s, r);
		err = err ? err : check_library(pid, library, r);
		if (!err)
			use_start(&t, library);
		err = err ? err : held ? call_held(&t, library, r) : try_threads(&t, library, r);
		free_target(&t);
		t = (struct target){ .pid = pid };
		if (err != -ESTALE || i == 49)
			break;
		nanosleep(&nap, NULL);
		err = 0;
	}
	if (raised)
		setpriority(PRIO_PROCESS, 0, priority);
	if (!err && !has_library(pid, library))
		err = refuse(r, -ELIBBAD,
			     "the dynamic loader of process %d did not take %s (LD_DEBUG=all in a program of the same "
			     "kind tells "
			     "why)",
			     (int)pid, library);
	return err;
}
