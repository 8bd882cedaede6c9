/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/bpf/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "base/clock.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/mappings.h"
#include "source/stack_record.h"

/* A stack that is younger may have come into the ring since the last look. */
#define ON_THEIR_WAY_NS 100000000

/* There are only those whose records have not come yet: a system may have thousands of tasks. */
struct kept {
	uint32_t tid;
	bool last; /* of a call that does not return */
	struct espy_stack_copy copy;
	UT_hash_handle hh;
	uint8_t bytes[]; /* copy.size */
};

struct bpf_stacks {
	struct kept *by_tid;
	struct espy_stacks *stacks;
	struct bpf_mappings *mappings; /* NULL: /proc has to do */
};

static uint32_t version(void *ctx, pid_t tgid)
{
	return bpf_mappings__version(ctx, tgid);
}

static char *text(void *ctx, pid_t tgid)
{
	return bpf_mappings__text(ctx, tgid);
}

int bpf_stacks__begin(struct bpf_source *s)
{
	struct bpf_stacks *st;

	if (!s->opts.stops.stack_frames)
		return 0;
	st = s->stacks = calloc(1, sizeof(*st));
	if (!st)
		return -ENOMEM;
	st->mappings = bpf_mappings__open();
	st->stacks =
		espy_stacks__new(s->opts.stops.stack_frames,
				 &(struct espy_unwinder_maps){ .ctx = st->mappings, .version = version, .text = text });
	return st->stacks ? 0 : -ENOMEM;
}

static void drop(struct bpf_stacks *st, struct kept *k)
{
	HASH_DEL(st->by_tid, k);
	free(k);
}

void bpf_stacks__keep(struct bpf_source *s, const struct espy_bpf_stack *rec, size_t size)
{
	struct bpf_stacks *st = s->stacks;
	struct kept *k = NULL;

	if (!st || size < sizeof(*rec) || rec->size > size - sizeof(*rec) || rec->size > ESPY_BPF_STACK_BYTES)
		return;
	HASH_FIND_INT(st->by_tid, &rec->rec.tid, k);
	if (k)
		drop(st, k); /* what it belongs to was left out */
	k = malloc(sizeof(*k) + rec->size);
	if (!k)
		return;
	bpf_mappings__until(st->mappings, rec->rec.time_ns);
	k->tid = rec->rec.tid;
	k->last = rec->rec.flags & ESPY_BPF_STACK_LAST;
	HASH_ADD_INT(st->by_tid, tid, k);
	memcpy(k->bytes, rec + 1, rec->size);
	memcpy(k->copy.regs, rec->regs, sizeof(k->copy.regs));
	k->copy.bytes = k->bytes;
	k->copy.size = rec->size;
	k->copy.cut = rec->rec.flags & ESPY_BPF_STACK_CUT;
}

const struct espy_rec *bpf_stacks__of(struct bpf_source *s, const struct espy_rec *rec)
{
	struct bpf_stacks *st = s->stacks;
	struct kept *k = NULL;

	if (!st)
		return NULL;
	HASH_FIND_INT(st->by_tid, &rec->tid, k);
	if (!k || k->last != (rec->type == ESPY_REC_TASK_EXIT))
		return NULL;
	const struct espy_rec *stack =
		espy_stacks__make(st->stacks, (pid_t)rec->tgid, (pid_t)rec->tid, &k->copy, rec->time_ns);

	drop(st, k);
	return stack;
}

void bpf_stacks__forget(struct bpf_source *s, const struct espy_rec *rec)
{
	struct bpf_stacks *st = s->stacks;
	struct kept *k = NULL;

	if (!st)
		return;
	bpf_mappings__until(st->mappings, rec->time_ns);
	if (rec->type == ESPY_REC_EXEC || rec->tid == rec->tgid)
		espy_stacks__forget(st->stacks, (pid_t)rec->tgid);
	HASH_FIND_INT(st->by_tid, &rec->tid, k);
	if (k)
		drop(st, k);
}

void bpf_stacks__tend(struct bpf_source *s)
{
	if (s->stacks)
		bpf_mappings__until(s->stacks->mappings, espy_now_ns() - ON_THEIR_WAY_NS);
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
	bpf_mappings__free(st->mappings);
	free(st);
	s->stacks = NULL;
}
