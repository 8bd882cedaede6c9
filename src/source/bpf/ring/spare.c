/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "spare.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "source/bpf/bpf_source.h"
#include "source/bpf/hold/pause.h"

/*
 * A reader may fall behind by so much. A task that does nothing but call writes 60-120 MB a second. The spare ring
 * takes only a part of the free memory, so that other programs do not run out of it.
 */
#define LARGEST (256u << 20)
#define PART_OF_MEMORY 16u

struct bpf_spare {
	struct bpf_job job;
	struct espy_bpf_shared *shared;
	int rings_fd; /* the map by which the programs find it */
	size_t size;
	struct bpf_ring ring;
	atomic_bool ready;
};

/* Tells whether to make a spare ring: not for rings of our own, of the user's size, or with held writers. */
static bool is_wanted(const struct bpf_source *s)
{
	return !s->rings.cnt && !s->opts.rings.bytes && !s->opts.count_only && !bpf_pause__wants_lossless(s);
}

static void make(struct bpf_job *job)
{
	struct bpf_spare *p = (struct bpf_spare *)job;
	const uint32_t zero = 0;
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "espy_spare_ring", 0, 0, (uint32_t)p->size, NULL);

	/* Without it the source is as good as with a ring that does not grow. */
	if (fd < 0)
		return;
	if (!bpf_ring__open(&p->ring, fd, p->size) && !bpf_map_update_elem(p->rings_fd, &zero, &fd, BPF_ANY)) {
		/* The reader must look there before the programs can write there. */
		atomic_store(&p->ready, true);
		__atomic_store_n(&p->shared->spare, 1, __ATOMIC_SEQ_CST);
	}
	close(fd);
}

static size_t choose_size(const struct bpf_source *s)
{
	size_t most = bpf_ring_size__memory_left() / PART_OF_MEMORY, size = LARGEST;

	while (size > most)
		size /= 2;
	return size < s->ring.size ? 0 : size;
}

void bpf_spare__tend(struct bpf_source *s)
{
	struct bpf_spare *p;
	size_t size;

	if (s->spare_tried || bpf_source_unread(s) < s->ring.size / 2 || !is_wanted(s))
		return;
	s->spare_tried = true;
	size = choose_size(s);
	p = size ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return;
	p->size = size;
	p->shared = s->shared;
	p->rings_fd = bpf_map__fd(bpf_object__find_map_by_name(s->obj, "espy_spare"));
	s->spare = p;
	bpf_job__start(&p->job, make);
}

struct bpf_ring *bpf_spare__ring(const struct bpf_source *s)
{
	return s->spare && atomic_load(&s->spare->ready) ? &s->spare->ring : NULL;
}

uint64_t bpf_spare__size(const struct bpf_source *s)
{
	return s->spare && __atomic_load_n(&s->shared->spare, __ATOMIC_SEQ_CST) ? s->spare->size : 0;
}

void bpf_spare__free(struct bpf_source *s)
{
	if (!s->spare)
		return;
	bpf_job__wait(&s->spare->job);
	if (s->spare->ring.head)
		bpf_ring__close(&s->spare->ring);
	free(s->spare);
	s->spare = NULL;
}
