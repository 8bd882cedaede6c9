/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What packer and unpacker know in front of a mixed block: all that the primer teaches. It is learnt once and then
 * copied. */
#include "trace/pack_impl.h"

#include <errno.h>
#include <stdlib.h>
#include "trace/primer.h"

/* Nothing at all, as in front of the primer. */
static void know_nothing(struct espy_pack *p)
{
	espy_mixer__clear(&p->mixer);
	model_clear(&p->m);
	memset(p->shape_slots, 0, sizeof(p->shape_slots));
	memset(p->known_slots, 0, sizeof(p->known_slots));
	p->m.text[0] = 0;
	p->m.mixing = true;
}

/*
 * The primer is a mixed block itself, and unpacked: what is learnt must not depend on how a packer chooses among the
 * ways of storing something.
 */
static int learn_primer(struct espy_pack *p)
{
	const uint8_t *block;
	size_t block_sz;
	const uint32_t size = espy_primer(&block, &block_sz);
	ZSTD_DCtx *dctx = ZSTD_createDCtx();
	int err = -ENOMEM;

	p->primer = malloc(size);
	p->primed = malloc(sizeof(*p->primed));
	if (!dctx || !p->primer || !p->primed || espy_mixer__open(&p->primed_mixer))
		goto out;
	p->bare = true;
	err = espy_pack__unpack(p, dctx, PACK_MIXED, block, block_sz, p->primer, size);
	p->bare = false;
	if (!err && p->m.text_sz > TEXT_CODED_MAX)
		err = -EBADMSG;
	if (err)
		goto out;
	p->primer_sz = size;
	p->m.prime = p->primer;
	p->m.prime_sz = size;
	p->m.task_cnt = p->m.task = 0;
	p->m.last_ns = 0;
	espy_pack__find_again(p);
	p->primed->m = p->m;
	memcpy(p->primed->shape_slots, p->shape_slots, sizeof(p->shape_slots));
	memcpy(p->primed->known_slots, p->known_slots, sizeof(p->known_slots));
	espy_mixer__copy(&p->primed_mixer, &p->mixer);
out:
	ZSTD_freeDCtx(dctx);
	if (err)
		espy_pack__forget_mixing(p);
	return err;
}

int espy_pack__begin_mixed(struct espy_pack *p, const uint8_t *raw)
{
	int err = 0;

	if (!p->m.text && !(p->m.text = malloc(TEXT_ROOM)))
		err = -ENOMEM;
	if (!err && !p->mixer.state)
		err = espy_mixer__open(&p->mixer);
	if (!err && !p->bare && !p->primed)
		err = learn_primer(p);
	if (err)
		return err;
	if (p->bare) {
		know_nothing(p);
	} else {
		p->m = p->primed->m;
		memcpy(p->shape_slots, p->primed->shape_slots, sizeof(p->shape_slots));
		memcpy(p->known_slots, p->primed->known_slots, sizeof(p->known_slots));
		espy_mixer__copy(&p->mixer, &p->primed_mixer);
	}
	memset(p->task_slots, 0, sizeof(p->task_slots));
	p->m.raw = raw;
	p->m.text_most = p->m.text_sz + TEXT_CODED_MAX;
	return 0;
}

void espy_pack__bare(struct espy_pack *p)
{
	p->bare = true;
}

void espy_pack__forget_mixing(struct espy_pack *p)
{
	espy_mixer__free(&p->mixer);
	espy_mixer__free(&p->primed_mixer);
	free(p->primed);
	p->primed = NULL;
	free(p->primer);
	p->primer = NULL;
	free(p->m.text);
	p->m.text = NULL;
}

size_t espy_pack__mixing_memory(const struct espy_pack *p)
{
	return espy_mixer__memory(&p->mixer) + espy_mixer__memory(&p->primed_mixer) + (p->m.text ? TEXT_ROOM : 0) +
	       (p->primed ? sizeof(*p->primed) : 0) + (p->primer ? p->primer_sz : 0);
}
