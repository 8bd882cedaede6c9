/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells how far the reader is in the source's rings of any kind: unread bytes, and whether it has come to a mark. */
#include "source/bpf/bpf_source.h"
#include "source/bpf/ring/rings.h"
#include "source/bpf/ring/spare.h"

bool bpf_source_all_read(const struct bpf_source *s)
{
	if (s->opts.rings.flight_bytes)
		return true; /* whatever there is to read, a snapshot reads it */
	if (s->rings.cnt)
		return bpf_rings__empty(&s->rings);
	const struct bpf_ring *spare = bpf_spare__ring(s);

	return bpf_ring__empty(&s->ring) && (!spare || bpf_ring__empty(spare)) && bpf_ring__empty(&s->task_ring);
}

uint64_t bpf_source_unread(const struct bpf_source *s)
{
	if (s->opts.rings.flight_bytes)
		return 0;
	return s->rings.cnt ? bpf_rings__unread(&s->rings) :
			      __atomic_load_n(s->ring.producer, __ATOMIC_ACQUIRE) -
				      __atomic_load_n(s->ring.consumer, __ATOMIC_ACQUIRE);
}

void bpf_source_mark(struct bpf_source *s)
{
	if (s->opts.rings.flight_bytes)
		return;
	if (s->rings.cnt) {
		bpf_rings__mark(&s->rings);
		return;
	}
	bpf_ring__mark(&s->ring);
	if (bpf_spare__ring(s))
		bpf_ring__mark(bpf_spare__ring(s));
	bpf_ring__mark(&s->task_ring);
}

bool bpf_source_read_to_mark(const struct bpf_source *s)
{
	const struct bpf_ring *spare = bpf_spare__ring(s);

	if (s->opts.rings.flight_bytes)
		return true; /* a snapshot reads whatever there is to read */
	if (s->rings.cnt)
		return bpf_rings__read_to_mark(&s->rings);
	return bpf_ring__read_to_mark(&s->ring) && (!spare || bpf_ring__read_to_mark(spare)) && bpf_ring__read_to_mark(&s->task_ring);
}

uint64_t bpf_source_room(const struct bpf_source *s)
{
	return s->rings.cnt ? s->rings.room_calls * ESPY_BPF_UNIT : s->ring.size;
}
