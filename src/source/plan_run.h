/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The user-space runner of plans (record/plan.h): reads the memory of one call and writes it as items
 * behind a record. Serves every source that reads another process from outside: ptrace at each stop,
 * bpf for a call that hangs. Knows no call by name and allocates nothing.
 *
 * What it does beyond what plan.h says:
 *   - An operation with cap 0 and an operation whose pointer is NULL make no item. A length of 0 makes an
 *     item of 0 bytes (OK). An element of an EACH source whose pointer is NULL counts in `index` all the same.
 *   - `index` counts the elements that were captured whole, over all items of the source.
 *   - A source operation whose bytes do not reach to the pointer (a fault in front of it): one item NOT_RUN. A
 *     source without an item: no item.
 *   - Too little room in the record: the item is cut (TRUNCATED); not one byte fits: NOT_RUN; no room for the
 *     header of an item: nothing.
 *   - At entry a length that only the exit knows (RET, SPREAD) counts as infinite.
 *   - At exit pointers come from the entry item of the source where it has one (that is what the kernel used),
 *     lengths as plan.h says: a from the exit item, else the entry item; b from the entry item, else the exit item.
 *   - A string or vector with a length: it ends there at the latest, and is OK then without its NUL (NULL).
 *   - At exit without a record of the entry all ENTER operations run first, unless the image is new; their items are
 *     without AT_EXIT. Of an operation that is both, the exit part runs.
 */
#ifndef ESPY_PLAN_RUN_H
#define ESPY_PLAN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/source.h"

/*
 * Memory of the task. Copies n bytes at addr to buf and returns how many bytes from the start were
 * readable: n, or fewer if there is a fault behind them.
 */
struct espy_mem {
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t n);
	void *ctx;
};

/* A record that is being written. data is aligned to 8; max is a multiple of 8, at most ESPY_REC_MAX. */
struct espy_rec_out {
	unsigned char *data;
	uint32_t size; /* bytes written */
	uint32_t max;
};

/* Memory of a live task by process_vm_readv, and /proc/PID/mem where that is refused. */
struct espy_task_mem {
	pid_t tid;
	int mem_fd;    /* /proc/TID/mem once it was needed; -1 */
	bool no_readv; /* process_vm_readv is not to be had here */
};
void espy_task_mem__init(struct espy_task_mem *m, pid_t tid);
/* For a read callback: ctx is a struct espy_task_mem. */
size_t espy_task_mem__read(void *ctx, uint64_t addr, void *buf, size_t n);
void espy_task_mem__close(struct espy_task_mem *m);

/* One call as its registers tell it. */
struct espy_call_regs {
	enum espy_abi abi;
	uint32_t nr; /* in the table of abi: x32 without bit 30; one that does not fit is recorded as ESPY_NR_UNKNOWN */
	uint64_t args[6];
	uint64_t sp;       /* the user's stack pointer at entry; 0: not known, what lies there is not read */
	int64_t ret;       /* EXIT: negative errno on error */
	uint32_t tid, tgid;
	uint64_t time_ns;  /* of this record; 0: not taken */
	uint64_t enter_ns; /* time of entry; 0: the record has no field for it */
	uint64_t ip;       /* 0: the record has no field for it */
	bool no_return;    /* EXIT: the call does not return */
	uint16_t changed;  /* EXIT: ESPY_RF_INJECTED and the flags behind it */
};

/* ret is an error number, as the kernel sees it. */
static inline bool espy_ret_is_error(int64_t ret)
{
	return (uint64_t)ret >= (uint64_t)-4095;
}

/* Is this call to be recorded? set may be NULL (an ABI that was not set: everything, raw). */
bool espy_call_set__wants(const struct espy_call_set *set, uint32_t nr);

/*
 * Write a whole ENTER record to out (from its start). set: of regs->abi, or NULL. 0, or -ENOBUFS if out
 * is too small for the fixed part.
 */
int espy_plan_run__enter(struct espy_rec_out *out, const struct espy_call_set *set, const struct espy_call_regs *regs,
			 const struct espy_mem *mem);
/*
 * Write a whole EXIT record. enter: the ENTER record of the same call; its items are copied in front, so that the
 * EXIT alone tells the whole call. NULL: there is none. mem may be NULL (the task has died): no operation runs.
 */
int espy_plan_run__exit(struct espy_rec_out *out, const struct espy_call_set *set, const struct espy_call_regs *regs,
			const struct espy_rec *enter, const struct espy_mem *mem);

/* The parts, for a source that writes the head of its records itself. */
struct espy_plan_run {
	const struct espy_op *ops; /* of this plan: set->ops + plan->first_op */
	unsigned op_cnt;
	unsigned plan_flags; /* enum ESPY_PLAN_* */
	uint64_t args[6];
	uint64_t sp; /* 0: not known */
	int64_t ret;
	bool at_exit;
	/* What was read at entry, for operations at exit; NULL: nothing was. */
	const struct espy_item *enter_items;
	size_t enter_items_sz;
	const struct espy_mem *mem;
};
/* Append the items of one phase to out. */
void espy_plan_run__items(struct espy_rec_out *out, const struct espy_plan_run *run);

#endif
