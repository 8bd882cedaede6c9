/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/bpf/stacks.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "source/bpf/bpf_source.h"
#include "source/stack_record.h"

/* There are only those whose calls have not come yet: a system may have thousands of tasks. */
struct kept {
	uint32_t tid;
	struct espy_stack_copy copy;
	UT_hash_handle hh;
	uint8_t bytes[]; /* copy.size */
};

struct bpf_stacks {
	struct kept *by_tid;
	struct espy_stacks *stacks;
};

static struct bpf_stacks *stacks_of(struct bpf_source *s)
{
	struct bpf_stacks *st = s->stacks;

	if (st)
		return st;
	st = calloc(1, sizeof(*st));
	if (!st)
		return NULL;
	st->stacks = espy_stacks__new(s->opts.stops.stack_frames);
	if (!st->stacks) {
		free(st);
		return NULL;
	}
	s->stacks = st;
	return st;
}

static void drop(struct bpf_stacks *st, struct kept *k)
{
	HASH_DEL(st->by_tid, k);
	free(k);
}

void bpf_stacks__keep(struct bpf_source *s, const struct espy_bpf_stack *rec, size_t size)
{
	struct bpf_stacks *st = stacks_of(s);
	struct kept *k = NULL;

	if (!st || size < sizeof(*rec) || rec->size > size - sizeof(*rec) || rec->size > BPF_STACK_BYTES)
		return;
	HASH_FIND_INT(st->by_tid, &rec->rec.tid, k);
	if (k)
		drop(st, k); /* its call was left out */
	k = malloc(sizeof(*k) + rec->size);
	if (!k)
		return;
	k->tid = rec->rec.tid;
	HASH_ADD_INT(st->by_tid, tid, k);
	memcpy(k->bytes, rec + 1, rec->size);
	memcpy(k->copy.regs, rec->regs, sizeof(k->copy.regs));
	k->copy.bytes = k->bytes;
	k->copy.size = rec->size;
	k->copy.cut = rec->size == BPF_STACK_BYTES;
}

const struct espy_rec *bpf_stacks__of(struct bpf_source *s, const struct espy_rec *call)
{
	struct bpf_stacks *st = s->stacks;
	struct kept *k = NULL;

	if (!st)
		return NULL;
	HASH_FIND_INT(st->by_tid, &call->tid, k);
	if (!k)
		return NULL;
	const struct espy_rec *rec =
		espy_stacks__make(st->stacks, (pid_t)call->tgid, (pid_t)call->tid, &k->copy, call->time_ns);

	drop(st, k);
	return rec;
}

void bpf_stacks__forget(struct bpf_source *s, const struct espy_rec *rec)
{
	struct bpf_stacks *st = s->stacks;
	struct kept *k = NULL;

	if (!st)
		return;
	if (rec->type == ESPY_REC_EXEC || rec->tid == rec->tgid)
		espy_stacks__forget(st->stacks, (pid_t)rec->tgid);
	HASH_FIND_INT(st->by_tid, &rec->tid, k);
	if (k)
		drop(st, k);
}

void bpf_stacks__free(struct bpf_source *s)
{
	struct bpf_stacks *st = s->stacks;
	struct kept *k, *next;

	if (!st)
		return;
	HASH_ITER(hh, st->by_tid, k, next)
	drop(st, k);
	espy_stacks__free(st->stacks);
	free(st);
	s->stacks = NULL;
}
