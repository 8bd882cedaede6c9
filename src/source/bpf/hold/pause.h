/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holding tasks: lossless mode and pauses by hand. pause.c decides when a task is let go, pause_ready.c makes all ready,
 * hold_helper.c is the process that tasks sleep on, hold_fuse.c its file. See pause.bpf.c for how it works.
 */
#ifndef ESPY_BPF_PAUSE_H
#define ESPY_BPF_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/bpf/kernel/shared.h"
#include "source/source.h"

/* ---- hold_fuse.c: pages that nobody gets before it is said */

struct bpf_pages {
	int fuse; /* the server's end */
	pid_t mapper; /* the process that has them in its memory, at base; it ends with us */
	int mapper_end; /* a socket that tells its end */
	uint64_t base;
	size_t cnt, page_sz;
	uint8_t *buf;
};

/* 0, or -errno with what failed in why. */
int bpf_pages__open(struct bpf_pages *p, size_t cnt, char *why, size_t why_sz);
/*
 * Takes the request of the next task that waits: 1 with the number of the page and a key for the answer, 0 if no task
 * does, -errno if the server has lost its end. Does not wait. Once asked, the task sleeps unkillable until the answer:
 * give it at once.
 */
int bpf_pages__next(struct bpf_pages *p, uint32_t *page, uint64_t *key);
/* Wakes the task by a failure, so that nothing is kept and the next read waits again. */
void bpf_pages__answer(struct bpf_pages *p, uint64_t key);

/* ---- hold_helper.c: the process that has these pages, and wakes the tasks that sleep on them */

struct bpf_helper {
	pid_t pid; /* 0: there is none */
	int pidfd;
	int alive; /* pipe: the helper ends when nobody holds this end any more */
	int poke;
	pid_t mapper;  /* the process whose memory the pages are in */
	uint64_t base;
};

/* What the helper shares with its owner and the programs. */
struct bpf_helper_duty {
	struct espy_bpf_pausing *pausing;
	struct espy_bpf_hold *holds; /* ESPY_BPF_HOLDS of them */
	int wake; /* eventfd: written to at each step while a task waits; the owner changes pausing->beat then */
};

/* 0, or -errno with what failed in why. duty: valid until end; NULL: only to see that it can be done. */
int bpf_helper__start(struct bpf_helper *h, const struct bpf_helper_duty *duty, char *why, size_t why_sz);
/* It is to wake everyone at once; those whose place says so run on. */
void bpf_helper__poke(const struct bpf_helper *h);
/* Everyone runs on. Waits for half a second at most. */
void bpf_helper__end(struct bpf_helper *h);

/* ---- pause.c */

struct bpf_source;
struct bpf_pause;

/* Can tasks be held here? As espy_source_ops.probe_lossless. */
int bpf_pause__probe(char *why, size_t why_sz);
/* Is a task to be held that finds little room? */
bool bpf_pause__wants_lossless(const struct bpf_source *s);
/* After the programs are loaded, before anything is attached: makes all ready. -errno only if it must be. */
int bpf_pause__begin(struct bpf_source *s, bool for_command);
/*
 * Most commands end before anyone could have to be held: for a command that is done when it has run for 10 ms, unless it must
 * be or the ring is one that the user has chosen. Is it still to be done? Then the reader calls the other one at each poll.
 */
bool bpf_pause__is_late(const struct bpf_source *s);
void bpf_pause__tend(struct bpf_source *s, uint64_t now_ns);
/* The reader has made progress. Cheap while nobody is held. */
void bpf_pause__progress(struct bpf_source *s);
/*
 * May the reader do what takes long, and may wait for all sleepable programs of the kernel? Not while someone is held, or might
 * soon be.
 */
bool bpf_pause__calm(const struct bpf_source *s);
void bpf_pause__count(struct bpf_source *s, const struct espy_rec_pause *rec);
void bpf_pause__stats(struct bpf_source *s, struct espy_source_stats *st);
bool bpf_pause__holds(const struct bpf_source *s, uint32_t tid);
int bpf_pause__held(struct bpf_source *s, struct espy_held_task *list, size_t n);
/*
 * Holds a task until then, or, if it is held already, until then at least. For any thread. -ESRCH: it is not watched; -EAGAIN: nobody can
 * be held now.
 */
int bpf_pause__pause(struct bpf_source *s, pid_t tid, uint64_t until_ns);
/* A task, or with 0 every task that --pause-on holds. -ESRCH: it is not held. */
int bpf_pause__resume(struct bpf_source *s, pid_t tid);
/* Everyone runs on, and nobody is held from now on. */
void bpf_pause__end(struct bpf_source *s);
void bpf_pause__free(struct bpf_source *s);

#endif
