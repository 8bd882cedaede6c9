/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records of one block, packed before compression: like things beside each other, what repeats left out. The way is in
 * espy-trace-format(5), "Packed records". Unpacking gives back every byte.
 */
#ifndef ESPY_TRACE_PACK_H
#define ESPY_TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* What is unpacked; CODED is read only. */
enum espy_packing { PACK_PACKED, PACK_CODED, PACK_MIXED };

struct espy_pack; /* tables and columns, used again for each block */

/* mark_words: the arguments of marks may be packed as words (ESPY_TRACE_NEEDS_MARK_WORDS); unpacking takes both. */
struct espy_pack *espy_pack__new(bool mark_words);
void espy_pack__free(struct espy_pack *p);
size_t espy_pack__memory(const struct espy_pack *p);

/*
 * Packs and compresses whole records (each a multiple of 8 and at least 24 bytes long, `size` in all). *out is valid
 * until the next call. careful: mixed, not packed: a third smaller, in many times the time. -E2BIG:
 * packed it would be larger, store it as it is (*out_sz 0: so large that nothing was made); -ENOMEM.
 */
int espy_pack__records(struct espy_pack *p, ZSTD_CCtx *cctx, int level, bool careful, const void *raw, size_t size,
		       const void **out, size_t *out_sz);
/* From now on mixed blocks are packed and unpacked without a primer: a primer itself is made so. */
void espy_pack__bare(struct espy_pack *p);
/* Writes exactly raw_sz bytes of whole records, or -EBADMSG; -ENOMEM. The input is hostile. */
int espy_pack__unpack(struct espy_pack *p, ZSTD_DCtx *dctx, enum espy_packing how, const void *in, size_t in_sz, void *raw,
		      size_t raw_sz);

#endif
