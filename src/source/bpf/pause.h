/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holding tasks: lossless mode and pauses by hand. pause.c decides when, hold_fuse.c is what they sleep on. See
 * pause.bpf.c for how it works.
 */
#ifndef ESPY_BPF_PAUSE_H
#define ESPY_BPF_PAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "source/source.h"

/* ---- hold_fuse.c: pages that nobody gets before it is said */

struct bpf_pages {
	int fuse;     /* the server's end; -1: not open */
	int alive;    /* pipe: the helper ends when nobody holds this end any more */
	pid_t helper; /* has the pages in its memory, at base */
	int pidfd;    /* of the helper */
	void *base;
	size_t cnt, page_sz;
	uint8_t *buf;
};

/* What the helper process does for its owner. */
struct bpf_helper_duty {
	/* The owner has gone, however it went: for tasks that are stopped by a signal. May be NULL. */
	void (*orphaned)(void *ctx);
	/*
	 * Tasks wait and the owner is stopped: they shall run on. server: its end of the file, as long as that lasts; then
	 * `wake` is written to, an eventfd of the owner's. NULL: it never does that.
	 */
	void (*deserted)(void *ctx, int server);
	void *ctx;
	int wake;
	/* Written by the owner: its thread that looks after those who wait, and a number that changes when it does. */
	const uint32_t *keeper, *beat;
};

/* 0, or -errno with what failed in why. duty: valid until close; NULL: none. */
int bpf_pages__open(struct bpf_pages *p, size_t cnt, const struct bpf_helper_duty *duty, char *why, size_t why_sz);
/* The helper alone, without pages. */
int bpf_pages__open_helper(struct bpf_pages *p, const struct bpf_helper_duty *duty);
/* hold_helper.c: of the two above. */
int bpf_pages__start_helper(struct bpf_pages *p, const struct bpf_helper_duty *duty);
/*
 * Who waits next? 1 with the number of the page and a key for the answer, 0 if nobody does, -errno if the server has
 * lost its end. Does not wait. Once asked, the task sleeps unkillable until the answer: give it at once.
 */
int bpf_pages__next(struct bpf_pages *p, uint32_t *page, uint64_t *key);
/* Wakes the task by a failure, so that nothing is kept and the next read waits again. */
void bpf_pages__answer(struct bpf_pages *p, uint64_t key);
/* Wakes everyone. */
void bpf_pages__close(struct bpf_pages *p);

/* ---- pause.c */

struct bpf_source;
struct bpf_pause;

/* Can tasks be held unseen here? As espy_source_ops.probe_lossless. */
int bpf_pause__probe(char *why, size_t why_sz);
/* Before the programs are loaded: how many unread bytes of a ring of `size` are too many. 0: nobody is ever held. */
uint64_t bpf_pause__high(const struct bpf_source *s, uint64_t size);
/* After that: makes all ready, or sees to it that it is when it is needed. -errno only if it was asked for in so many words. */
int bpf_pause__begin(struct bpf_source *s);
/* The reader has made progress. Cheap while nobody is held. */
void bpf_pause__progress(struct bpf_source *s);
/*
 * May the reader do what takes long, and may wait for all sleepable programs of the kernel? Not while someone is held, or might
 * soon be: if it were killed in the middle of that, it could not let go.
 */
bool bpf_pause__calm(const struct bpf_source *s);
/* Records of pauses that did not come through the ring. Returns their number. */
int bpf_pause__deliver(struct bpf_source *s, int (*fn)(void *ctx, const void *data, size_t size), void *ctx, int *stop);
void bpf_pause__count(struct bpf_source *s, const struct espy_rec_pause *rec);
void bpf_pause__stats(struct bpf_source *s, struct espy_source_stats *st);
bool bpf_pause__holds(const struct bpf_source *s, uint32_t tid);
int bpf_pause__held(struct bpf_source *s, struct espy_held_task *list, size_t n);
/* A task, or with 0 everyone who was asked to be held. -ESRCH: it is not held. */
int bpf_pause__resume(struct bpf_source *s, pid_t tid);
/* Everyone runs on, and nobody is held from now on. */
void bpf_pause__end(struct bpf_source *s);
void bpf_pause__free(struct bpf_source *s);

#endif
