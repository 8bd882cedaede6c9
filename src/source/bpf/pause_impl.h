/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What pause.c and pause_ready.c share. */
#ifndef ESPY_BPF_PAUSE_IMPL_H
#define ESPY_BPF_PAUSE_IMPL_H

#include <pthread.h>
#include "bpf_source.h"
#include "pause.h"
#include "source/pauses.h"

/* So large a ring is not full before tasks can be held: that is made ready when it is needed. */
#define SMALL_RING (8u << 20)

struct bpf_pause {
	struct bpf_pages pages;
	struct bpf_object *obj;
	struct espy_bpf_hold *holds;
	bool ready, by_signal;
	bool failed; /* it could not be made ready, see why */
	bool told;   /* what there is to say of that has been said */
	char why[256];
	pthread_mutex_t lock; /* over the server's end and the holds */
	pthread_t thread;
	bool threaded;
	int poke; /* eventfd: the thread is to look at once */
	bool ending;
	bool helper_gone;
	bool was_stopped; /* while tasks were held: not yet told */
	struct bpf_helper_duty duty;
	struct espy_rec_pause *over; /* pauses by signal that are over, not yet delivered */
	size_t over_cnt, over_cap;
	struct espy_pauses sums;
};

/* pause.c: the thread that looks after those who are held. */
int bpf_pause__start_thread(struct bpf_source *s);
/* As bpf_helper_duty.deserted; ctx: the source. */
void bpf_pause__deserted(void *ctx, int server);

/* pause_ready.c: programs, pages and helper. -errno, then p->failed is set and p->why says it. */
int bpf_pause__make_ready(struct bpf_source *s);
void bpf_pause__drop_programs(struct bpf_pause *p);

#endif
