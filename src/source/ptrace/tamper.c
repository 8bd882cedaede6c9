/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changing calls (source/tamper.h) in the two stops of each. */
#include "ptrace_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/proc_pid.h"
#include "source/tamper.h"

/* The rule for the call that the task has begun: of several the last; NULL: none. */
static const struct espy_tamper *rule_of(const struct espy_ptrace *p, const struct espy_ptask *t, size_t *index)
{
	const uint32_t nr = t->regs.nr;

	for (size_t i = p->opts.stops.tamper_cnt; i-- && nr < ESPY_TAMPER_CALLS;)
		if (p->opts.stops.tampers[i].calls[t->regs.abi][nr / 64] >> (nr % 64) & 1) {
			*index = i;
			return &p->opts.stops.tampers[i];
		}
	return NULL;
}

/* Counts the call for the rule, and tells whether its turn has come. */
static bool is_due(struct espy_ptrace *p, struct espy_ptask *t, const struct espy_tamper *r, size_t index)
{
	if (!t->tamper_counts)
		t->tamper_counts = calloc(p->opts.stops.tamper_cnt, sizeof(*t->tamper_counts));
	if (!t->tamper_counts)
		return false; /* without memory nothing is changed */
	const uint32_t n = ++t->tamper_counts[index];

	return n >= r->first && n <= r->last && (n - r->first) % r->step == 0;
}

/* Writes to the memory of a task. Returns how many bytes it took. */
static size_t write_memory(const struct espy_ptask *t, uint64_t addr, const uint8_t *bytes, size_t len)
{
	struct iovec from = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };
	struct iovec to = { .iov_base = (void *)(uintptr_t)addr, .iov_len = len };
	const ssize_t got = process_vm_writev(t->tid, &from, 1, &to, 1, 0);
	char path[40];

	if (got >= 0 || errno == EFAULT)
		return got > 0 ? (size_t)got : 0;
	/* a filter of calls, as containers have it, may forbid it to espy */
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)espy_proc_pid(t->tid));
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const ssize_t put = fd < 0 ? -1 : pwrite(fd, bytes, len, (off_t)addr);

	if (fd >= 0)
		close(fd);
	return put > 0 ? (size_t)put : 0;
}

/* Tells that the call has fewer arguments than the rule wants. Returns false if it has enough, or nobody knows. */
static bool say_argument(const struct espy_ptrace *p, const struct espy_ptask *t, unsigned arg)
{
	const struct espy_call_set *set = espy_ptrace__set(p, t->regs.abi);
	const struct espy_syscall *call =
		set && t->regs.nr < set->image->syscall_cnt ? &set->image->syscalls[t->regs.nr] : NULL;

	if (!call || !call->name || arg < call->nargs)
		return false;
	espy_ptrace__report(p, ESPY_REPORT_WARN,
			    "Failed to tamper with process %d: requested to tamper with argument #%u, but system call "
			    "'%s' has only %u arguments",
			    (int)t->tid, arg + 1, espy_image__str(set->image, call->name), call->nargs);
	return true;
}

/* Writes the bytes of a rule to where the arguments point. Returns whether any were written. */
static bool poke(const struct espy_ptrace *p, const struct espy_ptask *t, const struct espy_poke *pokes)
{
	bool any = false;

	for (unsigned i = 0; i < ESPY_TAMPER_ARGS; i++) {
		const uint64_t addr = t->regs.args[i];

		if (!pokes[i].bytes || say_argument(p, t, i))
			continue;
		const size_t n = write_memory(t, addr, pokes[i].bytes, pokes[i].len);

		if (!n)
			espy_ptrace__report(p, ESPY_REPORT_WARN, "Failed to tamper with process %d: couldn't poke",
					    (int)t->tid);
		else if (n < pokes[i].len)
			espy_ptrace__report(p, ESPY_REPORT_WARN, "pid:%d short write (%zu < %u) @0x%" PRIx64,
					    (int)t->tid, n, pokes[i].len, addr);
		any = any || n;
	}
	return any;
}

/* Lets the next resume of the task wait for so long. */
static void delay(struct espy_ptrace *p, struct espy_ptask *t, uint64_t ns)
{
	if (!t->delayed_until_ns)
		p->delayed_cnt++;
	t->delayed_until_ns = espy_now_ns() + ns;
	t->tamper_flags |= ESPY_RF_DELAYED;
}

int espy_ptrace__tamper_enter(struct espy_ptrace *p, struct espy_ptask *t)
{
	size_t index = 0;
	const struct espy_tamper *r = rule_of(p, t, &index);

	t->tamper = r && is_due(p, t, r, index) ? r : NULL;
	if (!t->tamper)
		return 0;
	if (r->has_result && espy_arch__set_call(t->tid, t->regs.abi, r->has_call ? r->call[t->regs.abi] : UINT32_MAX))
		t->tamper = NULL; /* the task was killed in its stop */
	if (poke(p, t, r->poke_enter))
		t->tamper_flags |= ESPY_RF_POKED;
	if (r->delay_enter_ns)
		delay(p, t, r->delay_enter_ns);
	return r->signal;
}

void espy_ptrace__tamper_exit(struct espy_ptrace *p, struct espy_ptask *t)
{
	const struct espy_tamper *r = t->tamper;

	t->tamper = NULL;
	if (!r)
		return;
	if (r->has_result && !espy_arch__set_result(t->tid, r->result)) {
		t->regs.ret = r->result;
		t->tamper_flags |= ESPY_RF_INJECTED | (r->is_error ? 0 : ESPY_RF_VALUE);
	}
	if (poke(p, t, r->poke_exit))
		t->tamper_flags |= ESPY_RF_POKED;
	if (r->delay_exit_ns)
		delay(p, t, r->delay_exit_ns);
}

/* ---- delays: the task stays in its stop, and all other tasks go on */

struct due {
	uint64_t now_ns, next_ns;
	struct espy_ptask *task;
};

static void find_due(struct espy_ptrace *p, struct espy_ptask *t, void *ctx)
{
	struct due *d = ctx;

	(void)p;
	if (!t->delayed_until_ns || !t->stopped)
		return;
	if (t->delayed_until_ns <= d->now_ns)
		d->task = t;
	else if (t->delayed_until_ns < d->next_ns)
		d->next_ns = t->delayed_until_ns;
}

uint64_t espy_ptrace__wake_delayed(struct espy_ptrace *p)
{
	struct due d = { .next_ns = UINT64_MAX };

	while (p->delayed_cnt) {
		d = (struct due){ .now_ns = espy_now_ns(), .next_ns = UINT64_MAX };
		espy_ptask__each(p, find_due, &d);
		if (!d.task)
			break;
		d.task->delayed_until_ns = 0;
		p->delayed_cnt--;
		espy_ptrace__resume(p, d.task, d.task->delayed_signal);
	}
	return d.next_ns;
}
