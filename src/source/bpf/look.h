/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A process that looks at watched tasks for the reader: at the call that each sits in, and at the memory that the call
 * points to. Such a look may last for ever: a page of the task's may be served by a process that does not serve it
 * (userfaultfd, FUSE), and the task may hang in an exec. The reader asks, goes on reading, and takes the answers when they are there; a
 * process that does not answer in time is killed, and another one takes its place.
 */
#ifndef ESPY_BPF_LOOK_H
#define ESPY_BPF_LOOK_H

#include <stddef.h>
#include <stdint.h>
#include "source/bpf/bpf_source.h"
#include "source/plan_run.h"

#define BPF_LOOK_TASKS 64u /* in one question */

struct bpf_look;

enum bpf_look_state {
	BPF_LOOK_ASKED = 0,
	BPF_LOOK_REGS,	   /* the registers are known, the memory is being read */
	BPF_LOOK_NO_CALL,  /* it runs, or has moved on meanwhile */
	BPF_LOOK_UNWANTED, /* the session does not want this call */
	BPF_LOOK_RECORD,
};

struct bpf_looked {
	uint32_t tid, state; /* enum bpf_look_state; REGS: the memory cannot be read in time */
	uint32_t off, size;  /* RECORD: where its record is */
	uint64_t enter_ns;   /* when the call began; 0: not known */
	struct espy_call_regs regs;
};

/* sets[abi], NULL where nothing was set. The sets stay valid. NULL: out of memory. */
struct bpf_look *bpf_look__new(const struct espy_call_set *const *sets, bool need_time, bool need_ip);
void bpf_look__free(struct bpf_look *l);

/* A task to look at, and when its call began. */
struct bpf_look_at {
	uint32_t tid;
	uint64_t enter_ns; /* 0: not known */
};
/* At least one task, at most BPF_LOOK_TASKS. -EBUSY while there is no answer to the last question yet; -errno. */
int bpf_look__ask(struct bpf_look *l, const struct bpf_look_at *tasks, size_t cnt, uint64_t now_ns);
bool bpf_look__is_asked(const struct bpf_look *l);
/*
 * The answers to the last question: their number, 0 if there are none yet. *first and their records stay until the
 * next question. Does not wait.
 */
size_t bpf_look__answers(struct bpf_look *l, uint64_t now_ns, const struct bpf_looked **first);
const void *bpf_look__record(const struct bpf_look *l, const struct bpf_looked *at);
/* The record of a call whose memory cannot be read: addresses alone. 0 or -errno; *size is its size. */
int bpf_look__bare_record(const struct bpf_look *l, const struct bpf_looked *at, void *to, uint32_t max, uint32_t *size);
/* The process, 0 while there is none: it is not to be watched itself. */
uint32_t bpf_look__pid(const struct bpf_look *l);

#endif
