/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "source/more_out.h"

#include <string.h>
#include "base/align.h"

/* Sends a piece whose bytes stand in its room already. */
static void send(const struct espy_more_out *m, const struct espy_item *head, uint64_t from, size_t got,
		 unsigned status)
{
	const size_t padded = espy_pad8(got);

	memset((unsigned char *)(m->piece + 1) + got, 0, padded - got);
	m->piece->rec = (struct espy_rec){ .size = (uint32_t)(sizeof(*m->piece) + padded),
					   .type = ESPY_REC_MORE,
					   .tid = m->tid,
					   .tgid = m->tgid,
					   .time_ns = m->time_ns };
	m->piece->from = from;
	m->piece->item = *head;
	m->piece->item.status |= (uint8_t)status;
	m->piece->item.len = (uint32_t)got;
	m->emit(m->ctx, &m->piece->rec);
}

void espy_more_out__put(const struct espy_more_out *m, const struct espy_mem *mem, const struct espy_item *head,
			uint64_t addr, uint64_t from, uint64_t want)
{
	const uint64_t end = want < m->most ? want : m->most;
	size_t n, got = 0;

	for (n = 0; from < end && got == n; from += got) {
		n = end - from < ESPY_MORE_PIECE ? (size_t)(end - from) : ESPY_MORE_PIECE;
		got = mem->read(mem->ctx, addr + from, m->piece + 1, n);
		if (got > n)
			got = n;
		if (got)
			send(m, head, from, got,
			     got < n		 ? ESPY_ITEM_FAULT
			     : from + got < want ? ESPY_ITEM_TRUNCATED
						 : ESPY_ITEM_OK);
	}
}
