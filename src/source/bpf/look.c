/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/bpf/look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "arch/traced_call.h"
#include "base/align.h"
#include "base/own_process.h"
#include "base/small_file.h"

#define BYTES (1u << 20)
#define RECORD_MAX (64u * 1024u)
/* So long the look at one task may last. */
#define PATIENCE_NS 1000000000ull
/* Shared with the process. */
struct area {
	uint32_t cnt, done; /* tasks asked for, and looked at so far */
	uint64_t now_ns;
	struct bpf_looked each[BPF_LOOK_TASKS];
	unsigned char bytes[BYTES];
};

struct bpf_look {
	struct area *area;
	const struct espy_call_set *sets[ESPY_ABI_CNT];
	bool need_time, need_ip;
	pid_t pid; /* 0: there is none */
	int ask;   /* pipe: a byte is a question */
	bool asked;
	uint32_t seen;	  /* of area->done, when it last moved */
	uint64_t moved_ns;
	/* Even SIGKILL does not end these soon: their pages are on their way from a server that has taken the request. */
	struct espy_stuck_processes stuck;
};

/* ---- in the process: nothing here takes a lock of the C library */

static bool next_number(const char **at, int base, unsigned long long *n)
{
	char *end;

	*n = strtoull(*at, &end, base);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

/* Parses /proc/TID/syscall: "running", or number, arguments, stack pointer and instruction pointer. */
static bool parse_call(const char *text, uint32_t tid, struct espy_call_regs *regs)
{
	unsigned long long nr, sp, ip, arg;

	*regs = (struct espy_call_regs){ .tid = tid };
	if (*text < '0' || *text > '9' || !next_number(&text, 10, &nr))
		return false;
	for (int i = 0; i < 6; i++) {
		if (!next_number(&text, 16, &arg))
			return false;
		regs->args[i] = arg;
	}
	if (!next_number(&text, 16, &sp) || !next_number(&text, 16, &ip))
		return false;
	regs->nr = (uint32_t)nr;
	regs->sp = sp;
	regs->ip = ip;
	return true;
}

static bool read_call(uint32_t tid, bool is_32bit, struct espy_call_regs *regs)
{
	char text[256];
	uint64_t nr;

	espy_read_proc((pid_t)tid, "syscall", text, sizeof(text));
	if (!parse_call(text, tid, regs))
		return false;
	nr = regs->nr;
	regs->abi = espy_arch__abi(espy_arch_audits[is_32bit ? ESPY_AUDIT_COMPAT : ESPY_AUDIT_NATIVE].audit, &nr);
	regs->nr = (uint32_t)nr;
	return true;
}

static bool same_call(const struct espy_call_regs *a, const struct espy_call_regs *b)
{
	return a->nr == b->nr && a->sp == b->sp && a->ip == b->ip && !memcmp(a->args, b->args, sizeof(a->args));
}

static void look_at(const struct bpf_look *l, struct bpf_looked *at, uint32_t *used)
{
	struct area *a = l->area;
	struct espy_rec_out out = { .data = a->bytes + *used, .max = RECORD_MAX };
	bool is_32bit = bpf_task_is_32bit(at->tid);
	struct espy_task_mem task_mem;
	struct espy_mem mem = { .read = espy_task_mem__read, .ctx = &task_mem };
	const struct espy_call_set *set;
	struct espy_call_regs regs, registers, after;
	uint32_t state = BPF_LOOK_NO_CALL;
	int err;

	if (BYTES - *used < RECORD_MAX || !read_call(at->tid, is_32bit, &regs)) {
		__atomic_store_n(&at->state, state, __ATOMIC_RELEASE);
		return;
	}
	set = l->sets[regs.abi];
	registers = regs;
	espy_task_mem__init(&task_mem, (pid_t)at->tid, NULL);
	espy_call_set__enter_inner(set, &regs, &mem);
	if (!espy_call_set__wants(set, regs.nr)) {
		espy_task_mem__close(&task_mem);
		__atomic_store_n(&at->state, BPF_LOOK_UNWANTED, __ATOMIC_RELEASE);
		return;
	}
	regs.time_ns = l->need_time ? a->now_ns : 0;
	regs.enter_ns = at->enter_ns;
	at->regs = regs;
	if (!l->need_ip)
		at->regs.ip = 0;
	__atomic_store_n(&at->state, BPF_LOOK_REGS, __ATOMIC_RELEASE);
	err = espy_plan_run__enter(&out, set, &at->regs, &mem);
	espy_task_mem__close(&task_mem);
	if (!err && read_call(at->tid, is_32bit, &after) && same_call(&registers, &after)) {
		at->off = *used;
		at->size = out.size;
		*used += (uint32_t)espy_pad8(out.size);
		state = BPF_LOOK_RECORD;
	}
	__atomic_store_n(&at->state, state, __ATOMIC_RELEASE);
}

static void __attribute__((noreturn)) be_looker(const struct bpf_look *l, int asked)
{
	char byte;

	espy_own_process__settle("espy-look", asked);
	if (chdir("/") < 0)
		_exit(1);
	while (read(0, &byte, 1) == 1) {
		uint32_t used = 0;

		for (uint32_t i = 0; i < l->area->cnt && i < BPF_LOOK_TASKS; i++) {
			look_at(l, &l->area->each[i], &used);
			__atomic_store_n(&l->area->done, i + 1, __ATOMIC_RELEASE);
		}
	}
	_exit(0);
}

/* ---- in the reader */

struct bpf_look *bpf_look__new(const struct espy_call_set *const *sets, bool need_time, bool need_ip)
{
	struct bpf_look *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->area = mmap(NULL, sizeof(*l->area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->area == MAP_FAILED) {
		free(l);
		return NULL;
	}
	memcpy(l->sets, sets, sizeof(l->sets));
	l->need_time = need_time;
	l->need_ip = need_ip;
	l->ask = -1;
	return l;
}

static void drop_looker(struct bpf_look *l)
{
	if (!l->pid)
		return;
	kill(l->pid, SIGKILL);
	close(l->ask);
	l->ask = -1;
	espy_stuck_processes__add(&l->stuck, l->pid);
	l->pid = 0;
}

void bpf_look__free(struct bpf_look *l)
{
	if (!l)
		return;
	drop_looker(l);
	espy_stuck_processes__end(&l->stuck);
	munmap(l->area, sizeof(*l->area));
	free(l);
}

static int start_looker(struct bpf_look *l)
{
	int fds[2], err;

	if (espy_stuck_processes__reap(&l->stuck) == ESPY_OWN_PROCESSES_STUCK - 1)
		return -EAGAIN;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	l->pid = espy_own_process__begin();
	if (!l->pid)
		be_looker(l, fds[0]);
	err = l->pid < 0 ? l->pid : 0;
	close(fds[0]);
	l->ask = fds[1];
	if (err) {
		close(l->ask);
		l->ask = -1;
		l->pid = 0;
	}
	return err;
}

bool bpf_look__is_asked(const struct bpf_look *l)
{
	return l->asked;
}

uint32_t bpf_look__pid(const struct bpf_look *l)
{
	return (uint32_t)l->pid;
}

int bpf_look__ask(struct bpf_look *l, const struct bpf_look_at *tasks, size_t cnt, uint64_t now_ns)
{
	struct area *a = l->area;
	int err = l->asked ? -EBUSY : l->pid ? 0 : start_looker(l);

	if (err)
		return err;
	if (cnt > BPF_LOOK_TASKS)
		cnt = BPF_LOOK_TASKS;
	for (size_t i = 0; i < cnt; i++)
		a->each[i] = (struct bpf_looked){ .tid = tasks[i].tid, .enter_ns = tasks[i].enter_ns };
	a->now_ns = now_ns;
	a->cnt = (uint32_t)cnt;
	__atomic_store_n(&a->done, 0, __ATOMIC_RELEASE);
	l->seen = 0;
	l->moved_ns = now_ns;
	if (write(l->ask, "?", 1) != 1) {
		drop_looker(l); /* it was killed; another one at the next question */
		return -EPIPE;
	}
	l->asked = true;
	return 0;
}

size_t bpf_look__answers(struct bpf_look *l, uint64_t now_ns, const struct bpf_looked **first)
{
	uint32_t done = __atomic_load_n(&l->area->done, __ATOMIC_ACQUIRE);

	if (!l->asked)
		return 0;
	if (done < l->area->cnt) {
		if (done != l->seen)
			l->moved_ns = now_ns;
		l->seen = done;
		if (now_ns - l->moved_ns < PATIENCE_NS)
			return 0;
		/* The answers so far, and of the task that it is stuck at the registers. The others are asked for later. */
		drop_looker(l);
		done++;
	}
	l->asked = false;
	*first = l->area->each;
	return done < BPF_LOOK_TASKS ? done : BPF_LOOK_TASKS;
}

const void *bpf_look__record(const struct bpf_look *l, const struct bpf_looked *at)
{
	return l->area->bytes + at->off;
}

static size_t read_nothing(void *ctx, uint64_t addr, void *buf, size_t n)
{
	return 0;
}

int bpf_look__bare_record(const struct bpf_look *l, const struct bpf_looked *at, void *to, uint32_t max, uint32_t *size)
{
	struct espy_rec_out out = { .data = to, .max = max };
	struct espy_mem mem = { .read = read_nothing };
	int err = espy_plan_run__enter(&out, l->sets[at->regs.abi], &at->regs, &mem);

	*size = out.size;
	return err;
}
