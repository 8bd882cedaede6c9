/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pause.c and pause_ready.c share. */
#ifndef ESPY_BPF_PAUSE_IMPL_H
#define ESPY_BPF_PAUSE_IMPL_H

#include <pthread.h>
#include "source/bpf/bpf_source.h"
#include "source/bpf/hold/pause.h"
#include "source/pauses.h"

/* So large a ring is not full before something that takes long is done. */
#define SMALL_RING (8u << 20)

/* A command's first milliseconds are over before a ring is full: a thread makes ready what holds it, when they are over. */
struct bpf_pause_later {
	struct bpf_job job;
	struct bpf_source *s;
	bool begun;
	bool done; /* by the thread */
};

struct bpf_pause {
	struct bpf_helper helper;
	struct bpf_helper_duty duty;
	struct bpf_object *obj;
	struct espy_bpf_hold *holds;
	bool ready;
	bool failed; /* it could not be made ready, see why */
	char why[256];
	bool late; /* not made ready yet */
	struct bpf_pause_later later;
	pthread_mutex_t lock; /* over the helper */
	pthread_t thread;
	bool threaded;
	int wake; /* eventfd: the thread is to look at once */
	bool ending;
	uint32_t deserted; /* as last seen in the shared memory */
	uint32_t broken, seen_deserted; /* of the shared memory, as the reader last saw them */
	uint32_t interrupted; /* times that no task could be held for a while */
	uint32_t told_interrupted, told_begun; /* of these, and of holds for lack of room, the user knows */
	uint64_t told_ns; /* since then */
	struct espy_pauses sums;
};

/* pause.c: the thread that shows the helper that espy is alive. */
int bpf_pause__start_thread(struct bpf_source *s);

/* pause_ready.c. The helper has ended: another one. -errno, then p->failed is set and p->why says it. */
int bpf_pause__new_helper(struct bpf_source *s);
void bpf_pause__drop_programs(struct bpf_pause *p);

#endif
