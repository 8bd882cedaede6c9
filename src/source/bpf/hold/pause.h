/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holding tasks: lossless mode and pauses by hand. pause.c decides when a task runs on. pause_ready.c makes all ready.
 * hold_helper.c is the process that tasks sleep on, hold_fuse.c its file. pause.bpf.c explains the whole.
 */
#ifndef ESPY_BPF_PAUSE_H
#define ESPY_BPF_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/bpf/kernel/shared.h"
#include "source/source.h"

/* ---- hold_fuse.c: pages that no task gets before the helper answers */

struct bpf_pages {
	int fuse; /* the server's end */
	pid_t mapper; /* the process that has the pages in its memory, at base; it ends with espy */
	int mapper_end; /* a socket that hangs up when the mapper ends */
	uint64_t base;
	size_t cnt, page_sz;
	uint8_t *buf;
};

/* Makes the pages. Returns 0 or -errno; why gets the failed step. */
int bpf_pages__open(struct bpf_pages *p, size_t cnt, char *why, size_t why_sz);
/*
 * Takes the request of the next task that waits. Returns 1, the number of the page and a key for the answer; 0 if no
 * task waits; -errno if the server has lost its end. Does not wait. From then on the task sleeps unkillable: the caller
 * answers at once.
 */
int bpf_pages__next(struct bpf_pages *p, uint32_t *page, uint64_t *key);
/* Wakes the task by a failure: the kernel then caches nothing, and the next read waits again. */
void bpf_pages__answer(struct bpf_pages *p, uint64_t key);

/* ---- hold_helper.c: the process that serves these pages, and wakes the tasks that sleep on them */

struct bpf_helper {
	pid_t pid; /* 0: there is none */
	int pidfd;
	int alive; /* pipe: the helper ends when the last copy of this end is closed */
	int poke;
	pid_t mapper;  /* the process whose memory has the pages */
	uint64_t base;
};

/* Memory that the helper shares with its owner and the programs. */
struct bpf_helper_duty {
	struct espy_bpf_pausing *pausing;
	struct espy_bpf_hold *holds; /* ESPY_BPF_HOLDS of them */
	int wake; /* eventfd: the helper writes at each step while a task waits; the owner then changes pausing->beat */
};

/* Starts the helper. Returns 0 or -errno; why gets the failed step. duty: valid until end; NULL: a trial only. */
int bpf_helper__start(struct bpf_helper *h, const struct bpf_helper_duty *duty, char *why, size_t why_sz);
/* Makes the helper wake every task at once. A task runs on if its place says so. */
void bpf_helper__poke(const struct bpf_helper *h);
/* Ends the helper, and so every hold. Waits for half a second at most. */
void bpf_helper__end(struct bpf_helper *h);

/* ---- pause.c */

struct bpf_source;
struct bpf_pause;

/* espy_source_ops.probe_lossless. */
int bpf_pause__probe(char *why, size_t why_sz);
/* Returns whether the programs hold a task that finds little room. */
bool bpf_pause__wants_lossless(const struct bpf_source *s);
/*
 * Makes all ready, after the programs are loaded and before any is attached. Returns -errno only if holding is
 * required.
 */
int bpf_pause__begin(struct bpf_source *s);
/*
 * Most commands end before any task must be held. So for a command the source makes all ready only when the command has
 * run for 10 ms, unless holding is required or the user has chosen the size of the ring. is_late returns whether that
 * is still to do; the reader then calls tend at each poll.
 */
bool bpf_pause__is_late(const struct bpf_source *s);
void bpf_pause__tend(struct bpf_source *s, uint64_t now_ns);
/* Lets tasks run on, now that the reader has made progress. Cheap while no task is held. */
void bpf_pause__progress(struct bpf_source *s);
/*
 * Returns whether the reader may begin long work that waits for all sleepable programs of the kernel: no task is held,
 * or may be held soon.
 */
bool bpf_pause__calm(const struct bpf_source *s);
void bpf_pause__count(struct bpf_source *s, const struct espy_rec_pause *rec);
void bpf_pause__stats(struct bpf_source *s, struct espy_source_stats *st);
bool bpf_pause__holds(const struct bpf_source *s, uint32_t tid);
int bpf_pause__held(struct bpf_source *s, struct espy_held_task *list, size_t n);
/*
 * Holds a task until until_ns. A hold on it that ends later stays. For any thread. -ESRCH: the task is not watched;
 * -EAGAIN: no task can be held now.
 */
int bpf_pause__pause(struct bpf_source *s, pid_t tid, uint64_t until_ns);
/* Lets a task run on; 0: every task that --pause-on holds. -ESRCH: the task is not held. */
int bpf_pause__resume(struct bpf_source *s, pid_t tid);
/* Lets every task run on, and ends holding for good. */
void bpf_pause__end(struct bpf_source *s);
void bpf_pause__free(struct bpf_source *s);

#endif
