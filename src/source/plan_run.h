/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The user-space runner of plans (record/plan.h): reads the memory of one call and writes it as items
 * behind a record. Serves every source that reads another process from outside: ptrace at each stop,
 * bpf for a call that hangs. Knows no call by name and allocates nothing.
 *
 * Rules of the runner beyond plan.h:
 *   - An operation with cap 0 or a NULL pointer makes no item. A length of 0 makes an item of 0 bytes (OK). An
 *     element of an EACH source with a NULL pointer still counts in `index`.
 *   - `index` counts the elements that were captured whole, over all items of the source.
 *   - If the source operation met a fault in front of the pointer, the operation makes one item NOT_RUN. If the
 *     source operation has no item, neither has the operation.
 *   - A full record cuts the item (TRUNCATED). The rest of a buffer then goes to `more`, if that is there. An item
 * without room for one byte is NOT_RUN. Without room for its header an item is left out.
 *   - At entry a length that only the exit knows (RET, SPREAD) counts as infinite.
 *   - At exit a pointer comes from the entry item of its source, if there is one: the kernel used that pointer.
 *     Lengths follow plan.h: a from the exit item, else the entry item; b from the entry item, else the exit item.
 *   - A string or vector with a length ends there at the latest. It is OK then without its NUL (NULL).
 *   - At exit without a record of the entry all ENTER operations run first, unless the image is new. Their items are
 *     without AT_EXIT. Of an operation for both phases only the exit part runs.
 */
#ifndef ESPY_PLAN_RUN_H
#define ESPY_PLAN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/late_pages.h"
#include "source/source.h"

/*
 * Memory of the task. Copies n bytes at addr to buf and returns how many bytes from the start were
 * readable: n, or fewer if there is a fault behind them.
 */
struct espy_mem {
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t n);
	void *ctx;
};

struct espy_more_out; /* more_out.h */

/* A record that is being written. data is aligned to 8; max is a multiple of 8, at most ESPY_REC_MAX. */
struct espy_rec_out {
	unsigned char *data;
	uint32_t size; /* bytes written */
	uint32_t max;
	const struct espy_more_out *more; /* NULL: such bytes are left out */
};

/* Memory of a live task by process_vm_readv, and /proc/PID/mem where that is refused. */
struct espy_task_mem {
	pid_t tid;
	struct espy_late_pages *late; /* NULL: a page may keep the reader waiting */
	int page_map;		      /* /proc/TID/pagemap, as mem_fd */
	int mem_fd;    /* /proc/TID/mem, opened when needed first; -1: not open */
	bool no_readv; /* the kernel has refused process_vm_readv */
};
void espy_task_mem__init(struct espy_task_mem *m, pid_t tid, struct espy_late_pages *late);
/* For a read callback: ctx is a struct espy_task_mem. */
size_t espy_task_mem__read(void *ctx, uint64_t addr, void *buf, size_t n);
void espy_task_mem__close(struct espy_task_mem *m);

/* One call as its registers tell it. */
struct espy_call_regs {
	enum espy_abi abi;
	uint32_t nr; /* in the table of abi: x32 without bit 30; a larger number is recorded as ESPY_NR_UNKNOWN */
	uint64_t args[6];
	uint64_t sp;       /* the user's stack pointer at entry; 0: not known, the stack is not read */
	int64_t ret;       /* EXIT: negative errno on error */
	uint32_t tid, tgid;
	uint64_t time_ns;  /* of this record; 0: not taken */
	uint64_t enter_ns; /* time of entry; 0: the record has no field for it */
	uint64_t ip;       /* 0: the record has no field for it */
	bool has_cpu;	   /* EXIT: the record has cpu_ns */
	uint64_t cpu_ns;   /* EXIT: time of the call on the CPU */
	bool no_return;    /* EXIT: the call does not return */
	uint16_t changed;  /* EXIT: ESPY_RF_INJECTED and the flags behind it */
};

/* Tells whether ret is an error number, as the kernel sees it. */
static inline bool espy_ret_is_error(int64_t ret)
{
	return (uint64_t)ret >= (uint64_t)-4095;
}

/* Tells whether to record this call. set NULL: an ABI without a set, of which every call is recorded raw. */
bool espy_call_set__wants(const struct espy_call_set *set, uint32_t nr);

/* Makes regs those of the inner call if the call leads to one (ESPY_INNER_*) and its arguments can be read. */
void espy_call_set__enter_inner(const struct espy_call_set *set, struct espy_call_regs *regs,
				const struct espy_mem *mem);

/* Tells whether the call, or one that it may lead to, is wanted. */
bool espy_call_set__wants_any(const struct espy_call_set *set, uint32_t nr);

/*
 * Writes a whole ENTER record to the start of out. set: of regs->abi, or NULL. Returns 0, or -ENOBUFS if out is
 * too small for the fixed part.
 */
int espy_plan_run__enter(struct espy_rec_out *out, const struct espy_call_set *set, const struct espy_call_regs *regs,
			 const struct espy_mem *mem);
/*
 * Writes a whole EXIT record. enter: the ENTER record of the same call, or NULL. Its items are copied in front, so that
 * the EXIT alone tells the whole call. mem NULL: the task has died, and no operation runs.
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
	/* The items of the entry, for operations at exit; NULL: none. */
	const struct espy_item *enter_items;
	size_t enter_items_sz;
	const struct espy_mem *mem;
};
/* Appends the items of one phase to out. */
void espy_plan_run__items(struct espy_rec_out *out, const struct espy_plan_run *run);

#endif
